"""Measures transfers: when a request was sent, how long its response took, and how its head was written.

A request waits for the delay of its host and for a free connection before it is sent,
and its response waits to be read. Neither says anything about the server.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy.core.downloader.handlers import DownloadHandlers
from scrapy.exceptions import IgnoreRequest, NotSupported, UnsupportedURLSchemeError
from scrapy.utils.httpobj import urlparse_cached

from sitemap_harvest.engine.interfaces import Transfer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_NOT_SENT = (IgnoreRequest, NotSupported, UnsupportedURLSchemeError)
_heads: WeakKeyDictionary[Response, tuple[bytes, list[tuple[bytes, bytes]]]] = WeakKeyDictionary()
_KEY = "sitemap_harvest_transfer"  # in the meta of a request, which retries and redirects copy


def measure_transfers(crawler: Crawler) -> None:
    """Measure all transfers of *crawler* from now on, whichever download handlers it has.

    Scrapy has no signal for the start of a transfer: ``request_reached_downloader`` comes
    before the delay. A downloader that does not have Scrapy's handlers is not measured.
    """
    handlers = getattr(crawler.engine.downloader, "handlers", None)
    if not isinstance(handlers, DownloadHandlers):
        return
    download = handlers.download_request_async

    async def measured_download(request: Request) -> Response:
        handlers._get_handler(urlparse_cached(request).scheme)  # noqa: SLF001 - the first use loads Twisted's client
        with measured(request):
            response: Response = await download(request)
            return response

    handlers.download_request_async = measured_download  # type: ignore[method-assign]  # there is no other way


@contextmanager
def measured(request: Request) -> Iterator[None]:
    """Measure the block as the transfer of *request*, unless it raises an error which means that nothing was sent."""
    sent_at, began, was_sent = time.time(), time.monotonic(), True
    try:
        yield
    except _NOT_SENT:
        was_sent = False
        raise
    finally:
        if was_sent:
            note_transfer(request, Transfer(sent_at, time.monotonic() - began))


def note_transfer(request: Request, transfer: Transfer | None) -> None:
    """Record *transfer* as that of *request*; ``None``: it is not known."""
    if transfer is not None:
        request.meta[_KEY] = tuple(transfer)


def transfer_of(request: Request | None) -> Transfer | None:
    """Return the last transfer for *request*, its retries and redirects included; ``None`` if nothing was sent."""
    found = None if request is None else request.meta.get(_KEY)
    return None if found is None else Transfer(*found)


def transfer_of_response(response: Response) -> Transfer:
    """Return the transfer of *response*; without a duration if it was not measured, because a cache supplied it."""
    return transfer_of(response.request) or Transfer(time.time(), None)


def note_head(response: Response, reason: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    """Record the reason phrase and the headers of *response* as they were sent: Scrapy changes their order and case."""
    _heads[response] = reason, headers


def head_of(response: Response) -> tuple[bytes, list[tuple[bytes, bytes]]] | None:
    """Return the reason phrase and the headers of *response* as they were sent; ``None`` if they are not known."""
    return _heads.get(response)
