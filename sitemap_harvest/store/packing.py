"""Many small runs become one folder, and runs that are not wanted any more are dropped.

The new folder is put in place whole, and names those that it replaces: from then
on readers pass these over, and they are removed. So whoever is killed in between
has lost nothing. What a run that is kept lists stays, whichever run has read it.
The caller has claimed the site.
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

from sitemap_harvest.store.extents import Intervals
from sitemap_harvest.store.history import PACKS, RUNS
from sitemap_harvest.store.manifest import RUNS_FILE, Manifest, StoredFile
from sitemap_harvest.store.pool import GROUP_ROWS, POOL_SCHEMA, PartWriter, places
from sitemap_harvest.store.tables import EXTENTS, PENDING, SITEMAPS, read_file, upgraded, write_table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sitemap_harvest.store.folder import Folder, HashedFile
    from sitemap_harvest.store.history import History, Volume
    from sitemap_harvest.store.manifest import Run

_FAN = 8
"""So many folders become one: 8 runs, then 64, then 512. Each run is rewritten a few times in all its life."""
_MOST_ROWS = 500_000  # of the ledgers and the other tables of a pack: some 500 MB while they are sorted
_MOSTLY = 0.8  # a large file of rows is kept as it is while such a share of it is needed
_OF_READINGS = frozenset({"extents", "references"})
"""Tables of what a run read, which later runs may need too; the others are needed for their own run alone."""
_ORDER = {
    "sitemaps": ("url", "run"),
    "extents": ("document", "row", "count", "position", "run"),
    "pending": ("document", "row", "count", "position", "since", "run"),
    "references": ("document", "run", "position"),
}
"""What is the same from run to run stands side by side, and takes next to no room."""


def pack(history: History) -> bool:
    """Pack the last runs of *history* into one folder, if there are enough of them; return whether there were."""
    tidy(history)
    if not (volumes := _due(history.volumes)):
        return False
    _merge(history, volumes, keep=None)
    return True


def pack_all(history: History) -> bool:
    """Pack all runs of *history* into one folder; return whether there was something to pack."""
    tidy(history)
    if len(history.volumes) < 2:
        return False
    _merge(history, history.volumes, keep=None)
    return True


def prune(history: History, keep: Collection[str]) -> int:
    """Drop the runs whose id is not in *keep*, but never the last; return how many were dropped."""
    tidy(history)
    kept = {*keep, *(run.id for run in history.runs[-1:])}
    dropped = sum(run.id not in kept for run in history.runs)
    needed = set(pc.unique(_needed(history, kept).column("run")).to_pylist())
    if any(volume.holds - kept - needed or _lists_other(volume, kept) for volume in history.volumes):
        # What was kept of runs that were dropped before may not be needed any more either.
        volumes = [one for one in history.volumes if _lists_other(one, kept) or one.holds - kept or not one.holds]
        _merge(history, volumes, keep=kept)
    return dropped


def tidy(history: History) -> None:
    """Remove what is left of folders that were replaced, and of a packing that was broken off."""
    there = {f"{kind}/{folder.name}": folder for kind in (RUNS, PACKS) for folder in history.folders(kind)}
    packs = {name: Manifest.read(folder) for name, folder in there.items() if name.startswith(PACKS)}
    replaced = {name for manifest in packs.values() if manifest for name in manifest.replaces}
    for name in sorted(replaced & there.keys()):
        there[name].remove_all()
    for name, manifest in packs.items():
        if name not in replaced and (manifest is None or not manifest.files):
            there[name].remove_all()
    history.forget()


def _due(volumes: Sequence[Volume]) -> Sequence[Volume]:
    """Return the last of *volumes* which are to become one: none if it is too early, or they are too large."""
    found: Sequence[Volume] = ()
    start, level = len(volumes), 0
    while True:
        end = start
        while start and _level(volumes[start - 1]) <= level:
            start -= 1
        if end - start + bool(found) < _FAN or _rows(volumes[start:]) > _MOST_ROWS:
            return found
        found, level = volumes[start:], level + 1


def _level(volume: Volume) -> int:
    level, runs = 0, len(volume.manifest.runs)
    while runs >= _FAN:
        level, runs = level + 1, runs // _FAN
    return level


def _rows(volumes: Sequence[Volume]) -> int:
    """Return how many rows have to be written anew to make one of *volumes*."""
    files = [file for volume in volumes for file in volume.manifest.files]
    return sum(file.count for file in files if file.table != "rows" or file.count < GROUP_ROWS)


def _lists_other(volume: Volume, kept: Collection[str]) -> bool:
    return any(run.id not in kept for run in volume.manifest.runs)


def _merge(history: History, volumes: Sequence[Volume], *, keep: Collection[str] | None) -> None:
    """Put a folder in the place of *volumes*, with those of their runs that are in *keep* (``None``: all)."""
    runs = tuple(run for volume in volumes for run in volume.manifest.runs if keep is None or run.id in keep)
    held = sorted({run for volume in volumes for run in volume.holds})
    folder = history.folder / PACKS / f"{held[0]}..{held[-1]}-{secrets.token_hex(3)}"
    needed = None if keep is None else _needed(history, keep)
    files = [*_tables(volumes, folder, [run.id for run in runs], needed)]
    files += _row_files(
        history, volumes, folder, None if needed is None else _needed_rows(history, volumes, needed, keep or ())
    )
    if runs:
        files.append(_runs_file(runs, folder))
    for file in files:
        folder.sync(file.name)
    Manifest(
        site=history.site,
        runs=runs,
        files=tuple(files),
        next_row=max(volume.manifest.next_row for volume in volumes),
        also=_also(volumes, runs={run.id for run in runs}, needed=needed),
        replaces=tuple(volume.name for volume in volumes),
    ).put(folder)
    tidy(history)


def _runs_file(runs: Sequence[Run], folder: Folder) -> StoredFile:
    lines = "".join(json.dumps(run.to_json(), ensure_ascii=False, default=str) + "\n" for run in runs)
    data = gzip.compress(lines.encode(), mtime=0)
    folder.put(RUNS_FILE, data)
    digest = hashlib.sha256(data).hexdigest()
    return StoredFile(name=RUNS_FILE, table="runs", bytes=len(data), sha256=digest, count=len(runs))


def _also(volumes: Sequence[Volume], *, runs: Collection[str], needed: pa.Table | None) -> tuple[str, ...]:
    """Return the runs of *volumes* that are no runs any more, and of which a later one lists something."""
    held = {run for volume in volumes for run in volume.holds} - set(runs)
    if needed is not None:
        held &= set(pc.unique(needed.column("run")).to_pylist())
    return tuple(sorted(held))


def _needed(history: History, keep: Collection[str]) -> pa.Table:
    """Return which documents are needed as which run has read them, that the runs in *keep* may be read."""
    found = []
    for volume in history.volumes:
        runs = [run.id for run in volume.manifest.runs if run.id in keep]
        ledger = volume.read("sitemaps", SITEMAPS, runs)
        ledger = ledger.filter(pc.and_(pc.is_null(ledger["left"]), pc.is_valid(ledger["rows_from"])))
        found.append(pa.table({"run": ledger["rows_from"], "document": ledger["url"]}))
    return pa.concat_tables(found).group_by(["run", "document"]).aggregate([])


def _is_needed(table: pa.Table, needed: pa.Table) -> pa.Array:
    names = [pc.binary_join_element_wise(one["run"], one["document"], "\n") for one in (table, needed)]
    return pc.is_in(names[0], names[1].combine_chunks())


def _needed_rows(history: History, volumes: Sequence[Volume], needed: pa.Table, keep: Collection[str]) -> Intervals:
    """Return the ids of the rows that the documents *needed* list, or that are pending in a run in *keep*.

    Documents of other folders than *volumes* list what they always did.
    """
    starts, counts = [], []
    for volume in history.volumes:
        extents = volume.read("extents", EXTENTS, sorted(volume.holds))
        if volume in volumes:
            extents = extents.filter(_is_needed(extents, needed))
        pending = volume.read("pending", PENDING, [run for run in volume.holds if run in keep])
        for table in (extents, pending):
            starts.append(table["row"].to_numpy())
            counts.append(table["count"].to_numpy())
    return Intervals.of(np.concatenate(starts), np.concatenate(counts))


def _tables(
    volumes: Sequence[Volume], folder: Folder, runs: Sequence[str], needed: pa.Table | None
) -> Iterator[StoredFile]:
    """Write the tables of *volumes*, each as one file, without what is not *needed* any more."""
    kinds = {file.table for volume in volumes for file in volume.manifest.files} - {"rows", "runs"}
    for kind in sorted(kinds):
        files = [(volume.folder, file) for volume in volumes for file in volume.manifest.files if file.table == kind]
        table = pa.concat_tables([read_file(*file) for file in files], promote_options="permissive")
        if needed is not None:
            is_own = pc.is_in(table["run"], pa.array(runs, pa.string()))
            table = table.filter(_is_needed(table, needed) if kind in _OF_READINGS else is_own)
        if table.num_rows:
            order = [(name, "ascending") for name in _ORDER.get(kind, ())]
            yield write_table(table.sort_by(order) if order else table, folder, f"{kind}.parquet", kind=kind)


def _row_files(
    history: History, volumes: Sequence[Volume], folder: Folder, needed: Intervals | None
) -> Iterator[StoredFile]:
    """Write the rows of *volumes* that are *needed* (``None``: all): small files become one, large ones stay."""
    out = _Rows(folder)
    pairs = [(volume, file) for volume in history.volumes for file in volume.manifest.files if file.table == "rows"]
    for volume, file in sorted(pairs, key=lambda pair: pair[1].first):
        if volume not in volumes:
            yield from out.end()  # no file may stand across another
            continue
        end = file.first + file.count if file.end is None else file.end
        wanted = None if needed is None else needed.within(file.first, end - file.first)
        count = file.count if wanted is None else len(wanted)
        if file.count >= GROUP_ROWS and count >= _MOSTLY * file.count:
            yield from out.end()
            yield out.take(volume.folder, file)
        elif count:
            out.add(volume.folder, file, wanted)
    yield from out.end()


class _Rows:
    """The files of rows of a new folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._number = 0
        self._open: tuple[str, HashedFile, PartWriter] | None = None
        self._first = self._last = self._count = 0

    def take(self, folder: Folder, file: StoredFile) -> StoredFile:
        """Take a file as it is."""
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
        """Add the rows of a file that are *wanted*."""
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
        """End the file that is open, if one is."""
        if self._open is not None:
            (name, file, writer), self._open = self._open, None
            writer.close()
            end = self._last + 1
            yield StoredFile.written(name, "rows", file, first=self._first, count=self._count, end=end)

    def _name(self) -> str:
        self._number += 1
        return f"rows-{self._number:04}.parquet"


def _stored(folder: Folder, file: StoredFile) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file as they are stored."""
    with folder.open(file.name) as opened:
        parquet = pq.ParquetFile(opened)
        for group in range(parquet.metadata.num_row_groups):
            yield from upgraded(parquet.read_row_group(group), POOL_SCHEMA).combine_chunks().to_batches()
