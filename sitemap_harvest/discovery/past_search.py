"""When a site that has no sitemap is searched again: not in each run. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from sitemap_harvest.discovery.well_known import PAGES, WELL_KNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemap_harvest.discovery.site_state import SiteState


class PostponedSearch(NamedTuple):
    """A search that a run does not repeat: its result is taken from the last one."""

    last: date
    """The day of the last search, in UTC."""
    until: date
    """The first day on which the site is searched again."""
    has_home: bool
    """Whether the site had a home page."""

    @property
    def reason(self) -> str:
        """Why the rest of the search is postponed, as text."""
        return (
            f"the other well-known paths and the home page, searched on {self.last} without result, will be searched "
            f"again from {self.until} (force=yes: at once)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PastSearch:
    """A complete search of a site that found nothing, and what its result depends on: stored with the run."""

    at: datetime
    """When the run of the search began, in UTC."""
    base: str
    """The site that responded."""
    robots: str
    """Digest of its robots.txt; empty if there was none."""
    settings: str
    """The :func:`search_digest` of the run."""
    has_home: bool

    @classmethod
    def of(cls, site: SiteState, *, at: datetime, settings: str) -> Self | None:
        """Return the search of *site* in the run that began *at*; ``None`` if it was not complete, or found a list.

        It is complete if each path was tried, and none was blocked or failed: there may be
        a sitemap behind a failure.
        """
        if not site.is_searched or site.has_found or site.base is None or site.robots_digest is None:
            return None
        return cls(at=at, base=site.base, robots=site.robots_digest, settings=settings, has_home=site.has_home)

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> Self | None:
        """Return the search that *values* describe, as stored; ``None`` if they describe none."""
        try:
            return cls(**{**values, "at": datetime.fromisoformat(values["at"])})
        except (KeyError, TypeError, ValueError):
            return None  # of another version

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-compatible values."""
        return asdict(self) | {"at": self.at.isoformat()}

    def postponed(self, site: SiteState, *, now: datetime, settings: str, days: int) -> PostponedSearch | None:
        """Return the search of *site*, which is postponed in a run that began at *now*; ``None`` if it is due.

        It is due *days* days after the last one, in UTC, or at once if something that the
        result depends on has changed. A robots.txt that cannot be read is no change. Whole
        days count, so that daily runs may begin some minutes earlier or later.
        """
        until = self.at.date() + timedelta(days=days)
        is_past = self.at <= now  # not after the clock was set back
        is_same = (self.base, self.settings) == (site.base, settings) and site.robots_digest in {None, self.robots}
        if not (is_past and is_same and now.date() < until):
            return None
        return PostponedSearch(self.at.date(), until, self.has_home)


def search_digest(settings: Mapping[str, object]) -> str:
    """Return a digest of the paths that a search tries, and of the *settings* that its result depends on."""
    return hashlib.blake2s(repr((WELL_KNOWN, PAGES, sorted(settings.items()))).encode(), digest_size=8).hexdigest()
