"""``scrapy harvest validate``: reports the problems of documents, for people and for CI."""

from __future__ import annotations

import signal
import sys
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rich.console import Console
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.settings import get_settings_priority

from sitemap_harvest.cli import output
from sitemap_harvest.cli.validation import Validation, validate
from sitemap_harvest.cli.validation_report import show, show_closing
from sitemap_harvest.cli.validation_targets import Target, targets_of
from sitemap_harvest.config.credentials import Credentials
from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.engine.run_summary import RunOutcome
from sitemap_harvest.integration import download_errors
from sitemap_harvest.integration.fetch import Fetched, FetchSpider
from sitemap_harvest.model import Kind, Severity

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from scrapy.settings import Settings

    from sitemap_harvest.formats import Limits

USAGE = "TARGET..."
EPILOG = (
    "Exit codes: 0 no document has a problem of the severity of --fail-on, or worse; 1 Scrapy could not start; "
    "2 wrong usage; 3 no document could be read; 4 some have such a problem, or could not be read."
)
NEVER = "never"
_INTERRUPTED = "interrupted before there was a response"


class NotStartedError(Exception):
    """Scrapy could not start."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this action."""
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help="a file, a folder, the URL of a document, or - for standard input"
    )
    parser.add_argument(
        "--at", metavar="URL", help="the URL that the file will be served at, or, ending in a slash, its folder"
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="json: one record per document, one per line"
    )
    parser.add_argument(
        "--fail-on",
        choices=(*map(str, Severity), NEVER),
        default=str(Severity.ERROR),
        help="the lowest severity that changes the exit code (default: error)",
    )


def run(opts: argparse.Namespace, settings: Settings) -> RunOutcome:
    """Validate. Raises :exc:`HarvestError` for an invalid argument or setting."""
    logins = Credentials()
    targets = targets_of(opts.targets, opts.at, logins)
    limits = HarvestSettings.from_settings(settings).limits
    has_log_level = settings.getpriority("LOG_LEVEL") == get_settings_priority("cmdline")
    if not (opts.loglevel or opts.logfile or opts.nolog or has_log_level):
        settings.set("LOG_LEVEL", "CRITICAL", priority="cmdline")  # each document reports its own failure
    console = Console(file=sys.stdout)
    found: list[Validation] = []
    try:
        for one in _validations(targets, logins, limits, settings):
            found.append(one)
            if opts.format == "json":
                sys.stdout.write(one.to_json() + "\n")
            else:
                show(one, console)
            sys.stdout.flush()
        if opts.format == "text":
            show_closing(found, console)
    except KeyboardInterrupt:
        output.tell(f"Interrupted: {len(found)} documents were validated.")
        return RunOutcome.PARTLY_FAILED
    except NotStartedError as error:
        output.tell(f"scrapy harvest validate: {error}")
        return RunOutcome.NOT_STARTED
    return outcome_of(found, opts.fail_on)


def outcome_of(found: list[Validation], fail_on: str) -> RunOutcome:
    """Return the outcome of a validation; *fail_on* is the lowest severity that matters, or ``never``."""
    if all(one.kind is None for one in found) and not any(one.reason == _INTERRUPTED for one in found):
        return RunOutcome.NOTHING_FOUND
    worst = min((one.worst.rank for one in found if one.worst), default=None)
    is_bad = fail_on != NEVER and worst is not None and worst <= Severity(fail_on).rank
    return RunOutcome.PARTLY_FAILED if is_bad or any(one.reason is not None for one in found) else RunOutcome.WHOLE


def _validations(
    targets: list[Target], logins: Credentials, limits: Limits, settings: Settings
) -> Iterator[Validation]:
    """Yield the validation of each of *targets*, in order."""
    now = datetime.now(UTC)
    with TemporaryDirectory() as folder:
        fetched = fetch([target.url for target in targets if target.is_remote], Path(folder), settings, logins.headers)
        for target in targets:
            if target.is_remote:
                yield _validate_remote(target, fetched[target.url], now, limits)
            elif (one := _validate_local(target, now, limits)) is not None:
                yield one


def _validate_remote(target: Target, fetched: Fetched, now: datetime, limits: Limits) -> Validation:
    if fetched.body is None:
        return Validation(target=target.name, url=target.url, final_url=fetched.final_url, reason=fetched.reason)
    body = fetched.body.read_bytes()
    fetched.body.unlink()
    return validate(body, target, now=now, limits=limits, fetched=fetched)


def _validate_local(target: Target, now: datetime, limits: Limits) -> Validation | None:
    """Return the validation of a file; ``None`` if it was found in a folder and is not a sitemap document."""
    most, reason = limits.unpacked_bytes, target.refusal
    if reason is None:
        try:
            with nullcontext(sys.stdin.buffer) if target.path is None else target.path.open("rb") as file:
                body = file.read(most + 1)
        except OSError as error:
            reason = download_errors.of_error(error).reason
        else:
            if len(body) <= most:
                one = validate(body, target, now=now, limits=limits)
                return None if target.is_found and one.kind is Kind.XML else one
            reason = f"it has more than {most:,} bytes (SITEMAP_HARVEST_MAX_UNPACKED)"
    return Validation(target=target.name, url=target.url, reason=reason)


def fetch(urls: list[str], folder: Path, settings: Settings, logins: Mapping[str, str]) -> dict[str, Fetched]:
    """Fetch *urls* to *folder*, and return the results. Raises :exc:`NotStartedError`.

    *logins*: the ``Authorization`` header of each site.
    """
    fetched = {url: Fetched() for url in urls}
    if not urls:
        return fetched
    on_interrupt = signal.getsignal(signal.SIGINT)
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(FetchSpider)
    crawl = process.crawl(crawler, into=fetched, folder=folder, logins=logins)
    process.start()
    signal.signal(signal.SIGINT, on_interrupt)  # Scrapy's handler does nothing after the crawl
    if process.bootstrap_failed:
        raise NotStartedError(f"Scrapy could not start: {crawl.exception()}")
    if crawler.stats.get_value("finish_reason") != "finished":
        for one in fetched.values():
            if one.body is None and one.final_url is None:
                one.reason = _INTERRUPTED
    return fetched
