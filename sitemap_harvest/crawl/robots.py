"""robots.txt is downloaded once, whoever asks for it."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from sitemap_harvest.crawl.spiders.base import SitemapAttributes

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

PASS = "sitemap_harvest_pass"  # noqa: S105 - no password
"""In a request's ``meta``: the number of what a browser was let in with, if the request has that."""

_MAX_KEPT = 10_000  # sites; where hosts take turns, the rules are asked for when all other sites have had theirs
_MAX_KEPT_BYTES = 64 * 1024 * 1024  # of all of them; one alone may have more


class RobotsOnce:
    """Downloader middleware: the second to ask for a robots.txt gets the answer that the first one got.

    The spider reads robots.txt for its sitemaps, and Scrapy's own middleware
    reads it for its rules. Who asks waits only for what is in the downloader,
    which tells by signals when a download begins and ends: other middlewares may
    take an answer away, and nobody must wait for it then. For our own spiders
    only: others download as ever.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Response, int]] = OrderedDict()
        self._kept_bytes = 0
        self._downloading: dict[str, list[Deferred[None]]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware, for a spider of ours."""
        if not issubclass(crawler.spidercls, SitemapAttributes):
            raise NotConfigured
        once = cls()
        crawler.signals.connect(once.begin, signal=signals.request_reached_downloader)
        crawler.signals.connect(once.keep, signal=signals.response_downloaded)
        crawler.signals.connect(once.end, signal=signals.request_left_downloader)
        return once

    async def process_request(self, request: Request) -> Response | None:
        """Answer a request for a robots.txt that is known, after waiting for one that is being downloaded."""
        if not is_robots(request):
            return None
        while (waiting := self._downloading.get(request.url)) is not None:
            turn: Deferred[None] = Deferred()
            waiting.append(turn)
            await maybe_deferred_to_future(turn)
        kept, number = self._kept.get(request.url, (None, 0))
        if kept is None or number < request.meta.get(PASS, 0):
            return None  # nobody has asked; or who asked was kept out, and this one may be let in
        if _has_failed(kept):
            if request.meta.get("retry_times"):
                return None  # the one who got it asks again
            request.meta["dont_retry"] = True  # that has been done
        return kept.replace(request=request)  # else Scrapy would call the first one's callback

    def begin(self, request: Request) -> None:
        """Note that a robots.txt is being downloaded: others wait from now on."""
        if is_robots(request):
            self._downloading.setdefault(request.url, [])

    def keep(self, response: Response, request: Request) -> None:
        """Keep the answer, whatever it is. The oldest ones go where there are too many."""
        if not is_robots(request):
            return
        self._forget(request.url)
        self._kept[request.url] = response, request.meta.get(PASS, 0)
        self._kept_bytes += len(response.body)
        while len(self._kept) > 1 and (len(self._kept) > _MAX_KEPT or self._kept_bytes > _MAX_KEPT_BYTES):
            self._forget(next(iter(self._kept)))

    def end(self, request: Request) -> None:
        """Let the others go on: there is an answer, or the next one asks for itself."""
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
