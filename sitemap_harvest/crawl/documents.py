"""The documents of a run: which one is requested next, and what happens when its answer comes."""

from __future__ import annotations

import logging
import math
import time
import weakref
from collections.abc import Iterator  # noqa: TC003 - others look at the signatures of callbacks, as scrapy-poet does
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import ResponseDataLossError, StopDownload
from scrapy.http import Response  # noqa: TC002 - the same

from sitemap_harvest.crawl.bodies import Bodies
from sitemap_harvest.crawl.document_requests import DocumentRequests, lead_of
from sitemap_harvest.crawl.pages import has_requests
from sitemap_harvest.crawl.record import record_of
from sitemap_harvest.crawl.referring import Referring
from sitemap_harvest.crawl.watching.run_mark import fields
from sitemap_harvest.model import Outcome
from sitemap_harvest.plan import Lead, Refusal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from sitemap_harvest.crawl.arguments import Plan
    from sitemap_harvest.crawl.flights import Flights
    from sitemap_harvest.crawl.handout import Handout
    from sitemap_harvest.crawl.keeping import Hindrance, Keeper
    from sitemap_harvest.crawl.ledger import Ledger
    from sitemap_harvest.crawl.options import Options
    from sitemap_harvest.crawl.pages import Pages
    from sitemap_harvest.crawl.reading import Reading
    from sitemap_harvest.crawl.start_requests import Seeds
    from sitemap_harvest.crawl.summary import Summary
    from sitemap_harvest.model import SitemapRecord, SiteRecord
    from sitemap_harvest.plan import Site, Sites

logger = logging.getLogger(__name__)

_LONGEST_REASON = 300  # characters of an error that is not ours
_LOOK_SECONDS = 1.0  # after which what had to wait is looked at again: a time has passed, or a host has not answered
_ITEM_SECONDS = 0.01  # after which it is looked again whether an item has come through the pipelines


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a run is made of."""

    plan: Plan
    options: Options
    summary: Summary
    sites: Sites
    flights: Flights
    seeds: Seeds
    pages: Pages
    handout: Handout
    ledger: Ledger
    reading: Reading
    keeper: Keeper | None
    """What keeps the documents in a store; ``None`` if there is none."""


class Documents:
    """Asks the plan for what to request, and when, and leaves what comes to the reading.

    Leads wait in a frontier of our own, not in Scrapy's scheduler: 50,000
    children cost a few megabytes there, and only as many are downloaded at a
    time as fit into ``SITEMAP_HARVEST_BODIES``.
    """

    def __init__(self, crawler: Crawler, parts: Parts) -> None:
        self._crawler = crawler
        self._plan = parts.plan
        self._options = parts.options
        self._summary = parts.summary
        self._sites = parts.sites
        self._flights = parts.flights
        self._ledger = parts.ledger
        self._reading = parts.reading
        self._handout = parts.handout
        self._pages = parts.pages
        self._keeper = parts.keeper
        self._most_in_flight = positive(crawler.settings, "CONCURRENT_REQUESTS") or parts.options.concurrency
        self._bodies = Bodies(
            most=parts.options.bodies,
            small=parts.options.bodies // max(self._most_in_flight, parts.options.concurrency),
        )
        self._bodies.listen(crawler)
        self._busy: list[Site] = []  # sites that wait for another run
        self._waits: set[str] = set()  # of which that was told
        self._requests = DocumentRequests(
            crawler.settings,
            callback=self.answered,
            errback=self.failed,
            keeper=parts.keeper,
            referring=Referring(crawler),
            like=parts.seeds.like,
            read_declared=parts.options.read_declared,
        )
        crawler.signals.connect(self.note_error, signal=signals.spider_error)
        crawler.signals.connect(self.note_rules, signal=signals.robots_parsed)

    async def steps(self) -> AsyncIterator[Any]:
        """Yield a request for each lead as soon as there is room for its body, and the records that are due."""
        for no_site in self._ledger.no_sites():
            yield no_site
        while True:
            for record in self._records_due():
                yield record
            requests = self._next_requests()
            if requests is not None:
                for request_or_record in requests:
                    yield request_or_record
            elif len(self._sites) or len(self._flights) or self._pages or self._busy:
                await self._wait()
            elif not self._ledger.owes:
                break
        # Scrapy looks whether all is done as the last item goes to the pipelines, and then no more for five seconds.
        while (slot := self._crawler.engine.scraper.slot) is not None and not slot.is_idle():
            await self._flights.next_end(_ITEM_SECONDS)

    def answered(self, response: Response, lead: Lead, asked: float) -> Iterator[Any]:
        """Yield the URLs of a document and its ledger row. Its children go to the frontier."""
        if lead not in self._flights:
            return iter(())  # the run is done with it: something asked for it twice
        self._pages.note_answer(lead, response)
        return self._watched(self._reading.answer(response, lead, asked), lead)

    def failed(self, failure: Failure) -> Iterator[Any]:
        """Yield the ledger row of a document that could not be downloaded."""
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy puts it there
        lead, asked = request.cb_kwargs["lead"], request.cb_kwargs["asked"]
        if isinstance(failure.value, StopDownload) and self._bodies.was_stopped(lead):
            failure.value.response = failure.value.__traceback__ = None  # both hold what has come of the body
            self._wait_for_room(lead)
            return iter(())
        if isinstance(failure.value, ResponseDataLossError) and "download_fail_on_dataloss" not in request.meta:
            # What comes before the cut is better than nothing, now that asking again has not helped.
            return iter([self._requests.build(lead, download_fail_on_dataloss=False, dont_retry=True)])
        proxy = request.meta.get("proxy")
        return self._watched(self._reading.failure(failure.value, lead, asked, url=request.url, proxy=proxy), lead)

    def note_error(self, failure: Failure, response: Response | Failure | None) -> None:
        """Give up on a document whose output a part of the project could not read: it will not come to its end."""
        request: Request | None = getattr(response, "request", None)
        if request is not None and (lead := lead_of(request)) is not None:
            self._done(lead, f"the project's code failed: {failure.value!r}"[:_LONGEST_REASON])

    def note_rules(self, request: Request, robotparser: RobotParser) -> None:
        """Slow down where the robots.txt of a host asks for it (``Crawl-delay``)."""
        settings = self._crawler.settings
        if delay := robotparser.crawl_delay(settings["ROBOTSTXT_USER_AGENT"] or settings["USER_AGENT"]):
            delay = min(delay, self._options.max_wait)
            self._sites.frontier.slow_down(request.url, delay)
            self._pages.slow_down(request.url, delay)

    async def _wait(self) -> None:
        """Wait until a document ends, or it is time to look again at what has to wait."""
        wait = (self._sites.next_turn() or 0.0) - time.monotonic()
        await self._flights.next_end(min(wait, _LOOK_SECONDS) if wait > 0 else _LOOK_SECONDS)
        engine = self._crawler.engine
        slot = engine.scraper.slot
        has_work = engine.downloader.active or has_requests(engine.scheduler) or (slot and not slot.is_idle())
        for lead in self._flights.stranded(time.monotonic(), is_idle=not has_work):
            self._done(lead, "a part of the project took its request away")

    def _next_requests(self) -> Iterator[Any] | None:
        """Return what to ask for now: a document, or else a page; ``None`` if it is the turn of neither."""
        if (waiting := self._bodies.next()) is not None:
            return self._ask(waiting, None)
        if self._has_room() and (taken := self._sites.take(time.monotonic())):
            lead, refusal = taken
            if refusal is not None or self._bodies.fits(lead):
                return self._ask(lead, refusal)
            self._wait_for_room(lead)
            return iter(())
        page = self._pages.next()
        return None if page is None else iter([page])

    def _has_room(self) -> bool:
        if self._handout.has_enough or len(self._flights) >= self._most_in_flight:
            return False
        return self._flights.bodies(time.monotonic()) < self._options.concurrency

    def _wait_for_room(self, lead: Lead) -> None:
        """Let *lead* be on its way, but wait for room for its body."""
        self._flights.begin(lead, -math.inf)
        self._bodies.wait(lead)
        self._flights.wake()

    def _ask(self, lead: Lead, refusal: Refusal | None) -> Iterator[Any]:
        """Yield the request for *lead*, whose turn it is; or its ledger row, if it may not be asked for after all."""
        try:
            request = self._requests.build(lead)
        except ValueError as error:  # a port or a host that makes no sense
            refusal = refusal or Refusal(Outcome.FAILED, f"its address is none that can be asked for: {error}")
        if refusal is not None:
            yield from self._ledger.refused(lead, refusal)
            self._sites.done(lead, time.monotonic())
            return
        self._flights.begin(lead, time.monotonic())
        self._bodies.begin(lead)
        if (known := self._known(lead)) is not None:
            yield from self._until_done(known, lead)
            return
        yield request
        yield from self._passed_over(lead)

    def _known(self, lead: Lead) -> Iterator[Any] | None:
        """Return what stands for the document of *lead* if it need not be asked for; ``None`` if it has to be."""
        if self._keeper is None or (kept := self._keeper.site(lead.root)) is None:
            return None
        if (known := kept.taken_over(lead)) is not None:
            return self._reading.taken_over(lead, known)
        if (fresh := self._keeper.ask(lead).fresh) is not None:
            return self._reading.known(lead, *fresh)
        return None

    def _passed_over(self, lead: Lead) -> Iterator[SitemapRecord]:
        """Yield the ledger row of *lead* if its request never reached the scheduler: nobody will answer it."""
        if not self._flights.was_scheduled(lead):
            record = record_of(lead, Refusal(Outcome.SKIPPED, "a spider middleware passed over it"))
            yield from self._ledger.ended(record)
            self._done(lead)

    def _watched(self, output: Iterator[Any], lead: Lead) -> Iterator[Any]:
        """Return *output*, and be done with *lead* also when nobody reads it to its end, or reads it at all."""
        watched = self._until_done(output, lead)
        weakref.finalize(watched, self._done, lead).atexit = False
        return watched

    def _until_done(self, output: Iterator[Any], lead: Lead) -> Iterator[Any]:
        try:
            yield from output
        finally:
            self._done(lead)

    def _done(self, lead: Lead, why: str = "a spider middleware did not read it to its end") -> None:
        """Be done with *lead*; *why* it has no ledger row, should it have none."""
        if lead not in self._flights:
            return
        if self._flights.give_row(lead.url):
            self._ledger.owe(lead, Refusal(Outcome.FAILED, why))
        self._pages.release(lead)
        self._bodies.end(lead)
        self._flights.end(lead)
        self._sites.done(lead, time.monotonic())
        self._ledger.count_queued()

    def _records_due(self) -> Iterator[SitemapRecord | SiteRecord]:
        """Yield the records that are left to :meth:`steps`: of what waits once there is enough, and of sites."""
        yield from self._ledger.owed()
        if self._keeper is not None:
            self._keeper.checkpoint()
        has_enough = self._handout.has_enough
        if has_enough:
            waiting = self._sites.drain(time.monotonic())
            yield from self._ledger.cut_off(waiting, self._handout.words("before it was asked for"))
        for site in self._settled():
            if (hindrance := self._begin(site)) is not None:
                yield from self._hindered(site, hindrance)
                continue
            leads = [] if has_enough else self._next_leads(site)
            for lead in leads:
                yield from self._ledger.consider(lead)
            if leads:
                self._sites.settle(site)
            else:
                yield from self._handout.as_wanted(self._ledger.site(site, is_over=not has_enough))

    def _settled(self) -> Iterator[Site]:
        """Yield the sites of which something new may be asked for; first those that another run was at work on."""
        busy, self._busy = self._busy, []
        yield from busy
        yield from self._sites.settled()

    def _begin(self, site: Site) -> Hindrance | None:
        """Begin to keep *site*, if it is to be kept and is not yet; return what is in the way."""
        if self._keeper is None or self._keeper.has_begun(site.root):
            return None
        return self._keeper.begin(site.root)

    def _hindered(self, site: Site, hindrance: Hindrance) -> Iterator[Any]:
        """Let *site* wait for the other run, if that is wanted, or else yield the record that it is not harvested."""
        if hindrance.may_pass and self._options.busy == "wait" and not self._handout.has_enough:
            if site.root not in self._waits:
                self._waits.add(site.root)
                waits = fields("waits", site=site.root)
                logger.info("%s waits: %s", site.root, hindrance.words, extra=waits)
            self._busy.append(site)
            return
        site.hindrance = hindrance.words
        self._summary.site_notes.add(f"{site.root}: {hindrance.words}", site=site.root, result="unfinished")
        yield from self._ledger.site(site, is_over=False)

    def _next_leads(self, site: Site) -> list[Lead]:
        """Return what to ask for next of *site*: what the last snapshot knows comes before what is tried by guess."""
        kept = self._keeper.site(site.root) if self._keeper is not None else None
        if kept is not None and (self._plan.snapshots.polls or self._sites.is_met(site.first.url, site.root)):
            known = kept.recall(lambda url: self._sites.is_met(url, site.root))
            if known or self._plan.snapshots.polls:
                return known
        lead = site.next_lead()
        return [] if lead is None else [lead]


def positive(settings: BaseSettings, name: str) -> int:
    """Return the setting of that *name*; 0, which is no limit to Scrapy, also where it is below."""
    return max(0, settings.getint(name))
