"""``Ledger``: writes one record for each document of the run, and one for each site."""

from __future__ import annotations

import time
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

from sitemap_harvest.discovery.candidate import Candidate, NotFetched
from sitemap_harvest.engine.document_records import note_without_row, record_of
from sitemap_harvest.model import LedgerBatch, Outcome, SitemapRecord, SiteRecord, SiteResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.discovery.site_state import SiteState
    from sitemap_harvest.engine.run_parts import RunParts


MOST_REFUSED_ROWS = 1_000
"""Maximum number of records for refused children of one document: an index may name 100,000 of them."""
_ROWS_TOGETHER = 1_000  # for documents that are not requested; as single items they cost ten times as much
_FEW_ROWS = 100  # are emitted one by one: an exporter writes records and batches separately


class Ledger:
    """Counts each record once, updates the state of its site, and yields it if ``emit`` includes such records."""

    def __init__(self, parts: RunParts) -> None:
        self._session = parts.session
        self._config = parts.config
        self._summary = parts.summary
        self._stats = parts.stats
        self._sites = parts.sites
        self._in_flight = parts.in_flight
        self.pending: deque[SitemapRecord] = deque()
        """Records of documents that nothing else will end."""
        self._epoch = time.time() - time.monotonic()

    def consider(self, candidate: Candidate, unwanted: NotFetched | None = None) -> Iterator[SitemapRecord]:
        """Queue *candidate*, or yield the record of why it is not fetched, once for each document.

        *unwanted*: why the user does not want it, if so.
        """
        not_fetched = self._sites.consider(candidate, time.monotonic(), unwanted)
        self.count_queued()
        if not_fetched is not None:
            yield from self.refused(candidate, not_fetched)

    def follow(
        self, children: Iterable[tuple[Candidate, NotFetched | None]], record: SitemapRecord
    ) -> Iterator[SitemapRecord | LedgerBatch]:
        """Queue *children* of the document of *record*, each with the reason if the user does not want it.

        Of those refused for other reasons, the first :data:`MOST_REFUSED_ROWS` get a
        record. The number without a record is written to *record*.
        """
        return _together(self._follow(children, record))

    def _follow(
        self, children: Iterable[tuple[Candidate, NotFetched | None]], record: SitemapRecord
    ) -> Iterator[SitemapRecord]:
        refused = 0
        for candidate, unwanted in children:
            has_row = unwanted is not None or refused < MOST_REFUSED_ROWS
            not_fetched = self._sites.consider(candidate, time.monotonic(), unwanted, remembers=has_row)
            if not_fetched is None:
                continue
            refused += not_fetched.outcome is not Outcome.SKIPPED
            if has_row or not_fetched.outcome is Outcome.SKIPPED:
                yield from self.refused(candidate, not_fetched)
        self.count_queued()
        if refused > MOST_REFUSED_ROWS:
            note_without_row(record, refused - MOST_REFUSED_ROWS)

    def requeue(self, candidate: Candidate, url: str, seconds: float) -> None:
        """Queue *candidate* again after *seconds*, the wait that the host of *url* requires."""
        self._in_flight.give_record(candidate.url)  # it gets its record when it is done
        self._sites.requeue(candidate, url, time.monotonic() + seconds)
        self._stats.inc_value("sitemap_harvest/requeued")

    def count_queued(self) -> None:
        """Update the count of documents queued or in flight."""
        self._summary.queued = len(self._sites) + len(self._in_flight)

    def add_pending(self, candidate: Candidate, not_fetched: NotFetched) -> None:
        """Store that *candidate* was *not_fetched*; its record cannot be yielded now."""
        record = record_of(candidate, not_fetched)
        self._sites.note(candidate, record, urls=0)
        self.pending.append(record)

    def pending_records(self) -> Iterator[SitemapRecord]:
        """Yield the pending records."""
        while self.pending:
            yield from self._enter(self.pending.popleft())

    def refused(self, candidate: Candidate, not_fetched: NotFetched) -> Iterator[SitemapRecord]:
        """Yield the record of *candidate*, which is not requested as *not_fetched* says."""
        if not_fetched.is_pruned:
            self._stats.inc_value("sitemap_harvest/filter/pruned")
        record = record_of(candidate, not_fetched)
        self._sites.note(candidate, record, urls=0)
        yield from self._enter(record)

    def cut_off(self, candidates: Iterator[Candidate], reason: str) -> Iterator[SitemapRecord | LedgerBatch]:
        """Yield the records of *candidates*, not requested because of the limit or because the user stopped the run."""
        not_fetched = NotFetched(Outcome.OVER_LIMIT, reason)
        return _together(
            row for candidate in candidates for row in self._enter(record_of(candidate, not_fetched), is_wanted=True)
        )

    def ended(
        self, record: SitemapRecord, *, urls: int = 0, listed: int = 0, is_wanted: bool = False
    ) -> Iterator[SitemapRecord]:
        """Yield *record* of a requested document, unless it already has one.

        It lists *listed* URLs, of which *urls* were emitted. *is_wanted*: whether the
        user caused its outcome (``limit``).
        """
        if (candidate := self._in_flight.candidate_without_record(record.url)) is None:
            return
        self._session.note(record)
        try:
            if "sitemaps" in self._config.emit:
                yield record
        finally:  # also if a spider middleware failed on the record and another record replaced it
            if self._in_flight.give_record(record.url):
                self._sites.note(candidate, record, urls=listed)
                self._summary.add(record, self._stats, urls=urls, is_wanted=is_wanted)

    def site(self, site: SiteState, *, is_over: bool) -> Iterator[Any]:
        """Yield the record of *site* and its changes.

        *is_over*: ``False`` if the run stopped before the site was finished.
        """
        shared = site.shared_documents
        yield from self._enter_site(self._sites.conclude(site, is_over=is_over, epoch=self._epoch))
        found = self._session.commit(site.root, shared, self._sites.frontier.owner, is_over=is_over)
        if not found:
            return
        self._summary.add_snapshot(found[-1].summary)
        for changes in found:
            with changes:
                self._summary.add_changes(changes.summary, self._stats)
                if "changes" in self._config.emit:
                    yield from changes.batches()
                if "summaries" in self._config.emit:
                    yield changes.summary
        self._session.mark_delivered(site.root)

    def no_sites(self) -> Iterator[SiteRecord]:
        """Yield a record for each invalid line of the file of sites."""
        for root, reason in self._config.no_sites:
            yield from self._enter_site(SiteRecord(root=root, result=SiteResult.NOT_A_SITE, reason=reason))

    def left_over(self) -> Iterator[Any]:
        """Yield the records of everything that a run which ended early did not process."""
        yield from self.pending_records()
        left = [*self._in_flight.unanswered()]
        yield from self.cut_off(iter(left), "the run ended before a response arrived")
        left += (waiting := [*self._sites.drain(time.monotonic())])
        yield from self.cut_off(iter(waiting), "the run ended before it was requested")
        self._summary.queued = len(left)
        for site in self._sites.unfinished():
            yield from self.site(site, is_over=False)

    def _enter(self, record: SitemapRecord, *, is_wanted: bool = False) -> Iterator[SitemapRecord]:
        self._session.note(record)
        self._summary.add(record, self._stats, urls=0, is_wanted=is_wanted)
        if "sitemaps" in self._config.emit:
            yield record

    def _enter_site(self, record: SiteRecord) -> Iterator[SiteRecord]:
        self._summary.add_site(record, self._stats)
        if "sites" in self._config.emit:
            yield record


def _together(rows: Iterator[SitemapRecord]) -> Iterator[SitemapRecord | LedgerBatch]:
    """Yield *rows*, as batches if there are many."""
    while some := list(islice(rows, _ROWS_TOGETHER)):
        if len(some) < _FEW_ROWS:
            yield from some
        else:
            yield LedgerBatch.of(some)
