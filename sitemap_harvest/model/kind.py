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
    LINKS = "links"
    """An HTML page that lists links: a site map for people."""
    HTML = "html"
    """Any other web page."""
    CHALLENGE = "challenge"
    """A page of a firewall that asks visitors to prove that they are no robots, or sends them away."""
    SOFT_404 = "soft-404"
    """A web page that says in its title or first heading that there is no such page."""
    XML = "xml"
    """XML of some other sort, XSLT among it."""
    BINARY = "binary"
    """A picture, a PDF, an office document, an archive, a program: nothing that is text."""
    EMPTY = "empty"
    """No bytes, or blanks only."""
    UNKNOWN = "unknown"
    """Nothing that this package knows: text without a URL, or JSON that is no feed."""

    @property
    def is_readable(self) -> bool:
        """Whether this kind publishes URLs, so that a document of it can be read."""
        return self in _READABLE


_READABLE = frozenset({Kind.SITEMAP, Kind.INDEX, Kind.LIST, Kind.FEED, Kind.ROBOTS, Kind.LINKS})
