"""``sitemap-harvest jobs compact``: workers merge the small files of all sites of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemap_harvest.cli import output
from sitemap_harvest.cli.job_results import counts_of, number_of_parts
from sitemap_harvest.display import counted
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.jobs.parts import COMPACTION, Part
from sitemap_harvest.snapshots.store import open_store

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from sitemap_harvest.jobs.job_queue import JobQueue


def prepared(opts: Namespace, store: str) -> Callable[[JobQueue], RunOutcome]:
    """Return the function that lets workers compact all sites. Raises :exc:`HarvestError`."""
    open_store(store)
    number = number_of_parts(opts)
    parts = [Part(table=COMPACTION, number=one, parts=number, store=store, output="") for one in range(number)]

    def act(queue: JobQueue) -> RunOutcome:
        results, counts, has_failed = counts_of(queue, parts)
        compacted, sites = sum(one["rows"] for one in counts), sum(one["sites"] for one in counts)
        output.tell(f"{counted(compacted, 'site')} compacted; {sites - compacted:,} had nothing to merge")
        return RunOutcome.PARTLY_FAILED if has_failed or len(counts) < len(results) else RunOutcome.WHOLE

    return act
