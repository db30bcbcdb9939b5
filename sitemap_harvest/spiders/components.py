"""The components of a run, created from its configuration: the store, the engine, and the downloads with Scrapy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.defer import deferred_from_coro

from sitemap_harvest.config.arguments import check_store
from sitemap_harvest.engine.crawl_loop import CrawlLoop
from sitemap_harvest.engine.in_flight import InFlight
from sitemap_harvest.engine.run_state import RunParts, site_queue
from sitemap_harvest.engine.session import Session
from sitemap_harvest.integration.document_requests import DocumentRequests
from sitemap_harvest.integration.downloads import Downloads, Wakeup
from sitemap_harvest.integration.items.batch_support import needs_rows
from sitemap_harvest.page_visits.page_requests import PageRequests
from sitemap_harvest.spiders.start_requests import SeedRequests

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from sitemap_harvest.config.arguments import RunConfig
    from sitemap_harvest.config.settings import HarvestSettings
    from sitemap_harvest.engine.run_state import RunState
    from sitemap_harvest.integration.spider_attributes import SitemapAttributes
    from sitemap_harvest.page_visits.page_rules import PageRules


class Components:
    """The components of one run."""

    def __init__(
        self, spider: SitemapAttributes, run: RunState, config: RunConfig, session: Session, rules: PageRules
    ) -> None:
        crawler, options, wakeup = spider.crawler, run.options, Wakeup()
        settings = crawler.settings
        per_host = _limit(settings, "CONCURRENT_REQUESTS_PER_DOMAIN") or options.concurrency
        max_in_flight = _limit(settings, "CONCURRENT_REQUESTS") or options.concurrency
        small = options.bodies // max(max_in_flight, options.concurrency)
        self.session = session
        self.sites = site_queue(config, options, per_host=per_host, depth_limit=settings.getint("DEPTH_LIMIT"))
        self.seeds = SeedRequests(spider, self.sites)
        self.pages = (
            PageRequests(spider, rules, self.sites.frontier, wakeup, only_site=config.only_site)
            if rules.rules
            else None
        )
        requests = DocumentRequests(crawler, session, self.seeds.like, read_declared=options.read_declared)
        parts = RunParts(
            config=config,
            options=options,
            stats=crawler.stats,
            summary=run.summary,
            sites=self.sites,
            in_flight=InFlight(most=options.bodies, small=small, wake=wakeup),
            session=session,
            requests=requests,
            pages=self.pages,
            rules=rules,
            needs_rows=lambda: options.items == "rows" or needs_rows(crawler, run.logger),
            max_in_flight=max_in_flight,
            max_attempts=settings.getint("RETRY_TIMES") if settings.getbool("RETRY_ENABLED") else 0,
        )
        self.loop = CrawlLoop(parts)
        self.downloads = Downloads(crawler, self.loop, requests, wakeup, small=small)


def open_store(crawler: Crawler, run: RunState, config: RunConfig, options: HarvestSettings) -> Session:
    """Open the store of an argument or a setting, if there is one. Raises :exc:`StoreError`."""
    store = config.snapshots.store or options.store
    check_store(config.snapshots, config.emit, store)
    if store is None:
        return Session()
    from sitemap_harvest.engine.snapshot_session import SnapshotSession
    from sitemap_harvest.integration.items.delivery import Delivery

    def end_run() -> None:
        deferred_from_coro(crawler.engine.close_spider_async(reason="store_failed"))

    consumer = config.snapshots.consumer
    session = SnapshotSession(
        store,
        config,
        options,
        crawler.stats,
        run_id=run.run_id,
        started_at=run.started_at,
        fail=end_run,
        delivery=None if consumer is None else Delivery(consumer, crawler),
    )
    if len(config.candidates) == 1:  # with several, sites without such a snapshot are reported
        session.check_baseline(config.candidates[0].root)
    return session


def _limit(settings: BaseSettings, name: str) -> int:
    """Return the setting *name*; 0, Scrapy's value for no limit, if it is negative."""
    return max(0, settings.getint(name))
