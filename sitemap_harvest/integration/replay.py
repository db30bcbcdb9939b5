"""``ReplayMiddleware``: responds to the requests of a run with a web archive in place of the network."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes
from scrapy.utils.asyncio import run_in_thread

from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.engine.interfaces import Transfer
from sitemap_harvest.engine.run_state import fields
from sitemap_harvest.errors import ArchiveError, ArgumentError
from sitemap_harvest.integration.document_requests import note_size
from sitemap_harvest.integration.guards import address_policy_of, refused
from sitemap_harvest.integration.spider_attributes import CrawlerComponent, run_of
from sitemap_harvest.integration.transfers import note_transfer
from sitemap_harvest.model import Cause, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.http import Request

    from sitemap_harvest.archive.captures import Capture, Captures
    from sitemap_harvest.config.arguments import RunConfig

logger = logging.getLogger(__name__)

_CUT = "dataloss"  # Scrapy's flag of a response whose connection ended early
_METHODS = frozenset({"GET", "HEAD"})
_CONDITIONS = (("If-None-Match", "etag"), ("If-Modified-Since", "last-modified"))


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
    if not (len(captures) or captures.failures):
        words = "" if until is None else f" from {until:%Y-%m-%d %H:%M:%S} UTC or before"
        message = f"{begin}: the archive has no response{words}"
        raise ArgumentError("root", str(config.replay), "an archive with responses", message=message)
    logger.info("The archive %s has %s responses", config.replay, f"{len(captures):,}", extra=fields("archive"))
    return captures


class NotArchivedError(IgnoreRequest):
    """The archive that replaces the network has no response to a request."""

    def __init__(self, reason: str, cause: Cause = Cause.NOT_ARCHIVED, outcome: Outcome = Outcome.FAILED) -> None:
        super().__init__(reason)
        self.refusal = NotFetched(outcome, reason, cause)
        """The outcome of the document, and the reason."""


class ReplayMiddleware(CrawlerComponent):
    """Downloader middleware: responds to every web request with the archive that replaces the network."""

    async def process_request(self, request: Request) -> Response | None:
        """Respond to *request* as the server did. Raises :exc:`NotArchivedError`."""
        run = run_of(self._crawler.spider)
        if run is None or run.captures is None or not request.url.startswith("http"):
            return None
        from sitemap_harvest.archive.captures import FetchFailedError, NoCaptureError  # loaded already

        most = request.meta.get("download_maxsize", self._crawler.settings.getint("DOWNLOAD_MAXSIZE"))
        if request.method not in _METHODS:
            raise NotArchivedError(f"an archive has no responses to {request.method}")
        try:
            capture = await run_in_thread(run.captures.find, request.url, most)
        except FetchFailedError as error:
            note_transfer(request, Transfer(error.at.timestamp(), None))
            raise _not_fetched(error.facts) from error
        except NoCaptureError as error:
            if refusal := address_policy_of(self._crawler).refuse_url(request.url):  # so it was not requested
                raise refused(self._crawler, request, refusal) from error
            raise NotArchivedError(str(error)) from error
        request.meta.update(dict.fromkeys(("dont_cache", "dont_retry"), True))
        note_size(run, request, len(capture.body))
        note_transfer(request, Transfer(capture.at.timestamp(), None))
        return _response(request, capture, most)


def _not_fetched(facts: Mapping[str, str]) -> NotArchivedError:
    """Return the error for a request that got no response. *facts*: as :class:`DownloadArchiver` writes them."""
    try:
        cause = Cause(facts.get("fetchError", ""))
    except ValueError:
        cause = Cause.NOT_ARCHIVED
    is_private = facts.get("fetchOutcome") == Outcome.OUT_OF_SCOPE
    outcome = Outcome.OUT_OF_SCOPE if is_private else Outcome.FAILED
    return NotArchivedError(facts.get("fetchReason") or "the request got no response", cause, outcome)


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
    flags = [_CUT] if capture.truncated else []
    return kind(request.url, status=capture.status, headers=headers, body=body, flags=flags)


def _is_met(request: Request, capture: Capture) -> bool:
    """Whether *request* has conditions, and the document of *capture* meets them."""
    given = [
        ((request.headers[name] or b"").decode("latin-1"), capture.header(header))
        for name, header in _CONDITIONS
        if name in request.headers
    ]
    return bool(given) and all(value == known for value, known in given)
