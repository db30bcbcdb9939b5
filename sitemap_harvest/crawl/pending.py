"""The rows that a snapshot keeps although no document lists them any more: their removal is not certain yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sitemap_harvest.diff import missing
from sitemap_harvest.plan import is_overdue
from sitemap_harvest.store import PENDING, Extents

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sitemap_harvest.plan import PendingLimits
    from sitemap_harvest.store import Snapshot
    from sitemap_harvest.store.snapshot import Pending


def pending_rows(
    before: Snapshot, after: Snapshot, *, limits: PendingLimits, waits_since: Callable[[str], str | None]
) -> pa.Table | None:
    """Return the rows of *before* whose removal is pending in *after*; ``None`` if there are none.

    *waits_since* returns, for the run that did not find a URL, since which run every
    document must be read for the URL to be gone for sure; ``None`` if they all
    were. The result has the columns of :data:`~sitemap_harvest.store.PENDING` without ``run``.
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
                extents = Extents.of(0, found.position[part], found.row[part])
                document = found.documents[found.document[part[0]]]
                tables.append(_table(document, extents, since=since, runs=groups[number][1] + 1))
    return pa.concat_tables(tables) if tables else None


def _groups(rows: np.ndarray, known: Pending, groups: Sequence[tuple[str, int]]) -> np.ndarray:
    """Return the number of the group of each of *rows*: 0 unless its removal was pending before."""
    numbers = {group: number for number, group in enumerate(groups)}
    of_extents = [numbers[group] for group in zip(known.since, known.runs, strict=True)]
    ids, group = known.extents.rows(), np.repeat(np.array(of_extents, dtype=np.int64), known.extents.count)
    order = np.argsort(ids, kind="stable")
    ids, group = np.append(ids[order], -1), np.append(group[order], 0)  # -1 is no id
    at = np.searchsorted(ids[:-1], rows)
    return np.where(ids[at] == rows, group[at], 0)


def _table(document: str, extents: Extents, *, since: str, runs: int) -> pa.Table:
    count = len(extents.row)
    columns = [[document] * count, extents.position, extents.row, extents.count, [since] * count, [runs] * count]
    return pa.Table.from_arrays([pa.array(column) for column in columns], schema=PENDING.remove(0))
