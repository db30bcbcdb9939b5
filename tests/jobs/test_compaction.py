"""Compaction of all sites of a store, in parts: it changes no rows, and leaves sites alone that others have locked."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sitemap_harvest.jobs import compaction
from sitemap_harvest.jobs.compaction import compact_part
from sitemap_harvest.jobs.parts import COMPACTION, Part, PartCounts
from sitemap_harvest.snapshots.store import SiteLocks, Store, open_store
from tests.jobs.test_parts import NEW, NOW, SITES, RefusingBucket, alone, fill
from tests.rings import some_quick

if TYPE_CHECKING:
    from collections.abc import Callable

BEGUN = "https://begun.example"
ALL = len(SITES) + 2  # with one that has a single run, and one whose first run has not ended


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "s"
    fill(str(path))
    return path


@pytest.fixture
def path(filled: Path, tmp_path: Path) -> str:
    """Return the path of a store that the test may change."""
    return str(shutil.copytree(filled, tmp_path / "s"))


def part(path: str, number: int = 0, parts: int = 1) -> Part:
    return Part(table=COMPACTION, number=number, parts=parts, store=path, output="")


def tables(path: str) -> list[object]:
    """Return all rows of the store: a copy for each call, because :func:`alone` remembers the results of a path."""
    return [alone.__wrapped__(table, path, 0) for table in ("changes", "urls")]


def contents(path: str) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in Path(path).rglob("*") if file.is_file()}


def unused(_: float) -> None:
    raise AssertionError("it waits")


@pytest.mark.parametrize("parts", some_quick([3, 1], every=2))
def test_each_site_is_compacted_once_and_its_rows_stay(path: str, parts: int) -> None:
    before = tables(path)
    counts = [compact_part(part(path, number, parts), now=NOW, sleep=unused) for number in range(parts)]
    assert (sum(one.rows for one in counts), sum(one.sites for one in counts)) == (len(SITES), ALL)
    assert [one.failed for one in counts] == [[]] * parts
    assert tables(path) == before
    files = contents(path)
    assert compact_part(part(path), now=NOW, sleep=unused) == PartCounts(sites=ALL, rows=0)
    assert contents(path) == files


def test_a_site_that_a_run_has_locked_is_left_and_named(path: str) -> None:
    history = open_store(path).history(SITES[1])
    files, before = contents(str(history.folder)), tables(path)
    with closing(SiteLocks(open_store(path).folder, "20261101T030000Z-abcdef")) as locks:
        assert locks.take(history.folder) is None
        counts = compact_part(part(path), now=NOW, sleep=unused)
        locked = f"{SITES[1]}: locked by the run 20261101T030000Z-abcdef; it was not compacted"
        assert counts == PartCounts(sites=ALL - 1, rows=len(SITES) - 1, failed=[locked])
        locks.release(history.folder)
    assert contents(str(history.folder)) == files
    assert compact_part(part(path), now=NOW, sleep=unused) == PartCounts(sites=ALL, rows=1)
    assert tables(path) == before


def test_a_site_with_an_unfinished_run_is_left_because_blocks_may_read_it(path: str) -> None:
    history = open_store(path).history(SITES[1])
    (history.folder / "runs" / "20991101T030000Z-abcdef").put("manifest.json.gz", b"")
    counts = compact_part(part(path), now=NOW, sleep=unused)
    left = f"{SITES[1]}: it has an unfinished run, which the next crawl ends; it was not compacted"
    assert counts == PartCounts(sites=ALL - 1, rows=len(SITES) - 1, failed=[left])
    assert not [*Path(path).rglob("claim.json")]


def test_a_damaged_site_is_named_and_its_lock_is_released(path: str) -> None:
    folder = Path(open_store(path).history(NEW).folder.path)
    (folder / "manifest.json.gz").write_bytes(b"no manifest")
    counts = compact_part(part(path), now=NOW, sleep=unused)
    assert (counts.sites, counts.rows) == (ALL - 1, len(SITES))
    assert [text.partition(" is damaged")[0] for text in counts.failed] == [f"{NEW}: {folder}/manifest.json.gz"]
    assert not [*Path(path).rglob("claim.json")]


@pytest.mark.parametrize("reads", [0, ALL + 1, ALL + 9])
def test_an_object_store_that_refuses_for_a_while_is_compacted_completely(
    path: str, monkeypatch: pytest.MonkeyPatch, reads: int
) -> None:
    bucket = RefusingBucket(path, reads=reads, waits=2)
    opened: Callable[[str], Store] = lambda _: Store(bucket.folder())  # noqa: E731
    monkeypatch.setattr(compaction, "open_store", opened)
    counts = compact_part(part("s3://bucket/store"), now=NOW, sleep=bucket.waited.append)
    assert counts == PartCounts(sites=ALL, rows=len(SITES))
    assert bucket.waited == [5, 20]
    bucket.requests.clear()
    assert compact_part(part("s3://bucket/store"), now=NOW, sleep=unused) == PartCounts(sites=ALL)
    assert not [one for one in bucket.requests if one.startswith(("PUT", "DELETE"))]
