"""``SitemapIntervals``: which sitemaps a crawl need not request yet, by the history of changes of each. Pure.

``docs/explain/revisit-intervals.md`` explains the decisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Self

import numpy as np

from sitemap_harvest.frontier.intervals import ChangeHistory, intervals, observed, rates
from sitemap_harvest.model import Kind, SitemapRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

_DAY = timedelta(days=1)
_KINDS = frozenset({Kind.SITEMAP, Kind.LIST})
"""An index tells which sitemaps are new, and an entry that leaves a feed between two requests would be lost."""
_NEW = ChangeHistory()
MOST_SHARES = 20
REQUESTS_PER_SHARE = 4
"""The budget counts crawls. A request for one of n sitemaps costs a quarter of 1/n of a crawl, or of 1/20 if that is
more: its interval is that of a site with so many times its changes. If it cost a crawl, most changes would be seen late
at sites whose sitemaps are alike; if it cost 1/n, a few more requests would be saved, and many more changes seen late.
Without a limit, large sites would get most requests."""
_NOT_DUE = "not due yet"


@dataclass(frozen=True, slots=True)
class SitemapIntervals:
    """The interval of each sitemap of one site, in a crawl."""

    now: datetime
    """When the crawl began, in UTC."""
    last_crawl: datetime
    """When the last one began."""
    histories: Mapping[str, ChangeHistory]
    """What earlier crawls have shown, by URL; only of sitemaps with a history."""
    days: Mapping[str, tuple[float, float]] | None
    """Of each of these, and of a new one (empty URL): the estimated days from one change to the next, and the interval
    in days. ``None``: all sitemaps are due."""

    @classmethod
    def of(
        cls,
        histories: Mapping[str, ChangeHistory],
        limits: tuple[float, float] | None,
        *,
        now: datetime,
        last_crawl: datetime,
    ) -> Self:
        """Compute the intervals from *histories*, by URL.

        *limits*: the multiplier and the ceiling in days, as for :func:`~sitemap_harvest.frontier.intervals.intervals`;
        ``None``: all sitemaps are due.
        """
        if limits is None:
            return cls(now, last_crawl, histories, None)
        multiplier, ceiling = limits
        changes, days = np.array([(one.changes, one.days) for one in (_NEW, *histories.values())]).T
        shares = min(max(len(histories), 1), MOST_SHARES)
        own = intervals(rates(REQUESTS_PER_SHARE * shares * changes, days), multiplier, ceiling_days=ceiling)
        found = zip(shares / rates(shares * changes, days), own, strict=True)
        return cls(now, last_crawl, histories, dict(zip(("", *histories), found, strict=True)))

    def why_not_due(self, known: SitemapRecord, lastmod_text: str | None) -> str | None:
        """Return why the document of *known*, its record in the last snapshot, is not due, as text; ``None`` if it is.

        *lastmod_text*: its date that the index gives now. Another one than before claims a change.
        """
        if self.days is None or not _may_wait(known) or known.fresh_at is None:
            return None
        if lastmod_text not in {None, known.lastmod_text}:
            return None
        from_change_to_change, interval = self.days.get(known.url, self.days[""])
        due_at = known.fresh_at + timedelta(days=float(interval))
        tolerance = (self.now - self.last_crawl) / 2  # the next crawl may be as far from it, on the other side
        if not known.fresh_at <= self.now < due_at - tolerance:  # the clock may have been set back
            return None
        every = f"{from_change_to_change:.0f} days" if from_change_to_change >= 1.5 else "day"
        known_rate = (
            f"it changes about every {every}" if known.url in self.histories else "its changes are not known yet"
        )
        return f"{_NOT_DUE}: {known_rate}, next request after {due_at:%Y-%m-%d %H:%M} UTC"

    def has_unchecked(self, known: Iterable[SitemapRecord], *, days: float) -> bool:
        """Return whether a sitemap was not due in the last crawl, and was last checked at least *days* ago.

        *known*: the records of the last snapshot.
        """
        old = self.now - timedelta(days=days)
        return any(
            row.reason is not None
            and row.reason.startswith(_NOT_DUE)
            and row.fresh_at is not None
            and row.fresh_at <= old
            for row in known
        )

    def histories_after(
        self,
        before: Mapping[str, SitemapRecord],
        after: Mapping[str, SitemapRecord],
        *,
        run: str,
        has_changed: Callable[[SitemapRecord], bool],
    ) -> dict[str, ChangeHistory]:
        """Return the histories after the *run*, by URL.

        *before* and *after* are the document records of the snapshots before and after it, by key. *has_changed*
        returns whether a document that the run has read completely lists other rows than before. A single sitemap
        needs no history, because it has the interval of its site.
        """
        if self.days is None and not self.histories:
            return {}
        found = {}
        for key, row in after.items():
            known = before.get(key)
            if known is None or known.fresh_at is None or row.fresh_at is None or row.left or not _may_wait(row):
                continue
            history = self.histories.get(known.url, _NEW)
            if row.fresh_run == run:
                days = (row.fresh_at - known.fresh_at) / _DAY
                history = observed(history, days_since_last=days, changed=row.rows_from == run and has_changed(row))
            if history != _NEW:
                found[row.url] = history
        return found if len(found) > 1 else {}


def _may_wait(row: SitemapRecord) -> bool:
    """Whether a document like that of *row* may have an interval of its own: not one that the user named."""
    return row.kind in _KINDS and row.depth > 0
