"""Prepares the crawler of a run: adds components to its settings, checks these, names targets, opens the store."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from scrapy.utils.defer import deferred_from_coro

from sitemap_harvest.config.arguments import check_details, check_store
from sitemap_harvest.config.settings import ALWAYS, FALLBACK, NEVER
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.integration.archiver import open_archive
from sitemap_harvest.integration.default_settings import bring_outputs
from sitemap_harvest.integration.guards import allow_named, enable_guards, send_site_headers
from sitemap_harvest.integration.items.output_checks import check_outputs
from sitemap_harvest.integration.middlewares import LocalFilesMiddleware
from sitemap_harvest.integration.replay import ReplayMiddleware, open_captures
from sitemap_harvest.reporting.json_log import start_log
from sitemap_harvest.reporting.run_reports import check_reporting
from sitemap_harvest.spiders.start_requests import CLOSEST_TO_THE_SPIDER, StartRequestsMiddleware

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from sitemap_harvest.config.arguments import RunConfig
    from sitemap_harvest.engine.run_state import RunState
    from sitemap_harvest.engine.snapshot_session import SnapshotSession


def enable_components(spider: Spider, *arguments: Mapping[str, Any]) -> None:
    """Add the components of the run of *spider* to its settings; *arguments* are those given, then the defaults."""
    settings = spider.crawler.settings
    start_log(settings, spider)
    enable_guards(settings)
    bring_outputs(settings)
    settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", StartRequestsMiddleware, CLOSEST_TO_THE_SPIDER)
    if any("root" in given for given in arguments):  # before HttpCacheMiddleware
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", ReplayMiddleware, 891)
    modes = (given.get("browser") for given in arguments)
    mode = next((mode for mode in modes if mode is not None), settings.get("SITEMAP_HARVEST_BROWSER"))
    if mode in {FALLBACK, ALWAYS}:  # an invalid one is reported when the run opens
        from sitemap_harvest.browser.middleware import BrowserMiddleware

        # Next to the downloader, behind the package's other middlewares: to them its responses come from the server.
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", BrowserMiddleware, 1_000_002)


def apply_targets(crawler: Crawler, config: RunConfig, run: RunState) -> None:
    """Let *crawler* request the targets of *config*, with their logins and headers."""
    allow_named(crawler, (candidate.url for candidate in config.candidates))
    send_site_headers(crawler, run.options, config.logins)


def prepare(spider: Spider, run: RunState, config: RunConfig, *, sites: object) -> SnapshotSession | None:
    """Check the settings of the project, name the targets, and open the store; raise an error if the run may not begin.

    *sites* is the argument of that name. Without a store, return ``None``.
    """
    crawler = spider.crawler
    apply_targets(crawler, config, run)
    check_outputs(crawler, config, sites=sites, reports=check_reporting(spider))
    if config.root is not None and crawler.get_downloader_middleware(LocalFilesMiddleware) is None:
        root = str(config.root)
        message = f"argument root={root!r}: it needs the sitemap_harvest add-on, which is missing from ADDONS"
        raise ArgumentError("root", root, "given in a project with the add-on", message=message)
    if run.browser_mode != NEVER:
        from sitemap_harvest.browser.setup import check_browser

        check_browser(crawler.settings, run.browser_mode)
    store = config.store or run.options.store
    check_store(config, store)
    check_details(config.details)
    run.captures, run.archiver = open_captures(config), open_archive(crawler, run, config)
    if store is None and (config.audits or config.probe is not None):
        run.temporary_store = TemporaryDirectory(prefix="sitemap-harvest-")
        store = run.temporary_store.name
    if store is None:
        return None
    from sitemap_harvest.engine.snapshot_session import SnapshotSession
    from sitemap_harvest.integration.items.delivery import Delivery

    def end_run() -> None:
        deferred_from_coro(crawler.engine.close_spider_async(reason="store_failed"))

    consumer = config.consumer
    return SnapshotSession(
        store,
        config,
        run.options,
        run.summary.count,
        run_id=run.run_id,
        started_at=run.started_at,
        fail=end_run,
        delivery=None if consumer is None else Delivery(consumer, crawler),
    )
