"""What the log says of items that pipelines or exporters fail on, or drop: a few lines, however many items they are."""

from __future__ import annotations

import logging
import reprlib
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from scrapy.utils.python import global_object_name

from sitemap_harvest.engine.run_state import fields
from sitemap_harvest.model import Batch, ItemRecord, UrlEntry
from sitemap_harvest.redact import without_login

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot

logger = logging.getLogger(__name__)

_MOST_DROPPED = 100  # dropped items in the log
_HINT = '. If it needs plain dictionaries, with dates as text, set SITEMAP_HARVEST_ITEMS = "dicts"'
_KINDS_HINT = ". The run emits items of several kinds: check the type of the item, or emit URLs alone with emit=urls"
_JSON_HINT = (
    ". To write dates, add cls=ScrapyJSONEncoder (from scrapy.utils.serialize) to json.dumps(), "
    'or set SITEMAP_HARVEST_ITEMS = "dicts"'
)


WRITE_ERRORS = (OSError, pa.ArrowException)
"""Errors of an output as a whole, such as a full disk, and not of single rows."""


class LostRows:
    """The rows that the exporter of one output failed on."""

    count: int = 0
    first: str = ""
    """The first of them, and why it is lost."""
    error: Exception | None = None
    """The first error."""

    def add(self, item: Any, error: Exception) -> None:
        """Count *item*, a text that names it, or the rows of a batch."""
        self.count += len(item) if isinstance(item, Batch) else 1
        if self.error is None:
            self.error, self.first = error, f"{_named(item)}: {type(error).__name__}: {error}"

    def log(self, slot: FeedSlot, crawler: Crawler) -> None:
        """Log how many rows the output of *slot* lacks, and why, and count them."""
        crawler.stats.inc_value("sitemap_harvest/lost_items_of_outputs", self.count)
        uri, more = without_login(slot.uri), ""
        if isinstance(self.error, UnicodeEncodeError):
            encoding = slot.feed_options["encoding"] or "utf-8"
            more = (
                f". {encoding} does not have this character: set FEED_EXPORT_ENCODING, or encoding in FEEDS, to utf-8"
            )
        # An error without a traceback is one of ours.
        logger.error(
            "%s: the exporter failed on %s missing from this output. The first is %s%s",
            uri,
            _which(self.count),
            self.first,
            more,
            exc_info=self.error if self.error is not None and self.error.__traceback__ else None,
            extra=fields("items-lost", output=uri, items=self.count),
        )


class ItemLog:
    """Logs the first item that each pipeline fails on, with a traceback, and the first items that are dropped.

    Counts the others. It takes part in Scrapy's log formatter, which logs single items.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._lost: Counter[str] = Counter()
        self._others = 0
        self._dropped = 0
        self._counted: BaseException | None = None
        formatter = crawler.logformatter
        assert formatter is not None  # noqa: S101 - for mypy: it exists before the engine
        self._words_of_dropped, self._words_of_error = formatter.dropped, formatter.item_error
        formatter.dropped, formatter.item_error = self._single_dropped, self._single_error  # type: ignore[method-assign]

    def lose(self, item: Any, error: Exception, pipeline: object, spider: Spider | None, *, hint: bool) -> None:
        """Count *item*, on which *pipeline* failed, and log it if it is the first.

        *hint*: whether the setting that passes dictionaries may help.
        """
        name, items = global_object_name(type(pipeline)), len(item) if isinstance(item, Batch) else 1
        self._crawler.stats.inc_value("sitemap_harvest/lost_items", items)
        self._crawler.stats.inc_value(f"sitemap_harvest/lost_items/{name}", items)
        self._lost[name] += items
        self._counted = error
        words = self._words_of_error(item, error, None, spider)  # type: ignore[arg-type]
        if self._lost[name] > items or words is None:
            return
        logger.log(
            words["level"],
            "%s failed on %s: %r. The item is lost: it is in no output. More failures of this pipeline are "
            "counted, not logged%s",
            name,
            _named(item),
            error,
            _hint(item, error) if hint else "",
            exc_info=error,
            extra={"spider": spider, "item": item},
        )

    def lose_other(self) -> None:
        """Count an item of the spider, on which a pipeline failed; Scrapy logs each."""
        self._crawler.stats.inc_value("sitemap_harvest/lost_items")
        self._others += 1

    def dropped(self, item: Any, error: BaseException, response: Any, spider: Any) -> Any:
        """Return what to log of an item that a pipeline dropped; ``None`` after the first hundred."""
        self._dropped += 1
        if self._dropped > _MOST_DROPPED or (words := self._words_of_dropped(item, error, response, spider)) is None:
            return None
        more = "\nMore dropped items are counted, not logged" if self._dropped == _MOST_DROPPED else ""
        return {**words, "msg": words["msg"] + more}

    def _single_dropped(self, item: Any, exception: BaseException, response: Any, spider: Any) -> Any:
        """Return what Scrapy logs of a dropped item."""
        is_record = isinstance(item, (ItemRecord, Batch))
        return (self.dropped if is_record else self._words_of_dropped)(item, exception, response, spider)

    def _single_error(self, item: Any, exception: BaseException, response: Any, spider: Any) -> Any:
        """Return what Scrapy logs of an error: nothing if it was counted here."""
        words = self._words_of_error(item, exception, response, spider)
        return {**words, "level": logging.NOTSET} if exception is self._counted else words

    def close(self) -> None:
        """Log how many items are lost."""
        for name, items in self._lost.items():
            extra = fields("items-lost", pipeline=name, items=items)
            logger.error("%s failed on %s lost", name, _which(items), extra=extra)
        if others := self._others:
            extra = fields("items-lost", items=others)
            logger.error("Pipelines failed on %s lost: see the log above", _which(others), extra=extra)


def _which(items: int) -> str:
    return "1 item, which is" if items == 1 else f"{items:,} items, which are"


def _hint(item: Any, error: Exception) -> str:
    if "JSON" in str(error):
        return _JSON_HINT
    is_record = isinstance(item, ItemRecord) and not isinstance(item, UrlEntry)
    return _KINDS_HINT if is_record and isinstance(error, (KeyError, AttributeError)) else _HINT


def _named(item: Any) -> str:
    """Return a short description of *item*."""
    if isinstance(item, str):
        return item
    if not isinstance(item, ItemRecord):
        return repr(item) if isinstance(item, Batch) else reprlib.repr(item)
    address = next((item[name] for name in ("loc", "url", "root", "site") if name in item), "")
    return f"the {type(item).__name__} {address}"
