"""A web site on this machine, for tests with real downloads: helpers to write its pages.

>>> with Site({"/robots.txt": "Sitemap: {site}/sitemap.xml"}) as site:
...     ...  # crawl site.url
>>> site.requests
['/robots.txt']
"""

from __future__ import annotations

import gzip
import itertools
import re
from typing import TYPE_CHECKING

from tests.server import Manner, Page, Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from email.message import Message

    from tests.server import Served

__all__ = [
    "Manner", "Page", "Site", "dated", "gzipped", "in_turn", "index", "moved", "numbered", "robots", "unless", "urlset"
]  # fmt: skip


def moved(to: str) -> Page:
    """Return a permanent redirect."""
    return Page(status=301, headers={"Location": to})


def in_turn(*pages: Served) -> Callable[[Message], Served]:
    """Return a function that serves each of *pages* once, and then always the last one."""
    left = iter(pages[:-1])
    return lambda _: next(left, pages[-1])


def unless(etag: str, body: str | bytes, *, last_modified: str | None = None) -> Callable[[Message], Served]:
    """Return a function that serves *body* with *etag*, or 304 to a request with that ETag or *last_modified*."""
    headers = {"ETag": etag} if etag else {}
    headers |= {"Last-Modified": last_modified} if last_modified else {}

    def answer(request: Message) -> Served:
        tags = [tag.strip() for tag in request.get("If-None-Match", "").split(",")]
        is_known = etag in tags if tags != [""] else last_modified == request.get("If-Modified-Since", "")
        return Page(status=304, headers=headers) if is_known else Page(body, headers=headers)

    return answer


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


def dated(document: str, *dates: str) -> str:
    """Return *document* with a ``lastmod`` for each entry; the last of *dates* is used for all remaining entries."""
    left = itertools.chain(dates, itertools.repeat(dates[-1]))
    return re.sub("</loc>", lambda _: f"</loc><lastmod>{next(left)}</lastmod>", document)


def numbered(count: int, *, start: int = 1, prefix: str = "/p") -> list[str]:
    """Return the paths of *count* pages."""
    return [f"{prefix}{number}" for number in itertools.islice(itertools.count(start), count)]


def gzipped(text: str | bytes) -> bytes:
    """Return *text*, compressed."""
    return gzip.compress(text.encode() if isinstance(text, str) else text, mtime=0)


def _document(root: str, entry: str, locs: Iterable[str]) -> str:
    entries = "".join(f"<{entry}><loc>{'{site}' if loc[:1] == '/' else ''}{loc}</loc></{entry}>\n" for loc in locs)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</{root}>\n'
    )
