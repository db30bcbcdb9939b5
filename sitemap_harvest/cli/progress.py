"""The live progress line of a crawl on a terminal."""

from __future__ import annotations

import logging
import sys
import time
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text
from scrapy import signals

from sitemap_harvest.integration.spider_attributes import harvest_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from sitemap_harvest.engine.run_summary import Summary


class ProgressLine:
    """Scrapy extension: one line with documents done and queued, URLs and speed, removed at the end."""

    def __init__(self, crawler: Crawler) -> None:
        started = time.monotonic()
        self._handlers: list[tuple[logging.StreamHandler[Any], Any]] = []
        self._live = Live(
            console=Console(stderr=True),
            get_renderable=lambda: Text(line(harvest_of(crawler).summary, time.monotonic() - started)),
            refresh_per_second=5,
            transient=True,
            redirect_stdout=False,
        )

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Show the line while the spider is open."""
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        """Start. From now on log lines are printed above the live line."""
        before = sys.stderr
        self._live.start()
        for handler in logging.root.handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is before:
                self._handlers.append((handler, handler.setStream(sys.stderr)))

    def spider_closed(self) -> None:
        """Stop, and restore the log."""
        for handler, stream in self._handlers:
            handler.setStream(stream)
        self._live.stop()


def line(summary: Summary, seconds: float) -> str:
    """Return the line for a run that has taken *seconds*."""
    rate = summary.urls / seconds if seconds > 0 else 0.0
    return (
        f"{summary.documents:,} documents done, {summary.queued:,} queued · {summary.urls:,} URLs"
        f" · {rate:,.0f} per second · {int(seconds) // 60}:{int(seconds) % 60:02}"
    )
