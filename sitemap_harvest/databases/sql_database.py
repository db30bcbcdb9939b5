"""``SqlDatabase``: a database with SQL, which writes all tables in one transaction."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import pyarrow as pa

from sitemap_harvest.databases.database import Database
from sitemap_harvest.databases.location import Mode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sitemap_harvest.databases.database import Rows

LOCK_SECONDS = 60
"""How long to wait for another program that writes the same table."""
_STAGING = "sitemap_harvest_new_rows"


class SqlDatabase(Database):
    """A database that is changed by statements."""

    def load(self, tables: Mapping[str, Rows]) -> int:
        """Write the rows of *tables* in one transaction, and return their number. Raises :exc:`DatabaseError`."""
        written = 0
        self._begin()
        try:
            for name, rows in tables.items():
                written += self._load(name, rows)
            self._commit()
        except BaseException:
            self._roll_back()
            raise
        return written

    def _load(self, name: str, rows: Rows) -> int:
        table, schema = self._named(name), rows.schema
        self._lock(table)
        self.check({name: schema})
        quoted, existing = self._quoted(table), self._columns(table)
        if existing:
            for field in self._missing(table, existing, schema):
                self._execute(f"alter table {quoted} add column {self._definition(field)}")
        else:
            self._execute(f"create table {quoted} ({', '.join(map(self._definition, schema))})")
        reader = pa.RecordBatchReader.from_batches(self._schema(schema), self._converted(rows))
        if self.location.mode is not Mode.UPSERT or not existing:
            if existing and self.location.mode is Mode.REPLACE:
                self._execute(f"delete from {quoted}")  # noqa: S608 - quoted
            return self._insert(table, reader)
        self._execute(f"create temporary table {_STAGING} ({', '.join(map(self._definition, schema))})")
        written = self._insert(_STAGING, reader, temporary=True)
        key = self._key(name, schema)
        self._index(_STAGING, self._key_texts(key, schema))
        old, new = (self._key_texts(key, schema, of) for of in (quoted, _STAGING))
        matches = " and ".join(f"{one} = {other}" for one, other in zip(old, new, strict=True))
        names = ", ".join(map(self._quote, schema.names))
        self._execute(f"delete from {quoted} where exists (select 1 from {_STAGING} where {matches})")  # noqa: S608 - quoted
        self._execute(f"insert into {quoted} ({names}) select {names} from {_STAGING}")  # noqa: S608 - quoted
        self._execute(f"drop table {_STAGING}")
        return written

    def _definition(self, field: pa.Field) -> str:
        return f"{self._quote(field.name)} {self._type(field.type)}"

    def _quoted(self, table: str) -> str:
        schema = f"{self._quote(self.location.schema)}." if self.location.schema else ""
        return f"{schema}{self._quote(table)}"

    @abstractmethod
    def _schema(self, schema: pa.Schema) -> pa.Schema:
        """Return *schema* with the types that the driver takes."""

    @abstractmethod
    def _converted(self, rows: Rows) -> Iterator[pa.RecordBatch]:
        """Yield *rows* with the types that the driver takes."""

    @abstractmethod
    def _lock(self, table: str) -> None:
        """Wait until no other program writes *table*, even if it does not exist yet."""

    def _index(self, table: str, columns: list[str]) -> None:
        """Create an index of *columns* of the temporary *table*, if a join needs one."""
        del table, columns

    @abstractmethod
    def _execute(self, statement: str) -> None:
        """Execute *statement*. Raises :exc:`DatabaseError`."""

    @abstractmethod
    def _insert(self, table: str, reader: pa.RecordBatchReader, *, temporary: bool = False) -> int:
        """Write the rows of *reader* to *table*, and return their number. Raises :exc:`DatabaseError`."""

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    def _commit(self) -> None: ...

    @abstractmethod
    def _roll_back(self) -> None: ...
