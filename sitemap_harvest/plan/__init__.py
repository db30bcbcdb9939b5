"""Decisions: what to fetch next, and what not. Pure; clock and limits come in as arguments."""

from sitemap_harvest.plan.belief import Belief, believe, final_key, is_exact
from sitemap_harvest.plan.budget import Budget
from sitemap_harvest.plan.departure import needs_lister
from sitemap_harvest.plan.discovery import PAGES, WELL_KNOWN, robots_of, variants
from sitemap_harvest.plan.expansion import Bounds, refuse
from sitemap_harvest.plan.fallback import Need, Plain, may_open, need_of, wants_links
from sitemap_harvest.plan.filters import Filters, Kept
from sitemap_harvest.plan.freshness import (
    NOT_MODIFIED_WITHOUT_STATE,
    Answer,
    Approach,
    Freshness,
    Trust,
    approach,
    judge_answer,
)
from sitemap_harvest.plan.frontier import Frontier, document_key, host_of
from sitemap_harvest.plan.lead import Lead, Refusal
from sitemap_harvest.plan.offsite import Offsite
from sitemap_harvest.plan.patience import asked_wait
from sitemap_harvest.plan.pending import PendingLimits, is_overdue, is_settled, must_be_read_since
from sitemap_harvest.plan.proofs import Proofs, is_declared, sites_of_robots
from sitemap_harvest.plan.reach import Private, Reach
from sitemap_harvest.plan.scoping import Scoping
from sitemap_harvest.plan.site import Site
from sitemap_harvest.plan.sites import Sites, secure_twin
from sitemap_harvest.plan.span import Span
from sitemap_harvest.plan.succession import Succeeded, succeed
from sitemap_harvest.plan.trust import Observed, is_trusted, observe
from sitemap_harvest.plan.turns import host_share

__all__ = [
    "NOT_MODIFIED_WITHOUT_STATE",
    "PAGES",
    "WELL_KNOWN",
    "Answer",
    "Approach",
    "Belief",
    "Bounds",
    "Budget",
    "Filters",
    "Freshness",
    "Frontier",
    "Kept",
    "Lead",
    "Need",
    "Observed",
    "Offsite",
    "PendingLimits",
    "Plain",
    "Private",
    "Proofs",
    "Reach",
    "Refusal",
    "Scoping",
    "Site",
    "Sites",
    "Span",
    "Succeeded",
    "Trust",
    "approach",
    "asked_wait",
    "believe",
    "document_key",
    "final_key",
    "host_of",
    "host_share",
    "is_declared",
    "is_exact",
    "is_overdue",
    "is_settled",
    "is_trusted",
    "judge_answer",
    "may_open",
    "must_be_read_since",
    "need_of",
    "needs_lister",
    "observe",
    "refuse",
    "robots_of",
    "secure_twin",
    "sites_of_robots",
    "succeed",
    "variants",
    "wants_links",
]
