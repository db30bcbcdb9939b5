"""The next snapshot of a site, from the last snapshot and the records of a run. Pure."""

from sitemap_harvest.snapshots.merge.merge import merge_snapshot
from sitemap_harvest.snapshots.merge.merge_policy import MergePolicy, final_key, is_exact, merge_decision
from sitemap_harvest.snapshots.merge.removal import MergedDocument, is_overdue, is_settled, needs_lister

__all__ = [
    "MergePolicy",
    "MergedDocument",
    "final_key",
    "is_exact",
    "is_overdue",
    "is_settled",
    "merge_decision",
    "merge_snapshot",
    "needs_lister",
]
