"""Reads tables with the programs that users have, in one form: as JSON would have the rows."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
from adbc_driver_postgresql import dbapi
from deltalake import DeltaTable

from sitemap_harvest.databases import Mode, Rows, open_database, parse_location

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from sitemap_harvest.model import Batch

Row = dict[str, Any]


def rows_of(batch: Batch[Any]) -> list[Row]:
    """Return the rows of *batch*."""
    return [_plain(asdict(row)) for row in batch]


def load(uri: str, mode: str, **tables: Batch[Any] | pa.RecordBatch) -> int:
    """Write batches to tables."""
    batches = {name: getattr(batch, "arrow", batch) for name, batch in tables.items()}
    with open_database(parse_location(uri, default=Mode(mode))) as database:
        return database.load({name: Rows(batch.schema, [batch]) for name, batch in batches.items()})


def read(uri: str, table: str = '"urls"') -> list[Row]:
    """Return the rows of *table*, quoted, by position."""
    return run_query(uri, f"select * from {table} order by position, loc")


def run_query(uri: str, query: str) -> list[Row]:
    """Return the rows of *query*."""
    return _READERS[uri.partition(":")[0]](uri, query)


def _of_duckdb(uri: str, query: str) -> list[Row]:
    with duckdb.connect(parse_location(uri, default=Mode.APPEND).address) as connection:
        connection.execute("set timezone = 'UTC'")
        rows = connection.sql(query).to_arrow_table().to_pylist(maps_as_pydicts="strict")
    return [_plain(row) for row in rows]


def _of_sqlite(uri: str, query: str) -> list[Row]:
    with closing(sqlite3.connect(parse_location(uri, default=Mode.APPEND).address)) as connection:
        connection.row_factory = sqlite3.Row
        rows = [dict(row) for row in connection.execute(query)]
    return [_parsed(row) for row in rows]


def _of_postgresql(uri: str, query: str) -> list[Row]:
    with closing(dbapi.connect(uri.partition("?")[0])) as connection, closing(connection.cursor()) as cursor:
        cursor.execute("set timezone = 'UTC'")
        cursor.execute(query)
        rows = cursor.fetch_arrow_table().to_pylist()
    return [_plain(_parsed(row)) for row in rows]


def _of_delta(uri: str, query: str) -> list[Row]:
    folder = parse_location(uri, default=Mode.APPEND).address
    is_table = DeltaTable.is_deltatable(folder)
    tables = {"urls": folder} if is_table else {path.name: str(path) for path in Path(folder).iterdir()}
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        for name, path in tables.items():
            connection.register(name, DeltaTable(path).to_pyarrow_dataset())
        rows = connection.sql(query).to_arrow_table().to_pylist(maps_as_pydicts="strict")
    return [_plain(row) for row in rows]


_READERS: dict[str, Callable[[str, str], list[Row]]] = {
    "duckdb": _of_duckdb,
    "sqlite": _of_sqlite,
    "postgresql": _of_postgresql,
    "delta": _of_delta,
}
_NESTED = {"alternates", "images", "videos", "news", "pagemap", "extra"}
_FLAGS = {"lastmod_zoned", "mobile", "in_scope"}


def _parsed(row: Row) -> Row:
    for name, value in row.items():
        if name in _NESTED and value is not None:
            row[name] = json.loads(value)
        elif name in _FLAGS and value is not None:
            row[name] = bool(value)
    return row


def _plain(value: Any) -> Any:
    def as_text(one: Any) -> str:
        assert isinstance(one, date)
        return one.isoformat()

    return json.loads(json.dumps(value, default=as_text))
