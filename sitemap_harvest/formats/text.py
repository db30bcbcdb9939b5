"""Plain-text sitemaps: one absolute URL a line.

Spec: https://www.sitemaps.org/protocol.html#otherformats
Text in, entries out: fetches nothing, logs nothing, raises on no document.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sitemap_harvest.urls import BLANKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.formats.problems import ProblemLog
    from sitemap_harvest.model import UrlBatch

_MAX_LINE_CHARS = 64 * 1024  # thirty times the longest URL that the protocol allows
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://\S", re.ASCII)


def read_text(chunks: Iterable[str], into: Collector) -> Iterator[UrlBatch]:
    """Read the list in *chunks*, yielding batches: each line that is a URL is an entry, others are problems."""
    for number, line in lines(chunks, into.problems):
        text = line.strip(BLANKS)
        if _URL.match(text):
            into.add(number, line)
        elif text:
            into.problems.add("text/not-a-url", line=number, excerpt=text)
        yield from into.full_batches()


def lines(chunks: Iterable[str], problems: ProblemLog) -> Iterator[tuple[int, str]]:
    """Yield the lines in *chunks* with their numbers, from 1, without their ends.

    A line ends with LF, CR LF or CR. Not ``splitlines()``: that breaks at
    U+2028 too, which occurs inside URLs in the wild. A line of more than 64 Ki
    characters comes in pieces. The last line is left out, with a problem, if
    *problems* tell that the document was cut.
    """
    number, rest = 1, ""
    for chunk in chunks:
        rest += chunk
        is_between = rest.endswith("\r")  # an LF may follow
        *whole, rest = rest[: -1 if is_between else None].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for line in whole:
            yield number, line
            number += 1
        if len(rest) > _MAX_LINE_CHARS:
            yield number, rest
            rest = ""
        rest += "\r" if is_between else ""
    if rest.endswith("\r"):
        yield number, rest[:-1]
    elif rest and problems.lost_bytes:
        problems.add("text/truncated", line=number, excerpt=rest)
    elif rest:
        yield number, rest
