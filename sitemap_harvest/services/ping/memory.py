"""Which sitemap has which job, so that a ping that is repeated makes no second one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sitemap_harvest.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "ping-"
"""With what the id of each job of a ping begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """What Scrapyd has to do."""

    pending: Mapping[str, str] = field(default_factory=dict)
    """The sitemaps of the jobs of pings that are in its queue, by job."""
    running: frozenset[str] = frozenset()
    """The jobs that run."""


class Memory:
    """The jobs of the last *seconds*, and older ones that have not ended. It ends with Scrapyd, whose queue stays."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._known: dict[str, tuple[str, float]] = {}  # job and time, by the key of the sitemap

    def job_of(self, key: str, jobs: Jobs, now: float) -> str | None:
        """Return the job that a ping for the sitemap of *key* repeats; ``None`` if it needs one of its own."""
        job, then = self._known.get(key, (None, 0.0))
        if job is not None and (now - then < self._seconds or job in jobs.pending or job in jobs.running):
            return job
        return next((job for job, url in jobs.pending.items() if url_key(url) == key), None)

    def note(self, key: str, job: str, jobs: Jobs, now: float) -> None:
        """Note that *job* was scheduled for the sitemap of *key*, and forget what is over."""
        self._known = {
            known: (each, then)
            for known, (each, then) in self._known.items()
            if now - then < self._seconds or each in jobs.pending or each in jobs.running
        }
        self._known[key] = (job, now)
