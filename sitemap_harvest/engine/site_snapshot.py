"""``SiteSnapshot``: the snapshot of one site during a run: what the last one knows, and what this run adds."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from sitemap_harvest.diff import pending_rows
from sitemap_harvest.discovery.candidate import Candidate
from sitemap_harvest.engine.interfaces import KnownDocument
from sitemap_harvest.errors import StoreError
from sitemap_harvest.formats.robots_rules import rules_text
from sitemap_harvest.model import FoundBy, Kind, Outcome, SitemapRecord
from sitemap_harvest.snapshots.conditional_requests import (
    ConditionalRequest,
    Freshness,
    LastmodStats,
    Trust,
    conditional_request,
    is_noise,
    is_trusted,
    last_runs,
    observe,
)
from sitemap_harvest.snapshots.merge import NEVER_READ, merge_snapshot
from sitemap_harvest.snapshots.merge_policy import MergePolicy, final_key, merge_decision
from sitemap_harvest.snapshots.removal import is_overdue, is_settled, needs_lister
from sitemap_harvest.snapshots.store import DocumentRows, DocumentWriter
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sitemap_harvest.config.arguments import RunConfig
    from sitemap_harvest.config.settings import HarvestSettings
    from sitemap_harvest.formats import Document
    from sitemap_harvest.frontier.intervals import ChangeHistory
    from sitemap_harvest.model import SitemapRef, UrlBatch
    from sitemap_harvest.snapshots.sitemap_intervals import SitemapIntervals
    from sitemap_harvest.snapshots.store import SiteWriter, Snapshot

_Other = TypeVar("_Other")
_AS_BEFORE = (
    "kind", "content_type", "layers", "encoding", "bytes_unpacked", "entries", "out_of_scope", "problems", "sha256",
    "rows_from",
)  # fmt: skip
WRITE_ERRORS = (OSError, pa.ArrowException)
"""Errors that mean that a store cannot be written."""
_WITH_RULES = frozenset({Outcome.READ, Outcome.UNCHANGED, Outcome.NOT_A_SITEMAP})
MOST_NEW_UNWANTED = 1_000
"""Maximum number of records for new children of one document that the user does not want: an index may name 100,000 of
them. The URLs of the others are only newly known once the user wants them."""
_MANY_REFERENCES = 10_000  # releasing memory takes milliseconds, and a run may have a million sites
_OF_THE_STORE = ("rows_from", "fresh_at", "fresh_run", "read_at", "absent_runs")


class SiteSnapshot:
    """Writes the new snapshot of one site, and reads the last one."""

    def __init__(
        self,
        writer: SiteWriter,
        config: RunConfig,
        options: HarvestSettings,
        *,
        started_at: datetime,
        baseline: Snapshot | None,
        intervals: SitemapIntervals,
        give_up: Callable[[Exception], None],
    ) -> None:
        """Write with *writer*. Reads the last snapshot; raises :exc:`StoreError` if it is damaged.

        *started_at*: when the run began, before any interruption. *baseline*: the
        snapshot that changes are relative to. *give_up* is called with the error if the
        store cannot be used.
        """
        self.writer = writer
        self.started_at = started_at
        self.baseline = baseline
        self.written_at = time.monotonic()  # the last checkpoint
        self._give_up = give_up
        self._has_failed = False
        self._config = config
        self._options = options
        self._records: list[SitemapRecord] = []
        self._latest: dict[str, SitemapRecord] = {}  # the last record of each document
        self.unwanted: set[str] = set()
        """Keys of documents that the user does not want, and that the snapshot has no record of."""
        self._new_unwanted: Counter[str] = Counter()
        self._taken_over = {document_key(url): kept for url, kept in writer.kept.items()}
        self._recalled: set[str] = set()
        self.is_search_postponed = False
        """Whether this run does not search the site for sitemaps again."""
        before, runs = writer.before, writer.history.runs
        self._feeds_only_runs = {run.id for run in runs if run.arguments.get("feeds_only") == "yes"}
        # By key, of the last snapshot:
        self._known: dict[str, SitemapRecord] = {}  # also documents removed in it
        self._references: dict[str, Sequence[SitemapRef]] = {}
        self._pending: set[str] = set()  # documents with rows whose removal is pending
        self._observed: dict[str, LastmodStats] = {}
        if before is not None:
            self._known = {document_key(row.url): row for row in before.records()}
            self._references = {document_key(url): refs for url, refs in before.references().items()}
            if pending := set(before.pending.row_ranges.document.tolist()):
                (urls,) = before.columns("url")
                self._pending = {document_key(urls[one]) for one in pending}
            self._observed = {key: LastmodStats(*counts) for key, counts in before.run.trust.items()}
        self._lists_before = {key: _keys(refs) for key, refs in self._references.items()}
        self._intervals = intervals
        # Half of the time after which removals are reported: if some requests fail now, there is time for others.
        half = options.pending_days / 2
        self._requests_all = bool(self._pending) and intervals.has_unchecked(self._known.values(), days=half)
        self.not_due: set[str] = set()
        """Keys of sitemaps that are not requested, because their own interval has not passed."""
        self._last_runs: dict[str, str] = {}  # empty if the last run got to everything
        if before is not None and not (before.run.complete or before.run.not_due):
            self._last_runs = last_runs(self._known, self._lists_before, before.run.id)
        if sum(map(len, self._references.values())) > _MANY_REFERENCES:
            pa.default_memory_pool().release_unused()  # otherwise the memory of the tables is not used again

    @property
    def was_interrupted(self) -> bool:
        """Whether the last run ended early and stored what it had read."""
        return any(row.outcome is Outcome.INTERRUPTED for row in self._known.values())

    @property
    def lists_urls(self) -> bool:
        """Whether a document of the last snapshot lists URLs."""
        return any(row.rows_from is not None and row.kind is not Kind.ROBOTS for row in self._known.values())

    def in_order(self, candidates: Iterable[tuple[Candidate, _Other]]) -> Iterator[tuple[Candidate, _Other]]:
        """Yield *candidates*, each with another value, in the order in which to request them."""
        if not self._last_runs:
            yield from candidates
            return
        later = []
        for one, other in candidates:
            last_run = self._last_runs.get(document_key(one.url), "")
            pair = one if one.last_run == last_run else replace(one, last_run=last_run), other
            if last_run:
                later.append(pair)
            else:  # an index may name 100,000 documents that no run has read
                yield pair
        yield from sorted(later, key=lambda pair: pair[0].last_run)

    def conditional_request(self, candidate: Candidate) -> tuple[ConditionalRequest, KnownDocument | None]:
        """Return how to request the document of *candidate*, and its stored data if it need not be requested.

        Without a reason to skip it, an interrupted run has read it, and this run resumes that.
        """
        if (read := self._read_before(candidate)) is not None:
            return ConditionalRequest(), read
        # The rules of a robots.txt are needed, and a repeated request must be unconditional.
        if (known := self.of(candidate)) is None or candidate.site_root or candidate.attempt:
            return ConditionalRequest(), None
        parent = "" if candidate.parent is None else document_key(candidate.parent)
        observed = self._observed.get(parent, LastmodStats())
        is_seen = candidate.found_by is not FoundBy.SNAPSHOT  # otherwise the index was not read, and the date is old
        may_wait = is_seen and not self._requests_all and not known.references  # not seen: the site may be down
        why_not_due = None
        if may_wait:
            claim = None if is_noise(observed) else candidate.lastmod_text
            why_not_due = self._intervals.why_not_due(known.record, claim)
        found = conditional_request(
            known.record,
            Freshness(
                now=datetime.now(UTC),
                max_age=self._options.max_age if self._config.max_age is None else self._config.max_age,
                force=self._config.force,
                trust=Trust(self._options.trust_lastmod),
            ),
            lastmod=candidate.lastmod if is_seen else None,
            lastmod_text=candidate.lastmod_text if is_seen else None,
            is_trusted=is_trusted(observed),
            why_not_due=why_not_due,
        )
        if not found.is_confirmed:
            self.not_due.add(document_key(candidate.url))
        return found, known if found.skip is not None else None

    def has_taken_over(self, candidate: Candidate) -> bool:
        """Whether the interrupted run, which this one resumes, has read or confirmed the document of *candidate*."""
        return self._read_before(candidate) is not None

    def _read_before(self, candidate: Candidate) -> KnownDocument | None:
        """Return the document of *candidate* as read or confirmed by the interrupted run; ``None`` if it was not."""
        kept = self._taken_over.get(document_key(candidate.url))
        if kept is None:
            return None
        if kept.row_ranges is not None:
            return KnownDocument(kept.record, kept.references or (), lambda: self.writer.urls_of(kept))
        known = self.of(candidate) if kept.record.is_confirmation else None
        return None if known is None else replace(known, record=kept.record)

    def references_of(self, url: str) -> Sequence[SitemapRef]:
        """Return the documents that the one at *url* names, as the interrupted run has read or confirmed it."""
        kept = self._taken_over.get(key := document_key(url))
        return self._references.get(key, ()) if kept is None or kept.references is None else kept.references

    def of(self, candidate: Candidate) -> KnownDocument | None:
        """Return the stored data of the document of *candidate*; ``None`` if the last snapshot has no rows of it."""
        record = self._known.get(key := document_key(candidate.url))
        if record is None or record.left is not None or record.rows_from is None:
            return None
        if record.rows_from in self._feeds_only_runs and not self._config.feeds_only:
            return None  # it may no longer list some of its rows
        return KnownDocument(record, self._references.get(key, ()), lambda: self._urls_before(record.url))

    def _urls_before(self, url: str) -> Iterator[UrlBatch]:
        return iter(()) if self.writer.before is None else self.writer.before.urls_of(url)

    def own_document(self, candidate: Candidate, url: str) -> Candidate | None:
        """Return a candidate for *url*, the final URL of *candidate*, if the last snapshot has that document.

        ``None`` if it does not, or if *candidate* already redirected there before.
        """
        key, target = document_key(candidate.url), document_key(url)
        row, known = self._known.get(target), self._known.get(key)
        if target == key or row is None or row.left is not None or row.rows_from is None:
            return None
        if known is not None and final_key(known, key) == target:
            return None
        return replace(
            candidate, url=row.url, found_by=FoundBy.SNAPSHOT, parent=row.parent, depth=row.depth, site_root=False
        )

    def recall(self, is_visited: Callable[[str], bool]) -> list[Candidate]:
        """Return candidates for documents of the last snapshot that the run has not visited and that may still exist.

        Documents that others list come after their listers: by then it is known whether
        they are still listed; if not, they are no candidates, unless the lister has left
        the snapshot. Then they come last: they may redirect to a listed document. So call
        this again whenever all candidates are done, until it returns none. With
        ``feeds_only`` only feeds are returned.
        """
        gone = self._gone(is_visited)
        waiting = {
            key: row
            for key, row in self._known.items()
            if row.left is None
            # Documents that never existed, or may not be followed, are no candidates.
            and not (row.rows_from is None and (row.found_by.is_guess or row.outcome is Outcome.OUT_OF_SCOPE))
            and not (self._config.feeds_only and row.kind is not Kind.FEED)
            and not (key in gone or key in self._recalled or is_visited(row.url))
        }
        lists = self._lists_now()
        later = frozenset().union(*(lists.get(key, ()) for key in waiting))
        listed = frozenset().union(*lists.values())
        first = [key for key in waiting if key not in later]
        found = [key for key in first if key in listed or not needs_lister(waiting[key])]
        if not found:
            found = [key for key in first or waiting if key in listed or not self._has_lister(waiting[key])]
        self._recalled.update(found)
        return [
            Candidate(
                url=row.url,
                root=row.root,
                found_by=FoundBy.SNAPSHOT,
                parent=row.parent,
                depth=row.depth,
                site_root=row.found_by is FoundBy.VARIANT and row.kind is Kind.ROBOTS,
                lastmod=row.lastmod,
                lastmod_text=row.lastmod_text,
            )
            for row in (waiting[key] for key in found)
        ]

    def _has_lister(self, row: SitemapRecord) -> bool:
        """Return whether the last snapshot has the document that listed that of *row*."""
        lister = None if row.parent is None else self._known.get(document_key(row.parent))
        return lister is not None and lister.left is None and lister.rows_from is not None

    def _gone(self, is_visited: Callable[[str], bool]) -> set[str]:
        """Return the keys of documents that were listed and are not any more, except by documents that are gone too."""
        before = frozenset().union(*self._lists_before.values())
        unvisited = {key for key, row in self._known.items() if key in before and not is_visited(row.url)}
        lists = self._lists_now()
        gone: set[str] = set()
        while True:
            listed = set().union(*(refs for key, refs in lists.items() if key not in gone))
            if unvisited - listed == gone:
                return gone
            gone = unvisited - listed

    def _lists_now(self) -> dict[str, frozenset[str]]:
        """Return the keys that each document lists, as far as known now, without :attr:`unwanted` documents."""
        lists = {key: listed for key, listed in self._lists_before.items() if key in self._known} | {
            document_key(url): _keys(kept.references)
            for url, kept in self.writer.kept.items()
            if kept.references is not None
        }
        return {key: listed - self.unwanted for key, listed in lists.items()} if self.unwanted else lists

    def document(self, candidate: Candidate) -> DocumentWriter:
        """Return a writer for the rows of *candidate*, under the URL of its first visit."""
        return DocumentWriter(self.writer, self._address(candidate.url))

    def passing(self, batches: Iterable[UrlBatch], writer: DocumentWriter) -> Iterator[UrlBatch]:
        """Yield *batches*, each after it was stored with *writer*, or after storing failed."""
        for batch in batches:
            if not self._has_failed:
                try:
                    writer.add(batch.with_columns(sitemap=pa.repeat(pa.scalar(writer.url, pa.string()), len(batch))))
                except (*WRITE_ERRORS, StoreError) as error:
                    self._has_failed = True
                    self._give_up(error)
            yield batch

    def _address(self, url: str) -> str:
        """Return *url* in the spelling of the document's first visit."""
        known = self._known.get(document_key(url))
        return known.url if known is not None else url

    def finish(
        self, writer: DocumentWriter, record: SitemapRecord, references: Sequence[SitemapRef], *, sound: int | None
    ) -> SitemapRecord:
        """Store what *writer* wrote of a document, as far as the merge policy for *record* allows; return its record.

        *references* are the documents that it names; *sound* is the last reliable
        position, ``None`` if all are.
        """
        if self._has_failed:
            return record
        key = document_key(record.url)
        policy = merge_decision(key, self._known, record, absent_runs=self._options.absent_runs).policy
        row_ranges, named, confirmed = None, None, 0
        if policy is MergePolicy.REPLACE and not self._config.feeds_only:
            row_ranges, named = writer.all(), references
        elif policy in {MergePolicy.REPLACE, MergePolicy.ADD}:
            row_ranges = writer.added(sound=sound if self._known else None)
            confirmed = writer.confirmed(row_ranges) if policy is MergePolicy.ADD else 0
            named = list({document_key(ref.loc): ref for ref in (*references, *self._references.get(key, ()))}.values())
        run, at = self.writer.run_id, record.fetched_at
        if policy in {MergePolicy.REPLACE, MergePolicy.ADD}:
            record = replace(record, rows_from=run)
        if policy is MergePolicy.REPLACE:
            record = replace(record, fresh_at=at, read_at=at, fresh_run=run)
        self.writer.keep(writer.url, DocumentRows(record, row_ranges, named, confirmed))
        return record

    def copied(self, key: str) -> KnownDocument | None:
        """Return the document *key* as stored in this run; ``None`` if it was not visited."""
        if (record := self._latest.get(key)) is None:
            return None
        address = self._address(record.url)
        kept = self.writer.kept.get(address)
        if kept is None or kept.row_ranges is None:
            return KnownDocument(record, self._references.get(key, ()), lambda: self._urls_before(address))
        return KnownDocument(record, kept.references or (), lambda: self.writer.urls_of(kept))

    def confirmed(
        self, record: SitemapRecord, known: KnownDocument, *, was_downloaded: bool, now: datetime | None = None
    ) -> SitemapRecord:
        """Return *record* with the stored facts of an unchanged document.

        *was_downloaded*: whether its body proves that it is unchanged, rather than a
        304. *now*: when that was known; ``None``: when it was requested.
        """
        now = now or record.fetched_at or datetime.now(UTC)
        record = replace(
            record,
            **{name: getattr(known.record, name) for name in _AS_BEFORE},
            etag=record.etag or known.record.etag,  # a 304 need not repeat it
            last_modified=record.last_modified or known.record.last_modified,
            complete=True,
            fresh_at=now,
            fresh_run=self.writer.run_id,
            read_at=now if was_downloaded else known.record.read_at,
        )
        self.writer.keep(self._address(record.url), DocumentRows(record))
        return record

    def keep_rules(self, record: SitemapRecord, document: Document) -> None:
        """Store the text of *document*, a robots.txt that was read completely; other documents have no rules."""
        if not record.url.endswith("/robots.txt") or record.outcome not in _WITH_RULES:
            return
        text = rules_text(document.blocks()) if record.kind is Kind.ROBOTS else ""  # another document allows everything
        self.writer.robots_texts[self._address(record.url)] = text

    def noted(self, record: SitemapRecord) -> SitemapRecord:
        """Store *record* of this run; return it, with the facts of older rows if these represent the document."""
        known = self._known.get(key := document_key(record.url))
        if known is None and self._needs_no_record(record, key):
            self.unwanted.add(key)
            return record
        if record.rows_from is None and known is not None and known.left is None:
            stored = {name: getattr(known, name) for name in _OF_THE_STORE}
            stored["absent_runs"] += record.outcome is Outcome.ABSENT
            record = replace(record, **stored)
        self.unwanted.discard(key)
        self._records.append(record)
        self._latest[key] = record
        return record

    def _needs_no_record(self, record: SitemapRecord, key: str) -> bool:
        """Whether the snapshot needs no record of the document *key*, which the last one has none of either.

        The user does not want it, and its parent, which is in the snapshot, names it: an
        index may have 100,000 such children. In a later run, some of those that are new
        need a record: their URLs are new once the user wants them.
        """
        if record.outcome is not Outcome.SKIPPED or record.parent is None or not _is_unread(record):
            return False
        parent = self._known.get(lister := document_key(record.parent))
        is_old = parent is not None and parent.left is None and key in self._lists_before.get(lister, ())
        kept = self.writer.kept.get(self._address(record.parent))
        if is_old or (not self._known and kept is not None and kept.references is not None):
            return True
        self._new_unwanted[lister] += 1
        return self._new_unwanted[lister] > MOST_NEW_UNWANTED

    def observed(self, after: Mapping[str, SitemapRecord]) -> dict[str, list[int]]:
        """Return the statistics of the dates of each index up to this run, whose records by key are *after*."""
        seen = dict(self._observed)
        for key, observed in observe(self._known, after).items():
            seen[key] = seen.get(key, LastmodStats()).plus(observed)
        return {key: list(observed) for key, observed in seen.items() if key in after}

    def pending(self, snapshot: Snapshot, after: Mapping[str, SitemapRecord]) -> pa.Table | None:
        """Return the rows that *snapshot* must keep pending because an unread document may list their URLs.

        ``None`` if there are none. *after* has the records of the new snapshot by key.
        """
        run, before = self.writer.run_id, self.writer.before
        limits = {"most_runs": self._options.pending_runs, "most_days": self._options.pending_days}
        if before is None or is_settled(run, after, self._lists_now()):
            return None
        # A URL may have moved to a sitemap that is not due, and was not checked since.
        checked = min((self._known[key].fresh_run or "" for key in self.not_due), default=run)
        return pending_rows(
            before,
            snapshot,
            is_due=lambda since, runs: since <= checked and is_overdue(since, run, runs=runs, **limits),
        )

    def partly_read(self, ledger: Iterable[SitemapRecord]) -> int:
        """Return how many entries of the documents in *ledger* were read in this run, of those read only in part."""
        kept, run = self.writer.kept, self.writer.run_id
        partly = (row for row in ledger if row.left is None and row.rows_from == run and row.fresh_run != run)
        return sum(kept[row.url].confirmed for row in partly if row.url in kept)

    def has_read(self, url: str) -> bool:
        """Whether an earlier run has read the document at *url*, or found that it lists nothing."""
        known = self._known.get(document_key(url))
        return known is not None and (known.rows_from is not None or known.fresh_at is not None)

    def ledger(self, *, now: datetime, guess: str | None = None) -> dict[str, SitemapRecord]:
        """Return the document records of the new snapshot by key, with the URLs that their rows have.

        *guess*: the URL of a robots.txt that was only guessed, because only another variant
        of it responds; ``None`` if there is none.

        This ends the site: the records of the run, which may take much memory, are
        freed.
        """
        records, self._records, self._latest = self._records, [], {}
        known = self._known
        if guess is not None:
            records = [replace(row, found_by=FoundBy.VARIANT) if row.url == guess else row for row in records]
            if (before := known.get(key := document_key(guess))) is not None:
                known = known | {key: replace(before, found_by=FoundBy.VARIANT)}
        merged = merge_snapshot(
            known,
            records,
            references=self._lists_now(),
            references_before=self._lists_before,
            run=self.writer.run_id,
            now=now,
            absent_runs=self._options.absent_runs,
            pending=self._pending,
        )
        if self.is_search_postponed:  # what is known of the paths that earlier searches tried is still valid
            probed = (key for key, row in merged.items() if row.left == NEVER_READ and row.found_by.is_guess)
            merged |= {key: replace(merged[key], left=None) for key in probed}
        rows = ((key, row, self._address(row.url)) for key, row in merged.items())
        return {key: row if address == row.url else replace(row, url=address) for key, row, address in rows}

    def stored(self, ledger: Mapping[str, SitemapRecord]) -> list[SitemapRecord]:
        """Return the records in *ledger* that the store needs.

        A document that the user does not want and that was never read needs none if
        another document names it.
        """
        named = frozenset[str]().union(*self._lists_now().values())
        return [
            row
            for key, row in ledger.items()
            if row.outcome is not Outcome.SKIPPED or not _is_unread(row) or key not in named
        ]

    def change_histories(self, ledger: Mapping[str, SitemapRecord]) -> dict[str, ChangeHistory]:
        """Return the history of the changes of each sitemap in *ledger* that has one, by URL."""
        return self._intervals.histories_after(
            self._known, ledger, run=self.writer.run_id, has_changed=self._lists_other_rows
        )

    def _lists_other_rows(self, record: SitemapRecord) -> bool:
        """Whether the document of *record*, which the run has read completely, lists other rows than before."""
        kept, before = self.writer.kept.get(record.url), self.writer.before
        if kept is None or kept.row_ranges is None or before is None:
            return True
        now, then = (np.unique(one.rows()) for one in (kept.row_ranges, before.row_ranges_of(record.url)))
        return not np.array_equal(now, then)


def _is_unread(row: SitemapRecord) -> bool:
    """Whether nothing is known of the document of *row*, a record of a skipped document."""
    return all(getattr(row, name) is None for name in ("fetched_at", "final_url", "rows_from", "fresh_at", "left"))


def _keys(references: Iterable[SitemapRef]) -> frozenset[str]:
    return frozenset(document_key(ref.loc) for ref in references)
