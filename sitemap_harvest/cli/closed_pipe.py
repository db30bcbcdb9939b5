"""Standard streams whose reader has closed the pipe, as ``head`` does: that is no error, and changes no exit code."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sitemap_harvest.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO


@contextmanager
def unless_closed(file: TextIO | None = None) -> Iterator[None]:
    """Write to *file*, by default the standard output; if its reader has left, discard what follows.

    Raises :exc:`StoreError` if the standard output cannot be written, for example to a full disk.
    """
    file = sys.stdout if file is None else file
    try:
        yield
    except BrokenPipeError:
        discard(file)
    except OSError as error:
        if file is not sys.stdout:
            raise
        discard(file)
        raise StoreError(f"standard output: {error.strerror or error}") from error


def write(text: str, file: TextIO | None = None) -> None:
    """Write *text* to *file*, by default the standard output, at once."""
    file = sys.stdout if file is None else file
    with unless_closed(file):
        file.write(text)
        file.flush()


def discard(file: TextIO) -> None:
    """Discard what *file* has not written, and what follows: Python writes the rest at its end, and would fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())


def flush() -> None:
    """Write what the standard streams have buffered, as Python does at its end, with an exit code of its own."""
    for file in (sys.stderr, sys.stdout):
        # Scrapy closes the standard output if it is an output of the crawl. With LOG_STDOUT, it is a log.
        if not getattr(file, "closed", False):
            write("", file)
