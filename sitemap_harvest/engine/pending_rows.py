"""Pending removals: rows that a snapshot stores although no document lists them, until their removal is certain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sitemap_harvest.diff import missing
from sitemap_harvest.snapshots.merge.url_removal import is_overdue
from sitemap_harvest.snapshots.store import PENDING, RowRanges

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sitemap_harvest.snapshots.merge.url_removal import PendingLimits
    from sitemap_harvest.snapshots.store import Snapshot
    from sitemap_harvest.snapshots.store.snapshot import Pending


def pending_rows(
    before: Snapshot, after: Snapshot, *, limits: PendingLimits, waits_since: Callable[[str], str | None]
) -> pa.Table | None:
    """Return the rows of *before* whose removal is pending in *after*; ``None`` if there are none.

    *waits_since* returns, for the run that did not find a URL, the run since which
    every document must be read before the removal is certain; ``None`` if all were. The
    result has the columns of :data:`~sitemap_harvest.snapshots.store.PENDING` without
    ``run``.
    """
    known = before.pending
    groups = [(after.run.id, 0), *dict.fromkeys(zip(known.since, known.runs, strict=True))]  # missed since, runs so far
    waiting = {
        number: waits
        for number, (since, runs) in enumerate(groups)
        if not is_overdue(since, after.run.id, runs=runs, limits=limits) and (waits := waits_since(since)) is not None
    }
    if not waiting:
        return None
    found = missing(before, after)
    group = _groups(found.row, known, groups)
    tables = []
    for number, since in waiting.items():
        chosen = np.flatnonzero(group == number)
        chosen = chosen[np.lexsort((found.position[chosen], found.document[chosen]))]
        for part in np.split(chosen, np.flatnonzero(np.diff(found.document[chosen])) + 1):
            if len(part):
                row_ranges = RowRanges.of(0, found.position[part], found.row[part])
                document = found.documents[found.document[part[0]]]
                tables.append(_table(document, row_ranges, since=since, runs=groups[number][1] + 1))
    return pa.concat_tables(tables) if tables else None


def _groups(rows: np.ndarray, known: Pending, groups: Sequence[tuple[str, int]]) -> np.ndarray:
    """Return the group number of each of *rows*: 0 unless its removal was pending before."""
    numbers = {group: number for number, group in enumerate(groups)}
    of_ranges = [numbers[group] for group in zip(known.since, known.runs, strict=True)]
    ids, group = known.row_ranges.rows(), np.repeat(np.array(of_ranges, dtype=np.int64), known.row_ranges.count)
    order = np.argsort(ids, kind="stable")
    ids, group = np.append(ids[order], -1), np.append(group[order], 0)  # -1 is not an id
    at = np.searchsorted(ids[:-1], rows)
    return np.where(ids[at] == rows, group[at], 0)


def _table(document: str, row_ranges: RowRanges, *, since: str, runs: int) -> pa.Table:
    count = len(row_ranges.row)
    columns = [
        [document] * count,
        row_ranges.position,
        row_ranges.row,
        row_ranges.count,
        [since] * count,
        [runs] * count,
    ]
    return pa.Table.from_arrays([pa.array(column) for column in columns], schema=PENDING.remove(0))
