"""``RetryAfterMiddleware``: waits as long as ``Retry-After`` or ``Crawl-delay`` requires."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import sleep

from sitemap_harvest.engine.outcomes import retry_after
from sitemap_harvest.integration.document_requests import candidate_of
from sitemap_harvest.integration.spider_attributes import SitemapAttributes, harvest_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response


class RetryAfterMiddleware:
    """Downloader middleware: delays retries by ``Retry-After``, where RetryMiddleware would retry at once.

    Documents go back to the spider, whose frontier waits without delaying other hosts.
    Other requests, such as pages, wait here.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the middleware, for spiders of this package only."""
        if not issubclass(crawler.spidercls, SitemapAttributes):
            raise NotConfigured
        return cls(crawler)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Return *response*, after a pause if it requires one and the spider does not handle it."""
        header = response.headers.get("Retry-After") or b""
        seconds = retry_after(response.status, header.decode("latin-1"), request.meta.get("retry_times", 0))
        if seconds is None or request.meta.get("dont_retry"):
            return response
        if candidate_of(request) is not None or seconds > harvest_of(self._crawler).options.max_wait:
            request.meta["dont_retry"] = True  # the spider requeues it; RetryMiddleware would request it too early
        else:
            await self._pause(seconds)
        return response

    async def _pause(self, seconds: float) -> None:
        """Sleep, but wake up if the run is ending."""
        while seconds > 0 and self._crawler.engine.running:
            await sleep(min(seconds, 1.0))
            seconds -= 1.0
