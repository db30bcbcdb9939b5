"""Snapshots in memory, made from the entries of documents; the store keeps the same on disk."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sitemap_harvest import FoundBy, Kind, Outcome, SitemapRecord, UrlEntry
from sitemap_harvest.model import LedgerBatch, UrlBatch
from sitemap_harvest.snapshots.store.row_ranges import Intervals, RowRanges
from sitemap_harvest.snapshots.store.snapshot import Pending
from sitemap_harvest.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SITE = "https://a.example"
START = datetime(2026, 11, 1, 1, tzinfo=UTC)
FRESH, OLD, NEVER = "fresh", "old", "never"


def at(path: str, **said: Any) -> UrlEntry:
    """Return an entry of the site."""
    loc = path if "://" in path else SITE + path
    said.setdefault("key", url_key(loc))
    return UrlEntry(loc=loc, sitemap="", position=0, **said)


@dataclass
class Doc:
    """A document as a run found it."""

    entries: Sequence[UrlEntry | str] = ()
    kind: Kind = Kind.SITEMAP
    known: str = FRESH
    """``fresh``: read completely or confirmed in this run; ``old``: in an earlier one; ``never``."""
    parent: str | None = f"{SITE}/robots.txt"
    left: str | None = None
    outcome: Outcome = Outcome.READ
    reason: str | None = None
    names: Sequence[str] = ()
    """Paths of its child documents without a record."""


@dataclass
class Run:
    id: str
    started_at: datetime
    urls: int | None = None
    partly_read: int = 0
    result: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Memory:
    """A snapshot. The id of a row is its index in the row store."""

    site: str
    run: Run
    row_store: list[UrlEntry]
    ledger: pa.Table
    listed: RowRanges
    named: frozenset[str]

    def sitemaps(self) -> pa.Table:
        return self.ledger

    def columns(self, *names: str) -> list[list[Any]]:
        return [self.ledger[name].to_pylist() for name in names]

    def named_documents(self) -> frozenset[str]:
        return self.named

    def row_ranges(self) -> RowRanges:
        return self.listed

    @property
    def pending(self) -> Pending:
        return Pending(RowRanges.joined([]), since=[], runs=[], partial=[])

    def rows(self, wanted: Intervals, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        ids = wanted.ids()
        for start in range(0, len(ids), 3):  # so small that blocks and batches overlap
            part = ids[start : start + 3]
            batch = UrlBatch.of([self.row_store[row] for row in part]).arrow.select(columns)
            yield pa.RecordBatch.from_arrays([pa.array(part), *batch.columns], ["row", *columns])


def history(*runs: dict[str, Doc], arguments: Sequence[Mapping[str, Any]] = ()) -> list[Memory]:
    """Return a snapshot for each of *runs*: documents by path. Unchanged rows keep their id, as in a store."""
    row_store: list[UrlEntry] = []
    ids: dict[tuple[str, str], int] = {}
    snapshots = []
    for number, documents in enumerate(runs):
        run = Run(f"run-{number}", START + timedelta(days=number), arguments=arguments[number] if arguments else {})
        ledger = _ledger(documents, run)
        parts = [
            _listed(row_store, ids, index, SITE + path, document)
            for index, (path, document) in enumerate(documents.items())
            if document.entries
        ]
        named = frozenset(SITE + path for document in documents.values() for path in document.names)
        snapshots.append(Memory(SITE, run, row_store, ledger, RowRanges.joined(parts), named))
    return snapshots


def _listed(
    row_store: list[UrlEntry], ids: dict[tuple[str, str], int], index: int, url: str, document: Doc
) -> RowRanges:
    rows = []
    for given in document.entries:
        entry = at(given) if isinstance(given, str) else given
        entry.sitemap = url
        said = repr([getattr(entry, one.name) for one in fields(entry) if one.name != "position"])
        if (url, said) not in ids:
            ids[url, said] = len(row_store)
            row_store.append(entry)
        rows.append(ids[url, said])
    return RowRanges.of(index, np.arange(1, len(rows) + 1), np.array(rows, dtype=np.int64))


def _ledger(documents: dict[str, Doc], run: Run) -> pa.Table:
    whens = {FRESH: run.started_at + timedelta(minutes=1), OLD: run.started_at - timedelta(days=30), NEVER: None}
    fresh_runs = {FRESH: run.id, OLD: "run-old", NEVER: None}
    records = [
        SitemapRecord(
            url=SITE + path,
            parent=document.parent,
            root=SITE,
            found_by=FoundBy.ROBOTS if document.parent else FoundBy.ARGUMENT,
            kind=document.kind,
            outcome=document.outcome,
            reason=document.reason,
            entries=len(document.entries),
            fresh_at=whens[document.known],
            fresh_run=fresh_runs[document.known],
            left=document.left,
        )
        for path, document in documents.items()
    ]
    return pa.Table.from_batches([LedgerBatch.of(records).arrow])
