"""The item processor that lets batches through pipelines, and gives rows to those that know only rows.

Public interface: the setting ``ITEM_PROCESSOR``, and two methods of a pipeline:
``process_item(item)`` as ever, and ``process_batch(batch)``, which takes a
batch and returns one, at once or awaited. A pipeline that has only the latter
gets single rows as batches of one.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from scrapy import signals
from scrapy.exceptions import DropItem
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.log import logformatter_adapter
from twisted.python.failure import Failure

from sitemap_harvest.model import Batch, UrlBatch, UrlEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

logger = logging.getLogger(__name__)


class Rows:
    """Items that were rows of a batch, after a pipeline has made something else of them."""

    def __init__(self, items: list[Any]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def rows(self) -> Iterator[Any]:
        """Yield the items one by one."""
        return iter(self._items)


class BatchItemProcessor(ItemPipelineManager):
    """Scrapy's item pipeline manager, which also knows what to do with a batch."""

    _pipelines: tuple[Any, ...] = ()
    _knows_batches_only: bool = False

    def _add_middleware(self, mw: Any) -> None:
        super()._add_middleware(mw)
        self._pipelines += (mw,)
        self._knows_batches_only |= hasattr(mw, "process_batch") and not hasattr(mw, "process_item")

    async def process_item_async(self, item: Any) -> Any:
        """Pass *item* through the pipelines; a batch as a whole through those that have ``process_batch``."""
        if isinstance(item, Batch):
            return await self._process_batch(item)
        if self._knows_batches_only and isinstance(item, UrlEntry):
            rows = list((await self._process_batch(UrlBatch.of([item]))).rows())
            if not rows:
                raise DropItem("a pipeline left it out of its batch")
            return rows[0]
        return await super().process_item_async(item)

    async def _process_batch(self, batch: Batch[Any]) -> Batch[Any] | Rows:
        result: Batch[Any] | Rows = batch
        for pipeline in self._pipelines:
            if isinstance(result, Batch) and hasattr(pipeline, "process_batch"):
                result = await ensure_awaitable(pipeline.process_batch(result))
            elif hasattr(pipeline, "process_item"):
                result = _gathered(batch, [row async for row in self._each(pipeline.process_item, result)])
        return result

    async def _each(self, process: Callable[..., Any], rows: Batch[Any] | Rows) -> Any:
        for row in rows.rows():
            try:
                if process in self._mw_methods_requiring_spider:
                    yield await ensure_awaitable(process(row, self._spider))
                else:
                    yield await ensure_awaitable(process(row))
            except DropItem as reason:
                await self._dropped(row, reason)
            except Exception as error:  # noqa: BLE001 - as Scrapy does: one bad item, one log line, one signal
                await self._failed(row, error)

    async def _dropped(self, row: Any, reason: DropItem) -> None:
        assert self.crawler is not None  # noqa: S101 - from_crawler gives it; this tells mypy
        words = self.crawler.logformatter.dropped(row, reason, None, self._spider)
        if words is not None:
            logger.log(*logformatter_adapter(words), extra={"spider": self._spider, "item": row})
        await self.crawler.signals.send_catch_log_async(
            signal=signals.item_dropped, item=row, response=None, spider=self._spider, exception=reason
        )

    async def _failed(self, row: Any, error: Exception) -> None:
        assert self.crawler is not None  # noqa: S101 - from_crawler gives it; this tells mypy
        words = self.crawler.logformatter.item_error(row, error, None, self._spider)
        logger.log(*logformatter_adapter(words), extra={"spider": self._spider, "item": row}, exc_info=True)
        await self.crawler.signals.send_catch_log_async(
            signal=signals.item_error,
            item=row,
            response=None,
            spider=self._spider,
            failure=Failure(),  # type: ignore[no-untyped-call]  # Twisted has no hint for it
        )


def _gathered(batch: Batch[Any], rows: list[Any]) -> Batch[Any] | Rows:
    """Return *rows* as a batch of the kind that they were, or as they are if its columns cannot hold them now."""
    if all(type(row) is batch.row_type for row in rows):
        with suppress(pa.ArrowException, TypeError, ValueError, AttributeError):
            return type(batch).of(rows)
    return Rows(rows)
