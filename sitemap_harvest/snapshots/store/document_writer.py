"""``DocumentWriter``: writes the rows of one document as they are read, and returns the row ranges it lists.

Unchanged rows keep their ids: ``KnownRows`` finds them by hash.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.model import MAX_ROWS
from sitemap_harvest.snapshots.store.row_ranges import RowRanges
from sitemap_harvest.snapshots.store.row_store import ROW_COLUMNS, ROW_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.model import UrlBatch
    from sitemap_harvest.snapshots.store.writer import SiteWriter


_LISTS = {field.name for field in ROW_SCHEMA if pa.types.is_list(field.type)}


@dataclass(slots=True)
class DocumentWriter:
    """Takes the rows of one document as they are read."""

    _site: SiteWriter
    url: str
    _old: KnownRows | None = None
    _ids: list[np.ndarray] = field(default_factory=list)
    _positions: list[np.ndarray] = field(default_factory=list)
    _is_new_url: list[np.ndarray] = field(default_factory=list)

    def add(self, batch: UrlBatch) -> None:
        """Add *batch*: unchanged rows keep their id, all others get a new one."""
        rows = batch.arrow
        if self._old is None:
            self._old = KnownRows(self._site.old.rows_of(self.url))
        ids = self._old.find(rows)
        is_fresh = ids < 0
        is_new_url = is_fresh.copy()
        if is_fresh.any():
            fresh = rows if is_fresh.all() else rows.filter(pa.array(is_fresh))
            is_new_url[is_fresh] = ~self._old.knows(fresh)
            ids[is_fresh] = self._site.keep_rows(fresh)
        self._ids.append(ids)
        self._positions.append(rows.column("position").to_numpy())
        self._is_new_url.append(is_new_url)

    def all(self) -> RowRanges:
        """Return the rows that the document lists if it was read completely."""
        return RowRanges.of(0, _joined(self._positions), _joined(self._ids))

    def added(self, before: RowRanges, *, sound: int | None) -> RowRanges:
        """Return the rows that the document lists if it was read partly: those of *before*, plus the new ones.

        *sound*: the last position that was read reliably (``None``: all were).
        """
        ids, positions = _joined(self._ids), _joined(self._positions)
        is_new = _joined(self._is_new_url).astype(bool)
        if sound is not None:
            is_new &= positions <= sound
        old_rows, old_positions = before.rows(), before.positions()
        rows = np.concatenate([old_rows, ids[is_new]])
        last = int(old_positions.max(initial=0))
        places = np.concatenate([old_positions, last + np.arange(1, int(is_new.sum()) + 1)])
        return RowRanges.of(0, places, rows)


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.array([], dtype=np.int64)


class KnownRows:
    """The rows that a document had, looked up by their contents."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Take *batches*, with the columns ``row`` and :data:`ROW_COLUMNS`."""
        ids, prints, names = [], [], []
        for rows in _large(batches):  # all columns of a document with a million rows would not fit in memory
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
        same_name = pc.equal(self._names.take(at), _names(batch))
        found = at.to_numpy(zero_copy_only=False)
        is_found = pc.fill_null(same_name, False).to_numpy(zero_copy_only=False)  # noqa: FBT003 - pyarrow's interface
        ids = np.full(batch.num_rows, -1)
        ids[is_found] = self._ids[found[is_found].astype(np.int64)]
        return ids

    def knows(self, batch: pa.RecordBatch) -> np.ndarray:
        """Return for each row of *batch* whether a known row has its URL."""
        names = _names(batch)
        known: np.ndarray = pc.is_in(names, self._names).to_numpy(zero_copy_only=False)
        return known


def _large(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of *batches* in batches of at least :data:`MAX_ROWS`, the last one excepted.

    A document whose rows are in many files has many small batches, and each query takes milliseconds.
    """
    small: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        small.append(batch)
        rows += len(batch)
        if rows >= MAX_ROWS:
            yield pa.concat_batches(small)
            small, rows = [], 0
    if small:
        yield pa.concat_batches(small)


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
