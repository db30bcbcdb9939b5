"""Assigns log records to runs, and writes them as lines of JSON (``SITEMAP_HARVEST_LOG=json``).

Scrapy creates its log handler anew for each crawler, and again when the crawler's
settings are final. So the formatter is set by another handler, which comes before it at
the root logger and checks it for each record.
"""

from __future__ import annotations

import json
import logging
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from scrapy import Spider
from scrapy.utils.log import get_scrapy_root_handler
from scrapy.utils.trackref import live_refs

from sitemap_harvest.engine.run_state import FIELDS
from sitemap_harvest.escape import visible, visible_lines, visible_traceback
from sitemap_harvest.integration.spider_attributes import run_of

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

LOG = "SITEMAP_HARVEST_LOG"
_MOST = 2**63  # numbers beyond this exceed the range of JSON readers


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """The identity of a run."""

    run: str | None
    """Its id; ``None`` for a spider that is not from this package."""
    job: str | None
    """The id of its Scrapyd job; ``None`` elsewhere."""
    spider: str
    """The name of its spider."""

    @classmethod
    def of(cls, spider: Any) -> Self:
        """Return the identity of the run of the Scrapy *spider*, which may be from another package."""
        run, job = run_of(spider), getattr(spider, "_job", None)
        return cls(run=run.run_id if run else None, job=None if job is None else str(job), spider=str(spider.name))


_current: ContextVar[RunContext | None] = ContextVar("sitemap_harvest_run", default=None)


class JsonFormatter(logging.Formatter):
    """Formats a log record as one line of JSON, whatever its contents. Can be used with your own log handlers."""

    def format(self, record: logging.LogRecord) -> str:
        """Return *record* as JSON in ASCII, without line breaks. Absent facts are left out."""
        context, own = run_context_of_record(record), getattr(record, FIELDS, None)
        own = own if isinstance(own, dict) else {}  # another library may use the name
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        facts = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": _message(record),
            "run": context.run if context else None,
            "job": context.job if context else None,
            "spider": context.spider if context else None,
            **{name: visible(value) if isinstance(value, str) else value for name, value in own.items()},
            "exception": self._exception(record),
        }
        return json.dumps({str(name): _plain(value) for name, value in facts.items() if value is not None})

    def _exception(self, record: logging.LogRecord) -> str | None:
        """Return the traceback of *record* and its stack as text."""
        texts = []
        try:
            if isinstance(record.exc_info, tuple) and record.exc_info[0] is not None:
                texts.append(visible_traceback(self.formatException(record.exc_info), record.exc_info[1]))
            elif record.exc_text:
                texts.append(str(record.exc_text))
        except Exception as error:  # noqa: BLE001 - an exception's own __str__ may fail, but the line must be written
            texts.append(f"(traceback not available: {type(error).__name__})")
        if record.stack_info:
            texts.append(str(record.stack_info))
        return "\n".join(texts) or None


def start_log(settings: BaseSettings, spider: Spider | None = None) -> None:
    """Make log records carry the run of *spider*, also in tasks that it starts; as JSON if *settings* say so."""
    if spider is not None:
        _current.set(RunContext.of(spider))
    if settings.get(LOG) == "json" and not any(isinstance(one, _FormatterSetter) for one in logging.root.handlers):
        logging.root.addHandler(setter := _FormatterSetter())
        setter.set_formatter()


def run_context_of_record(record: logging.LogRecord) -> RunContext | None:
    """Return the run that *record* belongs to; ``None`` if it is unknown.

    It is the run of the spider that the record names, as in most of Scrapy's records;
    or of the context in which it was logged; or of the only spider of the process.
    """
    if isinstance(spider := getattr(record, "spider", None), Spider):
        return RunContext.of(spider)
    if (context := _current.get()) is not None:
        return context
    spiders: list[Any] = [one for cls, found in live_refs.items() if issubclass(cls, Spider) for one in list(found)]
    return RunContext.of(spiders[0]) if len(spiders) == 1 else None


class _FormatterSetter(logging.Handler):
    """A handler that writes nothing: it sets the formatter of Scrapy's handler, which comes after it."""

    _json = JsonFormatter()

    def handle(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - logging's interface
        self.set_formatter()
        return True

    def set_formatter(self) -> None:
        handler = get_scrapy_root_handler()
        if handler is not None and handler.formatter is not self._json:
            handler.setFormatter(self._json)


def _message(record: logging.LogRecord) -> str:
    """Return the message of *record*; without its arguments if they do not fit, or cannot be formatted."""
    try:
        return record.getMessage()
    except Exception as error:  # noqa: BLE001 - __str__ or __repr__ of an argument may raise anything
        message = str(_plain(record.msg))
        return f"{message} (arguments not available: {type(error).__name__})" if record.args else message


def _plain(value: Any) -> Any:
    """Return *value* as JSON-compatible, readable data."""
    if value is None or (isinstance(value, int | float) and abs(value) < _MOST):  # neither infinite nor NaN
        return value
    try:
        return visible_lines(str(value))
    except Exception:  # noqa: BLE001 - __str__ may raise anything
        return f"(a {type(value).__name__} that cannot be shown)"
