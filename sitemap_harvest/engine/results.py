"""``Results``: everything that a run emits: URLs, one record for each document and each site, and changes."""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from sitemap_harvest.engine.audit_results import AuditResults
from sitemap_harvest.engine.document_records import cut_off_record, record_of
from sitemap_harvest.engine.interfaces import PAUSE
from sitemap_harvest.filters import Filters
from sitemap_harvest.frontier.site_queue import secure_twin
from sitemap_harvest.model import LedgerBatch, Outcome, SitemapRecord, SiteResult

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from sitemap_harvest.discovery.candidate import Candidate, NotFetched
    from sitemap_harvest.discovery.site_state import SiteState
    from sitemap_harvest.engine.run_state import RunParts
    from sitemap_harvest.model import Batch, SiteRecord, UrlBatch

MOST_REFUSED_ROWS = 1_000
"""Maximum number of records for refused children of one document: an index may name 100,000 of them."""
ROWS_TOGETHER = 1_000
"""Maximum number of records in a batch, for documents that are not requested; single items cost ten times as much."""
_FEW_ROWS = 100  # are emitted one by one: an exporter writes records and batches separately


class UrlCounts(NamedTuple):
    """URL counts of one document."""

    listed: int = 0
    """URLs that were read."""
    dropped: int = 0
    urls: int = 0
    """URLs that were emitted."""


_NO_URLS = UrlCounts()


class Results:
    """Filters, limits and counts what the documents of a run give, and yields what ``emit`` includes.

    Each document is counted once, and the state of its site is updated with it. URLs go
    to the page visits too.
    """

    def __init__(self, parts: RunParts) -> None:
        self._parts = parts
        self._config = parts.config
        self._summary = parts.summary
        self._summary.limit = parts.config.limit
        self._sites = parts.sites
        self._in_flight = parts.in_flight
        self._has_filters = parts.config.filters != Filters()
        is_limited = self._has_filters or parts.config.limit is not None
        self.needs_urls = "urls" in parts.config.emit or parts.pages is not None or is_limited
        """Whether anything uses the URLs themselves, and not only their number."""
        self._as_rows = False
        self._epoch = time.time() - time.monotonic()
        self.pending: deque[SitemapRecord] = deque()
        """Records of documents that nothing else will end."""
        self.audits = AuditResults(parts, self._as_wanted)
        """The results of the stored sites."""

    @property
    def has_enough(self) -> bool:
        """Whether ``limit`` URLs were emitted."""
        return self._summary.has_enough

    def limit_reason(self, when: str = "") -> str:
        """Return the text that the limit was reached *when*."""
        return f"limit={self._config.limit} was reached {when}".rstrip()

    def count(self, urls: int) -> None:
        """Count *urls* that are emitted, or that nothing uses."""
        self._summary.urls += urls
        self._summary.count("sitemap_harvest/urls", urls)

    def urls(
        self, batches: Iterable[UrlBatch], candidate: Candidate, *, stores: bool = False
    ) -> Generator[Any, None, UrlCounts]:
        """Yield the URLs in *batches*, of the document of *candidate*, up to the limits; return the counts.

        *stores*: whether reading *batches* stores them, so ``limit`` ends only the output.
        Do not compute them from ``summary.urls``: other documents may emit URLs between
        two yields.
        """
        listed, dropped, urls = 0, 0, 0
        left = self._sites.urls_left(candidate)
        for found in batches:
            if not len(found):
                yield PAUSE
                continue
            batch = part = found if left is None else found.slice(0, left - listed)
            if self._has_filters:
                batch, why = self._config.filters.keep(part)
                self._summary.count_filtered(why, kept=len(batch))
            listed += len(part)
            dropped += len(part) - len(batch)
            if self._config.limit is not None:
                batch = batch.slice(0, self._config.limit - self._summary.urls)
            if len(batch):
                urls += len(batch)
                self.count(len(batch))
                if self._parts.pages is not None:
                    self._parts.pages.add(batch, candidate)
                if "urls" in self._config.emit:
                    yield from self._as_wanted(batch)
            if len(part) < len(found) or (self.has_enough and not stores):
                break
        return UrlCounts(listed, dropped, urls)

    def consider(
        self, candidates: Iterable[tuple[Candidate, NotFetched | None]], *, most: float = math.inf
    ) -> Generator[Any, None, int]:
        """Queue *candidates* of one site, each with the reason if the user does not want it, or yield their records.

        *most*: of those refused for other reasons, only so many get a record. Return the
        number without a record.
        """
        refused = 0
        left = iter(candidates)
        if (first := next(left, None)) is None:
            return 0
        left = chain([first], left)
        if (stored := self._parts.stored(first[0].root)) is not None:
            left = stored.in_order(left)
        while some := list(islice(left, ROWS_TOGETHER)):
            rows: list[SitemapRecord] = []
            for candidate, unwanted in some:
                has_row = unwanted is not None or refused < most
                not_fetched = self._sites.consider(candidate, time.monotonic(), unwanted, remembers=has_row)
                if not_fetched is None:
                    continue
                refused += not_fetched.outcome is not Outcome.SKIPPED
                if has_row or not_fetched.outcome is Outcome.SKIPPED:
                    rows += self._enter(self.refusal(candidate, not_fetched))
            yield from self._together(iter(rows))
            if len(some) == ROWS_TOGETHER:
                yield PAUSE
        return int(max(0, refused - most))

    def requeue(self, candidate: Candidate, url: str, seconds: float) -> None:
        """Queue *candidate*, which is in flight, again after *seconds*, the wait that the host of *url* requires."""
        if (download := self._in_flight.downloads.get(candidate.url)) is not None:
            download.needs_record = False  # it gets its record when it is done
        self._sites.requeue(candidate, url, time.monotonic() + seconds)
        self._summary.count("sitemap_harvest/requeued", 1)

    def pending_records(self) -> Iterator[SitemapRecord | LedgerBatch]:
        """Yield the pending records."""
        return self._together(row for _ in range(len(self.pending)) for row in self._enter(self.pending.popleft()))

    def refusal(self, candidate: Candidate, not_fetched: NotFetched) -> SitemapRecord:
        """Return the record of *candidate*, which has no document as *not_fetched* says, and note it for its site."""
        if not_fetched.is_pruned:
            self._summary.count("sitemap_harvest/filter/pruned", 1)
        record = record_of(candidate, not_fetched)
        self._sites.note(candidate, record, urls=0)
        return record

    def cut_off(
        self,
        candidates: Iterable[Candidate],
        why: str,
        outcome: Outcome = Outcome.OVER_LIMIT,
        *,
        in_flight: bool = False,
    ) -> Iterator[SitemapRecord | LedgerBatch]:
        """Yield the records of *candidates*, not read because of the limit or because the run ended early (*why*)."""
        return self._together(
            row
            for candidate in candidates
            for row in self._enter(cut_off_record(candidate, why, outcome, in_flight=in_flight), is_wanted=True)
        )

    def ended(
        self, record: SitemapRecord, counts: UrlCounts = _NO_URLS, *, is_wanted: bool = False
    ) -> Iterator[SitemapRecord]:
        """Yield *record* of a requested document, unless it already has one.

        *counts* are those of its URLs. *is_wanted*: whether the user caused its outcome
        (``limit``).
        """
        download = self._in_flight.downloads.get(record.url)
        if download is None or not download.needs_record:
            return
        if (site := self._parts.stored(record.root)) is not None:
            record = site.noted(record)
        try:
            if "sitemaps" in self._config.emit:
                yield replace(record)  # a pipeline may change it, but not what the run knows
        finally:  # also if a spider middleware failed on the record and another record replaced it
            if download.needs_record:
                download.needs_record = False
                self._sites.note(download.candidate, record, urls=counts.listed)
                self._summary.add(record, urls=counts.urls, is_wanted=is_wanted)

    def not_read(self, candidate: Candidate, record: SitemapRecord) -> Iterator[SitemapRecord]:
        """Yield *record* of a requested document that is not read, and try https if plain http failed."""
        yield from self.ended(record)
        if twin := secure_twin(candidate, record):
            yield from self.consider([(twin, None)])

    def site(self, site: SiteState, *, is_over: bool) -> Iterator[Any]:
        """Yield the record of *site* and its changes.

        *is_over*: ``False`` if the run stopped before the site was finished.
        """
        shared = site.shared_documents
        record = self._sites.conclude(site, is_over=is_over, epoch=self._epoch)
        is_unfinished = record.result is SiteResult.UNFINISHED and not is_over
        is_wanted = is_unfinished and self.has_enough and site.unavailable is None and not record.limits
        if is_wanted:
            record = replace(record, reason=self.limit_reason("before the search was over"))
        is_unread = not (record.documents or site.shared_from)  # only feeds are wanted, and it has none
        yield from self.site_record(record, is_wanted=is_wanted, is_unread=is_unread)
        if (session := self._parts.session) is None:
            return
        if not (found := session.commit(record, shared, self._sites.owner, state=site, is_over=is_over)):
            return
        self._summary.add_snapshot(found[-1].summary)
        for changes in found:
            with changes:
                self._summary.add_changes(changes.summary, is_last=changes is found[-1])
                if changes.summary.baseline is None:
                    self._summary.add_without_baseline(session.targets_alike(site.root))
                if "changes" in self._config.emit:
                    for batch in changes.batches():
                        yield from self._as_wanted(batch)
                if "summaries" in self._config.emit:
                    yield changes.summary
        if session.delivery is not None:
            session.delivery.mark_delivered(site.root)
        yield from self.audits.stored_site(site.root, found[-1].summary.run)

    def left_over(self) -> Iterator[Any]:
        """Yield the records of everything that a run which ended early did not process."""
        left = [download.candidate for download in self._in_flight.downloads.values() if download.needs_record]
        yield from self.cut_off(left, "the run ended", Outcome.INTERRUPTED, in_flight=True)
        waiting = list(self._sites.drain(time.monotonic()))
        yield from self.cut_off(waiting, "the run ended", Outcome.INTERRUPTED)
        self._summary.queued = len(left) + len(waiting)
        for site in self._sites.unfinished():
            yield from (item for item in self.site(site, is_over=False) if item is not PAUSE)
        yield from (item for item in self.audits.probed(is_over=True) if item is not PAUSE)
        yield from (item for item in self.audits.due() if item is not PAUSE)

    def _enter(self, record: SitemapRecord, *, is_wanted: bool = False) -> Iterator[SitemapRecord]:
        if (site := self._parts.stored(record.root)) is not None:
            record = site.noted(record)
        self._summary.add(record, urls=0, is_wanted=is_wanted)
        if "sitemaps" in self._config.emit:
            yield replace(record)

    def site_record(
        self, record: SiteRecord, *, is_wanted: bool = False, is_unread: bool = False
    ) -> Iterator[SiteRecord]:
        """Count *record*, and yield it. For *is_wanted* and *is_unread* see :meth:`Summary.add_site`."""
        self._summary.add_site(record, is_wanted=is_wanted, is_unread=is_unread)
        if "sites" in self._config.emit:
            yield replace(record)

    def _together(self, rows: Iterator[SitemapRecord]) -> Iterator[SitemapRecord | LedgerBatch]:
        """Yield *rows*, as batches if there are many."""
        while some := list(islice(rows, ROWS_TOGETHER)):
            if len(some) < _FEW_ROWS:
                yield from some
            else:
                yield from self._as_wanted(LedgerBatch.of(some))

    def _as_wanted(self, batch: Batch[Any]) -> Iterator[Any]:
        """Yield *batch*, or its rows if a component without batch support needs them."""
        self._as_rows = self._as_rows or self._parts.needs_rows()  # each time: a handler may have been connected since
        if self._as_rows:
            yield from batch.rows()
        else:
            yield batch
