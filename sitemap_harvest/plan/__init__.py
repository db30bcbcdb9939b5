"""Decisions: what to fetch next, and what not. Pure; clock and limits come in as arguments."""

from sitemap_harvest.plan.discovery import next_well_known, robots_of
from sitemap_harvest.plan.expansion import Bounds, refuse
from sitemap_harvest.plan.frontier import Frontier, document_key, host_of
from sitemap_harvest.plan.lead import Lead, Refusal
from sitemap_harvest.plan.room import room
from sitemap_harvest.plan.turns import host_share

__all__ = [
    "Bounds",
    "Frontier",
    "Lead",
    "Refusal",
    "document_key",
    "host_of",
    "host_share",
    "next_well_known",
    "refuse",
    "robots_of",
    "room",
]
