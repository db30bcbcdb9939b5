"""DuckDB files: nested columns are native lists and structures.

Documentation: https://duckdb.org/docs/stable/
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from sitemap_harvest.databases.database import foreign_file
from sitemap_harvest.databases.sql_database import SqlDatabase
from sitemap_harvest.errors import DatabaseError
from sitemap_harvest.files import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.databases.database import Database, Rows
    from sitemap_harvest.databases.location import DatabaseLocation

_TYPES = {
    pa.string(): "VARCHAR",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.date32(): "DATE",
    pa.null(): "VARCHAR",
}
CONFIG: dict[str, Any] = {
    # One thread, and some memory beyond which it writes to disk: a crawl may run beside others.
    "threads": 1,
    "memory_limit": "256MB",
}
_COLUMNS = (
    "from information_schema.columns where table_catalog = current_catalog() "
    "and lower(table_name) = lower(?) and lower(table_schema) = lower(?)"
)
_FOREIGN = "not a valid DuckDB database file"
_CONTENT = "from duckdb_tables() where not internal union all by name from duckdb_views() where not internal"


class DuckDbFile(SqlDatabase):
    """A file that only this process can open at the same time."""

    has_case = False

    def __init__(self, location: DatabaseLocation) -> None:
        """Open the file. Raises :exc:`DatabaseError`."""
        super().__init__(location)
        self._is_new = not Path(location.address).exists()
        self._spill = TemporaryFolder("duckdb")  # that of DuckDB, beside the file, would stay after a kill
        config = {**CONFIG, "temp_directory": str(self._spill.path)}
        with self._errors():
            # With the prefix, it opens no other files, such as CSV, and downloads nothing to open a file of SQLite.
            self._connection = duckdb.connect(f"duckdb:{location.address}", config=config)
            self._connection.execute("set timezone = 'UTC'")

    def close(self) -> None:
        """Close the file. Remove it if it is new and empty."""
        with suppress(DatabaseError, OSError):  # the disk was full, or this is Windows
            if self._is_new and not self._query(_CONTENT, []):
                for suffix in (".wal", ""):  # while it is locked: no other program can have written it
                    Path(f"{self.location.address}{suffix}").unlink(missing_ok=True)
        self._connection.close()
        self._spill.remove()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (duckdb.Error, OSError, RuntimeError) as error:  # the last one after Ctrl-C
            if _FOREIGN in str(error):
                raise foreign_file(self.location.address, "DuckDB") from error
            raise DatabaseError(f"{self.location.address}: {' '.join(str(error).split())}") from error

    def _type(self, kind: pa.DataType) -> str:
        if pa.types.is_timestamp(kind):
            return "TIMESTAMP WITH TIME ZONE"
        if isinstance(kind, pa.JsonType):
            return "JSON"
        if pa.types.is_map(kind):
            return f"MAP({self._type(kind.key_type)}, {self._type(kind.item_type)})"
        if pa.types.is_list(kind):
            return f"{self._type(kind.value_type)}[]"
        if pa.types.is_struct(kind):
            return f"STRUCT({', '.join(f'{self._quote(field.name)} {self._type(field.type)}' for field in kind)})"
        return _TYPES[kind]

    def _is_same(self, found: str, wanted: str) -> bool:
        return found.replace('"', "") == wanted.replace('"', "")  # it quotes only the names that are words of SQL

    def _schema(self, schema: pa.Schema) -> pa.Schema:
        return schema

    def _converted(self, rows: Rows) -> Iterator[pa.RecordBatch]:
        yield from rows.batches

    def _columns(self, table: str) -> dict[str, str]:
        return dict(
            self._query(f"select column_name, data_type {_COLUMNS} order by ordinal_position", self._names(table))
        )

    def _required(self, table: str) -> list[str]:
        query = f"select column_name {_COLUMNS} and is_nullable = 'NO' and column_default is null"
        return [name for (name,) in self._query(query, self._names(table))]

    def _names(self, table: str) -> list[str]:
        return [table, self.location.schema or "main"]

    def _lock(self, table: str) -> None:  # noqa: ARG002 - the whole file is locked while it is open
        if self.location.schema:
            self._execute(f"create schema if not exists {self._quote(self.location.schema)}")

    def _delete(self, quoted: str, rows: pa.RecordBatch) -> None:
        is_match = " and ".join(f"{quoted}.{name} = replaced.{name}" for name in map(self._quote, rows.schema.names))
        with self._errors():
            self._connection.register("replaced", rows)
            self._connection.execute(f"delete from {quoted} where exists (select 1 from replaced where {is_match})")  # noqa: S608 - quoted
            self._connection.unregister("replaced")

    def _query(self, statement: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        with self._errors():
            return self._connection.execute(statement, parameters).fetchall()

    def _execute(self, statement: str) -> None:
        with self._errors():
            self._connection.execute(statement)

    def _insert(self, table: str, reader: pa.RecordBatchReader, *, temporary: bool = False) -> int:
        name = self._quote(table) if temporary else self._quoted(table)
        with self._errors():
            self._connection.register("new_rows", reader)
            (count,) = self._connection.execute(f"insert into {name} by name from new_rows").fetchone() or (0,)
            self._connection.unregister("new_rows")
        return int(count)

    def _begin(self) -> None:
        self._execute("begin")

    def _commit(self) -> None:
        self._execute("commit")

    def _roll_back(self) -> None:
        with suppress(DatabaseError):
            self._execute("rollback")


def open_at(location: DatabaseLocation) -> Database:
    """Open the file at *location*. Raises :exc:`DatabaseError`."""
    return DuckDbFile(location)
