"""The documents of a site: their entries, and their bytes."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from enum import StrEnum
from typing import NamedTuple
from xml.sax.saxutils import escape

_SITEMAPS = "http://www.sitemaps.org/schemas/sitemap/0.9"
_NEWS = "http://www.google.com/schemas/sitemap-news/0.9"
_XHTML = "http://www.w3.org/1999/xhtml"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
_FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)  # long before the crawls, so that dates and validators are used


class Form(StrEnum):
    """The format of a document."""

    ROBOTS = "robots"
    INDEX = "index"
    XML = "xml"
    GZIP = "gzip"
    TEXT = "text"
    NEWS = "news"
    RSS = "rss"
    ATOM = "atom"


LISTS = tuple(form for form in Form if form not in {Form.ROBOTS, Form.INDEX})
FULL = (Form.XML, Form.GZIP)
"""The forms that publish every field."""


class Entry(NamedTuple):
    """The metadata of a URL in a document."""

    lastmod: str | None = None
    priority: str | None = None
    alternates: tuple[str, ...] = ()

    def published(self, form: Form) -> Entry:
        """Return the fields that a document of that *form* publishes."""
        if form is Form.TEXT:
            return Entry()
        return self if form in FULL else Entry(self.lastmod)


@dataclass(frozen=True)
class Document:
    """One version of a document. It is immutable: a new version is a new object."""

    form: Form
    entries: dict[str, Entry] = field(default_factory=dict)
    """By URL."""
    children: tuple[str, ...] = ()
    """The documents that it lists."""
    version: int = 0
    """The number of its changes."""
    tag: str = "right"
    """The kind of its validators: ``right``, ``stuck`` (they stay when the content changes), ``date``, ``random`` or
    ``none``."""
    epoch: int = 0
    """The version since which they are stuck."""

    @property
    def published(self) -> dict[str, Entry]:
        """The published fields, by URL."""
        return {url: entry.published(self.form) for url, entry in self.entries.items()}

    def body(self, lastmods: dict[str, str]) -> bytes:
        """Return its bytes; *lastmods* are those of its child documents, for an index that reports them."""
        if self.form is Form.ROBOTS:
            rules = "".join(f"Disallow: /private-{number}/\n" for number in range(4))
            return "".join([*(f"Sitemap: {url}\n" for url in self.children), "User-agent: *\n", rules]).encode()
        if self.form is Form.INDEX:
            entries = (_tag("loc", url) + _tag("lastmod", lastmods.get(url)) for url in self.children)
            return _xml("sitemapindex", "sitemap", entries)
        if self.form is Form.TEXT:
            return "".join(f"{url}\n" for url in self.entries).encode()
        if self.form in {Form.RSS, Form.ATOM}:
            return _feed(self.published, is_atom=self.form is Form.ATOM)
        more = _news if self.form is Form.NEWS else _plain
        text = _xml("urlset", "url", (more(url, entry) for url, entry in self.published.items()))
        return gzip.compress(text, mtime=0) if self.form is Form.GZIP else text

    def headers(self, body: bytes, requests: int) -> dict[str, str]:
        """Return its validators for *body*; *requests* is a number that no other request has."""
        date = format_datetime(_FIRST_DAY + timedelta(hours=self.version), usegmt=True)
        digest = hashlib.sha256(body).hexdigest()[:12]
        return {
            "right": {"ETag": f'"{digest}"', "Last-Modified": date},
            "stuck": {"ETag": f'"stuck-{self.epoch}"'},
            "date": {"Last-Modified": date},
            "random": {"ETag": f'"{requests}"'},
            "none": {},
        }[self.tag]


def _tag(name: str, text: str | None) -> str:
    return "" if text is None else f"<{name}>{escape(text)}</{name}>"


def _xml(root: str, name: str, entries) -> bytes:
    spaces = f'xmlns="{_SITEMAPS}" xmlns:news="{_NEWS}" xmlns:xhtml="{_XHTML}"'
    inner = "".join(f"<{name}>{entry}</{name}>\n" for entry in entries)
    return f"{_HEAD}<{root} {spaces}>\n{inner}</{root}>\n".encode()


def _plain(url: str, entry: Entry) -> str:
    links = "".join(
        f'<xhtml:link rel="alternate" hreflang="l{number}" href="{escape(href)}"/>'
        for number, href in enumerate(entry.alternates)
    )
    return _tag("loc", url) + _tag("lastmod", entry.lastmod) + _tag("priority", entry.priority) + links


def _news(url: str, entry: Entry) -> str:
    publication = "<news:publication><news:name>News</news:name><news:language>en</news:language></news:publication>"
    date = "<news:publication_date>2026-01-01</news:publication_date>"
    news = f"<news:news>{publication}{date}<news:title>News</news:title></news:news>"
    return _tag("loc", url) + _tag("lastmod", entry.lastmod) + news


def _feed(entries: dict[str, Entry], *, is_atom: bool) -> bytes:
    if is_atom:
        inner = "".join(
            f'<entry><title>Entry</title><id>{escape(url)}</id><link href="{escape(url)}"/>'
            f"{_tag('updated', entry.lastmod and f'{entry.lastmod}T00:00:00Z')}</entry>\n"
            for url, entry in entries.items()
        )
        return f'{_HEAD}<feed xmlns="http://www.w3.org/2005/Atom">\n<title>Feed</title>\n{inner}</feed>\n'.encode()
    inner = "".join(
        f"<item><title>Item</title>{_tag('link', url)}{_tag('pubDate', _rfc_822(entry.lastmod))}</item>\n"
        for url, entry in entries.items()
    )
    return f'{_HEAD}<rss version="2.0"><channel><title>Feed</title>\n{inner}</channel></rss>\n'.encode()


def _rfc_822(date: str | None) -> str | None:
    return date and format_datetime(datetime.fromisoformat(f"{date}T00:00:00+00:00"))
