"""The row store of a site: Parquet files with each distinct row once, under a permanent id."""

from __future__ import annotations

from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.model import MAX_ROWS, UrlBatch
from sitemap_harvest.snapshots.store.row_ranges import Intervals
from sitemap_harvest.snapshots.store.tables import ROW_COLUMNS, ROW_SCHEMA, original_keys, read_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sitemap_harvest.snapshots.store.row_ranges import RowRanges
    from sitemap_harvest.snapshots.store.storage import Folder
    from sitemap_harvest.snapshots.store.tables import StoredFile

_FILES_KEPT = 2  # most recently read files: the rows of small documents are next to each other
_LISTS = {field.name for field in ROW_SCHEMA if pa.types.is_list(field.type)}


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
            found = pa.Table.from_batches(self.rows(Intervals.of_ids(part)), ROW_SCHEMA)
            at = np.searchsorted(found.column("row").to_numpy(), part)
            batch = found.take(pa.array(at)).combine_chunks().to_batches()[0]
            columns = {name: batch.column(name) for name in ROW_COLUMNS}
            columns["position"] = pa.array(positions[start : start + MAX_ROWS])
            schema = UrlBatch.schema()
            yield UrlBatch(pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema))


def _read_rows(folder: Folder, part: StoredFile, columns: tuple[str, ...]) -> pa.RecordBatch:
    """Return the column ``row`` and *columns* of a file."""
    rows = read_table(folder, part, dict.fromkeys(("row", *columns, *(["loc"] if "key" in columns else []))))
    if "key" in columns:
        rows = rows.set_column(rows.schema.names.index("key"), "key", original_keys(rows["key"], rows["loc"]))
    return rows.select(["row", *columns]).combine_chunks().to_batches()[0]


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
    """The rows that a document had, looked up by their contents."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Take *batches*, with the columns ``row`` and :data:`ROW_COLUMNS`."""
        ids, prints, names = [], [], []
        # All columns of a document with a million rows would not fit in memory. A document whose rows are in many
        # files has many small batches, and each query takes milliseconds.
        for rows in together(batches, MAX_ROWS):
            ids.append(rows.column("row").to_numpy())
            prints.append(_prints(rows))
            names.append(_names(rows))
        self._ids = np.concatenate(ids) if ids else np.array([], dtype=np.int64)
        self._prints = pa.concat_arrays(prints) if prints else pa.array([], pa.uint64())
        self._names = pa.concat_arrays(names) if names else pa.array([], pa.string())

    def find(self, batch: pa.RecordBatch) -> np.ndarray:
        """Return for each row of *batch* the id of a known row that is equal in all columns, or -1."""
        if not len(self._ids):
            return np.full(batch.num_rows, -1)
        at = pc.index_in(_prints(batch), self._prints)
        # Two rows with the same hash by chance are next to impossible, even more so with the same URL.
        is_found = pc.equal(self._names.take(at), _names(batch)).fill_null(False)  # noqa: FBT003 - pyarrow's interface
        ids = pa.array(self._ids).take(at)
        return np.array(pc.if_else(is_found, ids, -1))

    def knows(self, batch: pa.RecordBatch) -> np.ndarray:
        """Return for each row of *batch* whether a known row has its URL."""
        return np.asarray(pc.is_in(_names(batch), self._names))


def together(batches: Iterable[pa.RecordBatch], fewest: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of *batches* in batches of at least *fewest* rows, the last one excepted."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= fewest:
            yield pa.concat_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.concat_batches(waiting)


def _names(rows: pa.RecordBatch) -> pa.Array:
    """Return the identity of each URL."""
    return pc.coalesce(rows.column("key"), rows.column("loc"))


def _prints(rows: pa.RecordBatch) -> pa.Array:
    """Return a hash of each row over all of its columns.

    Valid within one process: it may change with DuckDB's version.
    """
    # DuckDB's hash of a list does not distinguish null from empty, nor where nested lists end; the hash of its JSON
    # does.
    columns = ", ".join(f'to_json("{name}")' if name in _LISTS else f'"{name}"' for name in ROW_COLUMNS)
    connection = _duckdb()
    connection.register("fresh", pa.Table.from_batches([rows.select(list(ROW_COLUMNS))]))
    try:
        prints = connection.sql(f"SELECT hash({columns}) FROM fresh")  # noqa: S608 - names of our own columns
        return prints.to_arrow_table().column(0).combine_chunks()
    finally:
        connection.unregister("fresh")


@cache
def _duckdb() -> Any:
    """Return a cached connection: creating one takes longer than comparing a small document."""
    import duckdb  # takes 0.1 seconds, and only changed documents need it

    return duckdb.connect(config={"threads": 1})
