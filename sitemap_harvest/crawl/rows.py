"""Whether batches can travel through this crawler, or every URL must be an item of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydispatch import dispatcher
from scrapy import signals
from scrapy.extensions import feedexport
from scrapy.utils.misc import load_object

from sitemap_harvest.crawl.counts import BatchCounts
from sitemap_harvest.crawl.feeds import FeedExporter
from sitemap_harvest.crawl.processor import BatchItemProcessor

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_OWN = ("scrapy.extensions.", "scrapy.spidermiddlewares.", "sitemap_harvest.")
_METHODS = ("process_spider_output", "process_spider_output_async", "process_start")


def why_rows(crawler: Crawler) -> str | None:
    """Return in words what keeps batches from being used in *crawler*; ``None`` if nothing does."""
    if not issubclass(load_object(crawler.settings["ITEM_PROCESSOR"]), BatchItemProcessor):
        return "ITEM_PROCESSOR is not sitemap_harvest's"
    if crawler.get_extension(BatchCounts) is None:
        return "the extension sitemap_harvest.crawl.counts.BatchCounts is not enabled"
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
