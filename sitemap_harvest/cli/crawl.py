"""``sitemap-harvest crawl``: crawls sites, sitemaps or files into a file of URLs, and shows the result."""

from __future__ import annotations

import logging
import sys
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from signal import SIGINT
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.log import get_scrapy_root_handler

from sitemap_harvest.cli import spider_options
from sitemap_harvest.cli.crawl_summary import NO_OUTPUT, line, show
from sitemap_harvest.cli.output import tell, unknown_format, with_format
from sitemap_harvest.config.arguments import RunConfig
from sitemap_harvest.config.named_targets import arguments_of, notes_on
from sitemap_harvest.engine.exit_codes import RunOutcome, verdict
from sitemap_harvest.errors import ArgumentError, HarvestError, OptionError
from sitemap_harvest.integration.setting_types import checked_settings
from sitemap_harvest.integration.spider_attributes import harvest_of
from sitemap_harvest.reporting.json_log import start_log
from sitemap_harvest.reporting.run_reports import ErrorCount, check_installed, report_refused
from sitemap_harvest.spiders.sitemap import SitemapSpider

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from scrapy.crawler import Crawler
    from scrapy.settings import Settings

    from sitemap_harvest.cli.parsers import ActionParser
    from sitemap_harvest.engine.run_state import RunState
    from sitemap_harvest.engine.run_summary import Summary

USAGE = "TARGET..."
EPILOG = "\n".join(
    [
        spider_options.NOTE,
        "",
        "Exit codes:",
        *(f"  {outcome.exit_code:<18} {outcome.meaning}" for outcome in RunOutcome),
    ]
)
_LOGGERS_OF_EACH_DOCUMENT = ("scrapy.core.engine", "scrapy.core.scraper")
_LOGGERS_OF_SET_UP = ("scrapy.addons", "scrapy.crawler", "scrapy.middleware", "scrapy.utils.log")


def add_options(parser: ActionParser) -> None:
    """Add the options of this action."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help="a site (https://www.example.com), a sitemap (https://www.example.com/sitemap.xml), or a file: a sitemap, "
        "or a list of sites",
    )
    spider_options.add_arguments(parser)


def check_outputs(opts: argparse.Namespace, settings: Settings) -> None:
    """Add to the outputs in *opts* the formats that Scrapy needs. Raises :exc:`ArgumentError` if one is unknown."""
    known = {name for name, exporter in settings.getwithbase("FEED_EXPORTERS").items() if exporter is not None}
    for option, outputs in (("-o", opts.output), ("-O", opts.overwrite_output)):
        for index, given in enumerate(outputs or ()):
            if (complete := with_format(given, known)) is None:
                message = f"{option} {unknown_format(given, databases=('duckdb', 'sqlite', 'delta'))}"
                raise ArgumentError(option, given, "a known format", message=message)
            outputs[index] = complete


def run(opts: argparse.Namespace, settings: Settings) -> RunOutcome:
    """Crawl. Raises :exc:`HarvestError` for an invalid argument or setting."""
    return crawl(opts, settings, has_output=bool(settings.getdict("FEEDS")))[0]


def crawl(
    opts: argparse.Namespace, settings: Settings, *, has_output: bool | None, keeps_store: bool = True
) -> tuple[RunOutcome, bool]:
    """Crawl the targets in *opts*, and show the result; return it, and whether the run was not ended early.

    *has_output*: whether the run writes output files; ``None``: it needs none. *keeps_store*: whether the store, if
    there is one, is the user's. Raises :exc:`HarvestError`.
    """
    try:
        arguments = arguments_of(opts.targets, opts.spargs)
        RunConfig.of(arguments)
        checked_settings(settings)
        check_installed(settings)
    except HarvestError as error:
        report_refused(error, settings, spider=SitemapSpider.name, arguments={"TARGET": opts.targets, **opts.spargs})
        raise
    is_live = _set_up_log(opts, settings)
    is_plain = not _has_log_options(opts) and settings.get("SITEMAP_HARVEST_LOG") != "json"
    start_log(settings)
    for note in notes_on(arguments, opts.spargs):
        tell(spider_options.as_typed(note, opts))
    has_store = bool(keeps_store and (arguments.get("store") or settings.get("SITEMAP_HARVEST_STORE")))
    process = _CrawlerProcess(settings)
    process.crawler = crawler = process.create_crawler(SitemapSpider)
    process.keeps = (*(["the output files"] if has_output else []), *(["the snapshots"] if has_store else []))
    opened: list[RunState] = []

    def remember() -> None:
        opened.append(run := harvest_of(crawler))
        _set_levels(settings)
        if is_plain and (handler := _shown_log()) is not None:
            handler.addFilter(partial(_is_no_refusal, run))
        # The table has the summary, but programs that read the log expect it there.
        run.logs_summary = settings.get("SITEMAP_HARVEST_LOG") == "json"

    crawler.signals.connect(remember, signal=signals.spider_opened)
    if has_output is False and not has_store:
        crawler.signals.connect(lambda: _tell_no_output(opened), signal=signals.engine_started, weak=False)
    live = ExitStack()
    if is_live:
        crawler.signals.connect(lambda: _go_live(live, opened), signal=signals.engine_started, weak=False)
    logging.root.addHandler(errors := ErrorCount())
    process.crawl(crawler, **arguments)
    with live:
        process.start()
    if process.bootstrap_failed or not opened:
        return RunOutcome.NOT_STARTED, False
    if opened[0].refused is not None and (is_plain or _shown_log() is None):
        raise OptionError(opened[0].refused)
    # Scrapy's duration ends before the outputs are written.
    summary, stats = opened[0].summary, crawler.stats.get_stats() | {"elapsed_time_seconds": opened[0].seconds}
    session = opened[0].session if keeps_store else None
    if not keeps_store:
        summary.first_snapshots = summary.stored = 0
    outcome = verdict(summary, stats, errors=errors.errors)
    checkpointed = None if session is None else session.checkpointed
    kept = () if _shows_warnings() else errors.kept
    show(summary, stats, outcome, has_output=has_output, checkpointed=checkpointed, errors=errors, kept=kept)
    return outcome, stats.get("finish_reason") == "finished"


class _CrawlerProcess(AsyncCrawlerProcess):
    """Says what Ctrl-C does. Scrapy logs less, and a terminal shows only warnings."""

    crawler: Crawler
    keeps: tuple[str, ...]
    """What a run writes at its end, unless it is aborted."""

    def _log_shutdown(self, signum: int) -> None:  # type: ignore[override]  # Scrapy's is a static method
        super()._log_shutdown(signum)
        waiting = len(self.crawler.engine.downloader.active) if self.crawler.engine else 0
        responses = f"{waiting} response{'' if waiting == 1 else 's'}"
        timeout = self.crawler.settings.getfloat("DOWNLOAD_TIMEOUT")
        wait = f", waits for {responses} (at most {timeout:g} seconds)" if waiting else ""
        tell(f"Interrupted: the run requests no more documents{wait} and keeps what it has read.")
        again = "Press Ctrl-C again" if signum == SIGINT else "Send the signal again"
        lost = f", without writing {' and '.join(self.keeps)}" if self.keeps else ""
        tell(f"{again} to abort at once{lost}.")


def _set_up_log(opts: argparse.Namespace, settings: Settings) -> bool:
    """Set up warnings on a terminal, log lines elsewhere; return whether to show the live line, on a terminal.

    The user's options take precedence.
    """
    if _has_log_options(opts):
        return False
    is_terminal = sys.stderr.isatty()
    settings.set("STATS_DUMP", False, priority="addon")  # noqa: FBT003 - Scrapy's interface; the table has them
    is_own_project = settings.get("BOT_NAME") == "sitemap_harvest"  # whose level is meant for "scrapy crawl"
    priority = "project" if is_own_project else "addon"
    settings.set("LOG_LEVEL", "WARNING" if is_terminal else "INFO", priority=priority)
    for name in _LOGGERS_OF_SET_UP:
        logging.getLogger(name).disabled = True  # Scrapy's log set-up would reset a level
    return is_terminal


def _set_levels(settings: Settings) -> None:
    """Let Scrapy create no log records for each document that all handlers would drop."""
    for name in _LOGGERS_OF_EACH_DOCUMENT:
        logging.getLogger(name).setLevel(settings["LOG_LEVEL"])


def _shown_log() -> logging.Handler | None:
    """Return the handler of the log; ``None`` if it does not show errors on stderr."""
    handler = get_scrapy_root_handler()
    is_shown = type(handler) is logging.StreamHandler and handler.level <= logging.ERROR  # a FileHandler is one too
    return handler if is_shown else None


def _shows_warnings() -> bool:
    handler = _shown_log()
    return handler is not None and handler.level <= logging.WARNING


def _is_no_refusal(run: RunState, record: logging.LogRecord) -> bool:
    """Whether the log shows *record*: of a refused run, the command prints the reason at the end."""
    return run.refused is None or (record.levelno > logging.INFO and record.getMessage() != run.refused)


def _has_log_options(opts: argparse.Namespace) -> bool:
    return bool(opts.loglevel or opts.logfile or opts.nolog)


def _tell_no_output(opened: Sequence[RunState]) -> None:
    """Say that nothing is saved, unless the run in *opened* was refused."""
    if opened and opened[0].refused is None:
        tell(NO_OUTPUT)


def _go_live(live: ExitStack, opened: Sequence[RunState]) -> None:
    """Show the live line, and end it with *live*, unless the run in *opened* was refused."""
    if opened and opened[0].refused is None:
        live.enter_context(_live_line(opened[0].summary))


@contextmanager
def _live_line(summary: Summary) -> Iterator[None]:
    """Show one line with documents done and queued, URLs and speed. Log lines are printed above it."""
    started, before = time.monotonic(), sys.stderr
    handlers = [one for one in logging.root.handlers if isinstance(one, logging.StreamHandler) and one.stream is before]
    with Live(
        console=Console(stderr=True),
        get_renderable=lambda: Text(line(summary, time.monotonic() - started)),
        refresh_per_second=5,
        transient=True,
        redirect_stdout=False,
    ):
        for handler in handlers:
            handler.setStream(sys.stderr)
        yield
        for handler in handlers:
            handler.setStream(before)
