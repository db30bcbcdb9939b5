"""Two snapshots of a site in, what changed between them out."""

from sitemap_harvest.diff.changes import Changes
from sitemap_harvest.diff.compare import compare, compare_each
from sitemap_harvest.diff.missing import Missing, missing
from sitemap_harvest.diff.snapshot import Run, Snapshot

__all__ = ["Changes", "Missing", "Run", "Snapshot", "compare", "compare_each", "missing"]
