"""Small stores, made without a crawl: the entries of each document in each run are given explicitly."""

from __future__ import annotations

import dataclasses
import gzip
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sitemap_harvest.diff import compare, pending_rows
from sitemap_harvest.model import ChangeKind, FoundBy, Kind, Outcome, SitemapRecord, SitemapRef, UrlBatch, UrlEntry
from sitemap_harvest.snapshots.store import DocumentRows, DocumentWriter, Run, SiteWriter, Snapshot, Store, open_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

SITE = "https://a.example"
BEGAN = datetime(2026, 11, 1, 3, 0, tzinfo=UTC)


class Making:
    """Makes one run after the other, one per day, in a store."""

    def __init__(self, path: Path | str, *, every: timedelta = timedelta(days=1), compares: bool = False) -> None:
        """Make the store at *path*. *compares*: runs are compared, and their changes kept, as in a crawl."""
        self.store: Store = open_store(path, create=True)
        self.now = BEGAN
        self.every = every
        self._compares = compares
        self.holds = False
        """Whether every removal is pending."""

    def run(self, documents: Mapping[str, Any], *, site: str = SITE, **facts: Any) -> Snapshot:
        """Keep a run over *site*, and return the snapshot.

        *documents* has the content of each document: entries or ``loc``s, references, or ``None`` if it keeps its rows;
        documents without a name in it have left. *facts* are fields of the :class:`Run`.
        """
        writer = self.begin(site)
        records = [self.document(writer, url, listed) for url, listed in documents.items()]
        return self.commit(writer, records, **facts)

    def begin(self, site: str = SITE) -> SiteWriter:
        """Begin a run and leave it open."""
        history = self.store.history(site)
        self.store.begin(history)
        return SiteWriter(history, f"{self.now:%Y%m%dT%H%M%SZ}-{len(history.runs):06x}", history.latest())

    def document(self, writer: SiteWriter, url: str, listed: Any) -> SitemapRecord:
        """Keep the content of *url* in the run of *writer*; return its ledger row."""
        before = {row["url"]: row for row in writer.before.sitemaps().to_pylist()} if writer.before else {}
        if listed is None:
            runs = {"rows_from": before[url]["rows_from"], "fresh_run": writer.run_id}
            record = record_of(url, at=self.now, outcome=Outcome.UNCHANGED, **runs)
            writer.keep(url, DocumentRows(record))
            return record
        document = DocumentWriter(writer, url)
        references = [one for one in listed if isinstance(one, SitemapRef)]
        rows = [one for one in listed if not isinstance(one, SitemapRef)]
        if rows:
            document.add(batch_of(rows, sitemap=url))
        record = record_of(url, at=self.now, rows_from=writer.run_id, entries=len(listed))
        writer.keep(url, DocumentRows(record, document.all(), references))
        return record

    def commit(self, writer: SiteWriter, records: Sequence[SitemapRecord], **facts: Any) -> Snapshot:
        """Commit the run of *writer*, and go on to the next day."""
        before = writer.before.run.id if writer.before else None
        values = {"baseline": before, "rows": writer.rows, "complete": True} | facts
        run = Run(id=writer.run_id, started_at=self.now, ended_at=self.now + timedelta(minutes=1), **values)
        sealed = writer.seal(records, run)
        if self.holds and writer.before is not None:
            pending = pending_rows(writer.before, sealed, is_due=lambda *_: False)
            sealed = sealed if pending is None else writer.hold(pending, run)
        changes, run = self._compared(writer.before, sealed, run)
        snapshot = writer.publish(run, changes)
        self.now += self.every
        return snapshot

    def _compared(self, before: Snapshot | None, after: Snapshot, run: Run) -> tuple[Iterator[Any], Run]:
        if not self._compares:
            return iter(()), run
        changes = compare(before, after)
        counts = {kind: getattr(changes.summary, kind) for kind in ChangeKind}
        return changes.batches(), dataclasses.replace(run, urls=changes.summary.urls_after, changes=counts)


def record_of(url: str, *, at: datetime = BEGAN, **values: Any) -> SitemapRecord:
    """Return a ledger row of a document that was read completely at that time."""
    defaults = {"root": SITE, "found_by": FoundBy.INDEX, "kind": Kind.SITEMAP, "outcome": Outcome.READ}
    times = {"fetched_at": at, "fresh_at": at, "read_at": at, "complete": True}
    return SitemapRecord(url=url, **{**defaults, **times, "fresh_run": values.get("rows_from"), **values})


def entry(loc: str, *, sitemap: str = f"{SITE}/s.xml", position: int = 1, **values: Any) -> UrlEntry:
    """Return a row."""
    return UrlEntry(loc=loc, key=loc, site="a.example", sitemap=sitemap, position=position, **values)


def batch_of(rows: Iterable[str | UrlEntry], *, sitemap: str) -> UrlBatch:
    """Return rows, or the ``loc``s of rows, in their order in *sitemap*."""
    made = [entry(row) if isinstance(row, str) else row for row in rows]
    return UrlBatch.of(dataclasses.replace(row, sitemap=sitemap, position=at) for at, row in enumerate(made, start=1))


def locs(count: int, *, start: int = 0) -> list[str]:
    """Return as many different ``loc``s."""
    return [f"{SITE}/p/{number:06}" for number in range(start, start + count)]


def listed(snapshot: Snapshot, columns: Sequence[str] = ("sitemap", "position", "loc")) -> list[tuple[Any, ...]]:
    """Return *columns* of the URLs of *snapshot*, sorted."""
    rows = zip(*(column.to_pylist() for column in table_of(snapshot, columns).columns), strict=True)
    return sorted(rows, key=lambda row: [(value is not None, value) for value in row])


def change_manifest(folder: Path, before: str, after: str) -> None:
    """Replace *before* by *after* in the manifest of the only site below *folder*."""
    (path,) = folder.rglob("manifest.json.gz")
    text = gzip.decompress(path.read_bytes()).decode()
    assert before in text
    path.write_bytes(gzip.compress(text.replace(before, after).encode()))


def table_of(snapshot: Snapshot, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the URLs of *snapshot*."""
    return snapshot.urls(columns).read_all()
