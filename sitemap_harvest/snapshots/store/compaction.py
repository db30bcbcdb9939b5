"""Compaction and pruning: merging many small runs into one segment, and dropping unneeded runs.

The new segment is published as a whole and names those that it replaces: from then on
readers ignore the replaced ones, and they are deleted. A process killed in between
loses no data. The rows of a remaining run stay, whichever run read them. The caller
holds the lock of the site.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import secrets
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sitemap_harvest.snapshots.store.history import PACKS, RUNS
from sitemap_harvest.snapshots.store.manifest import RUNS_FILE, Manifest, StoredFile
from sitemap_harvest.snapshots.store.row_ranges import Intervals
from sitemap_harvest.snapshots.store.row_store import GROUP_ROWS, ROW_SCHEMA, PartWriter, places
from sitemap_harvest.snapshots.store.tables import PENDING, ROW_RANGES, SITEMAPS, read_file, upgraded, write_table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sitemap_harvest.snapshots.store.history import History, Segment
    from sitemap_harvest.snapshots.store.manifest import Run
    from sitemap_harvest.snapshots.store.storage import Folder, HashedFile

_FAN = 8
"""Number of segments merged into one: 8 runs, then 64, then 512. Each run is rewritten only a few times."""
_MOST_ROWS = 500_000  # rows of the small tables of a segment: some 500 MB while they are sorted
_MOSTLY = 0.8  # a large file of rows is copied as it is if at least this share of it is needed
_OF_READINGS = frozenset({"row_ranges", "references"})
"""Tables about what a run read, which later runs may need; other tables are needed only for their own run."""
_ORDER = {
    "sitemaps": ("url", "run"),
    "row_ranges": ("document", "row", "count", "position", "run"),
    "pending": ("document", "row", "count", "position", "since", "run"),
    "references": ("document", "run", "position"),
}
"""Sort orders that place equal values of different runs next to each other, which compresses well."""


def compact(history: History) -> bool:
    """Merge the last segments of *history* into one, if there are enough of them; return whether it was done."""
    tidy(history)
    if not (segments := _due(history.segments)):
        return False
    _merge(history, segments, keep=None)
    return True


def compact_all(history: History) -> bool:
    """Merge all segments of *history* into one; return whether there was more than one."""
    tidy(history)
    if len(history.segments) < 2:
        return False
    _merge(history, history.segments, keep=None)
    return True


def prune(history: History, keep: Collection[str]) -> int:
    """Drop the runs whose id is not in *keep*, but never the last; return how many were dropped."""
    tidy(history)
    kept = {*keep, *(run.id for run in history.runs[-1:])}
    dropped = sum(run.id not in kept for run in history.runs)
    needed = set(pc.unique(_needed(history, kept).column("run")).to_pylist())
    if any(segment.holds - kept - needed or _lists_other(segment, kept) for segment in history.segments):
        # Rows stored for runs that were dropped earlier may be unneeded now too.
        segments = [one for one in history.segments if _lists_other(one, kept) or one.holds - kept or not one.holds]
        _merge(history, segments, keep=kept)
    return dropped


def tidy(history: History) -> None:
    """Delete replaced segments, and the remains of an interrupted compaction."""
    there = {f"{kind}/{folder.name}": folder for kind in (RUNS, PACKS) for folder in history.folders(kind)}
    packs = {name: Manifest.read(folder) for name, folder in there.items() if name.startswith(PACKS)}
    replaced = {name for manifest in packs.values() if manifest for name in manifest.replaces}
    for name in sorted(replaced & there.keys()):
        there[name].remove_all()
    for name, manifest in packs.items():
        if name not in replaced and (manifest is None or not manifest.files):
            there[name].remove_all()
    history.forget()


def _due(segments: Sequence[Segment]) -> Sequence[Segment]:
    """Return the last of *segments* that are due to be merged; none if it is too early, or they are too large."""
    found: Sequence[Segment] = ()
    start, level = len(segments), 0
    while True:
        end = start
        while start and _level(segments[start - 1]) <= level:
            start -= 1
        if end - start + bool(found) < _FAN or _rows(segments[start:]) > _MOST_ROWS:
            return found
        found, level = segments[start:], level + 1


def _level(segment: Segment) -> int:
    level, runs = 0, len(segment.manifest.runs)
    while runs >= _FAN:
        level, runs = level + 1, runs // _FAN
    return level


def _rows(segments: Sequence[Segment]) -> int:
    """Return how many rows have to be rewritten to merge *segments*."""
    files = [file for segment in segments for file in segment.manifest.files]
    return sum(file.count for file in files if file.table != "rows" or file.count < GROUP_ROWS)


def _lists_other(segment: Segment, kept: Collection[str]) -> bool:
    return any(run.id not in kept for run in segment.manifest.runs)


def _merge(history: History, segments: Sequence[Segment], *, keep: Collection[str] | None) -> None:
    """Replace *segments* with one segment that has their runs in *keep* (``None``: all)."""
    runs = tuple(run for segment in segments for run in segment.manifest.runs if keep is None or run.id in keep)
    held = sorted({run for segment in segments for run in segment.holds})
    folder = history.folder / PACKS / f"{held[0]}..{held[-1]}-{secrets.token_hex(3)}"
    needed = None if keep is None else _needed(history, keep)
    files = [*_tables(segments, folder, [run.id for run in runs], needed)]
    files += _row_files(
        history, segments, folder, None if needed is None else _needed_rows(history, segments, needed, keep or ())
    )
    if runs:
        files.append(_runs_file(runs, folder))
    for file in files:
        folder.sync(file.name)
    Manifest(
        site=history.site,
        runs=runs,
        files=tuple(files),
        next_row=max(segment.manifest.next_row for segment in segments),
        also=_also(segments, runs={run.id for run in runs}, needed=needed),
        replaces=tuple(segment.name for segment in segments),
    ).put(folder)
    tidy(history)


def _runs_file(runs: Sequence[Run], folder: Folder) -> StoredFile:
    lines = "".join(json.dumps(run.to_json(), ensure_ascii=False, default=str) + "\n" for run in runs)
    data = gzip.compress(lines.encode(), mtime=0)
    folder.put(RUNS_FILE, data)
    digest = hashlib.sha256(data).hexdigest()
    return StoredFile(name=RUNS_FILE, table="runs", bytes=len(data), sha256=digest, count=len(runs))


def _also(segments: Sequence[Segment], *, runs: Collection[str], needed: pa.Table | None) -> tuple[str, ...]:
    """Return the dropped runs of *segments* whose rows a later run still lists."""
    held = {run for segment in segments for run in segment.holds} - set(runs)
    if needed is not None:
        held &= set(pc.unique(needed.column("run")).to_pylist())
    return tuple(sorted(held))


def _needed(history: History, keep: Collection[str]) -> pa.Table:
    """Return which documents, as read by which run, the runs in *keep* need."""
    found = []
    for segment in history.segments:
        runs = [run.id for run in segment.manifest.runs if run.id in keep]
        ledger = segment.read("sitemaps", SITEMAPS, runs)
        ledger = ledger.filter(pc.and_(pc.is_null(ledger["left"]), pc.is_valid(ledger["rows_from"])))
        found.append(pa.table({"run": ledger["rows_from"], "document": ledger["url"]}))
    return pa.concat_tables(found).group_by(["run", "document"]).aggregate([])


def _is_needed(table: pa.Table, needed: pa.Table) -> pa.Array:
    names = [pc.binary_join_element_wise(one["run"], one["document"], "\n") for one in (table, needed)]
    return pc.is_in(names[0], names[1].combine_chunks())


def _needed_rows(history: History, segments: Sequence[Segment], needed: pa.Table, keep: Collection[str]) -> Intervals:
    """Return the ids of the rows that *needed* documents list, or that are pending in a run in *keep*.

    Documents of segments other than *segments* are all included.
    """
    starts, counts = [], []
    for segment in history.segments:
        row_ranges = segment.read("row_ranges", ROW_RANGES, sorted(segment.holds))
        if segment in segments:
            row_ranges = row_ranges.filter(_is_needed(row_ranges, needed))
        pending = segment.read("pending", PENDING, [run for run in segment.holds if run in keep])
        for table in (row_ranges, pending):
            starts.append(table["row"].to_numpy())
            counts.append(table["count"].to_numpy())
    return Intervals.of(np.concatenate(starts), np.concatenate(counts))


def _tables(
    segments: Sequence[Segment], folder: Folder, runs: Sequence[str], needed: pa.Table | None
) -> Iterator[StoredFile]:
    """Write the tables of *segments*, one file each, without the documents that are not *needed* any more."""
    kinds = {file.table for segment in segments for file in segment.manifest.files} - {"rows", "runs"}
    for kind in sorted(kinds):
        files = [
            (segment.folder, file) for segment in segments for file in segment.manifest.files if file.table == kind
        ]
        table = pa.concat_tables([read_file(*file) for file in files], promote_options="permissive")
        if needed is not None:
            is_own = pc.is_in(table["run"], pa.array(runs, pa.string()))
            table = table.filter(_is_needed(table, needed) if kind in _OF_READINGS else is_own)
        if table.num_rows:
            order = [(name, "ascending") for name in _ORDER.get(kind, ())]
            yield write_table(table.sort_by(order) if order else table, folder, f"{kind}.parquet", kind=kind)


def _row_files(
    history: History, segments: Sequence[Segment], folder: Folder, needed: Intervals | None
) -> Iterator[StoredFile]:
    """Write the rows of *segments* that are *needed* (``None``: all): small files are merged, large ones copied."""
    out = _RowWriter(folder)
    pairs = [(segment, file) for segment in history.segments for file in segment.manifest.files if file.table == "rows"]
    for segment, file in sorted(pairs, key=lambda pair: pair[1].first):
        if segment not in segments:
            yield from out.end()  # row ranges of files must not overlap
            continue
        end = file.first + file.count if file.end is None else file.end
        wanted = None if needed is None else needed.within(file.first, end - file.first)
        count = file.count if wanted is None else len(wanted)
        if file.count >= GROUP_ROWS and count >= _MOSTLY * file.count:
            yield from out.end()
            yield out.take(segment.folder, file)
        elif count:
            out.add(segment.folder, file, wanted)
    yield from out.end()


class _RowWriter:
    """Writes the files of rows of a new segment."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._number = 0
        self._open: tuple[str, HashedFile, PartWriter] | None = None
        self._first = self._last = self._count = 0

    def take(self, folder: Folder, file: StoredFile) -> StoredFile:
        """Copy a file unchanged."""
        name = self._name()
        self._folder.take(name, folder, file.name)
        return StoredFile(
            name=name,
            table="rows",
            bytes=file.bytes,
            sha256=file.sha256,
            first=file.first,
            count=file.count,
            end=file.end,
        )

    def add(self, folder: Folder, file: StoredFile, wanted: Intervals | None) -> None:
        """Add the *wanted* rows of a file."""
        for batch in _stored(folder, file):
            rows = batch if wanted is None else batch.filter(pa.array(places(batch, wanted)))
            if not rows.num_rows:
                continue
            ids = rows.column("row")
            if self._open is None:
                name = self._name()
                opened = self._folder.writing(name)
                self._open = name, opened, PartWriter(opened)
                self._first, self._count = ids[0].as_py(), 0
            self._open[2].add_stored(rows)
            self._last = ids[-1].as_py()
            self._count += rows.num_rows

    def end(self) -> Iterator[StoredFile]:
        """Close the open file, if there is one."""
        if self._open is not None:
            (name, file, writer), self._open = self._open, None
            writer.close()
            end = self._last + 1
            yield StoredFile.written(name, "rows", file, first=self._first, count=self._count, end=end)

    def _name(self) -> str:
        self._number += 1
        return f"rows-{self._number:04}.parquet"


def _stored(folder: Folder, file: StoredFile) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file in stored form."""
    with folder.open(file.name) as opened:
        parquet = pq.ParquetFile(opened)
        for group in range(parquet.metadata.num_row_groups):
            yield from upgraded(parquet.read_row_group(group), ROW_SCHEMA).combine_chunks().to_batches()
