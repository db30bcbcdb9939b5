"""The elements of an XML feed item and their meanings, by namespace: dates, links, titles, page text.

Specs: https://www.rssboard.org/rss-specification,
https://web.resource.org/rss/1.0/spec, https://www.rfc-editor.org/rfc/rfc4287,
https://www.dublincore.org/specifications/dublin-core/dcmi-terms/,
https://www.rssboard.org/media-rss
"""

from __future__ import annotations

from sitemap_harvest.formats.caches import Names
from sitemap_harvest.formats.xml.elements import Element
from sitemap_harvest.formats.xml.entries import split
from sitemap_harvest.formats.xml.extensions import WELL_KNOWN_PREFIXES
from sitemap_harvest.urls import BLANKS

DATES = ("updated", "modified", "pubdate", "date", "published", "issued", "created")
"""The names of dates, in order of preference: last change first."""
_VALUES = frozenset({"link", "guid", "id", "title", *DATES})
_BODIES = frozenset({"description", "summary", "content", "encoded", "body", "abstract", "full-text", "fulltext"})
_FEEDS = (  # parts of the namespaces of feeds; for RSS 2.0, which has none, several are used by mistake
    *("purl.org/rss/1.0", "purl.org/net/rss", "netscape.com/rdf", "userland.com/rss", "harvard.edu/tech/rss"),
    *("harvard.edu/rss", "purl.org/atom", "w3.org/2005/atom"),
)
PAGE_TEXT = frozenset({"body", "markup"})
"""The meanings of elements with the text of the page, which is not part of an entry."""
_XHTML = "w3.org/1999/xhtml"
_MEDIA = "yahoo.com/mrss"
_TRACKERS = ("feedburner", "pheedo")

_XML = "http://www.w3.org/XML/1998/namespace"
XML_BASE = f"{{{_XML}}}base"
"""The name of the attribute with the base of relative URLs."""
FEED_PREFIXES = {
    **WELL_KNOWN_PREFIXES,
    "xml": _XML,
    "atom": "http://www.w3.org/2005/Atom",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "feedburner": "http://rssnamespace.org/feedburner/ext/1.0",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "media": "http://search.yahoo.com/mrss/",
    "pheedo": "http://www.pheedo.com/namespace/pheedo",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
}
"""The meanings of usual prefixes in a feed that does not declare them."""


class FeedElement(Element):
    """An element of an item."""

    __slots__ = ("base",)

    base: str
    """The current ``xml:base``, resolved as far as possible; empty if there is none."""

    def whole_text(self) -> str:
        """Return all text in the element, trimmed; empty if it is incomplete."""
        return self.raw_text().strip(BLANKS)

    def raw_text(self) -> str:
        """Return all text in the element; empty if it is incomplete."""
        return "".join(self.itertext()) if self.is_whole else ""

    def attribute(self, name: str) -> str | None:
        """Return the value of the attribute *name*, ignoring case and namespace."""
        return next((value for given, value in self.items() if split(given)[1].lower() == name), None)


class MeaningsByItem(Names["Meanings"]):
    """The meanings of tags within an item, by the item's tag."""

    def find(self, item_tag: str) -> Meanings:
        """Return the meanings of tags within an item *item_tag*."""
        return Meanings(item_tag)


class Meanings(Names[str]):
    """The meanings of tags within an item of one namespace, computed on demand.

    One of the names in ``DATES``, ``link``, ``guid``, ``id``, ``title``, ``origlink``;
    ``body`` for the text of the page, ``markup`` for elements that may be part of it;
    empty for all others.
    """

    def __init__(self, item_tag: str) -> None:
        super().__init__()
        self._own = split(item_tag)[0]

    def find(self, tag: str) -> str:
        """Return the meaning of *tag* (``{namespace}local``)."""
        namespace, local = split(tag)
        name, lower = local.lower(), namespace.lower()
        if _XHTML in lower and name != "link":
            return "markup"
        if name in _BODIES and _MEDIA not in lower:
            return "body"
        is_of_feed = namespace in {"", self._own} or (any(part in lower for part in _FEEDS) and "/modules" not in lower)
        if name in _VALUES and is_of_feed:
            return name
        if name in DATES and "purl.org/dc/" in lower:
            return name
        return name if name == "origlink" and any(word in lower for word in _TRACKERS) else ""
