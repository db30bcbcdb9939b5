"""The start of a run: the requests that ``start()`` of the spider yields, and the middleware that takes them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from scrapy import Request

from sitemap_harvest.discovery.candidate import Candidate
from sitemap_harvest.integration.guards import allow_named
from sitemap_harvest.integration.spider_attributes import OWN_NAME, CrawlerComponent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from sitemap_harvest.frontier.site_queue import SiteQueue
    from sitemap_harvest.integration.spider_attributes import SitemapAttributes
    from sitemap_harvest.spiders.run import Harvest

CLOSEST_TO_THE_SPIDER = 1_000
_NOT_THEIRS = ("sitemap_harvest.", "scrapy.")
_SCRAPYS_STEPS = ("_get_sitemap_body", "_get_urls_from_sitemapindex", "_get_urls_and_callbacks_from_urlset")


class StartRequestsMiddleware(CrawlerComponent):
    """Spider middleware: takes the requests for sitemaps from ``start()``, and adds the requests of the run.

    So a spider may have any ``start()``: it can change the requests of the base class,
    add its own, or yield only its own.
    """

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield everything except sitemap requests, then the requests and records of the run when they are due."""
        harvest: Harvest = getattr(self._crawler.spider, OWN_NAME)
        failed: Exception | None = None
        try:
            async for request_or_item in start:
                if isinstance(request_or_item, Request):
                    allow_named(self._crawler, [request_or_item.url])
                if harvest.runner is None or not harvest.seeds.take(request_or_item):
                    yield request_or_item
        except Exception as error:  # noqa: BLE001 - Scrapy processes earlier requests, and reports the error
            failed = error
        if harvest.runner is not None:
            async for request_or_item in harvest.runner.steps():
                yield request_or_item
        if failed is not None:
            raise failed


class SeedRequests:
    """The documents that a run begins with, after ``start()`` of the spider has changed them."""

    def __init__(self, spider: SitemapAttributes, sites: SiteQueue) -> None:
        self._spider = spider
        self._sites = sites
        self._candidates: dict[str, Candidate] = {}
        self._requests: dict[str, Request] = {}

    def requests(self, candidates: Iterable[Candidate]) -> Iterator[Request]:
        """Yield a request for each of *candidates* if the spider overrides ``start()``; else queue them directly."""
        if not has_own(self._spider, "start") and not reads_itself(self._spider):
            self._sites.begin(candidates)  # a run may have a million sites
            return
        self._candidates = {candidate.url: candidate for candidate in candidates}
        for url in self._candidates:
            yield Request(url, callback=_callback(self._spider))

    def take(self, request: Any) -> bool:
        """Start with the document of *request* if it is for a sitemap; else return ``False``.

        A request with its own errback or arguments, or one that the spider parses
        itself, is left to Scrapy.
        """
        if not isinstance(request, Request) or request.callback != _callback(self._spider):
            return False
        if reads_itself(self._spider) or request.method != "GET" or request.errback or request.cb_kwargs:
            return False
        candidate = self._candidates.get(request.url) or Candidate(url=request.url, root=request.url)
        self._requests[candidate.url] = request
        self._sites.begin([candidate])
        return True

    def like(self, request: Request) -> Request:
        """Return *request* of the run with the changes that ``start()`` made: headers, cookies, priority, ``meta``."""
        if (wanted := self._requests.get(request.url)) is None:
            return request
        headers = wanted.headers.copy()
        headers.update(request.headers)
        kept = {"handle_httpstatus_list": request.meta["handle_httpstatus_list"]}
        return request.replace(
            headers=headers,
            cookies=wanted.cookies,
            priority=wanted.priority,
            flags=wanted.flags,
            meta={**request.meta, **wanted.meta, **kept},
        )


def has_own(spider: SitemapAttributes, *names: str) -> bool:
    """Whether one of these methods of *spider* is defined neither by this package nor by Scrapy."""
    return any(not (getattr(getattr(spider, name), "__module__", None) or "").startswith(_NOT_THEIRS) for name in names)


def takes_scrapys_steps(spider: SitemapAttributes) -> bool:
    """Whether *spider* overrides the steps in which Scrapy's ``SitemapSpider`` reads a sitemap."""
    return has_own(spider, *_SCRAPYS_STEPS)


def reads_itself(spider: SitemapAttributes) -> bool:
    """Whether the methods of *spider*, which overrides the reading of sitemaps, must process them."""
    return has_own(spider, "_parse_sitemap") or takes_scrapys_steps(spider)


def state_of(urls: Iterable[str]) -> tuple[Any, Any]:
    """Return a value to detect whether *urls*, ``sitemap_urls`` of a spider, have been modified or replaced."""
    return urls, [*urls] if isinstance(urls, Collection) else None


def _callback(spider: SitemapAttributes) -> Any:
    return spider._parse_sitemap  # noqa: SLF001 - Scrapy's name, which spiders use as a callback
