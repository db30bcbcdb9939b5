"""The rules of discovery: which named documents are fetched, and which URLs a document may list."""

from __future__ import annotations

import re  # noqa: TC003 - so that the annotations of the dataclass can be resolved at run time
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sitemap_harvest.dates import DateRange, read_date
from sitemap_harvest.discovery.candidate import Candidate, NotFetched
from sitemap_harvest.model import FoundBy, Kind, Outcome, UrlBatch
from sitemap_harvest.urls import Scope, document_key, site_of, url_key
from sitemap_harvest.urls.key import SITE, registrable_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


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
    FoundBy.INDEX: "an index may list only sitemaps",
    FoundBy.HTML_LINK: "a page may list only sitemaps",
    FoundBy.FEED_LINK: "a page may list only feeds",
    FoundBy.HTTP_LINK: "a header may list only sitemaps",
}
_WHERE = {
    Offsite.NONE: "on its own host",
    Offsite.PROVEN: "on its own host, or on a host whose robots.txt lists them",
    Offsite.DOMAIN: "on hosts of its own registrable domain",
}


def refuse_offsite(candidate: Candidate, policy: Offsite) -> NotFetched | None:
    """Return why *policy* excludes *candidate*, ``None`` if it does not. A robots.txt may name any host."""
    if policy is Offsite.ANY or candidate.found_by not in _WHO:
        return None
    needed = _needed(candidate)
    if _ORDER.index(needed) <= _ORDER.index(policy):
        return None
    rule = f"{_WHO[candidate.found_by]} {_WHERE[policy]}"
    return NotFetched(Outcome.OUT_OF_SCOPE, f"{rule} (-s SITEMAP_HARVEST_OFFSITE={needed} allows this one)")


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
    only_site: str | None = None
    """The only site whose documents are available, if a local folder replaces it."""
    since: DateRange | None = None
    """Skip sitemaps whose ``lastmod`` in their index is before this; ``None``: skip none."""


def refuse(candidate: Candidate, bounds: Bounds) -> NotFetched | None:  # noqa: PLR0911 - one return per rule, in order
    """Return why *candidate* is not fetched, or ``None`` if it is."""
    if candidate.parent is None:
        return None  # the user named it
    if not candidate.url.lower().startswith(("http://", "https://")):
        return NotFetched(Outcome.OUT_OF_SCOPE, "the scheme of the URL is neither http nor https")
    if bounds.only_site and bare_host(candidate.url) != bare_host(bounds.only_site):
        return NotFetched(Outcome.OUT_OF_SCOPE, f"the URL is not on {bounds.only_site}, which the folder replaces")
    if not_fetched := refuse_offsite(candidate, bounds.offsite):
        return not_fetched
    if candidate.depth > bounds.max_depth:
        return NotFetched(
            Outcome.OVER_LIMIT,
            f"the document is deeper than {bounds.depth_setting} ({bounds.max_depth}) allows",
            problem="limit/depth",
        )
    if bounds.skip and bounds.skip.search(candidate.url):
        return _unwanted("matches skip", bounds.skip.pattern)
    if candidate.found_by is FoundBy.INDEX and bounds.follow and not bounds.follow.search(candidate.url):
        return _unwanted("does not match follow", bounds.follow.pattern)
    if bounds.since and candidate.found_by is FoundBy.INDEX and _changed_before(bounds.since, candidate):
        reason = f"the index gives lastmod {candidate.lastmod_text}, which is before {bounds.since.first.isoformat()}"
        return NotFetched(Outcome.SKIPPED, reason, is_pruned=True)
    return None


@lru_cache(maxsize=16)  # shared: an index may name 100,000 documents
def _unwanted(reason: str, pattern: str) -> NotFetched:
    return NotFetched(Outcome.SKIPPED, f"the URL {reason}={pattern!r}")


def _changed_before(since: DateRange, candidate: Candidate) -> bool:
    """Whether the whole range of the ``lastmod`` of *candidate* is before *since*; ``False`` without ``lastmod``."""
    changed = read_date(candidate.lastmod_text or "")
    return changed is not None and DateRange.of(changed).last < since.first


_NOBODY: frozenset[str] = frozenset()


def sites_of_robots(addresses: Iterable[str]) -> frozenset[str]:
    """Return the sites whose robots.txt is at one of *addresses*.

    Scheme and port count: https and http each have their own robots.txt (RFC 9309,
    section 2.3). A robots.txt that redirects applies to the site that it was requested
    from (section 2.3.1.2), and to the site of its final URL if that is a robots.txt
    too.
    """
    return frozenset(
        site for address in addresses if (site := site_of(address)) and url_key(address) == f"{site}/robots.txt"
    )


def is_declared(candidate: Candidate) -> bool:
    """Whether robots.txt of the site of *candidate* names it, or names a document that led to it."""
    return site_of(candidate.url) in candidate.authorized


class CrossSubmissions:
    """The sites that authorize each document, in addition to those in the candidate that was queued for it.

    Spec: https://www.sitemaps.org/protocol.html#sitemaps_cross_submits

    A document is read once, even if several documents name it. A robots.txt that names
    it after it was read has no effect.
    """

    def __init__(self) -> None:
        self._sites: dict[str, frozenset[str]] = {}

    def note(self, candidate: Candidate) -> None:
        """Record the sites that authorize the document of *candidate*; the candidate itself is not queued."""
        if candidate.authorized:
            key = document_key(candidate.url)
            known = self._sites.get(key)
            # one set for many documents
            self._sites[key] = known | candidate.authorized if known else candidate.authorized

    def joined(self, candidate: Candidate, addresses: Iterable[str]) -> Candidate:
        """Return *candidate* with all sites that authorize its document, which has the URLs *addresses*."""
        known = [self._sites.get(document_key(address), _NOBODY) for address in addresses]
        return replace(candidate, authorized=candidate.authorized.union(*known)) if any(known) else candidate


class ScopeCheck:
    """Fills ``in_scope`` and ``scope_reason`` of the URLs of one document, and counts the URLs out of scope."""

    def __init__(self, candidate: Candidate, kind: Kind, addresses: Iterable[str]) -> None:
        """Check the document of *candidate*, which has that *kind* and the URLs *addresses*."""
        # The protocol has no scope rule for web pages.
        self._scope = None if kind is Kind.LINKS else Scope.of(addresses, candidate.authorized)
        self.outside: int | None = None if self._scope is None else 0
        """URLs out of scope so far; ``None`` if the scope is unknown."""

    def checked(self, batches: Iterable[UrlBatch]) -> Iterator[UrlBatch]:
        """Yield *batches* with both columns filled."""
        for batch in batches:
            if self._scope is None or self.outside is None:
                yield batch
                continue
            found = self._scope.columns(batch["key"], batch["site"])
            self.outside += found.in_scope.false_count
            yield batch.with_columns(in_scope=found.in_scope, scope_reason=found.reason)
