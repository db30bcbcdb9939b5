"""The store: snapshots of sites on disk or in an object store, one for each run."""

from sitemap_harvest.model.run import id_after, moment_of
from sitemap_harvest.snapshots.store.compaction import compact, prune
from sitemap_harvest.snapshots.store.lock import SiteLocks
from sitemap_harvest.snapshots.store.pages import PageWriter
from sitemap_harvest.snapshots.store.snapshot import Snapshot
from sitemap_harvest.snapshots.store.store import History, Run, Store, open_store, sites_alike, store_at
from sitemap_harvest.snapshots.store.writer import DocumentRows, DocumentWriter, SiteWriter

__all__ = [
    "DocumentRows",
    "DocumentWriter",
    "History",
    "PageWriter",
    "Run",
    "SiteLocks",
    "SiteWriter",
    "Snapshot",
    "Store",
    "compact",
    "id_after",
    "moment_of",
    "open_store",
    "prune",
    "sites_alike",
    "store_at",
]
