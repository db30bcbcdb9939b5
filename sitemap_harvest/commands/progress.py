"""The live line of a crawl on a terminal."""

from __future__ import annotations

import logging
import sys
import time
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text
from scrapy import signals

from sitemap_harvest.crawl.spiders.base import run_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from sitemap_harvest.crawl.summary import Summary

_PER_SECOND = 5


class ProgressLine:
    """Scrapy extension: documents done and queued, URLs, and how fast, in one line that is gone at the end."""

    def __init__(self, console: Console) -> None:
        self._started = time.monotonic()
        self._summary: Summary | None = None
        self._handlers: list[tuple[logging.StreamHandler[Any], Any]] = []
        self._live = Live(
            console=console,
            get_renderable=self._line,
            refresh_per_second=_PER_SECOND,
            transient=True,
            redirect_stdout=False,
        )

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Show the line as long as the spider is open."""
        line = cls(Console(stderr=True))
        crawler.signals.connect(line.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(line.spider_closed, signal=signals.spider_closed)
        return line

    def spider_opened(self, spider: Any) -> None:
        """Begin. Log lines go above the live line from now on."""
        run = run_of(spider)
        self._summary = run.summary if run is not None else None
        before = sys.stderr
        self._live.start()
        for handler in logging.root.handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is before:
                self._handlers.append((handler, handler.setStream(sys.stderr)))

    def spider_closed(self) -> None:
        """End, and put the log back."""
        for handler, stream in self._handlers:
            handler.setStream(stream)
        self._live.stop()

    def _line(self) -> Text:
        if self._summary is None:
            return Text("")
        return Text(line(self._summary, time.monotonic() - self._started))


def line(summary: Summary, seconds: float) -> str:
    """Return the line for a run that has lasted *seconds*."""
    rate = summary.urls / seconds if seconds > 0 else 0.0
    return (
        f"{summary.documents:,} documents done, {summary.queued:,} to go · {summary.urls:,} URLs"
        f" · {rate:,.0f} a second · {int(seconds) // 60}:{int(seconds) % 60:02}"
    )
