"""Scrapy counts items; a batch is many. This counts the URLs in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.utils.defer import deferred_from_coro

from sitemap_harvest.crawl.processor import Rows
from sitemap_harvest.model import Batch

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class BatchCounts:
    """Makes ``item_scraped_count``, ``item_dropped_count`` and ``CLOSESPIDER_ITEMCOUNT`` count the rows of a batch."""

    accepts_batches = True

    def __init__(self, crawler: Crawler, close_at: int) -> None:
        self._crawler = crawler
        self._close_at = close_at
        self._rows = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the extension, and let it hear of every item."""
        counts = cls(crawler, crawler.settings.getint("CLOSESPIDER_ITEMCOUNT"))
        crawler.signals.connect(counts.item_scraped, signal=signals.item_scraped)
        crawler.signals.connect(counts.item_dropped, signal=signals.item_dropped)
        return counts

    def item_scraped(self, item: Any) -> None:
        """Add what Scrapy, which counts one for each item, leaves out."""
        rows = len(item) if isinstance(item, (Batch, Rows)) else 1
        if rows != 1:
            self._crawler.stats.inc_value("item_scraped_count", rows - 1)
        before = self._rows
        self._rows += rows
        if self._close_at and before < self._close_at <= self._rows:
            deferred_from_coro(self._crawler.engine.close_spider_async(reason="closespider_itemcount"))

    def item_dropped(self, item: Any, exception: BaseException) -> None:
        """Add the same for a batch that a pipeline has dropped as a whole."""
        if isinstance(item, Batch):
            self._crawler.stats.inc_value("item_dropped_count", len(item) - 1)
            self._crawler.stats.inc_value(f"item_dropped_reasons_count/{type(exception).__name__}", len(item) - 1)
