"""``History``: the runs of one site."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.dates import read_date
from sitemap_harvest.errors import StoreError
from sitemap_harvest.model.run import is_run_id
from sitemap_harvest.snapshots.store.manifest import Manifest
from sitemap_harvest.snapshots.store.row_store import Part
from sitemap_harvest.snapshots.store.snapshot import Snapshot
from sitemap_harvest.snapshots.store.tables import read_file, upgraded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sitemap_harvest.snapshots.store.manifest import Run
    from sitemap_harvest.snapshots.store.storage import Folder

RUNS = "runs"


class History:
    """The finished runs of one site, oldest first."""

    def __init__(self, site: str, folder: Folder, manifest: Manifest | None = None) -> None:
        """Open the history of *site* in *folder*. Files are read on first use.

        *manifest*: a manifest that is not in the folder yet; ``None``: the one that is.
        """
        self.site = site
        self.folder = folder
        if manifest is not None:
            self.__dict__["manifest"] = manifest

    @cached_property
    def manifest(self) -> Manifest:
        """The runs and files of the site."""
        return Manifest.read(self.folder)

    def forget(self) -> None:
        """Discard the manifest, so that it is read again on next use."""
        self.__dict__.pop("manifest", None)

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs, oldest first."""
        return self.manifest.runs

    @property
    def next_row(self) -> int:
        """The first unused row id."""
        return self.manifest.next_row

    def latest(self) -> Snapshot | None:
        """Return the last snapshot; ``None`` if there is none."""
        return self.snapshot(self.runs[-1]) if self.runs else None

    def at(self, when: str) -> Snapshot:
        """Return the snapshot that *when* names: ``latest``, ``first``, ``previous``, a run id, a date or a timestamp.

        A date or a timestamp names the last run that began before its end. Raises
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
            known = "latest, previous, first, the id of a run, a date or a timestamp"
            raise StoreError(f"{when!r} names no run; it must be {known}")
        end = DateRange.of(date).last
        if not (before := [run for run in self.runs if run.started_at <= end]):
            first = self.runs[0]
            raise StoreError(f"{self.site}: there is no snapshot from {when} or earlier; the first is {first.id}")
        return before[-1]

    def snapshot(self, run: Run, *, ledger: pa.Table | None = None) -> Snapshot:
        """Return the snapshot of *run*; *ledger* as for :class:`Snapshot`."""
        return Snapshot(self.site, run, self, ledger=ledger)

    def tables(self, kind: str, schema: pa.Schema, runs: Collection[str]) -> Iterator[pa.Table]:
        """Yield the data of *runs* in each file of that *kind*, with the columns of *schema*.

        Columns that an older version lacks are null. Raises :exc:`StoreError` if a file
        is missing or damaged.
        """
        wanted = pa.array(sorted(runs), pa.string())
        for file in self.manifest.files:
            if file.table == kind and any(file.runs[0] <= run <= file.runs[1] for run in runs):
                table = read_file(self.folder, file)
                is_wanted = pc.is_in(table.column("run"), wanted)
                if not pc.all(is_wanted).as_py():  # otherwise the filter would only copy
                    table = table.filter(is_wanted)
                yield upgraded(table, schema)

    def table(self, kind: str, schema: pa.Schema, runs: Collection[str]) -> pa.Table:
        """Return the data of *runs* in the files of that *kind*, as for :meth:`tables`."""
        return pa.concat_tables([schema.empty_table(), *self.tables(kind, schema, runs)])

    def parts(self) -> list[Part]:
        """Return the files of rows."""
        return [Part(self.folder, file.name, *file.ids) for file in self.manifest.files if file.table == "rows"]

    def unfinished(self) -> list[str]:
        """Return the ids of runs that have not ended: they are still running, or were interrupted."""
        known = {run.id for run in self.runs} | {file.name.split("/")[1] for file in self.manifest.files}
        return [name for name in (self.folder / RUNS).names() if is_run_id(name) and name not in known]
