"""Scrapy counts items; a batch is many. This counts the URLs in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.utils.defer import deferred_from_coro

from sitemap_harvest.model import Batch

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler


class BatchCounts:
    """Makes ``item_scraped_count`` and ``CLOSESPIDER_ITEMCOUNT`` count the rows of a batch."""

    accepts_batches = True

    def __init__(self, crawler: Crawler, close_at: int) -> None:
        self._crawler = crawler
        self._close_at = close_at
        self._rows = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        counts = cls(crawler, crawler.settings.getint("CLOSESPIDER_ITEMCOUNT"))
        crawler.signals.connect(counts.item_scraped, signal=signals.item_scraped)
        return counts

    def item_scraped(self, item: Any, spider: Spider) -> None:
        """Add what Scrapy, which counts one for each item, leaves out."""
        rows = len(item) if isinstance(item, Batch) else 1
        self._crawler.stats.inc_value("item_scraped_count", rows - 1)
        before = self._rows
        self._rows += rows
        if self._close_at and before < self._close_at <= self._rows:
            deferred_from_coro(self._crawler.engine.close_spider_async(reason="closespider_itemcount"))
