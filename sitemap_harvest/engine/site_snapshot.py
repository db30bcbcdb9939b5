"""``SiteSnapshot``: the snapshot of one site during a run: what the last one knows, and what this run adds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from sitemap_harvest.discovery.candidate import Candidate
from sitemap_harvest.engine.session import DocumentSession, KnownDocument, SiteSession
from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import FoundBy, Kind, LedgerBatch, Outcome, SitemapRecord
from sitemap_harvest.snapshots.conditional_requests import LastmodStats, is_trusted, observe
from sitemap_harvest.snapshots.merge.merge import merge_snapshot
from sitemap_harvest.snapshots.merge.merge_policy import MergePolicy, final_key, is_exact, merge_decision
from sitemap_harvest.snapshots.merge.removal import is_settled, must_be_read_since, needs_lister
from sitemap_harvest.snapshots.store import DocumentRows
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sitemap_harvest.model import SitemapRef, UrlBatch
    from sitemap_harvest.snapshots.store import DocumentWriter, SiteWriter, Snapshot

_AS_BEFORE = (
    "kind", "content_type", "layers", "encoding", "bytes_unpacked", "entries", "out_of_scope", "problems", "sha256"
)  # fmt: skip
WRITE_ERRORS = (OSError, pa.ArrowException)
"""Errors that mean that a store cannot be written."""
_MANY_REFERENCES = 10_000  # releasing memory takes milliseconds, and a run may have a million sites
_OF_THE_STORE = ("rows_from", "fresh_at", "fresh_run", "read_at", "absent_runs")


class SiteSnapshot(SiteSession):
    """Writes the new snapshot of one site, and reads the last one."""

    def __init__(
        self,
        writer: SiteWriter,
        *,
        started_at: datetime,
        baseline: Snapshot | None,
        absent_runs: int,
        feeds_only: bool,
        give_up: Callable[[Exception], None],
    ) -> None:
        """Write with *writer*; a document is removed after *absent_runs* consecutive runs of absence.

        *started_at*: when the run began, before any interruption. *baseline*: the
        snapshot that changes are relative to. *feeds_only*: whether nothing is removed from
        feeds. *give_up* is called with the error if the store cannot be used.
        """
        self.writer = writer
        self.started_at = started_at
        self.baseline = baseline
        self._feeds_only = feeds_only
        self.give_up = give_up
        self._absent_runs = absent_runs
        self._records: list[SitemapRecord] = []
        self._latest: dict[str, SitemapRecord] = {}  # the last record of each document
        self._taken_over = {document_key(url): kept for url, kept in writer.kept.items()}
        self._recalled: set[str] = set()

    def load(self) -> None:
        """Load the document records of the last snapshot, so that damage is found early.

        Raises :exc:`StoreError`.
        """
        _ = self.known, self._references, self.writer.reading
        if sum(map(len, self._references.values())) > _MANY_REFERENCES:
            pa.default_memory_pool().release_unused()  # otherwise the memory of the tables is not used again

    @cached_property
    def known(self) -> Mapping[str, SitemapRecord]:
        """The records of the last snapshot by :func:`document_key`, including those of documents removed in it."""
        if self.writer.before is None:
            return {}
        batches = map(LedgerBatch, self.writer.before.sitemaps().to_batches())
        return {document_key(row.url): row for batch in batches for row in batch.rows()}

    @cached_property
    def _feeds_only_runs(self) -> frozenset[str]:
        """The runs that requested only feeds and removed nothing from them."""
        return frozenset(run.id for run in self.writer.history.runs if run.arguments.get("feeds_only") == "yes")

    @cached_property
    def _references(self) -> Mapping[str, Sequence[SitemapRef]]:
        """The documents that each document names, in the last snapshot."""
        before = self.writer.before
        return {} if before is None else {document_key(url): refs for url, refs in before.references().items()}

    @cached_property
    def _lists_before(self) -> Mapping[str, frozenset[str]]:
        """The keys that each document lists, in the last snapshot."""
        return {key: _keys(refs) for key, refs in self._references.items()}

    @cached_property
    def _pending(self) -> frozenset[str]:
        """The documents with rows whose removal is pending, in the last snapshot."""
        if (before := self.writer.before) is None:
            return frozenset()
        urls = before.sitemaps().column("url")
        return frozenset(
            document_key(urls[number].as_py()) for number in set(before.pending.row_ranges.document.tolist())
        )

    def of(self, candidate: Candidate) -> KnownDocument | None:
        """Return the stored data of the document of *candidate*; ``None`` if the last snapshot has no rows of it."""
        key = document_key(candidate.url)
        record = self.known.get(key)
        if record is None or record.left is not None or record.rows_from is None:
            return None
        if record.rows_from in self._feeds_only_runs and not self._feeds_only:
            return None  # it may no longer list some of its rows
        reading = self.writer.reading
        assert reading is not None  # noqa: S101 - for mypy: there is a snapshot
        return KnownDocument(record, self._references.get(key, ()), lambda: reading.urls_of(record.url))

    def own_document(self, candidate: Candidate, url: str) -> Candidate | None:
        """Return a candidate for *url*, the final URL of *candidate*, if the last snapshot has that document.

        ``None`` if it does not, or if *candidate* already redirected there before.
        """
        key, target = document_key(candidate.url), document_key(url)
        row, known = self.known.get(target), self.known.get(key)
        if target == key or row is None or row.left is not None or row.rows_from is None:
            return None
        if known is not None and final_key(known, key) == target:
            return None
        return replace(
            candidate, url=row.url, found_by=FoundBy.SNAPSHOT, parent=row.parent, depth=row.depth, site_root=False
        )

    def taken_over(self, candidate: Candidate) -> KnownDocument | None:
        """Return the data of the document of *candidate* from the interrupted run; ``None`` if it was not read."""
        kept = self._taken_over.get(document_key(candidate.url))
        if kept is None or kept.row_ranges is None:
            return None
        return KnownDocument(kept.record, kept.references or (), lambda: self.writer.urls_of(kept))

    def recall(self, is_visited: Callable[[str], bool]) -> list[Candidate]:
        """Return candidates for documents of the last snapshot that the run has not visited and that may still exist.

        Documents that others list come after their listers: by then it is known whether
        they are still listed. Documents that none lists any more come last: they may
        redirect to a listed one. So call this again whenever all candidates are done,
        until it returns none. With ``feeds_only`` only feeds are returned.
        """
        gone = self._gone(is_visited)
        waiting = {
            key: row
            for key, row in self.known.items()
            if row.left is None
            # Documents that never existed, or may not be followed, are no candidates.
            and not (row.rows_from is None and (row.found_by.is_guess or row.outcome is Outcome.OUT_OF_SCOPE))
            and not (self._feeds_only and row.kind is not Kind.FEED)
            and not (key in gone or key in self._recalled or is_visited(row.url))
        }
        lists = self._lists_now()
        later = frozenset().union(*(lists.get(key, ()) for key in waiting))
        listed = frozenset().union(*lists.values())
        first = [key for key in waiting if key not in later]
        found = [key for key in first if key in listed or not needs_lister(waiting[key])] or first or list(waiting)
        self._recalled.update(found)
        return [_recalled(waiting[key]) for key in found]

    def _gone(self, is_visited: Callable[[str], bool]) -> set[str]:
        """Return the keys of documents that were listed and are not any more, except by documents that are gone too."""
        before = frozenset().union(*self._lists_before.values())
        unvisited = {key for key, row in self.known.items() if key in before and not is_visited(row.url)}
        lists = self._lists_now()
        gone: set[str] = set()
        while True:
            listed = set().union(*(refs for key, refs in lists.items() if key not in gone))
            if unvisited - listed == gone:
                return gone
            gone = unvisited - listed

    def _lists_now(self) -> dict[str, frozenset[str]]:
        """Return the keys that each document lists, as far as known now."""
        lists = {key: listed for key, listed in self._lists_before.items() if key in self.known}
        return lists | {
            document_key(url): _keys(kept.references)
            for url, kept in self.writer.kept.items()
            if kept.references is not None
        }

    def document(self, candidate: Candidate) -> DocumentSnapshot:
        """Start writing the document of *candidate*, under the URL of its first visit."""
        return DocumentSnapshot(self, self._address(candidate.url))

    def _address(self, url: str) -> str:
        """Return *url* in the spelling of the document's first visit."""
        known = self.known.get(document_key(url))
        return known.url if known is not None else url

    def read(
        self, writer: DocumentWriter, record: SitemapRecord, references: Sequence[SitemapRef], *, sound: int | None
    ) -> None:
        """Store what *writer* wrote of a document, as far as the merge policy for *record* allows.

        *references* are the documents that it names; *sound* is the last reliable
        position, ``None`` if all are.
        """
        key = document_key(record.url)
        policy = merge_decision(key, self.known, record, absent_runs=self._absent_runs).policy
        row_ranges, named = None, None
        if policy is MergePolicy.REPLACE and not self._feeds_only:
            row_ranges, named = writer.all(), references
        elif policy in {MergePolicy.REPLACE, MergePolicy.ADD}:
            old = self.writer.old_row_ranges(writer.url)
            row_ranges = writer.added(old, sound=sound if self.known else None)
            named = list({document_key(ref.loc): ref for ref in (*references, *self._references.get(key, ()))}.values())
        if policy in {MergePolicy.REPLACE, MergePolicy.ADD}:
            record.rows_from = self.writer.run_id
        if policy is MergePolicy.REPLACE:
            record.fresh_at = record.read_at = record.fetched_at
            record.fresh_run = self.writer.run_id
        self.writer.keep(writer.url, DocumentRows(replace(record), row_ranges, named))

    def copied(self, key: str) -> KnownDocument | None:
        """Return the document *key* as stored in this run; ``None`` if it was not visited."""
        if (record := self._latest.get(key)) is None:
            return None
        kept = self.writer.kept.get(self._address(record.url))
        if kept is None or kept.row_ranges is None:
            known = self.known.get(key)
            reading = self.writer.reading
            urls = (
                (lambda: reading.urls_of(known.url)) if known is not None and reading is not None else lambda: iter(())
            )
            return KnownDocument(record, self._references.get(key, ()), urls)
        return KnownDocument(record, kept.references or (), lambda: self.writer.urls_of(kept))

    def copy_from(self, copied: KnownDocument, candidate: Candidate) -> None:
        """Store the document of *candidate* as it was read for another site.

        A partly read document is not copied: its rows are merged with those of the
        other site's last snapshot, which may be older than this site's.
        """
        record = replace(
            copied.record,
            url=candidate.url,
            root=candidate.root,
            parent=candidate.parent,
            depth=candidate.depth,
            found_by=candidate.found_by,
            lastmod=candidate.lastmod,
            lastmod_text=candidate.lastmod_text,
            rows_from=None,
            fresh_at=None,
            fresh_run=None,
            read_at=None,
            absent_runs=0,
        )
        known = self.of(candidate)
        is_same = known is not None and is_exact(known.record) and known.record.sha256 == record.sha256
        if record.complete and known is not None and is_same:
            record.outcome = Outcome.UNCHANGED
            self.confirm(record, known, was_downloaded=True, now=copied.record.fresh_at or datetime.now(UTC))
        elif record.complete:
            record.outcome = Outcome.READ
            document = self.document(candidate)
            for batch in copied.urls():
                document.add(batch)
            self.read(document.writer, record, copied.references, sound=None)
        else:
            record.entries = 0
        self.note(record)

    def confirm(
        self, record: SitemapRecord, known: KnownDocument, *, was_downloaded: bool, now: datetime | None = None
    ) -> None:
        """Copy the stored facts of an unchanged document into *record*.

        *was_downloaded*: whether its body proves that it is unchanged, rather than a
        304. *now*: when that was known; ``None``: when it was requested.
        """
        now = now or record.fetched_at or datetime.now(UTC)
        for name in _AS_BEFORE:
            setattr(record, name, getattr(known.record, name))
        for name in ("etag", "last_modified"):  # a 304 need not repeat them
            setattr(record, name, getattr(record, name) or getattr(known.record, name))
        record.complete = True
        record.rows_from = known.record.rows_from
        record.fresh_at, record.fresh_run = now, self.writer.run_id
        record.read_at = now if was_downloaded else known.record.read_at

    def note(self, record: SitemapRecord) -> None:
        """Store *record* of this run; if older rows represent the document, write that to the record."""
        known = self.known.get(document_key(record.url))
        if record.rows_from is None and known is not None and known.left is None:
            for name in _OF_THE_STORE:
                setattr(record, name, getattr(known, name))
            record.absent_runs += record.outcome is Outcome.ABSENT
        self._records.append(record)
        self._latest[document_key(record.url)] = record

    def trusts(self, parent: str | None) -> bool:
        """Whether the dates in the document *parent* are reliable."""
        return parent is not None and is_trusted(self._observed.get(document_key(parent), LastmodStats()))

    @cached_property
    def _observed(self) -> Mapping[str, LastmodStats]:
        before = self.writer.before
        return {} if before is None else {key: LastmodStats(*counts) for key, counts in before.run.trust.items()}

    def observed(self, after: Mapping[str, SitemapRecord]) -> dict[str, list[int]]:
        """Return the statistics of the dates of each index up to this run, whose records by key are *after*."""
        seen = dict(self._observed)
        for key, observed in observe(self.known, after).items():
            seen[key] = seen.get(key, LastmodStats()).plus(observed)
        return {key: list(observed) for key, observed in seen.items() if key in after}

    def waits_since(self, since: str, ledger: Iterable[SitemapRecord]) -> str | None:
        """Return the run since which all documents must be read before a URL missing since *since* counts as removed.

        ``None`` if all were. *ledger* has the records of the new snapshot.
        """
        after = {document_key(row.url): row for row in ledger}
        since = must_be_read_since(since, self.writer.run_id, self.known, after)
        return None if is_settled(since, self.writer.run_id, after, self._lists_now()) else since

    def ledger(self, *, now: datetime) -> list[SitemapRecord]:
        """Return the document records of the new snapshot, with the URLs that their rows have.

        This ends the site: the records of the run, which may take much memory, are
        freed.
        """
        records, self._records, self._latest = self._records, [], {}
        documents = merge_snapshot(
            self.known,
            records,
            references=self._lists_now(),
            references_before=self._lists_before,
            run=self.writer.run_id,
            now=now,
            absent_runs=self._absent_runs,
            pending=self._pending,
        )
        return [self._addressed(one.row) for one in documents.values()]

    def stored(self, ledger: Iterable[SitemapRecord]) -> list[SitemapRecord]:
        """Return the records in *ledger* that the store needs.

        A document that the user does not want and that was never read needs none if
        another document names it: an index may have 100,000 such children.
        """
        named = frozenset[str]().union(*self._lists_now().values())
        return [row for row in ledger if not (_was_passed_over(row) and document_key(row.url) in named)]

    def _addressed(self, row: SitemapRecord) -> SitemapRecord:
        """Return *row* with the URL of its document in the spelling of the first visit."""
        address = self._address(row.url)
        return row if address == row.url else replace(row, url=address)


def _keys(references: Iterable[SitemapRef]) -> frozenset[str]:
    return frozenset(document_key(ref.loc) for ref in references)


def _was_passed_over(row: SitemapRecord) -> bool:
    """Whether the document of *row* was not requested, and nothing is known about its URLs."""
    facts = (row.fetched_at, row.final_url, row.rows_from, row.fresh_at, row.left)
    return row.outcome is Outcome.SKIPPED and facts.count(None) == len(facts)


def _recalled(row: SitemapRecord) -> Candidate:
    """Return a candidate for the document of *row*, a record of the last snapshot."""
    return Candidate(
        url=row.url,
        root=row.root,
        found_by=FoundBy.SNAPSHOT,
        parent=row.parent,
        depth=row.depth,
        lastmod=row.lastmod,
        lastmod_text=row.lastmod_text,
    )


class DocumentSnapshot(DocumentSession):
    """Writes the rows of one document, under the URL of its first visit."""

    def __init__(self, site: SiteSnapshot, address: str) -> None:
        """Write rows to *site*; *address* replaces the document URL in them."""
        self._site = site
        self._address = address
        self.writer = site.writer.document(address)
        self._has_failed = False

    def passing(self, batches: Iterable[UrlBatch]) -> Iterator[UrlBatch]:
        """Yield *batches*, each after it was stored, or after storing failed."""
        for batch in batches:
            if not self._has_failed:
                try:
                    self.add(batch)
                except (*WRITE_ERRORS, StoreError) as error:
                    self._has_failed = True
                    self._site.give_up(error)
            yield batch

    def add(self, batch: UrlBatch) -> None:
        """Store *batch*."""
        address = pa.scalar(self._address, pa.string())
        self.writer.add(batch.with_columns(sitemap=pa.repeat(address, len(batch))))

    def finish(self, record: SitemapRecord, references: Sequence[SitemapRef], *, sound: int | None) -> None:
        """Store what was read, as far as the merge policy for *record* allows."""
        if not self._has_failed:
            self._site.read(self.writer, record, references, sound=sound)
