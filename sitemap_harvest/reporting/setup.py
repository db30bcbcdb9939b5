"""Enables the JSON log, the metrics and the closing record if the settings request them.

This package's spiders load them. Other spiders of a project do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.log import get_scrapy_root_handler
from scrapy.utils.misc import load_object

from sitemap_harvest.errors import OptionError
from sitemap_harvest.reporting import log_context
from sitemap_harvest.reporting.run_reports import METRICS, RunReports, writers

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Spider
    from scrapy.settings import BaseSettings

_LOG = "SITEMAP_HARVEST_LOG"
_NO_HANDLER = (
    "SITEMAP_HARVEST_LOG is 'json', but Scrapy has not configured logging: "
    "set the formatter of your own handler to sitemap_harvest.reporting.json_log.JsonFormatter"
)


def enable_reports(settings: BaseSettings) -> None:
    """Add the extension that writes the reports, if *settings* request one, before others, which may fail."""
    given = settings.getdict("EXTENSIONS")
    if writers(settings) and RunReports not in map(load_object, given):
        # A runner replaces values of the same priority with its own.
        priority = max((settings.getpriority("EXTENSIONS") or 0) + 1, SETTINGS_PRIORITIES["spider"])
        settings.set("EXTENSIONS", {**given, RunReports: -1_000}, priority=priority)


def start_log(settings: BaseSettings, spider: Spider | None = None) -> None:
    """Make log records carry the run of *spider* from now on, and use JSON if *settings* say so."""
    if spider is not None:
        log_context.begin(spider)
    if settings.get(_LOG) == "json":
        from sitemap_harvest.reporting import json_log

        json_log.begin()


def check_reporting(spider: Spider) -> dict[str, Path | None]:
    """Return the files of the reports by setting. Raises :exc:`OptionError` if one cannot be written."""
    settings, context = spider.crawler.settings, log_context.run_context_of_spider(spider)
    check_installed(settings)
    if settings.get(_LOG) == "json" and get_scrapy_root_handler() is None:
        spider.logger.warning("%s", _NO_HANDLER)
    return {name: module.check(settings, context) for name, module in writers(settings).items()}


def check_installed(settings: BaseSettings) -> None:
    """Raise :exc:`OptionError` if a required library is not installed."""
    if settings.get(METRICS) and METRICS not in writers(settings):
        install = "pip install 'scrapy-sitemap-harvest[observe]'"
        raise OptionError(f"{METRICS} needs prometheus_client, which is not installed: {install}")
