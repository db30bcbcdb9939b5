"""The base of the package's spiders, and of one's own."""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterator  # noqa: TC003 - others look at the signatures of callbacks, as scrapy-poet does
from datetime import UTC, datetime
from inspect import getattr_static
from logging import INFO, WARNING
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import pyarrow as pa
from scrapy import Request, signals
from scrapy.exceptions import CloseSpider, ResponseDataLossError
from scrapy.extensions.feedexport import FeedExporter
from scrapy.http import Response  # noqa: TC002 - the same
from scrapy.utils.defer import deferred_from_coro

from sitemap_harvest.crawl import defaults
from sitemap_harvest.crawl.browser.switch import check_browser, put_in_place
from sitemap_harvest.crawl.checks import check_exporter, check_feeds, check_root
from sitemap_harvest.crawl.flights import Flights
from sitemap_harvest.crawl.given import Given, check_class
from sitemap_harvest.crawl.handout import Handout
from sitemap_harvest.crawl.ledger import Ledger
from sitemap_harvest.crawl.options import Options
from sitemap_harvest.crawl.own_files import check_own_files
from sitemap_harvest.crawl.pages import Pages, has_requests
from sitemap_harvest.crawl.quiet import conceal_passwords, quieten
from sitemap_harvest.crawl.reach import guard
from sitemap_harvest.crawl.reading import Reading
from sitemap_harvest.crawl.record import record_of
from sitemap_harvest.crawl.selection import Selection
from sitemap_harvest.crawl.site_headers import site_headers
from sitemap_harvest.crawl.snapshot_wishes import check_store
from sitemap_harvest.crawl.spiders.base import SitemapAttributes
from sitemap_harvest.crawl.summary import Summary
from sitemap_harvest.crawl.watching import run_mark
from sitemap_harvest.crawl.watching.run_mark import fields
from sitemap_harvest.crawl.watching.switch import begin_watching, check_watching, watch
from sitemap_harvest.errors import HarvestError
from sitemap_harvest.model import FoundBy, Outcome
from sitemap_harvest.model.run_ids import new_run_id
from sitemap_harvest.plan import Bounds, Lead, Offsite, Refusal, Sites, is_declared, room

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from sitemap_harvest.crawl.arguments import Plan
    from sitemap_harvest.crawl.keeping import Hindrance, Keeper
    from sitemap_harvest.model import SitemapRecord, SiteRecord
    from sitemap_harvest.plan import Site

_STATUSES_WITHOUT_DOCUMENT = [304, *range(400, 600)]
_LONGEST_REASON = 300  # characters of an error that is not ours
_LOOK_SECONDS = 1.0  # after which what had to wait is looked at again: a time has passed, or a host has not answered
_ITEM_SECONDS = 0.01  # after which it is looked again whether an item has come through the pipelines
_FIRST_ANSWER_SECONDS = 30  # for the robots.txt of a site: it is small, and tells whether the site answers at all
_VARIANT_SECONDS = 15  # for one that is tried by guess


class HarvestSpider(SitemapAttributes):
    """Reads the sitemaps of sites: asks the plan for what, and when, and leaves what comes to the reading.

    Leads wait in a frontier of our own, not in Scrapy's scheduler: 50,000
    children cost a few megabytes there, and only as many are downloaded at a
    time as fit into ``SITEMAP_HARVEST_BODIES``.
    """

    local_root: Path | None = None
    """The folder that stands in for the site, if one does."""
    refused: str | None = None
    """Why the run ends before it begins: a wrong argument or setting, in words."""

    run_id: str
    """The id of the run, such as ``20261122T014512Z-4f2a1c``: it stands in its log, stats, metrics and records."""
    started_at: datetime
    """When the run began, in UTC."""

    says_how_it_ended: bool = True
    """Whether the log is told at the end what was found, and what was not read."""

    site_headers: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    """What each site is sent that no other is, such as ``Authorization``: names and values, by site."""

    plan: Plan
    options: Options
    sites: Sites
    summary: Summary
    _pages: Pages
    _handout: Handout
    _ledger: Ledger
    _reading: Reading
    _selection: Selection
    _keeper: Keeper | None = None

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        """Make the spider. What is wrong with *arguments* is kept in :attr:`refused`, and ends the run as it begins."""
        self._given = Given.of(arguments, type(self), base=HarvestSpider)
        super().__init__(name, **self._given.attributes)
        self.started_at = datetime.now(UTC)
        self.run_id = new_run_id(self.started_at)
        self.summary = Summary()
        self._flights = Flights()
        self._largest_body = 0
        self._has_begun = False
        self._busy: list[Site] = []  # sites that wait for another run
        self._waits: set[str] = set()  # of which that was told
        # Scrapy looks into the source of each callback object that it has not met, and a method is a new one each time.
        self._callback, self._errback = self.parse_document, self.on_error

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Offer what the spider works best with; what the project sets stays."""
        defaults.offer(settings)
        super().update_settings(settings)
        watch(settings)
        conceal_passwords()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Make the spider, and read the settings once they are final.

        Raises :exc:`TypeError` if the class sets a name that this one uses for itself.
        """
        check_class(cls, base=HarvestSpider)  # not as the class is made: that would end every spider of the project
        spider = super().from_crawler(crawler, *args, **kwargs)
        if crawler.settings.frozen:  # by a command that only looks at one document, such as "shell"
            spider.options = Options.from_settings(crawler.settings)
            return spider
        begin_watching(spider, crawler.settings)
        guard(crawler.settings)
        put_in_place(crawler.settings, spider._given.ours, cls.harvest_arguments)  # noqa: SLF001 - its own
        # One of a class of its own may switch something on.
        if getattr_static(cls, "from_crawler") is vars(HarvestSpider)["from_crawler"]:
            defaults.unload(crawler.settings)
        crawler.signals.connect(spider.prepare, signal=signals.spider_opened)
        spider._flights.listen(crawler)  # noqa: SLF001 - its own
        crawler.signals.connect(spider.note_error, signal=signals.spider_error)
        crawler.signals.connect(spider.note_rules, signal=signals.robots_parsed)
        crawler.signals.connect(spider.conclude, signal=signals.spider_closed)  # before the feeds are closed
        return spider

    def named(self) -> Iterator[str]:
        """Yield the addresses that the user named: their hosts may be in a private network."""
        return (lead.url for lead in self.plan.leads)

    def prepare(self) -> None:
        """Read the settings. A wrong one, or a wrong argument, ends the run with one line and no traceback."""
        self.crawler.stats.set_value(run_mark.RUN, self.run_id)
        try:
            self._read_settings()
        except HarvestError as error:
            self.refuse(str(error))
        except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            self.refuse(f"an argument, a setting or an attribute of the spider is of a wrong type: {error!r}")
        quieten()
        pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own pool keeps some 25 MB that it has let go of
        for reason in (*(reason for _, reason in self.plan.no_sites), *self._given.complaints(type(self))):
            self.logger.warning(reason)
        self._make_parts()
        self._has_begun = True

    def _read_settings(self) -> None:
        """Read arguments and settings, and open the store; raise an error for what cannot be or does not fit."""
        watched = check_watching(self)
        self._set_plan(self._given.plan_for(self))
        self.options = Options.from_settings(self.crawler.settings)
        self.site_headers = site_headers(self.options, self.plan.logins)
        check_feeds(self.crawler.settings, self.plan.emit)
        check_exporter(self.crawler)
        check_root(self.local_root, self.crawler)
        sites = self._given.ours.get("sites")
        check_own_files(self.crawler.settings, self.plan.leads, sites=sites, watched=watched)
        check_browser(self.crawler.settings, self.plan.browser or self.options.browser)
        self._keeper = self._open_store()

    def _make_parts(self) -> None:
        """Make what decides on the order of documents, reads them, and keeps the books."""
        settings = self.crawler.settings
        self.sites = Sites(
            self.plan.leads,
            bounds=self._bounds(),
            budget=self.options.budget,
            per_host=_positive(settings, "CONCURRENT_REQUESTS_PER_DOMAIN") or self.options.concurrency,
        )
        self._most_in_flight = _positive(settings, "CONCURRENT_REQUESTS") or self.options.concurrency
        self._handout = Handout(
            self.crawler, self.plan, self.summary, self._pages, as_rows=self.options.items == "rows"
        )
        self._ledger = Ledger(
            self.plan,
            self.summary,
            self.crawler.stats,
            sites=self.sites,
            flights=self._flights,
            keeper=self._keeper,
        )
        self._reading = Reading(
            self.plan,
            self.options,
            sites=self.sites,
            ledger=self._ledger,
            handout=self._handout,
            selection=self._selection,
            keeper=self._keeper,
            most_attempts=settings.getint("RETRY_TIMES") if settings.getbool("RETRY_ENABLED") else 0,
        )

    def _open_store(self) -> Keeper | None:
        """Open the store that an argument or a setting names; ``None`` if none does."""
        store = self.plan.snapshots.store or self.options.store
        check_store(self.plan.snapshots, self.plan.emit, store)
        if store is None:
            return None
        from sitemap_harvest.crawl.keeping import Keeper  # takes 0.1 seconds, and only who has a store needs it

        keeper = Keeper(
            store,
            self.plan,
            self.options,
            self.crawler.stats,
            run_id=self.run_id,
            started_at=self.started_at,
            fail=self._end_for_store,
        )
        if len(self.plan.leads) == 1:  # where there are several, those that have no such snapshot are told of
            keeper.check_baseline(self.plan.leads[0].root)
        return keeper

    def _end_for_store(self) -> None:
        deferred_from_coro(self.crawler.engine.close_spider_async(reason="store_failed"))

    def _set_plan(self, plan: Plan) -> None:
        self.plan = plan
        self.local_root = plan.root
        if plan.snapshots.baseline is not None:
            self.summary.since = f"baseline={plan.snapshots.baseline}"
        self._selection = Selection(self)
        self._pages = Pages(self, self._selection, only_site=plan.only_site)
        self._pages.listen(self._flights.wake)

    def _bounds(self) -> Bounds:
        # Scrapy's own middleware sees no depth: all requests come from start().
        limit, own = self.crawler.settings.getint("DEPTH_LIMIT"), self.options.max_depth
        max_depth, depth_setting = (limit, "DEPTH_LIMIT") if 0 < limit < own else (own, "MAX_DEPTH")
        return Bounds(
            max_depth=max_depth,
            depth_setting=depth_setting,
            follow=self.plan.follow,
            skip=self.plan.skip,
            offsite=Offsite(self.options.offsite),
            only_site=self.plan.only_site,
            since=self.plan.pruned_before,
        )

    def refuse(self, reason: str) -> NoReturn:
        """End the run before it begins, and say why in one line."""
        self.refused, self._has_begun = reason, False
        if (exporter := self.crawler.get_extension(FeedExporter)) is not None:
            exporter.feeds, exporter.slots = {}, []  # Scrapy's own would write empty files over those of the last run
        self.logger.error(reason, extra=fields("refused"))
        raise CloseSpider("wrong_argument")

    def conclude(self) -> None:
        """Complete the ledger, and log how the run went."""
        if not self._has_begun:
            return
        exporter = self.crawler.get_extension(FeedExporter)
        left_over = self._handout.as_wanted(self._ledger.left_over())
        for record in left_over:  # for the feeds alone, as pipelines are closed by now
            if exporter is not None:
                exporter.item_scraped(record, self)
        if self._keeper is not None:
            self._keeper.close()
        if words := self._pages.close():
            self.logger.info(words)
        if self.says_how_it_ended:
            self._tell_how_it_ended()

    def _tell_how_it_ended(self) -> None:
        """Log the run in one line, and what was not read."""
        level = INFO if self.summary.urls else WARNING
        counts = {"urls": self.summary.urls, "documents": self.summary.documents}
        self.logger.log(level, "Run %s: %s", self.run_id, self.summary.in_words(), extra=fields("summary", **counts))
        for note, told in self.summary.site_notes.told() if self.summary.urls else ():
            self.logger.info("Nothing found: %s", note, extra=fields("site", **told))
        for note, told in self.summary.notes.told():
            self.logger.info("Not read, or not whole: %s", note, extra=fields("document", **told))

    async def start(self) -> AsyncIterator[Any]:
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
            elif len(self.sites) or len(self._flights) or self._pages or self._busy:
                await self._wait()
            elif not self._ledger.owes:
                break
        # Scrapy looks whether all is done as the last item goes to the pipelines, and then no more for five seconds.
        while (slot := self.crawler.engine.scraper.slot) is not None and not slot.is_idle():
            await self._flights.next_end(_ITEM_SECONDS)

    async def _wait(self) -> None:
        """Wait until a document ends, or it is time to look again at what has to wait."""
        wait = (self.sites.next_turn() or 0.0) - time.monotonic()
        await self._flights.next_end(min(wait, _LOOK_SECONDS) if wait > 0 else _LOOK_SECONDS)
        engine = self.crawler.engine
        slot = engine.scraper.slot
        has_work = engine.downloader.active or has_requests(engine.scheduler) or (slot and not slot.is_idle())
        for lead in self._flights.stranded(time.monotonic(), is_idle=not has_work):
            self._done(lead, "a part of the project took its request away")

    def _next_requests(self) -> Iterator[Any] | None:
        """Return what to ask for now: a document, or else a page; ``None`` if it is the turn of neither."""
        if self._has_room() and (taken := self.sites.take(time.monotonic())):
            return self._ask(*taken)
        page = self._pages.next()
        return None if page is None else iter([page])

    def _ask(self, lead: Lead, refusal: Refusal | None) -> Iterator[Any]:
        """Yield the request for *lead*, whose turn it is; or its ledger row, if it may not be asked for after all."""
        try:
            request = self._request(lead)
        except ValueError as error:  # a port or a host that makes no sense
            refusal = refusal or Refusal(Outcome.FAILED, f"its address is none that can be asked for: {error}")
        if refusal is not None:
            yield from self._ledger.refused(lead, refusal)
            self.sites.done(lead, time.monotonic())
            return
        self._flights.begin(lead, time.monotonic())
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

    def note_error(self, failure: Failure, response: Response | Failure | None) -> None:
        """Give up on a document whose output a part of the project could not read: it will not come to its end."""
        request: Request | None = getattr(response, "request", None)
        if request is not None and isinstance(lead := request.cb_kwargs.get("lead"), Lead):
            self._done(lead, f"the project's code failed: {failure.value!r}"[:_LONGEST_REASON])

    def _passed_over(self, lead: Lead) -> Iterator[SitemapRecord]:
        """Yield the ledger row of *lead* if its request never reached the scheduler: nobody will answer it."""
        if not self._flights.was_scheduled(lead):
            record = record_of(lead, Refusal(Outcome.SKIPPED, "a spider middleware passed over it"))
            yield from self._ledger.ended(record)
            self._done(lead)

    def note_rules(self, request: Request, robotparser: RobotParser) -> None:
        """Slow down where the robots.txt of a host asks for it (``Crawl-delay``)."""
        user_agent = self.crawler.settings["ROBOTSTXT_USER_AGENT"] or self.crawler.settings["USER_AGENT"]
        if self._has_begun and (delay := robotparser.crawl_delay(user_agent)):
            self.sites.frontier.slow_down(request.url, min(delay, self.options.max_wait))
            self._pages.slow_down(request.url, min(delay, self.options.max_wait))

    def _has_room(self) -> bool:
        if self._handout.has_enough or len(self._flights) >= self._most_in_flight:
            return False
        return self._flights.bodies(time.monotonic()) < room(
            most=self.options.concurrency,
            bytes_in_memory=self.options.bodies,
            done=self.summary.documents,
            largest=self._largest_body,
        )

    def _request(self, lead: Lead, **meta: Any) -> Request:
        headers = self._keeper.ask(lead).headers if self._keeper is not None else {}
        if lead.attempt:
            meta["retry_times"] = lead.attempt
        if lead.site_root:
            meta["download_timeout"] = min(self.crawler.settings.getfloat("DOWNLOAD_TIMEOUT"), _FIRST_ANSWER_SECONDS)
        if lead.found_by is FoundBy.VARIANT:
            meta["download_timeout"] = min(self.crawler.settings.getfloat("DOWNLOAD_TIMEOUT"), _VARIANT_SECONDS)
            meta["max_retry_times"] = 0
        return Request(
            lead.url,
            callback=self._callback,
            errback=self._errback,
            headers=headers,
            cb_kwargs={"lead": lead, "asked": time.time()},
            dont_filter=True,  # the frontier knows what was asked for
            meta={
                "handle_httpstatus_list": _STATUSES_WITHOUT_DOCUMENT,
                "dont_obey_robotstxt": lead.site_root or (self.options.read_declared and is_declared(lead)),
                "dont_retry": lead.url.startswith("file:"),
                **meta,
            },
        )

    def parse_document(self, response: Response, lead: Lead, asked: float) -> Iterator[Any]:
        """Yield the URLs of a document and its ledger row. Its children go to the frontier."""
        if lead not in self._flights:
            return iter(())  # left over from a paused run (JOBDIR): this run has begun again from its first lead
        self._largest_body = max(self._largest_body, len(response.body))
        return self._watched(self._reading.answer(response, lead, asked), lead)

    def on_error(self, failure: Failure) -> Iterator[Any]:
        """Yield the ledger row of a document that could not be downloaded."""
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy puts it there
        lead, asked = request.cb_kwargs["lead"], request.cb_kwargs["asked"]
        if isinstance(failure.value, ResponseDataLossError) and "download_fail_on_dataloss" not in request.meta:
            # What comes before the cut is better than nothing, now that asking again has not helped.
            return iter([self._request(lead, download_fail_on_dataloss=False, dont_retry=True)])
        proxy = request.meta.get("proxy")
        return self._watched(self._reading.failure(failure.value, lead, asked, proxy), lead)

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
        self._flights.end(lead)
        self.sites.done(lead, time.monotonic())
        self._ledger.count_queued()

    def _records_due(self) -> Iterator[SitemapRecord | SiteRecord]:
        """Yield the records that are left to :meth:`start`: of what waits once there is enough, and of sites."""
        yield from self._ledger.owed()
        if self._keeper is not None:
            self._keeper.checkpoint()
        has_enough = self._handout.has_enough
        if has_enough:
            waiting = self.sites.drain(time.monotonic())
            yield from self._ledger.cut_off(waiting, self._handout.words("before it was asked for"))
        for site in self._settled():
            if (hindrance := self._begin(site)) is not None:
                yield from self._hindered(site, hindrance)
                continue
            leads = [] if has_enough else self._next_leads(site)
            for lead in leads:
                yield from self._ledger.consider(lead)
            if leads:
                self.sites.settle(site)
            else:
                yield from self._handout.as_wanted(self._ledger.site(site, is_over=not has_enough))

    def _settled(self) -> Iterator[Site]:
        """Yield the sites of which something new may be asked for; first those that another run was at work on."""
        busy, self._busy = self._busy, []
        yield from busy
        yield from self.sites.settled()

    def _begin(self, site: Site) -> Hindrance | None:
        """Begin to keep *site*, if it is to be kept and is not yet; return what is in the way."""
        if self._keeper is None or self._keeper.has_begun(site.root):
            return None
        return self._keeper.begin(site.root)

    def _hindered(self, site: Site, hindrance: Hindrance) -> Iterator[Any]:
        """Let *site* wait for the other run, if that is wanted, or else yield the record that it is not harvested."""
        if hindrance.may_pass and self.options.busy == "wait" and not self._handout.has_enough:
            if site.root not in self._waits:
                self._waits.add(site.root)
                self.logger.info("%s waits: %s", site.root, hindrance.words, extra=fields("waits", site=site.root))
            self._busy.append(site)
            return
        site.hindrance = hindrance.words
        self.summary.site_notes.add(f"{site.root}: {hindrance.words}", site=site.root, result="unfinished")
        yield from self._ledger.site(site, is_over=False)

    def _next_leads(self, site: Site) -> list[Lead]:
        """Return what to ask for next of *site*: what the last snapshot knows comes before what is tried by guess."""
        kept = self._keeper.site(site.root) if self._keeper is not None else None
        if kept is not None and (self.plan.snapshots.polls or self.sites.is_met(site.first.url)):
            known = list(kept.recall(self.sites.is_met))
            if known or self.plan.snapshots.polls:
                return known
        lead = site.next_lead()
        return [] if lead is None else [lead]


def _positive(settings: BaseSettings, name: str) -> int:
    """Return the setting of that *name*; 0, which is no limit to Scrapy, also where it is below."""
    return max(0, settings.getint(name))
