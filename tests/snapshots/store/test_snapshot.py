from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sitemap_harvest.errors import HarvestError, StoreError
from sitemap_harvest.model import SitemapRef, UrlEntry, arrow_schema
from tests.snapshots.store.making import SITE, Making, change_manifest, entry, listed, locs, record_of, table_of

S, T, I = f"{SITE}/s.xml", f"{SITE}/t.xml", f"{SITE}/index.xml"  # noqa: E741 - an index


@pytest.fixture
def making(tmp_path):
    return Making(tmp_path)


def locs_of(snapshot, document=S):
    return [loc for url, _, loc in listed(snapshot) if url == document]


def test_a_snapshot_lists_the_entries_of_its_documents(making):
    made = making.run({S: locs(3), T: locs(2, start=9)})
    kept = making.store.latest(SITE)
    wanted = [(S, number + 1, loc) for number, loc in enumerate(locs(3))]
    wanted += [(T, number + 1, loc) for number, loc in enumerate(locs(2, start=9))]
    assert listed(made) == listed(kept) == wanted
    assert kept.sitemaps().column("url").to_pylist() == [S, T]
    assert table_of(kept).schema.equals(arrow_schema(UrlEntry))


def test_an_unchanged_row_is_stored_once(making):
    first = making.run({S: locs(1000)})
    second = making.run({S: [*locs(500), *locs(2, start=5000), *locs(500, start=500)]})
    assert (first.run.rows, second.run.rows) == (1000, 2)
    assert locs_of(second) == [*locs(500), *locs(2, start=5000), *locs(500, start=500)]
    assert locs_of(making.store.site(SITE).at("first")) == locs(1000)
    assert len(second.row_ranges().intervals().minus(first.row_ranges().intervals())) == 2


def test_a_different_order_adds_no_rows(making):
    making.run({S: locs(10)})
    turned = making.run({S: locs(10)[::-1]})
    assert turned.run.rows == 0
    assert locs_of(turned) == locs(10)[::-1]
    assert [loc for batch in turned.urls_of(S) for loc in batch["loc"].to_pylist()] == locs(10)[::-1]


def test_named_documents_include_those_without_a_record(making):
    named = [SitemapRef(loc=S, position=1), SitemapRef(loc="HTTPS://A.example/t.xml#x", position=2)]
    making.run({I: named, S: locs(1)})
    kept = making.store.latest(SITE)
    assert kept.named_documents() == {S, T}
    assert kept.sitemaps().column("url").to_pylist() == [I, S]
    assert making.run({I: [], S: None}).named_documents() == frozenset()


def test_a_row_belongs_to_its_document(making):
    making.run({S: locs(5)})
    moved = making.run({T: locs(5)})
    assert moved.run.rows == 5
    assert listed(moved, ["sitemap"]) == [(T,)] * 5


def test_a_url_listed_twice_has_two_rows(making):
    twice = making.run({S: [*locs(2), *locs(2)]})
    assert locs_of(twice) == [*locs(2), *locs(2)]
    thrice = making.run({S: [*locs(2), *locs(2), *locs(2)]})
    assert thrice.run.rows == 0
    assert locs_of(thrice) == [*locs(2)] * 3


def test_a_kept_document_has_its_rows_from_the_run_that_read_it(making):
    first = making.run({S: locs(3), T: locs(2), I: [SitemapRef(loc=S, position=1), SitemapRef(loc=T, position=2)]})
    making.run({S: None, T: locs(1), I: None})
    last = making.run({S: None, T: None, I: None})
    assert locs_of(last) == locs(3)
    assert locs_of(last, T) == locs(1)
    assert (
        last.references() == first.references() == {I: [SitemapRef(loc=S, position=1), SitemapRef(loc=T, position=2)]}
    )
    runs = [run.id for run in making.store.site(SITE).runs]
    assert last.sitemaps().column("rows_from").to_pylist() == [runs[0], runs[1], runs[0]]


def test_a_removed_document_lists_nothing(making):
    making.run({S: locs(3), T: locs(2)})
    writer = making.begin()
    first = writer.before.run.id
    rows = [record_of(S, rows_from=first), record_of(T, rows_from=first, left="it is gone")]
    assert listed(making.commit(writer, rows), ["sitemap"]) == [(S,)] * 3


def test_an_empty_snapshot_is_a_snapshot(making):
    snapshot = making.run({S: []})
    assert (listed(snapshot), snapshot.references()) == ([], {})
    assert len(snapshot.row_ranges().row) == 0
    assert listed(making.run({})) == []


def test_only_requested_columns_are_read(making):
    making.run({S: [entry(locs(1)[0], title="t")]})
    latest = making.store.latest(SITE)
    found = table_of(latest, ["title", "position", "key"])
    assert found.to_pylist() == [{"title": "t", "position": 1, "key": locs(1)[0]}]
    assert table_of(latest, ["position"]).to_pylist() == [{"position": 1}]
    with pytest.raises(HarvestError, match="column 'nonsense': unknown column; valid columns: loc, "):
        latest.urls(["nonsense"])


@pytest.mark.thorough
def test_many_rows_with_gaps_and_reordering_are_complete(making):
    many = locs(45_000)
    making.run({S: many})
    some = [*many[::3], *many[1000:2000], *locs(30_000, start=60_000)]
    assert locs_of(making.run({S: some})) == some


def test_a_missing_file_is_an_error(making, tmp_path):
    making.run({S: locs(3)})
    for part in tmp_path.rglob("rows-*.parquet"):
        part.unlink()
    with pytest.raises(StoreError, match=r"rows-0001\.parquet cannot be read"):
        listed(making.store.latest(SITE))


@pytest.fixture
def all_in_files(monkeypatch):
    """Nothing is so small that the manifest has it."""
    monkeypatch.setattr("sitemap_harvest.snapshots.store.tables._FEW_BYTES", 0)


@pytest.mark.usefixtures("all_in_files")
def test_a_missing_table_of_an_earlier_run_is_an_error(making, tmp_path):
    first = making.run({S: locs(3)})
    making.run({S: None})
    next(tmp_path.rglob(f"{first.run.id}/row_ranges-*.parquet")).unlink()
    with pytest.raises(StoreError, match=rf"{first.run.id}/row_ranges-0001\.parquet cannot be read"):
        listed(making.store.latest(SITE))


@pytest.mark.usefixtures("all_in_files")
@pytest.mark.parametrize("table", ["sitemaps", "row_ranges"])
def test_a_truncated_table_is_an_error(making, tmp_path, table):
    making.run({S: locs(3)})
    path = next(tmp_path.rglob(f"{table}*.parquet"))
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(StoreError, match=rf"{table}.*has .* bytes, but had .* when it was written"):
        listed(making.store.latest(SITE))


def without(path, column):
    """Rewrite the file as by a version without *column*."""
    pq.write_table(pq.read_table(path).drop_columns([column]), path)
    return path.stat().st_size


@pytest.mark.usefixtures("all_in_files")
@pytest.mark.parametrize(("column", "value"), [("read_at", None), ("absent_runs", 0), ("problems", None)])
def test_a_ledger_of_an_older_version_lacks_columns(making, tmp_path, column, value):
    making.run({S: locs(3)})
    path = next(tmp_path.rglob("sitemaps-*.parquet"))
    if column in pq.read_schema(path).names:
        before = path.stat().st_size
        change_manifest(tmp_path, f'"bytes":{before}', f'"bytes":{without(path, column)}')
    ledger = making.store.latest(SITE).sitemaps()
    assert ledger.column(column).to_pylist() == [value if column != "problems" else []]
    assert isinstance(ledger, pa.Table)
