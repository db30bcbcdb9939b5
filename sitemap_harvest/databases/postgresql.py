"""PostgreSQL: rows are copied in its binary format; nested columns are ``jsonb``.

Documentation: https://www.postgresql.org/docs/current/sql-copy.html
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from adbc_driver_postgresql import dbapi  # type: ignore[import-untyped]  # it has no types

from sitemap_harvest.databases.adbc import AdbcDatabase
from sitemap_harvest.databases.columns import is_json, json_text, without_refused
from sitemap_harvest.databases.sql_database import LOCK_SECONDS
from sitemap_harvest.errors import DatabaseError

if TYPE_CHECKING:
    from sitemap_harvest.databases.database import Database
    from sitemap_harvest.databases.location import DatabaseLocation

logger = logging.getLogger(__name__)

_TYPES = {
    pa.string(): "text",
    pa.int64(): "bigint",
    pa.float64(): "double precision",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.null(): "text",
}
_LONG = frozenset({"key"})
_MOST_NAME_BYTES = 63
_COLUMNS = "from information_schema.columns where table_name = $1 and table_schema = coalesce($2, current_schema())"
_LOCK_TIMEOUT = "55P03"  # SQLSTATE
_JSONB_VERSION = "\x01"  # its binary format is a version and the text, so that a column of texts can be copied into it


class PostgresqlServer(AdbcDatabase):
    """A database of a PostgreSQL server."""

    _replaced_texts = 0

    def _connected(self) -> Any:
        return dbapi.connect(self.location.address)

    def _words(self, error: Exception) -> str:
        if getattr(error, "sqlstate", None) == _LOCK_TIMEOUT:
            return f"another program has locked the table for {LOCK_SECONDS} seconds; run the command again later"
        words = super()._words(error).replace("fe_sendauth: ", "")
        hint = "; set the environment variable PGPASSWORD, or write the password to ~/.pgpass"
        return f"{words}{hint if 'password' in words else ''}"

    def _type(self, kind: pa.DataType) -> str:
        if pa.types.is_timestamp(kind):
            return "timestamp with time zone"
        return "jsonb" if is_json(kind) else _TYPES[kind]

    def _column(self, column: pa.Array) -> pa.Array:
        if pa.types.is_null(column.type):
            return column.cast(pa.string())
        if is_json(column.type):
            text, replaced = without_refused(json_text(column), is_json=True)
            text = pc.binary_join_element_wise(_JSONB_VERSION, text, "")
        elif pa.types.is_string(column.type):
            text, replaced = without_refused(column)
        else:
            return column
        self._replaced_texts += replaced
        return text

    def _columns(self, table: str) -> dict[str, str]:
        query = f"select column_name::text, data_type::text {_COLUMNS} order by ordinal_position"
        return dict(self._query(query, [table, self.location.schema]))

    def _required(self, table: str) -> list[str]:
        query = f"select column_name::text {_COLUMNS} and is_nullable = 'NO' and column_default is null"
        generated = "and is_identity = 'NO' and is_generated = 'NEVER'"
        return [name for (name,) in self._query(f"{query} {generated}", [table, self.location.schema])]

    @classmethod
    def _quote(cls, name: str) -> str:
        if len(name.encode(errors="replace")) > _MOST_NAME_BYTES:  # the server would cut it
            raise DatabaseError(f"{name!r} is too long for the name of a table or a column of PostgreSQL")
        return super()._quote(name)

    def _lock(self, table: str) -> None:
        self._execute(f"set local lock_timeout = '{LOCK_SECONDS}s'")
        of_table = f"sitemap_harvest {self._quoted(table)}"
        with self._waiting():
            self._query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [of_table])
        schema = self.location.schema  # "if not exists" would need the right to create one, even if it exists
        if schema and not self._query("select 1 from pg_namespace where nspname = $1", [schema]):
            self._execute(f"create schema {self._quote(schema)}")

    def _create_index(self, table: str, column: str) -> None:
        # An index of long texts must be a hash index: others refuse texts of more than 2,704 bytes.
        method = "hash" if column in _LONG else "btree"
        self._execute(f"create index on {self._quoted(table)} using {method} ({self._quote(column)})")

    def _commit(self) -> None:
        super()._commit()
        if self._replaced_texts:
            logger.warning(
                "PostgreSQL cannot store NUL characters and halves of surrogate pairs: "
                "%s texts have U+FFFD in their place",
                f"{self._replaced_texts:,}",
            )


def open_at(location: DatabaseLocation) -> Database:
    """Connect to the server at *location*. Raises :exc:`~sitemap_harvest.errors.DatabaseError`."""
    return PostgresqlServer(location)
