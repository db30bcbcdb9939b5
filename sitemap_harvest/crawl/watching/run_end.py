"""The end of a run, told once all else is done with it, whatever way it ended."""

from __future__ import annotations

import atexit
import logging
import re
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured

from sitemap_harvest.crawl.spiders.base import run_of
from sitemap_harvest.crawl.summary import Summary
from sitemap_harvest.crawl.watching.ending import Verdict, verdict
from sitemap_harvest.crawl.watching.run_mark import ErrorCount, Mark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler

    from sitemap_harvest.crawl.run import Harvest


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a run has ended."""

    mark: Mark
    summary: Summary
    stats: Mapping[str, Any]
    verdict: Verdict
    refused: str | None
    """Why it was refused; ``None`` if it was not."""
    errors: int
    """Lines of the log at ERROR or above."""
    started_at: datetime
    ended_at: datetime
    seconds: float


class AtRunEnd:
    """Base of the Scrapy extensions that tell how a run of one of our spiders ended.

    Scrapy closes outputs while it tells of the spider's end, so it is told after
    that, when the engine stops. A run that was refused has no engine that stops;
    and one that is broken off, or could not start, ends with the process.
    """

    accepts_batches = True

    def __init__(self, crawler: Crawler, harvest: Harvest) -> None:
        self.crawler = crawler
        self.harvest = harvest
        self.mark = harvest.mark
        self._began = time.monotonic()
        self._reason: str | None = None
        self._is_open = self._has_started = self._has_ended = False
        self._errors = ErrorCount(harvest.run_id)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the extension, and let it hear of the end."""
        if (harvest := run_of(crawler.spider)) is None:
            raise NotConfigured
        extension = cls(crawler, harvest)
        logging.root.addHandler(extension._errors)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.engine_started, signal=signals.engine_started)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(extension.engine_stopped, signal=signals.engine_stopped)
        atexit.register(extension._end)
        return extension

    def begun(self) -> None:
        """Note that the run begins: its arguments and settings may yet turn out to be wrong."""

    def ended(self, end: End) -> None:
        """Tell of the *end*."""
        raise NotImplementedError

    def spider_opened(self) -> None:
        """Note that Scrapy could start."""
        self._is_open = True

    def engine_started(self) -> None:
        """Note that there will be an end of the engine."""
        self._has_started = True
        self.begun()

    def spider_closed(self, reason: str) -> None:
        """End here, if the run never began: there are no outputs to wait for."""
        self._reason = reason
        if not self._has_started:
            self._end()

    def engine_stopped(self) -> None:
        """End."""
        self._end()

    def _end(self) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        atexit.unregister(self._end)
        logging.root.removeHandler(self._errors)
        self.ended(self._told())

    def _told(self) -> End:
        stats = dict(self.crawler.stats.get_stats())
        if self._is_open:
            stats.setdefault("finish_reason", self._reason)
        errors = self._errors.errors
        summary = self.harvest.summary
        return End(
            mark=self.mark,
            summary=summary,
            stats=stats,
            verdict=verdict(summary, stats, errors=errors) if self._is_open else Verdict.NOT_STARTED,
            refused=self.harvest.refused,
            errors=errors,
            started_at=self.harvest.started_at,
            ended_at=datetime.now(UTC),
            seconds=round(time.monotonic() - self._began, 3),
        )


def refused_end(error: str, *, spider: str, run: str, now: datetime) -> End:
    """Return the end of a run that was refused, because of *error*, before there was a *spider*."""
    return End(
        mark=Mark(run=run, job=None, spider=spider),
        summary=Summary(),
        stats={"finish_reason": "wrong_argument"},
        verdict=Verdict.WRONG_USAGE,
        refused=error,
        errors=1,
        started_at=now,
        ended_at=now,
        seconds=0.0,
    )


def peak_memory() -> int | None:
    """Return the most memory that this process had, in bytes; ``None`` where the system does not tell."""
    with suppress(OSError):  # where there is no /proc; what getrusage() tells is never below what the parent had
        if found := re.search(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text("ascii"), re.MULTILINE):
            return int(found[1]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return None
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024
