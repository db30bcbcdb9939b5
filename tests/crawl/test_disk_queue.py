"""Entries on disk: rows are read as they were written."""

from __future__ import annotations

import os
import resource
import sqlite3
from functools import cache
from pathlib import Path

import pytest

from sitemap_harvest import UrlBatch, UrlEntry
from sitemap_harvest.model import Alternate
from sitemap_harvest.page_visits.page_requests import DiskQueue

pytestmark = pytest.mark.quick

_MANY = 10_000  # more than SQLite holds in memory


@cache
def batch(count: int, first: int = 0) -> UrlBatch:
    return UrlBatch.of(
        UrlEntry(
            loc=f"https://example.com/{number}",
            sitemap="https://example.com/s.xml",
            position=number + 1,
            alternates=(Alternate(href=f"/{number}", hreflang="de"),) if number % 2 else None,
        )
        for number in range(first, first + count)
    )


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 1000])
def test_rows_round_trip_in_any_order(count):
    queue = DiskQueue()
    pieces = [*queue.put(batch(count)), *queue.put(batch(10, first=count).slice(3))]
    rows = {piece: list(queue.pop(piece)) for piece in reversed(pieces)}
    assert [row for piece in pieces for row in rows[piece]] == [*batch(count), *batch(7, first=count + 3)]
    assert max(map(len, rows.values())) <= 256
    queue.close()


def test_the_file_has_no_name_and_is_deleted_on_close():
    before = _open_files()
    queue = DiskQueue()
    queue.put(batch(_MANY))
    (file,) = _open_files().keys() - before.keys()
    assert not Path(file.removesuffix(" (deleted)")).exists()
    queue.close()
    assert _open_files() == before


def test_the_space_of_finished_rows_is_reused():
    before = _open_files()
    queue = DiskQueue()
    sizes = []
    for _ in range(3):
        for piece in queue.put(batch(_MANY)):
            queue.pop(piece)
        sizes.append(sum(size for file, size in _open_files().items() if file not in before))
    assert sizes[0] == sizes[1] == sizes[2] > 0
    queue.close()


def test_a_failed_write_keeps_the_rows_written_before():
    queue = DiskQueue()
    before = queue.put(batch(_MANY))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (max(_open_files().values()), limits[1]))
    try:
        with pytest.raises(sqlite3.OperationalError):
            queue.put(batch(_MANY))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [row for piece in before for row in queue.pop(piece)] == list(batch(_MANY))
    again = queue.put(batch(_MANY))
    assert [row for piece in again for row in queue.pop(piece)] == list(batch(_MANY))
    queue.close()


def _open_files() -> dict[str, int]:
    """Return the sizes of the open temporary files without a name."""
    files = (Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd"))  # noqa: PTH208 - the list is open too
    links = [file for file in files if file.is_symlink() and "etilqs" in str(file.readlink())]
    return {str(file.readlink()): file.stat().st_size for file in links}
