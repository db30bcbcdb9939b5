"""Snapshots of sites, on disk or in an object store: what was known of a site at the end of each run."""

from sitemap_harvest.model.run_ids import id_after, moment_of, new_run_id
from sitemap_harvest.store.claims import Claims
from sitemap_harvest.store.documents import DocumentWriter
from sitemap_harvest.store.extents import Extents, Intervals
from sitemap_harvest.store.history import History
from sitemap_harvest.store.manifest import Run
from sitemap_harvest.store.snapshot import Snapshot
from sitemap_harvest.store.store import Store, open_store
from sitemap_harvest.store.tables import PENDING
from sitemap_harvest.store.writer import Kept, SiteWriter

__all__ = [
    "PENDING",
    "Claims",
    "DocumentWriter",
    "Extents",
    "History",
    "Intervals",
    "Kept",
    "Run",
    "SiteWriter",
    "Snapshot",
    "Store",
    "id_after",
    "moment_of",
    "new_run_id",
    "open_store",
]
