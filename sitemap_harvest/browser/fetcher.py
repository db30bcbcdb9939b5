"""``BrowserFetcher``: fetches single documents with the browser, with Scrapy's delays, errors and responses."""

from __future__ import annotations

import asyncio
import logging
import time
from base64 import b64decode
from contextlib import suppress
from dataclasses import dataclass
from socket import gaierror
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
)
from scrapy.responsetypes import responsetypes

from sitemap_harvest.browser.challenge import classify
from sitemap_harvest.browser.chromium import BrowserGoneError, Chromium, PlaywrightError
from sitemap_harvest.browser.fallback import BrowserNeed
from sitemap_harvest.browser.navigation import (
    BrowserAnswer,
    FetchSpec,
    Navigation,
    NotReachedError,
    RunEndsError,
    TooLargeError,
    plain_headers,
)
from sitemap_harvest.browser.proxy import BodyLimitError, FilteringProxy
from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.formats import Limits
from sitemap_harvest.formats.sniff import sniff
from sitemap_harvest.formats.source import Source
from sitemap_harvest.integration.document_requests import BY_BROWSER
from sitemap_harvest.integration.middlewares.address_guard import address_policy_of, refused
from sitemap_harvest.integration.middlewares.robots_cache import is_robots
from sitemap_harvest.integration.middlewares.site_headers import added_headers
from sitemap_harvest.model import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from sitemap_harvest.engine.run_state import RunState

_MOST_TRIES = 2
_LOOK_SECONDS = 0.5  # interval for checking whether the run ends
_OF_THE_PLAIN_PAGE = ("ETag", "Last-Modified")
_WORDS = (  # of the browser, if the proxy has none; each may be part of a longer text
    ("ERR_NAME_NOT_RESOLVED", CannotResolveHostError),
    ("ERR_CONNECTION_REFUSED", DownloadConnectionRefusedError),
    ("TIMED_OUT", DownloadTimeoutError),
)
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResult:
    """The result of one browser visit."""

    answer: BrowserAnswer
    cookies: Sequence[Any]
    """All cookies of the page at the end, in the browser's format."""
    dom: bytes | None
    """The page as modified by its scripts, if that was needed."""


class BrowserFetcher:
    """All browser requests of one run."""

    def __init__(self, crawler: Crawler, harvest: RunState) -> None:
        self._crawler = crawler
        self._harvest = harvest
        self._options = harvest.options
        self._most_bytes = crawler.settings.getint("DOWNLOAD_MAXSIZE")
        self._seconds = crawler.settings.getfloat("DOWNLOAD_TIMEOUT")
        self._gate = FilteringProxy(address_policy_of(crawler), most_bytes=self._most_bytes, seconds=self._seconds)
        self._chromium = Chromium(crawler.settings, most_pages=harvest.options.browser_pages)

    async def close(self) -> None:
        """Close the browser."""
        await self._chromium.close()
        await self._gate.close()
        stats = self._crawler.stats
        stats.set_value("sitemap_harvest/browser/starts", self._chromium.starts)
        stats.set_value("sitemap_harvest/browser/most_pages", self._chromium.most_open_pages)

    async def run(self, request: Request, *, wants_body: bool, cookies: Sequence[Any]) -> FetchResult:
        """Fetch the document of *request* with *cookies*, and return it, or the challenge that remained.

        Raises the exceptions of a Scrapy download, :exc:`BrowserGoneError` and
        :exc:`RunEndsError`.
        """
        for left in reversed(range(_MOST_TRIES)):
            await self.wait_for_turn(request)
            try:
                return await self._once(request, wants_body=wants_body, cookies=cookies)
            except (BrowserGoneError, PlaywrightError) as error:
                if not left or not self.may_go_on():
                    raise BrowserGoneError(str(error)) from error
                _logger.warning("Retrying %s in the browser: %s", request.url, error)
            finally:
                self._note_asked(request)
        raise AssertionError  # the last attempt returns or raises

    def may_go_on(self) -> bool:
        """Whether the run continues: not after the first stop signal."""
        engine = self._crawler.engine
        return engine is not None and engine.running

    async def wait_for_turn(self, request: Request) -> None:
        """Wait until the host of *request* may be requested again."""
        frontier = self._harvest.sites.frontier
        slot = self._slot(request)
        delay = max(frontier.delay_of(request.url), slot.download_delay())
        while (left := slot.lastseen + delay - time.monotonic()) > 0 and self.may_go_on():  # noqa: ASYNC110 - a clock
            await asyncio.sleep(min(left, _LOOK_SECONDS))
        if delay:
            frontier.hold(request.url, time.monotonic() + delay)

    def _note_asked(self, request: Request) -> None:
        """Restart the delay of the host: a page sends several requests before it has the document."""
        self._slot(request).lastseen = time.monotonic()

    def _slot(self, request: Request) -> Any:
        downloader = self._crawler.engine.downloader
        return downloader._get_slot(request)[1]  # noqa: SLF001 - no public way to create a slot

    async def _once(self, request: Request, *, wants_body: bool, cookies: Sequence[Any]) -> FetchResult:
        self._crawler.stats.inc_value("sitemap_harvest/browser/pages")
        await self._gate.open()
        verifies = self._crawler.settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES")
        spec = self._spec(request, wants_body=wants_body)
        async with self._chromium.page(
            proxy=self._proxy(request),
            dead_end=self._gate.proxy["server"],  # without the password
            cookies=cookies,
            ignore_https_errors=not verifies,
        ) as page:
            visit = Navigation(page, spec)
            try:
                async with asyncio.timeout(2 * spec.seconds + spec.body_seconds):  # in case the browser hangs
                    answer = await visit.answer()
                    dom = await visit.rendered() if answer.need is BrowserNeed.RENDER and wants_body else None
                    return FetchResult(answer=answer, cookies=await page.context.cookies(), dom=dom)
            except TooLargeError as error:
                raise _too_large() from error
            except NotReachedError as error:
                raise self._told(request, error) from error

    def _spec(self, request: Request, *, wants_body: bool) -> FetchSpec:
        limits = self._options.limits

        def judge(answer: BrowserAnswer, has_cookies: bool) -> tuple[BrowserNeed | None, bool]:  # noqa: FBT001 - called by place
            headers = {name.lower(): values for name, values in plain_headers(answer).items()}
            if has_cookies:
                headers.setdefault("set-cookie", [])  # the browser hides these
            return classify(request, answer.url, answer.status, headers, answer.body, limits)

        seconds = self._options.browser_seconds
        return FetchSpec(
            url=request.url,
            judge=judge,
            wants_body=wants_body,
            most_bytes=self._most_bytes,
            seconds=seconds,
            body_seconds=seconds + float(request.meta.get("download_timeout") or self._seconds),
            may_go_on=self.may_go_on,
            headers=added_headers(request),
        )

    def _proxy(self, request: Request) -> dict[str, str]:
        """Return the proxy that the project set for *request*, else the package's own."""
        if not (given := request.meta.get("proxy")):
            return self._gate.proxy
        parts = urlsplit(given if "://" in given else f"http://{given}")
        proxy = {"server": f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", "bypass": "<-loopback>"}
        name, password = unquote(parts.username or ""), unquote(parts.password or "")
        with suppress(ValueError):
            scheme, _, text = (request.headers.get("Proxy-Authorization") or b"").partition(b" ")
            if scheme.lower() == b"basic":
                name, _, password = b64decode(text).decode("latin-1").partition(":")
        return {**proxy, "username": name, "password": password} if name else proxy

    def _told(self, request: Request, error: NotReachedError) -> Exception:
        """Return the exception that Scrapy would have raised for *error* of the browser."""
        parts = urlsplit(error.url)
        port = parts.port or (443 if parts.scheme in {"https", "wss"} else 80)
        failure = self._gate.failure(parts.hostname or "", port)
        if isinstance(failure, NotFetched):
            return refused(self._crawler, request.replace(url=error.url), failure)
        if isinstance(failure, BodyLimitError):
            return _too_large()
        if isinstance(failure, gaierror):
            return CannotResolveHostError(str(failure))
        if isinstance(failure, ConnectionRefusedError):
            return DownloadConnectionRefusedError(str(failure))
        if isinstance(failure, TimeoutError):
            return DownloadTimeoutError(str(failure))
        words = str(error).removeprefix("net::")
        kind = next((kind for part, kind in _WORDS if part in words), DownloadFailedError)
        return kind(f"{words} (reported by the browser)")


def _too_large() -> Exception:
    return DownloadCancelledError("larger than DOWNLOAD_MAXSIZE")


def response_of(result: FetchResult, request: Request) -> Response:
    """Return the result of the visit as the response to *request*."""
    headers: dict[str, Any] = plain_headers(result.answer)
    body = result.answer.body
    if result.dom is not None:
        body = result.dom
        headers = {name: value for name, value in headers.items() if name.title() not in _titles()}
        headers["Content-Type"] = "text/html; charset=utf-8"
    kind = responsetypes.from_args(url=result.answer.url, body=body)
    return kind(
        url=result.answer.url,
        status=result.answer.status,
        headers=headers,
        body=body,
        request=request,
        flags=[BY_BROWSER, *(["dataloss"] if result.answer.is_cut or _may_lack_its_end(result, request) else [])],
        protocol=None,
    )


def _may_lack_its_end(result: FetchResult, request: Request) -> bool:
    """Whether the last line of a list may be an incomplete URL: Chromium does not report early ends of connections.

    Other formats show an incomplete end themselves, and so do compressed bodies.
    """
    body = result.answer.body
    if result.dom is not None or result.answer.has_length or is_robots(request) or body.endswith((b"\n", b"\r")):
        return False
    source = Source(body, url=request.url, content_type=None, limits=Limits())
    return sniff(source.head, url=request.url, content_type=None) is Kind.LIST and not source.layers


def _titles() -> frozenset[str]:
    """Return the headers that describe the page as sent, and do not apply to the page modified by scripts."""
    return frozenset({"Content-Type", *(name.title() for name in _OF_THE_PLAIN_PAGE)})


__all__ = ["BrowserFetcher", "BrowserGoneError", "FetchResult", "RunEndsError", "response_of"]
