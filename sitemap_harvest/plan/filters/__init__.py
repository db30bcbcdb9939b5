"""Filters of URLs, on columns: what is handed out, and what is dropped and counted."""

from sitemap_harvest.plan.filters.filters import CHANGEFREQS, PARTS, Filters, Kept

__all__ = ["CHANGEFREQS", "PARTS", "Filters", "Kept"]
