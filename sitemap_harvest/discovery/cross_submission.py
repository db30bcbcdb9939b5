"""Cross-submissions: which sites authorize a document, by their robots.txt, and so which URLs it may list.

Spec: https://www.sitemaps.org/protocol.html#sitemaps_cross_submits
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sitemap_harvest.model import Kind, UrlBatch
from sitemap_harvest.urls import Scope, document_key, site_of, url_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.discovery.candidate import Candidate

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
            self._sites[key] = (
                known | candidate.authorized if known else candidate.authorized
            )  # reuse one set for many documents

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
