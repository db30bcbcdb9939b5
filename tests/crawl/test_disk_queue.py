"""Entries on disk: what comes back is what was put there."""

from __future__ import annotations

import os
import resource
import tempfile
from pathlib import Path

import pytest

from sitemap_harvest import UrlBatch, UrlEntry
from sitemap_harvest.model import Alternate
from sitemap_harvest.page_visits.disk_queue import DiskQueue

pytestmark = pytest.mark.quick


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
def test_rows_come_back_whole_and_in_any_order(count):
    spool = DiskQueue()
    pieces = [*spool.put(batch(count)), *spool.put(batch(10, first=count).slice(3))]
    rows = {piece: list(spool.get(piece)) for piece in reversed(pieces)}
    assert [row for piece in pieces for row in rows[piece]] == [*batch(count), *batch(7, first=count + 3)]
    assert [len(rows[piece]) for piece in pieces] == [piece.rows for piece in pieces]
    spool.close()


def test_the_file_has_no_name_and_goes_when_it_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spool = DiskQueue()
    assert not [*tmp_path.iterdir()]
    before = _open_files()
    list(spool.put(batch(10)))
    assert not [*tmp_path.iterdir()]
    assert len(_open_files() - before) == 1
    spool.close()
    assert _open_files() == before


def test_its_place_is_used_again_once_it_is_cleared():
    spool = DiskQueue()
    (first,) = spool.put(batch(100))
    spool.clear()
    (second,) = spool.put(batch(100))
    assert first == second
    assert list(spool.get(second)) == list(batch(100))
    spool.clear()
    spool.clear()
    with pytest.raises(OSError, match="the temporary file was cut"):
        spool.get(second)
    spool.close()


def test_what_could_not_be_written_leaves_what_was_written():
    spool = DiskQueue()
    (first,) = spool.put(batch(200))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (first.length + 1000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            list(spool.put(batch(200)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(spool.get(first)) == list(batch(200))
    (again,) = spool.put(batch(20))
    assert list(spool.get(again)) == list(batch(20))
    spool.close()


def _open_files() -> set[str]:
    """Return the temporary files that are open and have no name any more."""
    files = (Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd"))  # noqa: PTH208 - the list is open too
    return {str(file.readlink()) for file in files if file.is_symlink() and "(deleted)" in str(file.readlink())}
