"""A snapshot: what was known of a site at the end of a run."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.errors import StoreError, there_is_no
from sitemap_harvest.model import LedgerBatch, SitemapRef, UrlEntry, arrow_schema
from sitemap_harvest.store.extents import Extents
from sitemap_harvest.store.pool import ROW_COLUMNS, Pool
from sitemap_harvest.store.tables import EXTENTS, PENDING, REFERENCES, SITEMAPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sitemap_harvest.model import UrlBatch
    from sitemap_harvest.store.extents import Intervals
    from sitemap_harvest.store.history import History
    from sitemap_harvest.store.manifest import Run


class Pending(NamedTuple):
    """Rows whose URL no document of the snapshot lists, and whose removal is not certain."""

    extents: Extents
    """The rows, at the positions that they had in the last document that listed them."""
    since: list[str]
    """For each extent, the id of the first run that did not find its URLs."""
    runs: list[int]
    """For each extent, in how many runs it has been pending."""


class Snapshot:
    """What was known of :attr:`site` at the end of :attr:`run`. Nothing is read before it is asked for."""

    def __init__(self, site: str, run: Run, history: History) -> None:
        """Take the snapshot of *run*, whose rows may lie in any run of *history*."""
        self.site = site
        self.run = run
        self._history = history

    def __repr__(self) -> str:
        return f"<Snapshot of {self.site}, run {self.run.id}>"

    def sitemaps(self) -> pa.Table:
        """Return the ledger: one row for each document of the snapshot, and for those that left it in this run."""
        return self._sitemaps

    @cached_property
    def _sitemaps(self) -> pa.Table:
        table = self._history.volume_of(self.run.id).read("sitemaps", SITEMAPS, [self.run.id])
        return table.drop_columns(["run"]).combine_chunks().cast(LedgerBatch.schema())

    def extents(self) -> Extents:
        """Return the rows of each document, pending ones included: ``document`` is an index into :meth:`sitemaps`."""
        return self._extents

    @cached_property
    def _extents(self) -> Extents:
        return Extents.joined([self.listed, self.pending.extents])

    @cached_property
    def listed(self) -> Extents:
        """The rows that each document lists."""
        table, document = self._of_documents("extents", EXTENTS)
        return _extents(document, table)

    @cached_property
    def pending(self) -> Pending:
        """The rows that no document lists any more, and whose removal is not certain yet."""
        table = self._history.volume_of(self.run.id).read("pending", PENDING, [self.run.id])
        document = pc.index_in(table.column("document"), self.sitemaps().column("url").combine_chunks())
        since, runs = (table.column(name).to_pylist() for name in ("since", "runs"))
        return Pending(_extents(document.to_numpy().astype(np.int64), table), since, runs)

    def pending_rows(self) -> Intervals:
        """Return the ids of the rows whose removal is pending."""
        return self.pending.extents.intervals()

    def references(self) -> dict[str, list[SitemapRef]]:
        """Return what each document that names others names, by the address of the document."""
        table, _ = self._of_documents("references", REFERENCES)
        found: dict[str, list[SitemapRef]] = {}
        names = arrow_schema(SitemapRef).names
        for row in table.to_pylist():
            found.setdefault(row["document"], []).append(SitemapRef(**{name: row[name] for name in names}))
        return found

    def _of_documents(self, kind: str, schema: pa.Schema) -> tuple[pa.Table, np.ndarray]:
        """Return the rows of the table *kind* for the documents as they are in the snapshot, and whose each is."""
        ledger = self.sitemaps()
        urls = ledger.column("url").combine_chunks()
        given = pc.if_else(pc.is_null(ledger.column("left")), ledger.column("rows_from"), pa.scalar(None, pa.string()))
        runs = sorted(run for run in pc.unique(given).to_pylist() if run is not None)
        parts = [volume.read(kind, schema, some) for volume, some in self._history.volumes_of(runs).items()]
        table = pa.concat_tables(parts) if parts else schema.empty_table()
        index = pc.index_in(table.column("document"), urls)
        is_wanted = pc.equal(
            given.take(pc.fill_null(index, 0)) if len(urls) else table.column("run"), table.column("run")
        )
        is_wanted = pc.and_(pc.is_valid(index), pc.fill_null(is_wanted, False))  # noqa: FBT003 - pyarrow's interface
        wanted, index = table.filter(is_wanted), index.filter(is_wanted)
        return wanted, index.to_numpy().astype(np.int64)

    def check(self) -> None:
        """Raise :exc:`StoreError` if a file with rows of the snapshot is missing, or has not the size that it had."""
        wanted = self.extents().intervals()
        for volume in self._history.volumes:
            for file in volume.manifest.files:
                end = file.first + file.count if file.end is None else file.end
                if file.table == "rows" and len(wanted.within(file.first, end - file.first)):
                    file.check(volume.folder)

    def rows(self, wanted: Intervals, columns: Sequence[str] = ROW_COLUMNS) -> Iterator[pa.RecordBatch]:
        """Yield the rows that are *wanted*, ascending by id: the column ``row``, and *columns*, without ``position``.

        Only the parts of files that hold some of them, and of these only the columns, are read.
        """
        pool = Pool(self._history.parts())
        try:
            found = 0
            for batch in pool.rows(wanted, columns):
                found += batch.num_rows
                yield batch
        finally:
            pool.close()
        if found < len(wanted):
            raise StoreError(f"{self.site}: {len(wanted) - found:,} rows that {self.run.id} needs are not in the store")

    def urls(self, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        """Return the URLs, with all columns of :class:`UrlEntry` or with *columns* in that order, as they are stored.

        A URL stands there as often as it is listed. Those of one document stand
        together where it has not changed since it was first read.
        """
        names = list(columns) if columns is not None else arrow_schema(UrlEntry).names
        full = arrow_schema(UrlEntry)
        if unknown := [name for name in names if name not in full.names]:
            raise StoreError(f"column {unknown[0]!r}: {there_is_no('column', unknown[0], full.names)}")
        schema = pa.schema([full.field(name) for name in names])
        return pa.RecordBatchReader.from_batches(schema, self._urls(names, schema))

    def _urls(self, names: list[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        extents = self.extents()
        order = np.argsort(extents.row, kind="stable")
        starts, counts, positions = extents.row[order], extents.count[order], extents.position[order]
        stored = [name for name in names if name != "position"]
        for batch in self.rows(extents.intervals(), stored):
            ids = batch.column("row").to_numpy()
            is_near = (starts <= ids[-1]) & (starts + counts > ids[0])
            near = Extents(positions[is_near], positions[is_near], starts[is_near], counts[is_near])
            listed, at = near.rows(), near.positions()
            inside = (listed >= ids[0]) & (listed <= ids[-1])
            rows = batch.take(pa.array(np.searchsorted(ids, listed[inside])))
            found = {name: rows.column(name) for name in stored} | {"position": pa.array(at[inside])}
            yield pa.RecordBatch.from_arrays([found[name] for name in names], schema=schema)

    def relation(self, columns: Sequence[str] | None = None) -> Any:
        """Return the URLs, or *columns* of them, as a DuckDB relation with a connection of its own."""
        import duckdb  # takes 0.1 seconds, and is wanted by few

        return duckdb.connect().from_arrow(self.urls(columns).read_all())

    def to_pandas(self, columns: Sequence[str] | None = None) -> Any:
        """Return the URLs, or *columns* of them, as a pandas data frame. Raises :exc:`StoreError` without pandas."""
        _needs("pandas")
        return self.urls(columns).read_all().to_pandas()

    def to_polars(self, columns: Sequence[str] | None = None) -> Any:
        """Return the URLs, or *columns* of them, as a polars data frame. Raises :exc:`StoreError` without polars."""
        return _needs("polars").from_arrow(self.urls(columns).read_all())

    def reading(self) -> Reading:
        """Return what reads the URLs of one document after the other."""
        return Reading(self, Pool(self._history.parts()))


def _extents(document: np.ndarray, table: pa.Table) -> Extents:
    return Extents(document, *(table.column(name).to_numpy() for name in ("position", "row", "count")))


def _needs(name: str) -> Any:
    """Return the package *name*, which is none of those that this one installs."""
    try:
        return import_module(name)
    except ImportError as error:
        raise StoreError(f"{name} is not installed: pip install {name}") from error


class Reading:
    """Reads the URLs of one document after the other; what lies side by side is read once."""

    def __init__(self, snapshot: Snapshot, pool: Pool) -> None:
        """Read the documents of *snapshot* from *pool*."""
        self._extents = snapshot.listed
        self._pool = pool
        order = np.argsort(self._extents.document, kind="stable")
        self._order = order
        self._documents = self._extents.document[order]
        self._numbers = {url: number for number, url in enumerate(snapshot.sitemaps().column("url").to_pylist())}

    def extents_of(self, document: str) -> Extents:
        """Return which rows the document at that address lists, by position; none if it is not in the snapshot."""
        number = self._numbers.get(document, -1)
        first, last = np.searchsorted(self._documents, [number, number + 1])
        own = self._order[first:last]
        own = own[np.argsort(self._extents.position[own], kind="stable")]
        extents = self._extents
        return Extents(extents.document[own], extents.position[own], extents.row[own], extents.count[own])

    def rows_of(self, document: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the document, ascending by id, each once, with the column ``row``."""
        yield from self._pool.rows(self.extents_of(document).intervals())

    def urls_of(self, document: str) -> Iterator[UrlBatch]:
        """Yield what the document lists, in its order."""
        yield from self._pool.urls(self.extents_of(document))

    def close(self) -> None:
        """Let go of the files."""
        self._pool.close()
