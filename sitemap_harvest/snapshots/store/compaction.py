"""Compaction and pruning: merging small files, and dropping unneeded runs.

New files are written first. Then a new manifest replaces the old one, and the files that
it does not name any more are deleted. A process killed in between loses no data. The
rows of a remaining run stay, whichever run read them. The caller holds the lock of the
site.
"""

from __future__ import annotations

import secrets
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.snapshots.store.row_ranges import Intervals
from sitemap_harvest.snapshots.store.row_store import chosen
from sitemap_harvest.snapshots.store.snapshot import readings
from sitemap_harvest.snapshots.store.store import RUNS, Manifest
from sitemap_harvest.snapshots.store.tables import FILE_ROWS, StoredFile, TableWriter, read_table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sitemap_harvest.snapshots.store.store import History, Run

MERGED = "merged"
_FEWEST = 8
"""Number of small files that are merged into one."""
_SMALL_ROWS = FILE_ROWS
"""A file with fewer rows is small. A file that is not is never rewritten, so that each row is rewritten a few times."""
_OF_READINGS = frozenset({"row_ranges", "references"})
"""Tables about what a run read, which later runs may need; other tables are needed only for their own run."""


def is_due(files: Iterable[StoredFile], *, fewest: int = _FEWEST) -> bool:
    """Whether *files* of one site, those of a manifest, have *fewest* small ones or more of one table."""
    small = Counter(file.table for file in files if file.count < _SMALL_ROWS)
    return max(small.values(), default=0) >= fewest


def compact(history: History, *, fewest: int = _FEWEST, only: str | None = None) -> bool:
    """Merge the small files of *history* where there are *fewest* or more; return whether there were.

    *only*: those of this table.
    """
    history.forget()
    tidy(history)
    files = sorted(history.manifest.files, key=lambda file: file.table)  # stable: of one table in the order of runs
    found: list[StoredFile] = []
    for (_, is_small), group in groupby(files, key=lambda file: (file.table, file.count < _SMALL_ROWS)):
        series = list(group)
        if is_small and len(series) >= fewest and only in {None, series[0].table}:
            parts = (read_table(history.folder, file) for file in series)
            runs = min(file.runs[0] for file in series), max(file.runs[1] for file in series)
            series = written(history, series[0].table, runs, parts)
        found += series
    if found == files:
        return False
    _replace(history, history.runs, found)
    return True


def prune(history: History, keep: Collection[str]) -> int:
    """Drop the runs whose id is not in *keep*, but never the last; return how many were dropped."""
    history.forget()
    tidy(history)
    kept = [run for number, run in enumerate(history.runs, start=1) if run.id in keep or number == len(history.runs)]
    ids = {run.id for run in kept}
    needed = _needed(history, ids)
    rows = _needed_rows(history, needed, ids)
    files = [part for file in history.manifest.files for part in _pruned(history, file, needed, rows, ids)]
    dropped = len(history.runs) - len(kept)
    if dropped or tuple(files) != history.manifest.files:  # rows that only pending removals needed may go later
        _replace(history, kept, files)
    return dropped


def tidy(history: History) -> None:
    """Delete what the manifest does not name: replaced files, and the remains of an interrupted compaction."""
    named = {file.name for file in history.manifest.files}
    runs = (history.folder / RUNS).tree()
    unfinished = history.unfinished(runs)
    folders = {f"{RUNS}/{run}": names for run, names in runs.items() if run not in unfinished}
    for folder, found in {MERGED: (history.folder / MERGED).names(), **folders}.items():
        names = [f"{folder}/{name}" for name in found]
        for name in names:
            if name not in named:
                history.folder.remove(name)
        if history.folder.is_local and not named.intersection(names):
            (history.folder / folder).remove_all()


def _replace(history: History, runs: Sequence[Run], files: Sequence[StoredFile]) -> None:
    """Replace the manifest of *history*, and delete the files that the new one does not name."""
    before = history.manifest
    history.replace(Manifest(runs=tuple(runs), files=tuple(files), next_row=before.next_row))
    for run in {run.id for run in before.runs} - {run.id for run in runs}:  # otherwise it would look unfinished
        if not any(file.name.startswith(f"{RUNS}/{run}/") for file in files):
            (history.folder / RUNS / run).remove_all()
    history.forget()
    tidy(history)


def written(
    history: History, table: str, runs: tuple[str, str], parts: Iterable[pa.Table | pa.RecordBatch]
) -> list[StoredFile]:
    """Write *parts*, data of *runs* in *table* in their order, to as few files as possible."""
    writer = TableWriter(history.folder, f"{MERGED}/{table}-{secrets.token_hex(6)}", table, runs)
    for part in parts:
        writer.add(part)
    writer.flush()
    return writer.files


def _pruned(
    history: History, file: StoredFile, needed: pa.Table, rows: Intervals, kept: Collection[str]
) -> list[StoredFile]:
    """Return *file*, or a file with that part of it which the runs *kept* need; none if they need nothing."""
    if file.table == "rows":
        if len(rows.within(*file.ids)) == file.count:
            return [file]
        part = chosen(read_table(history.folder, file), rows)
    else:
        data = read_table(history.folder, file)
        is_reading = file.table in _OF_READINGS
        part = data.filter(_is_needed(data, needed) if is_reading else pc.is_in(data["run"], pa.array(sorted(kept))))
        if part.num_rows == file.count:
            return [file]
    return written(history, file.table, file.runs, [part])


def _needed(history: History, keep: Collection[str]) -> pa.Table:
    """Return which readings of documents the runs in *keep* need: the ``run`` and the ``name`` of each."""
    found = []
    for ledger in history.tables("sitemaps", keep):
        has_rows = pc.and_(pc.is_null(ledger["left"]), pc.is_valid(ledger["rows_from"]))
        runs = ledger["rows_from"]
        found.append(pa.table({"run": runs, "name": readings(runs, ledger["url"])}).filter(has_rows))
    return pa.concat_tables(found)


def _is_needed(table: pa.Table, needed: pa.Table) -> pa.ChunkedArray:
    return pc.is_in(readings(table["run"], table["document"]), needed["name"].combine_chunks())


def _needed_rows(history: History, needed: pa.Table, keep: Collection[str]) -> Intervals:
    """Return the ids of the rows that *needed* readings list, or that are pending in a run in *keep*."""
    listed = history.table("row_ranges", pc.unique(needed["run"]).to_pylist())
    tables = [listed.filter(_is_needed(listed, needed)), history.table("pending", keep)]
    return Intervals.of(*(np.concatenate([table[name].to_numpy() for table in tables]) for name in ("row", "count")))
