"""``scrapy harvest crawl``: crawls sites, sitemaps or files into a file of URLs."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rich.console import Console
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.log import get_scrapy_root_handler

from sitemap_harvest.cli import crawl_display, output
from sitemap_harvest.config.arguments import ARGUMENTS, RunConfig
from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.engine.exit_codes import RunOutcome, verdict
from sitemap_harvest.errors import ArgumentError, HarvestError, OptionError
from sitemap_harvest.integration.spider_attributes import harvest_of
from sitemap_harvest.reporting.json_log import start_log
from sitemap_harvest.reporting.run_reports import ErrorCount, check_installed, report_refused
from sitemap_harvest.spiders.sitemap import SitemapSpider

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings

    from sitemap_harvest.engine.run_state import RunState

USAGE = "TARGET..."
EPILOG = "\n".join(
    [
        "Exit codes:",
        *(f"  {outcome.exit_code:<18} {outcome.meaning}" for outcome in RunOutcome),
        "Arguments for -a NAME=VALUE:",
        *(f"  {name:<18} {argument.help}" for name, argument in ARGUMENTS.items()),
    ]
)
_TARGET = "a site, the URL of a sitemap, or a file"
_LOGGERS_OF_SET_UP = ("scrapy.addons", "scrapy.crawler", "scrapy.middleware", "scrapy.utils.log")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this action."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help="a site (https://www.example.com), a sitemap (https://www.example.com/sitemap.xml) or a file",
    )


def run(opts: argparse.Namespace, settings: Settings) -> RunOutcome:
    """Crawl. Raises :exc:`HarvestError` for an invalid argument or setting."""
    try:
        arguments = arguments_of(opts.targets, opts.spargs)
        RunConfig.of(arguments)
        HarvestSettings.from_settings(settings)
        check_installed(settings)
    except HarvestError as error:
        report_refused(error, settings, spider=SitemapSpider.name, arguments={"TARGET": opts.targets, **opts.spargs})
        raise
    _set_up_log(opts, settings)
    start_log(settings)
    console = Console(stderr=True)
    if not (has_output := bool(settings.getdict("FEEDS"))):
        output.say(console, crawl_display.NO_OUTPUT)
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(SitemapSpider)
    opened: list[RunState] = []

    def remember() -> None:
        opened.append(run := harvest_of(crawler))
        # The table has the summary, but programs that read the log expect it there.
        run.logs_summary = settings.get("SITEMAP_HARVEST_LOG") == "json"

    crawler.signals.connect(remember, signal=signals.spider_opened)
    logging.root.addHandler(errors := ErrorCount())
    process.crawl(crawler, **arguments)
    process.start()
    if process.bootstrap_failed or not opened:
        return RunOutcome.NOT_STARTED
    if opened[0].refused is not None and not _log_is_shown():
        raise OptionError(opened[0].refused)
    summary, stats = opened[0].summary, crawler.stats.get_stats()
    crawl_display.show(summary, stats, console=console, has_output=has_output)
    return verdict(summary, stats, errors=errors.errors)


def _log_is_shown() -> bool:
    """Whether errors in the log are visible on the screen."""
    handler = get_scrapy_root_handler()
    return type(handler) is logging.StreamHandler and handler.level <= logging.ERROR  # a FileHandler is one too


def arguments_of(targets: list[str], given: dict[str, str]) -> dict[str, Any]:
    """Return the spider's arguments: *targets* and the *given* ones of ``-a``. Raises :exc:`ArgumentError`."""
    for target in targets:
        name, equals, _ = target.partition("=")
        if not target.strip():
            raise ArgumentError("TARGET", target, _TARGET, message=f"a TARGET is empty: give {_TARGET}")
        if equals and name in ARGUMENTS:
            message = f"TARGET {target!r}: it is an argument, not a target; write -a {target}"
            raise ArgumentError("TARGET", target, _TARGET, message=message)
    arguments: dict[str, Any] = dict(given)
    sites = [target for target in targets if is_site(target)]
    for name, values in (("site", sites), ("sitemap", [target for target in targets if target not in sites])):
        if values and name in given:
            message = f"argument {name}={given[name]!r}: the target {values[0]!r} is also given; give both as targets"
            raise ArgumentError(name, given[name], "given once", message=message)
        if values:
            arguments[name] = values
    if not arguments:
        raise ArgumentError("TARGET", None, _TARGET, message=f"nothing to harvest: give {_TARGET}")
    return arguments


def is_site(target: str) -> bool:
    """Whether *target* is the URL of a site rather than of a document: it has no path."""
    try:
        parts = urlsplit(target if "://" in target else f"https://{target}")
    except ValueError:  # an unclosed bracket; checking the argument reports it
        return True
    suffixes = (".xml", ".gz", ".txt", ".rss", ".atom")
    if "://" not in target and ("/" in target.strip("/") or target.endswith(suffixes) or Path(target).exists()):
        return False
    return parts.scheme in {"http", "https"} and parts.path in {"", "/"} and not parts.query


def _set_up_log(opts: argparse.Namespace, settings: Settings) -> None:
    """Set up the live line and warnings on a terminal, log lines elsewhere. The user's options take precedence."""
    if opts.loglevel or opts.logfile or opts.nolog:
        return
    settings.set("STATS_DUMP", False, priority="addon")  # noqa: FBT003 - Scrapy's interface; the table has them
    settings.set("LOG_LEVEL", "WARNING" if sys.stderr.isatty() else "INFO", priority="addon")
    if sys.stderr.isatty():
        settings.set_in_component_priority_dict("EXTENSIONS", crawl_display.ProgressLine, 0)
    for name in _LOGGERS_OF_SET_UP:
        logging.getLogger(name).disabled = True  # Scrapy's log set-up would reset a level
