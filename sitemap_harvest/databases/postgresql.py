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
from sitemap_harvest.databases.columns import is_json, json_text, without_nul
from sitemap_harvest.databases.sql_database import LOCK_SECONDS

if TYPE_CHECKING:
    from sitemap_harvest.databases.database import Database
    from sitemap_harvest.databases.location import DatabaseLocation

logger = logging.getLogger(__name__)

_TYPES = {
    pa.string(): "text",
    pa.int64(): "bigint",
    pa.float64(): "double precision",
    pa.bool_(): "boolean",
    pa.null(): "text",
}
_LONG = frozenset({"key"})
_JSONB_VERSION = "\x01"  # its binary format is a version and the text, so that a column of texts can be copied into it


class PostgresqlServer(AdbcDatabase):
    """A database of a PostgreSQL server."""

    _nul_texts = 0

    def _connected(self) -> Any:
        return dbapi.connect(self.location.address)

    def _type(self, kind: pa.DataType) -> str:
        if pa.types.is_timestamp(kind):
            return "timestamp with time zone"
        return "jsonb" if is_json(kind) else _TYPES[kind]

    def _column(self, column: pa.Array) -> pa.Array:
        if pa.types.is_null(column.type):
            return column.cast(pa.string())
        if is_json(column.type):
            text, nul = without_nul(json_text(column), is_json=True)
            text = pc.binary_join_element_wise(_JSONB_VERSION, text, "")
        elif pa.types.is_string(column.type):
            text, nul = without_nul(column)
        else:
            return column
        self._nul_texts += nul
        return text

    def _columns(self, table: str) -> dict[str, str]:
        return dict(
            self._query(
                "select column_name::text, data_type::text from information_schema.columns "
                "where table_name = $1 and table_schema = coalesce($2, current_schema()) order by ordinal_position",
                [table, self.location.schema],
            )
        )

    def _lock(self, table: str) -> None:
        self._execute(f"set local lock_timeout = '{LOCK_SECONDS}s'")
        self._query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [f"sitemap_harvest {self._quoted(table)}"])
        if self.location.schema:
            self._execute(f"create schema if not exists {self._quote(self.location.schema)}")

    def _create_index(self, table: str, column: str) -> None:
        # An index of long texts must be a hash index: others refuse texts of more than 2,704 bytes.
        method = "hash" if column in _LONG else "btree"
        self._execute(f"create index on {self._quoted(table)} using {method} ({self._quote(column)})")

    def _commit(self) -> None:
        super()._commit()
        if self._nul_texts:
            logger.warning(
                "PostgreSQL cannot store NUL characters: %s texts have U+FFFD in their place", f"{self._nul_texts:,}"
            )


def open_at(location: DatabaseLocation) -> Database:
    """Connect to the server at *location*. Raises :exc:`~sitemap_harvest.errors.DatabaseError`."""
    return PostgresqlServer(location)
