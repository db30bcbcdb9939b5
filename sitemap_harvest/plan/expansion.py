"""Which of the documents that are named are fetched."""

from __future__ import annotations

import re  # noqa: TC003 - a dataclass is easier to look into when its annotations can be resolved
from dataclasses import dataclass

from sitemap_harvest.dates import read_date
from sitemap_harvest.model import FoundBy, Outcome
from sitemap_harvest.plan.lead import Lead, Refusal
from sitemap_harvest.plan.offsite import Offsite, bare_host, refuse_offsite
from sitemap_harvest.plan.span import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What limits an expansion."""

    max_depth: int = 10
    """Levels below what the run starts with."""
    depth_setting: str = "MAX_DEPTH"
    """The name of the setting that :attr:`max_depth` comes from."""
    follow: re.Pattern[str] | None = None
    """Of what an index names, only sitemaps in whose address this is found; ``None``: all."""
    skip: re.Pattern[str] | None = None
    """No sitemaps in whose address this is found."""
    offsite: Offsite = Offsite.DOMAIN
    """Where documents may lie that an index, a page or a feed names."""
    only_site: str | None = None
    """The one site whose documents can be had, where a folder stands in for it."""
    since: Span | None = None
    """No sitemaps of which an index says that they changed last before this; ``None``: whatever it says."""


def refuse(lead: Lead, bounds: Bounds) -> Refusal | None:  # noqa: PLR0911 - one line a rule, in order
    """Return why *lead* is not fetched, or ``None`` if it is."""
    if lead.parent is None:
        return None  # the user named it
    if not lead.url.lower().startswith(("http://", "https://")):
        return Refusal(Outcome.OUT_OF_SCOPE, "its address is neither http nor https")
    if bounds.only_site and bare_host(lead.url) != bare_host(bounds.only_site):
        return Refusal(Outcome.OUT_OF_SCOPE, f"it is not on {bounds.only_site}, which the folder stands in for")
    if refusal := refuse_offsite(lead, bounds.offsite):
        return refusal
    if lead.depth > bounds.max_depth:
        return Refusal(
            Outcome.OVER_LIMIT,
            f"it is deeper than {bounds.depth_setting} allows, which is {bounds.max_depth}",
            problem="limit/depth",
        )
    if bounds.skip and bounds.skip.search(lead.url):
        return Refusal(Outcome.SKIPPED, f"its address matches skip={bounds.skip.pattern!r}")
    if lead.found_by is FoundBy.INDEX and bounds.follow and not bounds.follow.search(lead.url):
        return Refusal(Outcome.SKIPPED, f"its address does not match follow={bounds.follow.pattern!r}")
    if bounds.since and lead.found_by is FoundBy.INDEX and _changed_before(bounds.since, lead):
        words = f"its index gives lastmod {lead.lastmod_text}, which is before {bounds.since.first.isoformat()}"
        return Refusal(Outcome.SKIPPED, words, is_pruned=True)
    return None


def _changed_before(since: Span, lead: Lead) -> bool:
    """Whether all that the ``lastmod`` of *lead* may mean is before *since*; not so where there is none."""
    changed = read_date(lead.lastmod_text or "")
    return changed is not None and Span.of(changed).last < since.first
