"""Assigns log records to runs: adds the run id, and counts the errors of a run."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import Any

from scrapy import Spider
from scrapy.utils.trackref import live_refs

from sitemap_harvest.engine.run_state import RunContext
from sitemap_harvest.integration.spider_attributes import run_of

_current: ContextVar[RunContext | None] = ContextVar("sitemap_harvest_run", default=None)


def begin(spider: Spider) -> None:
    """Make log records of the crawl of *spider*, and of tasks that it starts, carry its run id."""
    _current.set(run_context_of_spider(spider))


def run_context_of_record(record: logging.LogRecord) -> RunContext | None:
    """Return the run that *record* belongs to; ``None`` if it is unknown.

    It is the run of the spider that the record names, as in most of Scrapy's records;
    or of the context in which it was logged; or of the only spider of the process.
    """
    if isinstance(spider := getattr(record, "spider", None), Spider):
        return run_context_of_spider(spider)
    if (context := _current.get()) is not None:
        return context
    spiders: list[Any] = [one for cls, found in live_refs.items() if issubclass(cls, Spider) for one in list(found)]
    return run_context_of_spider(spiders[0]) if len(spiders) == 1 else None


def run_context_of_spider(spider: Spider) -> RunContext:
    """Return the identity of the run of *spider*, which may be from another package."""
    run = run_of(spider)
    return RunContext.of(spider) if run is None else run.context


class ErrorCount(logging.Handler):
    """Counts records at ERROR or above, except those of other runs.

    Scrapy's own count only includes records that pass the log level.
    """

    def __init__(self, run: str | None = None) -> None:
        """Count the records of *run*, and those of unknown runs; ``None``: all records."""
        super().__init__(logging.ERROR)
        self.errors = 0
        self._run = run

    def emit(self, record: logging.LogRecord) -> None:
        """Count *record*."""
        if self._run is None or (context := run_context_of_record(record)) is None or context.run == self._run:
            self.errors += 1
