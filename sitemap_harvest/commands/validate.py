"""``scrapy harvest validate``: what is wrong with documents, for people and for builds."""

from __future__ import annotations

import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rich.console import Console
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.settings import get_settings_priority

from sitemap_harvest.commands import closing, output
from sitemap_harvest.commands.report import show, show_closing
from sitemap_harvest.commands.targets import STDIN, Target, targets_of
from sitemap_harvest.commands.verdicts import Validation, validate
from sitemap_harvest.crawl import outcome
from sitemap_harvest.crawl.fetch import Fetched, FetchSpider
from sitemap_harvest.crawl.logins import Logins
from sitemap_harvest.crawl.options import Options
from sitemap_harvest.model import Kind, Severity

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from scrapy.settings import Settings

    from sitemap_harvest.formats import Limits

HELP = "Tell what is wrong with sitemaps, and how to mend it."
ARGUMENTS = "TARGET..."
EPILOG = (
    "Exit codes: 0 no document has a problem of the severity of --fail-on, or worse; 1 Scrapy could not start; "
    "2 wrong usage; 3 no document could be read; 4 some have such a problem, or could not be read."
)
NEVER = "never"
_COULD_NOT_START = 1
_INTERRUPTED = "interrupted before it was answered"


class NotStartedError(Exception):
    """Scrapy could not start."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this action."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help="a file, a folder, the address of a document, or - for standard input",
    )
    parser.add_argument(
        "--at",
        metavar="URL",
        help="the address that the file will be served at; ending in a slash, that of its folder",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="text for people, or json: one record a document, one a line (default: text)",
    )
    parser.add_argument(
        "--fail-on",
        choices=(*map(str, Severity), NEVER),
        default=str(Severity.ERROR),
        help="the least severity that changes the exit code (default: error)",
    )


def run(opts: argparse.Namespace, settings: Settings) -> int:
    """Validate, and return the exit code. Raises :exc:`HarvestError` if an argument or a setting is wrong."""
    logins = Logins()
    targets = targets_of(opts.targets, opts.at, logins)
    limits = Options.from_settings(settings).limits
    is_asked_for = settings.getpriority("LOG_LEVEL") == get_settings_priority("cmdline")
    if not (opts.loglevel or opts.logfile or opts.nolog or is_asked_for):
        settings.set("LOG_LEVEL", "CRITICAL", priority="cmdline")  # what cannot be had is told for each document
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
        output.tell(f"Interrupted: {len(found)} of the documents were validated.")
        return closing.PARTLY_FAILED
    except BrokenPipeError:  # who reads has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return closing.PARTLY_FAILED
    except NotStartedError as error:
        output.tell(f"scrapy harvest validate: {error}")
        return _COULD_NOT_START
    return exit_code(found, opts.fail_on)


def exit_code(found: list[Validation], fail_on: str) -> int:
    """Return 0 if all is well with what was *found*, 3 if no document could be read, else 4.

    *fail_on* is the least severity that matters, or ``never``.
    """
    if any(one.reason == _INTERRUPTED for one in found):
        return closing.PARTLY_FAILED
    if all(one.kind is None for one in found):
        return closing.NOTHING_FOUND
    if any(one.reason is not None for one in found):
        return closing.PARTLY_FAILED
    worst = min((one.worst.rank for one in found if one.worst), default=None)
    if fail_on == NEVER or worst is None or worst > Severity(fail_on).rank:
        return closing.FINE
    return closing.PARTLY_FAILED


def _validations(targets: list[Target], logins: Logins, limits: Limits, settings: Settings) -> Iterator[Validation]:
    """Yield what is to be said of each of *targets*, in their order."""
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
    """Return what is to be said of a file; ``None`` if it was found in a folder and is none of ours."""
    reason = target.refusal
    if reason is None:
        try:
            body = _body(target, limits.unpacked_bytes)
        except OSError as error:
            reason = outcome.of_error(error).reason
        else:
            if len(body) <= limits.unpacked_bytes:
                one = validate(body, target, now=now, limits=limits)
                return None if target.is_found and one.kind is Kind.XML else one
            reason = f"it has more than {limits.unpacked_bytes:,} bytes (SITEMAP_HARVEST_MAX_UNPACKED)"
    return Validation(target=target.name, url=target.url, reason=reason)


def _body(target: Target, most_bytes: int) -> bytes:
    """Return what is in the file, or as much of it as shows that it is too large."""
    if target.url == STDIN:
        return sys.stdin.buffer.read(most_bytes + 1)
    assert target.path is not None  # noqa: S101 - it is no address; this tells mypy
    with target.path.open("rb") as file:
        return file.read(most_bytes + 1)


def fetch(urls: list[str], folder: Path, settings: Settings, logins: Mapping[str, str]) -> dict[str, Fetched]:
    """Return what each of *urls* answers; the bodies go into *folder*. Raises :exc:`NotStartedError`.

    *logins* are what ``Authorization`` says to each site.
    """
    fetched = {url: Fetched() for url in urls}
    if not urls:
        return fetched
    on_interrupt = signal.getsignal(signal.SIGINT)
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(FetchSpider)
    crawl = process.crawl(crawler, into=fetched, folder=folder, logins=logins)
    process.start()
    signal.signal(signal.SIGINT, on_interrupt)  # Scrapy's own does nothing once the crawl is over
    if process.bootstrap_failed:
        raise NotStartedError(f"Scrapy could not start: {crawl.exception()}")
    if crawler.stats.get_value("finish_reason") != "finished":
        for one in fetched.values():
            if one.body is None and one.final_url is None:
                one.reason = _INTERRUPTED
    return fetched
