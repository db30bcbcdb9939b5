"""Creates the components of a run, and connects them with Scrapy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sitemap_harvest.engine.crawl_loop import CrawlLoop
from sitemap_harvest.engine.in_flight import InFlight
from sitemap_harvest.engine.run_state import RunParts, RunState, site_queue
from sitemap_harvest.integration.document_requests import DocumentRequests
from sitemap_harvest.integration.items.item_processor import rows_check
from sitemap_harvest.integration.loop_runner import LoopRunner, Wakeup
from sitemap_harvest.page_visits.host_turns import HostTurns
from sitemap_harvest.spiders.start_requests import SeedRequests

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from sitemap_harvest.config.arguments import RunConfig
    from sitemap_harvest.engine.probe import Probe
    from sitemap_harvest.engine.snapshot_session import SnapshotSession
    from sitemap_harvest.integration.spider_attributes import SitemapAttributes
    from sitemap_harvest.page_visits.page_requests import PageRequests
    from sitemap_harvest.page_visits.page_rules import PageRules


@dataclass(frozen=True, slots=True)
class RunComponents:
    """The components of an open run."""

    seeds: SeedRequests
    loop: CrawlLoop
    runner: LoopRunner
    pages: PageRequests | None
    """The visits to pages; ``None`` if the spider visits none."""


def connect(
    spider: SitemapAttributes, run: RunState, config: RunConfig, rules: PageRules, session: SnapshotSession | None
) -> RunComponents:
    """Create the components of *run*, whose settings are read, and its queue of sites.

    *session* is the store; ``None`` for a run without one.
    """
    crawler, options, wakeup = spider.crawler, run.options, Wakeup()
    settings = crawler.settings
    limits = (settings.getint(name) for name in ("CONCURRENT_REQUESTS_PER_DOMAIN", "CONCURRENT_REQUESTS"))
    per_host, max_in_flight = (limit if limit > 0 else options.concurrency for limit in limits)  # 0: no limit
    small = options.bodies // max(max_in_flight, options.concurrency)
    run.in_flight = InFlight(most=options.bodies, small=small, wake=wakeup)
    run.sites = site_queue(config, options, per_host=per_host, depth_limit=settings.getint("DEPTH_LIMIT"))
    seeds = SeedRequests(spider, run.sites)
    pages: PageRequests | None = None
    turns = HostTurns(crawler, run.sites.frontier)
    if rules.rules:
        from sitemap_harvest.page_visits.page_requests import PageRequests  # of spiders that visit pages

        pages = PageRequests(spider, rules, turns, wakeup, only_site=config.only_site)
    probe, next_probed = _probe(crawler, run, config, session, turns, wakeup)
    requests = DocumentRequests(crawler, seeds.like, read_declared=options.read_declared)
    needs_rows = rows_check(crawler, run.logger)
    parts = RunParts(
        config=config,
        options=options,
        summary=run.summary,
        sites=run.sites,
        in_flight=run.in_flight,
        session=session,
        build_request=requests.build,
        pages=pages,
        probe=probe,
        next_probed=next_probed,
        children=rules.children,
        needs_rows=lambda: options.items == "rows" or needs_rows(),
        max_in_flight=max_in_flight,
        max_attempts=settings.getint("RETRY_TIMES") if settings.getbool("RETRY_ENABLED") else 0,
        part=None if session is None else session.part,
    )
    loop = CrawlLoop(parts)
    return RunComponents(seeds, loop, LoopRunner(crawler, loop, requests, wakeup, small=small), pages)


def _probe(
    crawler: Crawler,
    run: RunState,
    config: RunConfig,
    session: SnapshotSession | None,
    turns: HostTurns,
    wakeup: Wakeup,
) -> tuple[Probe | None, Callable[[], Request | None]]:
    """Return the probe of *run*, if the user wants one, and a function that returns its next request."""
    if config.probe is None or session is None:
        return None, lambda: None
    from sitemap_harvest.engine.probe import Probe  # only a run with a store has one
    from sitemap_harvest.page_visits.probe_requests import ProbeRequests

    probe = Probe(
        config.probe,
        config.probe_seed,
        frontier=run.sites.frontier,
        max_unanswered=run.options.max_unanswered,
        summary=run.summary,
        guard=session.guard,
    )
    emits = "pages" in config.emit
    requests = ProbeRequests(crawler, probe, turns, wakeup, only_site=config.only_site, emits=emits)
    return probe, requests.next
