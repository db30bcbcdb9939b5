"""The row: one URL, as one document publishes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003 - the schema is made from these annotations at run time

INSTANT = {"json_schema_extra": {"type": ["string", "null"], "format": "date-time"}}
"""What the JSON Schema of a record says of an instant that may be absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """A name and a value, as published."""

    name: str
    """The name."""
    value: str | None = None
    """The value; ``None`` if there is none."""


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
    """A media query, where the alternate is for another device."""
    type: str | None = None
    """A media type, where one is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An ``<image:image>``; every value as published.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps
    """

    loc: str | None = None
    """Address of the image."""
    caption: str | None = None
    """Caption."""
    title: str | None = None
    """Title."""
    geo_location: str | None = None
    """Where it was taken, in words."""
    license: str | None = None
    """Address of its licence."""


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
    """Countries or platforms, separated by blanks, as published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Video:
    """A ``<video:video>``; every value as published, also numbers and dates.

    Spec: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
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
    """Address of the uploader's page: ``<video:uploader info="...">``."""
    live: str | None = None
    tags: tuple[str, ...] | None = None
    category: str | None = None
    gallery_loc: str | None = None
    gallery_title: str | None = None
    other: tuple[Attribute, ...] | None = None
    """Any further child (``tvshow``, ``content_segment_loc``, ``id``, ...), by name; a nested name has its
    parents before it, parted by ``/``, and an attribute is named ``child@attribute``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """A ``<news:news>``; every value as published.

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
    """An element that no field of the entry holds, kept whole.

    The list of these is the elements in document order: those of a greater
    ``depth`` that follow one are its descendants, so nesting and repetition
    are kept in flat columns.
    """

    name: str
    """``{namespace}local``, or ``local`` where there is no namespace."""
    depth: int = 0
    """0 for a child of the entry, 1 for a grandchild, and so on."""
    text: str | None = None
    """The element's own text, trimmed; ``None`` if there is none."""
    attributes: tuple[Attribute, ...] | None = None


@dataclass(slots=True, kw_only=True)
class UrlEntry:
    """One URL, as one document publishes it. A row of the table ``urls``, and a Scrapy item.

    ``None`` means absent, for every field. The protocol's defaults are never
    filled in. Lists keep the order of the document.
    """

    loc: str
    """The URL as published: entities decoded, blanks trimmed, made absolute, otherwise untouched.
    Source: ``<loc>``, a line of a list, RSS ``<link>``, Atom ``link/@href``, JSON Feed ``url``."""
    loc_raw: str | None = None
    """The text that ``loc`` was made from, where it differs: it had blanks around it, or was relative."""
    key: str | None = None
    """Canonical form of ``loc``: what identifies the URL (RFC 3986 normalisation, and no more).
    ``None`` where ``loc`` is no absolute URL that can be taken apart."""
    site: str | None = None
    """Scheme, host and port of ``key``, such as ``https://www.example.com``."""
    sitemap: str
    """The document that lists the URL, by the address that it was asked for."""
    position: int
    """Which entry of the document this is, from 1. In a list, the line."""
    lastmod: datetime | None = field(default=None, metadata=INSTANT)
    """Last change, in UTC. ``None`` if absent or unreadable: ``lastmod_text`` tells which.
    A date without a time stands for its first instant (see ``lastmod_precision``)."""
    lastmod_text: str | None = None
    """``<lastmod>`` (feeds: ``updated``, else ``pubDate`` and the like) to the letter, without the blanks around it;
    ``None`` if the element is absent."""
    lastmod_precision: str | None = None
    """How much of ``lastmod`` was given: ``year``, ``month``, ``day``, ``minute``, ``second`` or ``fraction``."""
    lastmod_zoned: bool | None = None
    """Whether the text gave a time zone. ``False``: a time without one, read as UTC. ``None``: no time."""
    changefreq: str | None = None
    """``<changefreq>`` as published, trimmed, also where the protocol has no such word."""
    priority: float | None = None
    """0.0 to 1.0. ``None`` if absent or unreadable: 0.5, the protocol's default, is never filled in."""
    priority_text: str | None = None
    """``<priority>`` to the letter, without the blanks around it, only where it is no number from 0 to 1."""
    title: str | None = None
    """Title of a feed's entry."""
    alternates: tuple[Alternate, ...] | None = None
    """Other language or device versions of the page."""
    images: tuple[Image, ...] | None = None
    """Images of the page: ``<image:image>``."""
    videos: tuple[Video, ...] | None = None
    """Videos of the page: ``<video:video>``."""
    news: tuple[News, ...] | None = None
    """The page as an article of a publication: ``<news:news>``, of which there should be one."""
    mobile: bool | None = None
    """``True`` where ``<mobile:mobile/>`` stands."""
    pagemap: tuple[DataObject, ...] | None = None
    """What ``<PageMap>`` says of the page."""
    extra: tuple[Extra, ...] | None = None
    """Elements that no other field holds, in document order; of JSON the members, by their names. The text of the
    page, which feeds may carry, is not among them."""
    in_scope: bool | None = None
    """Whether the protocol lets this document list this URL: it is below the folder of the document, or the robots.txt
    of its site vouches for the document. ``None``: not judged, as by :func:`~sitemap_harvest.read`."""
    scope_reason: str | None = None
    """What of the URL is not the document's, where ``in_scope`` is false: ``host``, ``scheme``, ``port`` or ``path``,
    the first of these that is not."""
