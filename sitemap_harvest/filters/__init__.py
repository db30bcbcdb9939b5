"""Which URLs are emitted: column filters that drop and count rows."""

from sitemap_harvest.filters.filters import CHANGEFREQS, PARTS, FilterCounts, Filters

__all__ = ["CHANGEFREQS", "PARTS", "FilterCounts", "Filters"]
