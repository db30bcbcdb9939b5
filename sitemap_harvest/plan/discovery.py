"""Where to look for the sitemaps of a site, one place after the other until something is found.

The order: what the site itself says (robots.txt), then names that are usual,
then what the home page links to, and in the end site maps for people.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from sitemap_harvest.model import FoundBy
from sitemap_harvest.plan.frontier import host_of
from sitemap_harvest.plan.lead import Lead

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.plan.site import Site

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
"""Usual names of sitemaps, the likeliest first."""

PAGES = ("/sitemap", "/sitemap.html", "/site-map", "/html-sitemap")
"""Usual names of site maps for people."""

_MOST_IN_A_ROW = 3  # answers that keep us out, or fail: a firewall does not let the twentieth request in either


def robots_of(site: str) -> Lead:
    """Return the lead that the harvest of *site* (scheme and host) begins with: its robots.txt."""
    return Lead(url=f"{site}/robots.txt", root=site, site_root=True)


def search(site: Site) -> Iterator[Lead]:
    """Yield one lead after the other, each to be asked for when all before it, and their children, led to nothing.

    What became of them is looked up in *site*, which has been told in between.
    """
    yield robots_of(site.root)
    for variant in variants(site.root):
        if site.base is not None:
            break
        if host_of(variant) not in site.unknown_hosts:
            yield Lead(url=f"{variant}/robots.txt", root=site.root, found_by=FoundBy.VARIANT, site_root=True)
    if site.base is None:
        return
    yield from _guesses(site, WELL_KNOWN)
    yield Lead(url=f"{site.base}/", root=site.root, found_by=FoundBy.HOME, depth=1)
    yield from _guesses(site, PAGES)


def _guesses(site: Site, paths: tuple[str, ...]) -> Iterator[Lead]:
    for path in paths:
        if site.vain_in_a_row >= _MOST_IN_A_ROW:
            return
        yield Lead(url=f"{site.base}{path}", root=site.root, found_by=FoundBy.WELL_KNOWN, depth=1)


def variants(site: str) -> tuple[str, ...]:
    """Return what else the address of *site* may be: its other scheme, and with or without ``www.``."""
    scheme, _, netloc = site.partition("://")
    other = "http" if scheme == "https" else "https"
    if ":" in netloc or not _is_name(netloc):
        return (f"{other}://{netloc}",)
    twin = netloc.removeprefix("www.") if netloc.startswith("www.") else f"www.{netloc}"
    return f"{other}://{netloc}", f"{scheme}://{twin}", f"{other}://{twin}"


def _is_name(host: str) -> bool:
    """Whether *host* is a name that could have ``www.`` before it, and no number."""
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return "." in host
    return False
