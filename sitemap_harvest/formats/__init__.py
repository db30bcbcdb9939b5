"""Readers of all document formats: bytes in, documents out. No network, clock, log or settings."""

from sitemap_harvest.formats.document import Document, read
from sitemap_harvest.formats.unpack import Limits

__all__ = ["Document", "Limits", "read"]
