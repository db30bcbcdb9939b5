"""The components of a run, created from its configuration: the engine, and the downloads with Scrapy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemap_harvest.engine.crawl_loop import CrawlLoop
from sitemap_harvest.engine.in_flight import InFlight
from sitemap_harvest.engine.run_state import RunParts, site_queue
from sitemap_harvest.integration.document_requests import DocumentRequests
from sitemap_harvest.integration.downloads import Downloads, Wakeup
from sitemap_harvest.integration.items.item_processor import needs_rows
from sitemap_harvest.page_visits.page_requests import PageRequests
from sitemap_harvest.spiders.start_requests import SeedRequests

if TYPE_CHECKING:
    from sitemap_harvest.config.arguments import RunConfig
    from sitemap_harvest.engine.interfaces import Session
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
        limits = (settings.getint(name) for name in ("CONCURRENT_REQUESTS_PER_DOMAIN", "CONCURRENT_REQUESTS"))
        per_host, max_in_flight = (limit if limit > 0 else options.concurrency for limit in limits)  # 0: no limit
        small = options.bodies // max(max_in_flight, options.concurrency)
        self.session = session
        self.sites = site_queue(config, options, per_host=per_host, depth_limit=settings.getint("DEPTH_LIMIT"))
        self.seeds = SeedRequests(spider, self.sites)
        self.pages = (
            PageRequests(spider, rules, self.sites.frontier, wakeup, only_site=config.only_site)
            if rules.rules
            else None
        )
        requests = DocumentRequests(crawler, self.seeds.like, read_declared=options.read_declared)
        parts = RunParts(
            config=config,
            options=options,
            summary=run.summary,
            sites=self.sites,
            in_flight=InFlight(most=options.bodies, small=small, wake=wakeup),
            session=session,
            build_request=requests.build,
            pages=self.pages,
            children=rules.children,
            needs_rows=lambda: options.items == "rows" or needs_rows(crawler, run.logger),
            max_in_flight=max_in_flight,
            max_attempts=settings.getint("RETRY_TIMES") if settings.getbool("RETRY_ENABLED") else 0,
        )
        self.loop = CrawlLoop(parts)
        self.downloads = Downloads(crawler, self.loop, requests, wakeup, small=small)
