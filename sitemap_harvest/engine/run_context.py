"""The identity of a run (run id, job, spider) in log lines, stats, metrics and records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

RUN = "sitemap_harvest/run"
"""Stat with the id of the run."""

FIELDS = "harvest"
"""Attribute of a log record with its structured fields."""


def fields(event: str, **values: Any) -> dict[str, Any]:
    """Return the ``extra`` of a log call: the name of the *event*, and its fields *values* as plain values."""
    return {FIELDS: {"event": event, **values}}


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
    def of(cls, spider: Any, run: str | None = None) -> Self:
        """Return the identity of the *run* of a Scrapy *spider*."""
        job = getattr(spider, "_job", None)
        return cls(run=run, job=None if job is None else str(job), spider=str(spider.name))
