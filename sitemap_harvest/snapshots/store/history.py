"""``History``: the runs of one site, and the segments that hold them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from sitemap_harvest.dates import read_date
from sitemap_harvest.errors import StoreError
from sitemap_harvest.model.run_ids import is_run_id
from sitemap_harvest.snapshots.store.manifest import MANIFEST, Manifest, Run
from sitemap_harvest.snapshots.store.row_store import Part
from sitemap_harvest.snapshots.store.snapshot import Snapshot
from sitemap_harvest.snapshots.store.tables import read_table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import pyarrow as pa

    from sitemap_harvest.snapshots.store.storage import Folder

RUNS = "runs"
PACKS = "packs"


class Segment:
    """A folder that holds one run, or several that were compacted into one."""

    def __init__(self, folder: Folder, manifest: Manifest) -> None:
        """Take the contents of *folder* from *manifest*."""
        self.folder = folder
        self.manifest = manifest

    @property
    def name(self) -> str:
        """Its path in the folder of the site, such as ``runs/20261122T014512Z-4f2a1c``."""
        return "/".join(self.folder.path.split("/")[-2:])

    @cached_property
    def holds(self) -> frozenset[str]:
        """Ids of the runs that it has data of."""
        return frozenset({*(run.id for run in self.manifest.runs), *self.manifest.also})

    @property
    def first_run(self) -> str:
        """The id of its first run; empty if it has none."""
        return min(self.holds, default="")

    def read(self, kind: str, schema: pa.Schema, runs: Sequence[str]) -> pa.Table:
        """Return the table *kind* of *runs*."""
        files = [file for file in self.manifest.files if file.table == kind]
        return read_table(self.folder, files, schema, runs)

    def parts(self) -> Iterator[Part]:
        """Yield the files of rows."""
        for file in self.manifest.files:
            if file.table == "rows":
                yield Part(
                    self.folder, file.name, file.first, file.first + file.count if file.end is None else file.end
                )


class History:
    """The finished runs of one site, oldest first."""

    def __init__(self, site: str, folder: Folder) -> None:
        """Open the history of *site* in *folder*. Files are read on first use."""
        self.site = site
        self.folder = folder

    @cached_property
    def segments(self) -> list[Segment]:
        """The folders that hold the runs, oldest first."""
        packs = [Segment(folder, manifest) for folder in self.folders(PACKS) if (manifest := Manifest.read(folder))]
        replaced = {name for pack in packs for name in pack.manifest.replaces}
        found = [pack for pack in packs if pack.name not in replaced]
        for folder in self.folders(RUNS, without=replaced):
            if (manifest := Manifest.read(folder)) is not None:
                found.append(Segment(folder, manifest))  # noqa: PERF401 - a loop says it better
        return sorted(found, key=lambda segment: segment.first_run)

    def folders(self, kind: str, *, without: Collection[str] = ()) -> list[Folder]:
        """Return the folders of *kind*: ``runs`` or ``packs``."""
        return [self.folder / kind / name for name in (self.folder / kind).names() if f"{kind}/{name}" not in without]

    @cached_property
    def runs(self) -> list[Run]:
        """The runs, oldest first."""
        return [run for segment in self.segments for run in segment.manifest.runs]

    @property
    def next_row(self) -> int:
        """The first unused row id."""
        return max((segment.manifest.next_row for segment in self.segments), default=0)

    def latest(self) -> Snapshot | None:
        """Return the last snapshot; ``None`` if there is none."""
        return self.snapshot(self.runs[-1]) if self.runs else None

    def at(self, when: str) -> Snapshot:
        """Return the snapshot that *when* names: ``latest``, ``first``, ``previous``, a run's id, a date or an instant.

        A date or an instant names the last run that began before its end. Raises
        :exc:`StoreError` if there is none.
        """
        return self.snapshot(self.run(when))

    def run(self, when: str) -> Run:
        """Return the run that *when* names, as for :meth:`at`."""
        if not self.runs:
            raise StoreError(f"{self.site}: there is no snapshot")
        places = {"latest": -1, "first": 0, "previous": -2}
        if when in places:
            if when == "previous" and len(self.runs) < 2:
                raise StoreError(f"{self.site}: there is only one snapshot, {self.runs[0].id}")
            return self.runs[places[when]]
        if named := [run for run in self.runs if run.id == when or (len(when) >= 8 and run.id.startswith(when))]:
            return named[-1]
        return self._run_before(when)

    def _run_before(self, when: str) -> Run:
        from sitemap_harvest.filters.date_range import DateRange

        if (date := read_date(when)) is None:
            known = "latest, previous, first, the id of a run, a date or an instant"
            raise StoreError(f"{when!r} names no run; it must be {known}")
        end = DateRange.of(date).last
        if not (before := [run for run in self.runs if run.started_at <= end]):
            first = self.runs[0]
            raise StoreError(f"{self.site}: there is no snapshot of {when} or before; the first is {first.id}")
        return before[-1]

    def snapshot(self, run: Run, *, ledger: pa.Table | None = None) -> Snapshot:
        """Return the snapshot of *run*; *ledger* as for :class:`Snapshot`."""
        return Snapshot(self.site, run, self, ledger=ledger)

    def segment_of(self, run: str) -> Segment:
        """Return the folder that holds the run with that id. Raises :exc:`StoreError` if there is none."""
        for segment in self.segments:
            if run in segment.holds:
                return segment
        raise StoreError(f"{self.site}: the run {run} is missing from the store, and its rows are needed")

    def segments_of(self, runs: Iterable[str]) -> dict[Segment, list[str]]:
        """Return the folders that hold *runs*, each with its runs."""
        found: dict[Segment, list[str]] = {}
        for run in runs:
            found.setdefault(self.segment_of(run), []).append(run)
        return found

    def with_segment(self, segment: Segment) -> History:
        """Return a copy of the history with *segment* as its last."""
        history = History(self.site, self.folder)
        history.__dict__["segments"] = [*self.segments, segment]
        return history

    def parts(self) -> list[Part]:
        """Return the files of rows."""
        return [part for segment in self.segments for part in segment.parts()]

    def unfinished(self) -> list[str]:
        """Return the ids of runs that have not ended: they are still running, or were interrupted."""
        replaced = {name for segment in self.segments for name in segment.manifest.replaces}
        folders = self.folders(RUNS, without=replaced)
        return [folder.name for folder in folders if is_run_id(folder.name) and folder.size(MANIFEST) is None]

    def forget(self) -> None:
        """Discard cached data, so that it is read again on next use."""
        for name in ("segments", "runs"):
            self.__dict__.pop(name, None)
