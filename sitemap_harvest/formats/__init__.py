"""Bytes in, documents out. No network, no clock, no log, no settings."""

from sitemap_harvest.formats.document import Document, read
from sitemap_harvest.formats.limits import Limits

__all__ = ["Document", "Limits", "read"]
