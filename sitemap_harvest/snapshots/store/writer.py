"""``SiteWriter``: writes the rows and records of one site in a run, with checkpoints, and publishes them at once."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import LedgerBatch, SitemapRecord, SitemapRef, arrow_schema
from sitemap_harvest.snapshots.store import tables
from sitemap_harvest.snapshots.store.compaction import compact, is_due
from sitemap_harvest.snapshots.store.manifest_values import values_of_records
from sitemap_harvest.snapshots.store.row_ranges import RowRanges
from sitemap_harvest.snapshots.store.row_store import KnownRows, RowStore
from sitemap_harvest.snapshots.store.snapshot import (
    Snapshot,
    is_present,
    ledger_of,
    references_of,
    robots_texts_of,
    row_ranges_of,
)
from sitemap_harvest.snapshots.store.store import MANIFEST, RUNS, History, Manifest, replace_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sitemap_harvest.model import ChangeBatch, UrlBatch
    from sitemap_harvest.snapshots.store.manifest_values import Values
    from sitemap_harvest.snapshots.store.storage import Folder
    from sitemap_harvest.snapshots.store.store import Run
    from sitemap_harvest.snapshots.store.tables import StoredFile

_FEW = 20  # records, which may be in the manifest
_LISTING = "url", "rows_from", "left"
_ROWS_TOGETHER = 10_000  # made into columns at once: an index may name 100,000 documents
_NONE = np.array([], dtype=np.int64)


@dataclass(slots=True)
class DocumentRows:
    """The stored data of one document of a run."""

    record: SitemapRecord
    """Its record in this run."""
    row_ranges: RowRanges | None = None
    """The rows that it lists from now on; ``None`` if they are unchanged."""
    references: Sequence[SitemapRef] | None = None
    """The documents that it names from now on; ``None`` if they are unchanged."""
    confirmed: int = 0
    """Number of the rows that the run has read, if it could read the document only in part."""


class SiteWriter:
    """Writes the data of one site in one run. Readers see nothing of it before :meth:`publish`."""

    def __init__(self, history: History, run_id: str, before: Snapshot | None) -> None:
        """Write for the run *run_id*; *before* is the last snapshot, if there is one."""
        self.history = history
        self.run_id = run_id
        self.before = before
        self.folder: Folder = history.folder / RUNS / run_id
        self.kept: dict[str, DocumentRows] = {}
        self.robots_texts: dict[str, str] = {}
        """The text of each robots.txt that the run has read, as far as its rules count, by URL."""
        self._next_row = history.manifest.next_row
        self._tables: dict[str, tables.TableWriter] = {}
        self._unwritten: dict[str, DocumentRows] = {}
        self._documents = 0  # of the sealed snapshot
        self._ledger: pa.Table | None = None  # of the sealed snapshot, unless it is small
        self._listed: RowRanges | None = None  # of the sealed snapshot, if they are those of the last one

    def urls_of(self, kept: DocumentRows) -> Iterator[UrlBatch]:
        """Yield the URLs of a document that this run has stored."""
        self.flush()  # buffered rows cannot be read
        row_store = RowStore(self.history.folder, self._manifest().files)
        yield from row_store.urls(kept.row_ranges or RowRanges.joined([]))

    def keep_rows(self, rows: pa.RecordBatch) -> np.ndarray:
        """Write *rows*, with the columns of :class:`UrlEntry`, and return their new ids."""
        ids = np.arange(self._next_row, self._next_row + rows.num_rows)
        columns = [pa.array(ids), *(rows.column(name) for name in tables.ROW_COLUMNS)]
        self._table("rows").add(pa.Table.from_arrays(columns, schema=tables.ROW_SCHEMA))
        self._next_row += rows.num_rows
        return ids

    def keep(self, url: str, kept: DocumentRows) -> None:
        """Store the result of the document at *url*."""
        self.kept[url] = self._unwritten[url] = kept

    @property
    def waiting(self) -> int:
        """Number of rows buffered in memory."""
        return self._table("rows").waiting

    def flush(self) -> None:
        """Write the buffered data to files."""
        for table in self._tables.values():
            table.flush()

    def _table(self, name: str) -> tables.TableWriter:
        """Return the writer of the run's files of the table *name*."""
        if name not in self._tables:
            path = f"{RUNS}/{self.run_id}/{name}"
            self._tables[name] = tables.TableWriter(self.history.folder, path, name, (self.run_id, self.run_id))
        return self._tables[name]

    @property
    def _files(self) -> tuple[StoredFile, ...]:
        """The files that the run has written."""
        return tuple(file for table in self._tables.values() for file in table.files)

    @property
    def unwritten(self) -> int:
        """Number of documents stored since the last checkpoint."""
        return len(self._unwritten)

    def checkpoint(self) -> None:
        """Write a checkpoint, so that an interrupted run need not read these documents again."""
        if not self._unwritten:
            return
        records = [kept.record for kept in self._unwritten.values()]
        self._table("done").add(_ledger_table(records, self.run_id, self.robots_texts))
        self._add_documents()
        self.flush()
        Manifest(files=self._files, next_row=self._next_row).put(self.folder)

    def take_over(self) -> bool:
        """Resume an interrupted run with the same id from its checkpoints; return whether there were any.

        Raises :exc:`StoreError` if they are damaged.
        """
        checkpoint = Manifest.read(self.folder)
        for file in checkpoint.files:
            file.check(self.history.folder)
        for file in checkpoint.files:
            self._table(file.table).files.append(file)
        self._remove_others(MANIFEST)
        if not checkpoint.files:
            return False
        self._next_row = checkpoint.next_row
        history = History("", self.history.folder, checkpoint)
        row_ranges = history.table("row_ranges", [self.run_id])
        references = references_of(history.table("references", [self.run_id]))
        done = history.table("done", [self.run_id])
        self.robots_texts = robots_texts_of(done)
        for batch in ledger_of(done).to_batches():
            for record in LedgerBatch(batch).rows():
                kept = self.kept[record.url] = DocumentRows(record)
                if record.rows_from == self.run_id:
                    own = row_ranges.filter(pc.equal(row_ranges["document"], record.url))
                    kept.row_ranges = row_ranges_of(own, np.zeros(own.num_rows, dtype=np.int64))
                    kept.references = references.get(record.url, [])
        return True

    def _remove_others(self, *wanted: str) -> None:
        """Delete the files of the run other than those to be published and *wanted*."""
        names = {*wanted, *(file.name.rpartition("/")[2] for file in self._files)}
        for name in self.folder.names():
            if name not in names:
                self.folder.remove(name)

    def seal(self, ledger: Sequence[SitemapRecord], run: Run) -> Snapshot:
        """Write everything except the manifest, and return the snapshot, which readers cannot see yet.

        *ledger*: the document records of the snapshot. *run*: the entry of the run.
        """
        self._add_documents()
        self._tables.pop("done", None)
        self._documents = sum(is_present(record.left, record.fetched_at, run) for record in ledger)
        if len(ledger) <= _FEW and self._table("sitemaps").add_values(
            _ledger_values(ledger, run.id, self.robots_texts), len(ledger)
        ):
            if self.before is not None and _listings(ledger) == self.before.columns(*_LISTING):
                self._listed = self.before.listed
        else:
            table = _ledger_table(ledger, run.id, self.robots_texts)
            self._table("sitemaps").add(table)
            self._ledger = ledger_of(table)
        self.flush()
        return self._snapshot(run)

    def hold(self, pending: pa.Table, run: Run) -> Snapshot:
        """Add *pending*, rows with the schema ``tables.PENDING``, to the sealed snapshot; return the new snapshot."""
        self._table("pending").add(pending)
        self.flush()
        return self._snapshot(run)

    def publish(self, run: Run, changes: Iterator[ChangeBatch]) -> Snapshot:
        """Publish the sealed snapshot, with *changes* since the one before it, and return it.

        *run*: the entry of the run for the manifest. Raises :exc:`StoreError` if another
        run has published a snapshot meanwhile, which a lock in an object store cannot
        exclude.
        """
        run = dataclasses.replace(run, documents=self._documents)
        for batch in changes:
            self._table("changes").add(pa.Table.from_batches([batch.arrow]))
        self.flush()
        if not self.history.is_current():
            raise StoreError(f"{self.history.site}: another run has stored a snapshot in the meantime")
        replace_manifest(self.history, self._manifest(run))
        self._remove_others()
        return self._snapshot(run)

    def compact(self) -> None:
        """Merge the small files of the site if there are many, after :meth:`publish`."""
        if is_due(self._manifest().files):
            compact(self.history)

    def _snapshot(self, run: Run) -> Snapshot:
        history = History(self.history.site, self.history.folder, self._manifest(run), earlier=self.history)
        return Snapshot(run, history, ledger=self._ledger, listed=self._listed)

    def _manifest(self, *run: Run) -> Manifest:
        before = self.history.manifest
        return Manifest(runs=(*before.runs, *run), files=(*before.files, *self._files), next_row=self._next_row)

    @property
    def rows(self) -> int:
        """Number of rows written that no earlier run has stored."""
        return self._next_row - self.history.manifest.next_row

    def _add_documents(self) -> None:
        """Add the row ranges and references of the documents stored since the last call to their tables."""
        run, kept, self._unwritten = self.run_id, self._unwritten, {}
        for url, one in kept.items():
            if one.row_ranges:
                table = tables.row_ranges_table(tables.ROW_RANGES, one.row_ranges, run=run, document=url)
                self._table("row_ranges").add(table)
        references = ((url, reference) for url, one in kept.items() for reference in one.references or ())
        while some := list(islice(references, _ROWS_TOGETHER)):
            columns = [
                pa.repeat(run, len(some)),
                pa.array([url for url, _ in some]),
                *(pa.array([getattr(one, name) for _, one in some]) for name in arrow_schema(SitemapRef).names),
            ]
            self._table("references").add(pa.Table.from_arrays(columns, schema=tables.REFERENCES))

    def drop(self) -> None:
        """Delete everything that was written."""
        if any(run.id == self.run_id for run in Manifest.read(self.history.folder).runs):
            raise StoreError(f"{self.folder} is already a snapshot")
        self.folder.remove_all()


@dataclass(slots=True)
class DocumentWriter:
    """Writes the rows of one document as they are read. Unchanged rows keep their ids."""

    _site: SiteWriter
    url: str
    _old: KnownRows | None = None
    _ids: list[np.ndarray] = field(default_factory=lambda: [_NONE])  # so that they can be joined
    _positions: list[np.ndarray] = field(default_factory=lambda: [_NONE])
    _is_new_url: list[np.ndarray] = field(default_factory=lambda: [_NONE.astype(bool)])

    def add(self, batch: UrlBatch) -> None:
        """Add *batch*: unchanged rows keep their id, all others get a new one."""
        rows, before = batch.arrow, self._site.before
        if self._old is None:
            self._old = KnownRows(before.rows_of(self.url) if before is not None else ())
        ids = self._old.find(rows)
        is_fresh = ids < 0
        is_new_url = is_fresh.copy()
        if is_fresh.any():
            fresh = rows if is_fresh.all() else rows.filter(pa.array(is_fresh))
            is_new_url[is_fresh] = ~self._old.knows(fresh)
            ids[is_fresh] = self._site.keep_rows(fresh)
        self._ids.append(ids)
        self._positions.append(rows.column("position").to_numpy())
        self._is_new_url.append(is_new_url)

    def all(self) -> RowRanges:
        """Return the rows that the document lists if it was read completely."""
        return RowRanges.of(0, np.concatenate(self._positions), np.concatenate(self._ids))

    def added(self, *, sound: int | None) -> RowRanges:
        """Return the rows that the document lists if it was read partly: those of before, plus the new ones.

        *sound*: the last position that was read reliably (``None``: all were).
        """
        before = self._site.before
        old = before.row_ranges_of(self.url) if before is not None else RowRanges.joined([])
        is_new = np.concatenate(self._is_new_url)
        if sound is not None:
            is_new &= np.concatenate(self._positions) <= sound
        new = np.concatenate(self._ids)[is_new]
        last = int(old.positions().max(initial=0))
        positions = np.concatenate([old.positions(), last + np.arange(1, len(new) + 1)])
        return RowRanges.of(0, positions, np.concatenate([old.rows(), new]))

    def confirmed(self, listed: RowRanges) -> int:
        """Return for how many of the rows *listed*, the result of :meth:`added`, the document was read up to the URL.

        A URL whose values have changed counts too, although its row has the earlier values.
        """
        ids = np.concatenate(self._ids)
        is_same = np.isin(listed.rows(), ids)
        is_changed = (ids >= self._site.history.manifest.next_row) & ~np.concatenate(self._is_new_url)
        return min(len(is_same), int(is_same.sum() + is_changed.sum()))


def _listings(ledger: Sequence[SitemapRecord]) -> list[list[Any]]:
    """Return what determines the rows that the documents of *ledger* list."""
    return [[getattr(record, name) for record in ledger] for name in _LISTING]


def _ledger_values(records: Sequence[SitemapRecord], run: str, robots_texts: Mapping[str, str]) -> Values:
    """Return what :func:`_ledger_table` returns as values for the manifest."""
    values = {"run": [run] * len(records), **values_of_records(records)}
    if robots_texts:
        values["robots_text"] = [robots_texts.get(record.url) for record in records]
    return values


def _ledger_table(records: Sequence[SitemapRecord], run: str, robots_texts: Mapping[str, str]) -> pa.Table:
    """Return the document records of a *run* in stored form, with *robots_texts* by URL."""
    starts = range(0, len(records), _ROWS_TOGETHER)
    batches = (LedgerBatch.of(records[start : start + _ROWS_TOGETHER]).arrow for start in starts)
    table = pa.Table.from_batches(batches, LedgerBatch.schema())
    texts = pa.array([robots_texts.get(record.url) for record in records], pa.string())
    return pa.Table.from_arrays([pa.repeat(run, len(records)), *table.columns, texts], schema=tables.SITEMAPS)
