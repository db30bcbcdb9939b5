"""``sitemap-harvest validate``: reports the problems of documents, for people and for CI."""

from __future__ import annotations

import signal
import sys
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from scrapy.crawler import AsyncCrawlerProcess
from scrapy.settings import get_settings_priority

from sitemap_harvest.cli import closed_pipe, output
from sitemap_harvest.cli.validation_report import Validation, show, show_closing, skipped_line
from sitemap_harvest.cli.validation_targets import Target, targets_of
from sitemap_harvest.config.targets import Credentials
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.engine.interfaces import DocumentResponse
from sitemap_harvest.formats import Document
from sitemap_harvest.formats.protocol import check
from sitemap_harvest.integration import download_errors
from sitemap_harvest.integration.fetch_spider import Fetched, FetchSpider
from sitemap_harvest.integration.setting_types import checked_settings
from sitemap_harvest.model import Severity, counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from scrapy.settings import Settings

    from sitemap_harvest.formats import Limits

USAGE = "TARGET..."
EPILOG = (
    "Exit codes: 0 no document has a problem of the severity --fail-on or higher; 1 Scrapy could not start; "
    "2 wrong usage; 3 no document could be read; 4 some documents have such a problem or could not be read."
)
_CUT = "the connection was closed early; the partial data was read"
_UNLIMITED = 1_000_000  # columns
_INTERRUPTED = "interrupted before a response arrived"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this action."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help="a file, a folder (its sitemaps, feeds, lists of URLs and robots.txt), the URL of a document, "
        "or - for standard input",
    )
    parser.add_argument(
        "--at",
        metavar="URL",
        help="the URL of the file once published, or the URL of its folder with a trailing slash",
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="json: one line of JSON per document"
    )
    parser.add_argument(
        "--fail-on",
        choices=(*map(str, Severity), output.NEVER),
        default=str(Severity.ERROR),
        help="the lowest severity that changes the exit code (default: error)",
    )


def run(opts: argparse.Namespace, settings: Settings) -> RunOutcome:
    """Validate. Raises :exc:`HarvestError` for an invalid argument or setting."""
    logins = Credentials()
    named = targets_of(opts.targets, opts.at, logins)
    targets = [target for target in named if not target.is_skipped]
    skipped = [target.name for target in named if target.is_skipped]
    limits = checked_settings(settings).limits
    has_log_level = settings.getpriority("LOG_LEVEL") == get_settings_priority("cmdline")
    if not (opts.loglevel or opts.logfile or opts.nolog or has_log_level):
        settings.set("LOG_LEVEL", "CRITICAL", priority="cmdline")  # each document reports its own failure
    # Colours may be wanted in a pipe, but not short lines.
    console = output.PipeConsole(width=None if sys.stdout.isatty() else _UNLIMITED)
    now, found = datetime.now(UTC), list[Validation]()
    remote = [target.url for target in targets if target.is_remote]
    try:
        with TemporaryDirectory() as folder:
            if (fetched := fetch(remote, Path(folder), settings, logins.headers, command=opts.command)) is None:
                return RunOutcome.NOT_STARTED
            for target in targets:
                found.append(one := _validate(target, fetched.get(target.url), now, limits))
                if opts.format == "json":
                    closed_pipe.write(one.to_json() + "\n")
                else:
                    with closed_pipe.unless_closed():
                        show(one, console)
        if opts.format == "text":
            with closed_pipe.unless_closed():
                show_closing(found, console, skipped)
        elif skipped:
            output.tell(skipped_line(skipped))
    except KeyboardInterrupt:
        output.tell(f"Interrupted: {counted(len(found), 'document')} validated.")
        return RunOutcome.INTERRUPTED
    return outcome_of(found, opts.fail_on)


def outcome_of(found: list[Validation], fail_on: str) -> RunOutcome:
    """Return the outcome of a validation; *fail_on* is the lowest severity that matters, or ``never``."""
    if any(one.reason == _INTERRUPTED for one in found):
        return RunOutcome.INTERRUPTED
    if all(one.kind is None for one in found):
        return RunOutcome.NOTHING_FOUND
    worst = min((one.worst.rank for one in found if one.worst), default=None)
    is_bad = fail_on != output.NEVER and worst is not None and worst <= Severity(fail_on).rank
    return RunOutcome.PARTLY_FAILED if is_bad or any(one.reason is not None for one in found) else RunOutcome.WHOLE


def _validate(target: Target, fetched: Fetched | None, now: datetime, limits: Limits) -> Validation:
    """Return the validation of *target*; *fetched* has the response, if it was downloaded."""
    body, reason = _body(target, fetched, limits.unpacked_bytes)
    response = None if fetched is None else fetched.response
    final_url = None if response is None else response.url
    if reason is not None:
        return Validation(
            target=target.name, url=target.url, served_at=target.served_at, final_url=final_url, reason=reason
        )
    response = response or DocumentResponse(url=target.url)
    served_at = final_url or target.served_at
    document = Document(
        body,
        url=target.url,
        base=served_at,
        content_type=response.header("content-type"),
        content_encodings=response.content_encodings,
        limits=limits,
        was_cut=response.was_cut,
    )
    verdict = check(document, now=now, location=served_at)
    problems = (*document.problems, *verdict.problems)
    return Validation(
        target=target.name,
        url=target.url,
        served_at=target.served_at,
        final_url=final_url,
        reason=_CUT if response.was_cut else None,
        kind=document.kind,
        encoding=document.encoding,
        layers=document.layers,
        bytes=document.bytes_unpacked,
        listed=verdict.listed,
        complete=document.complete,
        # Worst first, and the problem that only sums up the others last.
        problems=tuple(sorted(problems, key=lambda one: (one.severity.rank, one.code == "xml/not-well-formed"))),
    )


def _body(target: Target, fetched: Fetched | None, most: int) -> tuple[bytes, str | None]:
    """Return the body of *target*, and why it cannot be read; ``None`` if it can. A fetched file is removed."""
    if fetched is not None and fetched.body is not None:
        body = fetched.body.read_bytes()
        fetched.body.unlink()
        return body, None
    if (reason := target.refusal if fetched is None else fetched.reason) is not None:
        return b"", reason
    try:
        with nullcontext(sys.stdin.buffer) if target.path is None else target.path.open("rb") as file:
            body = file.read(most + 1)
    except OSError as error:
        return b"", download_errors.of_error(error).reason
    return body, f"more than {most:,} bytes; -s SITEMAP_HARVEST_MAX_UNPACKED=N reads more" if len(body) > most else None


def fetch(
    urls: list[str], folder: Path, settings: Settings, logins: Mapping[str, str], *, command: str
) -> dict[str, Fetched] | None:
    """Fetch *urls* to *folder*, and return the results; ``None``, after a message, if Scrapy could not start.

    *logins*: the ``Authorization`` header of each site. *command*: the name of the command, for the message.
    """
    fetched = {url: Fetched() for url in urls}
    if not urls:
        return {}
    on_interrupt = signal.getsignal(signal.SIGINT)
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(FetchSpider)
    crawl = process.crawl(crawler, into=fetched, folder=folder, logins=logins)
    process.start()
    signal.signal(signal.SIGINT, on_interrupt)  # Scrapy's handler does nothing after the crawl
    if process.bootstrap_failed:
        output.tell(f"{command}: Scrapy could not start: {crawl.exception()}")
        return None
    if crawler.stats.get_value("finish_reason") != "finished":
        for one in fetched.values():
            if one.body is None and one.response is None:
                one.reason = _INTERRUPTED
    return fetched
