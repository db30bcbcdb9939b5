"""Compaction of all sites of a store, in parts, each of which is a job: what ``runs --pack`` does on one machine."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from sitemap_harvest.errors import StoreError
from sitemap_harvest.jobs.parts import COMPACTION, NOT_READ, Part, PartCounts, sites_of, write_part
from sitemap_harvest.jobs.retries import StoreRetries
from sitemap_harvest.model.run import new_run_id
from sitemap_harvest.snapshots.store import SiteLocks, compact, open_store
from sitemap_harvest.snapshots.store.compaction import is_due

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from sitemap_harvest.audit import RuleOptions
    from sitemap_harvest.snapshots.store import History

_FEWEST = 2  # small files of a table: a crawl merges eight


def do_part(values: Mapping[str, Any], *, now: datetime, rules: Mapping[str, RuleOptions]) -> PartCounts:
    """Write or compact the part with *values*, a result of :meth:`Part.to_json`. Raises :exc:`HarvestError`."""
    part = Part.of_json(values)
    return compact_part(part, now=now) if part.table == COMPACTION else write_part(part, now=now, rules=rules)


def compact_part(part: Part, *, now: datetime, sleep: Callable[[float], object] = time.sleep) -> PartCounts:
    """Merge the small files of each site of *part*; return how many sites there are, and as ``rows``, how many had any.

    A site that a run has locked is left as it is, and counts as failed. *now*: for the id of the lock. While the store
    cannot be reached, it waits up to four times, with *sleep*. Raises :exc:`HarvestError` if there is no store.
    """
    store, counts, retries = open_store(part.store), PartCounts(), StoreRetries(sleep)
    with closing(SiteLocks(store.folder, new_run_id(now))) as locks:
        for site in sites_of(part, store, counts, retries):
            while True:
                try:
                    counts.rows += _compacted(store.history(site), locks)
                    counts.sites += 1
                except NOT_READ as error:
                    if retries.wait(error):
                        continue
                    counts.failed.append(f"{site}: {error}")
                break
    return counts


def _compacted(history: History, locks: SiteLocks) -> bool:
    """Merge the small files of a site; return whether it had any. Raises :exc:`StoreError` if a run uses it."""
    if not is_due(history.manifest.files, fewest=_FEWEST):
        return False
    if (holder := locks.take(history.folder)) is not None:
        raise StoreError(f"locked by the run {holder}; it was not compacted")
    try:
        if history.unfinished():  # which blocks may continue, without a lock: they read the files to be merged
            raise StoreError("it has an unfinished run, which the next crawl ends; it was not compacted")
        return compact(history, fewest=_FEWEST)
    finally:
        locks.release(history.folder)
