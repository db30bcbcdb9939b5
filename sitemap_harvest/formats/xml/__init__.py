"""Readers of XML sitemaps and indexes: a fast path, a strict parser and a tolerant parser."""

from sitemap_harvest.formats.xml.sitemap import read_sitemap

__all__ = ["read_sitemap"]
