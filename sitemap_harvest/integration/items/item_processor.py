"""``BatchItemProcessor``: passes batches through pipelines, and single rows to pipelines without batch support.

Public interface: the setting ``ITEM_PROCESSOR``, and two methods of a pipeline:
Scrapy's ``process_item(item)``, and ``process_batch(batch)``, which takes a batch and
returns one, directly or as an awaitable. A pipeline with only the latter gets single
rows as batches of one.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import fields
from inspect import iscoroutine
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
from pydispatch import dispatcher
from scrapy import signals
from scrapy.exceptions import DropItem
from scrapy.extensions.feedexport import FeedExporter
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import deferred_from_coro, ensure_awaitable
from scrapy.utils.log import logformatter_adapter
from scrapy.utils.misc import load_object
from twisted.python.failure import Failure

from sitemap_harvest.config.arguments import EMIT
from sitemap_harvest.model import Batch, LedgerBatch, UrlBatch, UrlEntry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from scrapy.crawler import Crawler


logger = logging.getLogger(__name__)

_AWAITED_TOGETHER = 100  # rows of a batch: Scrapy's default of CONCURRENT_ITEMS for items
_NOTHING = object()


class RowList:
    """Items that were rows of a batch, after a pipeline replaced them."""

    def __init__(self, items: list[Any]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def rows(self) -> Iterator[Any]:
        """Yield the items one by one."""
        return iter(self._items)


class BatchItemProcessor(ItemPipelineManager):
    """Scrapy's item pipeline manager, extended for batches.

    It also makes ``item_scraped_count``, ``item_dropped_count`` and
    ``CLOSESPIDER_ITEMCOUNT`` count the rows of a batch.
    """

    accepts_batches = True
    crawler: Crawler
    _pipelines: tuple[Any, ...] = ()
    _knows_batches_only: bool = False
    _rows: int = 0
    _close_at: int = 0
    is_closed: bool = False
    """Whether the pipelines are closed or closing: later items may not be stored."""
    has_close_failed: bool = False
    """Whether a pipeline failed while closing: items that it had buffered may be lost."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the processor with the pipelines of the project."""
        processor = super().from_crawler(crawler)
        processor._close_at = crawler.settings.getint("CLOSESPIDER_ITEMCOUNT")  # noqa: SLF001 - its own
        crawler.signals.connect(processor.count_scraped, signal=signals.item_scraped)
        crawler.signals.connect(processor.count_dropped, signal=signals.item_dropped)
        return processor

    def _add_middleware(self, mw: Any) -> None:
        super()._add_middleware(mw)
        if is_bypassed(mw):
            self.methods["process_item"][-1] = _except_records(mw.process_item)
            return
        self._pipelines += (mw,)
        self._knows_batches_only |= hasattr(mw, "process_batch") and not hasattr(mw, "process_item")

    async def process_item_async(self, item: Any) -> Any:
        """Pass *item* through the pipelines; a batch as a whole through those with ``process_batch``."""
        if isinstance(item, Batch):
            return await self._process_batch(item)
        if self._knows_batches_only and isinstance(item, UrlEntry):
            rows = list((await self._process_batch(UrlBatch.of([item]))).rows())
            if not rows:
                raise DropItem("a pipeline removed the row from its batch")
            return rows[0]
        return await super().process_item_async(item)

    async def close_spider_async(self) -> None:
        """Close the pipelines."""
        self.is_closed = self.has_close_failed = True
        await super().close_spider_async()
        self.has_close_failed = False

    def count_scraped(self, item: Any) -> None:
        """Count the rows of a batch beyond the one item that Scrapy counts."""
        rows = len(item) if isinstance(item, (Batch, RowList)) else 1
        if rows != 1:
            self.crawler.stats.inc_value("item_scraped_count", rows - 1)
        before = self._rows
        self._rows += rows
        if self._close_at and before < self._close_at <= self._rows:
            deferred_from_coro(self.crawler.engine.close_spider_async(reason="closespider_itemcount"))

    def count_dropped(self, item: Any, exception: BaseException) -> None:
        """Count the same for a batch that a pipeline dropped completely."""
        if isinstance(item, Batch):
            self.crawler.stats.inc_value("item_dropped_count", len(item) - 1)
            self.crawler.stats.inc_value(f"item_dropped_reasons_count/{type(exception).__name__}", len(item) - 1)

    async def _process_batch(self, batch: Batch[Any]) -> Batch[Any] | RowList:
        parts: list[Batch[Any] | RowList] = [batch]
        for pipeline in self._pipelines:
            parts = [made for part in parts for made in await self._through(pipeline, part, type(batch))]
        if all(isinstance(part, Batch) for part in parts):
            return type(batch).joined(parts)  # type: ignore[arg-type]  # all() tells mypy nothing
        return RowList([row for part in parts for row in part.rows()])

    async def _through(
        self, pipeline: Any, part: Batch[Any] | RowList, kind: type[Batch[Any]]
    ) -> list[Batch[Any] | RowList]:
        """Return the result of *pipeline* for *part*, as batches of *kind* where possible."""
        if isinstance(part, Batch) and kind is not LedgerBatch and hasattr(pipeline, "process_batch"):
            result = await ensure_awaitable(pipeline.process_batch(part))
            if not isinstance(result, Batch):
                raise TypeError(
                    f"{type(pipeline).__qualname__}.process_batch() returned {result!r}, which is not a batch"
                )
            return [result]
        if hasattr(pipeline, "process_item"):
            return _gathered(kind, await self._each(pipeline.process_item, part.rows()))
        return [part]

    async def _each(self, process: Callable[..., Any], rows: Iterator[Any]) -> list[Any]:
        """Return the results of *process* for *rows*, in order; awaitables are awaited for many rows at a time."""
        spider = (self._spider,) if process in self._mw_methods_requiring_spider else ()
        made: list[Any] = []
        while some := list(islice(rows, _AWAITED_TOGETHER)):
            results = [await self._called(process, row, *spider) for row in some]
            if waiting := [result for result in results if iscoroutine(result)]:
                done = iter(
                    await asyncio.gather(*waiting) if is_asyncio_available() else [await one for one in waiting]
                )
                results = [next(done) if iscoroutine(result) else result for result in results]
            made += [result for result in results if result is not _NOTHING]
        return made

    async def _called(self, process: Callable[..., Any], row: Any, *spider: Any) -> Any:
        """Return the result of *process* for *row*: ``_NOTHING`` if it drops the row, a coroutine to be awaited."""
        try:
            result = process(row, *spider)
        except Exception as error:  # noqa: BLE001 - as Scrapy does: one bad item, one log line, one signal
            return await self._left_out(row, error)
        return self._awaited(row, result) if hasattr(result, "__await__") else result

    async def _awaited(self, row: Any, result: Any) -> Any:
        try:
            return await ensure_awaitable(result)
        except Exception as error:  # noqa: BLE001 - the same
            return await self._left_out(row, error)

    async def _left_out(self, row: Any, error: Exception) -> object:
        """Log that *row* was dropped, or that a pipeline failed on it, and send the signal, as Scrapy does."""
        formatter, is_dropped = self.crawler.logformatter, isinstance(error, DropItem)
        words = (formatter.dropped if is_dropped else formatter.item_error)(row, error, None, self._spider)
        if words is not None:
            extra = {"spider": self._spider, "item": row}
            logger.log(*logformatter_adapter(words), extra=extra, exc_info=None if is_dropped else error)
        cause = {"exception": error} if is_dropped else {"failure": Failure()}  # type: ignore[no-untyped-call]  # Twisted's
        signal = signals.item_dropped if is_dropped else signals.item_error
        await self.crawler.signals.send_catch_log_async(
            signal=signal, item=row, response=None, spider=self._spider, **cause
        )
        return _NOTHING


def _gathered(kind: type[Batch[Any]], rows: list[Any]) -> list[Batch[Any] | RowList]:
    """Return *rows* as a batch of their original *kind*, except rows that no longer fit its columns."""
    is_row = [type(row) is kind.row_type for row in rows]
    if all(is_row):
        with suppress(pa.ArrowException, TypeError, ValueError, AttributeError):
            return [kind.of(rows)]
    if len(rows) == 1 or not any(is_row):
        return [RowList(rows)]
    middle = len(rows) // 2
    return _gathered(kind, rows[:middle]) + _gathered(kind, rows[middle:])


_RECORDS = tuple(kind.row_type for kind in EMIT.values())
_SCRAPYS = "scrapy.pipelines."
_PIPELINE_METHODS = ("process_item", "get_media_requests", "item_completed")
_URL_FIELDS = ("images_urls_field", "files_urls_field")


def _except_records(process: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
    """Return *process* of a pipeline as a method that returns the package's items unchanged."""

    async def process_item(item: Any) -> Any:
        return item if isinstance(item, _RECORDS) else await process(item)

    return process_item


def is_bypassed(pipeline: Any) -> bool:
    """Whether *pipeline* is a files or images pipeline of Scrapy that must not get the package's items.

    It looks for a field ``image_urls``, finds none, and writes its empty result to the
    field ``images``, which holds the images of the sitemap. A pipeline with its own
    method, or with a field that the items have, is not bypassed.
    """
    methods = [getattr(type(pipeline), method, None) for method in _PIPELINE_METHODS]
    if not all(getattr(method, "__module__", "").startswith(_SCRAPYS) for method in methods):
        return False
    wanted = [getattr(pipeline, name) for name in _URL_FIELDS if hasattr(pipeline, name)]
    known = {field.name for record in _RECORDS for field in fields(record)}
    return bool(wanted) and not known & set(wanted)


_OWN = ("scrapy.extensions.", "scrapy.spidermiddlewares.", "sitemap_harvest.")
_OUTPUT_METHODS = ("process_spider_output", "process_spider_output_async", "process_start")


def batch_incompatibility(crawler: Crawler) -> str | None:
    """Return why batches cannot be used in *crawler*, as text; ``None`` if they can."""
    if not issubclass(load_object(crawler.settings["ITEM_PROCESSOR"]), BatchItemProcessor):
        return "ITEM_PROCESSOR is not a sitemap_harvest BatchItemProcessor"
    exporter = crawler.get_extension(FeedExporter)
    if exporter is not None and not getattr(exporter, "accepts_batches", False):
        return f"the extension {type(exporter).__qualname__} does not set accepts_batches = True"
    receivers = dispatcher.getAllReceivers(sender=crawler, signal=signals.item_scraped)
    for handler in dispatcher.liveReceivers(receivers):
        if not _takes_batches(handler):
            name = getattr(handler, "__qualname__", type(handler).__qualname__)
            return f"{name} is connected to item_scraped but does not set accepts_batches = True"
    for middleware in crawler.engine.scraper.spidermw.middlewares:
        if any(hasattr(middleware, method) for method in _OUTPUT_METHODS) and not _takes_batches(middleware):
            return f"the spider middleware {type(middleware).__qualname__} does not set accepts_batches = True"
    return None


def _takes_batches(handler: Any) -> bool:
    owner = getattr(handler, "__self__", handler)
    module = type(owner).__module__ if owner is not handler else getattr(handler, "__module__", "")
    declared = getattr(handler, "accepts_batches", getattr(owner, "accepts_batches", False))
    return bool(declared) or (module or "").startswith(_OWN)


def needs_rows(crawler: Crawler, logger: logging.LoggerAdapter[Any]) -> bool:
    """Whether each URL must be a separate item; the reason is logged to *logger*."""
    if reason := batch_incompatibility(crawler):
        logger.info("URLs are processed one by one, which is slower: %s", reason)
    return reason is not None
