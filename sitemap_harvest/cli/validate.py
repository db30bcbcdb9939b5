"""``sitemap-harvest validate``: reports the problems of documents, for people and for CI."""

from __future__ import annotations

import os
import re
import signal
import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import quote

from rich.console import Console
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.settings import get_settings_priority
from w3lib.url import file_uri_to_path

from sitemap_harvest.cli import output
from sitemap_harvest.cli.validation_report import Validation, show, show_closing
from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.config.targets import Credentials, document_address
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.engine.interfaces import DocumentResponse
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.formats import Document
from sitemap_harvest.formats.protocol import check
from sitemap_harvest.integration import download_errors
from sitemap_harvest.integration.fetch_spider import Fetched, FetchSpider
from sitemap_harvest.model import Kind, Severity
from sitemap_harvest.urls import site_of, without_user

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from scrapy.settings import Settings

    from sitemap_harvest.formats import Limits

USAGE = "TARGET..."
EPILOG = (
    "Exit codes: 0 no document has a problem of the severity --fail-on or higher; 1 Scrapy could not start; "
    "2 wrong usage; 3 no document could be read; 4 some documents have such a problem or could not be read."
)
STDIN = "-"
_ACCEPTED = "a file, a folder, a URL that begins with http:// or https://, or - for standard input"
_HOST = re.compile(r"(?:[a-z0-9\-]+\.)+[a-z0-9\-]+(?::\d+)?(?:/|\Z)", re.IGNORECASE)
_SUFFIX = r"\.(?:xml|rss|atom{})(?:\.(?:gz|bz2|zst|br|zip))?\Z"
_CERTAIN = re.compile(r"\Arobots\.txt\Z|(?:sitemap|urllist).*" + _SUFFIX.format("|txt"), re.IGNORECASE | re.DOTALL)
"""A file of such a name is meant to be a sitemap document, whatever its contents."""
_SITEMAP = re.compile(f"{_CERTAIN.pattern}|{_SUFFIX.format('')}", re.IGNORECASE | re.DOTALL)
"""The names of the files in a folder that are validated, if they are not other XML."""
_CUT = "the connection was closed early; the partial data was read"
_UNLIMITED = 1_000_000  # columns
_INTERRUPTED = "interrupted before a response arrived"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One document to validate."""

    name: str
    """Its name in the output."""
    url: str
    """Its URL; ``file:`` for a file, ``-`` for standard input."""
    served_at: str | None = None
    """The URL that a file will be served at, if the user gives one."""
    path: Path | None = None
    """The path, if it is a file."""
    is_found: bool = False
    """Whether it was found in a folder, which may contain other files too."""
    refusal: str | None = None
    """Why it cannot be read, if known."""

    @property
    def is_remote(self) -> bool:
        """Whether it is fetched over the network."""
        return self.path is None and self.url != STDIN


def targets_of(names: list[str], at: str | None = None, logins: Credentials | None = None) -> list[Target]:
    """Return the documents of *names*, without duplicates. Raises :exc:`ArgumentError` for an invalid name.

    Logins in URLs are moved to *logins*. *at* is the URL that the one file, or the
    files in the one folder, will be served at.
    """
    if not names:
        raise ArgumentError("TARGET", None, _ACCEPTED, message=f"nothing to validate: give {_ACCEPTED}")
    logins = Credentials() if logins is None else logins
    targets: dict[str, Target] = {}
    for name in names:
        for target in _targets(name, logins):
            targets.setdefault(target.url, target)
    return [replace(target, served_at=_served_at(target, names, at)) for target in targets.values()]


def _served_at(target: Target, names: list[str], at: str | None) -> str | None:
    """Return *at*, with the name of the file appended if it is the URL of a folder."""
    if at is None:
        return None
    at = without_user(at)
    if not at.lower().startswith(("http://", "https://")) or site_of(at) is None:
        raise ArgumentError("--at", at, "a URL that begins with http:// or https://")
    if len(names) > 1 or target.is_remote:
        raise ArgumentError("--at", at, "used with a single local file or folder")
    if target.path is None or not at.endswith("/"):
        return at
    folder = Path(names[0]) if Path(names[0]).is_dir() else target.path.parent
    return at + quote(target.path.relative_to(folder).as_posix())


def _targets(name: str, logins: Credentials) -> Iterator[Target]:
    if name == STDIN:
        yield Target(name="standard input", url=STDIN)
        return
    if not name.strip():
        raise ArgumentError("TARGET", name, _ACCEPTED, message=f"TARGET is empty: give {_ACCEPTED}")
    try:
        url = document_address(name, logins)
    except ArgumentError as error:
        message = str(error).replace("argument sitemap=", "TARGET ", 1)
        raise ArgumentError("TARGET", name, error.accepted, message=message) from error
    path = Path(file_uri_to_path(url)) if "://" in name else Path(name)
    if not url.startswith("file:"):
        yield Target(name=without_user(name if "://" in name else f"//{name}").removeprefix("//"), url=url)
    elif path.is_dir():
        yield from _below(path)
    else:
        is_host = _HOST.match(name) and ("/" in name or not _SITEMAP.search(name))
        refusal = f"there is no such file; if it is a URL, write https://{name}" if is_host else None
        yield Target(name=name, url=url, path=path, refusal=None if path.exists() else refusal)


def _below(folder: Path) -> Iterator[Target]:
    """Yield the files below *folder* whose names are those of sitemap documents, sorted by name."""
    found = [path for path in sorted(folder.rglob("*")) if _SITEMAP.search(path.name) and path.is_file()]
    found = [path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    for path in found or [folder]:
        yield Target(
            name=str(path),
            url=Path(os.path.abspath(path)).as_uri(),  # noqa: PTH100 - resolves .. and, unlike resolve(), no links
            path=path,
            is_found=bool(found) and not _CERTAIN.search(path.name),
            refusal=None if found else "the folder contains no sitemap",
        )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this action."""
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help="a file, a folder, the URL of a document, or - for standard input"
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
    targets = targets_of(opts.targets, opts.at, logins)
    limits = HarvestSettings.from_settings(settings).limits
    has_log_level = settings.getpriority("LOG_LEVEL") == get_settings_priority("cmdline")
    if not (opts.loglevel or opts.logfile or opts.nolog or has_log_level):
        settings.set("LOG_LEVEL", "CRITICAL", priority="cmdline")  # each document reports its own failure
    # Colours may be wanted in a pipe, but not short lines.
    console = Console() if sys.stdout.isatty() else Console(width=_UNLIMITED)
    now, found = datetime.now(UTC), list[Validation]()
    remote = [target.url for target in targets if target.is_remote]
    try:
        with TemporaryDirectory() as folder:
            if (fetched := fetch(remote, Path(folder), settings, logins.headers, command=opts.command)) is None:
                return RunOutcome.NOT_STARTED
            for target in targets:
                if (one := _validate(target, fetched.get(target.url), now, limits)) is None:
                    continue
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


def _validate(target: Target, fetched: Fetched | None, now: datetime, limits: Limits) -> Validation | None:
    """Return the validation of *target*; ``None`` if it was found in a folder and is not a sitemap document.

    *fetched* has the response, if it was downloaded.
    """
    body, reason = _body(target, fetched, limits.unpacked_bytes)
    response = None if fetched is None else fetched.response
    final_url = None if response is None else response.url
    if reason is not None:
        return Validation(target=target.name, url=target.url, final_url=final_url, reason=reason)
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
    if target.is_found and document.kind is Kind.XML:
        return None
    problems = (*document.problems, *verdict.problems)
    return Validation(
        target=target.name,
        url=target.url,
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
    return body, f"more than {most:,} bytes; raise SITEMAP_HARVEST_MAX_UNPACKED" if len(body) > most else None


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
