"""Pending removals: rows that a snapshot stores although no document lists them, until their removal is certain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sitemap_harvest.diff.touched_rows import places, shared, url_hashes
from sitemap_harvest.snapshots.store.row_ranges import RowRanges
from sitemap_harvest.snapshots.store.tables import PENDING, row_ranges_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sitemap_harvest.snapshots.store import Snapshot
    from sitemap_harvest.snapshots.store.snapshot import Pending


def pending_rows(before: Snapshot, after: Snapshot, *, is_due: Callable[[str, int], bool]) -> pa.Table | None:
    """Return the rows of *before* whose removal is pending in *after*; ``None`` if there are none.

    *is_due* returns whether a removal is reported now although it is not certain, for the
    first run that did not find the URL and the number of runs for which it has been
    pending. The result has the columns
    :data:`~sitemap_harvest.snapshots.store.tables.PENDING`.
    """
    known = before.pending
    groups = [(after.run.id, 0), *dict.fromkeys(zip(known.since, known.runs, strict=True))]  # missed since, runs so far
    waiting = [number for number, group in enumerate(groups) if not is_due(*group)]
    if not waiting or not len(rows := _missing(before, after)):
        return None
    documents, positions = places(before.row_ranges(), rows)
    urls = before.sitemaps()["url"]
    group = _groups(rows, known, groups)
    tables = []
    for number in waiting:
        since, runs = groups[number]
        chosen = np.flatnonzero(group == number)
        chosen = chosen[np.lexsort((positions[chosen], documents[chosen]))]
        for part in np.split(chosen, np.flatnonzero(np.diff(documents[chosen])) + 1):
            if len(part):
                row_ranges = RowRanges.of(0, positions[part], rows[part])
                facts = {"run": after.run.id, "document": urls[documents[part[0]]].as_py()}
                tables.append(row_ranges_table(PENDING, row_ranges, **facts, since=since, runs=runs + 1))
    return pa.concat_tables(tables) if tables else None


def _missing(before: Snapshot, after: Snapshot) -> np.ndarray:
    """Return the ids of the rows of *before* whose URL *after* does not list, ascending."""
    listed = after.row_ranges().intervals()
    gone = before.row_ranges().intervals().minus(listed)
    if not len(gone):
        return gone.ids()
    ids, hashes = (np.concatenate(parts) for parts in zip(*url_hashes(before, gone), strict=True))
    ordered = np.sort(hashes)
    found = [shared(part, ordered) for _, part in url_hashes(after, listed)]
    return np.sort(ids[~np.isin(hashes, np.concatenate([ordered[:0], *found]))])


def _groups(rows: np.ndarray, known: Pending, groups: Sequence[tuple[str, int]]) -> np.ndarray:
    """Return the group number of each of *rows*: 0 unless its removal was pending before."""
    numbers = {group: number for number, group in enumerate(groups)}
    of_ranges = [numbers[group] for group in zip(known.since, known.runs, strict=True)]
    ids, group = known.row_ranges.rows(), np.repeat(np.array(of_ranges, dtype=np.int64), known.row_ranges.count)
    order = np.argsort(ids, kind="stable")
    ids, group = np.append(ids[order], -1), np.append(group[order], 0)  # -1 is not an id
    at = np.searchsorted(ids[:-1], rows)
    return np.where(ids[at] == rows, group[at], 0)
