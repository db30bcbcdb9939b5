"""Delta Lake: tables that are folders of Parquet files with a log of commits, on a disk or in an object store.

Protocol: https://github.com/delta-io/delta/blob/master/PROTOCOL.md
Library: https://delta-io.github.io/delta-rs/
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

import duckdb
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, QueryBuilder, Schema, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, TableNotFoundError

from sitemap_harvest.databases.database import Database, no_column, raising_as_it_was
from sitemap_harvest.databases.duckdb_file import CONFIG
from sitemap_harvest.databases.location import Mode
from sitemap_harvest.errors import ColumnError, DatabaseError
from sitemap_harvest.files import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sitemap_harvest.databases.database import Rows
    from sitemap_harvest.databases.location import DatabaseLocation

_MODES: dict[Mode, Literal["error", "append", "overwrite"]] = {
    Mode.CREATE: "error",
    Mode.APPEND: "append",
    Mode.REPLACE: "overwrite",
    Mode.UPSERT: "overwrite",  # with the rows that it keeps
}
_INSTANT = pa.timestamp("us", "UTC")
_FILES = WriterProperties(compression="ZSTD", max_row_group_size=100_000)  # readers hold a row group in memory
_ATTEMPTS = 10  # of so many programs that change a table at once, each one succeeds
_BATCH_ROWS = 10_000
_ANSWER = re.compile(r"<Code>(.*?)</Code><Message>(.*?)</Message>")  # of an object store
_DETAILS = re.compile(r" Detail: Python exception|\n\s*0: |\s*Preview of invalid data:")  # tracebacks and rows
_COLOR = re.compile(r"\x1b\[\d+m|↳")
_WRITER = "sitemap_harvest.writer"
"""The key in the metadata of a commit that tells it from those of other programs."""
_STDERR = 2
_PANIC = re.compile(
    rb"\n?thread '[^\n]* panicked at [^\n]*\n[^\n]*\n(?:(?:stack backtrace:|note: [^\n]*| +\d+: [^\n]*| +at [^\n]*)\n)*"
)


class DeltaFolder(Database):
    """A folder that is a table; or, for several kinds of rows, whose folders are tables: one commit each."""

    has_transactions = False

    def __init__(self, location: DatabaseLocation) -> None:
        """Open nothing yet: the tables are opened by name."""
        super().__init__(location)
        self._has_several = False
        is_s3 = location.address.startswith(("s3://", "s3a://"))
        self._options = {"conditional_put": "etag"} if is_s3 else {}
        if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"):
            self._options["allow_http"] = "true"

    def close(self) -> None:
        """Do nothing: no table stays open."""

    def check(self, tables: Mapping[str, pa.Schema]) -> None:
        """Raise :exc:`DatabaseError` if rows with these schemas cannot be written to *tables*. Changes nothing."""
        self._check_writable()
        self._check_kinds(tables)
        self._check_columns(tables)

    def _check_kinds(self, tables: Collection[str]) -> None:
        """Raise :exc:`DatabaseError` if the folder cannot hold all *tables*, which determine their folders."""
        self._has_several = len(tables) > 1
        if self._has_several and not self.location.table and self._opened(self.location.address) is not None:
            raise DatabaseError(
                f"{self._shown(self.location.address)} cannot hold several kinds of rows ({', '.join(tables)}), which "
                "need a folder each; write to another folder, or emit one kind"
            )

    def _check_columns(self, tables: Mapping[str, pa.Schema]) -> None:
        super().check(tables)
        for name, schema in tables.items():
            table = self._opened(address := self._named(name))
            self._partitions(table, schema)
            if table is not None:
                self._check_rules(table, schema, self._shown(address))

    def try_out(self, tables: Mapping[str, pa.Schema]) -> None:
        """Write no rows to copies of the *tables* without their rows: other programs may use features of their own."""
        for name, schema in tables.items():
            if (table := self._opened(self._named(name))) is None:
                continue
            kinds = pa.schema([(field.name, _stored(field.type)) for field in schema])
            with tempfile.TemporaryDirectory() as folder, self._errors():
                _copy_without_rows(table, Path(folder))
                write_deltalake(folder, kinds.empty_table(), mode="append", schema_mode="merge")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do nothing: each table has commits of its own."""
        yield

    def lock(self, name: str) -> None:
        """Do nothing: a commit fails if another program has changed the same rows in the meantime."""

    def select(self, name: str, columns: Sequence[str], key: str, values: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return *columns* of the rows whose column *key* has one of *values*."""
        wanted = ", ".join(map(self._quote, columns))
        query = f"select {wanted} from stored where {self._quote(key)} in ({_literals(values)})"  # noqa: S608 - quoted
        if (table := self._opened(self._named(name))) is None:
            return []
        with self._errors():
            found = QueryBuilder().register("stored", table).execute(query)
            rows = pa.RecordBatchReader.from_stream(found).read_all()
        return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))

    def delete_nulls(self, name: str, column: str) -> None:
        """Delete the rows of the table *name* that have no value in *column*."""
        if (table := self._opened(self._named(name))) is not None:
            with self._errors():
                table.delete(f"{self._quote(column)} is null", writer_properties=_FILES)

    def write(self, name: str, rows: Rows) -> int:
        """Write *rows* to the table *name*, and return their number."""
        with raising_as_it_was(rows) as watched:
            return self._load(name, watched)

    def _check_rules(self, table: DeltaTable, schema: pa.Schema, shown: str) -> None:
        """Raise :exc:`DatabaseError` if *table*, which another program has made, cannot take rows with *schema*."""
        is_append_only = table.metadata().configuration.get("delta.appendOnly") == "true"
        if is_append_only and self.location.mode in {Mode.REPLACE, Mode.UPSERT}:
            raise DatabaseError(f"{shown} takes no other rows than new ones (delta.appendOnly); use mode=append")
        names = {name.lower(): name for name in schema.names}
        for field in table.schema().fields:
            name = names.get(field.name.lower())
            if name not in {None, field.name}:
                raise DatabaseError(f"{shown} has a column {field.name}, so it cannot have the column {name}")

    def load(self, tables: Mapping[str, Rows], *, leaving: Collection[str] = ()) -> int:
        """Write the rows, those of a table in one commit, and return their number. Raises :exc:`DatabaseError`."""
        self._check_writable()
        self._check_kinds(tables)
        self._check_columns({name: rows.schema for name, rows in tables.items() if name not in leaving})
        self.check_not_exported(tables)
        return sum(self._load(name, rows) for name, rows in tables.items() if name not in leaving)

    def _load(self, name: str, rows: Rows) -> int:
        """Write *rows*; again, unless they can be read only once, if another program has changed the table since."""
        attempts = 1 if isinstance(rows.batches, Iterator) else _ATTEMPTS
        with self._errors():
            while True:
                attempts -= 1
                try:
                    return self._write(name, rows)
                except CommitFailedError as error:
                    if not attempts:
                        shown = self._shown(self._named(name))
                        raise DatabaseError(f"another program has changed {shown}; run the command again") from error

    def _write(self, name: str, rows: Rows) -> int:
        written = 0

        def counted() -> Iterator[pa.RecordBatch]:
            nonlocal written
            for batch in rows.batches:
                written += len(batch)
                yield _as(batch, schema)

        schema = pa.schema([(field.name, _stored(field.type)) for field in rows.schema])
        address, mode, batches = self._named(name), self.location.mode, counted()
        table = self._opened(address)
        if table is not None and mode is Mode.UPSERT:
            key = self._key(name, schema)
            stored = pa.schema(table.schema())
            schema = pa.schema([*schema, *(field for field in stored if field.name not in schema.names)])
            batches = self._upserted(table, batches, key, schema)
        options: dict[str, Any] = {"mode": _MODES[mode]}
        if table is not None and rows.replaced is not None:
            options = {"mode": "overwrite", "predicate": _predicate(rows.replaced)}
        with nullcontext() if self.location.is_server else _new_folder(Path(address)), _without_panics():
            write_deltalake(
                address if table is None else table,
                pa.RecordBatchReader.from_batches(schema, batches),
                **options,
                schema_mode="merge",
                partition_by=self._partitions(table, schema),
                storage_options=self._options,
                writer_properties=_FILES,
                commit_properties=CommitProperties(custom_metadata={_WRITER: (writer := uuid4().hex)}),
            )
        if table is None and mode is not Mode.APPEND and (version := self._version(address, writer)):
            return self._after_another(name, rows, version)
        return written

    def _version(self, address: str, writer: str) -> int:
        """Return the version that the commit of *writer* made; 0 if it created the table."""
        commits = DeltaTable(address, storage_options=self._options).history()
        return next(int(one["version"]) for one in commits if one.get(_WRITER) == writer)

    def _after_another(self, name: str, rows: Rows, version: int) -> int:
        """Write *rows* again: another program has created the table since, so *version* has the rows of both."""
        if self.location.mode is not Mode.CREATE:
            return self._write(name, rows)
        address = self._named(name)
        DeltaTable(address, storage_options=self._options).restore(version - 1)
        raise self._exists(address)

    def _upserted(
        self, table: DeltaTable, new: Iterator[pa.RecordBatch], key: tuple[str, ...], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Yield the *new* rows, then those of *table* that have other values in the columns *key*.

        ``DeltaTable.merge`` takes three times the memory (2.2 GB for a million rows into as many) and twice the CPU.
        """
        values = self._key_texts(key, schema)
        used = [name for name in schema.names if name in {*key, "loc"}]
        spill = TemporaryFolder("delta")  # removed when it is garbage, or by the next run after a kill
        with duckdb.connect(config={**CONFIG, "temp_directory": str(spill.path)}) as connection:
            connection.execute("set timezone = 'UTC'")
            names = [f"key_{number}" for number in range(len(key))]
            columns = ", ".join(f"{value} as {name}" for value, name in zip(values, names, strict=True))
            connection.register("new_rows", schema.empty_table().select(used))
            connection.execute(f"create temporary table keys as select {columns} from new_rows")  # noqa: S608 - quoted
            for batch in new:
                connection.register("new_rows", batch.select(used))
                connection.execute(f"insert into keys select {columns} from new_rows")  # noqa: S608 - quoted
                yield _as(batch, schema)
            matches = " and ".join(f"{value} = {name}" for value, name in zip(values, names, strict=True))
            # The library cannot read in the thread that pulls these rows, which is its own.
            with ThreadPoolExecutor(1) as thread:
                kept = thread.submit(self._rows_without, connection, table, matches, schema).result()
                while (batch := thread.submit(next, kept, None).result()) is not None:
                    yield _as(batch, schema)

    def _rows_without(
        self, connection: duckdb.DuckDBPyConnection, table: DeltaTable, matches: str, schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows of *table* for which no key *matches*, with at least the columns of *schema*."""
        stored = QueryBuilder().register("stored", table).execute("select * from stored")
        reader = pa.RecordBatchReader.from_stream(stored)
        connection.register("stored_rows", reader)
        lacking = [name for name in schema.names if name not in reader.schema.names]
        columns = ", ".join(["*", *(f"null as {self._quote(name)}" for name in lacking)])
        old = f"select {columns} from stored_rows"  # noqa: S608 - quoted
        query = f"select * from ({old}) where not exists (select 1 from keys where {matches})"  # noqa: S608 - quoted
        return iter(connection.sql(query).to_arrow_reader(_BATCH_ROWS))

    def _named(self, name: str) -> str:
        folder = self.location.address
        below = self.location.table or name
        is_below = self.location.table or self._has_several or self._opened(f"{folder}/{below}") is not None
        return f"{folder}/{below}" if is_below else folder

    def _type(self, kind: pa.DataType) -> str:
        return _type_text(Schema.from_arrow(pa.schema([("column", _stored(kind))])).fields[0].type)

    def _columns(self, table: str) -> dict[str, str]:
        opened = self._opened(table)
        return {} if opened is None else {field.name: _type_text(field.type) for field in opened.schema().fields}

    def _required(self, table: str) -> list[str]:
        opened = self._opened(table)
        return [] if opened is None else [field.name for field in opened.schema().fields if not field.nullable]

    def _opened(self, address: str) -> DeltaTable | None:
        """Return the table at *address*; ``None`` if there is none. Raises :exc:`DatabaseError`."""
        with self._errors():
            try:
                return DeltaTable(address, storage_options=self._options)
            except TableNotFoundError:
                return None

    def _partitions(self, table: DeltaTable | None, schema: pa.Schema) -> list[str]:
        """Return the columns whose values are folders of *table*. Raises :exc:`DatabaseError`."""
        wanted = list(self.location.partition)
        if table is not None:
            columns = table.metadata().partition_columns
            if wanted and wanted != columns:
                found = f"is partitioned by {', '.join(columns)}" if columns else "is not partitioned"
                raise DatabaseError(f"partition={','.join(wanted)}: the table {found}; remove the parameter")
            return columns
        for column in wanted:
            if column not in schema.names:
                raise no_column("partition", column, schema)
            if pa.types.is_nested(schema.field(column).type):
                raise ColumnError(f"partition={column}: rows cannot be partitioned by a nested column", column)
        return wanted

    def _check_writable(self) -> None:
        if "://" in self.location.address:
            return
        path = Path(self.location.address).absolute()
        folder = next(one for one in (path, *path.parents) if one.exists())
        if not folder.is_dir():
            raise DatabaseError(f"{self.location.address}: {folder} is a file, and must be a folder")
        if not os.access(folder, os.W_OK):
            raise DatabaseError(f"{self.location.address}: the folder {folder} is not writable")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except DatabaseError:
            raise
        except Exception as error:  # the library raises it itself, not only classes of its own
            raise DatabaseError(f"{self.location.address}: {_words(error)}") from error


def _copy_without_rows(table: DeltaTable, folder: Path) -> None:
    """Write the first commit of a table like *table* to *folder*."""
    protocol, metadata = table.protocol(), table.metadata()
    features = {"readerFeatures": protocol.reader_features, "writerFeatures": protocol.writer_features}
    versions = {"minReaderVersion": protocol.min_reader_version, "minWriterVersion": protocol.min_writer_version}
    of_table = {
        "id": metadata.id,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": table.schema().to_json(),
        "partitionColumns": metadata.partition_columns,
        "configuration": metadata.configuration,
    }
    (log := folder / "_delta_log").mkdir()
    given = {name: value for name, value in features.items() if value is not None}
    lines = [json.dumps({"protocol": versions | given}), json.dumps({"metaData": of_table})]
    (log / f"{0:020}.json").write_text("\n".join(lines), encoding="utf-8")


def _predicate(replaced: pa.RecordBatch) -> str:
    """Return the condition that rows have the values of one of *replaced* in its one or two columns."""
    first, *second = replaced.schema.names
    if not second:
        return f"{first} in ({_literals(replaced.column(0).to_pylist())})"
    found: dict[str, list[str]] = {}
    for one, other in zip(*(column.to_pylist() for column in replaced.columns), strict=True):
        found.setdefault(one, []).append(other)
    return " or ".join(
        f"({first} = {_literals([one])} and {second[0]} in ({_literals(others)}))" for one, others in found.items()
    )


def _literals(texts: Iterable[str]) -> str:
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)


def _as(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return *batch* with the columns of *schema*: those that it lacks are null."""
    columns = [
        _column(batch.column(name), kind) if name in batch.schema.names else pa.nulls(len(batch), kind)
        for name, kind in zip(schema.names, schema.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _column(column: pa.Array, kind: pa.DataType) -> pa.Array:
    storage = column.storage if isinstance(column.type, pa.JsonType) else column
    return storage if storage.type == kind else storage.cast(kind)


def _stored(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column for values of the type *kind*. Nothing is required: later rows may lack it."""
    if isinstance(kind, pa.JsonType) or pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_timestamp(kind):
        return _INSTANT
    if pa.types.is_map(kind):
        return pa.map_(_stored(kind.key_type), _stored(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(_stored(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _stored(field.type)) for field in kind])
    return kind


def _type_text(kind: Any) -> str:
    """Return a type of the library as SQL has it, without what is required."""
    match kind.type:
        case "array":
            return f"array<{_type_text(kind.element_type)}>"
        case "map":
            return f"map<{_type_text(kind.key_type)}, {_type_text(kind.value_type)}>"
        case "struct":
            return f"struct<{', '.join(f'{field.name}: {_type_text(field.type)}' for field in kind.fields)}>"
    return str(kind.type)


def _words(error: Exception) -> str:
    """Return the message of *error* in one line, without colors and tracebacks."""
    text = _DETAILS.split(str(error))[0].removeprefix("Failed to parse parquet: External: ")
    if answer := _ANSWER.search(text):
        return ": ".join(answer.groups())
    return " ".join(_COLOR.sub("", text).split())


def open_at(location: DatabaseLocation) -> Database:
    """Return the folder at *location*."""
    return DeltaFolder(location)


@contextmanager
def _new_folder(folder: Path) -> Iterator[None]:
    """Remove *folder* if it is new and empty after an error, for example because the disk is full."""
    is_new = not folder.exists()
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise


@contextmanager
def _without_panics() -> Iterator[None]:
    """Leave panics of the library out of standard error, which it writes to directly: an error of Python follows.

    If a disk is full, object_store panics in a thread of its own. Other lines appear at the end of the block.
    """
    with ExitStack() as stack:
        try:
            stack.callback(os.close, kept := os.dup(_STDERR))
            caught = stack.enter_context(tempfile.TemporaryFile())
        except OSError:  # there is no standard error, or no space for temporary files
            yield
            return

        def restore() -> None:
            os.dup2(kept, _STDERR)
            caught.seek(0)
            os.write(_STDERR, _PANIC.sub(b"", caught.read()))

        os.dup2(caught.fileno(), _STDERR)
        stack.callback(restore)
        yield
