"""``BatchCounts``: corrects Scrapy's item counts, which count a batch as one item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.utils.defer import deferred_from_coro

from sitemap_harvest.integration.items.item_processor import RowList
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
        """Create the extension, and subscribe it to the item signals."""
        counts = cls(crawler, crawler.settings.getint("CLOSESPIDER_ITEMCOUNT"))
        crawler.signals.connect(counts.item_scraped, signal=signals.item_scraped)
        crawler.signals.connect(counts.item_dropped, signal=signals.item_dropped)
        return counts

    def item_scraped(self, item: Any) -> None:
        """Add the rows of a batch beyond the one item that Scrapy counts."""
        rows = len(item) if isinstance(item, (Batch, RowList)) else 1
        if rows != 1:
            self._crawler.stats.inc_value("item_scraped_count", rows - 1)
        before = self._rows
        self._rows += rows
        if self._close_at and before < self._close_at <= self._rows:
            deferred_from_coro(self._crawler.engine.close_spider_async(reason="closespider_itemcount"))

    def item_dropped(self, item: Any, exception: BaseException) -> None:
        """Add the same for a batch that a pipeline dropped completely."""
        if isinstance(item, Batch):
            self._crawler.stats.inc_value("item_dropped_count", len(item) - 1)
            self._crawler.stats.inc_value(f"item_dropped_reasons_count/{type(exception).__name__}", len(item) - 1)
