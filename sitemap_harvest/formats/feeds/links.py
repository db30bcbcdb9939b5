"""Which of an item's links is the page that the item is about.

Specs: https://www.rssboard.org/rss-specification, https://web.resource.org/rss/1.0/spec,
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
_PAGE_TYPES = ("text/html", "application/xhtml+xml", "")  # a link without a type is one to a page
_ANYWHERE = "https://example.com/"  # any base tells whether a text is relative
_ABSOLUTE = re.compile(r"https?://[^/?#\s]", re.IGNORECASE)


class Link(NamedTuple):
    """A link of an item."""

    element: FeedElement
    href: str
    """As published; not blank."""
    relation: str
    """In lower case; ``alternate`` where none is given."""
    is_text: bool
    """Whether the address is the text of the element, as in RSS, and not an attribute, as in Atom."""

    @classmethod
    def of(cls, element: FeedElement) -> Link | None:
        """Return the link that *element* is, or ``None`` if it has no address."""
        href = element.get("href")
        if href is not None and href.strip():
            relation = _REGISTRY.sub("", (element.get("rel") or _ALTERNATE).strip().lower())
            return cls(element, href, relation, is_text=False)
        return cls(element, element.raw_text(), _ALTERNATE, is_text=True) if element.whole_text() else None

    @property
    def type(self) -> str:
        """The media type without its parameters, in lower case; empty where none is given."""
        return (self.element.get("type") or "").partition(";")[0].strip().lower()

    @property
    def language(self) -> str | None:
        """The attribute ``hreflang``."""
        return self.element.get("hreflang")

    @property
    def is_alternate(self) -> bool:
        """Whether this is a form of the page, and not what belongs to it or to the feed."""
        return self.relation == _ALTERNATE

    @property
    def says_no_more(self) -> bool:
        """Whether nothing is said of the address but that it is the page's."""
        known = {name for name, _ in self.element.items()} <= {"href", "rel", "type", "hreflang", XML_BASE}
        return known and self.type in _PAGE_TYPES and not len(self.element)


def page_link(links: Iterable[Link], *, text_first: bool) -> Link | None:
    """Return the link of the page: of several alternates a web page first, and then the first.

    *text_first* is whether the format is one that has the address as text.
    """
    alternates = [link for link in links if link.is_alternate]
    return min(alternates, key=lambda link: (link.is_text is not text_first, *_rank(link)), default=None)


def _rank(link: Link) -> tuple[bool, bool]:
    return link.type not in _PAGE_TYPES, link.language is not None


def is_absolute(text: str) -> bool:
    """Whether *text* is plainly the address of a page: an identifier that is none is no link."""
    return bool(_ABSOLUTE.match(text.strip(BLANKS)))


def joined(base: str, address: str) -> str | None:
    """Return *address*, made absolute by the ``xml:base`` in force if it is relative; otherwise as it is.

    ``None`` if the base is too long.
    """
    if not base or resolve(address, _ANYWHERE).flaw != "loc/relative":
        return address
    return join(base, address.strip(BLANKS)) if len(base) <= MAX_BASE_CHARS else None
