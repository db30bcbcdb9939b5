"""``PageWriter``: the pages of a run in the store."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import Cause, PageBatch, PageRecord, PageSource
from sitemap_harvest.snapshots.store import PageWriter, compact, prune
from tests.snapshots.store.making import SITE, Making

S = f"{SITE}/s.xml"
PROBE = {"listed": 9, "sample": 3, "seed": 0}


@pytest.fixture
def making(tmp_path):
    return Making(tmp_path)


def page(path, run, **values):
    return PageRecord(site=SITE, run=run, source=PageSource.PROBE, url=f"{SITE}{path}", key=f"{SITE}{path}", **values)


def store_pages(making, run, *paths, probe=PROBE):
    """Store pages, each with a flush of its own."""
    writer = PageWriter(making.store.history(SITE), run.id, probe)
    for path in paths:
        writer.add(PageBatch.of([page(path, run.id)]))
        writer.flush()


def pages_of(making, run):
    """Return the paths of the pages of *run*, read anew, and the facts of its probe."""
    snapshot = making.store.history(SITE).at(run.id)
    return [url.removeprefix(SITE) for url in snapshot.pages()["url"].to_pylist()], snapshot.run.probe


def test_a_page_is_read_as_it_was_written(making):
    run = making.run({S: [f"{SITE}/a"]}).run
    whole = page(
        "/a",
        run.id,
        sitemap=S,
        requested_at=datetime(2026, 11, 26, 1, 2, 3, tzinfo=UTC),
        method="GET",
        status=200,
        redirects=(f"{SITE}/b", f"{SITE}/c"),
        redirect_statuses=(301, 302),
        final_url=f"{SITE}/c",
        content_type="text/html",
        x_robots_tag="noindex",
        meta_robots="googlebot: nofollow",
        canonical=f"{SITE}/c",
        last_modified=datetime(2026, 11, 1, tzinfo=UTC),
        title="C",
        soft_404="not found",
    )
    failed = page("/b", run.id, error="no response within the timeout", cause=Cause.TIMEOUT)
    writer = PageWriter(making.store.history(SITE), run.id, PROBE)
    writer.add(PageBatch.of([whole, failed]))
    writer.flush()
    (batch,) = making.store.history(SITE).at("latest").pages().to_batches()
    assert [*PageBatch(batch).rows()] == [whole, failed]


def test_a_run_without_a_probe_has_no_pages(making):
    assert pages_of(making, making.run({S: [f"{SITE}/a"]}).run) == ([], {})


def test_pages_are_readable_after_each_flush_and_belong_to_their_run(making):
    first, second = (making.run({S: [f"{SITE}/{name}"]}).run for name in "ab")
    store_pages(making, first, "/a")
    store_pages(making, second, "/b", "/c", probe=PROBE | {"seed": 7})
    assert pages_of(making, first) == (["/a"], PROBE)
    assert pages_of(making, second) == (["/b", "/c"], PROBE | {"seed": 7})


def test_a_second_probe_replaces_the_first_one_with_its_first_flush(making):
    first, second = (making.run({S: [f"{SITE}/{name}"]}).run for name in "ab")
    store_pages(making, first, *map("/{}".format, range(10)))  # some of these are merged
    store_pages(making, second, "/b")
    compact(making.store.history(SITE), fewest=2)  # into one file of both runs
    writer = PageWriter(making.store.history(SITE), first.id, PROBE)
    writer.add(PageBatch.of([page("/new", first.id)]))
    assert len(pages_of(making, first)[0]) == 10
    writer.flush()
    assert [pages_of(making, run)[0] for run in (first, second)] == [["/new"], ["/b"]]


def test_pages_of_a_pruned_run_are_deleted(making, tmp_path):
    first, second = (making.run({S: [f"{SITE}/{name}"]}).run for name in "ab")
    store_pages(making, first, "/a")
    store_pages(making, second, "/b")
    prune(making.store.history(SITE), [second.id])
    assert len([*tmp_path.rglob("pages-*")]) == 1
    assert pages_of(making, second) == (["/b"], PROBE)
    with pytest.raises(StoreError, match=f"the run {first.id} is not in the store any more"):
        store_pages(making, first, "/a")


def test_a_later_run_keeps_the_pages_of_earlier_ones(making):
    run = making.run({S: [f"{SITE}/a"]}).run
    store_pages(making, run, "/a")
    making.run({S: [f"{SITE}/b"]})
    assert pages_of(making, run) == (["/a"], PROBE)


def test_pages_are_a_view_of_queries(making):
    first, second = (making.run({S: [f"{SITE}/{name}"]}).run for name in "ab")
    store_pages(making, first, "/a")
    store_pages(making, second, "/b", "/c")
    sql = "select count(*) as pages, any_value(site) as site from pages"
    assert making.store.query(sql).to_pylist() == [{"pages": 2, "site": SITE}]
    assert making.store.query(sql, at="all").to_pylist() == [{"pages": 3, "site": SITE}]
