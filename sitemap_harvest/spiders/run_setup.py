"""Prepares a run before it begins: checks its settings, names its targets, opens its store."""

from __future__ import annotations

from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from scrapy.utils.defer import deferred_from_coro

from sitemap_harvest.config.arguments import check_details, check_store
from sitemap_harvest.config.settings import NEVER
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.integration.archiver import open_archive
from sitemap_harvest.integration.guards import allow_named, send_site_headers
from sitemap_harvest.integration.items.output_checks import check_outputs
from sitemap_harvest.integration.middlewares import LocalFilesMiddleware
from sitemap_harvest.integration.replay import open_captures
from sitemap_harvest.reporting.run_reports import check_reporting

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

    from sitemap_harvest.config.arguments import RunConfig
    from sitemap_harvest.engine.run_state import RunState
    from sitemap_harvest.engine.snapshot_session import SnapshotSession


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

    if isinstance(limits := getattr(spider, "_intervals", None), tuple):
        config = replace(config, intervals=limits)
    consumer, job = config.consumer, getattr(spider, "_job", None)  # of Scrapyd, as in reports
    return SnapshotSession(
        store,
        config,
        run.options,
        run.summary.count,
        run_id=run.run_id,
        job=None if job is None else str(job),
        started_at=run.started_at,
        fail=end_run,
        delivery=None if consumer is None else Delivery(consumer, crawler),
        part=None if isinstance(part := getattr(spider, "_part", None), str) else part,  # of a job, never text
    )
