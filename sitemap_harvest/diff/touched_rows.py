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

from sitemap_harvest.diff.classify import FLAT, READ, Block, flat
from sitemap_harvest.diff.temporary_files import TemporaryFile, sorted_by_key
from sitemap_harvest.snapshots.store.row_ranges import Intervals, RowRanges
from sitemap_harvest.snapshots.store.row_store import hashes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sitemap_harvest.snapshots.store import Snapshot

MEMORY_MB = 256  # memory limit of DuckDB; beyond it, DuckDB writes to the temporary folder
_BATCH_ROWS = 50_000
_KEYS = pa.schema({"row": pa.int64(), "key": pa.string()})
_PLACE = {"is_after": pa.bool_(), "document": pa.int32(), "row": pa.int64(), "position": pa.int64()}
_TOUCHED = pa.schema([*_PLACE.items(), *FLAT])


class Work:
    """A folder for temporary files, and a DuckDB connection that uses it, both created on first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def duckdb(self) -> Any:
        """The connection. Its tables are in memory up to a limit, then in the folder."""
        import duckdb  # here: loading takes 0.1 seconds, and is not needed if nothing has changed

        self.folder.mkdir(mode=0o700, exist_ok=True)
        limits = {"memory_limit": f"{MEMORY_MB}MB", "temp_directory": str(self.folder)}
        return duckdb.connect(config={**limits, "preserve_insertion_order": False, "threads": 2})

    def close(self) -> None:
        """Close the connection and its tables."""
        if "duckdb" in vars(self):
            self.duckdb.close()


def touched_rows(
    before: Snapshot, after: Snapshot, numbers: tuple[np.ndarray, np.ndarray], work: Work
) -> Iterator[Block]:
    """Yield the rows in only one snapshot, and all rows of their URLs, by URL; each URL is in one block.

    *numbers* has the document number of each row of either table of documents.
    """
    snapshots = before, after
    ranges = [one.row_ranges() for one in snapshots]
    if all(np.array_equal(*(getattr(one, name) for one in ranges)) for name in ("row", "count")):
        return
    earlier, later = (one.intervals() for one in ranges)
    differing = earlier.minus(later), later.minus(earlier)
    if not any(map(len, differing)):
        return
    touched = TemporaryFile(work.folder / "touched.arrow", _TOUCHED)
    for side in (0, 1):
        for rows in snapshots[side].rows(differing[side], READ) if len(differing[side]) else ():
            touched.add(_placed(rows, snapshots[side], side, numbers[side]))
    if len(kept := earlier.minus(differing[0])) and len(kept := _with_key_of(touched, after, kept, work)):
        for rows in after.rows(kept, READ):
            for side in (0, 1):
                touched.add(_placed(rows, snapshots[side], side, numbers[side]))
    for batch in sorted_by_key(touched):
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        is_after, document, row, position = (columns.pop(name).to_numpy(zero_copy_only=False) for name in _PLACE)
        key = columns["key"]
        is_other = pc.not_equal(key.slice(1), key.slice(0, len(key) - 1)).to_numpy(zero_copy_only=False)
        url = np.concatenate([[0], np.cumsum(is_other)])
        yield Block(columns, url, is_after, document.astype(np.int64), row, position)


def _with_key_of(touched: TemporaryFile, snapshot: Snapshot, wanted: Intervals, work: Work) -> Intervals:
    """Return those of the rows *wanted* of *snapshot* whose URL one of the rows *touched* has."""
    # By hash, which takes half the time and less memory: that two URLs have the same one by chance does no harm.
    query = "select row from kept semi join (select hash(key) as h from touched) as t on hash(kept.key) = t.h"
    failed: list[BaseException] = []
    work.duckdb.register("touched", touched.reader(["key"]))
    work.duckdb.register("kept", pa.RecordBatchReader.from_batches(_KEYS, _watched(_keys(snapshot, wanted), failed)))
    found = [np.array([], dtype=np.int64)]
    try:
        found += [batch["row"].to_numpy() for batch in work.duckdb.sql(query).to_arrow_reader(_BATCH_ROWS)]
    except Exception:
        if failed:  # DuckDB replaces reading errors with its own
            raise failed[0] from failed[0].__cause__
        raise
    return Intervals.of_ids(np.concatenate(found))


def _watched(batches: Iterator[pa.RecordBatch], failed: list[BaseException]) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except BaseException as error:
        failed.append(error)
        raise


def _placed(rows: pa.RecordBatch, snapshot: Snapshot, side: int, numbers: np.ndarray) -> pa.RecordBatch:
    document, position = _places(snapshot.row_ranges(), rows["row"].to_numpy())
    is_after = pa.repeat(pa.scalar(bool(side)), rows.num_rows)
    arrays = [is_after, pa.array(numbers[document], pa.int32()), rows["row"], pa.array(position)]
    return pa.RecordBatch.from_arrays([*arrays, *flat(rows).values()], schema=_TOUCHED)


def _places(row_ranges: RowRanges, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the document of each of *ids*, which must ascend, and its first position there."""
    is_near = (row_ranges.row <= ids[-1]) & (row_ranges.row + row_ranges.count > ids[0])
    row = row_ranges.row[is_near]
    first = np.searchsorted(ids, row)
    count = np.searchsorted(ids, row + row_ranges.count[is_near]) - first
    near = RowRanges(row_ranges.document[is_near], row_ranges.position[is_near] - row, first, count)
    at = near.rows()  # indices of ids, repeated if several ranges have a row
    document = np.zeros(len(ids), dtype=np.int64)
    document[at] = near.documents()
    position = np.full(len(ids), np.iinfo(np.int64).max)
    np.minimum.at(position, at, np.repeat(near.position, count) + ids[at])
    return document, position


def _keys(snapshot: Snapshot, wanted: Intervals) -> Iterator[pa.RecordBatch]:
    """Yield the ids of the rows *wanted*, and the key of each, or ``loc`` if it has no key."""
    keyless = [np.array([], dtype=np.int64)]
    for batch in snapshot.rows(wanted, ["key"]):
        if batch["key"].null_count:
            keyless.append(batch.filter(batch["key"].is_null())["row"].to_numpy())
            batch = batch.drop_null()  # noqa: PLW2901 - the others follow
        yield batch.cast(_KEYS)
    if len(ids := np.concatenate(keyless)):
        for batch in snapshot.rows(Intervals.of_ids(ids), ["loc"]):
            yield batch.rename_columns(_KEYS.names).cast(_KEYS)


def count_urls(snapshot: Snapshot, wanted: Intervals | None = None) -> int:
    """Return the number of distinct URLs in the rows *wanted* of *snapshot* (``None``: all rows).

    Does not use DuckDB, which a first run needs for nothing else, and which takes 50 MB.
    """
    wanted = snapshot.row_ranges().intervals() if wanted is None else wanted
    found = np.zeros(len(wanted), dtype=np.int64)
    filled = 0
    for batch in _keys(snapshot, wanted):
        found[filled : filled + batch.num_rows] = hashes(batch["key"])
        filled += batch.num_rows
    found.sort()
    return int(np.count_nonzero(found[1:] != found[:-1])) + bool(len(found))
