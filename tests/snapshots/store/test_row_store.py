from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import MAX_ROWS, UrlBatch, UrlEntry
from sitemap_harvest.snapshots.store.row_ranges import Intervals, RowRanges
from sitemap_harvest.snapshots.store.row_store import RowStore
from sitemap_harvest.snapshots.store.storage import Folder
from sitemap_harvest.snapshots.store.tables import FILE_ROWS, ROW_COLUMNS, ROW_SCHEMA, TableWriter
from tests.model.records import records_of
from tests.snapshots.store.making import batch_of, entry, locs

HERE = "https://a.example/s.xml"


def parts_of(folder, name, rows, *, first=0):
    """Write *rows* to files, and return their entries."""
    arrow = UrlBatch.of(rows).arrow
    columns = [pa.array(np.arange(first, first + len(rows))), *(arrow[name] for name in ROW_COLUMNS)]
    table = pa.Table.from_arrays(columns, schema=ROW_SCHEMA)
    writer = TableWriter(folder, name, "rows", ("", ""))
    for start in range(0, len(rows), MAX_ROWS):
        writer.add(table.slice(start, MAX_ROWS))
    writer.flush()
    return writer.files


def read(folder, parts, ids, columns=ROW_COLUMNS):
    batches = list(RowStore(folder, parts).rows(Intervals.of_ids(np.array(ids, dtype=np.int64)), columns))
    return pa.Table.from_batches(batches) if batches else pa.table({"row": []})


@pytest.fixture
def folder(tmp_path):
    return Folder.at(tmp_path)


@settings(max_examples=40)
@given(rows=st.lists(records_of(UrlEntry), min_size=1, max_size=6))
def test_rows_round_trip(tmp_path_factory, rows):
    folder = Folder.at(tmp_path_factory.mktemp("pool"))
    parts = parts_of(folder, "rows", rows)
    row_ranges = RowRanges.of(0, np.array([row.position for row in rows]), np.arange(len(rows)))
    assert [row for batch in RowStore(folder, parts).urls(row_ranges) for row in batch.rows()] == rows


def test_rows_are_found_in_their_files(folder):
    many = locs(FILE_ROWS + 10)
    parts = [
        *parts_of(folder, "a", list(batch_of(many, sitemap=HERE).rows())),
        *parts_of(folder, "b", [entry(f"{HERE}?{number}") for number in range(5)], first=len(many) + 100),
    ]
    assert [(part.name, part.ids) for part in parts] == [
        ("a-0001.parquet", (0, FILE_ROWS)),
        ("a-0002.parquet", (FILE_ROWS, len(many))),
        ("b-0001.parquet", (len(many) + 100, len(many) + 105)),
    ]
    ids = [0, 1, 7, FILE_ROWS - 1, FILE_ROWS, FILE_ROWS + 9, len(many) + 100, len(many) + 104]
    found = read(folder, parts, ids, ["loc"])
    assert found.column_names == ["row", "loc"]
    assert found["row"].to_pylist() == ids
    assert found["loc"].to_pylist() == [*(many[number] for number in ids[:6]), f"{HERE}?0", f"{HERE}?4"]


def test_missing_rows_are_left_out(folder):
    parts = parts_of(folder, "a", [entry(HERE)], first=5)
    assert read(folder, parts, [4, 5, 6])["row"].to_pylist() == [5]
    assert read(folder, parts, [])["row"].to_pylist() == []


def test_rows_are_found_between_gaps(folder):
    whole = parts_of(folder, "whole", [entry(loc) for loc in locs(10)])
    writer = TableWriter(folder, "a", "rows", ("", ""))
    for batch in RowStore(folder, whole).rows(Intervals.of_ids(np.array([1, 2, 5, 9])), ROW_SCHEMA.names[1:]):
        writer.add(pa.Table.from_batches([batch]))
    writer.flush()
    parts = writer.files
    assert [part.ids for part in parts] == [(1, 10)]
    assert read(folder, parts, range(12))["row"].to_pylist() == [1, 2, 5, 9]
    assert read(folder, parts, [0, 2, 3, 4, 5], ["loc"]).to_pylist() == [
        {"row": 2, "loc": locs(10)[2]},
        {"row": 5, "loc": locs(10)[5]},
    ]
    assert read(folder, parts, [6, 7])["row"].to_pylist() == []


def test_a_column_without_values_takes_no_space(folder):
    parts_of(folder, "a", [entry(HERE)])
    names = pq.read_schema(folder.open("a-0001.parquet")).names
    assert names == ["row", "loc", "key", "site", "sitemap"]


def test_a_column_that_an_older_version_lacked_is_absent(folder):
    (part,) = parts_of(folder, "a", [entry(HERE, title="t", priority=0.5)])
    table = pq.read_table(folder.open("a-0001.parquet"))
    pq.write_table(table.drop_columns(["priority"]), f"{folder}/b.parquet")
    found = read(folder, [dataclasses.replace(part, name="b.parquet", bytes=folder.size("b.parquet"))], [0])
    assert (found["title"].to_pylist(), found["priority"].to_pylist()) == (["t"], [None])


@pytest.mark.parametrize(
    ("mend", "words"),
    [
        pytest.param(lambda data: None, "cannot be read", id="missing"),
        pytest.param(lambda data: data[:-9], "has .* bytes, but had", id="cut"),
        pytest.param(lambda data: b"", "has 0 bytes, but had", id="empty"),
        pytest.param(lambda data: data[:10] + bytes(len(data) - 30) + data[-20:], "cannot be read", id="overwritten"),
    ],
)
def test_a_damaged_file_is_named(folder, mend, words):
    parts = parts_of(folder, "a", [entry(loc) for loc in locs(50)])
    data = folder.read("a-0001.parquet")
    folder.remove("a-0001.parquet")
    if (damaged := mend(data)) is not None:
        folder.put("a-0001.parquet", damaged)
    with pytest.raises(StoreError, match=rf"a-0001\.parquet {words}"):
        read(folder, parts, [0, 1])
