"""``SiteWriter``: writes the rows and records of one site in a run, with checkpoints, and publishes them at once."""

from __future__ import annotations

import dataclasses
import secrets
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

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
from sitemap_harvest.snapshots.store.store import MANIFEST, RUNS, History, Manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sitemap_harvest.frontier.intervals import ChangeHistory
    from sitemap_harvest.model import ChangeBatch, UrlBatch
    from sitemap_harvest.snapshots.store.manifest_values import Values
    from sitemap_harvest.snapshots.store.storage import Folder
    from sitemap_harvest.snapshots.store.store import Run
    from sitemap_harvest.snapshots.store.tables import StoredFile

_FEW = 20  # records, which may be in the manifest
_LISTING = "url", "rows_from", "left"
_ROWS_TOGETHER = 10_000  # made into columns at once: an index may name 100,000 documents
_NONE = np.array([], dtype=np.int64)
_BLOCK = "block-"  # the beginning of the names of checkpoints of blocks
_BLOCK_ROWS = 1 << 32  # ids reserved for a block: far more than it has, so that no two ever have the same


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
        self.histories: Mapping[str, ChangeHistory] = {}
        """The history of the changes of each sitemap that has one, by URL; known when the site is done."""
        self._part = ""  # of the names of files
        self._checkpoint = MANIFEST
        self._next_row = history.manifest.next_row
        self._reserved = 0  # the end of the ids that only this writer uses; 0: none are reserved
        self._tables: dict[str, tables.TableWriter] = {}
        self._unwritten: dict[str, DocumentRows] = {}
        self._has_others = False  # files in its folder that are not to be published
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
            path = f"{RUNS}/{self.run_id}/{name}{self._part}"
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
        self._has_others = True
        self._table("done").add(_ledger_table(records, self.run_id, self._of_the_store(records)))
        self._add_documents()
        self.flush()
        next_row = max(self._next_row, self._reserved)
        self.folder.put(self._checkpoint, Manifest(files=self._files, next_row=next_row).data())

    def take_over(self) -> bool:
        """Resume an interrupted run with the same id from its checkpoints; return whether there were any.

        Those of its blocks count too. Raises :exc:`StoreError` if they are damaged.
        """
        if not self.folder.is_local:  # a run that only seemed dead may go on to write files
            self._part = f"-{secrets.token_hex(4)}"
        self._has_others = True
        checkpoint, blocks = Manifest.read(self.folder), self._blocks(_BLOCK)
        for file in chain(checkpoint.files, *(block.files for block in blocks.values())):
            file.check(self.history.folder)
        for file in checkpoint.files:
            self._table(file.table).files.append(file)
        others = (file.name.rpartition("/")[2] for block in blocks.values() for file in block.files)
        self._remove_others(MANIFEST, *blocks, *others)
        if not checkpoint.files:
            return False
        self.kept |= self._documents_in(checkpoint)
        for block in blocks.values():
            for url, kept in self._documents_in(block).items():
                if url not in self.kept:  # two blocks may have read one document
                    self.keep(url, kept)
        self._add_rows(blocks.values())
        self._next_row = max(one.next_row for one in (checkpoint, *blocks.values()))
        return True

    def join(self, number: int, first_rows: int) -> None:
        """Continue an unfinished run as its block *number*, without changing the files of others.

        It does not read again what the run or an earlier attempt of the block has read. *first_rows*: which range of
        ids after those of the run its new rows get; never the same twice. Raises :exc:`StoreError` if the run is gone.
        """
        token = secrets.token_hex(4)
        checkpoint = Manifest.read(self.folder)
        if not checkpoint.files:
            raise StoreError(f"the run {self.run_id} is not there any more, or has ended")
        self._part, self._checkpoint = f"-{_BLOCK}{number}-{token}", f"{_BLOCK}{number}-{token}.json.gz"
        earlier = self._blocks(f"{_BLOCK}{number}-").values()
        for one in (checkpoint, *earlier):
            self.kept |= self._documents_in(one)
        self._add_rows([checkpoint, *earlier])
        self._next_row = checkpoint.next_row + first_rows * _BLOCK_ROWS
        self._reserved = self._next_row + _BLOCK_ROWS

    def _blocks(self, begin: str) -> dict[str, Manifest]:
        """Return the checkpoints of blocks whose names have this beginning, by name."""
        return {name: Manifest.of(self.folder.read(name), self.folder) for name in self.folder.names(begin)}

    def _add_rows(self, checkpoints: Iterable[Manifest]) -> None:
        """Add the files with rows of *checkpoints*, ordered by their ids."""
        files = self._table("rows").files
        known = {file.name: file for one in checkpoints for file in one.files if file.table == "rows"}
        files[:] = sorted({**known, **{file.name: file for file in files}}.values(), key=lambda file: file.ids)
        if any(one.ids[1] > other.ids[0] for one, other in pairwise(files)):
            raise StoreError(f"{self.folder}: two processes have used the same row ids")

    def _documents_in(self, checkpoint: Manifest) -> dict[str, DocumentRows]:
        """Return the documents in *checkpoint* by URL."""
        history = History("", self.history.folder, checkpoint)
        row_ranges = _ranges_by_document(history.table("row_ranges", [self.run_id]))
        references = references_of(history.table("references", [self.run_id]))
        done = history.table("done", [self.run_id])
        self.robots_texts = robots_texts_of(done) | self.robots_texts
        found: dict[str, DocumentRows] = {}
        for batch in ledger_of(done).to_batches():
            for record in LedgerBatch(batch).rows():
                kept = found[record.url] = DocumentRows(record)
                if record.rows_from == self.run_id:
                    kept.row_ranges = row_ranges.get(record.url, RowRanges.joined([]))
                    kept.references = references.get(record.url, [])
        return found

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
        others = self._of_the_store(ledger)
        if len(ledger) <= _FEW and self._table("sitemaps").add_values(
            _ledger_values(ledger, run.id, others), len(ledger)
        ):
            if self.before is not None and _listings(ledger) == self.before.columns(*_LISTING):
                self._listed = self.before.listed
        else:
            table = _ledger_table(ledger, run.id, others)
            self._table("sitemaps").add(table)
            self._ledger = ledger_of(table)
        self.flush()
        return self._snapshot(run)

    def _of_the_store(self, records: Sequence[SitemapRecord]) -> Values:
        """Return the values of *records* for the columns ``tables.OF_THE_STORE``; only those columns that have some."""
        found: Values = {}
        if self.robots_texts:
            found["robots_text"] = [self.robots_texts.get(record.url) for record in records]
        if self.histories:
            histories = [self.histories.get(record.url) for record in records]
            for column, name in zip(tables.HISTORY, ("changes", "days"), strict=True):
                found[column] = [None if one is None else round(getattr(one, name), 3) for one in histories]
        return found

    def hold(self, pending: pa.Table, run: Run) -> Snapshot:
        """Add *pending*, rows with the schema ``tables.PENDING``, to the sealed snapshot; return the new snapshot."""
        self._table("pending").add(pending)
        self.flush()
        return self._snapshot(run)

    def publish(self, run: Run, changes: Iterator[ChangeBatch]) -> Snapshot:
        """Publish the sealed snapshot, with *changes* since the one before it, and return it.

        *run*: the entry of the run for the manifest. Raises :exc:`StoreError` if another
        run has published a snapshot meanwhile, or has taken over the lock of this one.
        """
        run = dataclasses.replace(run, documents=self._documents)
        for batch in changes:
            self._table("changes").add(pa.Table.from_batches([batch.arrow]))
        self.flush()
        self.history.replace(self._manifest(run))
        if self._has_others:
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
        table = self._table("rows")
        return sum(file.count for file in table.files) + table.waiting

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


def _ranges_by_document(table: pa.Table) -> dict[str, RowRanges]:
    """Return the row ranges in *table* by the URL of the document, each in their order."""
    documents = table["document"].combine_chunks().dictionary_encode()
    numbers = documents.indices.to_numpy()
    order = np.argsort(numbers, kind="stable")
    row_ranges = row_ranges_of(table.take(pa.array(order)), np.zeros(table.num_rows, dtype=np.int64))
    ends = np.searchsorted(numbers[order], np.arange(len(documents.dictionary)), side="right").tolist()
    spans = zip(documents.dictionary.to_pylist(), [0, *ends], ends, strict=False)
    return {name: row_ranges.take(np.arange(start, end)) for name, start, end in spans}


def _listings(ledger: Sequence[SitemapRecord]) -> list[list[Any]]:
    """Return what determines the rows that the documents of *ledger* list."""
    return [[getattr(record, name) for record in ledger] for name in _LISTING]


def _ledger_values(records: Sequence[SitemapRecord], run: str, others: Values) -> Values:
    """Return what :func:`_ledger_table` returns as values for the manifest."""
    return {"run": [run] * len(records), **values_of_records(records), **others}


def _ledger_table(records: Sequence[SitemapRecord], run: str, others: Values) -> pa.Table:
    """Return the document records of a *run* in stored form; *others*: the values of other columns of the store."""
    starts = range(0, len(records), _ROWS_TOGETHER)
    batches = (LedgerBatch.of(records[start : start + _ROWS_TOGETHER]).arrow for start in starts)
    table = pa.Table.from_batches(batches, LedgerBatch.schema())
    columns = [pa.array(others.get(one.name, [None] * len(records)), one.type) for one in tables.OF_THE_STORE]
    return pa.Table.from_arrays([pa.repeat(run, len(records)), *table.columns, *columns], schema=tables.SITEMAPS)
