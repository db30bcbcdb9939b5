"""``BrowserFetcher``: fetches single documents with Chromium, with Scrapy's delays and errors.

Imports Playwright, as only :mod:`sitemap_harvest.browser.navigation` does besides.
"""

from __future__ import annotations

import asyncio
import logging
import time
from base64 import b64decode
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from socket import gaierror
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
)
from scrapy_playwright.handler import Config
from scrapy_playwright.provider import PlaywrightBrowserProvider

from sitemap_harvest.browser.navigation import FetchResult, Navigation, NotReachedError
from sitemap_harvest.browser.proxy import FilteringProxy
from sitemap_harvest.browser.setup import BrowserGoneError, launch_options
from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.integration.guards import address_policy_of, refused
from sitemap_harvest.integration.spider_attributes import harvest_of
from sitemap_harvest.integration.transfers import measured
from sitemap_harvest.network import place_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Sequence

    from playwright.async_api import Browser, Page
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

_NOWHERE = "http://127.0.0.1:1"  # the proxy for background requests of the browser, such as component updates
_MOST_STARTS = 2
_CLOSE_SECONDS = 10
_ANSWER_SECONDS = 30  # for operations that a working browser finishes at once
_LOOK_SECONDS = 0.5  # interval for checking whether the run ends
# Failures of the proxy; if it has none, words of the browser, which may be part of a longer text.
_ERRORS: tuple[tuple[type[Exception], str, type[Exception]], ...] = (
    (gaierror, "ERR_NAME_NOT_RESOLVED", CannotResolveHostError),
    (ConnectionRefusedError, "ERR_CONNECTION_REFUSED", DownloadConnectionRefusedError),
    (TimeoutError, "TIMED_OUT", DownloadTimeoutError),
)
_logger = logging.getLogger(__name__)


class Chromium:
    """The browser of a run, started with the first page."""

    def __init__(self, settings: BaseSettings, *, most_pages: int) -> None:
        """Open at most *most_pages* pages at a time."""
        options = {"proxy": {"server": _NOWHERE}, **(launch_options(settings) or {})}
        own = {"launch_options": options, "browser_type_name": "chromium", "cdp_url": None, "connect_url": None}
        self._provider = PlaywrightBrowserProvider(replace(Config.from_settings(settings), **own))
        self._verifies = settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES")
        self._pages = asyncio.Semaphore(most_pages)
        self._starting = asyncio.Lock()
        self._browser: Browser | None = None
        self._is_closed = False
        self.most_open_pages = 0
        self.starts = 0
        """Number of starts."""

    @asynccontextmanager
    async def page(self, *, proxy: dict[str, str], cookies: Sequence[Any]) -> AsyncIterator[Page]:
        """Yield an empty page with *cookies*, in its own context, which is always closed.

        The page connects through *proxy*, even to loopback. Raises
        :exc:`BrowserGoneError` if there is no browser.
        """
        async with self._pages:
            browser = await self._running()
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    page = await browser.new_page(
                        proxy={**proxy, "bypass": "<-loopback>"},  # type: ignore[arg-type]  # a TypedDict of the same names
                        service_workers="block",
                        accept_downloads=False,
                        ignore_https_errors=not self._verifies,
                    )
                    context = page.context
                    await context.add_cookies(cookies)
                    context.on("page", lambda other: asyncio.ensure_future(_end(other.close())))  # blocks further pages
                self.most_open_pages = max(self.most_open_pages, len(browser.contexts))
                try:
                    yield page
                finally:
                    await _end(context.close())
            except (PlaywrightError, TimeoutError) as error:
                if self._browser is browser:
                    self._browser = None  # it is malfunctioning: the next page gets a new one
                await _end(browser.close())
                words = "Chromium is not responding" if isinstance(error, TimeoutError) else _first_line(error)
                raise BrowserGoneError(words) from error

    async def close(self) -> None:
        """Close the browser and its driver process."""
        self._is_closed = True
        if self._browser is not None:
            await _end(self._browser.close())
        await _end(self._provider.close())

    async def _running(self) -> Browser:
        async with self._starting:
            if self._is_closed:
                raise BrowserGoneError("the run is ending")
            if self._browser is not None and self._browser.is_connected():
                return self._browser
            if self.starts >= _MOST_STARTS:
                raise BrowserGoneError("Chromium crashed twice and is not restarted")
            self.starts += 1
            try:
                if self._provider.playwright is None:
                    await self._provider.start()
                self._browser = await self._provider.launch_browser()
            except (PlaywrightError, OSError, TypeError) as error:  # TypeError: an unknown option
                raise BrowserGoneError(f"Chromium failed to start: {_first_line(error)}") from error
            return self._browser


class BrowserFetcher:
    """All browser requests of one run."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._harvest = harvest_of(crawler)
        settings = crawler.settings
        self._most_bytes = settings.getint("DOWNLOAD_MAXSIZE")
        self._seconds = settings.getfloat("DOWNLOAD_TIMEOUT")
        self._proxy = FilteringProxy(address_policy_of(crawler), most_bytes=self._most_bytes, seconds=self._seconds)
        self._chromium = Chromium(settings, most_pages=self._harvest.options.browser_pages)

    async def close(self) -> None:
        """Close the browser."""
        await self._chromium.close()
        await self._proxy.close()
        stats = self._crawler.stats
        stats.set_value("sitemap_harvest/browser/starts", self._chromium.starts)
        stats.set_value("sitemap_harvest/browser/most_pages", self._chromium.most_open_pages)

    async def run(self, request: Request, *, wants_body: bool, cookies: Sequence[Any]) -> FetchResult | None:
        """Fetch the document of *request* with *cookies*, and return it, or the challenge that remained.

        Returns ``None`` soon after the first stop signal. Raises the exceptions of a
        Scrapy download, and :exc:`BrowserGoneError`.
        """
        fetching = asyncio.ensure_future(self._fetch(request, wants_body=wants_body, cookies=cookies))
        while not fetching.done() and self._crawler.engine.running:
            await asyncio.wait({fetching}, timeout=_LOOK_SECONDS)
        if fetching.done():
            return fetching.result()
        fetching.cancel()
        await asyncio.gather(fetching, return_exceptions=True)
        return None

    async def _fetch(self, request: Request, *, wants_body: bool, cookies: Sequence[Any]) -> FetchResult:
        for is_last in (False, True):
            await self._wait_for_turn(request)
            try:
                return await self._once(request, wants_body=wants_body, cookies=cookies)
            except BrowserGoneError as error:
                if is_last:
                    raise
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
        proxy = _proxy_of(request) or {"server": await self._proxy.open()}
        async with self._chromium.page(proxy=proxy, cookies=cookies) as page:
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
                    with measured(request):
                        return await visit.result()
            except NotReachedError as error:
                raise self._download_error(request, error) from error

    def _download_error(self, request: Request, error: NotReachedError) -> Exception:
        """Return the exception that Scrapy would have raised for *error* of the browser."""
        place = place_of(error.url)
        failure = None if place is None else self._proxy.failures.get(place)
        if isinstance(failure, NotFetched):
            return refused(self._crawler, request.replace(url=error.url), failure)
        if isinstance(failure, DownloadCancelledError):
            return DownloadCancelledError(str(failure))
        for cause, _, kind in _ERRORS:
            if isinstance(failure, cause):
                return kind(str(failure))
        words = str(error).removeprefix("net::")
        found = next((kind for _, part, kind in _ERRORS if part in words), DownloadFailedError)
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


async def _end(closing: Awaitable[None]) -> None:
    """Wait for *closing*, and ignore failures, because the browser may have crashed or hang."""
    try:
        await asyncio.wait_for(closing, _CLOSE_SECONDS)
    except Exception as error:  # noqa: BLE001 - Playwright raises Exception itself if its driver has ended
        _logger.debug("Closing the browser failed: %s", _first_line(error))


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:200]
