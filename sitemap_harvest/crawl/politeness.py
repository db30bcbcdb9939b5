"""A server that asks for patience gets it: ``Crawl-delay`` of robots.txt, and ``Retry-After``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import sleep

from sitemap_harvest.crawl.document_requests import lead_of
from sitemap_harvest.crawl.outcome import wanted_wait
from sitemap_harvest.crawl.spiders.base import SitemapAttributes, harvest_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response


class Patience:
    """Downloader middleware: RetryMiddleware asks again at once; a server that wants to be left alone is left alone.

    The documents of our spiders go back to the spider, whose frontier waits
    without holding up other hosts. Whatever else it asks for, such as pages,
    waits here.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware, for a spider of ours."""
        if not issubclass(crawler.spidercls, SitemapAttributes):
            raise NotConfigured
        return cls(crawler)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Pass on *response*, after a pause if it asks for one and the spider does not see to it."""
        seconds = wanted_wait(response, request.meta.get("retry_times", 0))
        if seconds is None or request.meta.get("dont_retry"):
            return response
        if lead_of(request) is not None or seconds > harvest_of(self._crawler).options.max_wait:
            request.meta["dont_retry"] = True  # the spider puts it back; or it would be asked for too soon
        else:
            await self._pause(seconds)
        return response

    async def _pause(self, seconds: float) -> None:
        """Sleep, and wake up if the run is to end."""
        while seconds > 0 and self._crawler.engine.running:
            await sleep(min(seconds, 1.0))
            seconds -= 1.0
