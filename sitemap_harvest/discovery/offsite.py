"""The offsite policy: whether a document on another host is read because an index, a page or a feed names it."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from urllib.parse import urlsplit

from sitemap_harvest.discovery.candidate import Candidate, NotFetched
from sitemap_harvest.model import FoundBy, Outcome
from sitemap_harvest.urls.domain import registrable_domain
from sitemap_harvest.urls.site import SITE


class Offsite(StrEnum):
    """On which hosts an index, a page or a feed may name documents. Each value includes the ones before it."""

    NONE = "none"
    """On the host of the naming document or of the site; ``www.`` and the scheme make no difference."""
    PROVEN = "proven"
    """Also on a host whose robots.txt, as read so far in this run, names the document or one that led to it."""
    DOMAIN = "domain"
    """Also under the same registrable domain, such as ``cdn.example.co.uk`` for ``www.example.co.uk``."""
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
    Offsite.PROVEN: "of its own host, or of one whose robots.txt names them",
    Offsite.DOMAIN: "of its own registrable domain",
}


def refuse_offsite(candidate: Candidate, policy: Offsite) -> NotFetched | None:
    """Return why *policy* excludes *candidate*, ``None`` if it does not. A robots.txt may name any host."""
    if policy is Offsite.ANY or candidate.found_by not in _WHO:
        return None
    needed = _needed(candidate)
    if _ORDER.index(needed) <= _ORDER.index(policy):
        return None
    rule = f"{_WHO[candidate.found_by]} {_WHERE[policy]}"
    return NotFetched(Outcome.OUT_OF_SCOPE, f"{rule} (SITEMAP_HARVEST_OFFSITE={policy}; {needed} would allow this one)")


def bare_host(url: str) -> str:
    """Return the host of *url* in lower case, without ``www.``; empty if it has none."""
    match = SITE.match(url)
    return _bare_host(match[0] if match else url)


@lru_cache(maxsize=64)  # an index may name 100,000 documents, and each is compared with the site and the index
def _bare_host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _needed(candidate: Candidate) -> Offsite:
    """Return the strictest policy that allows *candidate*."""
    host = bare_host(candidate.url)
    near = {bare_host(candidate.root), bare_host(candidate.parent or "")}
    if host in near or not any(near):  # a local file has no host, and belongs to the user
        return Offsite.NONE
    if host in map(bare_host, candidate.authorized):
        return Offsite.PROVEN
    domain = registrable_domain(host)
    return Offsite.DOMAIN if domain and domain in map(registrable_domain, near) else Offsite.ANY
