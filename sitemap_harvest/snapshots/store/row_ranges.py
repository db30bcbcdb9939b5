"""``RowRanges``: which rows a document lists, and at which positions, stored as ranges.

And ``Intervals`` of row ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Row ids as intervals: disjoint, ascending, not adjacent. Both are arrays of int64."""

    start: np.ndarray
    count: np.ndarray

    @classmethod
    def of(cls, start: np.ndarray, count: np.ndarray) -> Self:
        """Merge intervals that may overlap, in any order."""
        if len(start) == 1 and count[0]:  # most documents of a store have never changed
            return cls(start, count)
        return cls(*_swept(start, count, _NONE, _NONE))

    @classmethod
    def of_ids(cls, ids: np.ndarray) -> Self:
        """Return *ids*, in any order and possibly repeated, as intervals."""
        ids = np.unique(ids)
        first = np.flatnonzero(np.diff(ids, prepend=-2) != 1)
        return cls(ids[first], np.diff(first, append=len(ids)))

    def minus(self, other: Intervals) -> Intervals:
        """Return the ids that are not in *other*."""
        return Intervals(*_swept(self.start, self.count, other.start, other.count))

    def within(self, first: int, end: int) -> Intervals:
        """Return the ids from *first* up to *end*, which is excluded."""
        ends = np.minimum(self.start + self.count, end)
        starts = np.maximum(self.start, first)
        kept = ends > starts
        return Intervals(starts[kept], (ends - starts)[kept])

    def __len__(self) -> int:
        """Return the number of ids."""
        return int(self.count.sum())

    def ids(self) -> np.ndarray:
        """Return each id, ascending."""
        return _unfolded(self.start, self.count)


@dataclass(frozen=True, slots=True, eq=False)
class RowRanges:
    """Rows of documents: *count* rows with ids from *row* on are at the positions from *position* on.

    All are arrays of int64. *document* is an index into a list of documents. A row may
    be at several positions of its document.
    """

    document: np.ndarray
    position: np.ndarray
    row: np.ndarray
    count: np.ndarray

    @classmethod
    def of(cls, document: int, positions: np.ndarray, rows: np.ndarray) -> Self:
        """Return the ranges of one document, whose entries have *positions*, ascending, and the ids *rows*."""
        is_first = (np.diff(rows, prepend=-2) != 1) | (np.diff(positions, prepend=-2) != 1)
        first = np.flatnonzero(is_first)
        return cls(np.full(len(first), document), positions[first], rows[first], np.diff(first, append=len(rows)))

    @classmethod
    def joined(cls, parts: Iterable[RowRanges]) -> Self:
        """Return the concatenation of *parts*."""
        columns = list(zip(*((part.document, part.position, part.row, part.count) for part in parts), strict=True))
        return cls(*(np.concatenate(column) for column in columns)) if columns else cls(_NONE, _NONE, _NONE, _NONE)

    def take(self, chosen: np.ndarray) -> RowRanges:
        """Return the *chosen* ranges: their indexes, or a mask."""
        return RowRanges(self.document[chosen], self.position[chosen], self.row[chosen], self.count[chosen])

    def intervals(self) -> Intervals:
        """Return the ids of the rows."""
        return Intervals.of(self.row, self.count)

    def rows(self) -> np.ndarray:
        """Return the row id of each entry, in order."""
        return _unfolded(self.row, self.count)

    def positions(self) -> np.ndarray:
        """Return the position of each entry, in order."""
        return _unfolded(self.position, self.count)

    def documents(self) -> np.ndarray:
        """Return the document of each entry, in order."""
        return np.repeat(self.document, self.count)


def _swept(
    start: np.ndarray, count: np.ndarray, other_start: np.ndarray, other_count: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return starts and counts of the ids in the first intervals and not in the others: one sweep over all ends."""
    sizes = [len(start), len(start), len(other_start), len(other_start)]
    at = np.concatenate([start, start + count, other_start, other_start + other_count])
    order = np.argsort(at, kind="stable")
    at = at[order]
    these = np.cumsum(np.repeat([1, -1, 0, 0], sizes)[order])
    others = np.cumsum(np.repeat([0, 0, 1, -1], sizes)[order])
    is_last = np.diff(at, append=at[-1:] + 1) != 0  # of several ends at one id
    is_in = ((these > 0) & (others == 0))[is_last]
    edges = at[is_last][np.flatnonzero(np.diff(is_in, prepend=False))]
    return edges[::2], edges[1::2] - edges[::2]


def _unfolded(start: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return the numbers from each *start* on, as many as *count* says."""
    before = np.cumsum(count) - count
    return np.repeat(start - before, count) + np.arange(int(count.sum()))


_NONE = np.array([], dtype=np.int64)
