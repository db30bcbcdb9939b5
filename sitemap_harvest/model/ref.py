"""A document that another document points at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - the schema is made from these annotations at run time

from sitemap_harvest.model.ledger import FoundBy  # noqa: TC001 - the same


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapRef:
    """A document named by another one: by an index, by robots.txt, or by a page or its headers in passing."""

    loc: str
    """Address of the sitemap: trimmed and made absolute, otherwise as published."""
    position: int
    """Which reference of the document this is, from 1. In robots.txt, the line."""
    lastmod: datetime | None = None
    """When the sitemap last changed, says the index, in UTC. ``None`` if absent or unreadable."""
    lastmod_text: str | None = None
    """The same to the letter; ``None`` if absent."""
    found_by: FoundBy | None = None
    """How a page hints at it: ``html-link``, ``feed-link`` or ``http-link``. ``None`` where listing it is what the
    document is for: in an index, or in robots.txt."""
