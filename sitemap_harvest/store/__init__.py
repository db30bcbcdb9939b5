"""Snapshots of sites on disk or in an object store."""
