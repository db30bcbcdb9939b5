"""Spiders of one's own: what worked with Scrapy's SitemapSpider works here, and what ours gives besides."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.site import index, robots, urlset

PAGES = dict.fromkeys(
    (
        "/product/1", "/product/2", "/category/1", "/shop/1", "/shop/2", "/about", "/home", "/de", "/fr", "/2004", "/2005",
        "/2024", "/new/a", "/new/b", "/made/3", "/made/2",
    ),
    "<html><title>A page</title></html>",
)  # fmt: skip


def entries(*parts: str) -> str:
    """Return a sitemap with these inside of its entries."""
    inside = "".join(f"<url>{part}</url>" for part in parts)
    namespaces = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    return f"<urlset {namespaces}>{inside}</urlset>"


def loc(path: str, **elements: str) -> str:
    return f"<loc>{{site}}{path}</loc>" + "".join(f"<{name}>{text}</{name}>" for name, text in elements.items())


def link(path: str) -> str:
    return f'<xhtml:link rel="alternate" hreflang="x" href="{{site}}{path}"/>'


SITE = {
    **PAGES,
    "/robots.txt": robots("/index.xml"),
    "/index.xml": index("/sitemap_shops.xml", "/sitemap_other.xml", "/no-such.xml"),
    "/sitemap.xml": urlset("/product/1", "/category/1", "/product/2", "/home"),
    "/sitemap_shops.xml": entries(
        loc("/shop/1", priority="0.1"),
        loc("/no-1"),
        loc("/old/a", priority="1.0"),
        loc("/old/b", priority="0.2"),
    ),
    "/sitemap_other.xml": urlset("/shop/2", "/home"),
    "/dated.xml": entries(loc("/2004", lastmod="2004-12-31"), loc("/2005", lastmod="2005-01-01"), loc("/2024", lastmod="2024-05-05")),
    "/languages.xml": entries(loc("/home") + link("/de") + link("/fr"), loc("/de") + link("/home") + link("/fr")),
}  # fmt: skip


@pytest.mark.parametrize(
    ("spider", "visited"),
    [
        pytest.param(
            "simplest", {"parse": ["/category/1", "/home", "/product/1", "/product/2"]}, id="all-pages-to-parse"
        ),
        pytest.param(
            "two-rules", {"parse_product": ["/product/1", "/product/2"], "parse_category": ["/category/1"]}, id="rules"
        ),
        pytest.param("shops", {"parse_shop": ["/shop/1"]}, id="robots-and-follow"),
        pytest.param("other-sources", {"parse_shop": ["/shop/1", "/shop/2"], "parse_other": ["/about"]}, id="others"),
        pytest.param("filtered", {"parse": ["/2005", "/2024"]}, id="filter"),
        pytest.param("alternates", {"parse": ["/de", "/fr", "/home"]}, id="alternates"),
        pytest.param("compiled", {"parse_product": ["/product/1", "/product/2"]}, id="compiled-and-late"),
        pytest.param("rewriting", {"parse": ["/home", "/made/2", "/made/3", "/new/a", "/new/b", "/shop/2"]}, id="rewrite"),
    ],
)  # fmt: skip
def test_a_spider_of_the_documentation_does_what_it_does_with_scrapys_base_class(serve, crawl, spider, visited):
    for base in ("ours", "scrapy"):
        site = serve(SITE)
        environment = {"SITE_URL": site.url, "SPIDER_BASE": base}
        given = {"domain": site.url, "color": "red"} if spider == "compiled" else {}
        run = crawl(spider=spider, environment=environment, **given)
        found: dict[str, list[str]] = {}
        for item in run.items:
            found.setdefault(item["callback"], []).append(item["url"])
            assert item.get("color", "red") == "red"
        assert {name: sorted(urls) for name, urls in found.items()} == visited, base
        assert base == "scrapy" or max(Counter(site.requests).values()) == 1  # that one asks for robots.txt twice
        assert run.urls == run.ledger == []
        assert run.reason == "finished"
