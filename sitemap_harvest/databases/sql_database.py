"""``SqlDatabase``: a database with SQL, which writes all tables in one transaction."""

from __future__ import annotations

import logging
from abc import abstractmethod
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sitemap_harvest.databases.database import COMMENT, Database, raising_as_it_was
from sitemap_harvest.databases.location import Mode
from sitemap_harvest.redact import without_login

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from sitemap_harvest.databases.database import Rows

logger = logging.getLogger(__name__)

LOCK_SECONDS = 60
"""How long to wait for another program that writes the same table."""
_SILENT_SECONDS = 1.0
_STAGING = "sitemap_harvest_new_rows"


class SqlDatabase(Database):
    """A database that is changed by statements."""

    has_comments = True
    """Whether tables and columns can have comments."""

    def load(self, tables: Mapping[str, Rows], *, leaving: Collection[str] = ()) -> int:
        """Write the rows in one transaction, and return their number. Raises :exc:`DatabaseError`."""
        with self.transaction():
            self.check_not_exported(tables)
            return sum(self.write(name, rows) for name, rows in tables.items() if name not in leaving)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Begin a transaction, and commit it unless an exception is raised. Raises :exc:`DatabaseError`."""
        self._begin()
        try:
            yield
            self._commit()
        except BaseException:
            self._roll_back()
            raise

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Log what the block waits for if that takes a while: it locks the database, or a table."""
        message = "%s: another program has locked it; waiting for at most %d seconds"
        address = without_login(self.location.address)
        timer = Timer(_SILENT_SECONDS, logger.warning, (message, address, LOCK_SECONDS))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def lock(self, name: str) -> None:
        """Lock the table *name* until the end of the transaction."""
        self._lock(self._named(name))

    def select(self, name: str, columns: Sequence[str], key: str, values: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return *columns* of the rows whose column *key* has one of *values*."""
        table, wanted = self._quoted(self._named(name)), ", ".join(map(self._quote, columns))
        places = ", ".join(f"${number}" for number in range(1, len(values) + 1))
        return self._query(f"select {wanted} from {table} where {self._quote(key)} in ({places})", list(values))  # noqa: S608 - quoted

    def delete_nulls(self, name: str, column: str) -> None:
        """Delete the rows of the table *name* that have no value in *column*."""
        self._execute(f"delete from {self._quoted(self._named(name))} where {self._quote(column)} is null")  # noqa: S608 - quoted

    def write(self, name: str, rows: Rows) -> int:
        """Write *rows* to the table *name*, and return their number."""
        with raising_as_it_was(rows) as watched:
            return self._write(name, watched)

    def try_out(self, tables: Mapping[str, pa.Schema]) -> None:
        """Insert no rows into *tables*, and roll back: there may be no rights, or a view of the same name."""
        self._begin()
        try:
            for name, schema in tables.items():
                is_new = self._prepare(name, schema)
                if not is_new and self.location.mode in {Mode.REPLACE, Mode.UPSERT}:
                    self._execute(f"delete from {self._quoted(self._named(name))} where false")  # noqa: S608 - quoted
                reader = pa.RecordBatchReader.from_batches(self._schema(schema), ())
                self._insert(self._named(name), reader)
        finally:
            self._roll_back()

    def _write(self, name: str, rows: Rows) -> int:
        table = self._named(name)
        is_new = self._prepare(name, rows.schema)
        if not is_new and rows.replaced is not None:
            self._delete(self._quoted(table), rows.replaced)
        written = self._insert_new(name, rows, is_new=is_new)
        for column in rows.indexed if is_new else ():
            self._create_index(table, column)
        return written

    def _prepare(self, name: str, schema: pa.Schema) -> bool:
        """Lock the table *name*, and create it or its missing columns; return whether it is new."""
        table = self._named(name)
        self._lock(table)
        self.check({name: schema})
        quoted, existing = self._quoted(table), self._columns(table)
        if existing:
            added = self._missing(table, existing, schema)
            for field in added:
                self._execute(f"alter table {quoted} add column {self._definition(field)}")
        else:
            added = list(schema)
            self._execute(f"create table {quoted} ({', '.join(map(self._definition, schema))})")
            self._comment(f"table {quoted}", schema.metadata)
        for field in added:
            self._comment(f"column {quoted}.{self._quote(field.name)}", field.metadata)
        return not existing

    def _insert_new(self, name: str, rows: Rows, *, is_new: bool) -> int:
        """Insert *rows* as the mode of the location says."""
        table, schema, existing = self._named(name), rows.schema, not is_new
        quoted = self._quoted(table)
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

    def _comment(self, on: str, metadata: Mapping[bytes, bytes] | None) -> None:
        """Comment *on* a table or a column, such as ``table "urls"``, if *metadata* has a comment."""
        if self.has_comments and metadata and (text := metadata.get(COMMENT)):
            quoted = text.decode().replace("'", "''")
            self._execute(f"comment on {on} is '{quoted}'")

    def _create_index(self, table: str, column: str) -> None:
        """Create an index of *column* of *table*, if lookups need one."""
        del table, column

    @abstractmethod
    def _delete(self, quoted: str, rows: pa.RecordBatch) -> None:
        """Delete from the *quoted* table what has the values of one of *rows* in their columns."""

    def _index(self, table: str, columns: list[str]) -> None:
        """Create an index of *columns* of the temporary *table*, if a join needs one."""
        del table, columns

    @abstractmethod
    def _query(self, statement: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        """Return the result of *statement*. Raises :exc:`DatabaseError`."""

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
