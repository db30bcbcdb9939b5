"""One run of a spider of ours: reads its arguments and settings, puts its parts together, and tells how it ended."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from logging import INFO, WARNING
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
from scrapy import signals
from scrapy.exceptions import CloseSpider
from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.defer import deferred_from_coro

from sitemap_harvest.crawl.browser.switch import check_browser, put_in_place
from sitemap_harvest.crawl.checks import check_exporter, check_feeds, check_root
from sitemap_harvest.crawl.direct import requests_of
from sitemap_harvest.crawl.documents import Documents, Parts, positive
from sitemap_harvest.crawl.flights import Flights
from sitemap_harvest.crawl.handout import Handout
from sitemap_harvest.crawl.ledger import Ledger
from sitemap_harvest.crawl.options import Options
from sitemap_harvest.crawl.own_files import check_own_files
from sitemap_harvest.crawl.pages import Pages
from sitemap_harvest.crawl.quiet import quieten
from sitemap_harvest.crawl.reach import guard, name_addresses
from sitemap_harvest.crawl.reading import Reading
from sitemap_harvest.crawl.selection import Selection
from sitemap_harvest.crawl.site_headers import send_site_headers, site_headers
from sitemap_harvest.crawl.snapshot_wishes import check_store
from sitemap_harvest.crawl.start_requests import CLOSEST_TO_THE_SPIDER, Seeds, StartRequests, has_own, state_of
from sitemap_harvest.crawl.summary import Summary
from sitemap_harvest.crawl.watching import run_mark
from sitemap_harvest.crawl.watching.run_mark import fields
from sitemap_harvest.crawl.watching.switch import begin_watching, check_watching
from sitemap_harvest.errors import HarvestError
from sitemap_harvest.model.run_ids import new_run_id
from sitemap_harvest.plan import Bounds, Offsite, Sites

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.utils.log import SpiderLoggerAdapter

    from sitemap_harvest.crawl.arguments import Plan
    from sitemap_harvest.crawl.given import Given
    from sitemap_harvest.crawl.keeping import Keeper
    from sitemap_harvest.crawl.spiders.base import SitemapAttributes
    from sitemap_harvest.plan import Lead


class Harvest:
    """One run: everything that a spider of ours does beside what its class says.

    The spider holds it under one name, so that all others are free for those
    who write spiders. The parts of the package get it from ``harvest_of(spider)``.
    """

    plan: Plan | None = None
    """What the arguments mean; ``None`` until :meth:`open` has read them."""
    options: Options
    """The settings, from :meth:`wire` or :meth:`open` on."""
    sites: Sites
    """What decides on the order of documents, from :meth:`open` on."""
    seeds: Seeds
    """What the run begins with, from :meth:`open` on."""
    refused: str | None = None
    """Why the run ends before it begins: a wrong argument or setting."""
    logs_summary: bool = True
    """Whether the log has a summary of the run at its end."""

    def __init__(self, spider: SitemapAttributes, given: Given) -> None:
        """*given* are the arguments of the run. What is wrong with them ends it as it opens (:attr:`refused`)."""
        self.given = given
        self.started_at = datetime.now(UTC)
        self.run_id = new_run_id(self.started_at)
        self.summary = Summary()
        self._spider = spider
        self._flights = Flights()
        self._keeper: Keeper | None = None
        self._parts: Parts | None = None

    @property
    def logger(self) -> SpiderLoggerAdapter:
        """The logger of the spider."""
        return self._spider.logger

    @property
    def mark(self) -> run_mark.Mark:
        """What log lines, metrics and records of the run bear."""
        return run_mark.Mark.of(self._spider)

    def wire(self, crawler: Crawler) -> None:
        """Change the settings of *crawler* for this run, and connect its signals."""
        if crawler.settings.frozen:  # by a command that only looks at one document, such as "shell"
            self.options = Options.from_settings(crawler.settings)
            return
        begin_watching(self._spider, crawler.settings)
        guard(crawler.settings)
        crawler.settings.setdefault_in_component_priority_dict(
            "SPIDER_MIDDLEWARES", StartRequests, CLOSEST_TO_THE_SPIDER
        )
        put_in_place(crawler.settings, self.given.ours, self._spider.harvest_arguments)
        crawler.signals.connect(self.open, signal=signals.spider_opened)
        self._flights.listen(crawler)
        crawler.signals.connect(self.close, signal=signals.spider_closed)  # before the feeds are closed

    def open(self) -> None:
        """Read arguments and settings. If one is wrong, the run ends with one line and no traceback."""
        self._crawler.stats.set_value(run_mark.RUN, self.run_id)
        try:
            plan = self._read_settings()
        except HarvestError as error:
            self.refuse(str(error))
        except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            self.refuse(f"an argument, a setting or an attribute of the spider is of a wrong type: {error!r}")
        quieten()
        pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own pool keeps some 25 MB that it has let go of
        for reason in (*(reason for _, reason in plan.no_sites), *self.given.complaints(type(self._spider))):
            self.logger.warning("%s", reason)
        self._parts = self._make_parts(plan)
        self._documents = Documents(self._crawler, self._parts)

    def refuse(self, reason: str) -> NoReturn:
        """End the run before it begins, and say why in one line."""
        self.refused, self._parts = reason, None
        if (exporter := self._crawler.get_extension(FeedExporter)) is not None:
            exporter.feeds, exporter.slots = {}, []  # Scrapy's own would write empty files over those of the last run
        self.logger.error("%s", reason, extra=fields("refused"))
        raise CloseSpider("wrong_argument")

    def start_requests(self) -> Iterator[Request]:
        """Yield what ``start()`` of the base class yields: a request for each document that the run begins with."""
        if self._parts is None:
            return
        try:
            leads = self._leads()
        except HarvestError as error:
            with suppress(CloseSpider):
                self.refuse(str(error))
            deferred_from_coro(self._crawler.engine.close_spider_async(reason="wrong_argument"))
            return
        yield from self.seeds.requests(leads)

    async def steps(self) -> AsyncIterator[Any]:
        """Yield the requests and records of the run, each when it is due."""
        if self._parts is not None:
            async for request_or_item in self._documents.steps():
                yield request_or_item

    def read(self, response: Response) -> Iterator[Request]:
        """Yield what the sitemap in *response*, which the spider has requested itself, leads to."""
        parse = self._spider._parse_sitemap  # noqa: SLF001 - Scrapy's name, which spiders use as a callback
        return requests_of(response, self._selection, self.options, callback=parse)

    def close(self) -> None:
        """Complete the ledger, and log how the run went."""
        if (parts := self._parts) is None:
            return
        exporter = self._crawler.get_extension(FeedExporter)
        for record in parts.handout.as_wanted(parts.ledger.left_over()):
            if exporter is not None:
                exporter.item_scraped(record, self._spider)  # for the feeds alone, as pipelines are closed by now
        if parts.keeper is not None:
            parts.keeper.close()
        if words := parts.pages.close():
            self.logger.info("%s", words)
        if self.logs_summary:
            self._log_summary()

    @property
    def root(self) -> Path | None:
        """The folder that stands in for the site; ``None`` if none does."""
        return self.plan.root if self.plan is not None else None

    @property
    def browser_mode(self) -> str:
        """Whether a browser helps: ``never``, ``fallback`` or ``always``."""
        return (self.plan.browser if self.plan is not None else None) or self.options.browser

    @property
    def _crawler(self) -> Crawler:
        return self._spider.crawler

    def _read_settings(self) -> Plan:
        """Read arguments and settings, and open the store; raise an error for what cannot be or does not fit."""
        settings = self._crawler.settings
        watched = check_watching(self._spider)
        self._urls = state_of(self._spider.sitemap_urls)
        plan = self.plan = self.given.plan_for(self._spider)
        self._selection = Selection(self._spider)
        if plan.snapshots.baseline is not None:
            self.summary.since = f"baseline={plan.snapshots.baseline}"
        elif plan.snapshots.consumer is not None:
            self.summary.since = f"the cursor of {plan.snapshots.consumer}"
        self.options = Options.from_settings(settings)
        name_addresses(self._crawler, (lead.url for lead in plan.leads))
        send_site_headers(self._crawler, site_headers(self.options, plan.logins))
        check_feeds(settings, plan.emit)
        check_exporter(self._crawler)
        check_root(plan.root, self._crawler)
        check_own_files(settings, plan.leads, sites=self.given.ours.get("sites"), watched=watched)
        check_browser(settings, plan.browser or self.options.browser)
        self._keeper = self._open_store(plan)
        return plan

    def _leads(self) -> tuple[Lead, ...]:
        """Return what the run begins with; ``sitemap_urls`` may have been set when the spider was opened."""
        plan = self.plan
        if plan is None or state_of(self._spider.sitemap_urls) != self._urls:
            plan = self.given.plan_for(self._spider)
            name_addresses(self._crawler, (lead.url for lead in plan.leads))
            send_site_headers(self._crawler, site_headers(self.options, plan.logins))
        if not has_own(self._spider, "start"):
            self.given.check_targets(plan, self._spider)
        return plan.leads

    def _open_store(self, plan: Plan) -> Keeper | None:
        """Open the store that an argument or a setting names; ``None`` if none does."""
        store = plan.snapshots.store or self.options.store
        check_store(plan.snapshots, plan.emit, store)
        if store is None:
            return None
        from sitemap_harvest.crawl.delivery import Delivery
        from sitemap_harvest.crawl.keeping import Keeper  # takes 0.1 seconds, and only who has a store needs it

        consumer = plan.snapshots.consumer
        keeper = Keeper(
            store,
            plan,
            self.options,
            self._crawler.stats,
            run_id=self.run_id,
            started_at=self.started_at,
            fail=self._end_for_store,
            delivery=None if consumer is None else Delivery(consumer, self._crawler),
        )
        if len(plan.leads) == 1:  # where there are several, those that have no such snapshot are told of
            keeper.check_baseline(plan.leads[0].root)
        return keeper

    def _end_for_store(self) -> None:
        deferred_from_coro(self._crawler.engine.close_spider_async(reason="store_failed"))

    def _make_parts(self, plan: Plan) -> Parts:
        """Make what decides on the order of documents, reads them, and keeps the books."""
        crawler, options, summary, keeper = self._crawler, self.options, self.summary, self._keeper
        settings, flights = crawler.settings, self._flights
        per_host = positive(settings, "CONCURRENT_REQUESTS_PER_DOMAIN") or options.concurrency
        self.sites = sites = Sites(
            (),
            bounds=self._bounds(plan),
            budget=options.budget,
            per_host=per_host,
            most_unanswered=options.max_unanswered,
        )
        self.seeds = Seeds(self._spider, sites)
        pages = Pages(self._spider, self._selection, only_site=plan.only_site)
        pages.listen(flights.wake)
        handout = Handout(crawler, plan, summary, pages, as_rows=options.items == "rows")
        ledger = Ledger(plan, summary, crawler.stats, sites=sites, flights=flights, keeper=keeper)
        reading = Reading(
            plan,
            options,
            sites=sites,
            ledger=ledger,
            handout=handout,
            selection=self._selection,
            keeper=keeper,
            most_attempts=settings.getint("RETRY_TIMES") if settings.getbool("RETRY_ENABLED") else 0,
        )
        return Parts(
            plan=plan,
            options=options,
            summary=summary,
            sites=sites,
            flights=flights,
            seeds=self.seeds,
            pages=pages,
            handout=handout,
            ledger=ledger,
            reading=reading,
            keeper=keeper,
        )

    def _bounds(self, plan: Plan) -> Bounds:
        # Scrapy's own middleware sees no depth: all requests come from start().
        limit, own = self._crawler.settings.getint("DEPTH_LIMIT"), self.options.max_depth
        max_depth, depth_setting = (limit, "DEPTH_LIMIT") if 0 < limit < own else (own, "MAX_DEPTH")
        return Bounds(
            max_depth=max_depth,
            depth_setting=depth_setting,
            follow=plan.follow,
            skip=plan.skip,
            offsite=Offsite(self.options.offsite),
            only_site=plan.only_site,
            since=plan.pruned_before,
        )

    def _log_summary(self) -> None:
        """Log the run in one line, and what was not read."""
        summary, logger = self.summary, self.logger
        level = INFO if summary.urls else WARNING
        counts = {"urls": summary.urls, "documents": summary.documents}
        logger.log(level, "Run %s: %s", self.run_id, summary.in_words(), extra=fields("summary", **counts))
        for note, told in summary.site_notes.told() if summary.urls else ():
            logger.info("Nothing found: %s", note, extra=fields("site", **told))
        for note, told in summary.notes.told():
            logger.info("Not read, or not whole: %s", note, extra=fields("document", **told))


class RunInfo:
    """What a spider may read of its own run (:attr:`HarvestSpider.harvest`)."""

    def __init__(self, harvest: Harvest) -> None:
        self._harvest = harvest

    @property
    def run_id(self) -> str:
        """The id of the run, such as ``20261122T014512Z-4f2a1c``: in its log, stats, metrics and records."""
        return self._harvest.run_id

    @property
    def started_at(self) -> datetime:
        """When the run began, in UTC."""
        return self._harvest.started_at

    @property
    def urls(self) -> int:
        """How many URLs were harvested so far."""
        return self._harvest.summary.urls

    @property
    def documents(self) -> int:
        """How many documents were read, or could not be read, so far."""
        return self._harvest.summary.documents
