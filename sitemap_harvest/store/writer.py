"""Keeps what a run reads of one site, until all of it is put in place at once."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import LedgerBatch, SitemapRecord, SitemapRef, arrow_schema
from sitemap_harvest.store.documents import DocumentWriter
from sitemap_harvest.store.extents import Extents
from sitemap_harvest.store.history import RUNS, Volume
from sitemap_harvest.store.manifest import FORMAT, Manifest, StoredFile, check_format
from sitemap_harvest.store.pool import PartWriter, Pool
from sitemap_harvest.store.tables import (
    EXTENTS,
    PENDING,
    REFERENCES,
    SITEMAPS,
    read_file,
    upgraded,
    write_batches,
    write_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sitemap_harvest.model import Batch, UrlBatch
    from sitemap_harvest.store.folder import Folder, HashedFile
    from sitemap_harvest.store.history import History
    from sitemap_harvest.store.manifest import Run
    from sitemap_harvest.store.snapshot import Reading, Snapshot

_CHECKPOINT = "checkpoint-"
_OURS = ("fetched_at", "fresh_at", "read_at")  # times that we have noted; others are as published


class Batches(Protocol):
    """What can be written batch by batch."""

    def batches(self) -> Iterator[Batch[Any]]:
        """Yield the batches."""


@dataclass(slots=True)
class Kept:
    """What a run has kept of one document."""

    record: SitemapRecord
    """Its ledger row as the run entered it."""
    extents: Extents | None = None
    """The rows that it lists from now on; ``None`` if they stay as they were."""
    references: Sequence[SitemapRef] | None = None
    """The documents that it names from now on; ``None`` if they stay as they were."""


@dataclass(slots=True)
class _Open:
    """A file of rows that is being written."""

    name: str
    file: HashedFile
    writer: PartWriter
    first: int


class SiteWriter:
    """What one run keeps of one site. Readers see nothing of it before :meth:`publish`."""

    def __init__(self, history: History, run_id: str, before: Snapshot | None) -> None:
        """Keep what the run with *run_id* reads; *before* is the last snapshot, if there is one."""
        self.history = history
        self.run_id = run_id
        self.before = before
        self.folder: Folder = history.folder / RUNS / run_id
        self.kept: dict[str, Kept] = {}
        self._next_row = history.next_row
        self._files: list[StoredFile] = []
        self._unwritten: dict[str, Kept] = {}
        self._part: _Open | None = None
        self._number = 0
        self._reading: Reading | None = None
        self._documents = 0  # of the sealed snapshot
        self._done: list[StoredFile] = []  # of checkpoints, which the sealed snapshot replaces

    @property
    def reading(self) -> Reading | None:
        """Reads what the last snapshot lists; ``None`` if there is none."""
        if self._reading is None and self.before is not None:
            self._reading = self.before.reading()
        return self._reading

    def old_rows(self, url: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows that the document at *url* had in the last snapshot, with the column ``row``."""
        if self.reading is not None:
            yield from self.reading.rows_of(url)

    def old_extents(self, url: str) -> Extents:
        """Return which rows the document at *url* listed in the last snapshot."""
        return self.reading.extents_of(url) if self.reading is not None else Extents.joined([])

    def urls_of(self, kept: Kept) -> Iterator[UrlBatch]:
        """Yield what a document lists that this run has kept."""
        self._close_part()  # without its end, a file cannot be read
        volume = Volume(self.folder, Manifest(site="", runs=(), files=tuple(self._files), next_row=0))
        pool = Pool([*self.history.parts(), *volume.parts()])
        try:
            yield from pool.urls(kept.extents or Extents.joined([]))
        finally:
            pool.close()

    def document(self, url: str) -> DocumentWriter:
        """Begin to keep the document at *url*."""
        return DocumentWriter(self, url)

    def keep_rows(self, rows: pa.RecordBatch) -> np.ndarray:
        """Write *rows*, and return the ids that they have got."""
        if self._part is None:
            self._number += 1
            name = f"rows-{self._number:04}.parquet"
            file = self.folder.writing(name)
            self._part = _Open(name, file, PartWriter(file), self._next_row)
        first = self._next_row
        self._part.writer.add(rows, first)
        self._next_row += rows.num_rows
        return np.arange(first, self._next_row)

    def keep(self, url: str, kept: Kept) -> None:
        """Keep what became of the document at *url*."""
        self.kept[url] = self._unwritten[url] = kept

    @property
    def waiting(self) -> int:
        """How many rows wait in memory to be written."""
        return self._part.writer.waiting if self._part is not None else 0

    @property
    def is_open(self) -> bool:
        """Whether a file is open to be written."""
        return self._part is not None and self._part.writer.is_open

    def rest(self) -> None:
        """Write the rows that wait, and let go of the file: more rows go to another one."""
        self._close_part()

    @property
    def unwritten(self) -> int:
        """How many documents were kept since the last checkpoint."""
        return len(self._unwritten)

    def checkpoint(self) -> None:
        """Write what was kept so far, so that it need not be read again should the run be interrupted."""
        if not self._unwritten:
            return
        self._close_part()
        files = self._write_documents()
        records = pa.Table.from_batches([LedgerBatch.of([kept.record for kept in self._unwritten.values()]).arrow])
        files.append(
            write_table(_with_run(records, self.run_id, SITEMAPS), self.folder, self._name("sitemaps"), kind="done")
        )
        self._files += files
        self._unwritten = {}
        values = {
            "format": FORMAT,
            "next_row": self._next_row,
            "files": [dataclasses.asdict(file) for file in self._files],
        }
        self.folder.put(f"{_CHECKPOINT}{self._number:04}.json", json.dumps(values).encode())

    def take_over(self) -> bool:
        """Go on with what a run with the same id kept before it was interrupted; return whether there was something.

        Raises :exc:`StoreError` if it is damaged.
        """
        names = self.folder.names()
        name = max((name for name in names if name.startswith(_CHECKPOINT)), default=None)
        if name is None:
            self._remove_others(names, set())
            return False
        self._files, self._next_row = self._checkpoint(name)
        for file in self._files:
            file.check(self.folder)
        self._number = int(name.removeprefix(_CHECKPOINT).removesuffix(".json"))
        self._load()
        self._remove_others(names, {*(file.name for file in self._files), name})
        return True

    def _checkpoint(self, name: str) -> tuple[list[StoredFile], int]:
        """Return what the checkpoint *name* says: the files, and the first id that no row has had so far."""
        try:
            values = json.loads(self.folder.read(name) or b"")
            check_format(values["format"], self.folder)
            return [StoredFile.of_json(file) for file in values["files"]], values["next_row"]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{self.folder}/{name} is damaged: {error!r}") from error

    def _load(self) -> None:
        extents, references = self._tables("extents", EXTENTS), self._tables("references", REFERENCES)
        names = arrow_schema(SitemapRef).names
        found: dict[str, list[SitemapRef]] = {}
        for row in references.to_pylist():
            found.setdefault(row["document"], []).append(SitemapRef(**{name: row[name] for name in names}))
        columns = {name: extents.column(name).to_numpy() for name in ("position", "row", "count")}
        documents = extents.column("document").to_numpy(zero_copy_only=False)
        for table in self._tables("done", SITEMAPS).drop_columns(["run"]).cast(LedgerBatch.schema()).to_batches():
            for record in LedgerBatch(table).rows():
                own = documents == record.url
                listed = Extents(
                    np.zeros(int(own.sum()), dtype=np.int64), *(column[own] for column in columns.values())
                )
                has_rows = record.rows_from == self.run_id
                self.kept[record.url] = Kept(
                    record, listed if has_rows else None, found.get(record.url, []) if has_rows else None
                )

    def _tables(self, kind: str, schema: pa.Schema) -> pa.Table:
        tables = [upgraded(read_file(self.folder, file), schema) for file in self._files if file.table == kind]
        return pa.concat_tables(tables) if tables else schema.empty_table()

    def _remove_others(self, names: Iterable[str], wanted: set[str]) -> None:
        for name in names:
            if name not in wanted:
                self.folder.remove(name)

    def seal(self, ledger: Sequence[SitemapRecord], run: Run) -> Snapshot:
        """Write all that is left but the manifest, and return the snapshot, which nobody else can see yet.

        *ledger* is that of the snapshot, *run* what is known of the run.
        """
        self._close_part()
        self._files += self._write_documents()
        self._unwritten = {}
        self._documents = sum(row.left is None for row in ledger)
        table = pa.Table.from_batches([LedgerBatch.of(ledger).arrow])
        self._done = [file for file in self._files if file.table == "done"]
        self._files = [file for file in self._files if file.table != "done"]
        self._files.append(
            write_table(_rounded(_with_run(table, run.id, SITEMAPS)), self.folder, "sitemaps.parquet", kind="sitemaps")
        )
        return self._snapshot(run)

    def hold(self, pending: pa.Table, run: Run) -> Snapshot:
        """Keep the rows *pending* (:data:`PENDING` without ``run``) in the sealed snapshot; return it with them."""
        table = _with_run(pending, run.id, PENDING)
        self._files.append(write_table(table, self.folder, "pending.parquet", kind="pending"))
        return self._snapshot(run)

    def publish(self, run: Run, changes: Batches) -> Snapshot:
        """Put the sealed snapshot in place, with *changes* against the one before it, and return it.

        *run* is what the manifest says of the run.
        """
        run = dataclasses.replace(run, documents=self._documents)
        if stored := write_batches(changes.batches(), self.folder, "changes.parquet", kind="changes"):
            self._files.append(stored)
        for file in self._files:
            self.folder.sync(file.name)
        self._manifest(run).put(self.folder)
        self._remove_others([file.name for file in self._done], set())
        self._remove_others([name for name in self.folder.names() if name.startswith(_CHECKPOINT)], set())
        self.close()
        return self._snapshot(run)

    def _snapshot(self, run: Run) -> Snapshot:
        return self.history.with_volume(Volume(self.folder, self._manifest(run))).snapshot(run)

    def _manifest(self, run: Run) -> Manifest:
        return Manifest(site=self.history.site, runs=(run,), files=tuple(self._files), next_row=self._next_row)

    @property
    def rows(self) -> int:
        """How many rows were written that no run before has kept."""
        return self._next_row - self.history.next_row

    def _close_part(self) -> None:
        if self._part is None:
            return
        part, self._part = self._part, None
        part.writer.close()
        count = self._next_row - part.first
        self._files.append(StoredFile.written(part.name, "rows", part.file, first=part.first, count=count))

    def _write_documents(self) -> list[StoredFile]:
        """Write what the documents list that were kept since the last time."""
        self._number += 1
        files = []
        extents = [
            _extents_table(self.run_id, url, kept.extents) for url, kept in self._unwritten.items() if kept.extents
        ]
        if extents:
            files.append(write_table(pa.concat_tables(extents), self.folder, self._name("extents"), kind="extents"))
        references = [
            {"run": self.run_id, "document": url} | dataclasses.asdict(reference)
            for url, kept in self._unwritten.items()
            for reference in kept.references or ()
        ]
        if references:
            table = pa.Table.from_pylist(references, REFERENCES)
            files.append(write_table(table, self.folder, self._name("references"), kind="references"))
        return files

    def _name(self, kind: str) -> str:
        return f"{kind}-{self._number:04}.parquet"

    def close(self) -> None:
        """Let go of the files of the last snapshot."""
        if self._reading is not None:
            self._reading.close()
            self._reading = None

    def drop(self) -> None:
        """Remove all that was written."""
        if self._part is not None:
            self._part.writer.close()
            self._part = None
        self.close()
        if self.folder.size("manifest.json") is not None:
            raise StoreError(f"{self.folder} is a snapshot by now")
        self.folder.remove_all()


def _extents_table(run: str, url: str, extents: Extents) -> pa.Table:
    rows = len(extents.row)
    columns = [pa.array([run] * rows), pa.array([url] * rows), extents.position, extents.row, extents.count]
    return pa.Table.from_arrays([pa.array(column) for column in columns], schema=EXTENTS)


def _with_run(table: pa.Table, run: str, schema: pa.Schema) -> pa.Table:
    runs = pa.array([run] * table.num_rows, pa.string())
    return pa.Table.from_arrays([runs, *table.columns], schema=schema)


def _rounded(ledger: pa.Table) -> pa.Table:
    """Return *ledger* with our times in whole seconds: what is finer takes more room, day after day, than all the rest.

    They are rounded up, for what was confirmed after the run began must be told so.
    """
    for name in (*_OURS, "seconds"):
        at, column = ledger.schema.get_field_index(name), ledger.column(name)
        rounded = pc.round(column, ndigits=2) if name == "seconds" else pc.ceil_temporal(column, unit="second")
        ledger = ledger.set_column(at, ledger.schema.field(at), rounded.cast(column.type))
    return ledger
