"""``RobotsCacheMiddleware``: downloads each robots.txt once, for the spider and for Scrapy's middleware."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from sitemap_harvest.integration.spider_attributes import SitemapAttributes

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

PASS = "sitemap_harvest_pass"  # noqa: S105 - no password
"""Key in a request's ``meta``: number of the browser clearance that the request uses, if any."""

_MAX_KEPT = 10_000  # sites; hosts take turns, so the rules are needed again after all other sites had theirs
_MAX_KEPT_BYTES = 64 * 1024 * 1024  # total; a single one may exceed it


class RobotsCacheMiddleware:
    """Downloader middleware: the second request for a robots.txt gets the response of the first one.

    The spider reads robots.txt for its sitemaps, and Scrapy's own middleware reads it
    for its rules. A request waits only while the first one is in the downloader, whose
    signals mark the start and end of a download: other middlewares may drop a response,
    and then nothing must wait for it. Only for spiders of this package.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Response, int]] = OrderedDict()
        self._kept_bytes = 0
        self._downloading: dict[str, list[Deferred[None]]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the middleware, for spiders of this package only."""
        if not issubclass(crawler.spidercls, SitemapAttributes):
            raise NotConfigured
        once = cls()
        crawler.signals.connect(once.begin, signal=signals.request_reached_downloader)
        crawler.signals.connect(once.keep, signal=signals.response_downloaded)
        crawler.signals.connect(once.end, signal=signals.request_left_downloader)
        return once

    async def process_request(self, request: Request) -> Response | None:
        """Respond to a request for a cached robots.txt, after waiting for a download in progress."""
        if not is_robots(request):
            return None
        while (waiting := self._downloading.get(request.url)) is not None:
            turn: Deferred[None] = Deferred()
            waiting.append(turn)
            await maybe_deferred_to_future(turn)
        kept, number = self._kept.get(request.url, (None, 0))
        if kept is None or number < request.meta.get(PASS, 0):
            return None  # first request; or the first one was blocked, and this one has a newer clearance
        if _has_failed(kept):
            if request.meta.get("retry_times"):
                return None  # the request that got it is being retried
            request.meta["dont_retry"] = True  # it was retried already
        return kept.replace(request=request)  # otherwise Scrapy would call the first one's callback

    def begin(self, request: Request) -> None:
        """Record that a robots.txt is being downloaded: other requests wait from now on."""
        if is_robots(request):
            self._downloading.setdefault(request.url, [])

    def keep(self, response: Response, request: Request) -> None:
        """Cache the response, whatever it is, and evict the oldest ones beyond the limits."""
        if not is_robots(request):
            return
        self._forget(request.url)
        self._kept[request.url] = response, request.meta.get(PASS, 0)
        self._kept_bytes += len(response.body)
        while len(self._kept) > 1 and (len(self._kept) > _MAX_KEPT or self._kept_bytes > _MAX_KEPT_BYTES):
            self._forget(next(iter(self._kept)))

    def end(self, request: Request) -> None:
        """Wake waiting requests: there is a response, or the next one downloads it."""
        if is_robots(request):
            for turn in self._downloading.pop(request.url, []):
                turn.callback(None)

    def _forget(self, url: str) -> None:
        if url in self._kept:
            self._kept_bytes -= len(self._kept.pop(url)[0].body)


def is_robots(request: Request) -> bool:
    """Whether *request* is for a robots.txt."""
    return request.method == "GET" and request.url.partition("?")[0].endswith("/robots.txt")


def _has_failed(response: Response) -> bool:
    return response.status >= 500 or response.status == 429
