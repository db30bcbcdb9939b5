"""All that is kept of one site: its runs, and the files that hold them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from sitemap_harvest.dates import read_date
from sitemap_harvest.errors import StoreError
from sitemap_harvest.model.run_ids import is_run_id
from sitemap_harvest.store.manifest import MANIFEST, Manifest, Run
from sitemap_harvest.store.pool import Part
from sitemap_harvest.store.snapshot import Snapshot
from sitemap_harvest.store.tables import read_table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import pyarrow as pa

    from sitemap_harvest.store.folder import Folder

RUNS = "runs"
PACKS = "packs"


class Volume:
    """A folder that holds one run, or several that were packed into one."""

    def __init__(self, folder: Folder, manifest: Manifest) -> None:
        """Take what *manifest* says of *folder*."""
        self.folder = folder
        self.manifest = manifest

    @property
    def name(self) -> str:
        """Where it lies in the folder of the site, such as ``runs/20261122T014512Z-4f2a1c``."""
        return "/".join(self.folder.path.split("/")[-2:])

    @cached_property
    def holds(self) -> frozenset[str]:
        """Ids of the runs of which it holds something."""
        return frozenset({*(run.id for run in self.manifest.runs), *self.manifest.also})

    @property
    def first_run(self) -> str:
        """The id of the first of them; nothing if there is none."""
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
    """The runs over one site that have ended, oldest first."""

    def __init__(self, site: str, folder: Folder) -> None:
        """Take the history of *site* that *folder* holds. Nothing is read before it is asked for."""
        self.site = site
        self.folder = folder

    @cached_property
    def volumes(self) -> list[Volume]:
        """The folders that hold the runs, oldest first."""
        packs = [Volume(folder, manifest) for folder in self.folders(PACKS) if (manifest := Manifest.read(folder))]
        replaced = {name for pack in packs for name in pack.manifest.replaces}
        found = [pack for pack in packs if pack.name not in replaced]
        for folder in self.folders(RUNS, without=replaced):
            if (manifest := Manifest.read(folder)) is not None:
                found.append(Volume(folder, manifest))  # noqa: PERF401 - a loop says it better
        return sorted(found, key=lambda volume: volume.first_run)

    def folders(self, kind: str, *, without: Collection[str] = ()) -> list[Folder]:
        """Return the folders of *kind*: ``runs`` or ``packs``."""
        return [self.folder / kind / name for name in (self.folder / kind).names() if f"{kind}/{name}" not in without]

    @cached_property
    def runs(self) -> list[Run]:
        """The runs, oldest first."""
        return [run for volume in self.volumes for run in volume.manifest.runs]

    @property
    def next_row(self) -> int:
        """The first id that no row has had so far."""
        return max((volume.manifest.next_row for volume in self.volumes), default=0)

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
        """Return the run that *when* names: the same."""
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
        from sitemap_harvest.plan.span import Span

        if (date := read_date(when)) is None:
            known = "latest, previous, first, the id of a run, a date or an instant"
            raise StoreError(f"{when!r} names no run; it must be {known}")
        end = Span.of(date).last
        if not (before := [run for run in self.runs if run.started_at <= end]):
            first = self.runs[0]
            raise StoreError(f"{self.site}: there is no snapshot of {when} or before; the first is {first.id}")
        return before[-1]

    def snapshot(self, run: Run) -> Snapshot:
        """Return what was known at the end of *run*."""
        return Snapshot(self.site, run, self)

    def volume_of(self, run: str) -> Volume:
        """Return the folder that holds the run with that id. Raises :exc:`StoreError` if there is none."""
        for volume in self.volumes:
            if run in volume.holds:
                return volume
        raise StoreError(f"{self.site}: the run {run} is not in the store, and its rows are needed")

    def volumes_of(self, runs: Iterable[str]) -> dict[Volume, list[str]]:
        """Return the folders that hold *runs*, each with those of them that it holds."""
        found: dict[Volume, list[str]] = {}
        for run in runs:
            found.setdefault(self.volume_of(run), []).append(run)
        return found

    def with_volume(self, volume: Volume) -> History:
        """Return the history with *volume* as its last."""
        history = History(self.site, self.folder)
        history.__dict__["volumes"] = [*self.volumes, volume]
        return history

    def parts(self) -> list[Part]:
        """Return the files of rows."""
        return [part for volume in self.volumes for part in volume.parts()]

    def unfinished(self) -> list[str]:
        """Return the ids of runs that were begun and have not ended: they go on, or were interrupted."""
        replaced = {name for volume in self.volumes for name in volume.manifest.replaces}
        folders = self.folders(RUNS, without=replaced)
        return [folder.name for folder in folders if is_run_id(folder.name) and folder.size(MANIFEST) is None]

    def forget(self) -> None:
        """Look anew at what there is when it is asked for next."""
        for name in ("volumes", "runs"):
            self.__dict__.pop(name, None)
