"""Rows in tables of real databases: what is written is read back, in each mode, and nothing is half there."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sitemap_harvest.databases import Mode, Rows, open_database, parse_location
from sitemap_harvest.errors import DatabaseError
from sitemap_harvest.model import Image, LedgerBatch, SitemapRecord, UrlBatch, UrlEntry
from sitemap_harvest.model.batch import JSON
from tests.databases.reading import load, read, rows_of
from tests.model.records import records_of
from tests.model.test_batch import FULL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def uri(any_uri: str) -> str:
    return any_uri


HOSTILE = 'a"; drop table urls; --'


def entry(number: int, **fields: Any) -> UrlEntry:
    return UrlEntry(loc=f"https://a.example/{number}", sitemap="https://a.example/s.xml", position=number, **fields)


def urls(*rows: UrlEntry) -> UrlBatch:
    return UrlBatch.of(rows)


ODD = entry(
    2,
    title="a\tb\r\n\x7f\u2028é\\N'\"\U0001f9c0",
    priority=1e-05,
    lastmod=datetime(1066, 10, 14, 9, 0, 0, 1, UTC),
    key="x" * 2048,
    in_scope=False,
)


def test_every_field_is_read_back(uri: str) -> None:
    batch = urls(FULL, ODD, entry(3))
    assert load(uri, "create", urls=batch) == 3
    assert read(uri) == rows_of(batch)


def test_escapes_in_nested_texts_are_read_back(any_uri: str) -> None:
    texts = ["\\u0000", "\\\\u0000", "\0", "\0\0\\\0", "\\"]  # some are the escape of NUL in JSON, as a text
    rows = urls(*(entry(number, images=(Image(title=text),)) for number, text in enumerate(texts, start=1)))
    load(any_uri, "create", urls=rows)
    is_postgresql = any_uri.startswith("postgresql")
    assert read(any_uri) == [without_nul(row) if is_postgresql else row for row in rows_of(rows)]


@pytest.mark.deep
def test_random_rows_are_read_back(uri: str) -> None:
    is_postgresql = uri.startswith("postgresql")

    @settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow], deadline=None, database=None)
    @given(st.lists(records_of(UrlEntry), min_size=1, max_size=4))
    def check(rows: list[UrlEntry]) -> None:
        batch = urls(*(replace(row, position=number) for number, row in enumerate(rows)))
        load(uri, "replace", urls=batch)
        assert read(uri) == [without_nul(row) if is_postgresql else row for row in rows_of(batch)]

    check()


def without_nul(value: Any) -> Any:
    """Return *value* as PostgreSQL stores it."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, list):
        return [without_nul(one) for one in value]
    return {name: without_nul(one) for name, one in value.items()} if isinstance(value, dict) else value


def test_create_refuses_a_table_that_exists(uri: str) -> None:
    load(uri, "create", urls=urls(entry(1)))
    with pytest.raises(DatabaseError, match=r"the table .*already exists; use mode=append, replace or upsert"):
        load(uri, "create", urls=urls(entry(2)))
    assert [row["position"] for row in read(uri)] == [1]


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        pytest.param("replace", [(2, "new"), (3, None)], id="replace"),
        pytest.param("append", [(1, "old"), (2, "old"), (2, "new"), (3, None)], id="append"),
        pytest.param("upsert", [(1, "old"), (2, "new"), (3, None)], id="upsert"),
    ],
)
def test_modes(uri: str, mode: str, wanted: list[tuple[int, str | None]]) -> None:
    load(uri, mode, urls=urls(entry(1, title="old"), entry(2, title="old")))
    load(uri, mode, urls=urls(entry(2, title="new"), entry(3)))
    found = [(row["position"], row["title"]) for row in read(uri)]
    assert sorted(found, key=str) == sorted(wanted, key=str)


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        pytest.param("key", ["https://a.example/1", "new", "new"], id="key-and-loc-without-one"),
        pytest.param("sitemap", ["new", "new"], id="whole-documents"),
    ],
)
def test_upsert_by_other_columns(uri: str, key: str, wanted: list[str]) -> None:
    load(uri, "append", urls=urls(entry(1, key="k1", title="https://a.example/1"), entry(2, key="k2"), entry(3)))
    separator = "&" if "?" in uri else "?"
    again = urls(replace(entry(7, key="k2", title="new")), replace(entry(3, title="new")))
    load(f"{uri}{separator}mode=upsert&key={key}", "upsert", urls=again)
    assert sorted(row["title"] for row in read(uri)) == wanted


def test_rows_without_a_value_in_the_key_replace_none_and_are_not_replaced(uri: str) -> None:
    separator = "&" if "?" in uri else "?"
    for position in (1, 2):
        rows = urls(entry(position), entry(position + 2, title="same"))
        load(f"{uri}{separator}mode=upsert&key=title", "upsert", urls=rows)
    assert [(row["position"], row["title"]) for row in read(uri)] == [(1, None), (2, None), (4, "same")]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        pytest.param("sitmap", "key=sitmap: the rows have no such column; they have loc", id="unknown"),
        pytest.param("images", "key=images: a nested column cannot identify a row", id="nested"),
    ],
)
def test_wrong_keys(uri: str, key: str, message: str) -> None:
    with pytest.raises(DatabaseError, match=message):
        load(f"{uri}?mode=upsert&key={key}", "upsert", urls=urls(entry(1)))


def test_rows_without_a_key_need_one_for_upsert(uri: str) -> None:
    with pytest.raises(DatabaseError, match=r"rows of the kind things have no key; add key=COLUMN,COLUMN"):
        load(uri, "upsert", things=urls(entry(1)))


def test_missing_columns_are_added(uri: str) -> None:
    old = urls(entry(1)).arrow.select(["loc", "position"])
    load(uri, "create", urls=old)
    load(uri, "append", urls=urls(FULL, entry(2)))
    rows = read(uri)
    assert [set(row) for row in rows] == [set(UrlBatch.schema().names)] * 3
    assert rows[1]["alternates"] == rows_of(urls(FULL))[0]["alternates"]


def test_a_column_of_another_type_is_refused_before_anything_changes(uri: str) -> None:
    kept = pa.RecordBatch.from_pydict({"loc": ["x"], "position": [1], "priority": ["high"]})
    load(uri, "create", urls=kept)
    with pytest.raises(DatabaseError, match=r"the table .*: the column priority has the type .*, and must have"):
        load(uri, "replace", urls=urls(entry(2)))
    assert read(uri) == [{"loc": "x", "position": 1, "priority": "high"}]


def test_hostile_names_are_quoted(uri: str) -> None:
    batch = urls(entry(1)).arrow.append_column(HOSTILE, pa.array(["value"]))
    load(uri, "create", urls=urls(entry(1)), **{HOSTILE: batch})
    (row,) = read(uri, '"' + HOSTILE.replace('"', '""') + '"')
    assert row[HOSTILE] == "value"
    assert len(read(uri)) == 1


def test_schemas_are_created_and_quoted(uri: str) -> None:
    if uri.startswith(("sqlite", "delta")):
        return  # they have no schemas, as test_location.py says
    load(f"{uri}?schema=my%20%22data", "append", urls=urls(entry(1)))
    load(f"{uri}?schema=my%20%22data", "append", urls=urls(entry(2)))
    assert len(read(uri, '"my ""data".urls')) == 2


def test_added_columns_of_pipelines_are_read_back(uri: str) -> None:
    arrow = urls(entry(1), entry(2)).arrow
    arrow = arrow.append_column("any", pa.ExtensionArray.from_storage(JSON, pa.array(['{"a": [1]}', None])))
    arrow = arrow.append_column("none", pa.nulls(2))
    load(uri, "create", urls=arrow)
    rows = read(uri)
    assert [row["none"] for row in rows] == [None, None]
    assert [str(row["any"]).replace(" ", "") for row in rows] == ['{"a":[1]}', "None"]


def test_several_tables_are_written_in_one_transaction(uri: str) -> None:
    if uri.startswith("delta"):
        return  # each table has its own commits
    record = SitemapRecord(url="https://a.example/s.xml", root="https://a.example", outcome="read", found_by="named")
    load(uri, "create", urls=urls(entry(1)))

    def cut() -> Iterator[pa.RecordBatch]:
        yield LedgerBatch.of([record]).arrow
        raise OSError("the disk is full")

    rows = urls(entry(2), entry(3)).arrow
    tables = {"urls": Rows(rows.schema, [rows]), "sitemaps": Rows(LedgerBatch.schema(), cut())}
    with open_database(parse_location(uri, default=Mode.REPLACE)) as database, pytest.raises(Exception, match="full"):
        database.load(tables)
    assert [row["position"] for row in read(uri)] == [1]
    load(uri, "replace", urls=urls(entry(4)), sitemaps=LedgerBatch.of([record]))
    assert [row["position"] for row in read(uri)] == [4]


def test_an_empty_table_is_created(uri: str) -> None:
    assert load(uri, "replace", urls=urls()) == 0
    assert read(uri) == []


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        pytest.param("duckdb", "sqlite", "of DuckDB, but of SQLite; use the format sqlite, or choose", id="sqlite"),
        pytest.param("sqlite", "duckdb", "of SQLite, but of DuckDB; use the format duckdb, or choose", id="duckdb"),
        pytest.param("duckdb", "[1]", "of DuckDB; choose", id="json-as-duckdb"),
        pytest.param("sqlite", "[1]", "of SQLite; choose", id="json-as-sqlite"),
    ],
)
def test_a_file_of_something_else_is_left_as_it_is(tmp_path: Path, kind: str, content: str, reason: str) -> None:
    path = tmp_path / "data.json"
    if content in {"duckdb", "sqlite"}:
        load(f"{content}:{path}", "create", urls=urls(entry(1)))
    else:
        path.write_text(content * 100)
    before = path.read_bytes()
    with pytest.raises(DatabaseError) as raised:
        load(f"{kind}:{path}", "append", urls=urls(entry(2)))
    assert str(raised.value) == f"{path}: it is not a database {reason} another name"
    assert path.read_bytes() == before
