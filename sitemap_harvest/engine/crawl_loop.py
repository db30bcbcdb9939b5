"""``CrawlLoop``: one run. Requests the documents in the order of the frontier, and processes what comes of each."""

from __future__ import annotations

import logging
import time
from itertools import chain
from typing import TYPE_CHECKING, Any

from sitemap_harvest.discovery.candidate import Candidate, NotFetched
from sitemap_harvest.engine.document_processor import DocumentProcessor
from sitemap_harvest.engine.document_records import record_of
from sitemap_harvest.engine.interfaces import PAUSE
from sitemap_harvest.engine.results import ROWS_TOGETHER, Results
from sitemap_harvest.engine.run_state import fields
from sitemap_harvest.engine.site_parts import SiteBlock
from sitemap_harvest.model import Outcome, SiteRecord, SiteResult
from sitemap_harvest.snapshots.conditional_requests import ConditionalRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.discovery.site_state import SiteState
    from sitemap_harvest.engine.interfaces import DocumentResponse, SiteUnavailable, Transfer
    from sitemap_harvest.engine.run_state import RunParts

logger = logging.getLogger(__name__)


class CrawlLoop:
    """Decides which document a run requests next, and when the run is over.

    Does no input or output: the caller sends the requests that :meth:`steps` yields, and
    passes each response or error back. Candidates wait here instead of in Scrapy's
    scheduler: 50,000 children take a few megabytes, and concurrent downloads are limited
    by ``SITEMAP_HARVEST_BODIES``.
    """

    def __init__(self, parts: RunParts) -> None:
        self._parts = parts
        self.sites = parts.sites
        self.in_flight = parts.in_flight
        self._pages = parts.pages
        self.probe = parts.probe
        self.results = Results(parts)
        self._processor = DocumentProcessor(parts, self.results)
        self._busy: list[SiteState] = []  # sites locked by another run
        self._waits: set[str] = set()  # sites for which the wait was logged

    def steps(self) -> Iterator[Any]:
        """Yield the requests and records of the run when they are due, and ``PAUSE``; ``None`` while nothing is due."""
        for root, reason in self._parts.config.no_sites:  # invalid lines of the file of sites
            yield from self.results.site_record(SiteRecord(root=root, result=SiteResult.NOT_A_SITE, reason=reason))
        if self._parts.config.at is not None:
            for root in dict.fromkeys(candidate.root for candidate in self._parts.config.candidates):
                yield from self.results.audits.stored_site(root)
        while True:
            self._parts.summary.queued = len(self.sites.frontier) + len(self.in_flight.downloads)
            yield from self._records_due()
            if (output := self._next_requests()) is not None:
                yield from output
            elif len(self.sites.frontier) or self.in_flight.downloads or self._pages or self._busy or self.probe:
                yield None
            elif not self.results.pending:
                yield from self.results.audits.due()
                return

    def answered(self, response: DocumentResponse, candidate: Candidate) -> Iterator[Any]:
        """Yield the URLs and the record of the document of *candidate*, and ``PAUSE``; and queue its children."""
        if candidate.url not in self.in_flight.downloads:
            return iter(())  # already done: something requested it twice
        if self._pages is not None:
            self._pages.note_answer(candidate, response)
        return self._until_done(self._processor.answer(response, candidate), candidate, response.transfer)

    def failed(
        self,
        failure: NotFetched,
        candidate: Candidate,
        transfer: Transfer | None,
        *,
        url: str,
        response: DocumentResponse | None = None,
    ) -> Iterator[Any]:
        """Yield the record of a document that could not be downloaded.

        *transfer* is that of the last request for it; ``None`` if none was sent. *url* is
        the URL requested last, possibly after a redirect. *response* is the response that
        the downloader treats as an error; ``None`` if there was none.
        """
        return self._until_done(self._processor.failure(failure, candidate, transfer, url, response), candidate)

    def end(self, candidate: Candidate, why: str = "a spider middleware did not consume the document's output") -> None:
        """End *candidate*; *why* is the reason in its record, if it has none yet."""
        if (download := self.in_flight.downloads.get(candidate.url)) is None:
            return
        if download.needs_record:
            download.needs_record = False  # the output that was abandoned may still be closed, and must not add one
            self.results.pending.append(self.results.refusal(candidate, NotFetched(Outcome.FAILED, why)))
        if self._pages is not None:
            self._pages.release(candidate)
        self.in_flight.end(candidate)
        self.sites.done(candidate, time.monotonic(), was_requested=download.held is not None)

    def slow_down(self, url: str, delay: float) -> None:
        """Apply the ``Crawl-delay`` of the host of *url*, in seconds, as many times as jobs share it."""
        sharers = 1 if self._parts.part is None else self._parts.part.sharers
        self.sites.frontier.host(url).slow_down(min(delay, self._parts.options.max_wait) * sharers)

    def left_over(self) -> Iterator[Any]:
        """Yield the records of everything that is still open when the run ends early."""
        yield from self.results.pending_records()
        for site in [site for site in self.sites.by_root.values() if self._is_finished(site)]:
            yield from (item for item in self.results.site(site, is_over=True) if item is not PAUSE)
        yield from self.results.left_over()

    def _is_finished(self, site: SiteState) -> bool:
        """Whether nothing of *site*, which has no record yet, is left to request."""
        if site.is_over or site.waiting or site.shared or not site.lists or self.results.has_enough:
            return False
        return not self._next_candidates(site)

    def _next_requests(self) -> Iterator[Any] | None:
        """Return the next request: for a document, else for a page; ``None`` if neither is due."""
        now = time.monotonic()
        if (postponed := self.in_flight.next_postponed(now)) is not None:
            if (not_fetched := self.sites.shut(postponed)) is None or self._has_read(postponed):
                return self._request(postponed)
            self._refuse(postponed, not_fetched)
            return iter(())
        has_room = not self.results.has_enough and len(self.in_flight.downloads) < self._parts.max_in_flight
        is_full = not has_room or self.in_flight.is_full(now, most=self._parts.options.concurrency)
        while not is_full and len(self.results.pending) < ROWS_TOGETHER and (taken := self.sites.take(now)):
            candidate, not_fetched = taken
            if not_fetched is not None and not self._has_read(candidate):
                self._refuse(candidate, not_fetched)
                continue
            if self.in_flight.fits(candidate, now):
                return self._request(candidate)
            self.in_flight.postpone(candidate)
            return iter(())
        if self.results.pending:
            return iter(())
        page = self._pages.next() if self._pages is not None else None
        page = self._parts.next_probed() if page is None else page
        return None if page is None else iter([page])

    def _has_read(self, candidate: Candidate) -> bool:
        """Whether *candidate* needs no request, because this run has read it before it was interrupted."""
        site = self._parts.stored(candidate.root)
        return site is not None and site.has_taken_over(candidate)

    def _refuse(self, candidate: Candidate, not_fetched: NotFetched) -> None:
        """End *candidate*, which is not requested as *not_fetched* says."""
        self.results.pending.append(self.results.refusal(candidate, not_fetched))
        self.in_flight.end(candidate)
        self.sites.done(candidate, time.monotonic(), was_requested=False)

    def _request(self, candidate: Candidate) -> Iterator[Any]:
        """Yield the request for *candidate*, or the URLs and the record of a document that need not be requested."""
        site = self._parts.stored(candidate.root)
        conditions, known = (ConditionalRequest(), None) if site is None else site.conditional_request(candidate)
        try:
            request = self._parts.build_request(candidate, conditions.headers)
        except ValueError as error:  # an invalid host or port
            self._refuse(candidate, NotFetched(Outcome.FAILED, f"the URL cannot be requested: {error}"))
            return
        self.in_flight.begin(candidate, time.monotonic(), is_requested=known is None)
        if known is not None:
            self.sites.spare(candidate)  # an index may have 100,000 children that are not due
            yield from self._until_done(self._processor.known(candidate, known, conditions), candidate)
            return
        yield request
        download = self.in_flight.downloads.get(candidate.url)
        if download is not None and not download.was_scheduled:  # so no response will come
            record = record_of(candidate, NotFetched(Outcome.SKIPPED, "a spider middleware dropped the request"))
            yield from self.results.ended(record)
            self.end(candidate)

    def _until_done(
        self, output: Iterator[Any], candidate: Candidate, transfer: Transfer | None = None
    ) -> Iterator[Any]:
        try:
            yield from output
        except Exception as error:
            failure = NotFetched(Outcome.FAILED, f"reading the document failed unexpectedly: {error!r}")
            yield from self.results.ended(record_of(candidate, failure, transfer=transfer))
            raise
        finally:
            self.end(candidate)

    def _records_due(self) -> Iterator[Any]:
        """Yield the records that :meth:`steps` has to emit: of documents dropped after the limit, and of sites."""
        yield from self.results.pending_records()
        if (session := self._parts.session) is not None:
            session.checkpoint()
        has_enough = self.results.has_enough
        if has_enough:
            waiting = self.sites.drain(time.monotonic())
            yield from self.results.cut_off(waiting, self.results.limit_reason())
        busy, self._busy = self._busy, []
        for site in chain(busy, self.sites.settled()):
            if session is not None and (unavailable := session.begin(site.root)) is not None:
                yield from self._unavailable(site, unavailable)
                continue
            candidates = [] if has_enough else self._next_candidates(site)
            yield from self.results.consider(candidates)
            if candidates:
                self.sites.settle(site)
            else:
                yield from self.results.site(site, is_over=not has_enough)
        yield from self.results.audits.probed()

    def _unavailable(self, site: SiteState, unavailable: SiteUnavailable) -> Iterator[Any]:
        """Queue *site* to wait for the other run, if the user wants that, or else yield the record of the failure."""
        waits = unavailable.is_temporary and self._parts.options.busy == "wait"
        if waits and not self.results.has_enough:
            if site.root not in self._waits:
                self._waits.add(site.root)
                logger.info("%s is waiting: %s", site.root, unavailable.reason, extra=fields("waits", site=site.root))
            self._busy.append(site)
            return
        if not waits:  # else the limit ends the wait
            site.unavailable = unavailable.reason
            self._parts.summary.site_notes.add(
                f"{site.root}: {unavailable.reason}", site=site.root, result="unfinished"
            )
        yield from self.results.site(site, is_over=False)

    def _next_candidates(self, site: SiteState) -> list[tuple[Candidate, NotFetched | None]]:
        """Return the next candidates of *site*, each with the reason if the user does not want it."""
        part = self._parts.part
        if isinstance(part, SiteBlock):
            return self._children_in(part, site)
        if part is not None and not part.is_published:
            return []  # what is left belongs to the last run
        return [(candidate, None) for candidate in self._known_or_probes(site)]

    def _children_in(self, block: SiteBlock, site: SiteState) -> list[tuple[Candidate, NotFetched | None]]:
        """Return the children of *site* that *block* reads, once."""
        stored = self._parts.stored(site.root)
        if stored is None or block.has_begun:
            return []
        block.has_begun, own = True, []
        for child, unwanted in block.children(site.root, stored.references_of, self._parts.children):
            if block.has(child.url):
                own.append((child, unwanted))
            else:  # so that a document that redirects there is not read twice
                self.sites.claim(child)
        return own

    def _known_or_probes(self, site: SiteState) -> list[Candidate]:
        """Return the next candidates of *site*: documents of the last snapshot before probes."""
        feeds_only = self._parts.config.feeds_only
        if feeds_only or self.sites.is_visited(site.first.url, site.root):
            stored = self._parts.stored(site.root)
            site.was_read = stored is not None and stored.has_read(site.first.url)
            known = stored.recall(lambda url: self.sites.is_visited(url, site.root)) if stored is not None else []
            site.skips |= feeds_only and stored is not None and stored.lists_urls
            if known or feeds_only:
                return known
            if (session := self._parts.session) is not None and (search := session.postponed_search(site)) is not None:
                site.postpone(search)
        candidate = site.next_candidate()
        return [] if candidate is None else [candidate]
