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
    """The jobs of pings that Scrapyd has to do, each with its sitemap."""

    pending: Mapping[str, str] = field(default_factory=dict)
    """Those in its queue."""
    running: Mapping[str, str] = field(default_factory=dict)
    """Those at work."""


class Memory:
    """The jobs of the last *seconds*. It ends with Scrapyd; what is pending then is in Scrapyd's queue."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._known: dict[str, tuple[str, float]] = {}  # job and time, by the key of the sitemap

    def job_of(self, key: str, jobs: Jobs, now: float) -> str | None:
        """Return the job that a ping for the sitemap of *key* repeats; ``None`` if it needs one of its own."""
        for job, url in (*jobs.running.items(), *jobs.pending.items()):
            if url_key(url) == key:
                return job
        known = self._known.get(key)
        return known[0] if known and now - known[1] < self._seconds else None

    def note(self, key: str, job: str, now: float) -> None:
        """Note that *job* was scheduled for the sitemap of *key*, and forget what is over."""
        self._known = {each: known for each, known in self._known.items() if now - known[1] < self._seconds}
        self._known[key] = (job, now)
