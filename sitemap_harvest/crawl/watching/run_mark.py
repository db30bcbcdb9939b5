"""Which run it was: the mark that log lines, metrics and the closing record bear, and which lines are of which run."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from scrapy import Spider
from scrapy.utils.trackref import live_refs

from sitemap_harvest.crawl.spiders.base import run_of

if TYPE_CHECKING:
    from collections.abc import Iterable

RUN = "sitemap_harvest/run"
"""The stat that holds the id of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A run."""

    run: str | None
    """Its id; ``None`` for a spider that is not ours."""
    job: str | None
    """The id of its job on Scrapyd; ``None`` elsewhere."""
    spider: str
    """The name of its spider."""

    @classmethod
    def of(cls, spider: Spider) -> Self:
        """Return the mark of the run of *spider*."""
        run, job = run_of(spider), getattr(spider, "_job", None)
        return cls(run=run.run_id if run is not None else None, job=_text(job), spider=str(spider.name))


FIELDS = "harvest"
"""The attribute of a log record that holds what it tells as fields too."""


def fields(event: str, **told: Any) -> dict[str, Any]:
    """Return what the log is given as ``extra``: the *event* in a word, and what is *told* of it, as plain values."""
    return {FIELDS: {"event": event, **told}}


_current: ContextVar[Mark | None] = ContextVar("sitemap_harvest_run", default=None)


def begin(spider: Spider) -> None:
    """Let what is logged in the context of the crawl of *spider*, and in what that starts, bear its mark."""
    _current.set(Mark.of(spider))


def mark_of(record: logging.LogRecord) -> Mark | None:
    """Return the run that *record* belongs to; ``None`` if that cannot be told.

    It is that of the spider that the record names, as most of Scrapy's do; or
    that in whose context it was logged; or that of the only spider there is.
    """
    if isinstance(spider := getattr(record, "spider", None), Spider):
        return Mark.of(spider)
    if (mark := _current.get()) is not None:
        return mark
    spiders = list(_spiders())
    return Mark.of(spiders[0]) if len(spiders) == 1 else None


def _spiders() -> Iterable[Spider]:
    """Yield the spiders of this process."""
    return (spider for cls, found in live_refs.items() if issubclass(cls, Spider) for spider in list(found))  # type: ignore[misc]


def _text(value: object) -> str | None:
    return None if value is None else str(value)


class ErrorCount(logging.Handler):
    """Counts what is logged at ERROR or above, but for what is of other runs.

    Scrapy's own count has only what the log shows.
    """

    def __init__(self, run: str | None = None) -> None:
        """Count what is of *run*, or of no run that can be told; ``None``: of all."""
        super().__init__(logging.ERROR)
        self.errors = 0
        self._run = run

    def emit(self, record: logging.LogRecord) -> None:
        """Count *record*."""
        if self._run is None or (mark := mark_of(record)) is None or mark.run == self._run:
            self.errors += 1
