"""The elements of an item, and what their names mean: formats share most of them, each in a namespace of its own.

Specs: https://www.rssboard.org/rss-specification, https://web.resource.org/rss/1.0/spec,
https://www.rfc-editor.org/rfc/rfc4287, https://www.dublincore.org/specifications/dublin-core/dcmi-terms/,
https://www.rssboard.org/media-rss
"""

from __future__ import annotations

from sitemap_harvest.formats.caches import Names
from sitemap_harvest.formats.xml.elements import Element
from sitemap_harvest.formats.xml.entries import split
from sitemap_harvest.formats.xml.extensions import WELL_KNOWN_PREFIXES
from sitemap_harvest.urls import BLANKS

DATES = ("updated", "modified", "pubdate", "date", "published", "issued", "created")
"""The names of dates, the last change first."""
_VALUES = frozenset({"link", "guid", "id", "title", *DATES})
_BODIES = frozenset({"description", "summary", "content", "encoded", "body", "abstract", "full-text", "fulltext"})
_FEEDS = (  # parts of the namespaces of feeds; of RSS 2.0, which has none, there were several by mistake
    *("purl.org/rss/1.0", "purl.org/net/rss", "netscape.com/rdf", "userland.com/rss", "harvard.edu/tech/rss"),
    *("harvard.edu/rss", "purl.org/atom", "w3.org/2005/atom"),
)
PAGE_TEXT = frozenset({"body", "markup"})
"""The meanings of what the page says itself: it is no part of an entry."""
_XHTML = "w3.org/1999/xhtml"
_MEDIA = "yahoo.com/mrss"
_TRACKERS = ("feedburner", "pheedo")

_XML = "http://www.w3.org/XML/1998/namespace"
XML_BASE = f"{{{_XML}}}base"
"""The name of the attribute that says what relative addresses are relative to."""
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
"""What the usual prefixes mean in a feed that forgets to declare them."""


class FeedElement(Element):
    """An element of an item."""

    __slots__ = ("base",)

    base: str
    """The ``xml:base`` in force, made absolute as far as the feed tells; empty where there is none."""

    def whole_text(self) -> str:
        """Return all text in the element, trimmed; empty if some of it is missing."""
        return self.raw_text().strip(BLANKS)

    def raw_text(self) -> str:
        """Return all text in the element; empty if some of it is missing."""
        return "".join(self.itertext()) if self.is_whole else ""

    def attribute(self, name: str) -> str | None:
        """Return the value of the attribute that has *name* but for upper and lower case, in any namespace."""
        return next((value for given, value in self.items() if split(given)[1].lower() == name), None)


class MeaningsByItem(Names["Meanings"]):
    """What tags are to an item, by its own tag."""

    def find(self, item_tag: str) -> Meanings:
        """Return what tags are to an item *item_tag*."""
        return Meanings(item_tag)


class Meanings(Names[str]):
    """What tags are to an item of one namespace, filled as they are met.

    One of the names in ``DATES``, ``link``, ``guid``, ``id``, ``title``,
    ``origlink``; ``body`` for the text of the page, ``markup`` for what it
    may be made of; empty for all else.
    """

    def __init__(self, item_tag: str) -> None:
        super().__init__()
        self._own = split(item_tag)[0]

    def find(self, tag: str) -> str:
        """Work out what *tag* (``{namespace}local``) means."""
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
