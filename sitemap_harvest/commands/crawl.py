"""``scrapy harvest crawl``: from sites, sitemaps or files to a file of URLs."""

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

from sitemap_harvest.commands import closing
from sitemap_harvest.commands.progress import ProgressLine
from sitemap_harvest.crawl.arguments import Arguments, Plan
from sitemap_harvest.crawl.options import Options
from sitemap_harvest.crawl.spiders.base import harvest_of
from sitemap_harvest.crawl.spiders.sitemap import SitemapSpider
from sitemap_harvest.crawl.watching.run_mark import ErrorCount
from sitemap_harvest.crawl.watching.switch import begin_log, check_installed, tell_refused
from sitemap_harvest.errors import ArgumentError, HarvestError, OptionError

if TYPE_CHECKING:
    import argparse

    from scrapy.crawler import Crawler
    from scrapy.settings import Settings

HELP = "Harvest the URLs of sites, sitemaps or files."
ARGUMENTS = "TARGET..."
EPILOG = (
    f"Arguments for -a: {', '.join(Arguments.names())}. "
    "Exit codes: 0 URLs were harvested and nothing failed; 1 Scrapy could not start; 2 wrong usage; "
    "3 no URL was harvested; 4 some of it failed."
)
_NO_TARGET = "nothing to harvest: name a TARGET, which is a site, the address of a sitemap, or a file"
_EMPTY_TARGET = "a TARGET is empty: name a site, the address of a sitemap, or a file"
_COULD_NOT_START = 1
_CHATTY = ("scrapy.addons", "scrapy.crawler", "scrapy.middleware", "scrapy.utils.log")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this action."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help="a site (https://www.example.com), a sitemap (https://www.example.com/sitemap.xml) or a file",
    )


def run(opts: argparse.Namespace, settings: Settings) -> int:
    """Crawl, and return the exit code. Raises :exc:`HarvestError` if an argument or a setting is wrong."""
    try:
        arguments = _checked(opts, settings)
    except HarvestError as error:
        tell_refused(error, settings, spider=SitemapSpider.name, arguments={"TARGET": opts.targets, **opts.spargs})
        raise
    _set_up_log(opts, settings)
    begin_log(settings)
    console = Console(stderr=True)
    if not (has_output := bool(settings.getdict("FEEDS"))):
        closing.show_no_output(console)
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(SitemapSpider)
    runs = _remember_run(crawler)
    logging.root.addHandler(errors := ErrorCount())
    process.crawl(crawler, **arguments)
    process.start()
    run = runs.get("run")
    if process.bootstrap_failed or run is None:
        return _COULD_NOT_START
    if run.refused is not None and not _log_is_shown():
        raise OptionError(run.refused)
    stats = crawler.stats.get_stats()
    closing.show(run.summary, stats, console=console, has_output=has_output)
    return closing.exit_code(run.summary, stats, errors=errors.errors)


def _checked(opts: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    """Return the spider's arguments. Raises :exc:`HarvestError` if one of them or a setting is wrong."""
    arguments = arguments_of(opts.targets, opts.spargs)
    if not arguments:
        raise ArgumentError("TARGET", None, "a site, a sitemap or a file", message=_NO_TARGET)
    Plan.of(Arguments(**arguments))
    Options.from_settings(settings)
    check_installed(settings)
    return arguments


def _log_is_shown() -> bool:
    """Whether an error in the log is on the screen."""
    handler = get_scrapy_root_handler()
    if not isinstance(handler, logging.StreamHandler) or isinstance(handler, logging.FileHandler):
        return False
    return handler.level <= logging.ERROR


def arguments_of(targets: list[str], given: dict[str, str]) -> dict[str, Any]:
    """Return the spider's arguments for *targets* and those *given* by ``-a``."""
    Arguments.check_names(dict(given))
    if not all(target.strip() for target in targets):
        raise ArgumentError("TARGET", "", "a site, a sitemap or a file", message=_EMPTY_TARGET)
    for target in targets:
        name, equals, _ = target.partition("=")
        if equals and name in Arguments.names():
            message = f"TARGET {target!r}: it is an argument and no target; write -a {target}"
            raise ArgumentError("TARGET", target, "a site, a sitemap or a file", message=message)
    sites = [target for target in targets if is_site(target)]
    sitemaps = [target for target in targets if not is_site(target)]
    arguments: dict[str, Any] = dict(given)
    for name, values in (("site", sites), ("sitemap", sitemaps)):
        if values and name in given:
            message = f"argument {name}={given[name]!r}: {values[0]!r} is named too; name all of them as targets"
            raise ArgumentError(name, given[name], "given once", message=message)
        if values:
            arguments[name] = values
    return arguments


def is_site(target: str) -> bool:
    """Whether *target* is the address of a site and not of one document: it has no path."""
    try:
        parts = urlsplit(target if "://" in target else f"https://{target}")
    except ValueError:  # half a bracket; the argument says what is wrong with it
        return True
    if "://" not in target and ("/" in target.strip("/") or _is_file(target)):
        return False
    return parts.scheme in {"http", "https"} and parts.path in {"", "/"} and not parts.query


def _is_file(target: str) -> bool:
    return Path(target).exists() or target.endswith((".xml", ".gz", ".txt", ".rss", ".atom"))


def _set_up_log(opts: argparse.Namespace, settings: Settings) -> None:
    """On a terminal show one live line and warnings; elsewhere log lines. What the user asks for wins."""
    if opts.loglevel or opts.logfile or opts.nolog:
        return
    settings.set("STATS_DUMP", False, priority="addon")  # noqa: FBT003 - Scrapy's interface; the closing table has them
    if sys.stderr.isatty():
        settings.set("LOG_LEVEL", "WARNING", priority="addon")
        settings.set_in_component_priority_dict("EXTENSIONS", ProgressLine, 0)
    else:
        settings.set("LOG_LEVEL", "INFO", priority="addon")
    for name in _CHATTY:
        logging.getLogger(name).disabled = True  # a level would be undone when Scrapy sets up its log


def _remember_run(crawler: Crawler) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def remember() -> None:
        found["run"] = run = harvest_of(crawler)
        # The closing table has the summary; but programs that read the log expect it there.
        run.logs_summary = crawler.settings.get("SITEMAP_HARVEST_LOG") == "json"

    found["handler"] = remember  # signals hold their handlers weakly
    crawler.signals.connect(remember, signal=signals.spider_opened)
    return found
