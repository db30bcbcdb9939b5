"""``Snapshot``: the state of a site at the end of a run, with its URLs as Arrow, DuckDB, pandas or polars."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.display import URL_COLUMNS, counted, first_rows, short, summary_as_html, table_as_html
from sitemap_harvest.errors import StoreError
from sitemap_harvest.frames import ArrowData, chosen
from sitemap_harvest.frontier.intervals import ChangeHistory
from sitemap_harvest.model import REDIRECTS_TO, WAS_ABSENT, LedgerBatch, SitemapRef, UrlEntry, arrow_schema
from sitemap_harvest.snapshots.store.manifest_values import record_values, records_of
from sitemap_harvest.snapshots.store.row_ranges import RowRanges
from sitemap_harvest.snapshots.store.row_store import RowStore
from sitemap_harvest.snapshots.store.tables import HISTORY, OF_THE_STORE, ROW_COLUMNS
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from sitemap_harvest.model import SitemapRecord, UrlBatch
    from sitemap_harvest.snapshots.store.row_ranges import Intervals
    from sitemap_harvest.snapshots.store.store import History, Run
    from sitemap_harvest.snapshots.store.tables import StoredFile


class Pending(NamedTuple):
    """Rows whose URL no document of the snapshot lists, and whose removal is not certain yet."""

    row_ranges: RowRanges
    """The rows, at their positions in the last document that listed them."""
    since: list[str]
    """For each range, the id of the first run that did not find its URLs."""
    runs: list[int]
    """For each range, the number of runs that it has been pending."""
    partial: list[bool]
    """For each range, whether its document had never been read completely when it listed the rows."""


class Snapshot(ArrowData):
    """The state of :attr:`site` at the end of :attr:`run`. Files are read on first use."""

    def __init__(
        self, run: Run, history: History, *, ledger: pa.Table | None = None, listed: RowRanges | None = None
    ) -> None:
        """Open the snapshot of *run*, whose rows may be stored in any run of *history*.

        *ledger*, *listed*: the results of :meth:`sitemaps` and :attr:`listed`, if the caller has them.
        """
        self._ledger = ledger
        if listed is not None:
            self.__dict__["listed"] = listed
        self.site = history.site
        self.run = run
        self._history = history

    def __repr__(self) -> str:
        return f"<Snapshot of {self.site}, run {self.run.id}>"

    def _repr_html_(self) -> str:
        records = zip(*self.columns("outcome", "left", "fetched_at"), strict=True)
        outcomes = Counter(one for one, left, fetched_at in records if is_present(left, fetched_at, self.run))
        rows, pending = (int(ranges.count.sum()) for ranges in (self.row_ranges(), self.pending.row_ranges))
        size = counted(rows, "row") if self.run.urls is None else counted(self.run.urls, "URL")
        words = ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.items())
        documents = f"{counted(outcomes.total(), 'document')} ({words})"
        title = f"Snapshot of {short(self.site)}, run {self.run.id}: {size} from {documents}"
        lines = [f"{self.run.result}: {self.run.reason}"] if self.run.reason else []
        if pending:
            lines.append(f"the removal of {counted(pending, 'row')} is pending")
        urls = self.urls(URL_COLUMNS)
        return summary_as_html(title, lines, table_as_html("urls", first_rows(urls, urls.schema), rows=rows))

    def sitemaps(self) -> pa.Table:
        """Return the document records: one for each document of the snapshot, and for those removed in this run."""
        if self._ledger is None:
            self._ledger = ledger_of(self._history.table("sitemaps", [self.run.id]))
        return self._ledger

    @cached_property
    def _in_manifest(self) -> StoredFile | None:
        """The document records in the manifest, if that has them."""
        if self._ledger is not None:
            return None
        run, files = self.run.id, self._history.manifest.files
        found = [file for file in files if file.table == "sitemaps" and file.runs[0] <= run <= file.runs[1]]
        is_there = len(found) == 1 and found[0].values is not None and found[0].runs == (run, run)
        return found[0] if is_there else None

    def records(self) -> Iterator[SitemapRecord]:
        """Yield the rows of :meth:`sitemaps`."""
        if self._in_manifest is not None and self._in_manifest.values is not None:
            with self._in_manifest.reading(self._history.folder):
                yield from records_of(self._in_manifest.values, self._in_manifest.count)
            return
        for batch in self.sitemaps().to_batches():
            yield from LedgerBatch(batch).rows()

    def columns(self, *names: str) -> list[list[Any]]:
        """Return the values of the columns *names* of :meth:`sitemaps`."""
        if self._in_manifest is None or self._in_manifest.values is None:
            return [self.sitemaps()[name].to_pylist() for name in names]
        with self._in_manifest.reading(self._history.folder):
            return [record_values(self._in_manifest.values, name, self._in_manifest.count) for name in names]

    def pages(self) -> pa.Table:
        """Return the pages that the last probe of the run looked at, with the columns of :class:`PageRecord`."""
        return self._history.table("pages", [self.run.id]).combine_chunks()

    def page_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of :meth:`pages`, file by file: a probe may have looked at millions of pages."""
        for table in self._history.tables("pages", [self.run.id]):
            yield from table.to_batches()

    def row_ranges(self) -> RowRanges:
        """Return the rows of each document, including pending ones: ``document`` is an index into :meth:`sitemaps`."""
        return RowRanges.joined([self.listed, self.pending.row_ranges])

    @cached_property
    def listed(self) -> RowRanges:
        """The rows that each document lists, by document and position."""
        found = row_ranges_of(*self._of_documents("row_ranges"))
        return found.take(np.lexsort((found.position, found.document)))

    @cached_property
    def pending(self) -> Pending:
        """The rows that no document lists any more, and whose removal is not certain yet."""
        table = self._history.table("pending", [self.run.id])
        if not table.num_rows:
            return Pending(RowRanges.joined([]), [], [], [])
        since, runs, partial = (table.column(name).to_pylist() for name in ("since", "runs", "partial"))
        urls = self.sitemaps().column("url").combine_chunks()
        document = pc.index_in(table.column("document"), urls).to_numpy().astype(np.int64)
        return Pending(row_ranges_of(table, document), since, runs, [one is True for one in partial])

    def pending_urls(self) -> Iterator[pa.RecordBatch]:
        """Yield the URLs of the pending rows: ``loc``, ``sitemap`` (the last document that listed it), ``since``.

        ``since`` is the id of the first run that did not find it. A URL appears once for each row.
        """
        row_ranges, since, _, _ = self.pending
        _, first = np.unique(row_ranges.rows(), return_index=True)
        of_id = pa.array(since, pa.string()).take(pa.array(np.repeat(np.arange(len(since)), row_ranges.count)[first]))
        start = 0
        for batch in self.rows(row_ranges.intervals(), ["loc", "sitemap"]):
            columns = [batch["loc"], batch["sitemap"], of_id.slice(start, batch.num_rows)]
            start += batch.num_rows
            yield pa.RecordBatch.from_arrays(columns, names=["loc", "sitemap", "since"])

    def references(self) -> dict[str, list[SitemapRef]]:
        """Return the references of each document that has some, by the URL of the document."""
        table, _ = self._of_documents("references")
        return references_of(table)

    def robots_texts(self) -> dict[str, str]:
        """Return the text of each robots.txt that the run has read, by URL."""
        return robots_texts_of(self._history.table("sitemaps", [self.run.id]))

    def change_histories(self) -> dict[str, ChangeHistory]:
        """Return what is known of the changes of sitemaps, by URL: for those with an interval of their own.

        ``changes``: the number of checks that found one. ``days``: the days without one. In both, older checks count
        less.
        """
        if self._in_manifest is not None and HISTORY[0] not in (self._in_manifest.values or ()):
            return {}
        table = self._history.table("sitemaps", [self.run.id], ["run", "url", *HISTORY])
        urls, *numbers = (column.to_pylist() for column in table.filter(pc.is_valid(table[HISTORY[0]])).columns[1:])
        return dict(zip(urls, map(ChangeHistory, *numbers), strict=True))

    def named_documents(self) -> frozenset[str]:
        """Return the keys of the documents that documents of the snapshot name, also of those without a record."""
        table, _ = self._of_documents("references")
        return frozenset(map(document_key, table.column("loc").to_pylist()))

    def _of_documents(self, name: str) -> tuple[pa.Table, np.ndarray]:
        """Return the rows of the table *name* for the documents of the snapshot, and the document index of each."""
        if self._in_manifest is not None:
            return self._of_few_documents(name)
        ledger = self.sitemaps()
        runs = pc.if_else(pc.is_null(ledger["left"]), ledger["rows_from"], pa.scalar(None, pa.string()))
        table = self._history.table(name, pc.unique(runs).drop_null().to_pylist())
        if not table.num_rows:  # few sites have references
            return table, np.empty(0, dtype=np.int64)
        index = pc.index_in(readings(table["run"], table["document"]), readings(runs, ledger["url"]).combine_chunks())
        is_wanted = index.is_valid()
        return table.filter(is_wanted), index.filter(is_wanted).to_numpy().astype(np.int64)

    def _of_few_documents(self, name: str) -> tuple[pa.Table, np.ndarray]:
        """As :meth:`_of_documents`, for so few documents that calls of Arrow would take longer than the search."""
        numbers: dict[tuple[str, str], int] = {}
        for number, (url, run, left) in enumerate(zip(*self.columns("url", "rows_from", "left"), strict=True)):
            if run is not None and left is None:
                numbers.setdefault((run, url), number)
        table = self._history.table(name, {run for run, _ in numbers})
        readings_of = zip(table["run"].to_pylist(), table["document"].to_pylist(), strict=True)
        document = np.array([numbers.get(reading, -1) for reading in readings_of], dtype=np.int64)
        is_wanted = document >= 0
        return (table if is_wanted.all() else table.filter(pa.array(is_wanted))), document[is_wanted]

    def check(self) -> None:
        """Raise :exc:`StoreError` if a file with rows of the snapshot is missing, or its size has changed."""
        wanted = self.row_ranges().intervals()
        for file in self._history.manifest.files:
            if file.table == "rows" and len(wanted.within(*file.ids)):
                file.check(self._history.folder)

    def rows(self, wanted: Intervals, columns: Sequence[str] = ROW_COLUMNS) -> Iterator[pa.RecordBatch]:
        """Yield the *wanted* rows, ascending by id: the column ``row``, and *columns*, without ``position``.

        Reads only the needed columns of the needed parts of files.
        """
        found = 0
        for batch in self._row_store.rows(wanted, columns):
            found += batch.num_rows
            yield batch
        if found < len(wanted):
            raise StoreError(f"{self.site}: {len(wanted) - found:,} rows that {self.run.id} needs are not in the store")

    def urls(self, columns: Sequence[str] | None = None, *, pending: bool = True) -> pa.RecordBatchReader:
        """Return the URLs in stored order, with all columns of :class:`UrlEntry` or with *columns* in that order.

        A URL appears once for each time it is listed. The URLs of a document are
        contiguous if it has not changed since its first reading. *pending*: whether to
        include those of :meth:`pending_urls`, at the positions where they were listed last.
        """
        full = arrow_schema(UrlEntry)
        names = chosen(columns, full.names)
        schema = pa.schema([full.field(name) for name in names])
        row_ranges = self.row_ranges() if pending else self.listed
        return pa.RecordBatchReader.from_batches(schema, self._urls(names, schema, row_ranges))

    def _urls(self, names: list[str], schema: pa.Schema, row_ranges: RowRanges) -> Iterator[pa.RecordBatch]:
        row_ranges = row_ranges.take(np.argsort(row_ranges.row, kind="stable"))
        ends = row_ranges.row + row_ranges.count
        stored = [name for name in names if name != "position"]
        for batch in self.rows(row_ranges.intervals(), stored):
            ids = batch.column("row").to_numpy()
            near = row_ranges.take((row_ranges.row <= ids[-1]) & (ends > ids[0]))
            listed, at = near.rows(), near.positions()
            inside = (listed >= ids[0]) & (listed <= ids[-1])
            rows = batch.take(pa.array(np.searchsorted(ids, listed[inside])))
            found = {name: rows.column(name) for name in stored} | {"position": pa.array(at[inside])}
            yield pa.RecordBatch.from_arrays([found[name] for name in names], schema=schema)

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the URLs, or *columns* of them, as an Arrow table in memory.

        :meth:`urls` yields them with flat memory.
        """
        return self.urls(columns).read_all()

    @cached_property
    def _row_store(self) -> RowStore:
        return RowStore(self._history.folder, self._history.manifest.files)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The index of each document with rows, by URL."""
        (urls,) = self.columns("url")
        return {urls[number]: number for number in np.unique(self.listed.document).tolist()}

    def row_ranges_of(self, document: str) -> RowRanges:
        """Return the rows that the document with that URL lists, by position; none if it is not in the snapshot."""
        number = self._numbers.get(document, -1)
        first, last = np.searchsorted(self.listed.document, [number, number + 1])
        return self.listed.take(np.arange(first, last))

    def rows_of(self, document: str) -> Iterator[pa.RecordBatch]:
        """Yield the distinct rows of the document, ascending by id, with the column ``row``."""
        yield from self._row_store.rows(self.row_ranges_of(document).intervals())

    def urls_of(self, document: str) -> Iterator[UrlBatch]:
        """Yield the entries of the document, in its order."""
        yield from self._row_store.urls(self.row_ranges_of(document))


def is_present(left: str | None, fetched_at: datetime | None, run: Run) -> bool:
    """Return whether a document, with these values in its record, counts as a document of the snapshot of *run*.

    A document that *run* requested, and removed because of the response, is still listed:
    the next run has it too.
    """
    if left is None:
        return True
    return left.startswith((WAS_ABSENT, REDIRECTS_TO)) and fetched_at is not None and fetched_at >= run.started_at


def readings(runs: pa.ChunkedArray, documents: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the names of readings of *documents* by *runs*; null without a run."""
    return pc.binary_join_element_wise(runs, documents, "\n")


def ledger_of(table: pa.Table) -> pa.Table:
    """Return the document records in *table*, one of the store, with the columns of :class:`LedgerBatch`."""
    others = ["run", *(field.name for field in OF_THE_STORE)]
    ledger, schema = table.drop_columns(others).combine_chunks(), LedgerBatch.schema()
    return ledger if ledger.schema.equals(schema) else ledger.cast(schema)


def references_of(table: pa.Table) -> dict[str, list[SitemapRef]]:
    """Return the references in *table*, by the URL of the document that has them."""
    found: dict[str, list[SitemapRef]] = {}
    names = arrow_schema(SitemapRef).names
    for batch in table.to_batches(max_chunksize=1_000):
        for row in batch.to_pylist():
            found.setdefault(row["document"], []).append(SitemapRef(**{name: row[name] for name in names}))
    return found


def robots_texts_of(table: pa.Table) -> dict[str, str]:
    """Return the texts of robots.txt in *table*, document records of one run in the store, by URL."""
    texts = table.select(["url", "robots_text"]).filter(pc.is_valid(table["robots_text"]))
    return dict(zip(*(column.to_pylist() for column in texts.columns), strict=True))


def row_ranges_of(table: pa.Table, document: np.ndarray) -> RowRanges:
    """Return the row ranges in *table*, of the documents with the indexes *document*."""
    return RowRanges(document, *(table.column(name).to_numpy() for name in ("position", "row", "count")))
