"""Tables and files that other programs have made: used as they are, or refused before anything is written."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from sitemap_harvest.databases import Mode, open_database, parse_location
from sitemap_harvest.errors import DatabaseError
from sitemap_harvest.model.batch import JSON
from tests.databases.reading import load, read, run_query
from tests.databases.test_tables import entry, urls

if TYPE_CHECKING:
    from pathlib import Path

ROWS = urls(entry(1), entry(2))


def execute(uri: str, *statements: str) -> None:
    with open_database(parse_location(uri, default=Mode.APPEND)) as database:
        for statement in statements:
            database._execute(statement)  # type: ignore[attr-defined]
        database._commit() if not uri.startswith("duckdb") else None  # type: ignore[attr-defined]


def check(uri: str, mode: str = "append") -> None:
    """Check the table for the URLs of a run, as before it begins."""
    with open_database(parse_location(uri, default=Mode(mode))) as database:
        database.check({"urls": ROWS.arrow.schema})
        database.try_out({"urls": ROWS.arrow.schema})


def test_the_check_changes_nothing(uri: str) -> None:
    check(uri, "create")
    check(f"{uri}{'&' if '?' in uri else '?'}mode=upsert")
    execute(uri, "create table urls (loc text)", "insert into urls values ('old')")
    for mode in ("append", "replace", "upsert"):
        check(uri, mode)
    assert run_query(uri, "select * from urls") == [{"loc": "old"}]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        pytest.param("create view urls as select 'x' as loc", r"(?i)view|ALTER action ADD COLUMN", id="view"),
        pytest.param("create table urls (loc text, owner text not null)", "the column owner cannot be null", id="null"),
        pytest.param(
            "create table urls (a text, loc text generated always as (a) stored)", "generated|duplicate", id="generated"
        ),
    ],
)
def test_a_table_that_cannot_take_the_rows_is_refused_before_the_run(uri: str, statement: str, message: str) -> None:
    execute(uri, statement.replace("stored", "stored" if uri.startswith("postgresql") else "virtual"))
    with pytest.raises(DatabaseError, match=message):
        check(uri)


@pytest.mark.parametrize("mode", ["append", "replace", "upsert"])
def test_columns_that_have_values_of_their_own_are_kept(uri: str, mode: str) -> None:
    execute(uri, "create table urls (loc text, owner text not null default 'me')")
    check(uri, mode)
    load(uri, mode, urls=ROWS)
    assert run_query(uri, "select distinct owner from urls") == [{"owner": "me"}]


def test_names_in_another_case_are_the_same_unless_the_database_distinguishes_them(uri: str) -> None:
    execute(uri, 'create table "URLS" ("LOC" text, "Position" bigint)')
    for _ in range(2):
        check(uri, "upsert")
        load(uri, "upsert", urls=ROWS)
    is_postgresql = uri.startswith("postgresql")
    table = "urls" if is_postgresql else '"URLS"'
    assert [row.get("LOC", row.get("loc")) for row in read(uri, table)] == [
        "https://a.example/1",
        "https://a.example/2",
    ]
    if is_postgresql:
        assert run_query(uri, 'select * from "URLS"') == []


def test_sqlite_takes_every_name_of_a_type(tmp_path: Path) -> None:
    uri = f"sqlite:{tmp_path}/data.db"
    execute(uri, "create table urls (loc varchar(99), position int, priority double precision, key, lastmod clob)")
    check(uri)
    load(uri, "append", urls=ROWS)
    assert [row["position"] for row in read(uri)] == [1, 2]
    execute(uri, "create table items (lastmod timestamp)")  # of numbers: it would change texts that look like them
    with pytest.raises(DatabaseError, match="the column lastmod has the type timestamp, and must have TEXT"):
        load(uri, "append", items=ROWS)


@pytest.mark.service
@pytest.mark.deep
def test_a_user_of_postgresql_needs_no_more_rights_than_those_on_the_schema(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(server, "create role low login password 'low'", "create schema low authorization low", "create schema high")
    monkeypatch.setenv("PGPASSWORD", "low")
    low = f"postgresql://low@{server.partition('@')[2]}"
    check(f"{low}?schema=low")
    assert load(f"{low}?schema=low", "append", urls=ROWS) == 2
    for options, message in {
        "schema=high": "permission denied for schema high",
        "schema=new": "permission denied for database",
        "schema=low&options=-c%20default_transaction_read_only=on": "read-only transaction",
        "options=-c%20search_path=none": "no schema has been selected",
    }.items():
        with pytest.raises(DatabaseError, match=message) as raised:
            check(f"{low}?{options}")
        assert "create table" not in str(raised.value).partition("LINE 1")[0]


@pytest.mark.service
@pytest.mark.deep
def test_names_that_postgresql_would_cut_are_refused(server: str) -> None:
    with pytest.raises(DatabaseError, match="is too long for the name of a table or a column of PostgreSQL"):
        check(f"{server}?table={'é' * 32}")


@pytest.mark.service
@pytest.mark.deep
def test_halves_of_surrogate_pairs_are_replaced_for_postgresql(server: str) -> None:
    texts = [r'"\ud83d\ude00"', r'"\ud83d"', r'"\ude00\ud83d x"', r'"\\ud83d \u00e9"', r'{"\udead": "\u0000"}']
    column = pa.ExtensionArray.from_storage(JSON, pa.array(texts))
    load(f"{server}?schema=halves", "create", items=pa.RecordBatch.from_arrays([column], ["text"]))
    found = run_query(server, "select text::text as text from halves.items")
    assert [row["text"] for row in found] == [
        '"😀"',
        '"\ufffd"',
        '"\ufffd\ufffd x"',
        r'"\\ud83d é"',
        '{"\ufffd": "\ufffd"}',
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("", "Is a directory", id="folder"),
        pytest.param("no/x.db", "No such file or directory|Cannot open file", id="no-folder"),
    ],
)
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_what_is_no_file_is_refused(tmp_path: Path, kind: str, name: str, message: str) -> None:
    with pytest.raises(DatabaseError, match=message):
        check(f"{kind}:{tmp_path}/{name}")


def test_a_file_of_sqlite_with_a_log_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with closing(sqlite3.connect(path)) as reader:
        reader.execute("pragma journal_mode = wal")
        reader.execute("create table urls (loc text)")
        reader.execute("begin")
        assert reader.execute("select * from urls").fetchall() == []
        assert load(f"sqlite:{path}", "append", urls=ROWS) == 2
        reader.execute("commit")
        assert len(reader.execute("select * from urls").fetchall()) == 2
        assert reader.execute("pragma journal_mode").fetchall() == [("wal",)]
