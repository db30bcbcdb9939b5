"""The JSON log: one line per log record (``SITEMAP_HARVEST_LOG=json``).

Scrapy creates its log handler anew for each crawler, and again when the crawler's
settings are final. So the formatter is set by another handler, which comes before it at
the root logger and checks it for each record.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

from scrapy.utils.log import get_scrapy_root_handler

from sitemap_harvest.engine.run_state import FIELDS
from sitemap_harvest.escape import visible, visible_lines, visible_traceback
from sitemap_harvest.reporting.log_context import run_context_of_record

_MOST = 2**63  # numbers beyond this exceed the range of JSON readers


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


def begin() -> None:
    """Make Scrapy's log JSON from now on, until the process ends."""
    if not any(isinstance(handler, _FormatterSetter) for handler in logging.root.handlers):
        logging.root.addHandler(setter := _FormatterSetter())
        setter.set_formatter()


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
