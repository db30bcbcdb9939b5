"""``page_link``: which of the links of a feed item is the page that the item is about.

Specs: https://www.rssboard.org/rss-specification,
https://web.resource.org/rss/1.0/spec,
https://www.rfc-editor.org/rfc/rfc4287#section-4.2.7
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.formats.feeds.elements import XML_BASE
from sitemap_harvest.urls import BLANKS, MAX_BASE_CHARS, join, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemap_harvest.formats.feeds.elements import FeedElement

_ALTERNATE = "alternate"
_REGISTRY = re.compile(r"https?://www\.iana\.org/assignments/(?:link-)?relations?/", re.IGNORECASE)
_PAGE_TYPES = ("text/html", "application/xhtml+xml", "")  # a link without a type is assumed to be a page
_ANYWHERE = "https://example.com/"  # any base shows whether a text is relative
_ABSOLUTE = re.compile(r"https?://[^/?#\s]", re.IGNORECASE)


class Link(NamedTuple):
    """A link of an item."""

    element: FeedElement
    href: str
    """As published; not empty."""
    relation: str
    """In lower case; ``alternate`` by default."""
    is_text: bool
    """Whether the URL is the text of the element, as in RSS, rather than an attribute, as in Atom."""

    @classmethod
    def of(cls, element: FeedElement) -> Link | None:
        """Return *element* as a link, or ``None`` if it has no URL."""
        href = element.get("href")
        if href is not None and href.strip():
            relation = _REGISTRY.sub("", (element.get("rel") or _ALTERNATE).strip().lower())
            return cls(element, href, relation, is_text=False)
        return cls(element, element.raw_text(), _ALTERNATE, is_text=True) if element.whole_text() else None

    @property
    def type(self) -> str:
        """The media type without its parameters, in lower case; empty if not given."""
        return (self.element.get("type") or "").partition(";")[0].strip().lower()

    @property
    def language(self) -> str | None:
        """The attribute ``hreflang``."""
        return self.element.get("hreflang")

    @property
    def is_alternate(self) -> bool:
        """Whether this is a version of the page, rather than something related to it or to the feed."""
        return self.relation == _ALTERNATE

    @property
    def says_no_more(self) -> bool:
        """Whether the link has no attributes beyond the URL of the page."""
        known = {name for name, _ in self.element.items()} <= {"href", "rel", "type", "hreflang", XML_BASE}
        return known and self.type in _PAGE_TYPES and not len(self.element)


def page_link(links: Iterable[Link], *, text_first: bool) -> Link | None:
    """Return the link of the page: of several alternates the first web page, else the first one.

    *text_first*: whether links of the format have their URL as text.
    """
    alternates = [link for link in links if link.is_alternate]
    return min(alternates, key=lambda link: (link.is_text is not text_first, *_rank(link)), default=None)


def _rank(link: Link) -> tuple[bool, bool]:
    return link.type not in _PAGE_TYPES, link.language is not None


def is_absolute(text: str) -> bool:
    """Whether *text* is clearly the URL of a page: other identifiers are not links."""
    return bool(_ABSOLUTE.match(text.strip(BLANKS)))


def joined(base: str, address: str) -> str | None:
    """Return *address*, resolved against the current ``xml:base`` if it is relative; otherwise unchanged.

    ``None`` if the base is too long.
    """
    if not base or resolve(address, _ANYWHERE).flaw != "loc/relative":
        return address
    return join(base, address.strip(BLANKS)) if len(base) <= MAX_BASE_CHARS else None
