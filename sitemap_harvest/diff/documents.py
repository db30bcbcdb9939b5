"""The documents of two snapshots: which are reliable enough for additions and removals, and what the summary says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sitemap_harvest.model import (
    NO_ROBOTS,
    Difference,
    FoundBy,
    Kind,
    LeftSitemap,
    Outcome,
    SiteResult,
    StaleSitemap,
    is_read_separately,
)
from sitemap_harvest.snapshots.merge import NOT_ASKED_FOR
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from sitemap_harvest.snapshots.store import Run, Snapshot

_ON_PURPOSE = frozenset({Outcome.SKIPPED, Outcome.OUT_OF_SCOPE})

LISTS_IT_NO_MORE = "the sitemap was read completely and no longer lists the URL"
EMPTIED = "the sitemap was read completely and is now empty"
GONE_SINCE = "the sitemap has since been removed"
LEFT_FEED = "the URL is no longer in a feed, which lists only recent items"
LEFT_NEWS = "the URL is no longer in a news sitemap, which lists only recent items"


class Record(NamedTuple):
    """The fields of a document record that a comparison needs."""

    url: str
    parent: str | None
    kind: str | None
    outcome: str
    reason: str | None
    fresh_at: datetime | None
    fresh_run: str | None
    left: str | None
    found_by: str
    rows_from: str | None

    @property
    def is_present(self) -> bool:
        """Whether the snapshot has the document. A path that was only probed, and never read, is none."""
        return self.left is None and (self.rows_from is not None or not FoundBy(self.found_by).is_guess)

    @property
    def never_existed(self) -> bool:
        """Whether the document is only named: it was absent, and never read."""
        return self.outcome == Outcome.ABSENT and self.rows_from is None and self.fresh_at is None


@dataclass(frozen=True, slots=True)
class SnapshotDocuments:
    """The documents of one snapshot, by URL."""

    urls: list[str]
    """The URL of each row of the table of documents."""
    records: dict[str, Record]
    """The record of each."""
    entries: dict[str, int]
    """Number of entries of each; only those with some."""
    partial_rows: np.ndarray
    """Ids of the pending rows of documents that had never been read completely when they listed the rows."""
    named: Callable[[], frozenset[str]]
    """Returns the keys of the documents that others name: read only if needed, as there may be many."""

    @classmethod
    def of(cls, snapshot: Snapshot) -> SnapshotDocuments:
        """Read the document records of *snapshot*."""
        columns = snapshot.columns(*Record._fields)
        urls = columns[0]
        row_ranges = snapshot.listed
        counts = np.bincount(row_ranges.document, weights=row_ranges.count, minlength=len(urls)).astype(np.int64)
        entries: dict[str, int] = {}
        for document in np.flatnonzero(counts).tolist():
            entries[urls[document]] = entries.get(urls[document], 0) + int(counts[document])
        pending = snapshot.pending
        partial_rows = pending.row_ranges.take(np.array(pending.partial, dtype=bool)).rows()
        return cls(urls, _records(columns), entries, partial_rows, cache(snapshot.named_documents))

    def names(self, url: str) -> bool:
        """Whether a document of the snapshot names the document at *url*."""
        return document_key(url) in self.named()


def _records(columns: list[list[Any]]) -> dict[str, Record]:
    """Return the records with *columns*. Of several for one URL, take the best: present in the snapshot, and freshest.

    Equal values share one object: many documents have one parent or reason.
    """
    seen: dict[Any, Any] = {}
    shared = ([seen.setdefault(value, value) for value in column] for column in columns[1:])
    found: dict[str, Record] = {}
    for record in map(Record, columns[0], *shared):
        other = found.get(record.url)
        if other is None or _rank(record) > _rank(other):
            found[record.url] = record
    return found


def _rank(record: Record) -> tuple[bool, bool, float]:
    fresh_at = record.fresh_at
    return record.left is None, fresh_at is not None, fresh_at.timestamp() if fresh_at else 0.0


@dataclass(frozen=True, slots=True)
class DocumentPairs:
    """All documents of two snapshots, numbered in the order of their URLs. Arrays have one value for each."""

    urls: list[str]
    believable: np.ndarray
    """Whether a URL that only it lists now was really added, rather than read for the first time."""
    was_whole: np.ndarray
    """Whether everything that it listed before came from a complete reading, so that nothing was an artifact."""
    partial_rows: np.ndarray
    """Ids of the rows before that no complete reading listed, although their document has been read completely since:
    see :class:`SnapshotDocuments`. Not one for each document."""
    is_feed: np.ndarray
    """Whether it was a feed before."""
    reasons: list[str]
    """The reason if a URL that it listed is gone."""

    @classmethod
    def of(cls, before: SnapshotDocuments, after: SnapshotDocuments) -> DocumentPairs:
        """Return the documents of both, with their properties."""
        urls = sorted(before.records.keys() | after.records.keys())
        were = [before.records.get(url) for url in urls]
        return cls(
            urls,
            np.array([_is_believable(url, before, after.records) for url in urls], dtype=bool),
            np.array([one is not None and one.fresh_at is not None for one in were], dtype=bool),
            before.partial_rows,
            np.array([one is not None and one.kind == Kind.FEED for one in were], dtype=bool),
            [_reason(url, after) for url in urls],
        )

    def numbers(self, documents: SnapshotDocuments) -> np.ndarray:
        """Return the document number of each row of the table of *documents*."""
        numbers = {url: number for number, url in enumerate(self.urls)}
        return np.array([numbers[url] for url in documents.urls], dtype=np.int32)


def _is_believable(url: str, before: SnapshotDocuments, after: dict[str, Record]) -> bool:
    """Whether it was read completely before, or was missing from a completely read document that leads to it now.

    That document is the nearest known one above it: everything below is new. A document
    may be named without a record, if too many were not requested.
    """
    seen: set[str] = set()
    while url not in seen:
        known = before.records.get(url)
        if known and (known.fresh_at is not None or known.left is None):
            return known.fresh_at is not None
        if known is None and before.names(url):
            return False
        seen.add(url)
        parent = after[url].parent if url in after else None
        if parent is None:
            return False
        url = parent
    return False


def _reason(url: str, after: SnapshotDocuments) -> str:
    record = after.records.get(url)
    if record is None:
        return GONE_SINCE
    if record.left is not None:
        return f"the sitemap was removed: {record.left}"
    return LISTS_IT_NO_MORE if url in after.entries else EMPTIED


def staleness(ledger: SnapshotDocuments, run: Run) -> dict[str, Any]:
    """Return how much of the snapshot of *run* was neither read completely nor confirmed in it."""
    records = ledger.records.values()
    old = [record for record in records if record.fresh_run != run.id]  # not by the time: a clock may be set back
    stale = sum(ledger.entries.get(record.url, 0) for record in old) - run.partly_read
    listed = sum(ledger.entries.values())
    share = round(stale / listed, 4) if listed else float(not _is_conclusive(run))
    found = {one.url: one for one in old if one.is_present and (one.url in ledger.entries or _may_list(one, run))}
    found |= {one.url: one for one in records if _is_missing(one, ledger)}
    shown = [found[url] for url in sorted(found)]
    return {
        "stale": stale,
        "stale_share": share if stale == listed else min(share, 0.9999),
        "stale_sitemaps": tuple(
            StaleSitemap(
                url=record.url, outcome=Outcome(record.outcome), reason=record.reason, fresh_at=record.fresh_at
            )
            for record in shown
        ),
        "unread": sum(_is_unread(record, run) for record in shown),
    }


def unread_documents(snapshot: Snapshot) -> list[StaleSitemap]:
    """Return the documents that the run of *snapshot* did not read completely, as comparisons count them, by URL."""
    stale = staleness(SnapshotDocuments.of(snapshot), snapshot.run)["stale_sitemaps"]
    return [one for one in stale if _is_unread(one, snapshot.run)]


def _is_conclusive(run: Run) -> bool:
    return run.result is None or SiteResult(run.result).is_conclusive


def _is_missing(record: Record, ledger: SnapshotDocuments) -> bool:
    """Whether the document is listed, but absent. After some runs, it counts as empty, or leaves the snapshot.

    A robots.txt that is not in the snapshot is optional.
    """
    is_absent = record.outcome == Outcome.ABSENT and record.rows_from is None
    if not is_absent or FoundBy(record.found_by).is_guess or record.url.endswith("/robots.txt"):
        return False
    return record.left is None or ledger.names(record.url)


def _is_unread(record: Record | StaleSitemap, run: Run) -> bool:
    """Whether the document, whose rows are not those of the run, should have been read in it."""
    return is_read_separately(record.reason) or not _is_skipped(record, run)


def _is_skipped(record: Record | StaleSitemap, run: Run) -> bool:
    """Whether the document was not requested on purpose, rather than because the run ended early."""
    if record.reason == NOT_ASKED_FOR:
        return run.arguments.get("feeds_only") == "yes"
    return record.outcome in _ON_PURPOSE


def _may_list(record: Record, run: Run) -> bool:
    """Whether the document, which was not read completely and has no known URL, may list some."""
    is_no_robots = record.outcome in NO_ROBOTS and record.rows_from is None and record.url.endswith("/robots.txt")
    return not (_is_skipped(record, run) or is_no_robots)


def documents(before: SnapshotDocuments, after: SnapshotDocuments) -> dict[str, Any]:
    """Return the documents that are new, removed, or empty now."""
    there = {url for url, record in before.records.items() if record.is_present}
    here = {url for url, record in after.records.items() if record.is_present}
    left = []
    for url in sorted(there - here):
        if before.records[url].never_existed:
            continue
        record = after.records.get(url)
        left.append(LeftSitemap(url=url, reason=(record and record.left) or GONE_SINCE))
    came = sorted(url for url in after.entries.keys() - there if not before.names(url))
    return {
        "sitemaps_came": tuple(came),
        "sitemaps_left": tuple(left),
        "sitemaps_emptied": tuple(sorted((before.entries.keys() & here) - after.entries.keys())),
    }


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Return the arguments and limits that differ, by name."""
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    return tuple(Difference(name=name, before=_text(before.get(name)), after=_text(after.get(name))) for name in names)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
