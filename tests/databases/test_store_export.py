"""A store in tables of real databases: whole, then only what is new, and the same as queries return."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from sitemap_harvest.databases import Mode, Rows, open_database, parse_location
from sitemap_harvest.databases.columns import is_json
from sitemap_harvest.databases.database import EXPORTED
from sitemap_harvest.databases.sql_database import SqlDatabase
from sitemap_harvest.databases.store_export import EXPORTS, TABLES, ExportCounts, StoreExport
from sitemap_harvest.errors import DatabaseError
from sitemap_harvest.model import Problem, SitemapRecord
from sitemap_harvest.model.problem import Sample
from sitemap_harvest.snapshots.store import prune
from tests.databases.reading import run_query
from tests.model.test_batch import FULL
from tests.snapshots.store.making import SITE, Making, locs

if TYPE_CHECKING:
    from sitemap_harvest.databases import Database
    from sitemap_harvest.snapshots.store import Store

B = "https://b.example"
NAMES = [name for name in TABLES if name != EXPORTS]


def connected(uri: str) -> Database:
    return open_database(parse_location(uri, default=Mode.APPEND))


def opened(uri: str) -> SqlDatabase:
    database = connected(uri)
    assert isinstance(database, SqlDatabase)
    return database


def export(uri: str, store: Store, *sites: str, is_full: bool = False) -> ExportCounts:
    with connected(uri) as database:
        done = StoreExport(database, is_full=is_full)
        done.check()
        list(done.export(map(store.site, sites) if sites else store.iter_histories()))
    return done.counts


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=lambda one: one.isoformat()))


def tables(uri: str) -> dict[str, list[str]]:
    """Return the rows of each table, as sorted JSON."""
    found = {}
    for name in NAMES:
        schema = TABLES[name]
        nested = {field.name for field in schema if is_json(field.type)}
        flags = {field.name for field in schema if pa.types.is_boolean(field.type)}
        rows = []
        for row in run_query(uri, f"select * from {name}"):
            for column, value in row.items():
                if isinstance(value, str) and column in nested:
                    row[column] = json.loads(value)
                elif column in flags and value is not None:
                    row[column] = bool(value)
            rows.append(plain(row))
        found[name] = sorted(json.dumps(row, sort_keys=True) for row in rows)
    return found


def queried(store: Store, at: str = "latest") -> dict[str, list[str]]:
    """Return the rows that queries of *store* return, as :func:`tables` does."""
    found = {}
    for name in NAMES:
        rows = store.query(f"select * from {name}", at=at).to_pylist(maps_as_pydicts="strict")
        found[name] = sorted(json.dumps(plain(row), sort_keys=True) for row in rows)
    return found


PROBLEM = Problem(
    code="xml/truncated",
    document=f"{SITE}/s.xml",
    detail="it's cut\n",
    samples=(Sample(line=3), Sample(excerpt="<\U0001f9c0")),
)


def add_problems(making: Making, site: str, *problems: Problem) -> None:
    """Make a run over *site* whose only document has *problems*."""
    writer = making.begin(site)
    record: SitemapRecord = making.document(writer, f"{site}/s.xml", locs(3))
    record.problems, record.root = problems, site
    making.commit(writer, [record])


any_kind = pytest.mark.parametrize(
    "any_uri",
    [
        "duckdb",
        *(pytest.param(kind, marks=pytest.mark.thorough) for kind in ("sqlite", "delta")),
        pytest.param("postgresql", marks=[pytest.mark.service, pytest.mark.deep]),
    ],
    indirect=True,
)


@pytest.fixture
def making(tmp_path: Path) -> Making:
    """Return a store with the histories of two sites: one of five days, with removals, changes and problems."""
    making = Making(tmp_path / "store", compares=True)
    for day in range(4):
        rows = [replace(FULL, loc=f"{SITE}/full", key="full", title=str(day)), *locs(6, start=2 * day)]
        making.run({f"{SITE}/s.xml": rows[: 6 - day], f"{SITE}/t.xml": [rows[-1]]})
    add_problems(making, B, PROBLEM, replace(PROBLEM, code="xml/entities", samples=()))
    return making


@any_kind
def test_tables_have_the_rows_of_queries(any_uri: str, making: Making) -> None:
    counts = export(any_uri, making.store)
    wanted = queried(making.store)
    assert tables(any_uri) == wanted
    assert {name: len(rows) for name, rows in wanted.items()} == {name: counts.rows[name] for name in NAMES}
    assert counts.rows["problems"] == 2
    assert counts.rows["changes"] > 9
    assert (counts.sites, counts.up_to_date, counts.failed) == (2, 0, [])


@pytest.mark.thorough
def test_the_same_export_again_writes_nothing(any_uri: str, making: Making) -> None:
    export(any_uri, making.store)
    before = run_query(any_uri, f"select * from {EXPORTS} order by root")
    counts = export(any_uri, making.store)
    assert (counts.sites, counts.up_to_date, counts.rows) == (0, 2, {})
    assert run_query(any_uri, f"select * from {EXPORTS} order by root") == before
    assert [row["root"] for row in before] == [SITE, B]


@pytest.mark.thorough
def test_an_export_after_each_run_gives_the_same_tables(any_uri: str, tmp_path: Path) -> None:
    making = Making(tmp_path / "store", compares=True)
    for day in range(5):
        making.run({f"{SITE}/s.xml": locs(4, start=day), **({f"{SITE}/t.xml": locs(2, start=90)} if day < 3 else {})})
        if day != 2:
            counts = export(any_uri, making.store)
            assert counts.rows["runs"] == (2 if day == 3 else 1)
    assert tables(any_uri) == queried(making.store)


@pytest.mark.thorough
def test_what_was_exported_stays_when_the_store_is_pruned(any_uri: str, making: Making) -> None:
    export(any_uri, making.store)
    before = queried(making.store)
    history = making.store.site(SITE)
    prune(history, {history.runs[-1].id})
    history.forget()
    export(any_uri, making.store, is_full=True)
    assert tables(any_uri) == before | {"urls": queried(making.store)["urls"]}


@pytest.mark.thorough
def test_a_full_export_replaces_rows(uri: str, making: Making) -> None:
    export(uri, making.store)
    with opened(uri) as database, database.transaction():
        for name in ("urls", "changes", "runs"):
            database._execute(f"update {name} set run = '20200101T000000Z-000000' where run < '20261103'")
            database._execute(f"update {name} set run = 'x' where run < 'x' and run > '20261104'")
    export(uri, making.store)
    assert tables(uri) != queried(making.store)
    with opened(uri) as database, database.transaction():
        for name in ("changes", "runs"):
            database._execute(f"delete from {name} where run in ('x', '20200101T000000Z-000000')")
    counts = export(uri, making.store, is_full=True)
    assert (counts.sites, counts.rows["runs"]) == (2, 5)
    assert tables(uri) == queried(making.store)


@any_kind
def test_a_full_export_removes_rows_that_no_export_has_written(any_uri: str, making: Making) -> None:
    export(any_uri, making.store)
    schema = TABLES["urls"]
    row = pa.RecordBatch.from_pylist([{"loc": "https://other.example/"}], schema=schema)
    with connected(any_uri) as database, database.transaction():
        database.lock(EXPORTS)
        database.write("urls", Rows(schema, [row]))
    assert tables(any_uri) != queried(making.store)
    export(any_uri, making.store, is_full=True)
    assert tables(any_uri) == queried(making.store)


def test_the_tables_of_an_export_have_their_names() -> None:
    assert [*TABLES] == [*EXPORTED, EXPORTS]


@pytest.mark.thorough
def test_named_sites_alone_are_exported(any_uri: str, making: Making) -> None:
    assert export(any_uri, making.store, "b.example").sites == 1
    assert {json.loads(row)["root"] for row in tables(any_uri)["urls"]} == {B}
    counts = export(any_uri, making.store)
    assert (counts.sites, counts.up_to_date) == (1, 1)
    assert tables(any_uri) == queried(making.store)


HOSTILE = [
    "https://x.example/'); drop table urls; --",
    'https://x.example/"%22$1?a=%',
    "https://x.example/é\u2028\U0001f9c0\t\\N",
    "https://x.example/" + "long/" * 500,
]


@pytest.mark.thorough
def test_hostile_names_of_sites(any_uri: str, tmp_path: Path) -> None:
    making = Making(tmp_path / "store", compares=True)
    for start in range(2):
        for site in HOSTILE:
            making.run({f"{site}/s.xml": locs(2, start=start)}, site=site)
        export(any_uri, making.store)
    assert tables(any_uri) == queried(making.store)
    assert {row["root"] for row in run_query(any_uri, f"select root from {EXPORTS}")} == set(HOSTILE)


@pytest.mark.thorough
def test_a_site_that_cannot_be_read_is_left_out_until_it_can(any_uri: str, making: Making) -> None:
    export(any_uri, making.store, B)
    for site in (SITE, B):
        making.run({f"{site}/s.xml": [replace(FULL, loc=f"{site}/{n}", key=str(n)) for n in range(30)]}, site=site)
    folder = making.store.site(SITE).folder
    *_, damaged = sorted(Path(str(folder)).rglob("rows-*.parquet"))
    content = damaged.read_bytes()
    damaged.write_bytes(b"")
    counts = export(any_uri, making.store)
    assert (counts.sites, len(counts.failed)) == (1, 1)
    assert "rows-0001.parquet" in counts.failed[0]
    assert {row["root"] for row in run_query(any_uri, "select root from urls")} == {B}
    damaged.write_bytes(content)
    assert export(any_uri, making.store).sites == 1
    assert tables(any_uri) == queried(making.store)


def test_tables_of_something_else_are_refused(uri: str, making: Making) -> None:
    with opened(uri) as database, database.transaction():
        database._execute("create table runs (miles integer)")
    advice = "another database" if uri.startswith("sqlite") else "another database, or add the parameter schema=NAME"
    with pytest.raises(DatabaseError, match=rf"^the table runs already exists, .* written it; export to {advice}$"):
        export(uri, making.store)
    assert run_query(uri, "select * from runs") == []


def test_tables_of_something_else_in_a_schema_are_refused(uri: str, making: Making) -> None:
    if uri.startswith("sqlite"):
        return  # it has no schemas
    with opened(uri) as database, database.transaction():
        database._execute("create schema m")
        database._execute("create table m.runs (miles integer)")
    with pytest.raises(
        DatabaseError, match=r"^the table m\.runs already exists, .*; export to another database or schema$"
    ):
        export(f"{uri}?schema=m", making.store)


@pytest.mark.thorough
def test_columns_of_a_later_version_are_added(uri: str, making: Making) -> None:
    export(uri, making.store)
    with opened(uri) as database, database.transaction():
        database._execute("alter table runs drop column reason")
        database._execute("alter table problems drop column samples")
    making.run({f"{SITE}/s.xml": locs(2)}, reason="it's new")
    export(uri, making.store)
    assert tables(uri)["runs"] == queried(making.store)["runs"]


@pytest.mark.thorough
def test_a_column_of_another_type_is_refused(uri: str, making: Making) -> None:
    export(uri, making.store, B)
    before = tables(uri)
    with opened(uri) as database, database.transaction():
        database._execute("alter table changes rename to old_changes")
        database._execute(
            "create table changes (site double precision)"
            if "sqlite" not in uri
            else "create table changes (site REAL)"
        )
    with pytest.raises(DatabaseError, match=r"the table changes: the column site has the type .*, and must have"):
        export(uri, making.store)
    assert tables(uri)["urls"] == before["urls"]


@pytest.mark.thorough
def test_an_export_of_a_newer_version_is_refused(uri: str, making: Making) -> None:
    export(uri, making.store)
    with opened(uri) as database, database.transaction():
        database._execute(f"update {EXPORTS} set format = 2")
    with pytest.raises(DatabaseError, match=r"a newer version of sitemap_harvest has exported .* \(format 2\)"):
        export(uri, making.store)


_COMMENTS = {
    "postgresql": (
        "select obj_description('urls'::regclass) as on_table, col_description('urls'::regclass, 5) as on_column"
    ),
    "duckdb": (
        "select (select comment from duckdb_tables() where table_name = 'urls') as on_table, "
        "(select comment from duckdb_columns() where table_name = 'urls' and column_name = 'lastmod') as on_column"
    ),
}
_INDEXES = {
    "postgresql": "select indexdef as definition from pg_indexes where tablename = 'changes' order by 1",
    "sqlite": "select sql as definition from sqlite_master where type = 'index' and tbl_name = 'changes' order by 1",
}


@pytest.mark.thorough
def test_comments_and_indexes(uri: str, making: Making) -> None:
    export(uri, making.store)
    kind = uri.partition(":")[0]
    if kind in _COMMENTS:
        (row,) = run_query(uri, _COMMENTS[kind])
        assert row["on_table"] == "The URLs in the last snapshot of each site."
        assert row["on_column"]
    if kind in _INDEXES:
        columns = [row["definition"].rpartition("(")[2].strip('")') for row in run_query(uri, _INDEXES[kind])]
        assert sorted(columns) == ["key", "run", "site"]


def test_every_field_with_a_docstring_has_a_comment() -> None:
    missing = {name: [one.name for one in TABLES[name] if not one.metadata] for name in NAMES}
    assert missing == {
        "urls": [],
        "sitemaps": ["found_by", "outcome", "problems"],
        "problems": [],
        "changes": ["kind"],
        "runs": ["ended_at"],
    }


def test_comments_are_plain_text() -> None:
    texts = [one.metadata[b"comment"].decode() for schema in TABLES.values() for one in schema if one.metadata]
    assert [text for text in texts if "`" in text or "None" in text] == []
