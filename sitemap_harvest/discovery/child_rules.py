"""Which named documents are fetched: depth, ``follow``, ``skip``, offsite and ``prune_index`` rules."""

from __future__ import annotations

import re  # noqa: TC003 - so that the annotations of the dataclass can be resolved at run time
from dataclasses import dataclass
from functools import lru_cache

from sitemap_harvest.dates import read_date
from sitemap_harvest.discovery.candidate import Candidate, NotFetched
from sitemap_harvest.discovery.offsite import Offsite, bare_host, refuse_offsite
from sitemap_harvest.filters.date_range import DateRange
from sitemap_harvest.model import FoundBy, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The limits for the documents that others name."""

    max_depth: int = 10
    """Levels below the start of the run."""
    depth_setting: str = "MAX_DEPTH"
    """Name of the setting that sets :attr:`max_depth`."""
    follow: re.Pattern[str] | None = None
    """Follow only the sitemaps of an index whose URL matches; ``None``: all."""
    skip: re.Pattern[str] | None = None
    """Do not fetch sitemaps whose URL matches."""
    offsite: Offsite = Offsite.DOMAIN
    """On which hosts an index, a page or a feed may name documents."""
    only_site: str | None = None
    """The only site whose documents are available, if a local folder replaces it."""
    since: DateRange | None = None
    """Skip sitemaps whose ``lastmod`` in their index is before this; ``None``: skip none."""


def refuse(candidate: Candidate, bounds: Bounds) -> NotFetched | None:  # noqa: PLR0911 - one return per rule, in order
    """Return why *candidate* is not fetched, or ``None`` if it is."""
    if candidate.parent is None:
        return None  # the user named it
    if not candidate.url.lower().startswith(("http://", "https://")):
        return NotFetched(Outcome.OUT_OF_SCOPE, "its URL is neither http nor https")
    if bounds.only_site and bare_host(candidate.url) != bare_host(bounds.only_site):
        return NotFetched(Outcome.OUT_OF_SCOPE, f"it is not on {bounds.only_site}, which the folder replaces")
    if not_fetched := refuse_offsite(candidate, bounds.offsite):
        return not_fetched
    if candidate.depth > bounds.max_depth:
        return NotFetched(
            Outcome.OVER_LIMIT,
            f"it is deeper than {bounds.depth_setting} ({bounds.max_depth}) allows",
            problem="limit/depth",
        )
    if bounds.skip and bounds.skip.search(candidate.url):
        return _unwanted("matches skip", bounds.skip.pattern)
    if candidate.found_by is FoundBy.INDEX and bounds.follow and not bounds.follow.search(candidate.url):
        return _unwanted("does not match follow", bounds.follow.pattern)
    if bounds.since and candidate.found_by is FoundBy.INDEX and _changed_before(bounds.since, candidate):
        reason = f"its index gives lastmod {candidate.lastmod_text}, which is before {bounds.since.first.isoformat()}"
        return NotFetched(Outcome.SKIPPED, reason, is_pruned=True)
    return None


@lru_cache(maxsize=16)  # shared: an index may name 100,000 documents
def _unwanted(reason: str, pattern: str) -> NotFetched:
    return NotFetched(Outcome.SKIPPED, f"its URL {reason}={pattern!r}")


def _changed_before(since: DateRange, candidate: Candidate) -> bool:
    """Whether the whole range of the ``lastmod`` of *candidate* is before *since*; ``False`` without ``lastmod``."""
    changed = read_date(candidate.lastmod_text or "")
    return changed is not None and DateRange.of(changed).last < since.first
