"""Which sites vouch for a document: those whose robots.txt names it, or one that led to it.

Spec: https://www.sitemaps.org/protocol.html#sitemaps_cross_submits
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sitemap_harvest.plan.frontier import document_key
from sitemap_harvest.urls import site_of, url_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemap_harvest.plan.lead import Lead

_NOBODY: frozenset[str] = frozenset()


def sites_of_robots(addresses: Iterable[str]) -> frozenset[str]:
    """Return the sites whose robots.txt lies at one of *addresses*.

    Scheme and port count: https and http have a robots.txt each (RFC 9309,
    section 2.3). One that redirects speaks for the site that it was asked of
    (section 2.3.1.2), and for the one that it is found at, if it is robots.txt there.
    """
    return frozenset(
        site for address in addresses if (site := site_of(address)) and url_key(address) == f"{site}/robots.txt"
    )


def is_declared(lead: Lead) -> bool:
    """Whether robots.txt of the site that *lead* is on names it, or names what led to it."""
    return site_of(lead.url) in lead.vouched


class Proofs:
    """Who vouches for documents, besides what the lead says that each was taken up by.

    A document is read once, however many name it. A robots.txt that names it
    after it was read comes too late.
    """

    def __init__(self) -> None:
        self._sites: dict[str, frozenset[str]] = {}

    def note(self, lead: Lead) -> None:
        """Note who vouches for the document of *lead*, which itself is not taken up."""
        if lead.vouched:
            key = document_key(lead.url)
            known = self._sites.get(key)
            self._sites[key] = known | lead.vouched if known else lead.vouched  # else one set for many documents

    def joined(self, lead: Lead, addresses: Iterable[str]) -> Lead:
        """Return *lead* with all who vouch for its document, which lies at each of *addresses*."""
        known = [self._sites.get(document_key(address), _NOBODY) for address in addresses]
        return replace(lead, vouched=lead.vouched.union(*known)) if any(known) else lead
