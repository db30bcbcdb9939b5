"""A store in a real object store behaves like one on disk."""

from __future__ import annotations

import pytest

from sitemap_harvest.snapshots.store import History, compact, open_store, prune
from tests.services.object_store import BUCKET, object_store
from tests.snapshots.store.making import SITE, Making, listed, locs

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def reached(tmp_path_factory):
    yield from object_store(tmp_path_factory.mktemp("object-store"))


@pytest.mark.thorough
def test_runs_are_compacted_dropped_and_queried(reached, monkeypatch):
    for name, value in reached.items():
        monkeypatch.setenv(name, value)
    making = Making(f"s3://{BUCKET}/some/store", compares=True)
    for day in range(8):
        making.run({f"{SITE}/s.xml": locs(20, start=day), f"{SITE}/t.xml": None if day else locs(5)})
    history = making.store.history(SITE)
    before = {run.id: listed(history.snapshot(run)) for run in history.runs}
    assert compact(history)
    again = History(SITE, open_store(f"s3://{BUCKET}/some/store").history(SITE).folder)
    assert sum(file.table == "sitemaps" for file in again.manifest.files) == 1
    assert {run.id: listed(again.snapshot(run)) for run in again.runs} == before
    kept = [run.id for run in again.runs[-2:]]
    assert prune(again, kept) == 6
    assert {run.id: listed(again.snapshot(run)) for run in again.runs} == {run: before[run] for run in kept}
    assert making.store.query("select count(*) as urls from urls").to_pylist() == [{"urls": 25}]
    assert making.store.query("select kind, count(*) as n from changes group by all order by all").to_pylist() == [
        {"kind": "added", "n": 2},
        {"kind": "removed", "n": 2},
    ]
