"""XML sitemaps and indexes, down three lanes."""

from sitemap_harvest.formats.xml.sitemap import read_sitemap

__all__ = ["read_sitemap"]
