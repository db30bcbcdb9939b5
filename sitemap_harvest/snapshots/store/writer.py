"""``SiteWriter``: writes the rows and records of one site in a run, with checkpoints, and publishes them at once."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import LedgerBatch, SitemapRecord, SitemapRef, arrow_schema
from sitemap_harvest.snapshots.store.document_writer import DocumentWriter
from sitemap_harvest.snapshots.store.manifest import MANIFEST, Manifest
from sitemap_harvest.snapshots.store.row_ranges import RowRanges
from sitemap_harvest.snapshots.store.row_store import PartWriter, RowStore
from sitemap_harvest.snapshots.store.snapshot import RowReader, references_of
from sitemap_harvest.snapshots.store.store import RUNS, History
from sitemap_harvest.snapshots.store.tables import (
    REFERENCES,
    ROW_RANGES,
    SITEMAPS,
    row_ranges_table,
    write_changes,
    write_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sitemap_harvest.model import ChangeBatch, UrlBatch
    from sitemap_harvest.snapshots.store.manifest import Run, StoredFile
    from sitemap_harvest.snapshots.store.snapshot import Snapshot
    from sitemap_harvest.snapshots.store.storage import Folder

_LEDGER_ROWS = 10_000  # made into columns at once
_OURS = ("fetched_at", "fresh_at", "read_at")  # times recorded by this package; others are as published


@dataclass(slots=True)
class DocumentRows:
    """The stored data of one document of a run."""

    record: SitemapRecord
    """Its record in this run."""
    row_ranges: RowRanges | None = None
    """The rows that it lists from now on; ``None`` if they are unchanged."""
    references: Sequence[SitemapRef] | None = None
    """The documents that it names from now on; ``None`` if they are unchanged."""


class SiteWriter:
    """Writes the data of one site in one run. Readers see nothing of it before :meth:`publish`."""

    def __init__(self, history: History, run_id: str, before: Snapshot | None) -> None:
        """Write for the run *run_id*; *before* is the last snapshot, if there is one."""
        self.history = history
        self.run_id = run_id
        self.before = before
        self.folder: Folder = history.folder / RUNS / run_id  # all but the manifest of the site
        self.kept: dict[str, DocumentRows] = {}
        self._next_row = history.manifest.next_row
        self._files: list[StoredFile] = []
        self._unwritten: dict[str, DocumentRows] = {}
        self._part: PartWriter | None = None
        self._number = 0
        self._ledger: pa.Table | None = None  # of the sealed snapshot

    @cached_property
    def old(self) -> RowReader:
        """Reader of the last snapshot; it has no documents if there is none."""
        return RowReader(self.history, self.before)

    def urls_of(self, kept: DocumentRows) -> Iterator[UrlBatch]:
        """Yield the URLs of a document that this run has stored."""
        self.rest()  # an unfinished file cannot be read
        row_store = RowStore(self.history.folder, self._manifest().files)
        try:
            yield from row_store.urls(kept.row_ranges or RowRanges.joined([]))
        finally:
            row_store.close()

    def document(self, url: str) -> DocumentWriter:
        """Start writing the document at *url*."""
        return DocumentWriter(self, url)

    def keep_rows(self, rows: pa.RecordBatch) -> np.ndarray:
        """Write *rows*, and return their new ids."""
        if self._part is None:
            self._number += 1
            self._part = PartWriter(self.history.folder, self._name("rows"))
        first = self._next_row
        self._part.add(rows, first)
        self._next_row += rows.num_rows
        return np.arange(first, self._next_row)

    def keep(self, url: str, kept: DocumentRows) -> None:
        """Store the result of the document at *url*."""
        self.kept[url] = self._unwritten[url] = kept

    @property
    def buffered(self) -> tuple[bool, int]:
        """Whether a file of rows is open, and the number of rows buffered in memory."""
        return (False, 0) if self._part is None else (self._part.is_open, self._part.waiting)

    def rest(self) -> None:
        """Write the buffered rows and close the file; later rows go to another file."""
        if self._part is not None:
            part, self._part = self._part, None
            ids = (self._next_row - part.count, self._next_row)
            self._files.append(part.close((self.run_id, self.run_id), ids))

    @property
    def unwritten(self) -> int:
        """Number of documents stored since the last checkpoint."""
        return len(self._unwritten)

    def checkpoint(self) -> None:
        """Write a checkpoint, so that an interrupted run need not read these documents again."""
        if not self._unwritten:
            return
        self.rest()
        files = self._write_documents()
        records = pa.Table.from_batches([LedgerBatch.of([kept.record for kept in self._unwritten.values()]).arrow])
        files.append(self._write(_with_run(records, self.run_id, SITEMAPS), self._name("sitemaps"), kind="done"))
        self._files += files
        self._unwritten = {}
        Manifest(files=tuple(self._files), next_row=self._next_row).put(self.folder)

    def take_over(self) -> bool:
        """Resume an interrupted run with the same id from its checkpoints; return whether there were any.

        Raises :exc:`StoreError` if they are damaged.
        """
        checkpoint = Manifest.read(self.folder)
        for file in checkpoint.files:
            file.check(self.history.folder)
        self._files = list(checkpoint.files)
        self._remove_others(MANIFEST)
        if not self._files:
            return False
        self._next_row = checkpoint.next_row
        self._number = len(self._files)  # each number has a file, so the next one is free
        self._load()
        return True

    def _load(self) -> None:
        history, runs = History("", self.history.folder, Manifest(files=tuple(self._files))), [self.run_id]
        row_ranges = history.table("row_ranges", ROW_RANGES, runs)
        found = references_of(history.table("references", REFERENCES, runs))
        columns = {name: row_ranges.column(name).to_numpy() for name in ("position", "row", "count")}
        documents = row_ranges.column("document").to_numpy(zero_copy_only=False)
        for table in (
            history.table("done", SITEMAPS, runs).drop_columns(["run"]).cast(LedgerBatch.schema()).to_batches()
        ):
            for record in LedgerBatch(table).rows():
                own = documents == record.url
                listed = RowRanges(
                    np.zeros(int(own.sum()), dtype=np.int64), *(column[own] for column in columns.values())
                )
                has_rows = record.rows_from == self.run_id
                self.kept[record.url] = DocumentRows(
                    record, listed if has_rows else None, found.get(record.url, []) if has_rows else None
                )

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
        self.rest()
        self._files += self._write_documents()
        self._unwritten = {}
        self._ledger = table = _ledger_table(ledger)
        self._files = [file for file in self._files if file.table != "done"]
        self._files.append(self._write(_with_run(table, run.id, SITEMAPS), self._path("sitemaps"), kind="sitemaps"))
        return self._snapshot(run)

    def hold(self, pending: pa.Table, run: Run) -> Snapshot:
        """Add the rows *pending* (:data:`PENDING`) to the sealed snapshot; return the new snapshot."""
        self._files.append(self._write(pending, self._path("pending"), kind="pending"))
        return self._snapshot(run)

    def publish(self, run: Run, changes: Iterator[ChangeBatch]) -> Snapshot:
        """Publish the sealed snapshot, with *changes* since the one before it, and return it.

        *run*: the entry of the run for the manifest. Raises :exc:`StoreError` if another
        run has published a snapshot meanwhile, which a lock in an object store cannot
        exclude.
        """
        assert self._ledger is not None  # noqa: S101 - for mypy: it is sealed
        run = dataclasses.replace(run, documents=self._ledger["left"].null_count)
        if stored := write_changes(changes, self.history.folder, self._path("changes"), run=run.id):
            self._files.append(stored)
        self.history.folder.sync(file.name for file in self._files)
        if Manifest.read(self.history.folder) != self.history.manifest:
            raise StoreError(f"{self.history.site}: another run has stored a snapshot in the meantime")
        self._manifest(run).put(self.history.folder)
        self._remove_others()
        self.close()
        return self._snapshot(run)

    def _snapshot(self, run: Run) -> Snapshot:
        history = History(self.history.site, self.history.folder, self._manifest(run))
        return history.snapshot(run, ledger=self._ledger)

    def _manifest(self, *run: Run) -> Manifest:
        before = self.history.manifest
        return Manifest(runs=(*before.runs, *run), files=(*before.files, *self._files), next_row=self._next_row)

    @property
    def rows(self) -> int:
        """Number of rows written that no earlier run has stored."""
        return self._next_row - self.history.manifest.next_row

    def _write_documents(self) -> list[StoredFile]:
        """Write the row ranges and references of the documents stored since the last call."""
        self._number += 1
        run, kept = self.run_id, self._unwritten.items()
        row_ranges = [
            row_ranges_table(ROW_RANGES, one.row_ranges, run=run, document=url) for url, one in kept if one.row_ranges
        ]
        references = [_references_table(run, url, one.references) for url, one in kept if one.references]
        return [
            self._write(pa.concat_tables(tables), self._name(kind), kind=kind)
            for kind, tables in (("row_ranges", row_ranges), ("references", references))
            if tables
        ]

    def _write(self, table: pa.Table, name: str, *, kind: str) -> StoredFile:
        return write_table(table, self.history.folder, name, kind=kind, runs=(self.run_id, self.run_id))

    def _name(self, kind: str) -> str:
        """Return the path of the next file of that *kind*, in the folder of the site."""
        return self._path(f"{kind}-{self._number:04}")

    def _path(self, name: str) -> str:
        return f"{RUNS}/{self.run_id}/{name}.parquet"

    def close(self) -> None:
        """Close the files of the last snapshot."""
        if "old" in vars(self):
            self.old.close()

    def drop(self) -> None:
        """Delete everything that was written."""
        self.rest()
        self.close()
        if any(run.id == self.run_id for run in Manifest.read(self.history.folder).runs):
            raise StoreError(f"{self.folder} is already a snapshot")
        self.folder.remove_all()


def _references_table(run: str, url: str, references: Sequence[SitemapRef]) -> pa.Table:
    own = [pa.repeat(run, len(references)), pa.repeat(url, len(references))]
    given = [
        pa.array([getattr(reference, field.name) for reference in references], field.type)
        for field in arrow_schema(SitemapRef)
    ]
    return pa.Table.from_arrays([*own, *given], schema=REFERENCES)


def _with_run(table: pa.Table, run: str, schema: pa.Schema) -> pa.Table:
    runs = pa.array([run] * table.num_rows, pa.string())
    return pa.Table.from_arrays([runs, *table.columns], schema=schema)


def _ledger_table(ledger: Sequence[SitemapRecord]) -> pa.Table:
    """Return *ledger* as a table, with our times in whole seconds: finer ones take more space than everything else.

    Times are rounded up, so that a document confirmed after the start of the run never
    seems to be confirmed before it.
    """
    starts = range(0, len(ledger), _LEDGER_ROWS)  # an index may name 100,000 documents
    batches = (LedgerBatch.of(ledger[start : start + _LEDGER_ROWS]).arrow for start in starts)
    table = pa.Table.from_batches(batches, LedgerBatch.schema())
    for name in (*_OURS, "seconds"):
        at, column = table.schema.get_field_index(name), table.column(name)
        rounded = pc.round(column, ndigits=2) if name == "seconds" else pc.ceil_temporal(column, unit="second")
        table = table.set_column(at, table.schema.field(at), rounded.cast(column.type))
    return table
