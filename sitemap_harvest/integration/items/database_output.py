"""Tables of databases as outputs: the rows wait in temporary files, and are written in one transaction at the end.

So a crawl of hours holds no connection and no lock, and one that is killed changes nothing.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from sitemap_harvest.config.arguments import EMIT
from sitemap_harvest.databases import (
    SCHEMES,
    Database,
    DatabaseLocation,
    Mode,
    Rows,
    kind_of,
    open_database,
    parse_location,
)
from sitemap_harvest.errors import ColumnError, DatabaseError
from sitemap_harvest.files import replacing, temporary_files
from sitemap_harvest.integration.default_settings import DATABASES
from sitemap_harvest.integration.items.exporters import ParquetExporter, renamed
from sitemap_harvest.integration.items.item_processor import BATCHES
from sitemap_harvest.integration.items.lost_items import WRITE_ERRORS
from sitemap_harvest.integration.spider_attributes import run_of
from sitemap_harvest.model import Batch
from sitemap_harvest.model.plain_columns import for_database
from sitemap_harvest.redact import without_login

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from scrapy import Spider

_NAMES = {kind: name for name, kind in EMIT.items()}
_LOADING = Lock()
"""Held by the output that is written: DuckDB opens no file twice with different options, and several may name one."""


class _Stream:
    """The rows of a stream, which can be read more than once, but not at the same time."""

    def __init__(self, file: IO[bytes], schema: pa.Schema | None = None) -> None:
        self._file = file
        self._schema = schema

    def of(self, schema: pa.Schema) -> _Stream:
        """Return the rows with the columns and types of *schema*."""
        return _Stream(self._file, schema)

    def opened(self) -> pa.RecordBatchReader:
        """Return a reader of the rows from the first one on."""
        self._file.seek(0)
        return pa.ipc.open_stream(self._file)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self.opened():
            yield batch if self._schema is None else batch.select(self._schema.names).cast(self._schema)

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return not any(len(batch) for batch in self.opened())

    def valueless(self) -> set[str]:
        """Return the names of the columns without any value."""
        names = set(self.opened().schema.names)
        for batch in self.opened():
            names -= {name for name in names if batch.column(name).null_count < len(batch)}
        return names


class RowFiles:
    """Temporary files, one for each table: what an exporter of tables writes to in place of a file.

    They are Arrow IPC streams, which take less time to write and read than Parquet.
    """

    closed = False

    def __init__(self) -> None:
        self._files: dict[str, IO[bytes]] = {}

    def opened(self, name: str) -> IO[bytes]:
        """Return the new file of the table *name*, which has no name itself, so that a killed run leaves none."""
        file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - close() closes it
        self._files[name] = file
        return file

    def streams(self) -> dict[str, _Stream]:
        """Return the rows by table."""
        return {name: _Stream(file) for name, file in self._files.items()}

    def kept_in(self, folder: Path, run: str) -> list[Path]:
        """Write the rows to Parquet files in *folder*, and return their paths. Raises :exc:`OSError`."""
        from pyarrow.parquet import ParquetWriter  # other outputs do not need it

        paths = []
        for name, stream in self.streams().items():
            paths.append(path := folder / f"{name}.{run}.parquet")
            schema = stream.opened().schema
            with replacing(path) as file, ParquetWriter(file, schema, compression="zstd") as writer:
                for batch in stream:
                    writer.write_batch(batch)
        return paths

    def flush(self) -> None:
        """Do nothing: the exporter writes whole files."""

    def close(self) -> None:
        """Remove the files."""
        self.closed = True
        for file in self._files.values():
            file.close()


class DatabaseStorage:
    """The tables of a database, such as ``urls.duckdb`` or ``postgresql://me@localhost/seo?table=urls``."""

    def __init__(self, uri: str, *, feed_options: Mapping[str, Any]) -> None:
        """Parse *uri*. Raises :exc:`~sitemap_harvest.errors.DatabaseError`."""
        default = Mode.REPLACE if feed_options.get("overwrite") else Mode.APPEND
        self.location: DatabaseLocation = parse_location(uri, database_of(uri, feed_options) or "", default=default)
        self.left: Collection[str] = ()
        """The kinds whose tables :meth:`put` leaves as they are."""
        self._fields = feed_options.get("fields")
        self._files: RowFiles | None = None
        self._run = ""

    def check(self, tables: Mapping[str, pa.Schema]) -> None:
        """Raise an error if rows with these schemas cannot be written to *tables*, or the database is not reachable."""
        self._check_kinds(tables)
        if self.location.kind in {"duckdb", "sqlite"}:  # Delta Lake does it
            folder = Path(self.location.address).resolve().parent
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                reason = f"the folder {folder} cannot be created: {(error.strerror or str(error)).lower()}"
                raise DatabaseError(f"{self.location.address}: {reason}") from error
        with open_database(self.location) as database:
            database.check(tables)
            database.check_not_exported(tables)
            database.try_out(tables)

    @property
    def exists(self) -> bool:
        """Whether there is such a file or folder, or it is that of a server."""
        return self.location.is_server or Path(self.location.address).exists()

    def open(self, spider: Spider) -> RowFiles:
        """Return the files for the rows."""
        run = run_of(spider)
        self._run = run.run_id if run else "rows"
        self._files = RowFiles()
        return self._files

    def put(self, *, is_whole: bool) -> list[Path]:
        """Write the rows to the database; return the paths of the files that keep them if it does not get them.

        That is, if the run is not whole, and would replace rows. Raises :exc:`~sitemap_harvest.errors.DatabaseError`
        and :exc:`OSError`; then too, the rows are kept.
        """
        assert self._files is not None  # noqa: S101 - for mypy: open() was called
        if not is_whole and self.location.mode is Mode.REPLACE:
            return self.kept()
        streams = self._files.streams()
        self._check_kinds(streams)  # pipelines and own spiders may have added some
        with _LOADING, open_database(self.location) as database:
            rows = {name: self._adapted(database, name, stream) for name, stream in streams.items()}
            empty = {name for name, stream in streams.items() if name in EMIT and stream.is_empty}
            left = {name for name in empty if self._needs_no_change(database, name, rows[name].schema)}
            database.load(rows, leaving=left.union(self.left))
        return []

    def _adapted(self, database: Database, name: str, stream: _Stream) -> Rows:
        """Return the rows in *stream* as the table *name* takes them.

        Of the columns that pipelines and own spiders give, only values have a type: those without any are left out.
        """
        is_empty, schema = stream.is_empty, stream.opened().schema
        known = exported_schema(EMIT[name].schema(), self._fields) if name in EMIT else pa.schema([])
        if schema.equals(known) and not is_empty:
            return Rows(schema, stream)
        needed = set() if is_empty else {*self.location.key, *self.location.partition}
        valueless = stream.valueless() - needed
        fields = [field for field in schema if field.name in known.names or field.name not in valueless]
        if fields or name in EMIT:
            schema = pa.schema(fields, metadata=schema.metadata)
        schema = database.adapted(name, schema, valueless)
        return Rows(schema, stream.of(schema))

    def _needs_no_change(self, database: Database, name: str, schema: pa.Schema) -> bool:
        """Whether the table *name* stays as it is if there are no rows, which would have at least *schema*."""
        if database.exists(name):
            return self.location.mode in {Mode.APPEND, Mode.UPSERT}
        return not schema.names or not {*self.location.key, *self.location.partition} <= {*schema.names}

    def _check_kinds(self, kinds: Collection[str]) -> None:
        """Raise :exc:`~sitemap_harvest.errors.DatabaseError` if several *kinds* of rows would be in one table."""
        table = self.location.table
        names = {(table or kind).lower() for kind in kinds}  # SQLite and DuckDB ignore the case
        if len(names) < len(kinds):
            advice = f"remove table={table}, so that each kind has a table of its own" if table else "rename a class"
            raise DatabaseError(
                f"{without_login(self.location.address)}: one table cannot hold several kinds of rows "
                f"({', '.join(kinds)}); {advice}, or write one kind"
            )

    def kept(self) -> list[Path]:
        """Copy the rows to Parquet files beside the database, or in the temporary folder; return their paths.

        Raises :exc:`OSError`.
        """
        assert self._files is not None  # noqa: S101 - for mypy: open() was called
        beside = Path(self.location.address).parent
        if not self.location.is_server and beside.is_dir():
            with suppress(OSError):  # the disk may be full
                return self._files.kept_in(beside, self._run)
        return self._files.kept_in(Path(tempfile.gettempdir()), self._run)

    def store(self, file: IO[bytes]) -> None:
        """Remove the temporary files: :meth:`put` has written the rows."""
        file.close()


def database_of(uri: str, options: Mapping[str, Any]) -> str | None:
    """Return the kind of database that the output *uri* is; ``None`` if it is none.

    Its format tells or, if that is empty or ``db``, its name. If neither does, the kind is ``db``.
    """
    name = str(options["format"] or "")
    if name not in DATABASES:
        return None
    return SCHEMES.get(name) or kind_of(uri) or name or None


def exported_schema(schema: pa.Schema, fields: Any) -> pa.Schema:
    """Return the columns of *schema* that an output with the option *fields* has, with their names there."""
    if not fields:
        return schema
    names = {name: out for name, out in renamed(fields).items() if name in schema.names}
    return pa.schema([schema.field(name).with_name(out) for name, out in names.items()])


def is_of_columns(error: Exception, fields: Any) -> bool:
    """Whether *error* is one of columns that the rows of an output with the option *fields* may have nevertheless."""
    return isinstance(error, ColumnError) and (not fields or error.column in renamed(fields).values())


class _StreamExporter(ParquetExporter):
    """Writes the rows that a Parquet file would have to an Arrow IPC stream."""

    _prepared = staticmethod(for_database)

    def _new_writer(self, schema: pa.Schema) -> Any:
        return pa.ipc.new_stream(self._file, schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))

    def _write_group(self) -> None:
        group, self._group, self._group_rows = self._group, [], 0
        self._writer.write_batch(pa.concat_batches(group))  # those of small sitemaps as one


class TablesExporter(ParquetExporter):
    """Writes items to temporary files, one for each kind: the rows of a table."""

    holds_all_kinds = True

    def __init__(self, file: RowFiles, **options: Any) -> None:
        super().__init__(file, **options)  # type: ignore[arg-type]  # it is not written to
        self._options = options
        self._exporters: dict[str, ParquetExporter] = {}
        self._rows = file
        self._error: Exception | None = None

    def export_item(self, item: Any) -> None:
        """Write *item* to the file of its table."""
        with self._writing():
            self._export(item)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Raise the first error of the block in each later one too: the files lack rows."""
        if self._error is not None:
            raise self._error
        try:
            with temporary_files():
                yield
        except WRITE_ERRORS as error:
            self._error = error
            raise

    def _export(self, item: Any) -> None:
        kind = type(item) if isinstance(item, Batch) else BATCHES.get(type(item))
        own = "items" if type(item) is dict else type(item).__name__
        name = own if kind is None else _NAMES[kind]
        if (exporter := self._exporters.get(name)) is None:
            exporter = self._exporters[name] = _StreamExporter(self._rows.opened(name), **self._options)
            exporter.lost, exporter.left_out = self.lost, self.left_out
            exporter.start_exporting()
        exporter.export_item(item)

    def finish_exporting(self) -> None:
        """Write the ends of the files."""
        with self._writing():
            for exporter in self._exporters.values():
                exporter.finish_exporting()
                self.missing &= exporter.missing  # which is known only now: it collects rows
