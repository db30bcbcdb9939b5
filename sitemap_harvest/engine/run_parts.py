"""``RunParts``: what the components of one run share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sitemap_harvest.discovery.child_rules import Bounds
from sitemap_harvest.discovery.offsite import Offsite
from sitemap_harvest.frontier.site_queue import SiteQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from sitemap_harvest.config.arguments import RunConfig
    from sitemap_harvest.config.settings import HarvestSettings
    from sitemap_harvest.engine.in_flight import InFlight
    from sitemap_harvest.engine.interfaces import ChildRules, PageVisits, RequestFactory, Stats
    from sitemap_harvest.engine.run_summary import Summary
    from sitemap_harvest.engine.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParts:
    """What the components of one run share."""

    config: RunConfig
    options: HarvestSettings
    stats: Stats
    summary: Summary
    sites: SiteQueue
    in_flight: InFlight
    session: Session
    requests: RequestFactory
    pages: PageVisits
    rules: ChildRules
    needs_rows: Callable[[], bool]
    """Returns whether URLs must be emitted one by one, for a component without batch support."""
    max_in_flight: int
    """Documents requested at a time."""
    max_attempts: int
    """How often a document is requested again if its server requires a wait."""


def site_queue(config: RunConfig, options: HarvestSettings, *, per_host: int, depth_limit: int) -> SiteQueue:
    """Return the queue of the sites of a run.

    *per_host*: documents of one host in flight at a time. *depth_limit*: Scrapy's
    ``DEPTH_LIMIT``, whose middleware sees no depth, because all requests come from
    ``start()``; 0: no limit.
    """
    is_lower = 0 < depth_limit < options.max_depth
    bounds = Bounds(
        max_depth=depth_limit if is_lower else options.max_depth,
        depth_setting="DEPTH_LIMIT" if is_lower else "MAX_DEPTH",
        follow=config.follow,
        skip=config.skip,
        offsite=Offsite(options.offsite),
        only_site=config.only_site,
        since=config.pruned_before,
    )
    return SiteQueue(bounds=bounds, budget=options.budget, per_host=per_host, most_unanswered=options.max_unanswered)
