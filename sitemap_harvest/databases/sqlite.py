"""SQLite files: nested columns are JSON, and instants are text in ISO 8601.

Documentation: https://www.sqlite.org/docs.html
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from adbc_driver_sqlite import dbapi

from sitemap_harvest.databases.adbc import AdbcDatabase
from sitemap_harvest.databases.columns import is_json, json_text
from sitemap_harvest.databases.database import foreign_file
from sitemap_harvest.databases.sql_database import LOCK_SECONDS
from sitemap_harvest.errors import DatabaseError
from sitemap_harvest.export import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.databases.database import Database
    from sitemap_harvest.databases.location import DatabaseLocation

_PARTS = {"INTEGER": ("INT",), "REAL": ("REAL", "FLOA", "DOUB"), "TEXT": ("CHAR", "CLOB", "TEXT")}
_FOREIGN = "file is not a database"


class SqliteFile(AdbcDatabase):
    """A file that one program can write at a time; others wait."""

    has_comments = False
    has_case = False

    def __init__(self, location: DatabaseLocation) -> None:
        """Open the file, or create it. Raises :exc:`DatabaseError`."""
        self._is_new = not Path(location.address).exists()
        super().__init__(location)

    def close(self) -> None:
        """Close the file. Remove it if it is new and empty."""
        path = Path(self.location.address)
        with suppress(DatabaseError, OSError):  # another program writes it, or this is Windows
            if self._is_new and not path.stat().st_size:
                self._execute("pragma busy_timeout = 0")
                self._execute("commit")
                self._execute("begin exclusive")
                if not path.stat().st_size:
                    path.unlink()
        super().close()

    def _connected(self) -> Any:
        try:
            return dbapi.connect(path := self.location.address)
        except dbapi.Error as error:  # it says only that memory is missing
            try:
                Path(path).open("ab").close()
            except OSError as reason:
                raise DatabaseError(f"{path}: {reason.strerror}") from error
            raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with super()._errors():
                yield
        except DatabaseError as error:
            if _FOREIGN in str(error):
                raise foreign_file(self.location.address, "SQLite") from error
            raise

    def _words(self, error: Exception) -> str:
        words = super()._words(error)
        if words == "database is locked":
            return f"another program has locked it for {LOCK_SECONDS} seconds; run the command again later"
        return words.replace("disk is full", f"disk is full (temporary files are in {gettempdir()})")

    def _type(self, kind: pa.DataType) -> str:
        if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
            return "INTEGER"
        return "REAL" if pa.types.is_floating(kind) else "TEXT"

    def _driver_type(self, kind: pa.DataType) -> pa.DataType:
        return pa.string() if pa.types.is_timestamp(kind) else super()._driver_type(kind)

    def _column(self, column: pa.Array) -> pa.Array:
        if pa.types.is_null(column.type):
            return column.cast(pa.string())
        if pa.types.is_timestamp(column.type):
            return text_of(column)
        return json_text(column) if is_json(column.type) else column

    def _columns(self, table: str) -> dict[str, str]:
        return dict(self._query("select name, type from pragma_table_info(?) order by cid", [table]))

    def _is_same(self, found: str, wanted: str) -> bool:
        # It takes all types, in which it stores values in one of five ways: https://www.sqlite.org/datatype3.html
        parts = _PARTS[wanted]
        return not found or any(part in found.upper() for part in parts)

    def _required(self, table: str) -> list[str]:
        query = (
            'select name from pragma_table_info(?) where "notnull" and dflt_value is null '
            "and not (pk and type = 'INTEGER' collate nocase)"  # then it is the number of the row
        )
        return [name for (name,) in self._query(query, [table])]

    def _index(self, table: str, columns: list[str]) -> None:
        self._execute(f"create index temp.{table}_key on {table} ({', '.join(columns)})")

    def _create_index(self, table: str, column: str) -> None:
        self._execute(
            f"create index if not exists {self._quote(f'{table}_{column}')} "
            f"on {self._quote(table)} ({self._quote(column)})"
        )

    def _begin(self) -> None:
        """Wait until no other program writes the file: a transaction that has read it before could not wait."""
        for is_last in (False, True):
            self._execute(f"pragma busy_timeout = {LOCK_SECONDS * 1000}")
            self._execute("commit")  # of the transaction that the driver has begun
            with self._waiting():
                self._execute("begin immediate")
            if is_last or Path(self.location.address).exists():
                return
            super().close()  # another program has removed it, as it was new and empty
            with self._errors():
                self._connection = self._connected()
                self._cursor = self._connection.cursor()

    def _roll_back(self) -> None:
        super()._roll_back()
        with suppress(DatabaseError):  # only reading restores a file that a full disk has left with a journal
            self._query("select count(*) from sqlite_master", [])

    def _lock(self, table: str) -> None:
        """Do nothing: the transaction has locked the whole file."""


def open_at(location: DatabaseLocation) -> Database:
    """Open the file at *location*, or create it. Raises :exc:`DatabaseError`."""
    return SqliteFile(location)
