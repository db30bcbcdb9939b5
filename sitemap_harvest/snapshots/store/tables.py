"""The small tables of the store (row ranges, pending, references, sitemaps, changes): schemas, writing and reading."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import SitemapRecord, SitemapRef, arrow_schema
from sitemap_harvest.snapshots.store.row_store import without_empty

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.model import ChangeBatch
    from sitemap_harvest.snapshots.store.manifest import StoredFile
    from sitemap_harvest.snapshots.store.row_ranges import RowRanges
    from sitemap_harvest.snapshots.store.storage import Folder, HashedFile

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

_GROUP_ROWS = 100_000


def write_table(table: pa.Table, folder: Folder, name: str, *, kind: str, runs: tuple[str, str]) -> StoredFile:
    """Write *table*, of that *kind* and with data of *runs* (first, last), to the file *name* of *folder*."""
    table = without_empty(table)
    file = folder.writing(name)
    with _writer(file, table.schema) as writer:
        writer.write_table(table, row_group_size=_GROUP_ROWS)
    return file.stored(name, kind, count=table.num_rows, runs=runs)


def write_changes(batches: Iterator[ChangeBatch], folder: Folder, name: str, *, run: str) -> StoredFile | None:
    """Write *batches* of changes of *run* to the file *name* of *folder*; ``None`` if there are none."""
    if (first := next(batches, None)) is None:
        return None
    file = folder.writing(name)
    count = 0
    with _writer(file, first.schema()) as writer:
        for batch in chain([first], batches):
            writer.write_batch(_without_keys(batch.arrow))
            count += len(batch)
    return file.stored(name, "changes", count=count, runs=(run, run))


def _without_keys(changes: pa.RecordBatch) -> pa.RecordBatch:
    """Return *changes* in stored form: a key that equals its loc is null, and a missing key is empty."""
    loc, key = changes.column("loc"), changes.column("key")
    stored = pc.if_else(pc.equal(key, loc), pa.scalar(None, pa.string()), key)
    return changes.set_column(changes.schema.get_field_index("key"), "key", pc.if_else(pc.is_null(key), "", stored))


def with_keys(changes: pa.Table) -> pa.Table:
    """Return stored *changes* with their original keys."""
    loc, key = changes.column("loc"), changes.column("key")
    keys = pc.if_else(pc.equal(pc.coalesce(key, loc), ""), pa.scalar(None, pa.string()), pc.coalesce(key, loc))
    return changes.set_column(changes.schema.get_field_index("key"), changes.schema.field("key"), keys)


def _writer(file: HashedFile, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        compression_level=9,
        write_statistics=["run"] if "run" in schema.names else False,
        store_schema=False,
    )


def row_ranges_table(schema: pa.Schema, row_ranges: RowRanges, **facts: str | int) -> pa.Table:
    """Return *row_ranges* as a table with *schema*; *facts* are its columns with one value."""
    columns = {name: getattr(row_ranges, name) for name in ("position", "row", "count")}
    columns |= {name: pa.repeat(value, len(row_ranges.row)) for name, value in facts.items()}
    return pa.Table.from_arrays([pa.array(columns[name]) for name in schema.names], schema=schema)


def read_file(folder: Folder, stored: StoredFile) -> pa.Table:
    """Return the contents of one file. Raises :exc:`StoreError` if it is missing or damaged."""
    try:
        with folder.open(stored.name) as file:
            if file.size() != stored.bytes:
                raise StoreError(
                    f"{folder}/{stored.name} has {file.size():,} bytes, but had {stored.bytes:,} when it was written"
                )
            return pq.ParquetFile(file).read()
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{folder}/{stored.name} cannot be read: {error}") from error


def upgraded(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return *table* with the columns of *schema*."""
    columns = []
    for field in schema:
        if field.name in table.schema.names:
            columns.append(table.column(field.name).cast(field.type))
            continue
        value: Any = None  # the column did not exist when the file was written
        if not field.nullable:
            value = [] if pa.types.is_list(field.type) else "" if pa.types.is_string(field.type) else 0
        columns.append(pa.repeat(pa.scalar(value, field.type), table.num_rows))
    return pa.Table.from_arrays(columns, schema=schema)
