"""``BatchItemProcessor``: passes batches through pipelines, and single rows to pipelines without batch support.

Public interface: the setting ``ITEM_PROCESSOR``, and two methods of a pipeline:
Scrapy's ``process_item(item)``, and ``process_batch(batch)``, which takes a batch and
returns one, directly or as an awaitable. A pipeline with only the latter gets single
rows as batches of one.
"""

from __future__ import annotations

import asyncio
import logging
import reprlib
from collections import Counter
from functools import cache
from inspect import iscoroutine
from itertools import groupby, islice
from operator import methodcaller
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from itemadapter import ItemAdapter
from pydispatch import dispatcher
from scrapy import signals
from scrapy.exceptions import DropItem
from scrapy.extensions.feedexport import FeedExporter
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import deferred_from_coro, ensure_awaitable
from scrapy.utils.log import logformatter_adapter
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name
from twisted.python.failure import Failure

from sitemap_harvest.config.arguments import EMIT
from sitemap_harvest.integration.items.item_types import RowList, gathered, json_dicts
from sitemap_harvest.integration.items.lost_items import ItemLog
from sitemap_harvest.integration.spider_attributes import run_of
from sitemap_harvest.model import Batch, ItemRecord, LedgerBatch, UrlBatch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from scrapy.crawler import Crawler


logger = logging.getLogger(__name__)

_AWAITED_TOGETHER = 100  # rows of a batch: Scrapy's default of CONCURRENT_ITEMS for items
_ROWS_TOGETHER = 1000  # rows become batches again together


class _Pipeline(NamedTuple):
    component: Any
    process_batch: Callable[[Any], Any] | None
    process_item: Callable[..., Any] | None
    needs_spider: bool

    def takes(self, kind: type[Batch[Any]]) -> bool:
        """Whether it gets batches of *kind*: it gets document records one by one."""
        return self.process_batch is not None and kind is not LedgerBatch


class _Lost(NamedTuple):
    """An item that a pipeline dropped, or failed on."""

    item: Any
    error: Exception
    pipeline: Any


class BatchItemProcessor(ItemPipelineManager):
    """Scrapy's item pipeline manager, extended for batches.

    It also makes ``item_scraped_count``, ``item_dropped_count`` and
    ``CLOSESPIDER_ITEMCOUNT`` count the rows of a batch.
    """

    accepts_batches = True
    crawler: Crawler
    _pipelines: tuple[_Pipeline, ...] = ()
    _log: ItemLog
    _for_records: tuple[_Pipeline, ...] = ()
    """The same for single records."""
    replaced: Counter[tuple[type, type]]
    """Items that pipelines replaced by items of another type, by both types."""
    _incomplete: set[str]
    """Pipelines for batches that did not get all items."""
    _rows: int = 0
    _close_at: int = 0
    bypassing: Collection[type[Batch[Any]]] = ()
    """The kinds of items that no pipeline gets."""
    is_closed: bool = False
    """Whether the pipelines are closed or closing: later items may not be stored."""
    has_close_failed: bool = False
    """Whether a pipeline failed while closing: items that it had buffered may be lost."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the processor with the pipelines of the project."""
        processor = super().from_crawler(crawler)
        processor.replaced = Counter()
        processor._incomplete = set()  # noqa: SLF001 - its own
        processor._close_at = crawler.settings.getint("CLOSESPIDER_ITEMCOUNT")  # noqa: SLF001 - its own
        crawler.signals.connect(processor.count_scraped, signal=signals.item_scraped)
        crawler.signals.connect(processor.count_dropped, signal=signals.item_dropped)
        if run_of(crawler.spider) is not None:
            processor._log = ItemLog(crawler)  # noqa: SLF001 - its own
        return processor

    def _add_middleware(self, mw: Any) -> None:
        super()._add_middleware(mw)
        process = getattr(mw, "process_item", None)
        needs_spider = process is not None and process in self._mw_methods_requiring_spider
        if wanted := media_fields(mw):
            process = _where_wanted(mw.process_item, wanted)
        self._pipelines += (_Pipeline(mw, getattr(mw, "process_batch", None), process, needs_spider),)
        if process is None and hasattr(mw, "process_batch"):
            process = self._for_one(mw)
        self._for_records += (_Pipeline(mw, None, process, needs_spider),)

    async def process_item_async(self, item: Any) -> Any:
        """Pass *item* through the pipelines; a batch as a whole through those with ``process_batch``."""
        if self.bypassing and (type(item) in self.bypassing or BATCHES.get(type(item)) in self.bypassing):
            return item
        if isinstance(item, Batch):
            return await self._process_batch(item)
        if type(item) in BATCHES:
            return await self._process_record(item)
        try:
            return await super().process_item_async(item)
        except DropItem:
            raise
        except Exception:
            if run_of(self.crawler.spider) is not None:
                self._log.lose_other()
            raise

    async def close_spider_async(self) -> None:
        """Close the pipelines."""
        self.is_closed = self.has_close_failed = True
        await super().close_spider_async()
        self.has_close_failed = False
        if run_of(self.crawler.spider) is not None:
            self._log.close()

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
            self._count_dropped(type(exception), len(item) - 1)

    def _count_dropped(self, reason: type[BaseException], rows: int) -> None:
        self.crawler.stats.inc_value("item_dropped_count", rows)
        self.crawler.stats.inc_value(f"item_dropped_reasons_count/{reason.__name__}", rows)

    @property
    def _as_dicts(self) -> bool:
        """Whether pipelines get the package's items as dictionaries."""
        run = run_of(self.crawler.spider)
        return run is not None and run.options.items == "dicts"

    async def _process_record(self, item: ItemRecord) -> Any:
        kind = BATCHES[type(item)]
        given = next(json_dicts(kind.of([item]))) if self._as_dicts else item
        result = self._passed(given, given, self._for_records)
        if iscoroutine(result):
            result = await result
        if isinstance(result, _Lost):
            if not isinstance(result.error, DropItem):
                self._lose(item, result)
            raise result.error
        if type(result) is not type(item):
            (made,) = gathered(kind, [result])
            (result,) = made.rows()
            self._count_replaced(kind, [result])
        return result

    async def _process_batch(self, batch: Batch[Any]) -> Batch[Any] | RowList:
        kind = type(batch)
        parts: list[Batch[Any] | RowList] = [batch]
        for takes_batches, group in groupby(self._pipelines, key=methodcaller("takes", kind)):
            pipelines = tuple(group)
            if not takes_batches:
                parts = [made for part in parts for made in await self._each(pipelines, part, kind)]
                continue
            for one in pipelines:
                parts = [made for part in parts for made in await self._through(one, part, kind)]
        if all(isinstance(part, Batch) for part in parts):
            return kind.joined(parts)  # type: ignore[arg-type]  # all() tells mypy nothing
        rows = [row for part in parts for row in part.rows()]
        self._count_replaced(kind, rows)
        return RowList(rows)

    def _count_replaced(self, kind: type[Batch[Any]], rows: list[Any]) -> None:
        self.replaced.update((kind.row_type, type(row)) for row in rows if type(row) is not kind.row_type)

    async def _through(
        self, pipeline: _Pipeline, part: Batch[Any] | RowList, kind: type[Batch[Any]]
    ) -> list[Batch[Any] | RowList]:
        """Return the result of a *pipeline* for batches."""
        assert pipeline.process_batch is not None  # noqa: S101 - for mypy: it takes batches
        if not isinstance(part, Batch):
            if pipeline.process_item is None:
                self._note_incomplete(pipeline.component)
            return await self._each((pipeline,), part, kind)
        try:
            made = _checked(await ensure_awaitable(pipeline.process_batch(part)))
        except DropItem:
            raise
        except Exception as error:
            self._lose(part, _Lost(part, error, pipeline.component))
            raise
        if len(made) < len(part):
            self._count_dropped(DropItem, len(part) - len(made))
        return [made]

    async def _each(
        self, pipelines: tuple[_Pipeline, ...], part: Batch[Any] | RowList, kind: type[Batch[Any]]
    ) -> list[Batch[Any] | RowList]:
        """Return the results of *pipelines* for each row of *part*, in order, as batches of *kind* where possible.

        Awaitables are awaited for many rows at a time.
        """
        if all(one.process_item is None for one in pipelines):
            return [part]
        rows = self._given(part, kind)
        made: list[Batch[Any] | RowList] = []
        waiting: list[Any] = []
        while some := list(islice(rows, _AWAITED_TOGETHER)):
            results = [self._passed(row, row, pipelines) for row in some]
            if coroutines := [result for result in results if iscoroutine(result)]:
                done = iter(
                    await asyncio.gather(*coroutines) if is_asyncio_available() else [await one for one in coroutines]
                )
                results = [next(done) if iscoroutine(result) else result for result in results]
            for lost in [result for result in results if isinstance(result, _Lost)]:
                await self._left_out(lost)
            waiting += [result for result in results if not isinstance(result, _Lost)]
            if len(waiting) >= _ROWS_TOGETHER:
                made += gathered(kind, waiting)
                waiting = []
        return made + gathered(kind, waiting) if waiting or not made else made

    def _given(self, part: Batch[Any] | RowList, kind: type[Batch[Any]]) -> Iterator[Any]:
        """Return the items of *part* as pipelines get them."""
        if not self._as_dicts:
            return part.rows()
        if isinstance(part, Batch):
            return json_dicts(part)
        return (next(json_dicts(kind.of_changed([row]))) if type(row) is kind.row_type else row for row in part.rows())

    def _passed(self, item: Any, result: Any, pipelines: tuple[_Pipeline, ...]) -> Any:
        """Return the result of *pipelines* for *result*, which *item* has become; a coroutine if one awaits.

        The result is ``_Lost`` if a pipeline drops the item or fails.
        """
        for number, (component, _, process, needs_spider) in enumerate(pipelines):
            if process is None:
                continue
            try:
                result = process(result, self._spider) if needs_spider else process(result)
            except Exception as error:  # noqa: BLE001 - as Scrapy does: one bad item, one signal
                return _Lost(item, error, component)
            if hasattr(result, "__await__"):
                return self._awaited(item, result, pipelines[number:])
            if type(result) is not type(item) and not ItemAdapter.is_item(result):
                return _Lost(item, _no_item(result), component)
        return result

    async def _awaited(self, item: Any, waiting: Any, pipelines: tuple[_Pipeline, ...]) -> Any:
        """Await the result of the first of *pipelines*, and pass it through the others."""
        try:
            result = await ensure_awaitable(waiting)
        except Exception as error:  # noqa: BLE001 - the same
            return _Lost(item, error, pipelines[0].component)
        if not ItemAdapter.is_item(result):
            return _Lost(item, _no_item(result), pipelines[0].component)
        result = self._passed(item, result, pipelines[1:])
        return await result if iscoroutine(result) else result

    async def _left_out(self, lost: _Lost) -> None:
        """Log that a row was dropped, or that a pipeline failed on it, and send the signal, as Scrapy does."""
        item, error, _ = lost
        facts: dict[str, Any] = {"item": item, "response": None, "spider": self._spider}
        if not isinstance(error, DropItem):
            self._lose(item, lost)
            failure = Failure(error)  # type: ignore[no-untyped-call]  # Twisted's
            await self.crawler.signals.send_catch_log_async(signal=signals.item_error, failure=failure, **facts)
            return
        if (words := self._log.dropped(item, error, None, self._spider)) is not None:
            logger.log(*logformatter_adapter(words), extra={"spider": self._spider, "item": item})
        await self.crawler.signals.send_catch_log_async(signal=signals.item_dropped, exception=error, **facts)

    def _for_one(self, pipeline: Any) -> Callable[[Any], Any]:
        """Return a method for single URLs that passes each as a batch of one row; others are returned unchanged."""

        async def process_item(item: Any) -> Any:
            (batch,) = gathered(UrlBatch, [item])
            if not isinstance(batch, UrlBatch):
                if BATCHES.get(type(item), UrlBatch) is UrlBatch:
                    self._note_incomplete(pipeline)
                return item
            result = _checked(await ensure_awaitable(pipeline.process_batch(batch)))
            if not len(result):
                raise DropItem("a pipeline removed the row from its batch")
            return next(json_dicts(result) if isinstance(item, dict) else result.rows())

        return process_item

    def _note_incomplete(self, pipeline: Any) -> None:
        """Log, once, that *pipeline* does not get all items."""
        if (name := global_object_name(type(pipeline))) not in self._incomplete:
            self._incomplete.add(name)
            logger.warning(
                "%s does not get all items: process_batch() takes none that an earlier pipeline has replaced, or given "
                "a value of another type. Put it first, or define process_item() too",
                name,
            )

    def _lose(self, item: Any, lost: _Lost) -> None:
        # An error without a traceback is one of ours: the pipeline has returned something else.
        hint = not self._as_dicts and not isinstance(item, Batch) and lost.error.__traceback__ is not None
        self._log.lose(item, lost.error, lost.pipeline, self._spider, hint=hint)


def _checked(result: Any) -> Batch[Any]:
    """Return the *result* of ``process_batch``. Raises :exc:`TypeError` if it is not a batch."""
    if not isinstance(result, Batch):
        raise TypeError(f"process_batch() returned {reprlib.repr(result)}, which is not a batch")
    return result


def _no_item(result: Any) -> TypeError:
    return TypeError(f"process_item() returned {reprlib.repr(result)}, which is not an item")


BATCHES: dict[type, type[Batch[Any]]] = {kind.row_type: kind for kind in EMIT.values()}
"""The kinds of batches by their rows."""
_SCRAPYS = "scrapy.pipelines."
_PIPELINE_METHODS = ("process_item", "get_media_requests", "item_completed")
_URL_FIELDS = ("images_urls_field", "files_urls_field")


def _where_wanted(process: Callable[[Any], Any], wanted: frozenset[str]) -> Callable[[Any], Any]:
    """Return *process* of a pipeline as a method that returns items without a field of *wanted* unchanged."""

    def process_item(item: Any) -> Any:
        return process(item) if ItemAdapter.is_item(item) and wanted & ItemAdapter(item).keys() else item

    return process_item


def media_fields(pipeline: Any) -> frozenset[str]:
    """Return the fields that a files or images pipeline of Scrapy reads; none for other pipelines.

    If an item has no field ``image_urls``, it writes its empty result to the field
    ``images``, which holds the images of the sitemap. A pipeline with its own method
    gets every item.
    """
    methods = [getattr(type(pipeline), method, None) for method in _PIPELINE_METHODS]
    if not all(getattr(method, "__module__", "").startswith(_SCRAPYS) for method in methods):
        return frozenset()
    return frozenset(getattr(pipeline, name) for name in _URL_FIELDS if hasattr(pipeline, name))


_OWN = ("scrapy.extensions.", "scrapy.spidermiddlewares.", "sitemap_harvest.")
_OUTPUT_METHODS = ("process_spider_output", "process_spider_output_async", "process_start")


def batch_incompatibility(crawler: Crawler) -> str | None:
    """Return why batches cannot be used in *crawler*, as text; ``None`` if they can."""
    return _component_incompatibility(crawler) or _handler_incompatibility(crawler)


def _component_incompatibility(crawler: Crawler) -> str | None:
    if not issubclass(load_object(crawler.settings["ITEM_PROCESSOR"]), BatchItemProcessor):
        return "ITEM_PROCESSOR is not a sitemap_harvest BatchItemProcessor"
    exporter = crawler.get_extension(FeedExporter)
    if exporter is not None and not getattr(exporter, "accepts_batches", False):
        return f"the extension {type(exporter).__qualname__} does not set accepts_batches = True"
    for middleware in crawler.engine.scraper.spidermw.middlewares:
        if any(hasattr(middleware, method) for method in _OUTPUT_METHODS) and not _takes_batches(middleware):
            return f"the spider middleware {type(middleware).__qualname__} does not set accepts_batches = True"
    return None


def _handler_incompatibility(crawler: Crawler) -> str | None:
    receivers = dispatcher.getAllReceivers(sender=crawler, signal=signals.item_scraped)
    for handler in dispatcher.liveReceivers(receivers):
        if not _takes_batches(handler):
            name = getattr(handler, "__qualname__", type(handler).__qualname__)
            return f"{name} is connected to item_scraped but does not set accepts_batches = True"
    return None


def _takes_batches(handler: Any) -> bool:
    owner = getattr(handler, "__self__", handler)
    module = type(owner).__module__ if owner is not handler else getattr(handler, "__module__", "")
    declared = getattr(handler, "accepts_batches", getattr(owner, "accepts_batches", False))
    return bool(declared) or (module or "").startswith(_OWN)


def rows_check(crawler: Crawler, logger: logging.LoggerAdapter[Any]) -> Callable[[], bool]:
    """Return a function that returns whether each URL must be a separate item; the reason is logged to *logger*.

    Handlers may be connected between two calls; the components stay the same.
    """
    component_incompatibility = cache(lambda: _component_incompatibility(crawler))

    def needs_rows() -> bool:
        if reason := component_incompatibility() or _handler_incompatibility(crawler):
            logger.info("URLs are processed one by one, which is slower: %s", reason)
        return reason is not None

    return needs_rows
