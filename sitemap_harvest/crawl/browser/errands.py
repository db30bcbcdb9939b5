"""Errands of the browser: one page for one request, at the pace of its host, and its answer in Scrapy's words."""

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

from sitemap_harvest.crawl.browser.chromium import BrowserGoneError, Chromium, PlaywrightError
from sitemap_harvest.crawl.browser.gate import Gate, TooMuchError
from sitemap_harvest.crawl.browser.looks import look_at
from sitemap_harvest.crawl.browser.visit import (
    Answer,
    NotReachedError,
    RunEndsError,
    TooLargeError,
    Visit,
    Wish,
    plain_headers,
)
from sitemap_harvest.crawl.reach import reach_of, refused
from sitemap_harvest.crawl.record import BY_BROWSER
from sitemap_harvest.crawl.robots import is_robots
from sitemap_harvest.crawl.site_headers import added_headers
from sitemap_harvest.formats import Limits
from sitemap_harvest.formats.sniff import sniff
from sitemap_harvest.formats.source import Source
from sitemap_harvest.model import Kind
from sitemap_harvest.plan import Need, Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from sitemap_harvest.crawl.run import Harvest

_MOST_TRIES = 2
_LOOK_SECONDS = 0.5  # after which it is looked whether the run ends
_OF_THE_PLAIN_PAGE = ("ETag", "Last-Modified")
_WORDS = (  # of the browser, where the gate has none; each may be part of a longer one
    ("ERR_NAME_NOT_RESOLVED", CannotResolveHostError),
    ("ERR_CONNECTION_REFUSED", DownloadConnectionRefusedError),
    ("TIMED_OUT", DownloadTimeoutError),
)
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trip:
    """What the browser brings home."""

    answer: Answer
    cookies: Sequence[Any]
    """All that the page had at the end, as the browser tells of them."""
    dom: bytes | None
    """The page as its scripts have made it, where that was needed."""


class Errands:
    """Everything that is asked by the browser in one run."""

    def __init__(self, crawler: Crawler, harvest: Harvest) -> None:
        self._crawler = crawler
        self._harvest = harvest
        self._options = harvest.options
        self._most_bytes = crawler.settings.getint("DOWNLOAD_MAXSIZE")
        self._seconds = crawler.settings.getfloat("DOWNLOAD_TIMEOUT")
        self._gate = Gate(reach_of(crawler), most_bytes=self._most_bytes, seconds=self._seconds)
        self._chromium = Chromium(crawler.settings, most_pages=harvest.options.browser_pages)

    async def close(self) -> None:
        """End the browser."""
        await self._chromium.close()
        await self._gate.close()
        stats = self._crawler.stats
        stats.set_value("sitemap_harvest/browser/starts", self._chromium.starts)
        stats.set_value("sitemap_harvest/browser/most_pages", self._chromium.most_open_pages)

    async def run(self, request: Request, *, wants_body: bool, cookies: Sequence[Any]) -> Trip:
        """Ask for what *request* asks for with *cookies*, and return what comes that is no wall, or the wall.

        Raises what a download by Scrapy would, and :exc:`BrowserGoneError` and :exc:`RunEndsError`.
        """
        for left in reversed(range(_MOST_TRIES)):
            await self.wait_for_turn(request)
            try:
                return await self._once(request, wants_body=wants_body, cookies=cookies)
            except (BrowserGoneError, PlaywrightError) as error:
                if not left or not self.may_go_on():
                    raise BrowserGoneError(str(error)) from error
                _logger.warning("The browser is asked once more for %s: %s", request.url, error)
            finally:
                self._note_asked(request)
        raise AssertionError  # the last one returns or raises

    def may_go_on(self) -> bool:
        """Whether the run goes on: it does not after the first signal to end."""
        engine = self._crawler.engine
        return engine is not None and engine.running

    async def wait_for_turn(self, request: Request) -> None:
        """Wait until the host of *request* may be asked again."""
        frontier = self._harvest.sites.frontier
        slot = self._slot(request)
        delay = max(frontier.delay_of(request.url), slot.download_delay())
        while (left := slot.lastseen + delay - time.monotonic()) > 0 and self.may_go_on():  # noqa: ASYNC110 - a clock
            await asyncio.sleep(min(left, _LOOK_SECONDS))
        if delay:
            frontier.hold(request.url, time.monotonic() + delay)

    def _note_asked(self, request: Request) -> None:
        """Let others wait for their turn from now on: a page asks several times before it has what it wants."""
        self._slot(request).lastseen = time.monotonic()

    def _slot(self, request: Request) -> Any:
        downloader = self._crawler.engine.downloader
        return downloader._get_slot(request)[1]  # noqa: SLF001 - there is no public way to one that is not there yet

    async def _once(self, request: Request, *, wants_body: bool, cookies: Sequence[Any]) -> Trip:
        self._crawler.stats.inc_value("sitemap_harvest/browser/pages")
        await self._gate.open()
        verifies = self._crawler.settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES")
        wish = self._wish(request, wants_body=wants_body)
        async with self._chromium.page(
            proxy=self._proxy(request),
            dead_end=self._gate.proxy["server"],  # without the password
            cookies=cookies,
            ignore_https_errors=not verifies,
        ) as page:
            visit = Visit(page, wish)
            try:
                async with asyncio.timeout(2 * wish.seconds + wish.body_seconds):  # if the browser hangs
                    answer = await visit.answer()
                    dom = await visit.rendered() if answer.need is Need.RENDER and wants_body else None
                    return Trip(answer=answer, cookies=await page.context.cookies(), dom=dom)
            except TooLargeError as error:
                raise _too_large() from error
            except NotReachedError as error:
                raise self._told(request, error) from error

    def _wish(self, request: Request, *, wants_body: bool) -> Wish:
        limits = self._options.limits

        def judge(answer: Answer, has_cookies: bool) -> tuple[Need | None, bool]:  # noqa: FBT001 - called by place
            headers = {name.lower(): values for name, values in plain_headers(answer).items()}
            if has_cookies:
                headers.setdefault("set-cookie", [])  # the browser keeps these to itself
            return look_at(request, answer.url, answer.status, headers, answer.body, limits)

        seconds = self._options.browser_seconds
        return Wish(
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
        """Return the proxy that the project has chosen for *request*, or else our own."""
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
        """Return what Scrapy would have raised where the browser gave *error*."""
        parts = urlsplit(error.url)
        port = parts.port or (443 if parts.scheme in {"https", "wss"} else 80)
        failure = self._gate.failure(parts.hostname or "", port)
        if isinstance(failure, Refusal):
            return refused(self._crawler, request.replace(url=error.url), failure)
        if isinstance(failure, TooMuchError):
            return _too_large()
        if isinstance(failure, gaierror):
            return CannotResolveHostError(str(failure))
        if isinstance(failure, ConnectionRefusedError):
            return DownloadConnectionRefusedError(str(failure))
        if isinstance(failure, TimeoutError):
            return DownloadTimeoutError(str(failure))
        words = str(error).removeprefix("net::")
        kind = next((kind for part, kind in _WORDS if part in words), DownloadFailedError)
        return kind(f"{words} (told by the browser)")


def _too_large() -> Exception:
    return DownloadCancelledError("larger than DOWNLOAD_MAXSIZE")


def response_of(trip: Trip, request: Request) -> Response:
    """Return what the browser brought home as the answer to *request*."""
    headers: dict[str, Any] = plain_headers(trip.answer)
    body = trip.answer.body
    if trip.dom is not None:
        body = trip.dom
        headers = {name: value for name, value in headers.items() if name.title() not in _titles()}
        headers["Content-Type"] = "text/html; charset=utf-8"
    kind = responsetypes.from_args(url=trip.answer.url, body=body)
    return kind(
        url=trip.answer.url,
        status=trip.answer.status,
        headers=headers,
        body=body,
        request=request,
        flags=[BY_BROWSER, *(["dataloss"] if trip.answer.is_cut or _may_lack_its_end(trip, request) else [])],
        protocol=None,
    )


def _may_lack_its_end(trip: Trip, request: Request) -> bool:
    """Whether the last line of a list may be half a URL: Chromium does not tell of a connection that ends early.

    What is no list shows by itself that it has no end, and so does what is packed.
    """
    body = trip.answer.body
    if trip.dom is not None or trip.answer.has_length or is_robots(request) or body.endswith((b"\n", b"\r")):
        return False
    source = Source(body, url=request.url, content_type=None, limits=Limits())
    return sniff(source.head, url=request.url, content_type=None) is Kind.LIST and not source.layers


def _titles() -> frozenset[str]:
    """Return the headers that are of the page as it was sent, and say nothing of what its scripts make of it."""
    return frozenset({"Content-Type", *(name.title() for name in _OF_THE_PLAIN_PAGE)})


__all__ = ["BrowserGoneError", "Errands", "RunEndsError", "Trip", "response_of"]
