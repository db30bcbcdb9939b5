"""A web site on this machine, for tests that download for real: its pages, in few words.

>>> with Site({"/robots.txt": "Sitemap: {site}/sitemap.xml"}) as site:
...     ...  # crawl site.url
>>> site.requests
['/robots.txt']
"""

from __future__ import annotations

import gzip
import itertools
from typing import TYPE_CHECKING

from tests.server import Manner, Page, Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from email.message import Message

    from tests.server import Served

__all__ = ["Manner", "Page", "Site", "gzipped", "in_turn", "index", "moved", "numbered", "robots", "urlset"]


def moved(to: str) -> Page:
    """Return a permanent redirect."""
    return Page(status=301, headers={"Location": to})


def in_turn(*pages: Served) -> Callable[[Message], Served]:
    """Return what serves each of *pages* once, and the last one from then on."""
    left = iter(pages[:-1])
    return lambda _: next(left, pages[-1])


def robots(*sitemaps: str, disallow: Iterable[str] = ()) -> str:
    """Return a robots.txt."""
    rules = ["User-agent: *", *(f"Disallow: {path}" for path in disallow), ""]
    return "\n".join(
        [*rules, *(f"Sitemap: {{site}}{path}" if path[0] == "/" else f"Sitemap: {path}" for path in sitemaps)]
    )


def index(*children: str) -> str:
    """Return a sitemap index; a child that begins with a slash is a path of the site."""
    return _document("sitemapindex", "sitemap", children)


def urlset(*locs: str) -> str:
    """Return a sitemap; a URL that begins with a slash is a path of the site."""
    return _document("urlset", "url", locs)


def numbered(count: int, *, start: int = 1, prefix: str = "/p") -> list[str]:
    """Return the paths of *count* pages."""
    return [f"{prefix}{number}" for number in itertools.islice(itertools.count(start), count)]


def gzipped(text: str | bytes) -> bytes:
    """Return *text*, packed."""
    return gzip.compress(text.encode() if isinstance(text, str) else text, mtime=0)


def _document(root: str, entry: str, locs: Iterable[str]) -> str:
    entries = "".join(f"<{entry}><loc>{'{site}' if loc[:1] == '/' else ''}{loc}</loc></{entry}>\n" for loc in locs)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</{root}>\n'
    )
