"""``DownloadArchiver``: writes the responses that a run receives into its web archive."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.core.downloader.handlers import DownloadHandlers
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro

from sitemap_harvest.config.arguments import ARGUMENTS
from sitemap_harvest.engine.run_state import fields
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.files import check_place
from sitemap_harvest.integration.default_settings import PLAIN
from sitemap_harvest.integration.download_errors import of_error
from sitemap_harvest.integration.guards import added_headers
from sitemap_harvest.integration.transfers import head_of, transfer_of
from sitemap_harvest.redact import without_login

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Headers, Request, Response

    from sitemap_harvest.archive.writer import ArchiveWriter
    from sitemap_harvest.config.arguments import RunConfig
    from sitemap_harvest.engine.run_state import RunState

logger = logging.getLogger(__name__)

_CUT = "dataloss"  # Scrapy's flag of a response whose connection ended early


class DownloadArchiver:
    """Writes the responses of a run into its archive."""

    def __init__(self, crawler: Crawler, writer: ArchiveWriter) -> None:
        self._crawler = crawler
        self._writer: ArchiveWriter | None = writer

    def archive_downloads(self) -> None:
        """Write all that the download handlers download from now on, as it was received."""
        handlers = getattr(self._crawler.engine.downloader, "handlers", None)
        if not isinstance(handlers, DownloadHandlers):
            logger.warning("Nothing is archived: the downloader of the project has no download handlers")
            return
        download = handlers.download_request_async

        async def archived_download(request: Request) -> Response:
            try:
                response: Response = await download(request)
            except Exception as error:
                if (head := getattr(error, "response_head", None)) is not None:  # its body is too large
                    await self.write(request, head, truncated="length")
                else:
                    await self._write_failure(request, error)
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
        if self._writer is None or not _is_archived(request):
            return
        from sitemap_harvest.archive.writer import Exchange  # few runs write an archive

        if truncated is None and {_CUT, "download_stopped"} & {*response.flags}:
            truncated = "disconnect" if _CUT in response.flags else "unspecified"
        secret = {name.lower().encode() for name in added_headers(request)}
        reason, headers = head_of(response) or (None, _pairs(response.headers))
        sent = [one for one in _pairs(request.headers) if one[0].lower() not in secret]
        exchange = Exchange(
            url=request.url.partition("#")[0],
            at=_sent_at(request),
            sent=(request.method, sent) if is_sent else None,
            status=response.status,
            reason=reason,
            headers=headers,
            body=response.body,
            protocol="HTTP/1.0" if response.protocol == "HTTP/1.0" else "HTTP/1.1",  # WARC has no form for HTTP/2
            ip_address=None if response.ip_address is None else str(response.ip_address),
            truncated=truncated,
        )
        await self._in_thread(self._writer.write, exchange)

    async def _write_failure(self, request: Request, error: Exception) -> None:
        """Write why *request* got no response; nothing if another component refused it."""
        failure = of_error(error, url=request.url)
        if self._writer is None or not _is_archived(request) or failure.cause is None:
            return
        from sitemap_harvest.archive.captures import FETCH_ERROR  # few runs write an archive

        facts = {FETCH_ERROR: failure.cause, "fetchOutcome": failure.outcome, "fetchReason": failure.reason}
        await self._in_thread(self._writer.write_failure, request.url.partition("#")[0], _sent_at(request), facts)

    async def _in_thread(self, write: Callable[..., None], *arguments: Any) -> None:
        try:
            await run_in_thread(write, *arguments)
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
    from sitemap_harvest.archive.files import files_of, is_named_as_archive
    from sitemap_harvest.archive.writer import ArchiveWriter

    folder = Path(given)
    if is_named_as_archive(folder.name) and not folder.is_dir():
        raise ArgumentError("archive", given, "a folder: the names of its files begin with the ID of the run")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ArgumentError("archive", given, f"a folder that can be written ({reason})") from error
    check_place("argument archive", folder / f"{run.run_id}.warc.gz")
    known = Captures(files_of(folder))
    arguments = {name: without_login(str(value)) for name, value in run.arguments.items() if name in ARGUMENTS}
    info = {
        "software": PLAIN["USER_AGENT"],
        "isPartOf": run.run_id,
        "arguments": json.dumps(arguments),
    }
    return DownloadArchiver(crawler, ArchiveWriter(folder, run.run_id, info, last=known.last))


def _is_archived(request: Request) -> bool:
    """Whether it is a GET: a response to HEAD would replace one with a body, and the body of POST may be a login."""
    return request.method == "GET" and request.url.startswith("http")


def _sent_at(request: Request) -> datetime:
    transfer = transfer_of(request)
    return datetime.now(UTC) if transfer is None else datetime.fromtimestamp(transfer.sent_at, UTC)


def _pairs(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, values in headers.items() for value in values]
