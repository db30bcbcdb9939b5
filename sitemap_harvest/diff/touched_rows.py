"""The rows that differ between two snapshots, sorted by URL in blocks, with bounded memory.

Only rows that one snapshot lacks are read in full. Of the rows in both, only the key
column is scanned, for URLs that also have a differing row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.diff.fields import FLAT, READ, flat
from sitemap_harvest.diff.temporary_files import sorted_by_key
from sitemap_harvest.snapshots.store.row_ranges import Intervals, RowRanges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sitemap_harvest.snapshots.store import Snapshot

_PLACE = {"is_after": pa.bool_(), "document": pa.int32(), "row": pa.int64(), "position": pa.int64()}
_TOUCHED = pa.schema([*_PLACE.items(), *FLAT])


@dataclass(frozen=True, slots=True)
class Block:
    """All rows of some URLs, URL by URL. Arrays have one value for each row; a row in both snapshots is there twice."""

    columns: Mapping[str, pa.Array]
    """The fields in flat form (see :mod:`~sitemap_harvest.diff.fields`), except those that are null in all rows."""
    url: np.ndarray
    """Number of its URL in the block."""
    is_after: np.ndarray
    """Whether it is a row of the later snapshot."""
    document: np.ndarray
    """Number of the document that lists it."""
    row: np.ndarray
    """Its id."""
    position: np.ndarray
    """Its first position in the document."""


def touched_rows(
    before: Snapshot, after: Snapshot, numbers: tuple[np.ndarray, np.ndarray], folder: Path
) -> Iterator[Block]:
    """Yield the rows in only one snapshot, and all rows of their URLs, by URL; each URL is in one block.

    *numbers* has the document number of each row of either table of documents.
    """
    earlier, later = before.row_ranges().intervals(), after.row_ranges().intervals()
    gone, new = earlier.minus(later), later.minus(earlier)
    if not (expected := len(gone) + len(new)):
        return
    rows = _rows((before, after), (gone, new), earlier.minus(gone), numbers)
    for batch in sorted_by_key(rows, _TOUCHED, expected, folder):
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        is_after, document, row, position = (columns.pop(name).to_numpy(zero_copy_only=False) for name in _PLACE)
        key = columns["key"]
        is_other = pc.not_equal(key.slice(1), key.slice(0, len(key) - 1)).to_numpy(zero_copy_only=False)
        url = np.concatenate([[0], np.cumsum(is_other)])
        yield Block(columns, url, is_after, document.astype(np.int64), row, position)


def _rows(
    snapshots: tuple[Snapshot, Snapshot],
    differing: tuple[Intervals, Intervals],
    kept: Intervals,
    numbers: tuple[np.ndarray, np.ndarray],
) -> Iterator[pa.RecordBatch]:
    """Yield the *differing* rows of both snapshots, then those of *kept*, which are in both, with one of their URLs."""
    hashes = []
    for side in (0, 1):
        for rows in snapshots[side].rows(differing[side], READ) if len(differing[side]) else ():
            batch = _placed(rows, snapshots[side], side, numbers[side])
            if len(kept):
                hashes.append(_hashes(batch["key"]))
            yield batch
    if len(kept):
        ordered = np.sort(np.concatenate(hashes))
        found = [ids[np.isin(part, shared(part, ordered))] for ids, part in url_hashes(snapshots[1], kept)]
        if len(touched := Intervals.of_ids(np.concatenate(found))):
            for rows in snapshots[1].rows(touched, READ):
                for side in (0, 1):
                    yield _placed(rows, snapshots[side], side, numbers[side])


def _placed(rows: pa.RecordBatch, snapshot: Snapshot, side: int, numbers: np.ndarray) -> pa.RecordBatch:
    document, position = places(snapshot.row_ranges(), rows["row"].to_numpy())
    is_after = pa.repeat(pa.scalar(bool(side)), rows.num_rows)
    arrays = [is_after, pa.array(numbers[document], pa.int32()), rows["row"], pa.array(position)]
    return pa.RecordBatch.from_arrays([*arrays, *flat(rows).values()], schema=_TOUCHED)


def places(row_ranges: RowRanges, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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


def url_hashes(snapshot: Snapshot, wanted: Intervals) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the ids of the rows *wanted*, and a hash of the URL of each: of its key, or of ``loc`` if it has no key.

    Two URLs with one 64-bit hash are next to impossible, and nobody can provoke them:
    Python's hashes differ from process to process.
    """
    keyless = []
    for batch in snapshot.rows(wanted, ["key"]):
        if batch["key"].null_count:
            keyless.append(batch.filter(batch["key"].is_null())["row"].to_numpy())
            batch = batch.drop_null()  # noqa: PLW2901 - the others follow
        yield batch["row"].to_numpy(), _hashes(batch["key"])
    if keyless:
        for batch in snapshot.rows(Intervals.of_ids(np.concatenate(keyless)), ["loc"]):
            yield batch["row"].to_numpy(), _hashes(batch["loc"])


def _hashes(texts: pa.StringArray) -> np.ndarray:
    return np.fromiter(map(hash, texts.to_pylist()), dtype=np.int64, count=len(texts))


def shared(hashes: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Return those of *hashes* that are in *ordered*, which ascends and is not empty."""
    sought = np.sort(hashes)  # np.searchsorted is faster for values that ascend
    at = np.minimum(np.searchsorted(ordered, sought), len(ordered) - 1)
    return np.asarray(sought[ordered[at] == sought])


def count_urls(snapshot: Snapshot, wanted: Intervals | None = None) -> int:
    """Return the number of distinct URLs in the rows *wanted* of *snapshot* (``None``: all rows)."""
    wanted = snapshot.row_ranges().intervals() if wanted is None else wanted
    hashes = np.zeros(len(wanted), dtype=np.int64)
    filled = 0
    for _, found in url_hashes(snapshot, wanted):
        hashes[filled : filled + len(found)] = found
        filled += len(found)
    hashes.sort()
    return int(np.count_nonzero(hashes[1:] != hashes[:-1])) + bool(len(hashes))
