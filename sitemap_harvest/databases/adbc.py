"""``AdbcDatabase``: a database with a driver of Arrow Database Connectivity, which takes columns in bulk.

Specification: https://arrow.apache.org/adbc/
"""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import adbc_driver_manager
import pyarrow as pa

from sitemap_harvest.databases.columns import is_json
from sitemap_harvest.databases.sql_database import SqlDatabase
from sitemap_harvest.errors import DatabaseError
from sitemap_harvest.redact import without_login

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.databases.database import Rows
    from sitemap_harvest.databases.location import DatabaseLocation

_SERVER_ERROR = re.compile(
    r"(?:ERROR|FATAL|PANIC): +(.*?)\s*(?:\nLINE \d+:.*|\nQuery was:.*|\. SQLSTATE:.*)?\Z", re.DOTALL
)
_KIND = re.compile(
    r"[A-Z_]+: (?:\[\w+\] )?|[Ff]ailed to \w+(?: query(?: '.*?')?)?: |Error writing tuple field data: |"
    r"Error message returned by \w+: ",
    re.DOTALL,
)
_STATEMENT = re.compile(r"\nquery(?: was)?: .*", re.DOTALL)


class AdbcDatabase(SqlDatabase):
    """Nested columns are JSON."""

    def __init__(self, location: DatabaseLocation) -> None:
        """Connect to the database. Raises :exc:`DatabaseError`."""
        super().__init__(location)
        with self._errors():
            self._connection = self._connected()
            self._cursor = self._connection.cursor()

    def _connected(self) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        """Close the connection."""
        for one in (self._cursor, self._connection):
            with suppress(adbc_driver_manager.Error):  # the server may be gone
                one.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except adbc_driver_manager.Error as error:
            raise DatabaseError(f"{without_login(self.location.address)}: {self._words(error)}") from error

    def _words(self, error: Exception) -> str:
        """Return the message of *error* in one line, without the driver's kind of error and the statement."""
        text = str(error)
        if found := _SERVER_ERROR.search(text):
            text = found[1]
        else:
            text = _STATEMENT.sub("", text)
            while (found := _KIND.match(text)) is not None:
                text = text[found.end() :]
        return " ".join(text.split())

    def _schema(self, schema: pa.Schema) -> pa.Schema:
        return pa.schema([(field.name, self._driver_type(field.type)) for field in schema])

    def _driver_type(self, kind: pa.DataType) -> pa.DataType:
        return pa.string() if is_json(kind) or pa.types.is_null(kind) else kind

    def _converted(self, rows: Rows) -> Iterator[pa.RecordBatch]:
        schema = self._schema(rows.schema)
        for batch in rows.batches:
            yield pa.RecordBatch.from_arrays(list(map(self._column, batch.columns)), schema=schema)

    def _column(self, column: pa.Array) -> pa.Array:
        raise NotImplementedError

    def _query(self, statement: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        with self._errors():
            self._cursor.execute(statement, parameters)
            return list(self._cursor.fetchall())

    def _delete(self, quoted: str, rows: pa.RecordBatch) -> None:
        is_match = " and ".join(f"{self._quote(name)} = ${n}" for n, name in enumerate(rows.schema.names, start=1))
        bound = pa.RecordBatch.from_arrays(list(map(self._column, rows.columns)), rows.schema.names)
        with self._errors():
            self._cursor.executemany(f"delete from {quoted} where {is_match}", bound)  # noqa: S608 - quoted

    def _execute(self, statement: str) -> None:
        with self._errors():
            self._cursor.execute(statement)

    def _insert(self, table: str, reader: pa.RecordBatchReader, *, temporary: bool = False) -> int:
        options = {"temporary": True} if temporary else {"db_schema_name": self.location.schema}
        with self._errors():
            return int(self._cursor.adbc_ingest(table, reader, mode="append", **options))

    def _begin(self) -> None:  # a transaction begins with its first statement
        pass

    def _commit(self) -> None:
        with self._errors():
            self._connection.commit()

    def _roll_back(self) -> None:
        with suppress(adbc_driver_manager.Error):
            self._connection.rollback()
