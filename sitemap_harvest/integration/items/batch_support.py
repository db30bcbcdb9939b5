"""Whether all components of the crawl support batches, and the correction of Scrapy's item counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pydispatch import dispatcher
from scrapy import signals
from scrapy.extensions import feedexport
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import load_object

from sitemap_harvest.integration.items.feed_exporter import FeedExporter
from sitemap_harvest.integration.items.item_processor import BatchItemProcessor, RowList
from sitemap_harvest.model import Batch

if TYPE_CHECKING:
    import logging

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


_OWN = ("scrapy.extensions.", "scrapy.spidermiddlewares.", "sitemap_harvest.")
_METHODS = ("process_spider_output", "process_spider_output_async", "process_start")


def batch_incompatibility(crawler: Crawler) -> str | None:
    """Return why batches cannot be used in *crawler*, as text; ``None`` if they can."""
    if not issubclass(load_object(crawler.settings["ITEM_PROCESSOR"]), BatchItemProcessor):
        return "ITEM_PROCESSOR is not sitemap_harvest's"
    if crawler.get_extension(BatchCounts) is None:
        return "the extension sitemap_harvest.integration.items.batch_support.BatchCounts is not enabled"
    exporter = crawler.get_extension(feedexport.FeedExporter)
    if exporter is not None and not isinstance(exporter, FeedExporter):
        return f"the extension {type(exporter).__qualname__} is not sitemap_harvest's"
    for handler in _item_handlers(crawler):
        if not _takes_batches(handler):
            return f"{_name(handler)} is connected to item_scraped and has no accepts_batches = True"
    for middleware in crawler.engine.scraper.spidermw.middlewares:
        if any(hasattr(middleware, method) for method in _METHODS) and not _takes_batches(middleware):
            return f"the spider middleware {type(middleware).__qualname__} has no accepts_batches = True"
    return None


def _item_handlers(crawler: Crawler) -> list[Any]:
    receivers = dispatcher.getAllReceivers(sender=crawler, signal=signals.item_scraped)
    return list(dispatcher.liveReceivers(receivers))


def _takes_batches(handler: Any) -> bool:
    owner = getattr(handler, "__self__", handler)
    module = type(owner).__module__ if owner is not handler else getattr(handler, "__module__", "")
    declared = getattr(handler, "accepts_batches", getattr(owner, "accepts_batches", False))
    return bool(declared) or (module or "").startswith(_OWN)


def _name(handler: Any) -> str:
    return str(getattr(handler, "__qualname__", type(handler).__qualname__))


def needs_rows(crawler: Crawler, logger: logging.LoggerAdapter[Any]) -> bool:
    """Whether each URL must be a separate item; the reason is logged to *logger*."""
    if reason := batch_incompatibility(crawler):
        logger.info("URLs are processed one by one, which is slower: %s", reason)
    return reason is not None
