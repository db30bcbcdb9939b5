"""The log as JSON, a line for each record (``SITEMAP_HARVEST_LOG=json``). Needs python-json-logger.

Scrapy makes the handler of its log anew for each crawler, and once more when
that crawler's settings are final. So what sets the form stands before that
handler at the root logger, and sees to it at each record.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pythonjsonlogger.core import BaseJsonFormatter
from scrapy.utils.log import get_scrapy_root_handler

from sitemap_harvest.crawl.watching.run_mark import FIELDS, mark_of
from sitemap_harvest.escape import visible, visible_lines, visible_traceback

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST = 2**63  # of what readers of JSON take for a number


class JsonFormatter(BaseJsonFormatter):
    """Makes one line of JSON of a record, whatever is in it. May be given to log handlers of one's own."""

    def format(self, record: logging.LogRecord) -> str:
        """Return *record* as JSON in ASCII, without line breaks."""
        log_data: dict[str, Any] = {}
        self.add_fields(log_data, record, {})
        return self.serialize_log_record(self.process_log_record(log_data))

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: Mapping[str, Any]) -> None:
        """Put what *record* tells into *log_data*. What is absent is left out."""
        mark = mark_of(record)
        fields = {
            "time": _time(record.created),
            "level": record.levelname,
            "logger": record.name,
            "message": _message(record),
            "run": mark.run if mark else None,
            "job": mark.job if mark else None,
            "spider": mark.spider if mark else None,
            **message_dict,
            **{name: visible(value) if isinstance(value, str) else value for name, value in _own(record).items()},
            "exception": self._exception(record),
        }
        log_data.update({str(name): _plain(value) for name, value in fields.items() if value is not None})

    def jsonify_log_record(self, log_data: dict[str, Any]) -> str:
        """Return *log_data* as JSON."""
        return json.dumps(log_data)  # in ASCII: the file may have any encoding

    def _exception(self, record: logging.LogRecord) -> str | None:
        """Return the traceback of *record*, and its stack, as text."""
        texts = []
        try:
            if isinstance(record.exc_info, tuple) and record.exc_info[0] is not None:
                text = logging.Formatter.formatException(self, record.exc_info)
                texts.append(visible_traceback(text, record.exc_info[1]))
            elif record.exc_text:
                texts.append(str(record.exc_text))
        except Exception as error:  # noqa: BLE001 - an exception's own __str__ may fail, and the line must come
            texts.append(f"(its traceback cannot be told: {type(error).__name__})")
        if record.stack_info:
            texts.append(str(record.stack_info))
        return "\n".join(texts) or None


def begin() -> None:
    """Let Scrapy's log be JSON from now on, to the end of the process."""
    if not any(isinstance(handler, _FormKeeper) for handler in logging.root.handlers):
        logging.root.addHandler(keeper := _FormKeeper())
        keeper.keep()


class _FormKeeper(logging.Handler):
    """Writes nothing: keeps the form of Scrapy's handler, which comes behind it."""

    def __init__(self) -> None:
        super().__init__()
        self._form = JsonFormatter()

    def handle(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - the interface of logging
        self.keep()
        return True

    def keep(self) -> None:
        handler = get_scrapy_root_handler()
        if handler is not None and handler.formatter is not self._form:
            handler.setFormatter(self._form)


def _time(created: float) -> str:
    """Return the seconds since the epoch as ISO 8601, in UTC."""
    return datetime.fromtimestamp(created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _message(record: logging.LogRecord) -> str:
    """Return the message of *record*; where its arguments do not fit, or cannot be told, without them."""
    try:
        return record.getMessage()
    except Exception as error:  # noqa: BLE001 - whatever __str__ or __repr__ of an argument raises
        try:
            return f"{record.msg!s} (its arguments cannot be told: {type(error).__name__})"
        except Exception:  # noqa: BLE001 - the same of the message, which may be any object
            return f"(a {type(record.msg).__name__}, which cannot be told)"


def _own(record: logging.LogRecord) -> dict[str, Any]:
    fields = getattr(record, FIELDS, None)
    return fields if isinstance(fields, dict) else {}


def _plain(value: Any) -> Any:
    """Return *value* as JSON has it, and a person may see it once it is decoded."""
    if value is None or (isinstance(value, int | float) and abs(value) < _MOST):  # nor infinite, nor no number
        return value
    try:
        text = str(value)
    except Exception:  # noqa: BLE001 - whatever __str__ raises
        text = f"(a {type(value).__name__}, which cannot be told)"
    return visible_lines(text)
