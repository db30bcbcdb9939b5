"""``UrlEntry``: one URL as one document publishes it, with images, videos, news and alternates."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003 - the schema is built from these annotations at run time

from sitemap_harvest.model.item import ItemRecord

CHANGEFREQS = ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
"""The values of ``changefreq`` that the protocol allows."""
INSTANT = {"json_schema_extra": {"type": ["string", "null"], "format": "date-time"}}
"""JSON Schema of an optional instant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """A name and a value, as published."""

    name: str
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternate:
    """Another version of the page: ``<xhtml:link rel="alternate">``.

    Spec: https://developers.google.com/search/docs/specialty/international/localized-versions
    """

    href: str | None = None
    """As published. ``None`` if the attribute is absent."""
    hreflang: str | None = None
    """Language and region as published, or ``x-default``."""
    media: str | None = None
    """A media query, if the alternate is for another device."""
    type: str | None = None
    """A media type, if given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An ``<image:image>``; every value as published, trimmed.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps
    """

    loc: str | None = None
    """URL of the image."""
    caption: str | None = None
    title: str | None = None
    geo_location: str | None = None
    """Place where it was taken, as text."""
    license: str | None = None
    """URL of its license."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """A ``<video:price>``."""

    value: str | None = None
    currency: str | None = None
    type: str | None = None
    resolution: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restriction:
    """A ``<video:restriction>`` or ``<video:platform>``."""

    relationship: str | None = None
    """``allow`` or ``deny``, as published."""
    value: str | None = None
    """Countries or platforms, separated by whitespace, as published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Video:
    """A ``<video:video>``; every value as published, trimmed, including numbers and dates.

    Spec:
    https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
    """

    thumbnail_loc: str | None = None
    title: str | None = None
    description: str | None = None
    content_loc: str | None = None
    player_loc: str | None = None
    duration: str | None = None
    """Seconds, as published."""
    expiration_date: str | None = None
    rating: str | None = None
    view_count: str | None = None
    publication_date: str | None = None
    family_friendly: str | None = None
    restriction: Restriction | None = None
    platform: Restriction | None = None
    prices: tuple[Price, ...] | None = None
    requires_subscription: str | None = None
    uploader: str | None = None
    uploader_info: str | None = None
    """URL of the uploader's page: ``<video:uploader info="...">``."""
    live: str | None = None
    tags: tuple[str, ...] | None = None
    category: str | None = None
    gallery_loc: str | None = None
    gallery_title: str | None = None
    other: tuple[Attribute, ...] | None = None
    """Any other child (``tvshow``, ``content_segment_loc``, ``id``, ...), by name; a nested name is preceded by its
    parents, separated by ``/``, and an attribute is named ``child@attribute``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """A ``<news:news>``; every value as published, trimmed.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
    """

    publication_name: str | None = None
    publication_language: str | None = None
    title: str | None = None
    publication_date: str | None = None
    keywords: str | None = None
    genres: str | None = None
    access: str | None = None
    stock_tickers: str | None = None
    geo_locations: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataObject:
    """A ``<DataObject>`` of a PageMap.

    Spec: https://developers.google.com/custom-search/docs/structured_data#pagemaps
    """

    type: str | None = None
    id: str | None = None
    attributes: tuple[Attribute, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """An element without its own field in the entry, stored completely.

    The list has the elements in document order: those with a greater ``depth`` that
    follow one are its descendants, so nesting and repetition fit in flat columns.
    """

    name: str
    """``{namespace}local``, or ``local`` without a namespace."""
    depth: int = 0
    """0 for a child of the entry, 1 for a grandchild, and so on."""
    text: str | None = None
    """The element's own text, trimmed; ``None`` if there is none."""
    attributes: tuple[Attribute, ...] | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class UrlEntry(ItemRecord):
    """One URL, as one document publishes it. A row of the table ``urls``, and a Scrapy item.

    For every field ``None`` means absent; in a feed, an empty element counts as absent. The
    protocol's defaults are never filled in. Lists keep the order of the document.
    """

    loc: str
    """The URL as published: entities decoded, whitespace trimmed, made absolute, otherwise unchanged. Source:
    ``<loc>``, a line of a list, RSS ``<link>``, Atom ``link/@href``, JSON Feed ``url``."""
    loc_raw: str | None = None
    """The text of ``loc`` if it differs: it had surrounding whitespace, or was relative."""
    key: str | None = None
    """Canonical form of ``loc``, which identifies the URL (RFC 3986 normalisation, and no more). ``None`` if ``loc`` is
    not an absolute URL that can be parsed."""
    site: str | None = None
    """Scheme, host and port of ``key``, such as ``https://www.example.com``."""
    sitemap: str
    """The document that lists the URL, by its requested URL."""
    position: int
    """Position of the entry in the document, from 1. In a list, the line."""
    lastmod: datetime | None = field(default=None, metadata=INSTANT)
    """Last change, in UTC. ``None`` if absent or unreadable; ``lastmod_text`` distinguishes these. A date without a
    time is its first instant (see ``lastmod_precision``)."""
    lastmod_text: str | None = None
    """``<lastmod>`` (feeds: ``updated``, else ``pubDate`` and the like) as published, trimmed; ``None`` if absent."""
    lastmod_precision: str | None = None
    """Precision of ``lastmod``: ``year``, ``month``, ``day``, ``minute``, ``second`` or ``fraction``."""
    lastmod_zoned: bool | None = None
    """Whether the text has a time zone. ``False``: a time without one, read as UTC. ``None``: no time."""
    changefreq: str | None = None
    """``<changefreq>`` as published, trimmed, even if the protocol does not allow the value."""
    priority: float | None = None
    """0.0 to 1.0. ``None`` if absent or unreadable: 0.5, the protocol's default, is never filled in."""
    priority_text: str | None = None
    """``<priority>`` as published, without surrounding whitespace, only if it is not a number from 0 to 1."""
    title: str | None = None
    """Title of a feed's entry; ``None`` if absent or empty."""
    alternates: tuple[Alternate, ...] | None = None
    """Other language or device versions of the page."""
    images: tuple[Image, ...] | None = None
    """Images of the page: ``<image:image>``."""
    videos: tuple[Video, ...] | None = None
    """Videos of the page: ``<video:video>``."""
    news: tuple[News, ...] | None = None
    """The page as a news article: ``<news:news>``, at most one according to the spec."""
    mobile: bool | None = None
    """``True`` if there is a ``<mobile:mobile/>``."""
    pagemap: tuple[DataObject, ...] | None = None
    """The contents of ``<PageMap>``."""
    extra: tuple[Extra, ...] | None = None
    """Elements without another field, in document order; for JSON the members, by their names. The text of the page,
    which feeds may contain, is excluded."""
    in_scope: bool | None = None
    """Whether the protocol allows this document to list this URL: it is below the folder of the document, or the
    robots.txt of its site authorizes the document. ``None``: not checked, as by :func:`~sitemap_harvest.read`."""
    scope_reason: str | None = None
    """What differs from the document first, if ``in_scope`` is false: ``host``, ``scheme``, ``port`` or ``path``."""
