"""The tables of the store: their schemas, and writing and reading them: as Parquet files, or in the manifest."""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import Change, PageRecord, SitemapRecord, SitemapRef, UrlEntry, arrow_schema
from sitemap_harvest.snapshots.store.manifest_values import empty_column, table_of, values_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.snapshots.store.manifest_values import Values
    from sitemap_harvest.snapshots.store.row_ranges import RowRanges
    from sitemap_harvest.snapshots.store.storage import Folder

_ENTRY = arrow_schema(UrlEntry)
ROW_COLUMNS: tuple[str, ...] = tuple(name for name in _ENTRY.names if name != "position")
"""The columns of :class:`UrlEntry` that a row stores. The position belongs to the document instead."""
ROW_SCHEMA = pa.schema([pa.field("row", pa.int64(), nullable=False), *(_ENTRY.field(name) for name in ROW_COLUMNS)])

_RUN = pa.field("run", pa.string(), nullable=False)
_DOCUMENT = pa.field("document", pa.string(), nullable=False)

ROW_RANGES = pa.schema(
    [_RUN, _DOCUMENT, *(pa.field(name, pa.int64(), nullable=False) for name in ("position", "row", "count"))]
)
"""The rows that each document listed, as read by a run."""
PENDING = pa.schema(
    [
        *ROW_RANGES,
        pa.field("since", pa.string(), nullable=False),
        pa.field("runs", pa.int64(), nullable=False),
        pa.field("partial", pa.bool_()),
    ]
)
"""Rows whose URL no document lists any more, stored until the removal is certain. ``document`` is the last one that
listed it, ``since`` the id of the first run that did not find it, ``runs`` the number of runs it has been pending.
``partial``: whether the document had never been read completely when it listed them."""
REFERENCES = pa.schema([_RUN, _DOCUMENT, *arrow_schema(SitemapRef)])
"""The documents that each document named, as read by a run."""
HISTORY = ("history_changes", "history_days")
"""The columns of a :class:`~sitemap_harvest.frontier.intervals.ChangeHistory`."""
OF_THE_STORE = (pa.field("robots_text", pa.string()), *(pa.field(name, pa.float32()) for name in HISTORY))
"""Columns for each document that are not in its record: the text of a robots.txt as far as its rules count, null if it
was not read; and the history of the changes of a sitemap, null if it is not known or not needed."""
SITEMAPS = pa.schema([_RUN, *arrow_schema(SitemapRecord), *OF_THE_STORE])
"""The document records of each run, with columns of the store."""
SCHEMAS = {
    "rows": ROW_SCHEMA,
    "row_ranges": ROW_RANGES,
    "pending": PENDING,
    "references": REFERENCES,
    "sitemaps": SITEMAPS,
    "done": SITEMAPS,  # of a checkpoint
    "changes": arrow_schema(Change),
    "pages": arrow_schema(PageRecord),
}

FILE_ROWS = 20_000  # per file: some 10 MB of rows in memory
_SMALL_ROWS = 100  # of a table whose missing columns are kept for the next one
_FEW_ROWS = 20
"""With fewer rows, only the texts of robots.txt are compressed: a file has 30 columns, and each is compressed alone."""
_IN_MANIFEST = frozenset({"row_ranges", "references", "sitemaps"})
"""Tables of which little data is kept in the manifest. Every run reads them, and most sites have few documents: JSON
that is there anyway takes less time than three files. Other programs may need rows and changes, which are files."""
_FEW_BYTES = 8_000
"""Of data in the manifest: some ten documents; of a file that is not compressed, as that takes longer than its data."""
_FEW_VALUES = [
    "site", "sitemap", "lastmod_precision", "lastmod_zoned", "changefreq", "priority", "in_scope", "scope_reason",
    "run", "document", "found_by",
]  # fmt: skip
_ENCODINGS = dict.fromkeys(["row", "position"], "DELTA_BINARY_PACKED") | dict.fromkeys(
    ["loc", "loc_raw", "key", "lastmod_text"], "DELTA_BYTE_ARRAY"
)  # texts that share prefixes with their predecessor


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """One file that the manifest names, or little data that the manifest has itself."""

    name: str
    """Its path in the folder of the site, such as ``runs/20261122T014512Z-4f2a1c/sitemaps-0001.parquet``."""
    table: str
    """Its contents: ``rows``, ``row_ranges``, ``pending``, ``references``, ``sitemaps``, ``changes``,
    ``pages``."""
    bytes: int
    sha256: str
    count: int
    """Number of rows."""
    runs: tuple[str, str]
    """The first and the last run whose data it may have."""
    ids: tuple[int, int] = (0, 0)
    """Of a file of rows: the first id, and the id after the last. There may be gaps between them."""
    values: Values | None = field(default=None, hash=False)
    """The data, if the manifest has it; ``None``: it is in the file."""

    def check(self, folder: Folder) -> None:
        """Raise :exc:`StoreError` if the file is missing in *folder*, or its size differs."""
        if self.values is None and (size := folder.size(self.name)) != self.bytes:
            there = "is missing" if size is None else f"has {size:,} bytes, but had {self.bytes:,} when it was written"
            raise StoreError(f"{folder}/{self.name} {there}")

    @contextmanager
    def reading(self, folder: Folder) -> Iterator[None]:
        """Raise :exc:`StoreError` if reading the data within fails."""
        try:
            yield
        except (OSError, pa.ArrowException, TypeError, ValueError, LookupError) as error:
            raise StoreError(f"{folder}/{self.name} cannot be read: {error}") from error


class TableWriter:
    """Writes the data of one table to files of some :data:`FILE_ROWS` rows, or fewer after :meth:`flush`."""

    def __init__(self, folder: Folder, name: str, table: str, runs: tuple[str, str]) -> None:
        """Write the data of *table* to the files *name*-0001.parquet and so on of *folder*, or to the manifest.

        *runs* as for :class:`StoredFile`.
        """
        self.files: list[StoredFile] = []
        """The files written so far."""
        self.waiting = 0
        """Number of rows buffered in memory."""
        self._folder, self._name, self._table, self._runs = folder, name, table, runs
        self._buffer: list[pa.Table] = []

    def add(self, data: pa.Table) -> None:
        """Add *data*; rows of the row store with ascending ids."""
        self._buffer.append(data)
        self.waiting += data.num_rows
        if self.waiting >= FILE_ROWS:
            self.flush()

    def add_values(self, values: Values, rows: int) -> bool:
        """Add *values* of *rows* rows to the manifest, if they are few; return whether they are."""
        if is_few := len(json.dumps(values)) <= _FEW_BYTES:
            self._keep(values, rows)
        return is_few

    def _keep(self, values: Values, rows: int) -> None:
        name = f"{self._name}-{len(self.files) + 1:04}"
        self.files.append(
            StoredFile(name=name, table=self._table, bytes=0, sha256="", count=rows, runs=self._runs, values=values)
        )

    def flush(self) -> None:
        """Write the buffered rows to a file, if there are any."""
        if not self.waiting:
            return
        data = pa.concat_tables(self._buffer)
        ids = (data["row"][0].as_py(), data["row"][-1].as_py() + 1) if self._table == "rows" else (0, 0)
        columns = zip(data.schema, data.columns, strict=True)
        data = data.select(  # the headers of empty columns would take more space than the rows of a small file
            [one.name for one, values in columns if not one.nullable or values.null_count < len(values)]
        )
        self._buffer, self.waiting = [], 0
        if self._table in _IN_MANIFEST and data.nbytes <= _FEW_BYTES:
            self._keep(values_of(data), data.num_rows)
            return
        name = f"{self._name}-{len(self.files) + 1:04}.parquet"
        options: dict[str, Any] = {"compression": "zstd", "compression_level": 9, "write_statistics": False}
        if data.nbytes <= _FEW_BYTES:
            options |= {"compression": "none", "compression_level": None}
        elif data.num_rows <= _FEW_ROWS and self._table != "rows":
            options |= {"compression": {"robots_text": "zstd"}, "compression_level": {"robots_text": 9}}
        if self._table == "rows" or (self._table == "references" and data.num_rows > _FEW_ROWS):
            options["column_encoding"] = {name: one for name, one in _ENCODINGS.items() if name in data.schema.names}
            options["use_dictionary"] = [name for name in _FEW_VALUES if name in data.schema.names]
        content = pa.BufferOutputStream()
        pq.write_table(data, content, store_schema=False, **options)
        content = content.getvalue()
        self._folder.write(name, content)
        self.files.append(
            StoredFile(
                name=name,
                table=self._table,
                bytes=len(content),
                sha256=hashlib.sha256(content).hexdigest(),
                count=data.num_rows,
                runs=self._runs,
                ids=ids,
            )
        )


def read_table(folder: Folder, stored: StoredFile, columns: Iterable[str] | None = None) -> pa.Table:
    """Return the data of a file: *columns* (``None``: all) of its table. Raises :exc:`StoreError` if it is damaged."""
    schema = SCHEMAS[stored.table]
    if columns is not None and (columns := list(columns)) != schema.names:
        schema = pa.schema([schema.field(name) for name in columns])
    with stored.reading(folder):
        if stored.values is not None:
            return table_of(stored.values, schema, stored.count)
        with folder.open(stored.name) as file:
            if file.size() != stored.bytes:
                raise StoreError(
                    f"{folder}/{stored.name} has {file.size():,} bytes, but had {stored.bytes:,} when it was written"
                )
            parquet = pq.ParquetFile(file, pre_buffer=False)
            names = [name for name in parquet.schema_arrow.names if name in schema.names]
            # Each reader thread would have its own allocator arena, whose free memory the others cannot use.
            return _with_all_columns(parquet.read(names, use_threads=False), schema, stored.table, stored.count)


def _with_all_columns(data: pa.Table, schema: pa.Schema, table: str, rows: int) -> pa.Table:
    """Return *data*, *rows* rows of *table*, with the columns of *schema*."""
    found = dict(zip(data.schema.names, data.columns, strict=True))
    missing = _missing(table, rows) if rows <= _SMALL_ROWS else None
    columns = []
    for one in schema:
        if (column := found.get(one.name)) is None:  # it was empty, or did not exist when it was written
            columns.append(missing[one.name] if missing is not None else empty_column(one, rows))
        else:
            columns.append(column if column.type == one.type else column.cast(one.type))
    return pa.Table.from_arrays(columns, schema=schema)


@lru_cache(maxsize=50)
def _missing(table: str, rows: int) -> dict[str, pa.Array]:
    """Return each column of *table* as if it had been left out: a run may read thousands of tables of a few rows."""
    return {column.name: empty_column(column, rows) for column in SCHEMAS[table]}


def row_ranges_table(schema: pa.Schema, row_ranges: RowRanges, **facts: str | int | bool) -> pa.Table:
    """Return *row_ranges* as a table with *schema*; *facts* are its columns with one value."""
    columns = {name: getattr(row_ranges, name) for name in ("position", "row", "count")}
    columns |= {name: pa.repeat(value, len(row_ranges.row)) for name, value in facts.items()}
    return pa.Table.from_arrays([pa.array(columns[name]) for name in schema.names], schema=schema)
