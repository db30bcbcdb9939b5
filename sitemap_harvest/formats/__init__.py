"""Readers of all document formats: bytes in, documents out. No network, clock, log or settings."""

from sitemap_harvest.formats.collector import Limits
from sitemap_harvest.formats.document import Document
from sitemap_harvest.formats.local import read

__all__ = ["Document", "Limits", "read"]
