"""The row store of a site: Parquet files with each distinct row once, under a permanent id."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.export import json_objects
from sitemap_harvest.model import MAX_ROWS, UrlBatch
from sitemap_harvest.snapshots.store.row_ranges import Intervals
from sitemap_harvest.snapshots.store.tables import ROW_COLUMNS, read_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sitemap_harvest.snapshots.store.row_ranges import RowRanges
    from sitemap_harvest.snapshots.store.storage import Folder
    from sitemap_harvest.snapshots.store.tables import StoredFile

_FILES_KEPT = 2  # most recently read files: the rows of small documents are next to each other
_NO_HASHES = pa.array([], pa.int64())


class RowStore:
    """Reads rows by their ids."""

    def __init__(self, folder: Folder, files: Iterable[StoredFile]) -> None:
        """Read from those of *files* in *folder* that have rows; their id ranges must not overlap."""
        self._parts = sorted((file for file in files if file.table == "rows"), key=lambda file: file.ids)
        self._first = np.array([file.ids[0] for file in self._parts], dtype=np.int64)
        self._end = np.array([file.ids[1] for file in self._parts], dtype=np.int64)
        self._read = lru_cache(maxsize=_FILES_KEPT)(partial(_read_rows, folder))

    def rows(self, wanted: Intervals, columns: Sequence[str] = ROW_COLUMNS) -> Iterator[pa.RecordBatch]:
        """Yield the *wanted* rows, ascending: the column ``row``, and *columns* in that order."""
        for number in _meeting(wanted, self._first, self._end).tolist():
            rows = chosen(self._read(self._parts[number], tuple(columns)), wanted)
            if rows.num_rows:
                yield rows

    def urls(self, row_ranges: RowRanges) -> Iterator[UrlBatch]:
        """Yield the entries of *row_ranges*, in their order."""
        rows, positions = row_ranges.rows(), row_ranges.positions()
        for start in range(0, len(rows), MAX_ROWS):
            part = rows[start : start + MAX_ROWS]
            batches = list(self.rows(Intervals.of_ids(part)))
            found = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
            at = np.searchsorted(found.column("row").to_numpy(), part)
            if not np.array_equal(at, np.arange(len(found))):  # otherwise each is listed once, in the stored order
                found = found.take(pa.array(at))
            columns = {name: found.column(name) for name in ROW_COLUMNS}
            columns["position"] = pa.array(positions[start : start + MAX_ROWS])
            schema = UrlBatch.schema()
            yield UrlBatch(pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema))


def _read_rows(folder: Folder, part: StoredFile, columns: tuple[str, ...]) -> pa.RecordBatch:
    """Return the column ``row`` and *columns* of a file."""
    return read_table(folder, part, ("row", *columns)).combine_chunks().to_batches()[0]


def _meeting(wanted: Intervals, first: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return which of the disjoint ranges *first* to *end* contain a *wanted* id."""
    if not len(wanted.start):
        return np.array([], dtype=np.int64)
    at = np.searchsorted(wanted.start + wanted.count, first, side="right")
    last = len(wanted.start) - 1
    return np.flatnonzero((at <= last) & (wanted.start[np.minimum(at, last)] < end))


def chosen(rows: pa.RecordBatch | pa.Table, wanted: Intervals) -> pa.RecordBatch | pa.Table:
    """Return those of *rows*, whose ids ascend and may have gaps, that are *wanted*."""
    ids = rows.column("row").to_numpy()
    wanted = wanted.within(ids[0], ids[-1] + 1)
    first = np.searchsorted(ids, wanted.start)
    count = np.searchsorted(ids, wanted.start + wanted.count) - first
    if len(first) == 1:
        return rows.slice(int(first[0]), int(count[0]))  # does not copy
    return rows.take(pa.array(Intervals(first, count).ids()))


class KnownRows:
    """The rows that a document had, looked up by the hashes of their contents."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Take *batches*, with the columns ``row`` and :data:`ROW_COLUMNS`."""
        ids, rows, urls = [pa.array([], pa.int64())], [_NO_HASHES], [_NO_HASHES]
        for batch in batches:  # all columns of a document with a million rows would not fit in memory
            ids.append(batch.column("row"))
            rows.append(_hashes_of_rows(batch))
            urls.append(_hashes_of_urls(batch))
        self._ids, self._rows, self._urls = map(pa.concat_arrays, (ids, rows, urls))

    def find(self, batch: pa.RecordBatch) -> np.ndarray:
        """Return for each row of *batch* the id of a known row that is equal in all columns, or -1."""
        if not len(self._ids):  # the document is new to the store: rows need no hash
            return np.full(batch.num_rows, -1)
        return np.array(self._ids.take(pc.index_in(_hashes_of_rows(batch), self._rows)).fill_null(-1))

    def knows(self, batch: pa.RecordBatch) -> np.ndarray:
        """Return for each row of *batch* whether a known row has its URL."""
        if not len(self._ids):
            return np.zeros(batch.num_rows, dtype=bool)
        return np.asarray(pc.is_in(_hashes_of_urls(batch), self._urls))


def hashes(texts: pa.StringArray) -> np.ndarray:
    """Return a 64-bit hash of each of *texts*, valid within this process: two are the same by chance next to never."""
    return np.fromiter(map(hash, texts.to_pylist()), dtype=np.int64, count=len(texts))


def _hashes_of_urls(rows: pa.RecordBatch) -> pa.Array:
    return pa.array(hashes(pc.coalesce(rows.column("key"), rows.column("loc"))))


def _hashes_of_rows(rows: pa.RecordBatch) -> pa.Array:
    columns = {name: rows.column(name) for name in ROW_COLUMNS}
    return pa.array(hashes(json_objects(columns, rows.num_rows)))
