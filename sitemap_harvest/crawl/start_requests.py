"""What a run begins with: the requests that ``start()`` of the spider yields."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request

from sitemap_harvest.crawl.reach import name_addresses
from sitemap_harvest.crawl.spiders.base import harvest_of
from sitemap_harvest.plan import Lead

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy.crawler import Crawler

    from sitemap_harvest.crawl.spiders.base import SitemapAttributes
    from sitemap_harvest.plan import Sites

CLOSEST_TO_THE_SPIDER = 1_000
_NOT_THEIRS = ("sitemap_harvest.", "scrapy.")
_SCRAPYS_STEPS = ("_get_sitemap_body", "_get_urls_from_sitemapindex", "_get_urls_and_callbacks_from_urlset")


class StartRequests:
    """Spider middleware: takes the requests for sitemaps from ``start()``, and adds the requests of the run.

    So a spider may have any ``start()``: one that changes what ``start()`` of
    the base class yields, adds requests of its own, or yields only these.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware."""
        return cls(crawler)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass on what is no sitemap, then yield the requests and records of the run, each when it is due."""
        harvest = harvest_of(self._crawler)
        failed: Exception | None = None
        try:
            async for request_or_item in start:
                if isinstance(request_or_item, Request):
                    name_addresses(self._crawler, [request_or_item.url])
                if not harvest.seeds.take(request_or_item):
                    yield request_or_item
        except Exception as error:  # noqa: BLE001 - Scrapy reads what was requested before, and reports the error
            failed = error
        async for request_or_item in harvest.steps():
            yield request_or_item
        if failed is not None:
            raise failed


class Seeds:
    """The documents that a run begins with, as ``start()`` of the spider leaves them."""

    def __init__(self, spider: SitemapAttributes, sites: Sites) -> None:
        self._spider = spider
        self._sites = sites
        self._leads: dict[str, Lead] = {}
        self._requests: dict[str, Request] = {}

    def requests(self, leads: Iterable[Lead]) -> Iterator[Request]:
        """Yield a request for each of *leads*, if the spider looks at these; else take the leads as they are."""
        if not has_own(self._spider, "start") and not reads_itself(self._spider):
            self._sites.begin(leads)  # a run may have a million sites
            return
        self._leads = {lead.url: lead for lead in leads}
        for url in self._leads:
            yield Request(url, callback=_callback(self._spider))

    def take(self, request: Any) -> bool:
        """Begin with the document of *request*, if that asks for a sitemap; else return ``False``.

        What the spider has an errback or arguments for, or reads itself, is left to Scrapy.
        """
        if not isinstance(request, Request) or request.callback != _callback(self._spider):
            return False
        if reads_itself(self._spider) or request.method != "GET" or request.errback or request.cb_kwargs:
            return False
        lead = self._leads.get(request.url) or Lead(url=request.url, root=request.url)
        self._requests[lead.url] = request
        self._sites.begin([lead])
        return True

    def like(self, request: Request) -> Request:
        """Return *request*, of the run, with what ``start()`` wants of it: headers, cookies, priority, ``meta``."""
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
    """Whether one of these methods of *spider* is neither ours nor Scrapy's."""
    return any(not (getattr(getattr(spider, name), "__module__", None) or "").startswith(_NOT_THEIRS) for name in names)


def takes_scrapys_steps(spider: SitemapAttributes) -> bool:
    """Whether *spider* has changed how Scrapy's ``SitemapSpider`` reads a sitemap, step by step."""
    return has_own(spider, *_SCRAPYS_STEPS)


def reads_itself(spider: SitemapAttributes) -> bool:
    """Whether sitemaps have to go to the methods of *spider*, which has changed how they are read."""
    return has_own(spider, "_parse_sitemap") or takes_scrapys_steps(spider)


def state_of(urls: Iterable[str]) -> tuple[Any, Any]:
    """Return what tells whether *urls*, ``sitemap_urls`` of a spider, have been changed or replaced."""
    return urls, [*urls] if isinstance(urls, Collection) else None


def _callback(spider: SitemapAttributes) -> Any:
    return spider._parse_sitemap  # noqa: SLF001 - Scrapy's name, which spiders use as a callback
