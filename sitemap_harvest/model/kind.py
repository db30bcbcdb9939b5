"""``Kind``: the kind of a document: sitemap, index, list, feed, robots.txt, web page ..."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """The kinds of documents, determined by content rather than name."""

    SITEMAP = "sitemap"
    """An XML ``<urlset>``."""
    INDEX = "index"
    """An XML ``<sitemapindex>``."""
    LIST = "list"
    """A plain text file with one URL per line."""
    FEED = "feed"
    """RSS, Atom, JSON Feed or CDF."""
    ROBOTS = "robots"
    """A robots.txt."""
    LINKS = "links"
    """An HTML page that lists links: an HTML sitemap."""
    HTML = "html"
    """Any other web page."""
    CHALLENGE = "challenge"
    """A page of a firewall that asks visitors to prove that they are human, or rejects them."""
    SOFT_404 = "soft-404"
    """A web page whose title or first heading says that the page does not exist."""
    XML = "xml"
    """Any other XML, including XSLT."""
    BINARY = "binary"
    """An image, a PDF, an office document, an archive, a program: not text."""
    EMPTY = "empty"
    """No bytes, or only whitespace."""
    UNKNOWN = "unknown"
    """Anything else: text without a URL, or JSON that is not a feed."""

    @property
    def is_readable(self) -> bool:
        """Whether documents of this kind publish URLs and can be read."""
        return self in _READABLE


_READABLE = frozenset({Kind.SITEMAP, Kind.INDEX, Kind.LIST, Kind.FEED, Kind.ROBOTS, Kind.LINKS})
