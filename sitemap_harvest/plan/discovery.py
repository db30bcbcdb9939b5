"""Where to look for the sitemaps of a site."""

from __future__ import annotations

from urllib.parse import urlsplit

from sitemap_harvest.model import FoundBy
from sitemap_harvest.plan.lead import Lead

WELL_KNOWN = ("/sitemap.xml", "/sitemap_index.xml")
"""Usual names, tried one after the other where robots.txt names no sitemap."""


def robots_of(site: str) -> Lead:
    """Return the lead that the harvest of *site* (scheme and host) begins with: its robots.txt."""
    return Lead(url=f"{site}/robots.txt", root=site, site_root=True)


def next_well_known(lead: Lead) -> Lead | None:
    """Return what to try after *lead* (a robots.txt, or a well-known name) led to nothing, or ``None``."""
    path = urlsplit(lead.url).path
    number = WELL_KNOWN.index(path) + 1 if lead.found_by is FoundBy.WELL_KNOWN else 0
    if number == len(WELL_KNOWN):
        return None
    return Lead(url=lead.root + WELL_KNOWN[number], root=lead.root, found_by=FoundBy.WELL_KNOWN, depth=1)
