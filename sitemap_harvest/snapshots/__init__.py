"""Snapshots of sites: merging a run into the last snapshot, conditional requests, and the store."""
