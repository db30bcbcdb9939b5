"""``BrowserFetcher``: fetches single documents with the browser, with Scrapy's delays and errors."""

from __future__ import annotations

import asyncio
import logging
import time
from base64 import b64decode
from contextlib import suppress
from socket import gaierror
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
)

from sitemap_harvest.browser.chromium import BrowserGoneError, Chromium, PlaywrightError
from sitemap_harvest.browser.navigation import FetchResult, Navigation, NotReachedError
from sitemap_harvest.browser.proxy import BodyLimitError, FilteringProxy
from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.integration.guards import address_policy_of, refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler

    from sitemap_harvest.engine.run_state import RunState

_MOST_TRIES = 2
_LOOK_SECONDS = 0.5  # interval for checking whether the run ends
# Failures of the proxy; if it has none, words of the browser, which may be part of a longer text.
_ERRORS: tuple[tuple[type[Exception], str, type[Exception]], ...] = (
    (gaierror, "ERR_NAME_NOT_RESOLVED", CannotResolveHostError),
    (ConnectionRefusedError, "ERR_CONNECTION_REFUSED", DownloadConnectionRefusedError),
    (TimeoutError, "TIMED_OUT", DownloadTimeoutError),
    (BodyLimitError, "", DownloadCancelledError),
)
_logger = logging.getLogger(__name__)


class RunEndsError(Exception):
    """The run ended before there was a response."""


class BrowserFetcher:
    """All browser requests of one run."""

    def __init__(self, crawler: Crawler, harvest: RunState) -> None:
        self._crawler = crawler
        self._harvest = harvest
        settings = crawler.settings
        self._most_bytes = settings.getint("DOWNLOAD_MAXSIZE")
        self._seconds = settings.getfloat("DOWNLOAD_TIMEOUT")
        self._proxy = FilteringProxy(address_policy_of(crawler), most_bytes=self._most_bytes, seconds=self._seconds)
        self._chromium = Chromium(settings, most_pages=harvest.options.browser_pages)

    async def close(self) -> None:
        """Close the browser."""
        await self._chromium.close()
        await self._proxy.close()
        stats = self._crawler.stats
        stats.set_value("sitemap_harvest/browser/starts", self._chromium.starts)
        stats.set_value("sitemap_harvest/browser/most_pages", self._chromium.most_open_pages)

    async def run(self, request: Request, *, wants_body: bool, cookies: Sequence[Any]) -> FetchResult:
        """Fetch the document of *request* with *cookies*, and return it, or the challenge that remained.

        Raises the exceptions of a Scrapy download, :exc:`BrowserGoneError`, and
        :exc:`RunEndsError` soon after the first stop signal.
        """
        fetching = asyncio.ensure_future(self._fetch(request, wants_body=wants_body, cookies=cookies))
        while not fetching.done() and self._crawler.engine.running:
            await asyncio.wait({fetching}, timeout=_LOOK_SECONDS)
        if not fetching.done():
            fetching.cancel()
            await asyncio.gather(fetching, return_exceptions=True)
            raise RunEndsError
        return fetching.result()

    async def _fetch(self, request: Request, *, wants_body: bool, cookies: Sequence[Any]) -> FetchResult:
        for left in reversed(range(_MOST_TRIES)):
            await self._wait_for_turn(request)
            try:
                return await self._once(request, wants_body=wants_body, cookies=cookies)
            except (BrowserGoneError, PlaywrightError) as error:
                if not left:
                    raise BrowserGoneError(str(error)) from error
                _logger.warning("Retrying %s in the browser: %s", request.url, error)
            finally:  # restart the delay of the host: a page sends several requests before it has the document
                self._slot(request).lastseen = time.monotonic()
        raise AssertionError  # the last attempt returns or raises

    async def _wait_for_turn(self, request: Request) -> None:
        """Wait until the host of *request* may be requested again."""
        host, slot = self._harvest.sites.frontier.host(request.url), self._slot(request)
        delay = max(host.delay, slot.download_delay())
        while (left := slot.lastseen + delay - time.monotonic()) > 0:  # noqa: ASYNC110 - a clock
            await asyncio.sleep(left)
        if delay:
            host.ready_at = max(host.ready_at, time.monotonic() + delay)

    def _slot(self, request: Request) -> Any:
        downloader = self._crawler.engine.downloader
        return downloader._get_slot(request)[1]  # noqa: SLF001 - no public way to create a slot

    async def _once(self, request: Request, *, wants_body: bool, cookies: Sequence[Any]) -> FetchResult:
        self._crawler.stats.inc_value("sitemap_harvest/browser/pages")
        verifies = self._crawler.settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES")
        proxy = _proxy_of(request) or {"server": await self._proxy.open()}
        async with self._chromium.page(proxy=proxy, cookies=cookies, ignore_https_errors=not verifies) as page:
            options, body_seconds = self._harvest.options, float(request.meta.get("download_timeout") or self._seconds)
            visit = Navigation(
                page,
                request,
                options,
                wants_body=wants_body,
                most_bytes=self._most_bytes,
                body_seconds=body_seconds,
            )
            try:
                # In case the browser hangs:
                async with asyncio.timeout(3 * options.browser_seconds + body_seconds):
                    return await visit.result()
            except NotReachedError as error:
                raise self._download_error(request, error) from error

    def _download_error(self, request: Request, error: NotReachedError) -> Exception:
        """Return the exception that Scrapy would have raised for *error* of the browser."""
        parts = urlsplit(error.url)
        port = parts.port or (443 if parts.scheme in {"https", "wss"} else 80)
        failure = self._proxy.failure(parts.hostname or "", port)
        if isinstance(failure, NotFetched):
            return refused(self._crawler, request.replace(url=error.url), failure)
        for cause, _, kind in _ERRORS:
            if isinstance(failure, cause):
                return kind(str(failure))
        words = str(error).removeprefix("net::")
        found = next((kind for _, part, kind in _ERRORS if part and part in words), DownloadFailedError)
        return found(f"{words} (reported by the browser)")


def _proxy_of(request: Request) -> dict[str, str] | None:
    """Return the proxy that the project set for *request*, with the password that Scrapy has moved to a header."""
    if not (given := request.meta.get("proxy")):
        return None
    parts = urlsplit(given if "://" in given else f"http://{given}")
    proxy = {"server": f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"}
    with suppress(ValueError):
        scheme, _, text = (request.headers.get("Proxy-Authorization") or b"").partition(b" ")
        if scheme.lower() == b"basic":
            proxy["username"], _, proxy["password"] = b64decode(text).decode("latin-1").partition(":")
    return proxy
