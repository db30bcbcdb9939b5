"""Pending removals: rows that a snapshot stores although no document lists them, until their removal is certain."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sitemap_harvest.diff.touched_rows import Work, touched_rows
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
    if not waiting:
        return None
    rows, documents, positions = _missing(before, after)
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


def _missing(before: Snapshot, after: Snapshot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows of *before* whose URL *after* does not list: their ids, documents and positions.

    A document is an index into ``before.sitemaps()``.
    """
    numbers = np.arange(len(before.sitemaps())), np.arange(len(after.sitemaps()))
    found = [(np.array([], dtype=np.int64),) * 3]
    with (
        tempfile.TemporaryDirectory(prefix="sitemap-harvest-", ignore_cleanup_errors=True) as folder,
        closing(Work(Path(folder))) as work,
    ):
        for block in touched_rows(before, after, numbers, work):
            is_listed = np.zeros(int(block.url[-1]) + 1, dtype=bool)
            is_listed[block.url[block.is_after]] = True
            missing = ~is_listed[block.url]
            found.append((block.row[missing], block.document[missing], block.position[missing]))
    rows, documents, positions = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return rows, documents, positions


def _groups(rows: np.ndarray, known: Pending, groups: Sequence[tuple[str, int]]) -> np.ndarray:
    """Return the group number of each of *rows*: 0 unless its removal was pending before."""
    numbers = {group: number for number, group in enumerate(groups)}
    of_ranges = [numbers[group] for group in zip(known.since, known.runs, strict=True)]
    ids, group = known.row_ranges.rows(), np.repeat(np.array(of_ranges, dtype=np.int64), known.row_ranges.count)
    order = np.argsort(ids, kind="stable")
    ids, group = np.append(ids[order], -1), np.append(group[order], 0)  # -1 is not an id
    at = np.searchsorted(ids[:-1], rows)
    return np.where(ids[at] == rows, group[at], 0)
