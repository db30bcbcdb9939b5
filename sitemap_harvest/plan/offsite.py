"""Whether a document on another host is read because an index, a page or a feed names it."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from urllib.parse import urlsplit

from sitemap_harvest.model import FoundBy, Outcome
from sitemap_harvest.plan.lead import Lead, Refusal
from sitemap_harvest.urls.domain import registrable_domain


class Offsite(StrEnum):
    """Where documents may lie that an index, a page or a feed names. Each allows what the one before it does."""

    NONE = "none"
    """On the host of the one that names it, or of the site; ``www.`` and the scheme make no difference."""
    PROVEN = "proven"
    """Also on a host whose robots.txt, as far as this run has read it, names the document or one that led to it."""
    DOMAIN = "domain"
    """Also below the same registrable domain, as ``cdn.example.co.uk`` is for ``www.example.co.uk``."""
    ANY = "any"
    """Anywhere."""


_ORDER = tuple(Offsite)
_WHO = {
    FoundBy.INDEX: "an index may only name sitemaps",
    FoundBy.HTML_LINK: "a page may only name sitemaps",
    FoundBy.FEED_LINK: "a page may only name feeds",
    FoundBy.HTTP_LINK: "a header may only name sitemaps",
}
_WHERE = {
    Offsite.NONE: "of its own host",
    Offsite.PROVEN: "of its own host, or of one whose robots.txt vouches for them",
    Offsite.DOMAIN: "of its own registrable domain",
}


def refuse_offsite(lead: Lead, policy: Offsite) -> Refusal | None:
    """Return why *policy* keeps *lead* from being read, or ``None`` if it does not. robots.txt may name any host."""
    if policy is Offsite.ANY or lead.found_by not in _WHO:
        return None
    needed = _needed(lead)
    if _ORDER.index(needed) <= _ORDER.index(policy):
        return None
    rule = f"{_WHO[lead.found_by]} {_WHERE[policy]}"
    return Refusal(Outcome.OUT_OF_SCOPE, f"{rule} (SITEMAP_HARVEST_OFFSITE={policy}; {needed} would allow this one)")


@lru_cache(maxsize=64)  # an index may name 100,000 documents, and each is compared with the site and the index
def bare_host(url: str) -> str:
    """Return the host of *url* in lower case, without ``www.``; empty if it has none."""
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _needed(lead: Lead) -> Offsite:
    """Return the least that has to be allowed for *lead* to be read."""
    host = bare_host(lead.url)
    near = {bare_host(lead.root), bare_host(lead.parent or "")}
    if host in near or not any(near):  # a local file has no host, and is the user's own
        return Offsite.NONE
    if host in map(bare_host, lead.vouched):
        return Offsite.PROVEN
    domain = registrable_domain(host)
    return Offsite.DOMAIN if domain and domain in map(registrable_domain, near) else Offsite.ANY
