"""What workers do to the rows of sites: they make jobs of those that are due, and record how each crawl ended."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from sitemap_harvest.frontier.intervals import (
    CEILING_DAYS,
    PRIOR_CHANGES,
    PRIOR_DAYS,
    ChangeHistory,
    allocate,
    ceiling_for,
    intervals,
    observed,
    rates,
)
from sitemap_harvest.jobs.block_jobs import ENDED, LOCKS_OF_BLOCKS, BlockJobs
from sitemap_harvest.jobs.job_queue import CRAWL, QUEUE
from sitemap_harvest.jobs.retries import BACKOFFS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from procrastinate.jobs import Job

    from sitemap_harvest.jobs.held_jobs import HeldJobManager
    from sitemap_harvest.jobs.job_process import CrawlResult

MOST_WAITING = 5_000
"""Jobs that wait at a time: PostgreSQL hands them out slower the more there are. Sites that are due wait in their
own table."""
MOST_PER_LOCK = 10
"""Jobs with the same lock, which wait for each other: each is looked at whenever a job is handed out."""
_TURN_LOCK = 7_210_334_906  # an arbitrary number: one worker at a time makes jobs

_MAKE_DUE = f"""
WITH guard AS (SELECT pg_try_advisory_xact_lock(%(lock)s) AS is_free),
room AS (
    SELECT greatest(0, %(most)s - count(*)) AS jobs FROM procrastinate_jobs
    WHERE status = 'todo' AND queue_name = %(queue)s
),
due AS (
    SELECT id, lock, priority, turn_at FROM sitemap_harvest_sites
    WHERE (SELECT is_free FROM guard) AND job IS NULL AND NOT paused AND turn_at <= now()
    ORDER BY priority DESC, turn_at LIMIT (SELECT jobs FROM room) FOR UPDATE SKIP LOCKED
),
numbered AS (  -- within each lock: first the jobs that it has
    SELECT *, row_number() OVER (PARTITION BY lock ORDER BY id IS NOT NULL, priority DESC, turn_at, id) AS nth
    FROM (
        SELECT id, lock, priority, turn_at FROM due
        UNION ALL
        SELECT NULL, lock, NULL, NULL FROM procrastinate_jobs
        WHERE status IN ('todo', 'doing') AND queue_name = %(queue)s AND lock IS NOT NULL
        UNION ALL  -- nothing else may run with the locks of blocks
        SELECT NULL, lock, NULL, NULL
        FROM ({LOCKS_OF_BLOCKS}) AS split, generate_series(1, %(most_per_lock)s)
    ) AS jobs
),
made AS (
    INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, args)
    SELECT %(queue)s, %(task)s, priority, lock, jsonb_build_object('site', id)
    FROM numbered WHERE id IS NOT NULL AND nth <= %(most_per_lock)s ORDER BY priority DESC, turn_at
    RETURNING id, (args->>'site')::bigint AS site
),
held_back AS (
    UPDATE sitemap_harvest_sites AS sites SET turn_at = now() + interval '1 minute'
    FROM numbered WHERE sites.id = numbered.id AND nth > %(most_per_lock)s
)
UPDATE sitemap_harvest_sites AS sites SET job = made.id FROM made WHERE sites.id = made.site RETURNING sites.job
"""  # noqa: S608 - of constants
_FREE_SITES = """
UPDATE sitemap_harvest_sites AS sites SET job = NULL, turn_at = now()
WHERE job IS NOT NULL AND NOT EXISTS (
    SELECT FROM procrastinate_jobs AS jobs WHERE jobs.id = sites.job AND status IN ('todo', 'doing')
)
RETURNING sites.id
"""
_SET_LEASE = """
UPDATE sitemap_harvest_version AS version SET lease = %(lease)s
WHERE lease IS NULL OR lease <> %(lease)s AND NOT EXISTS (
    SELECT FROM procrastinate_workers WHERE last_heartbeat > now() - version.lease * interval '1 second'
)
RETURNING lease
"""
_LEASE = "SELECT lease FROM sitemap_harvest_version"
_LOAD = f"""
SELECT sites.owner || '/' || sites.crawl AS name, sites.store, sites.site, sites.due_at, sites.failures, sites.result,
       sites.changes, sites.days,
       extract(epoch FROM now() - sites.observed_at)::float / 86400 AS days_since_last,
       plans.arguments, plans.budget, plans.multiplier, plans.ceiling_days,
       CASE WHEN sites.split IS NULL THEN plans.blocks ELSE 1 END AS blocks, sites.split IS NOT NULL AS was_split
FROM sitemap_harvest_sites AS sites JOIN sitemap_harvest_plans AS plans ON plans.id = sites.plan
WHERE sites.id = %(site)s AND sites.job = %(job)s AND sites.lock NOT IN ({LOCKS_OF_BLOCKS})
"""  # noqa: S608 - of constants
_RECORD = f"""{ENDED}
UPDATE sitemap_harvest_sites AS sites SET
    job = NULL, split = NULL, ended_at = now(), seconds = %(seconds)s, result = %(result)s, reason = %(reason)s,
    run = coalesce(%(run)s, sites.run), crawls = sites.crawls + 1,
    failures = CASE
        WHEN %(kind)s::text IS NULL THEN '{{}}'
        ELSE sites.failures || jsonb_build_object(%(kind)s::text, coalesce((sites.failures->>%(kind)s)::int, 0) + 1)
    END,
    crawl = CASE  -- a retry looks for the run that this job may have stored, unless that is known
        WHEN %(retry_in)s::interval IS NULL OR %(run)s::text IS NOT NULL THEN gen_random_uuid() ELSE sites.crawl
    END,
    given_up = %(kind)s::text IS NOT NULL AND %(retry_in)s::interval IS NULL,
    (due_at, turn_at) = (
        SELECT at, at FROM (SELECT CASE
            WHEN sites.due_at IS DISTINCT FROM %(due_at)s THEN sites.due_at  -- it was submitted again meanwhile
            WHEN %(retry_in)s::interval IS NOT NULL THEN now() + %(retry_in)s::interval
            WHEN plans.budget IS NOT NULL THEN now() + %(days_to_next)s * interval '1 day'
            WHEN sites.due_at + plans.every > now() THEN sites.due_at + plans.every
            ELSE now() + plans.every  -- NULL if no further crawl is planned
        END) AS next (at)
    ),
    changes = %(changes)s, days = %(days)s,
    observed_at = CASE WHEN %(is_complete)s THEN now() ELSE sites.observed_at END
FROM sitemap_harvest_plans AS plans, ended
WHERE sites.id = %(site)s AND sites.job = ended.id AND plans.id = sites.plan
RETURNING sites.id
"""  # noqa: S608 - of constants
_LOAD_PART = "SELECT part FROM sitemap_harvest_parts WHERE id = %(part)s AND job = %(job)s"
_RECORD_PART = f"""{ENDED}
UPDATE sitemap_harvest_parts AS parts SET job = NULL, result = %(result)s::jsonb, reason = %(reason)s
FROM ended WHERE parts.id = %(part)s AND parts.job = ended.id RETURNING parts.id
"""  # noqa: S608 - of constants
_UNBALANCED = """
UPDATE sitemap_harvest_plans SET balanced_at = now()  -- so that only one worker does it
WHERE budget IS NOT NULL AND (balanced_at IS NULL OR balanced_at < now() - interval '10 minutes')
RETURNING id, budget
"""
_RATES = """
SELECT round(ln((changes + %(prior_changes)s) / (days + %(prior_days)s))::numeric, 2)::float AS log_of_rate,
       count(*) AS sites
FROM sitemap_harvest_sites WHERE plan = %(plan)s AND NOT paused GROUP BY 1
"""
_BALANCE = """
UPDATE sitemap_harvest_plans SET multiplier = %(multiplier)s, ceiling_days = %(ceiling)s
WHERE id = %(plan)s RETURNING id
"""
_NEXT = """
SELECT
    count(*) FILTER (WHERE job IS NOT NULL)
        + (SELECT count(*) FROM sitemap_harvest_blocks WHERE job IS NOT NULL)
        + (SELECT count(*) FROM sitemap_harvest_parts WHERE job IS NOT NULL) AS jobs,
    min(due_at) FILTER (WHERE job IS NULL AND NOT paused) <= now() AS is_due
FROM sitemap_harvest_sites WHERE job IS NOT NULL OR turn_at IS NOT NULL
"""


class SiteJobs:
    """The statements, executed through a manager that repeats them until the database can be reached."""

    def __init__(self, manager: HeldJobManager) -> None:
        """Execute statements with *manager*."""
        self._manager = manager
        self.blocks = BlockJobs(manager)

    async def database_time(self) -> float:
        """Return the time of the database, in seconds since 1970."""
        (row,) = await self._manager.query("SELECT extract(epoch FROM clock_timestamp())::float AS now")
        return float(row["now"])

    async def agreed_lease(self, lease: float) -> float:
        """Return the seconds of the lease of all workers of the queue: *lease* if no other worker is alive."""
        await self._manager.query(_SET_LEASE, lease=lease)
        (row,) = await self._manager.query(_LEASE)  # one statement would not see what another worker has just set
        return float(row["lease"])

    async def make_due(self) -> int:
        """Make jobs of blocks, and of sites that are due, those with a higher priority first; return how many."""
        rows = await self._manager.query(
            _MAKE_DUE, lock=_TURN_LOCK, most=MOST_WAITING, most_per_lock=MOST_PER_LOCK, queue=QUEUE, task=CRAWL
        )
        return len(rows) + await self.blocks.make()

    async def free(self) -> int:
        """Let sites and blocks whose job was removed, or ended by another program, have a new one; return how many."""
        return len(await self._manager.query(_FREE_SITES)) + await self.blocks.free()

    async def load(self, site: int, job: Job) -> dict[str, Any] | None:
        """Return the row of *site* with the arguments of its plan.

        ``None`` if *job* is not its job any more, or blocks of a site with the same lock have not ended.
        """
        rows = await self._manager.query(_LOAD, site=site, job=job.id)
        return rows[0] if rows else None

    async def record(self, site: int, job: Job, row: Mapping[str, Any], result: CrawlResult) -> bool:
        """Record the *result* of *job*, and when *site* is due again; return whether the job was still held.

        *row*: the result of :meth:`load`.
        """
        retry_in = None
        if result.failure is not None:
            retry_in = BACKOFFS[result.failure].after(row["failures"].get(result.failure, 0) + 1, spread=site % 16 / 16)
        history = ChangeHistory(row["changes"], row["days"])
        if result.has_changed is not None and row["days_since_last"] is not None:
            history = observed(history, days_since_last=row["days_since_last"], changed=result.has_changed)
        values = {
            "seconds": result.seconds, "result": result.result, "reason": result.reason, "run": result.run,
            "kind": result.failure, "retry_in": retry_in, "is_complete": result.is_complete,
            "changes": history.changes, "days": history.days, "site": site, "due_at": row["due_at"],
            "days_to_next": _days_to_next(history, row["multiplier"], row["ceiling_days"]),
        }  # fmt: skip
        return bool(await self._manager.query(_RECORD, **values, **self._manager.held(job)))

    async def balance(self) -> None:
        """Divide the budget of each plan that has one among its sites, if that was not done in the last 10 minutes."""
        for plan in await self._manager.query(_UNBALANCED):
            values = {"plan": plan["id"], "prior_changes": PRIOR_CHANGES, "prior_days": PRIOR_DAYS}
            rows = await self._manager.query(_RATES, **values)
            found = np.repeat(np.exp([row["log_of_rate"] for row in rows]), [row["sites"] for row in rows])
            ceiling = ceiling_for(len(found), plan["budget"])
            allocation = allocate(found, plan["budget"], ceiling_days=ceiling)
            await self._manager.query(_BALANCE, plan=plan["id"], multiplier=allocation.multiplier, ceiling=ceiling)

    async def load_part(self, part: int, job: Job) -> dict[str, Any] | None:
        """Return the values of *part*; ``None`` if *job* is not its job any more."""
        rows = await self._manager.query(_LOAD_PART, part=part, job=job.id)
        return rows[0]["part"] if rows else None

    async def record_part(self, part: int, job: Job, counts: dict[str, Any] | None, reason: str | None) -> None:
        """Record that *job* has written *part*, with these *counts*, or failed for a *reason*."""
        result = None if counts is None else json.dumps(counts)
        await self._manager.query(_RECORD_PART, part=part, result=result, reason=reason, **self._manager.held(job))

    async def is_idle(self) -> bool:
        """Whether no job waits or runs, and no site is due."""
        (row,) = await self._manager.query(_NEXT)
        return not row["jobs"] and not row["is_due"]


def _days_to_next(history: ChangeHistory, multiplier: float | None, ceiling: float | None) -> float:
    """Return the days to the next crawl of a site. Both limits are ``None`` if the budget was not divided yet."""
    rate = rates(np.array([history.changes]), np.array([history.days]))
    return float(intervals(rate, multiplier or 0.0, ceiling_days=ceiling or CEILING_DAYS)[0])
