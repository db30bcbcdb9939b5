"""A web of pages in memory, which a crawl reads through a proxy on this machine; and helpers to write sitemaps."""

from __future__ import annotations

import gzip
import json
import time
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests import forked
from tests.standin import Answer, StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from http.client import HTTPMessage

NO_ANSWER: Answer = (0, {}, b"")
Web = dict[str, Answer]
"""Status, headers and body of each URL; all others are a 404."""

_NAMESPACES = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml" '
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" '
    'xmlns:video="http://www.google.com/schemas/sitemap-video/1.1" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
)


class WebInMemory(StandIn):
    """Serves a :data:`Web`."""

    def __init__(self) -> None:
        super().__init__(Path())
        self.web: Web = {}
        self.slow: dict[str, float] = {}
        """Seconds before the response, by URL."""
        self.generate: Callable[[str], Answer] | None = None
        """Makes the answer of a URL that is not in :attr:`web`."""

    def answer(self, url: str, headers: HTTPMessage) -> Answer:
        """Return status, headers and body for a request of *url*."""
        self.requests.append(url)
        time.sleep(self.slow.get(url, 0))
        if (answer := self.web.get(url)) is None:
            answer = self.generate(url) if self.generate else (404, {"Content-Type": "text/plain"}, b"not found\n")
        if answer == NO_ANSWER:
            raise ConnectionError  # closes the connection
        return answer


def run(web: WebInMemory, folder: Path, action: str, *arguments: str, **settings: Any) -> str:
    """Run ``scrapy harvest`` *action* over *web* in *folder*, and return what it writes to the log."""
    authority = folder / "authority.pem"
    authority.write_bytes(web.authority)
    environment = {"http_proxy": web.url, "https_proxy": web.url, "SSL_CERT_FILE": str(authority)}
    options = [text for name, value in settings.items() for text in ("-s", f"{name}={json.dumps(value)}")]
    process = forked.scrapy("harvest", action, *arguments, *options, cwd=folder, environment=environment)
    assert "Traceback" not in process.stderr, process.stderr
    return process.stderr


def page(body: str | bytes, content_type: str = "application/xml") -> Answer:
    """Return a page with status 200."""
    return 200, {"Content-Type": content_type}, body.encode() if isinstance(body, str) else body


def text(body: str) -> Answer:
    """Return a text file."""
    return page(body, "text/plain; charset=utf-8")


def html(title: str, head: str = "", **headers: str) -> Answer:
    """Return a web page; *head* is added to its head."""
    body = f"<!DOCTYPE html>\n<html><head><title>{title}</title>{head}</head><body><h1>{title}</h1></body></html>\n"
    status, content_type, encoded = page(body, "text/html; charset=utf-8")
    return status, content_type | headers, encoded


def redirect(to: str) -> Answer:
    """Return a permanent redirect."""
    return 301, {"Location": to}, b""


def robots(*sitemaps: str, disallow: Iterable[str] = ()) -> Answer:
    """Return a robots.txt."""
    lines = ["User-agent: *", *(f"Disallow: {path}" for path in disallow), ""]
    return text("\n".join([*lines, *(f"Sitemap: {url}" for url in sitemaps), ""]))


def index(*children: str | tuple[str, str]) -> Answer:
    """Return a sitemap index; each child is a URL, or a URL and its ``lastmod``."""
    pairs = [(child, None) if isinstance(child, str) else child for child in children]
    return _document("sitemapindex", [_element("sitemap", loc, lastmod=date) for loc, date in pairs])


def urlset(*entries: str) -> Answer:
    """Return a sitemap; each entry is that of :func:`url`, or a URL."""
    return _document("urlset", [one if one.startswith("<") else url(one) for one in entries])


def url(loc: str, lastmod: str | None = None, *content: str, **children: str) -> str:
    """Return an entry of a sitemap; *children* are elements with text, and *content* is XML."""
    return _element("url", loc, *content, lastmod=lastmod, **children)


def link(hreflang: str, href: str) -> str:
    """Return the reference to a language version."""
    return f'<xhtml:link rel="alternate" hreflang="{escape(hreflang)}" href="{escape(href)}"/>'


def tags(prefix: str, element: str, **values: str | Sequence[str]) -> str:
    """Return an element of the extension *prefix* with elements in it; a value that is a tuple is repeated."""
    pairs = [(name, one) for name, many in values.items() for one in ([many] if isinstance(many, str) else many)]
    inner = "".join(f"<{prefix}:{name}>{escape(one)}</{prefix}:{name}>" for name, one in pairs)
    return f"<{prefix}:{element}>{inner}</{prefix}:{element}>"


def news(title: str, date: str, language: str = "en", name: str = "The Example") -> str:
    """Return the extension of a news article."""
    publication = tags("news", "publication", name=name, language=language)
    rest = f"<news:publication_date>{date}</news:publication_date><news:title>{escape(title)}</news:title>"
    return f"<news:news>{publication}{rest}</news:news>"


def rss(*items: tuple[str, str]) -> Answer:
    """Return a feed of items, each a URL and its ``pubDate``."""
    inner = "".join(
        f"<item><title>T</title><link>{escape(link)}</link><pubDate>{date}</pubDate></item>" for link, date in items
    )
    body = f'<?xml version="1.0"?>\n<rss version="2.0"><channel><title>News</title>{inner}</channel></rss>\n'
    return page(body, "application/rss+xml")


def gzipped(answer: Answer) -> Answer:
    """Return *answer* as a gzip file."""
    return 200, {"Content-Type": "application/gzip"}, gzip.compress(answer[2], mtime=0)


def cut(answer: Answer) -> Answer:
    """Return *answer* with a connection that ends in the middle of the body."""
    status, headers, body = answer
    return status, headers | {"Content-Length": str(len(body))}, body[: len(body) // 2]


def _element(name: str, loc: str, *content: str, **children: str | None) -> str:
    inner = "".join(f"<{child}>{value}</{child}>" for child, value in children.items() if value is not None)
    return f"<{name}><loc>{escape(loc)}</loc>{inner}{''.join(content)}</{name}>"


def _document(root: str, entries: Sequence[str]) -> Answer:
    body = "\n".join(entries)
    return page(f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} {_NAMESPACES}>\n{body}\n</{root}>\n')
