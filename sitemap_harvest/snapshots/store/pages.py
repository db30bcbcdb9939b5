"""``PageWriter``: stores the pages of a run, some at a time, after the snapshot of the run was published."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.errors import StoreError
from sitemap_harvest.snapshots.store.compaction import compact, written
from sitemap_harvest.snapshots.store.store import RUNS, Manifest
from sitemap_harvest.snapshots.store.tables import TableWriter, read_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemap_harvest.model import PageBatch
    from sitemap_harvest.snapshots.store.store import History
    from sitemap_harvest.snapshots.store.tables import StoredFile


class PageWriter:
    """Writes the pages of one run, which replace those that the run had. The caller holds the lock of the site.

    Readers see the pages of each :meth:`flush`, so a process killed in between loses
    only those since then.
    """

    def __init__(self, history: History, run_id: str, probe: Mapping[str, int]) -> None:
        """Write for the run *run_id* of *history*. *probe*: see :class:`Run`."""
        self._history = history
        self._run_id = run_id
        self._probe = probe
        # A name of its own: the pages that the run has are readable until the first flush.
        path = f"{RUNS}/{run_id}/pages-{secrets.token_hex(4)}"
        self._table = TableWriter(history.folder, path, "pages", (run_id, run_id))
        self._published = 0

    def add(self, pages: PageBatch) -> None:
        """Add *pages*."""
        self._table.add(pa.Table.from_batches([pages.arrow]))

    def flush(self) -> None:
        """Publish the pages added so far. Raises :exc:`StoreError` if the run is not in the store any more."""
        history, is_first = self._history, not self._published
        self._table.flush()
        history.forget()
        before = history.manifest
        if all(run.id != self._run_id for run in before.runs):
            raise StoreError(f"{history.site}: the run {self._run_id} is not in the store any more")
        runs = [replace(run, probe=self._probe) if run.id == self._run_id else run for run in before.runs]
        files = [part for file in before.files for part in self._others(file)] if is_first else [*before.files]
        files += self._table.files[self._published :]
        history.replace(Manifest(runs=tuple(runs), files=tuple(files), next_row=before.next_row))
        self._published = len(self._table.files)
        compact(history, only="pages")  # the caller reads the snapshot

    def _others(self, file: StoredFile) -> list[StoredFile]:
        """Return *file* without the pages that the run had before."""
        first, last = file.runs
        if file.table != "pages" or not first <= self._run_id <= last:
            return [file]
        rows = read_table(self._history.folder, file)
        return written(self._history, "pages", file.runs, [rows.filter(pc.not_equal(rows["run"], self._run_id))])
