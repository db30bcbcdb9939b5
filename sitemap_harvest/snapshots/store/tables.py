"""The tables of the store: their schemas, and writing and reading them as Parquet files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import Change, SitemapRecord, SitemapRef, UrlEntry, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.snapshots.store.row_ranges import RowRanges
    from sitemap_harvest.snapshots.store.storage import Folder, HashedFile

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
    [*ROW_RANGES, pa.field("since", pa.string(), nullable=False), pa.field("runs", pa.int64(), nullable=False)]
)
"""Rows whose URL no document lists any more, stored until the removal is certain. ``document`` is the last one that
listed it, ``since`` the id of the first run that did not find it, ``runs`` the number of runs it has been pending."""
REFERENCES = pa.schema([_RUN, _DOCUMENT, *arrow_schema(SitemapRef)])
"""The documents that each document named, as read by a run."""
SITEMAPS = pa.schema([_RUN, *arrow_schema(SitemapRecord)])
"""The document records of each run."""
SCHEMAS = {
    "rows": ROW_SCHEMA,
    "row_ranges": ROW_RANGES,
    "pending": PENDING,
    "references": REFERENCES,
    "sitemaps": SITEMAPS,
    "done": SITEMAPS,  # of a checkpoint
    "changes": arrow_schema(Change),
}

GROUP_ROWS = 20_000  # per row group: some 10 MB of rows in memory
_FEW_VALUES = [
    "site", "sitemap", "lastmod_precision", "lastmod_zoned", "changefreq", "priority", "in_scope", "scope_reason"
]  # fmt: skip
_ENCODINGS = {"row": "DELTA_BINARY_PACKED"} | dict.fromkeys(
    ["loc", "loc_raw", "key", "lastmod_text"], "DELTA_BYTE_ARRAY"
)  # texts that share prefixes with their predecessor


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """One file that the manifest names."""

    name: str
    """Its path in the folder of the site, such as ``runs/20261122T014512Z-4f2a1c/sitemaps.parquet``."""
    table: str
    """Its contents: ``rows``, ``row_ranges``, ``pending``, ``references``, ``sitemaps``, ``changes``."""
    bytes: int
    sha256: str
    count: int
    """Number of rows."""
    runs: tuple[str, str]
    """The first and the last run whose data it may have."""
    ids: tuple[int, int] = (0, 0)
    """Of a file of rows: the first id, and the id after the last. There may be gaps between them."""

    def check(self, folder: Folder) -> None:
        """Raise :exc:`StoreError` if the file is missing in *folder*, or its size differs."""
        if (size := folder.size(self.name)) != self.bytes:
            there = "is missing" if size is None else f"has {size:,} bytes, but had {self.bytes:,} when it was written"
            raise StoreError(f"{folder}/{self.name} {there}")


class TableWriter:
    """Writes one file of a table.

    The file is opened with the first full group: most of the many sites of a run have
    few rows, and the number of open files is limited.
    """

    def __init__(self, folder: Folder, name: str, table: str) -> None:
        """Write the data of *table* to the file *name* of *folder*."""
        self.count = 0
        """Number of rows added."""
        self.waiting = 0
        """Number of rows buffered in memory."""
        self._folder, self._name, self._table = folder, name, table
        self._buffer = [SCHEMAS[table].empty_table()]
        self._open: tuple[HashedFile, pq.ParquetWriter] | None = None

    @property
    def is_open(self) -> bool:
        """Whether its file is open."""
        return self._open is not None

    def add(self, data: pa.Table) -> None:
        """Add *data*; rows of the row store with ascending ids."""
        self._buffer.append(data)
        self.count += data.num_rows
        self.waiting += data.num_rows
        if self.waiting >= GROUP_ROWS:
            self._write()

    def close(self, runs: tuple[str, str], ids: tuple[int, int] = (0, 0)) -> StoredFile:
        """Finish the file, and return its entry; an unfinished file cannot be read.

        *runs* and *ids* as for :class:`StoredFile`.
        """
        file, writer = self._write() if self.waiting or self._open is None else self._open
        writer.close()
        file.close()
        return StoredFile(
            name=self._name,
            table=self._table,
            bytes=file.tell(),
            sha256=file.digest.hexdigest(),
            count=self.count,
            runs=runs,
            ids=ids,
        )

    def _write(self) -> tuple[HashedFile, pq.ParquetWriter]:
        """Write the buffered rows as one group."""
        data = pa.concat_tables(self._buffer)
        if self._open is None:
            if self.waiting < GROUP_ROWS:  # it is the only group: empty columns would take more space than the rows
                columns = zip(data.schema, data.columns, strict=True)
                data = data.select(
                    [one.name for one, values in columns if not one.nullable or values.null_count < len(values)]
                )
            options: dict[str, Any] = {"compression_level": 9, "write_statistics": False}
            if self._table == "rows":
                encodings = {name: encoding for name, encoding in _ENCODINGS.items() if name in data.schema.names}
                few = [name for name in _FEW_VALUES if name in data.schema.names]
                options = {"column_encoding": encodings, "use_dictionary": few, "write_statistics": ["row"]}
            file = self._folder.writing(self._name)
            self._open = file, pq.ParquetWriter(file, data.schema, compression="zstd", store_schema=False, **options)
        self._open[1].write_table(data)
        self._buffer, self.waiting = [], 0
        return self._open


def read_table(folder: Folder, stored: StoredFile) -> Iterator[pa.Table]:
    """Yield the row groups of a file, with all columns of its table. Raises :exc:`StoreError` if it is damaged."""
    try:
        with folder.open(stored.name) as file:
            if file.size() != stored.bytes:
                raise StoreError(
                    f"{folder}/{stored.name} has {file.size():,} bytes, but had {stored.bytes:,} when it was written"
                )
            parquet = pq.ParquetFile(file)
            for group in range(parquet.num_row_groups):
                yield _with_all_columns(parquet.read_row_group(group), SCHEMAS[stored.table])
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{folder}/{stored.name} cannot be read: {error}") from error


def _with_all_columns(data: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return *data* with the columns of *schema*."""
    columns = []
    for field in schema:
        if field.name in data.schema.names:
            columns.append(data.column(field.name).cast(field.type))
            continue
        value: Any = None  # the column was empty, or did not exist when the file was written
        if not field.nullable:
            value = [] if pa.types.is_list(field.type) else "" if pa.types.is_string(field.type) else 0
        columns.append(pa.repeat(pa.scalar(value, field.type), data.num_rows))
    return pa.Table.from_arrays(columns, schema=schema)


def row_ranges_table(schema: pa.Schema, row_ranges: RowRanges, **facts: str | int) -> pa.Table:
    """Return *row_ranges* as a table with *schema*; *facts* are its columns with one value."""
    columns = {name: getattr(row_ranges, name) for name in ("position", "row", "count")}
    columns |= {name: pa.repeat(value, len(row_ranges.row)) for name, value in facts.items()}
    return pa.Table.from_arrays([pa.array(columns[name]) for name in schema.names], schema=schema)


def stored_keys(key: pa.Array, loc: pa.Array) -> pa.Array:
    """Return *key* in stored form: null if it equals *loc*, so that this is stored once; empty if it was null."""
    return pc.if_else(pc.is_null(key), "", pc.if_else(pc.equal(key, loc), pa.scalar(None, pa.string()), key))


def original_keys(key: pa.Array, loc: pa.Array) -> pa.Array:
    """Return the stored *key* in its original form."""
    whole = pc.coalesce(key, loc)
    return pc.if_else(pc.equal(whole, ""), pa.scalar(None, pa.string()), whole)
