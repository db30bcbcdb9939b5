"""robots.txt is downloaded once, whoever asks for it."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from sitemap_harvest.crawl.spiders.harvest import HarvestSpider

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

_MAX_KEPT = 256  # sites at a time; the middleware asks soon after the spider did
_MAX_KEPT_BYTES = 1024 * 1024


class RobotsOnce:
    """Downloader middleware: the second to ask for a robots.txt gets the answer that the first one got.

    The spider reads robots.txt for its sitemaps, and Scrapy's own middleware
    reads it for its rules. Sits next to the downloader, so that all that happens
    to a response happens to this one too. Failures are not kept. For our own
    spiders only: others download as ever.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Response] = OrderedDict()
        self._asked: dict[str, list[Deferred[None]]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware, for a spider of ours."""
        if not issubclass(crawler.spidercls, HarvestSpider):
            raise NotConfigured
        return cls()

    async def process_request(self, request: Request) -> Response | None:
        """Answer a request for a robots.txt that is known, after waiting for one that is being asked for."""
        if not _is_robots(request):
            return None
        while (waiting := self._asked.get(request.url)) is not None:
            turn: Deferred[None] = Deferred()
            waiting.append(turn)
            await maybe_deferred_to_future(turn)
        if kept := self._kept.get(request.url):
            return kept.replace(request=request)  # else Scrapy would call the first one's callback
        self._asked[request.url] = []
        return None

    def process_response(self, request: Request, response: Response) -> Response:
        """Keep the answer, if it is one."""
        if _is_robots(request):
            if response.status < 500 and response.status != 429 and len(response.body) <= _MAX_KEPT_BYTES:
                self._kept[request.url] = response
                while len(self._kept) > _MAX_KEPT:
                    self._kept.popitem(last=False)
            self._done(request.url)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002 - Scrapy's signature
        """Let the next one ask for itself."""
        if _is_robots(request):
            self._done(request.url)

    def _done(self, url: str) -> None:
        for turn in self._asked.pop(url, []):
            turn.callback(None)


def _is_robots(request: Request) -> bool:
    return request.method == "GET" and request.url.partition("?")[0].endswith("/robots.txt")
