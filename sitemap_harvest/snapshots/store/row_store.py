"""The row store of a site: Parquet files with each distinct row once, under a permanent id."""

from __future__ import annotations

from collections import OrderedDict
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import MAX_ROWS, UrlBatch, UrlEntry, arrow_schema
from sitemap_harvest.snapshots.store.row_ranges import Intervals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sitemap_harvest.snapshots.store.manifest import StoredFile
    from sitemap_harvest.snapshots.store.row_ranges import RowRanges
    from sitemap_harvest.snapshots.store.storage import Folder

GROUP_ROWS = 20_000  # per row group: some 10 MB in memory
_FILES_OPEN = 8
_GROUPS_KEPT = 2  # most recently read groups: the rows of small documents are next to each other
_FEW_VALUES = [
    "site", "sitemap", "lastmod_precision", "lastmod_zoned", "changefreq", "priority", "in_scope", "scope_reason"
]  # fmt: skip
_ALIKE = ["loc", "loc_raw", "key", "lastmod_text"]  # texts that share prefixes with their predecessor

_ENTRY = arrow_schema(UrlEntry)
ROW_COLUMNS: tuple[str, ...] = tuple(name for name in _ENTRY.names if name != "position")
"""The columns of :class:`UrlEntry` that a row stores. The position belongs to the document instead."""

ROW_SCHEMA = pa.schema([pa.field("row", pa.int64(), nullable=False), *(_ENTRY.field(name) for name in ROW_COLUMNS)])


class PartWriter:
    """Writes one file of rows."""

    def __init__(self, folder: Folder, name: str) -> None:
        """Write to the file *name* of *folder*."""
        self.count = 0
        """Number of rows added."""
        self.waiting = 0
        """Number of rows buffered in memory."""
        self._name = name
        self._file = folder.writing(name)
        self._writer: pq.ParquetWriter | None = None
        self._batches: list[pa.RecordBatch] = []

    @property
    def is_open(self) -> bool:
        """Whether its file is open."""
        return self._writer is not None

    def add(self, rows: pa.RecordBatch, first: int) -> None:
        """Write *rows*, with the columns of :class:`UrlEntry`, under ids from *first* on."""
        found = {name: rows.column(name) for name in ROW_COLUMNS} | {
            "row": pa.array(np.arange(first, first + rows.num_rows))
        }
        is_loc = pc.equal(found["key"], found["loc"])  # then it is stored once
        found["key"] = pc.if_else(is_loc, pa.scalar(None, pa.string()), found["key"])
        self.add_stored(pa.RecordBatch.from_arrays([found[name] for name in ROW_SCHEMA.names], schema=ROW_SCHEMA))

    def add_stored(self, rows: pa.RecordBatch) -> None:
        """Write *rows* in stored form: with the columns of the row store, ids ascending."""
        self._batches.append(rows)
        self.count += rows.num_rows
        self.waiting += rows.num_rows
        if self.waiting >= GROUP_ROWS:
            self._write(pa.Table.from_batches(self._batches))

    def close(self, runs: tuple[str, str], ids: tuple[int, int]) -> StoredFile:
        """Finish the file, and return its entry; an unfinished file cannot be read.

        *runs* and *ids* as for :class:`StoredFile`.
        """
        if self._batches:
            table = pa.Table.from_batches(self._batches)
            # With few rows, empty columns would take more space than the rows.
            self._write(without_empty(table) if self._writer is None else table)
        if self._writer is not None:
            self._writer.close()
        return self._file.stored(self._name, "rows", count=self.count, runs=runs, ids=ids)

    def _write(self, table: pa.Table) -> None:
        self._batches, self.waiting = [], 0
        if self._writer is None:
            names = table.schema.names
            deltas = {name: "DELTA_BYTE_ARRAY" for name in _ALIKE if name in names}
            self._writer = pq.ParquetWriter(
                self._file,
                table.schema,
                compression="zstd",
                use_dictionary=[name for name in _FEW_VALUES if name in names],
                column_encoding={"row": "DELTA_BINARY_PACKED", **deltas},
                write_statistics=["row"],
                store_schema=False,
            )
        self._writer.write_table(table)


def without_empty(table: pa.Table) -> pa.Table:
    """Return *table* without its empty columns."""
    return table.select(
        [field.name for field in table.schema if not field.nullable or table[field.name].null_count < table.num_rows]
    )


class RowStore:
    """Reads rows by their ids."""

    def __init__(self, folder: Folder, files: Iterable[StoredFile]) -> None:
        """Read from those of *files* in *folder* that have rows; their id ranges must not overlap."""
        self._folder = folder
        self._parts = sorted((file for file in files if file.table == "rows"), key=lambda file: file.ids)
        self._first = np.array([file.ids[0] for file in self._parts], dtype=np.int64)
        self._end = np.array([file.ids[1] for file in self._parts], dtype=np.int64)
        self._files: OrderedDict[int, pq.ParquetFile] = OrderedDict()
        self._bounds_of = cache(self._read_bounds)
        self._read = lru_cache(maxsize=_GROUPS_KEPT)(self._read_group)

    def rows(self, wanted: Intervals, columns: Sequence[str] = ROW_COLUMNS) -> Iterator[pa.RecordBatch]:
        """Yield the *wanted* rows, ascending: the column ``row``, and *columns* in that order."""
        for number, group, first, end in self._groups(wanted):
            ids = wanted.within(first, end)
            rows = self._read(number, group, tuple(columns))
            if rows.num_rows < end - first:
                if (there := places(rows, ids)).any():
                    yield rows.filter(pa.array(there))
            elif len(ids.start) == 1:
                yield rows.slice(int(ids.start[0]) - first, int(ids.count[0]))
            else:
                yield rows.take(pa.array(ids.ids() - first))

    def _groups(self, wanted: Intervals) -> Iterator[tuple[int, int, int, int]]:
        """Yield the row groups that may hold *wanted* rows: file, group, first id, and the id after the last."""
        for number in _meeting(wanted, self._first, self._end).tolist():
            first, end = self._bounds_of(number)
            for group in _meeting(wanted, first, end).tolist():
                yield number, group, int(first[group]), int(end[group])

    def _read_bounds(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the first id of each row group of a file, and the id after its last."""
        metadata = self._file(number).metadata
        found = [metadata.row_group(group).column(0).statistics for group in range(metadata.num_row_groups)]
        return np.array([one.min for one in found]), np.array([one.max + 1 for one in found])

    def _read_group(self, number: int, group: int, columns: tuple[str, ...]) -> pa.RecordBatch:
        """Return the column ``row`` and *columns* of a row group."""
        needed = {"row", *columns} | ({"loc", "site"} if "key" in columns else set())
        file = self._file(number)
        there = [name for name in file.schema_arrow.names if name in needed]
        try:
            # Each reader thread would have its own allocator arena, whose free memory the others cannot use.
            batch = file.read_row_group(group, there, use_threads=False).combine_chunks().to_batches()[0]
        except (OSError, pa.ArrowException) as error:
            raise self._unreadable(number, error) from error
        found = {name: pa.nulls(batch.num_rows, ROW_SCHEMA.field(name).type) for name in needed}
        found |= {name: batch.column(name) for name in there}
        if "key" in columns:
            own = pc.coalesce(found["key"], found["loc"])
            found["key"] = pc.if_else(pc.is_null(found["site"]), pa.scalar(None, pa.string()), own)
        schema = pa.schema([ROW_SCHEMA.field(name) for name in ("row", *columns)])
        return pa.RecordBatch.from_arrays(
            [found[name].cast(schema.field(name).type) for name in schema.names], schema=schema
        )

    def _file(self, number: int) -> pq.ParquetFile:
        if number not in self._files:
            try:
                self._files[number] = pq.ParquetFile(self._folder.open(self._parts[number].name), pre_buffer=False)
            except (OSError, pa.ArrowException) as error:
                raise self._unreadable(number, error) from error
            if len(self._files) > _FILES_OPEN:
                self._files.popitem(last=False)[1].close()
        self._files.move_to_end(number)
        return self._files[number]

    def urls(self, row_ranges: RowRanges) -> Iterator[UrlBatch]:
        """Yield the entries of *row_ranges*, in their order."""
        rows, positions = row_ranges.rows(), row_ranges.positions()
        for start in range(0, len(rows), MAX_ROWS):
            yield self._urls(rows[start : start + MAX_ROWS], positions[start : start + MAX_ROWS])

    def _urls(self, rows: np.ndarray, positions: np.ndarray) -> UrlBatch:
        found = pa.Table.from_batches(self.rows(Intervals.of_ids(rows)), ROW_SCHEMA)
        ids = found.column("row").to_numpy()
        batch = found.take(pa.array(np.searchsorted(ids, rows))).combine_chunks().to_batches()[0]
        columns = {name: batch.column(name) for name in ROW_COLUMNS} | {"position": pa.array(positions)}
        return UrlBatch(pa.RecordBatch.from_arrays([columns[name] for name in _ENTRY.names], schema=_ENTRY))

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()
        self._files.clear()
        self._read.cache_clear()

    def _unreadable(self, number: int, error: Exception) -> StoreError:
        return StoreError(f"{self._folder}/{self._parts[number].name} cannot be read: {error}")


def _meeting(wanted: Intervals, first: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return which of the disjoint ranges *first* to *end* contain a *wanted* id."""
    if not len(wanted.start):
        return np.array([], dtype=np.int64)
    at = np.searchsorted(wanted.start + wanted.count, first, side="right")
    last = len(wanted.start) - 1
    return np.flatnonzero((at <= last) & (wanted.start[np.minimum(at, last)] < end))


def places(rows: pa.RecordBatch, wanted: Intervals) -> np.ndarray:
    """Return for each of *rows*, whose ids may have gaps, whether it is *wanted*. *wanted* must not be empty."""
    ids = rows.column("row").to_numpy()
    at = np.maximum(np.searchsorted(wanted.start, ids, side="right") - 1, 0)
    is_wanted: np.ndarray = (ids >= wanted.start[at]) & (ids < wanted.start[at] + wanted.count[at])
    return is_wanted
