"""What a document turned out to be."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """The kinds of document that a reader tells apart, by content and not by name."""

    SITEMAP = "sitemap"
    """An XML ``<urlset>``."""
    INDEX = "index"
    """An XML ``<sitemapindex>``."""
    LIST = "list"
    """A plain text file, one URL a line."""
    FEED = "feed"
    """RSS, Atom, JSON Feed or CDF."""
    ROBOTS = "robots"
    """A robots.txt."""
    HTML = "html"
    """A web page: an error page, a soft 404, or a page for people."""
    XML = "xml"
    """XML of some other sort."""
    EMPTY = "empty"
    """No bytes, or blanks only."""
    UNKNOWN = "unknown"
    """Nothing that this package knows: binary data, or text without a URL."""

    @property
    def is_readable(self) -> bool:
        """Whether this kind publishes URLs, so that a document of it can be read."""
        return self in _READABLE


_READABLE = frozenset({Kind.SITEMAP, Kind.INDEX, Kind.LIST, Kind.FEED, Kind.ROBOTS})
