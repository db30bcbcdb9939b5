"""The rows that differ between two snapshots, sorted by URL in blocks, with bounded memory.

Only rows that one snapshot lacks are read in full. Of the rows in both, only the key
column is scanned, for URLs that also have a differing row.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.diff.classify import GONE, KEPT, NEW, Block
from sitemap_harvest.diff.fields import FLAT, READ, flat
from sitemap_harvest.diff.sorting import Sorted
from sitemap_harvest.snapshots.store.row_ranges import Intervals

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sitemap_harvest.diff.compared_snapshot import ComparedSnapshot
    from sitemap_harvest.diff.document_pairs import Places

MEMORY_MB = 256  # memory limit of DuckDB; beyond it, DuckDB writes to the temporary folder
_BATCH_ROWS = 50_000
_BITS_A_ROW = 16  # so that at most one lookup in sixteen needs the second step
_MAX_BITS = 1 << 28  # 32 MB
_MAX_HASHES = 5_000_000  # 40 MB
_PLACE = {"side": pa.int8(), "document": pa.int32(), "row": pa.int64()}
_TOUCHED = pa.schema([*_PLACE.items(), *FLAT])


class Work:
    """A folder for temporary files, and a DuckDB connection that uses it, created on first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def duckdb(self) -> Any:
        """The connection. Its tables are in memory up to a limit, then in the folder."""
        import duckdb  # here: loading takes 0.1 seconds, and is not needed if nothing has changed

        limits = {"memory_limit": f"{MEMORY_MB}MB", "temp_directory": str(self.folder)}
        return duckdb.connect(config={**limits, "preserve_insertion_order": False, "threads": 2})

    def close(self) -> None:
        """Close the connection and its tables."""
        if "duckdb" in vars(self):
            self.duckdb.close()


def touched(
    before: ComparedSnapshot, after: ComparedSnapshot, places: tuple[Places, Places], work: Work
) -> Iterator[Block]:
    """Yield the rows in only one snapshot, and all rows of their URLs, by URL; each URL is in one block.

    *places* find the documents of the rows in either snapshot.
    """
    earlier, later = before.row_ranges().intervals(), after.row_ranges().intervals()
    gone, new = earlier.minus(later), later.minus(earlier)
    count = len(gone) + len(new)
    if not count:
        return
    rows = Sorted(work.folder, _TOUCHED, count)
    filled: set[str] = {"key"}
    for snapshot, wanted, side in ((before, gone, GONE), (after, new, NEW)):
        _add(rows, snapshot, wanted, side, places[side == NEW], filled)
    kept = earlier.minus(gone)
    if len(kept):
        keys = _HashSet(_hashes_of(rows, work), count)
        found = [ids[keys.has(part)] for ids, part in _hashes(work, after, kept)]
        _add(rows, after, Intervals.of_ids(np.concatenate(found)), KEPT, places[1], filled)
    active = [name for name in FLAT.names if name in filled]
    for batch in rows.batches([*_PLACE, *active]):
        columns = {name: batch[name] for name in active}
        side, document, row = (batch[name].to_numpy() for name in _PLACE)
        yield Block(columns, side, document.astype(np.int64), row)


def _add(
    rows: Sorted, snapshot: ComparedSnapshot, wanted: Intervals, side: int, places: Places, filled: set[str]
) -> None:
    """Add the *wanted* rows, and add to *filled* the names of their columns that have values."""
    for batch in snapshot.rows(wanted, READ) if len(wanted) else ():
        columns = flat(batch)
        filled |= {name for name, column in columns.items() if column.null_count < len(column)}
        document = pa.array(places.documents(batch["row"].to_numpy()), pa.int32())
        arrays = [pa.repeat(pa.scalar(side, pa.int8()), len(document)), document, batch["row"], *columns.values()]
        rows.add(pa.RecordBatch.from_arrays(arrays, schema=_TOUCHED))


class _HashSet:
    """A set of 64-bit hashes with a small bit filter that answers most lookups.

    A very large set has only the filter, which allows false positives.
    """

    def __init__(self, parts: Iterator[np.ndarray], count: int) -> None:
        size = 1 << int(np.clip(count * _BITS_A_ROW, 1 << 16, _MAX_BITS) - 1).bit_length()
        self._mask = np.uint64(size - 1)
        self._bits = np.zeros(size // 8, dtype=np.uint8)
        self._hashes = np.zeros(count if count <= _MAX_HASHES else 0, dtype=np.uint64)
        filled = 0
        for part in parts:
            np.bitwise_or.at(self._bits, *self._place(part))
            if len(self._hashes):
                self._hashes[filled : filled + len(part)] = part
                filled += len(part)
        self._hashes.sort()

    def has(self, hashes: np.ndarray) -> np.ndarray:
        """Return which of *hashes* are in it."""
        byte, bit = self._place(hashes)
        found = (self._bits[byte] & bit) != 0
        if len(self._hashes):
            sought = hashes[found]
            at = np.searchsorted(self._hashes, sought)
            found[found] = self._hashes[np.minimum(at, len(self._hashes) - 1)] == sought
        return np.asarray(found)

    def _place(self, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the byte and the bit of each hash in the filter."""
        place = hashes & self._mask
        return place >> np.uint64(3), np.left_shift(np.uint8(1), (place & np.uint64(7)).astype(np.uint8))


def count_urls(snapshot: ComparedSnapshot, wanted: Intervals | None = None) -> int:
    """Return the number of distinct URLs in the rows *wanted* of *snapshot* (``None``: all rows).

    Counts distinct 64-bit hashes. Does not use DuckDB, which a first run needs for
    nothing else, and which takes 50 MB.
    """
    wanted = snapshot.row_ranges().intervals() if wanted is None else wanted
    hashes = np.zeros(len(wanted), dtype=np.int64)
    filled = 0
    for batch in snapshot.rows(wanted, ["key", "loc"]):
        names = pc.coalesce(batch["key"], batch["loc"]).to_pylist()
        hashes[filled : filled + len(names)] = np.fromiter(map(hash, names), dtype=np.int64, count=len(names))
        filled += len(names)
    hashes.sort()
    return int(np.count_nonzero(hashes[1:] != hashes[:-1])) + bool(len(hashes))


def _hashes(work: Work, snapshot: ComparedSnapshot, wanted: Intervals) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the ids of the rows *wanted*, and the hash of the key of each, or of ``loc`` if it has no key."""
    keyless = []
    for batch in _hashed(work, snapshot.rows(wanted, ["key"]), "key"):
        ids, hashes = batch["row"].to_numpy(), batch["h"].to_numpy()
        if batch["absent"].true_count:
            absent = batch["absent"].to_numpy(zero_copy_only=False)
            keyless.append(ids[absent])
            ids, hashes = ids[~absent], hashes[~absent]
        yield ids, hashes
    if keyless:
        rows = snapshot.rows(Intervals.of_ids(np.concatenate(keyless)), ["loc"])
        for batch in _hashed(work, rows, "loc"):
            yield batch["row"].to_numpy(), batch["h"].to_numpy()


def _hashes_of(rows: Sorted, work: Work) -> Iterator[np.ndarray]:
    batches = (
        pa.RecordBatch.from_arrays([pa.nulls(len(key), pa.int64()), key], ["row", "key"]) for key in rows.all_keys()
    )
    for batch in _hashed(work, batches, "key"):
        yield batch["h"].to_numpy()


def _hashed(work: Work, batches: Iterator[pa.RecordBatch], column: str) -> Iterator[pa.RecordBatch]:
    """Yield ``row``, ``h`` (a hash of *column*) and ``absent`` (whether that is null) of *batches*."""
    schema = pa.schema([("row", pa.int64()), (column, pa.string())])
    failed: list[BaseException] = []
    work.duckdb.register("arriving", pa.RecordBatchReader.from_batches(schema, _watched(batches, failed)))
    query = f"select row, hash({column}) as h, {column} is null as absent from arriving"  # noqa: S608 - our own names
    try:
        yield from work.duckdb.sql(query).to_arrow_reader(_BATCH_ROWS)
    except Exception as error:
        if failed:  # DuckDB replaces reading errors with its own
            raise failed[0] from error
        raise


def _watched(batches: Iterator[pa.RecordBatch], failed: list[BaseException]) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except BaseException as error:
        failed.append(error)
        raise
