"""Decisions: what to fetch next, and what not. Pure; clock and limits come in as arguments."""

from sitemap_harvest.plan.discovery import next_well_known, robots_of
from sitemap_harvest.plan.expansion import Bounds, refuse
from sitemap_harvest.plan.frontier import Frontier, document_key, host_of
from sitemap_harvest.plan.lead import Lead, Refusal
from sitemap_harvest.plan.offsite import Offsite
from sitemap_harvest.plan.proofs import Proofs, sites_of_robots
from sitemap_harvest.plan.room import room
from sitemap_harvest.plan.scoping import Scoping

__all__ = [
    "Bounds",
    "Frontier",
    "Lead",
    "Offsite",
    "Proofs",
    "Refusal",
    "Scoping",
    "document_key",
    "host_of",
    "next_well_known",
    "refuse",
    "robots_of",
    "room",
    "sites_of_robots",
]
