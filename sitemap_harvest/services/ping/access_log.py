"""The access log of pings: one line of JSON for each request."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass
from logging.handlers import WatchedFileHandler
from typing import TYPE_CHECKING

from twisted.logger import Logger

from sitemap_harvest.errors import OptionError
from sitemap_harvest.escape import visible
from sitemap_harvest.services.ping.refusal import Code

if TYPE_CHECKING:
    from pathlib import Path

_MOST_CHARACTERS = 2048
_log = Logger()


@dataclass(slots=True, kw_only=True)
class Line:
    """What is logged of a request. What is not known is ``None``."""

    time: str
    """In UTC, as ISO 8601 has it."""
    peer: str
    """The address of who has sent it."""
    method: str
    token: str | None = None
    """The name of the token, or its number; never the token itself."""
    host: str | None = None
    """The host of the sitemap; ``None`` if it is none that is taken."""
    sitemap: str | None = None
    """The address of the sitemap, if the token was right."""
    status: int = 0
    """The status of the answer."""
    result: str = ""
    """``scheduled``, ``repeated``, or the code of a refusal."""
    job: str | None = None
    """The id of the job."""

    def __str__(self) -> str:
        """Return the line: ASCII without line breaks, whatever was sent."""
        values = asdict(self)
        if self.sitemap is not None:
            values["sitemap"] = _shown(self.sitemap, self.result)[:_MOST_CHARACTERS]
        for name in ("peer", "method"):
            values[name] = values[name][:100]
        return json.dumps({name: visible(value) if isinstance(value, str) else value for name, value in values.items()})


def _shown(sitemap: str, result: str) -> str:
    """Return *sitemap* without what may be a password: where it is no right address, that may hold any character."""
    _, sign, rest = sitemap.rpartition("@")
    return f"...@{rest}" if sign and result == Code.BAD_SITEMAP else sitemap


class AccessLog:
    """Lines go into *file*, which is opened anew when it has been rotated away; without one, into Scrapyd's log."""

    def __init__(self, file: Path | None) -> None:
        """Open *file*. Raises :exc:`OptionError` if it cannot be written."""
        try:
            self._handler = None if file is None else _Handler(file, encoding="utf-8")
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise OptionError(f"access_log is {str(file)!r}, and it cannot be written: {why}") from None

    def write(self, line: Line) -> None:
        """Write *line*, at once. That it cannot be written stops no ping."""
        if self._handler is None:
            _log.info("Ping {line}", line=str(line))
        else:
            self._handler.handle(logging.makeLogRecord({"msg": str(line)}))


class _Handler(WatchedFileHandler):
    def emit(self, record: logging.LogRecord) -> None:
        try:
            super().emit(record)
        except OSError:  # the file was rotated away, and a new one cannot be made
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name in logging
        _log.failure("The access log of pings cannot be written; the line is {line}", line=record.msg)
