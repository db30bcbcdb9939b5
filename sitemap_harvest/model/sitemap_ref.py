"""``SitemapRef``: a reference from one document to another."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - the schema is built from these annotations at run time

from sitemap_harvest.model.document_record import FoundBy  # noqa: TC001 - the same


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapRef:
    """A document that another one names: an index, a robots.txt, or a page or its headers as a hint."""

    loc: str
    """URL of the sitemap: trimmed and made absolute, otherwise as published."""
    position: int
    """Position of the reference in the document, from 1. In robots.txt, the line."""
    lastmod: datetime | None = None
    """Last change of the sitemap according to the index, in UTC. ``None`` if absent or unreadable."""
    lastmod_text: str | None = None
    """``lastmod`` as published; ``None`` if absent."""
    found_by: FoundBy | None = None
    """The kind of hint in a page: ``html-link``, ``feed-link`` or ``http-link``. ``None`` in an index or a robots.txt,
    whose purpose is to list sitemaps."""
