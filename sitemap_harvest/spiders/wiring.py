"""Adds the components of a run to the settings of its crawler, and checks these settings when the run opens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sitemap_harvest.browser.setup import check_browser, enable_browser
from sitemap_harvest.integration.checks import check_exporter, check_feeds, check_output_conflicts, check_root
from sitemap_harvest.integration.guards import allow_named, enable_guards, send_site_headers, site_headers
from sitemap_harvest.integration.log_filters import shorten_download_errors
from sitemap_harvest.reporting.setup import start_log
from sitemap_harvest.spiders.start_requests import CLOSEST_TO_THE_SPIDER, StartRequestsMiddleware

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scrapy.crawler import Crawler

    from sitemap_harvest.config.arguments import RunConfig
    from sitemap_harvest.config.settings import HarvestSettings
    from sitemap_harvest.integration.spider_attributes import SitemapAttributes


def enable_components(spider: SitemapAttributes, arguments: Mapping[str, Any]) -> None:
    """Add the components of the run of *spider* to its settings; *arguments* are those of the package."""
    settings = spider.crawler.settings
    start_log(settings, spider)
    enable_guards(settings)
    settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", StartRequestsMiddleware, CLOSEST_TO_THE_SPIDER)
    enable_browser(settings, arguments, spider.harvest_arguments)


def apply_targets(crawler: Crawler, config: RunConfig, options: HarvestSettings) -> None:
    """Let *crawler* request the targets of *config*, with their logins and headers."""
    allow_named(crawler, (candidate.url for candidate in config.candidates))
    send_site_headers(crawler, site_headers(options, config.logins))


def check_project(
    crawler: Crawler, config: RunConfig, options: HarvestSettings, *, sites: object, reports: Mapping[str, Path | None]
) -> None:
    """Raise :exc:`ArgumentError` or :exc:`OptionError` if the settings of *crawler* do not allow the run.

    *sites* is the argument of that name, *reports* has the files of the reports.
    """
    settings = crawler.settings
    check_feeds(settings, config.emit)
    check_exporter(crawler)
    check_root(config.root, crawler)
    check_output_conflicts(settings.getdict("FEEDS"), config.candidates, sites=sites, watched=reports)
    check_browser(settings, config.browser or options.browser)


def prepare_process() -> None:
    """Shorten Scrapy's lines for failed downloads, and let Arrow return freed memory."""
    shorten_download_errors()
    pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own pool retains some 25 MB of freed memory
