"""Comparison of two snapshots of a site: which URLs were added, removed, expired, moved or changed."""

from sitemap_harvest.diff.changes import Changes
from sitemap_harvest.diff.compare import compare, compare_each, pending_rows

__all__ = ["Changes", "compare", "compare_each", "pending_rows"]
