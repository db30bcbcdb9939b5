"""The documents of a site of the matrix, as bytes."""

from __future__ import annotations

import gzip
from datetime import datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING

from tests.crawl.matrix.listed import AFTER, BEFORE, INDEX, NESTED, ROBOTS, named

if TYPE_CHECKING:
    from collections.abc import Callable

_SITEMAPS = "http://www.sitemaps.org/schemas/sitemap/0.9"
_NEWS = "http://www.google.com/schemas/sitemap-news/0.9"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
EMPTY_URLSET = f'{_HEAD}<urlset xmlns="{_SITEMAPS}"></urlset>'.encode()
EMPTY_INDEX = f'{_HEAD}<sitemapindex xmlns="{_SITEMAPS}"></sitemapindex>'.encode()


def body_of(path: str, *, is_after: bool, address: Callable[[str], str]) -> bytes | None:
    """Return the document at *path*, ``None`` if there is none; *address* makes a URL of a path."""
    if path in {ROBOTS, INDEX, NESTED}:
        urls = [address(child) for child in named(path, is_after=is_after)]
        return _robots(urls) if path == ROBOTS else _index(urls)
    states = (AFTER, BEFORE) if is_after else (BEFORE, AFTER)  # documents that are no longer named, or not yet, exist
    listed = next((state[path] for state in states if path in state), None)
    if listed is None:
        return None
    entries = {address(loc): lastmod for loc, lastmod in listed.items()}
    if path == "/feed.xml":
        return _feed(entries, address("/"))
    if path == "/news.xml":
        return _urlset(entries, f' xmlns:news="{_NEWS}"', _news)
    return gzip.compress(_urlset(entries), mtime=0) if path.endswith(".gz") else _urlset(entries)


def _robots(sitemaps: list[str]) -> bytes:
    rules = "".join(f"Disallow: /private-{number}/\n" for number in range(20))  # half of it is after the sitemaps
    return "".join([*(f"Sitemap: {url}\n" for url in sitemaps), "User-agent: *\n", rules]).encode()


def _index(children: list[str]) -> bytes:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>\n" for url in children)
    return f'{_HEAD}<sitemapindex xmlns="{_SITEMAPS}">\n{entries}</sitemapindex>\n'.encode()


def _urlset(entries: dict[str, str], attributes: str = "", more: Callable[[str], str] = lambda _: "") -> bytes:
    urls = "".join(
        f"<url><loc>{loc}</loc><lastmod>{lastmod}</lastmod>{more(loc)}</url>\n" for loc, lastmod in entries.items()
    )
    return f'{_HEAD}<urlset xmlns="{_SITEMAPS}"{attributes}>\n{urls}</urlset>\n'.encode()


def _news(loc: str) -> str:
    publication = "<news:publication><news:name>News</news:name><news:language>en</news:language></news:publication>"
    date = "<news:publication_date>2026-01-01</news:publication_date>"
    return f"<news:news>{publication}{date}<news:title>{loc[-8:]}</news:title></news:news>"


def _feed(entries: dict[str, str], home: str) -> bytes:
    items = "".join(
        f"<item><title>Item</title><link>{loc}</link><pubDate>{_rfc_822(lastmod)}</pubDate></item>\n"
        for loc, lastmod in entries.items()
    )
    channel = f"<channel><title>Feed</title><link>{home}</link>\n{items}</channel>"
    return f'{_HEAD}<rss version="2.0">{channel}</rss>\n'.encode()


def _rfc_822(date: str) -> str:
    return format_datetime(datetime.fromisoformat(f"{date}T00:00:00+00:00"))
