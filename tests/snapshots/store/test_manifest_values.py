from __future__ import annotations

import dataclasses
import json
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import LedgerBatch, SitemapRecord, SitemapRef
from sitemap_harvest.snapshots.store import History, tables
from sitemap_harvest.snapshots.store.manifest_values import (
    record_values,
    records_of,
    table_of,
    values_of,
    values_of_records,
)
from tests.model import records
from tests.snapshots.store.making import BEGAN, SITE, Making, locs

S = f"{SITE}/sitemap.xml"


def stored(values):
    """Return *values* as a manifest has them after it was read again."""
    return json.loads(json.dumps(values))


@given(st.lists(records.records_of(SitemapRecord), max_size=2))
def test_document_records_come_back_whole(rows):
    values = stored(values_of_records(rows))
    assert list(records_of(values, len(rows))) == rows
    table = pa.Table.from_batches([LedgerBatch.of(rows).arrow])
    assert table_of(values, table.schema, len(rows)).equals(table)
    for name in ("url", "depth", "complete", "fresh_at"):
        assert record_values(values, name, len(rows)) == table[name].to_pylist()


@given(st.lists(records.records_of(SitemapRef), max_size=3))
def test_tables_come_back_whole(rows):
    columns = {one.name: [getattr(row, one.name) for row in rows] for one in dataclasses.fields(SitemapRef)}
    table = pa.table({"run": ["r"] * len(rows), "document": [S] * len(rows), **columns}, schema=tables.REFERENCES)
    assert table_of(stored(values_of(table)), table.schema, len(rows)).equals(table)


def test_little_data_is_in_the_manifest_and_rows_are_in_files(tmp_path):
    making = Making(tmp_path)
    snapshot = making.run({S: locs(3)})
    files = {file.table: file for file in making.store.history(SITE).manifest.files}
    run = snapshot.run.id
    assert {name: file.values is None for name, file in files.items()} == {
        "rows": True,
        "row_ranges": False,
        "sitemaps": False,
    }
    assert files["row_ranges"].values == {"run": [run], "document": [S], "position": [1], "row": [0], "count": [3]}
    assert [path.name for path in tmp_path.rglob("*.parquet")] == ["rows-0001.parquet"]
    latest = making.store.latest(SITE)
    assert list(latest.records()) == [row for one in latest.sitemaps().to_batches() for row in LedgerBatch(one).rows()]
    assert latest.columns("url", "fetched_at") == [[S], [BEGAN]]


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"url": [S], "depth": ["none"]}, id="another-type"),
        pytest.param({"url": [S], "fetched_at": ["2026"]}, id="no-instant"),
        pytest.param({"url": [S, S]}, id="too-many-values"),
        pytest.param({"url": []}, id="too-few-values"),
        pytest.param({"url": [S], "found_by": ["magic"]}, id="an-unknown-word"),
    ],
)
def test_damaged_values_are_an_error_that_names_the_data(tmp_path, values):
    making = Making(tmp_path)
    making.run({S: locs(3)})
    history = making.store.history(SITE)
    files = [replace(file, values=values) if file.table == "sitemaps" else file for file in history.manifest.files]
    damaged = replace(history.manifest, files=tuple(files))
    with pytest.raises(StoreError, match=r"runs/.*/sitemaps-0001 cannot be read"):
        read(History(SITE, history.folder, damaged).latest())


def read(snapshot):
    list(snapshot.records())
    snapshot.sitemaps()
