"""What workers do to the rows of blocks, which several jobs read of one giant site at the same time."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sitemap_harvest.jobs.job_queue import CRAWL_BLOCK, QUEUE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from procrastinate.jobs import Job

    from sitemap_harvest.jobs.held_jobs import HeldJobManager
    from sitemap_harvest.jobs.job_process import Split

ENDED = """
WITH ended AS (
    DELETE FROM procrastinate_jobs
    WHERE id = %(job)s AND attempts = %(attempts)s AND worker_id = %(worker)s AND status = 'doing' RETURNING id
)
"""
"""The beginning of a statement that records how a job ended, if the worker still holds it."""
LOCKS_OF_BLOCKS = """
SELECT DISTINCT sites.lock FROM sitemap_harvest_blocks AS blocks
JOIN sitemap_harvest_sites AS sites ON sites.id = blocks.site WHERE blocks.job IS NOT NULL OR NOT sites.paused
"""
"""The locks of which only blocks may run: a job of a block has no lock, because blocks of a site run together."""
_HAS_CRAWL = """
EXISTS (
    SELECT FROM procrastinate_jobs AS jobs
    WHERE jobs.lock = sites.lock AND jobs.status = 'doing' AND queue_name = %(queue)s
)
"""
_SPLIT = f"""{ENDED},
split AS (
    UPDATE sitemap_harvest_sites AS sites SET
        job = NULL,
        split = CASE  -- unless it was submitted again meanwhile
            WHEN sites.due_at IS NOT DISTINCT FROM %(due_at)s THEN %(split)s::jsonb
        END
    FROM ended WHERE sites.id = %(site)s AND sites.job = ended.id RETURNING sites.id, sites.split
)
INSERT INTO sitemap_harvest_blocks (site, number)
SELECT id, generate_series(0, (split->>'blocks')::int - 1) FROM split WHERE split IS NOT NULL RETURNING number
"""  # noqa: S608 - of constants
_MAKE = f"""
WITH due AS (
    SELECT blocks.site, number, priority
    FROM sitemap_harvest_blocks AS blocks JOIN sitemap_harvest_sites AS sites ON sites.id = blocks.site
    WHERE blocks.job IS NULL AND NOT paused AND NOT {_HAS_CRAWL} FOR UPDATE OF blocks SKIP LOCKED
),
made AS (
    INSERT INTO procrastinate_jobs (queue_name, task_name, priority, args)
    SELECT %(queue)s, %(task)s, priority, jsonb_build_object('site', site, 'number', number)
    FROM due ORDER BY site, number
    RETURNING id, (args->>'site')::bigint AS site, (args->>'number')::int AS number
)
UPDATE sitemap_harvest_blocks AS blocks SET job = made.id
FROM made WHERE (blocks.site, blocks.number) = (made.site, made.number) RETURNING blocks.job
"""  # noqa: S608 - of constants
_FREE = """
UPDATE sitemap_harvest_blocks AS blocks SET job = NULL
WHERE job IS NOT NULL AND NOT EXISTS (
    SELECT FROM procrastinate_jobs AS jobs WHERE jobs.id = blocks.job AND status IN ('todo', 'doing')
)
RETURNING blocks.site
"""
_LOAD = f"""
UPDATE sitemap_harvest_blocks AS blocks SET attempts = blocks.attempts + 1
FROM sitemap_harvest_sites AS sites JOIN sitemap_harvest_plans AS plans ON plans.id = sites.plan
WHERE blocks.site = %(site)s AND blocks.number = %(number)s AND blocks.job = %(job)s AND sites.id = blocks.site
      AND NOT {_HAS_CRAWL}
RETURNING sites.owner || '/' || sites.crawl AS name, sites.store, sites.site, sites.split, plans.arguments,
          plans.multiplier, plans.ceiling_days, blocks.attempts
"""  # noqa: S608 - of constants
_RECORD = f"""{ENDED},
gone AS (
    DELETE FROM sitemap_harvest_blocks AS blocks USING ended
    WHERE site = %(site)s AND number = %(number)s AND blocks.job = ended.id RETURNING site
)
UPDATE sitemap_harvest_sites AS sites SET turn_at = now() FROM gone WHERE sites.id = gone.site RETURNING sites.id
"""  # noqa: S608 - of constants


class BlockJobs:
    """The statements, executed through a manager that repeats them until the database can be reached."""

    def __init__(self, manager: HeldJobManager) -> None:
        """Execute statements with *manager*."""
        self._manager = manager

    async def split(self, site: int, job: Job, row: Mapping[str, Any], split: Split) -> int:
        """Record that *job* has left what *split* says of *site* to blocks; return their number.

        *row*: the row of the site when *job* began. 0 if the job was not held any more, or *site* was submitted again.
        """
        values = {"site": site, "due_at": row["due_at"], "split": json.dumps(asdict(split))}
        return len(await self._manager.query(_SPLIT, **values, **self._manager.held(job)))

    async def make(self) -> int:
        """Make jobs of blocks that have none; return how many."""
        return len(await self._manager.query(_MAKE, queue=QUEUE, task=CRAWL_BLOCK))

    async def free(self) -> int:
        """Let blocks whose job was removed have a new one; return how many there were."""
        return len(await self._manager.query(_FREE))

    async def load(self, site: int, number: int, job: Job) -> dict[str, Any] | None:
        """Begin the block *number* of *site*; return the values of its crawl.

        ``None`` if *job* is not its job any more, or a crawl of a site with the same lock runs.
        """
        rows = await self._manager.query(_LOAD, site=site, number=number, job=job.id, queue=QUEUE)
        return rows[0] if rows else None

    async def record(self, site: int, number: int, job: Job) -> bool:
        """Record that *job* has ended the block *number* of *site*; return whether the job was still held."""
        values = {"site": site, "number": number}
        return bool(await self._manager.query(_RECORD, **values, **self._manager.held(job)))
