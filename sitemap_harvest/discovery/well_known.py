"""The search for the sitemaps of one site: which documents are tried, in which order.

It tries robots.txt, then usual file names, then the home page, then HTML sitemaps, each
only if the ones before it found nothing. If the search is postponed
(:mod:`sitemap_harvest.discovery.past_search`), it tries only robots.txt and the path
where a new sitemap is most likely.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from sitemap_harvest.discovery.candidate import Candidate
from sitemap_harvest.model import FoundBy
from sitemap_harvest.urls import host_of, site_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.discovery.site_state import SiteState

WELL_KNOWN = (
    "/sitemap.xml",  # the name that the protocol suggests: Shopify, Wix, Ghost, Hugo, Docusaurus, Drupal, Squarespace
    "/sitemap_index.xml",  # Yoast SEO, Rank Math
    "/wp-sitemap.xml",  # WordPress since 5.5
    "/sitemap-index.xml",  # Astro
    "/sitemap.xml.gz",
    "/sitemap_index.xml.gz",
    "/sitemaps.xml",
    "/sitemap1.xml",
    "/sitemap-0.xml",  # next-sitemap, if its index was not published
    "/sitemap.txt",
    "/sitemap/sitemap.xml",
    "/sitemap/sitemap-index.xml",
    "/sitemaps/sitemap.xml",
    "/sitemap.php",
    "/xmlsitemap.php",  # BigCommerce
    "/pub/sitemap.xml",  # Magento 2
    "/media/sitemap.xml",  # Magento
    "/1_index_sitemap.xml",  # PrestaShop
    "/post-sitemap.xml",  # Yoast SEO, if its index is switched off
    "/sitemap-news.xml",
    "/news-sitemap.xml",
)
"""Usual file names of sitemaps, most likely first."""

PAGES = ("/sitemap", "/sitemap.html", "/site-map", "/html-sitemap")
"""Usual paths of HTML sitemaps."""

_MOST_IN_A_ROW = 3  # consecutive blocks or failures: a firewall that blocked three requests also blocks the twentieth


def robots_of(site: str, *, is_bare: bool = False) -> Candidate:
    """Return the first candidate of the harvest of *site* (scheme and host): its robots.txt."""
    return Candidate(url=f"{site}/robots.txt", root=site, site_root=True, is_bare=is_bare)


def search(site: SiteState) -> Iterator[Candidate]:
    """Yield candidates one at a time; request each only if all earlier ones, and their children, found nothing.

    The generator reads their results from *site*, so update *site* between two
    candidates.
    """
    yield robots_of(site.root)
    for variant in variants(site.root):
        if site.base is not None:
            break
        if host_of(variant) not in site.unknown_hosts:
            yield Candidate(url=f"{variant}/robots.txt", root=site.root, found_by=FoundBy.VARIANT, site_root=True)
    if site.base is None:
        return
    for path in (*WELL_KNOWN, "/", *PAGES) if site.postponed is None else WELL_KNOWN[:1]:
        if path == "/":
            yield Candidate(url=f"{site.base}/", root=site.root, found_by=FoundBy.HOME, depth=1)
        elif site.consecutive_failures < _MOST_IN_A_ROW:
            yield Candidate(url=f"{site.base}{path}", root=site.root, found_by=FoundBy.WELL_KNOWN, depth=1)
    site.is_searched = site.postponed is None and site.has_looked and site.is_conclusive


def variants(site: str) -> tuple[str, ...]:
    """Return other possible origins of *site*: with the other scheme, and with or without ``www.``."""
    scheme, _, netloc = site.partition("://")
    other = scheme_twin(site)
    if ":" in netloc or not _is_name(netloc):
        return (other,)
    twin = netloc.removeprefix("www.") if netloc.startswith("www.") else f"www.{netloc}"
    return other, f"{scheme}://{twin}", f"{other.partition(':')[0]}://{twin}"


def scheme_twin(site: str) -> str:
    """Return *site* with ``https`` in place of ``http``, or the reverse."""
    scheme, _, netloc = site.partition("://")
    twin = f"{'http' if scheme == 'https' else 'https'}://{netloc}"
    return site_of(twin) or twin


def _is_name(host: str) -> bool:
    """Whether *host* is a name that could have a ``www.`` prefix, and not an IP address."""
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return "." in host
    return False
