"""Web archives of a run: writes what is downloaded into one, or responds to requests with one."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.core.downloader.handlers import DownloadHandlers
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro

from sitemap_harvest.config.arguments import ARGUMENTS
from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.engine.interfaces import Transfer
from sitemap_harvest.engine.run_state import fields
from sitemap_harvest.errors import ArchiveError, ArgumentError
from sitemap_harvest.files import check_place
from sitemap_harvest.integration.guards import added_headers, address_policy_of, refused
from sitemap_harvest.integration.spider_attributes import CrawlerComponent, run_of
from sitemap_harvest.integration.transfers import note_transfer, transfer_of
from sitemap_harvest.model import Cause, Outcome
from sitemap_harvest.redact import without_login

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request

    from sitemap_harvest.archive.captures import Capture, Captures
    from sitemap_harvest.archive.writer import ArchiveWriter
    from sitemap_harvest.config.arguments import RunConfig
    from sitemap_harvest.engine.run_state import RunState

logger = logging.getLogger(__name__)

CUT = "dataloss"
"""Scrapy's flag of a response whose connection ended early."""
_CONDITIONS = (("If-None-Match", "etag"), ("If-Modified-Since", "last-modified"))


class DownloadArchiver:
    """Writes the responses of a run into its archive."""

    def __init__(self, crawler: Crawler, writer: ArchiveWriter) -> None:
        self._crawler = crawler
        self._writer: ArchiveWriter | None = writer

    def archive_downloads(self) -> None:
        """Write all that the download handlers download from now on, as it was received."""
        handlers = getattr(self._crawler.engine.downloader, "handlers", None)
        if not isinstance(handlers, DownloadHandlers):
            return
        download = handlers.download_request_async

        async def archived_download(request: Request) -> Response:
            try:
                response: Response = await download(request)
            except Exception as error:
                if (head := getattr(error, "response_head", None)) is not None:  # its body is too large
                    await self.write(request, head, truncated="length")
                raise
            await self.write(request, response)
            return response

        handlers.download_request_async = archived_download  # type: ignore[method-assign]  # there is no other way

    async def write(
        self, request: Request, response: Response, *, truncated: str | None = None, is_sent: bool = True
    ) -> None:
        """Write *response*. A failure ends the run.

        *truncated*: why it has no body. *is_sent*: whether *request* is what was sent.
        """
        if self._writer is None or request.method != "GET" or not request.url.startswith("http"):
            return  # a response to HEAD would replace one with a body, and the body of POST may be a login
        from sitemap_harvest.archive.writer import Exchange  # few runs write an archive

        if truncated is None and {CUT, "download_stopped"} & {*response.flags}:
            truncated = "disconnect" if CUT in response.flags else "unspecified"
        secret = {name.lower().encode() for name in added_headers(request)}
        transfer = transfer_of(request)
        at = datetime.now(UTC) if transfer is None else datetime.fromtimestamp(transfer.sent_at, UTC)
        sent = [one for one in _pairs(request.headers) if one[0].lower() not in secret]
        exchange = Exchange(
            url=request.url.partition("#")[0],
            at=at,
            sent=(request.method, sent) if is_sent else None,
            status=response.status,
            headers=_pairs(response.headers),
            body=response.body,
            protocol="HTTP/1.0" if response.protocol == "HTTP/1.0" else "HTTP/1.1",  # WARC has no form for HTTP/2
            ip_address=None if response.ip_address is None else str(response.ip_address),
            truncated=truncated,
        )
        try:
            await run_in_thread(self._writer.write, exchange)
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """Close the archive."""
        try:
            if self._writer is not None:
                self._writer.close()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        """Log the first *error*, and end the run, as for other outputs."""
        if self._writer is not None:
            self._writer = None
            self._crawler.stats.inc_value("sitemap_harvest/output_failed")
            logger.error("The archive cannot be written: %s", error, extra=fields("output-failed"))
            deferred_from_coro(self._crawler.engine.close_spider_async(reason="output_failed"))


def open_archive(crawler: Crawler, run: RunState, config: RunConfig) -> DownloadArchiver | None:
    """Return what writes the archive of *run*; ``None`` if the user wants none.

    Raises :exc:`ArgumentError` and :exc:`OptionError` if it cannot be written.
    """
    if (given := config.archive) is None:
        return None
    from sitemap_harvest.archive.captures import Captures  # few runs write an archive
    from sitemap_harvest.archive.files import files_of
    from sitemap_harvest.archive.writer import ArchiveWriter

    folder = Path(given)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ArgumentError("archive", given, f"a folder that can be written ({reason})") from error
    check_place("argument archive", folder / f"{run.run_id}.warc.gz")
    known = Captures(files_of(folder))
    arguments = {name: without_login(str(value)) for name, value in run.arguments.items() if name in ARGUMENTS}
    info = {
        "software": crawler.settings["USER_AGENT"],
        "isPartOf": run.run_id,
        "arguments": json.dumps(arguments),
    }
    return DownloadArchiver(crawler, ArchiveWriter(folder, run.run_id, info, last=known.last))


def open_captures(config: RunConfig) -> Captures | None:
    """Return the archive that replaces the network; ``None`` without one. Raises :exc:`ArgumentError`."""
    if config.replay is None:
        return None
    from sitemap_harvest.archive.captures import Captures  # few runs read an archive
    from sitemap_harvest.archive.files import files_of

    begin, until = f"argument root={str(config.replay)!r}", config.replay_until
    try:
        captures = Captures(files_of(config.replay), until=until)
    except ArchiveError as error:
        raise ArgumentError("root", str(config.replay), "an archive", message=f"{begin}: {error}") from error
    if not len(captures):
        words = "" if until is None else f" from {until:%Y-%m-%d %H:%M:%S} UTC or before"
        message = f"{begin}: the archive has no response{words}"
        raise ArgumentError("root", str(config.replay), "an archive with responses", message=message)
    logger.info("The archive %s has %s responses", config.replay, f"{len(captures):,}", extra=fields("archive"))
    return captures


class NotArchivedError(IgnoreRequest):
    """The archive that replaces the network has no response to a request."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.refusal = NotFetched(Outcome.FAILED, reason, Cause.NOT_ARCHIVED)
        """The outcome of the document, and the reason."""


class ReplayMiddleware(CrawlerComponent):
    """Downloader middleware: responds to every web request with the archive that replaces the network."""

    async def process_request(self, request: Request) -> Response | None:
        """Respond to *request* as the server did. Raises :exc:`NotArchivedError`."""
        run = run_of(self._crawler.spider)
        if run is None or run.captures is None or not request.url.startswith("http"):
            return None
        from sitemap_harvest.archive.captures import NoCaptureError  # loaded already

        most = request.meta.get("download_maxsize", self._crawler.settings.getint("DOWNLOAD_MAXSIZE"))
        try:
            capture = await run_in_thread(run.captures.find, request.url, most)
        except NoCaptureError as error:
            if refusal := address_policy_of(self._crawler).refuse_url(request.url):  # so it was not requested
                raise refused(self._crawler, request, refusal) from error
            raise NotArchivedError(str(error)) from error
        request.meta.update(dict.fromkeys(("dont_cache", "dont_retry"), True))
        note_transfer(request, Transfer(capture.at.timestamp(), None))
        return _response(request, capture, most)


def _response(request: Request, capture: Capture, most: int) -> Response:
    """Return *capture* as the response to *request*. Raises :exc:`IgnoreRequest` if it has more than *most* bytes."""
    if capture.not_modified is not None and _is_met(request, capture):
        capture = capture.not_modified
    elif capture.status == 304 and not any(name in request.headers for name, _ in _CONDITIONS):
        raise NotArchivedError("the archive has only a capture of it that refers to an earlier one, which is missing")
    if (most and len(capture.body) > most) or (capture.truncated == "length" and not capture.body):
        raise IgnoreRequest(f"{request.url} is larger than DOWNLOAD_MAXSIZE ({most} bytes)")
    headers = Headers()
    for name, value in capture.headers:
        headers.appendlist(name.encode("latin-1"), value.encode("latin-1"))
    body = b"" if request.method == "HEAD" else capture.body
    kind = responsetypes.from_args(headers=headers, url=request.url, body=body)
    flags = [CUT] if capture.truncated else []
    return kind(request.url, status=capture.status, headers=headers, body=body, flags=flags)


def _is_met(request: Request, capture: Capture) -> bool:
    """Whether *request* has conditions, and the document of *capture* meets them."""
    given = [
        ((request.headers[name] or b"").decode("latin-1"), capture.header(header))
        for name, header in _CONDITIONS
        if name in request.headers
    ]
    return bool(given) and all(value == known for value, known in given)


def _pairs(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, values in headers.items() for value in values]
