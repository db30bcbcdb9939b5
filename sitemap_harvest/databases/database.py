"""``Database``: writes columns into the tables of a database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from sitemap_harvest.databases.location import Mode
from sitemap_harvest.errors import ColumnError, DatabaseError, MissingPackageError
from sitemap_harvest.redact import without_login

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from sitemap_harvest.databases.location import DatabaseLocation

_MODULES = {
    "postgresql": ("postgresql", "adbc_driver_postgresql"),
    "sqlite": ("sqlite", "adbc_driver_sqlite"),
    "duckdb": ("duckdb_file", "duckdb"),
    "delta": ("delta_lake", "deltalake"),
}
_KEYS = {
    "urls": ("sitemap", "position"),
    "sitemaps": ("url",),
    "sites": ("root",),
}
"""The columns that identify a row, by table."""
EXPORTS = "sitemap_harvest_exports"
"""The table with the last run of each site that ``sitemap-harvest export`` has written."""
EXPORTED = ("urls", "sitemaps", "problems", "changes", "runs")
"""The other tables that an export writes."""
COMMENT = b"comment"
"""The key of the comment on a table or a column in the metadata of a schema or a field."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one kind: record batches with one schema. Only Delta Lake may read them more than once."""

    schema: pa.Schema
    """Its metadata and that of its fields may have a :data:`COMMENT`, for databases that store comments."""
    batches: Iterable[pa.RecordBatch]
    replaced: pa.RecordBatch | None = None
    """Values of some columns: rows that have them are deleted first, whatever the mode; ``None``: none are."""
    indexed: Sequence[str] = ()
    """The columns that get an index each when the table is created, if lookups need one."""


class Database(ABC):
    """A database that is open for writing. A context manager, which closes it."""

    has_transactions = True
    """Whether a transaction writes several tables; else each table is written for itself."""
    has_case = True
    """Whether names that differ in case only are different names."""

    def __init__(self, location: DatabaseLocation) -> None:
        """Open the database, or create its file. Raises :exc:`DatabaseError`."""
        self.location = location

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check(self, tables: Mapping[str, pa.Schema]) -> None:
        """Raise :exc:`DatabaseError` if rows with these schemas cannot be written to *tables*. Changes nothing."""
        for name, schema in tables.items():
            table = self._named(name)
            if not schema.names:
                raise DatabaseError(f"{self._shown(table)}: the rows have none of the fields to export")
            existing = self._columns(table)
            if existing and self.location.mode is Mode.CREATE:
                raise self._exists(table)
            self._missing(table, existing, schema)
            if self.location.mode is Mode.UPSERT:
                self._key(name, schema)
            given = {self._folded(column) for column in schema.names}
            for column in self._required(table) if existing else ():
                if self._folded(column) not in given:
                    raise ColumnError(
                        f"{self._shown(table)}: the column {column} cannot be null, and the rows lack it; "
                        "change the column, or write to another table",
                        column,
                    )

    @abstractmethod
    def try_out(self, tables: Mapping[str, pa.Schema]) -> None:
        """Raise :exc:`DatabaseError` if the database does not take rows of *tables*. Changes nothing."""

    def exists(self, name: str) -> bool:
        """Whether there is a table *name*."""
        return bool(self._columns(self._named(name)))

    def check_not_exported(self, names: Iterable[str]) -> None:
        """Raise :exc:`DatabaseError` if ``sitemap-harvest export`` has written one of the tables *names*."""
        for name in names:
            table = self._named(name).rstrip("/")
            folder, slash, last = table.rpartition("/") if self.location.kind == "delta" else ("", "", table)
            if self._folded(last) in EXPORTED and self._columns(f"{folder}{slash}{EXPORTS}"):
                add = ", or add the parameter schema=NAME" if self.location.has_schemas else ""
                raise DatabaseError(
                    f"{without_login(self.location.address)}: {self._shown(last)} is written by sitemap-harvest "
                    f"export; write to another database{' or schema' if self.location.schema else add}"
                )

    def _key(self, name: str, schema: pa.Schema) -> tuple[str, ...]:
        """Return the columns that identify a row of the table *name*. Raises :exc:`DatabaseError`."""
        key = self.location.key or _KEYS.get(name, ())
        if not key:
            raise DatabaseError(f"mode=upsert: rows of the kind {name} have no key; add key=COLUMN,COLUMN")
        for column in key:
            if column not in schema.names:
                raise no_column("key", column, schema)
            if pa.types.is_nested(schema.field(column).type):
                raise ColumnError(f"key={column}: a nested column cannot identify a row", column)
        return key

    def _key_texts(self, key: tuple[str, ...], schema: pa.Schema, table: str = "") -> list[str]:
        """Return the columns of *key* in *table*, quoted; a URL that has no key counts by its text."""
        of = f"{table}." if table else ""
        return [
            f'coalesce({of}"key", {of}"loc")' if name == "key" and "loc" in schema.names else of + self._quote(name)
            for name in key
        ]

    def _missing(self, table: str, existing: Mapping[str, str], schema: pa.Schema) -> list[pa.Field]:
        """Return the fields that an *existing* table lacks. Raises :exc:`DatabaseError` if one has another type."""
        lacking = []
        types = {self._folded(name): kind for name, kind in existing.items()}
        for field in schema if existing else ():
            wanted = self._type(field.type)
            if (found := types.get(self._folded(field.name))) is None:
                lacking.append(field)
            elif not self._is_same(found, wanted):
                raise ColumnError(
                    f"{self._shown(table)}: the column {field.name} has the type {found}, and must have {wanted}; "
                    "change the column, or write to another table",
                    field.name,
                )
        return lacking

    def adapted(self, name: str, schema: pa.Schema, valueless: Collection[str]) -> pa.Schema:
        """Return *schema* for rows of the table *name*, which may have other types.

        Whole numbers are numbers where it has numbers, and the *valueless* columns of other types are left out.
        """
        types, fields = self._columns(self._named(name)), []
        existing = {self._folded(column): kind for column, kind in types.items()}
        for field in schema:
            found = existing.get(self._folded(field.name))
            if found is None or self._is_same(found, self._type(field.type)):
                fields.append(field)
            elif field.name not in valueless:
                is_number = pa.types.is_integer(field.type) and self._is_same(found, self._type(pa.float64()))
                fields.append(field.with_type(pa.float64()) if is_number else field)
        return pa.schema(fields, metadata=schema.metadata)

    def _folded(self, name: str) -> str:
        return name if self.has_case else name.lower()

    def _is_same(self, found: str, wanted: str) -> bool:
        """Whether a column of the type *found* takes values for one of the type *wanted*."""
        return found.lower() == wanted.lower()

    def _named(self, name: str) -> str:
        return self.location.table or name

    def _exists(self, table: str) -> DatabaseError:
        return DatabaseError(f"{self._shown(table)} already exists; use mode=append, replace or upsert")

    def _shown(self, table: str) -> str:
        return f"the table {self.location.schema + '.' if self.location.schema else ''}{table}"

    @classmethod
    def _quote(cls, name: str) -> str:
        """Return *name* as SQL quotes identifiers. Raises :exc:`DatabaseError`."""
        if not name or "\0" in name:
            raise DatabaseError(f"{name!r} cannot be the name of a table or a column")
        return '"' + name.replace('"', '""') + '"'

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Begin a transaction, and commit it unless an exception is raised. Raises :exc:`DatabaseError`."""

    @abstractmethod
    def lock(self, name: str) -> None:
        """Wait until no other program writes the table *name*, which need not exist, and keep others from it.

        Until the end of the transaction.
        """

    @abstractmethod
    def select(self, name: str, columns: Sequence[str], key: str, values: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return *columns* of the rows of the table *name* whose column *key* has one of *values*."""

    @abstractmethod
    def delete_nulls(self, name: str, column: str) -> None:
        """Delete the rows of the table *name* that have no value in *column*. Raises :exc:`DatabaseError`."""

    @abstractmethod
    def write(self, name: str, rows: Rows) -> int:
        """Write *rows* to the table *name* within a transaction, and return their number.

        Raises :exc:`DatabaseError`, and what the iteration over the rows raises.
        """

    @abstractmethod
    def load(self, tables: Mapping[str, Rows], *, leaving: Collection[str] = ()) -> int:
        """Write the rows of *tables*, except those named in *leaving*, and return their number.

        Raises :exc:`DatabaseError`.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    @abstractmethod
    def _type(self, kind: pa.DataType) -> str:
        """Return the type of a column of Arrow's type *kind*."""

    @abstractmethod
    def _columns(self, table: str) -> dict[str, str]:
        """Return the types of the columns of *table* by name; none if there is no such table."""

    @abstractmethod
    def _required(self, table: str) -> list[str]:
        """Return the columns of *table* that each new row must have a value for."""


@contextmanager
def raising_as_it_was(rows: Rows) -> Iterator[Rows]:
    """Yield *rows*; an exception that their iteration raises leaves the block as it was.

    Of other exceptions within it, drivers keep only the text.
    """
    raised: list[BaseException] = []
    try:
        yield replace(rows, batches=_watched(rows.batches, raised))
    except BaseException:
        if raised:
            raise raised[0] from None
        raise


def _watched(batches: Iterable[pa.RecordBatch], raised: list[BaseException]) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except BaseException as error:
        raised.append(error)
        raise


def open_database(location: DatabaseLocation) -> Database:
    """Open the database at *location*.

    Raises :exc:`DatabaseError`, or :exc:`MissingPackageError` if its driver is not installed.
    """
    name, driver = _MODULES[location.kind]
    try:
        import_module(driver)
    except ImportError as error:
        raise MissingPackageError(
            f"{location.kind}: the package {driver.replace('_', '-')} is not installed: "
            f"pip install 'scrapy-sitemap-harvest[{location.kind}]'"
        ) from error
    module = import_module(f"sitemap_harvest.databases.{name}")
    return module.open_at(location)  # type: ignore[no-any-return]  # each of these modules has the function


def no_column(parameter: str, column: str, schema: pa.Schema) -> ColumnError:
    """Return the error that a *parameter* names a *column* that rows with *schema* lack."""
    names = ", ".join(schema.names)
    return ColumnError(f"{parameter}={column}: the rows have no such column; they have {names}", column)


def foreign_file(path: str, wanted: str) -> DatabaseError:
    """Return the error that the file at *path* is not a database of *wanted*, such as ``SQLite``."""
    start = b""
    with suppress(OSError), Path(path).open("rb") as file:
        start = file.read(12)
    found = "SQLite" if start.startswith(b"SQLite") else "DuckDB" if start.endswith(b"DUCK") else wanted
    other = f", but of {found}; use the format {found.lower()}, or" if found != wanted else ";"
    return DatabaseError(f"{path}: it is not a database of {wanted}{other} choose another name")
