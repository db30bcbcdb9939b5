"""A document that another document points at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - the schema is made from these annotations at run time


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapRef:
    """A sitemap named by an index or by robots.txt."""

    loc: str
    """Address of the sitemap: trimmed and made absolute, otherwise as published."""
    position: int
    """Which reference of the document this is, from 1. In robots.txt, the line."""
    lastmod: datetime | None = None
    """When the sitemap last changed, says the index, in UTC. ``None`` if absent or unreadable."""
    lastmod_text: str | None = None
    """The same to the letter; ``None`` if absent."""
