"""The rows that a snapshot keeps although no document lists them any more: their removal is not certain yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sitemap_harvest.diff import missing
from sitemap_harvest.plan import is_overdue
from sitemap_harvest.store import PENDING, Extents

if TYPE_CHECKING:
    from collections.abc import Callable

    from sitemap_harvest.plan import PendingLimits
    from sitemap_harvest.store import Snapshot


def pending_rows(
    before: Snapshot, after: Snapshot, *, limits: PendingLimits, is_settled: Callable[[str], bool]
) -> pa.Table | None:
    """Return the rows of *before* whose removal is pending in *after*; ``None`` if there are none.

    *is_settled* tells whether every document that may list a URL was read since
    a run. The result has the columns of :data:`~sitemap_harvest.store.PENDING` without ``run``.
    """
    known = before.pending
    runs = dict(zip(known.since, known.runs, strict=True)) | {after.run.id: 0}
    waiting = {
        since: count + 1
        for since, count in runs.items()
        if not is_overdue(since, after.run.id, runs=count, limits=limits) and not is_settled(since)
    }
    if not waiting:
        return None
    found = missing(before, after)
    since = _since(found.row, known.extents, known.since, default=after.run.id)
    tables = []
    for run, count in waiting.items():
        chosen = np.flatnonzero(since == run)
        chosen = chosen[np.lexsort((found.position[chosen], found.document[chosen]))]
        for part in np.split(chosen, np.flatnonzero(np.diff(found.document[chosen])) + 1):
            if len(part):
                extents = Extents.of(0, found.position[part], found.row[part])
                tables.append(_table(found.documents[found.document[part[0]]], extents, since=run, runs=count))
    return pa.concat_tables(tables) if tables else None


def _since(rows: np.ndarray, known: Extents, since: list[str], *, default: str) -> np.ndarray:
    """Return for each of *rows* the first run that did not find its URL."""
    ids, runs = known.rows(), np.repeat(np.array(since, dtype=object), known.count)
    order = np.argsort(ids, kind="stable")
    ids, runs = ids[order], runs[order]
    at = np.minimum(np.searchsorted(ids, rows), max(0, len(ids) - 1))
    found = np.full(len(rows), default, dtype=object)
    if len(ids):
        is_known = ids[at] == rows
        found[is_known] = runs[at[is_known]]
    return found


def _table(document: str, extents: Extents, *, since: str, runs: int) -> pa.Table:
    count = len(extents.row)
    columns = [[document] * count, extents.position, extents.row, extents.count, [since] * count, [runs] * count]
    return pa.Table.from_arrays([pa.array(column) for column in columns], schema=PENDING.remove(0))
