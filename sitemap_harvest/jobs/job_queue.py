"""``JobQueue``: what users do to the queue: they submit sites, see the state of the queue, and change it."""

from __future__ import annotations

import json
import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, LiteralString, Self

import psycopg
from procrastinate.jobs import Job
from procrastinate.manager import JobManager
from procrastinate.sync_psycopg_connector import SyncPsycopgConnector
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from sitemap_harvest.errors import DatabaseError
from sitemap_harvest.jobs.queue_tables import create_tables
from sitemap_harvest.jobs.retries import FailureKind
from sitemap_harvest.jobs.status import QueueStatus, SiteStatus, SlowSite
from sitemap_harvest.redact import without_login

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import timedelta

    from sitemap_harvest.jobs.parts import Part

QUEUE = "sitemap_harvest"
CRAWL, CRAWL_BLOCK = "sitemap_harvest.crawl", "sitemap_harvest.crawl_block"  # tasks, as is
WRITE_PART = "sitemap_harvest.write_part"
LEASE = 30.0
"""Seconds without a sign of life after which a worker counts as lost, unless the user sets another number."""
_PARTS_LOCK = 1_678_902_331  # an arbitrary number, for the parts of a command that waits for them
_CONNECT_SECONDS = 10
_SLOWEST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How and how often sites are crawled."""

    store: str
    arguments: Mapping[str, Any]
    """Arguments of each crawl, besides the site and the store."""
    every: timedelta | None = None
    """``None``: once, or at intervals that depend on the site."""
    budget: float | None = None
    """Crawls a day, for intervals that depend on the site; ``None``: they do not."""
    blocks: int = 1
    """Into how many blocks a giant site is split, each with a job of its own."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """The result of :meth:`JobQueue.submit`."""

    new: int
    """Sites that the queue did not have."""
    known: int
    """Sites that it had. They have the new plan, and are due now."""


@dataclass(frozen=True, slots=True)
class PartResult:
    """The state of the job of one part."""

    number: int
    has_ended: bool
    counts: Mapping[str, Any] | None
    """What :func:`~sitemap_harvest.jobs.parts.write_part` returned; ``None``: it has not ended, or failed."""
    reason: str | None
    """Why it failed; ``None``: it did not."""


class JobQueue:
    """The queue, in a PostgreSQL database. Its errors are instances of :exc:`DatabaseError`."""

    def __init__(self, connection: psycopg.Connection[dict[str, Any]], address: str) -> None:
        """Use the *connection* to the database at *address*; :meth:`open` makes one."""
        self._connection = connection
        self._address = address

    @classmethod
    @contextmanager
    def open(cls, address: str) -> Iterator[Self]:
        """Connect to the database at *address*, and create the tables there unless they exist.

        Those of an older version are migrated; those of a newer one are an error.
        """
        with _naming(address, hint="; check the address, and whether the server runs"):
            connection = psycopg.connect(
                address,
                autocommit=True,
                row_factory=dict_row,
                application_name=QUEUE,
                connect_timeout=conninfo_to_dict(address).get("connect_timeout", _CONNECT_SECONDS),
            )
        with connection:
            with _naming(address):
                connection.execute("SET TimeZone TO 'UTC'")  # of the times that it returns
                create_tables(connection)
                connection.execute(_DROP_ABANDONED_PARTS, {"lock": _PARTS_LOCK})
            yield cls(connection, address)

    def submit(self, plan: Plan, sites: Iterable[tuple[str, str]], *, priority: int = 0) -> Submitted:
        """Let *sites*, pairs of a site and its lock, be crawled as in *plan*, from now on.

        Of the sites with one lock, one begins each second, so that they do not keep others waiting.
        """
        with self._transaction() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE submitted (nth bigserial, site text, lock text) ON COMMIT DROP")
            with cursor.copy("COPY submitted (site, lock) FROM STDIN") as copy:
                for pair in sites:
                    copy.write_row(pair)
            cursor.execute(
                "INSERT INTO sitemap_harvest_plans (store, arguments, every, budget, blocks) "
                "VALUES (%s, %s, %s, %s, %s) RETURNING id",
                [plan.store, json.dumps(plan.arguments), plan.every, plan.budget, plan.blocks],
            )
            values = {"store": plan.store, "plan": _only(cursor)["id"], "priority": priority}
            cursor.execute(_WITHDRAW_SUBMITTED, values)
            cursor.execute(_SUBMIT, values)
            counts = _only(cursor)
            cursor.execute(_END_SUBMITTED_BLOCKS, values)  # also those that a crawl has left since this began
            cursor.execute(_DROP_UNUSED_PLANS)
        return Submitted(counts["new"], counts["known"])

    def pause(self, store: str, sites: Collection[str] | None) -> int:
        """Make no further jobs of *sites* (``None``: of all in *store*); return how many were not paused yet.

        A crawl that is running ends as usual.
        """
        with self._transaction() as cursor:
            changed = self._update(cursor, "SET paused = true", "NOT paused", store, sites)
            cursor.execute(_WITHDRAW, _chosen(store, sites))
            cursor.execute(_WITHDRAW_BLOCKS, _chosen(store, sites))
        return changed

    def resume(self, store: str, sites: Collection[str] | None) -> int:
        """Undo :meth:`pause`; return how many sites were paused."""
        with self._transaction() as cursor:
            return self._update(cursor, "SET paused = false", "paused", store, sites)

    def retry(self, store: str, sites: Collection[str] | None) -> int:
        """Let *sites* whose last crawl has failed be crawled now, unless paused; return how many there were."""
        change = "SET due_at = now(), turn_at = now(), failures = '{}', given_up = false"
        with self._transaction() as cursor:
            return self._update(cursor, change, f"{_HAS_FAILED} AND job IS NULL AND NOT paused", store, sites)

    def cancel(self, store: str, sites: Collection[str] | None) -> int:
        """Remove *sites* from the queue, and abort those of their crawls that are running; return their number."""
        with self._transaction() as cursor:
            cursor.execute(
                f"SELECT procrastinate_cancel_job_v1(job, true, true) {_OF_CHOSEN} AND job IS NOT NULL",
                _chosen(store, sites),
            )
            cursor.execute(_CANCEL_BLOCKS, _chosen(store, sites))
            cursor.execute(f"DELETE {_OF_CHOSEN}", _chosen(store, sites))
            removed = cursor.rowcount
            cursor.execute(_DROP_UNUSED_PLANS)
        return removed

    def unknown(self, store: str, sites: Collection[str]) -> list[str]:
        """Return those of *sites* that the queue does not have."""
        with self._transaction() as cursor:
            cursor.execute(f"SELECT site {_OF_CHOSEN}", _chosen(store, sites))
            known = {row["site"] for row in cursor}
        return [site for site in sites if site not in known]

    def status(self) -> QueueStatus:
        """Return the state of the queue. A worker that has been silent for longer than the lease counts as lost."""
        with self._transaction() as cursor:
            cursor.execute(_STATUS, _VALUES)
            counts = _only(cursor)
            cursor.execute(_FAILURES, _VALUES)
            failures = {row["result"]: row["sites"] for row in cursor.fetchall()}
            cursor.execute(_SLOWEST_SITES, _VALUES)
            slowest = [SlowSite(site=row["site"], seconds=row["seconds"]) for row in cursor.fetchall()]
        ordered = dict(sorted(failures.items(), key=lambda one: (-one[1], one[0])))
        return QueueStatus(**counts, failures=ordered, slowest=slowest)

    def sites(self, *, failed: bool = False) -> Iterator[SiteStatus]:
        """Yield the sites, sorted; with *failed*, only those whose last crawl has failed, by its result."""
        with self._transaction(), self._connection.cursor("sites") as cursor:  # read in parts: there may be a million
            cursor.execute(_FAILED_SITES if failed else _SITES, _VALUES)
            yield from (SiteStatus(**row) for row in cursor)

    def submit_parts(self, parts: Sequence[Part]) -> str:
        """Make a job of each of *parts*; return the name by which :meth:`part_results` knows them.

        They are dropped if this queue is closed before they have ended, as when the process is killed.
        """
        request = secrets.token_hex(8)
        manager = JobManager(SyncPsycopgConnector())
        with self._transaction() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s, hashtext(%s))", [_PARTS_LOCK, request])  # until it is closed
            cursor.execute(
                "INSERT INTO sitemap_harvest_parts (request, part) "
                "SELECT %s, jsonb_array_elements(%s::jsonb) RETURNING id",
                [request, json.dumps([part.to_json() for part in parts])],
            )
            ids = [row["id"] for row in cursor.fetchall()]
            jobs = [
                Job(
                    queue=QUEUE,
                    task_name=WRITE_PART,
                    priority=0,
                    lock=None,
                    queueing_lock=None,
                    id=None,
                    task_kwargs={"part": one},
                )
                for one in ids
            ]
            made = manager.batch_defer_jobs(jobs, connection=self._connection)
            cursor.execute(
                "UPDATE sitemap_harvest_parts SET job = made.job "
                "FROM unnest(%s::bigint[], %s::bigint[]) AS made (id, job) WHERE sitemap_harvest_parts.id = made.id",
                [ids, [job.id for job in made]],
            )
        return request

    def part_results(self, request: str) -> list[PartResult]:
        """Return the states of the parts of *request*, by number."""
        with self._transaction() as cursor:
            cursor.execute(
                "SELECT (part->>'number')::int AS number, job IS NULL AS has_ended, result, reason "
                "FROM sitemap_harvest_parts WHERE request = %s ORDER BY 1",
                [request],
            )
            return [PartResult(row["number"], row["has_ended"], row["result"], row["reason"]) for row in cursor]

    def drop_parts(self, request: str) -> None:
        """Remove the parts of *request*, and their jobs."""
        with self._transaction() as cursor:
            cursor.execute(
                "SELECT procrastinate_cancel_job_v1(job, true, true) FROM sitemap_harvest_parts "
                "WHERE request = %s AND job IS NOT NULL",
                [request],
            )
            cursor.execute("DELETE FROM sitemap_harvest_parts WHERE request = %s", [request])

    def _update(
        self,
        cursor: psycopg.Cursor[Any],
        change: LiteralString,
        which: LiteralString,
        store: str,
        sites: Collection[str] | None,
    ) -> int:
        cursor.execute(f"UPDATE sitemap_harvest_sites {change} WHERE {_CHOSEN} AND {which}", _chosen(store, sites))
        return cursor.rowcount

    @contextmanager
    def _transaction(self) -> Iterator[psycopg.Cursor[dict[str, Any]]]:
        with _naming(self._address), self._connection.transaction(), self._connection.cursor() as cursor:
            yield cursor


_CHOSEN: LiteralString = "store = %(store)s AND (%(sites)s::text[] IS NULL OR site = ANY(%(sites)s))"
_HAS_FAILED: LiteralString = "result = ANY(%(failures)s)"  # the last crawl
_OF_CHOSEN: LiteralString = f"FROM sitemap_harvest_sites WHERE {_CHOSEN}"
_SUBMIT = """
WITH put AS (
    INSERT INTO sitemap_harvest_sites AS known (store, site, plan, lock, priority, due_at, turn_at)
    SELECT %(store)s, site, %(plan)s, lock, %(priority)s, now(),
           now() + (row_number() OVER (PARTITION BY lock ORDER BY nth) - 1) * interval '1 second'
    FROM submitted ORDER BY nth
    ON CONFLICT (store, site) DO UPDATE SET
        plan = excluded.plan, lock = excluded.lock, priority = excluded.priority, due_at = excluded.due_at,
        turn_at = excluded.turn_at, failures = '{}', given_up = false, paused = false, split = NULL
    RETURNING xmax = 0 AS is_new
)
SELECT count(*) FILTER (WHERE is_new) AS new, count(*) FILTER (WHERE NOT is_new) AS known FROM put
"""
_WITHDRAW: LiteralString = f"""
UPDATE sitemap_harvest_sites SET job = NULL
FROM (
    SELECT procrastinate_cancel_job_v1(job, false, true) AS job {_OF_CHOSEN} AND job IS NOT NULL
) AS withdrawn
WHERE sitemap_harvest_sites.job = withdrawn.job
"""  # noqa: S608 - of constants
_WITHDRAW_BLOCKS: LiteralString = f"""
UPDATE sitemap_harvest_blocks SET job = NULL
FROM (
    SELECT procrastinate_cancel_job_v1(job, false, true) AS job FROM sitemap_harvest_blocks
    WHERE job IS NOT NULL AND site IN (SELECT id {_OF_CHOSEN})
) AS withdrawn
WHERE sitemap_harvest_blocks.job = withdrawn.job
"""  # noqa: S608 - of constants
_CANCEL_BLOCKS: LiteralString = f"""
SELECT procrastinate_cancel_job_v1(job, true, true) FROM sitemap_harvest_blocks
WHERE job IS NOT NULL AND site IN (SELECT id {_OF_CHOSEN})
"""  # noqa: S608 - of constants
_END_SUBMITTED_BLOCKS: LiteralString = """
WITH ended AS (
    DELETE FROM sitemap_harvest_blocks AS blocks USING sitemap_harvest_sites AS sites JOIN submitted USING (site)
    WHERE sites.store = %(store)s AND blocks.site = sites.id RETURNING blocks.job
)
SELECT procrastinate_cancel_job_v1(job, true, true) FROM ended WHERE job IS NOT NULL
"""  # they have the old arguments
_WITHDRAW_SUBMITTED: LiteralString = """
UPDATE sitemap_harvest_sites SET job = NULL
FROM (
    SELECT procrastinate_cancel_job_v1(job, false, true) AS job FROM sitemap_harvest_sites JOIN submitted USING (site)
    WHERE store = %(store)s AND job IS NOT NULL
) AS withdrawn
WHERE sitemap_harvest_sites.job = withdrawn.job
"""  # the jobs have the old priority and lock
_DROP_UNUSED_PLANS = """
DELETE FROM sitemap_harvest_plans AS plans
WHERE NOT EXISTS (SELECT FROM sitemap_harvest_sites AS sites WHERE sites.plan = plans.id)
"""
_DROP_ABANDONED_PARTS = """
WITH requests AS MATERIALIZED (SELECT DISTINCT request FROM sitemap_harvest_parts),
abandoned AS MATERIALIZED (
    SELECT request FROM requests WHERE pg_try_advisory_xact_lock(%(lock)s, hashtext(request))
),
gone AS (
    DELETE FROM sitemap_harvest_parts AS parts USING abandoned WHERE parts.request = abandoned.request RETURNING job
)
SELECT procrastinate_cancel_job_v1(job, true, true) FROM gone WHERE job IS NOT NULL
"""
_VALUES = {
    "queue": QUEUE,
    "tasks": [CRAWL, CRAWL_BLOCK],
    "lease": LEASE,
    "slowest": _SLOWEST,
    "failures": [*FailureKind],
}
_WITH_STATES = """
WITH silent AS (
    SELECT now() - coalesce(max(lease), %(lease)s) * interval '1 second' AS since FROM sitemap_harvest_version
),
jobs AS (  -- one row for each site: its blocks run at the same time
    SELECT (args->>'site')::bigint AS site, true AS is_running,
           bool_or(last_heartbeat IS NULL OR last_heartbeat < (SELECT since FROM silent)) AS is_stalled
    FROM procrastinate_jobs AS jobs LEFT JOIN procrastinate_workers AS workers ON workers.id = jobs.worker_id
    WHERE queue_name = %(queue)s AND task_name = ANY(%(tasks)s) AND status = 'doing' GROUP BY 1
),
states AS (
    SELECT sites.*, is_stalled, CASE
        WHEN is_running THEN 'running'
        WHEN paused THEN 'paused'
        WHEN due_at <= now() THEN 'queued'
        WHEN given_up THEN 'failed'
        WHEN due_at > now() THEN 'scheduled'
        ELSE 'done'
    END AS state
    FROM sitemap_harvest_sites AS sites LEFT JOIN jobs ON jobs.site = sites.id
)
"""
_STATUS = f"""{_WITH_STATES}
SELECT
    now() AS at,
    count(site) AS sites,
    count(*) FILTER (WHERE state = 'queued') AS queued,
    count(*) FILTER (WHERE state = 'running') AS running,
    count(*) FILTER (WHERE is_stalled) AS stalled,
    count(*) FILTER (WHERE state = 'scheduled') AS scheduled,
    count(*) FILTER (WHERE state = 'paused') AS paused,
    count(*) FILTER (WHERE state = 'failed') AS failed,
    coalesce(sum(crawls), 0)::bigint AS done,
    count(*) FILTER (WHERE ended_at > now() - interval '1 minute') AS last_minute,
    count(*) FILTER (WHERE ended_at > now() - interval '1 hour') AS last_hour,
    min(due_at) FILTER (WHERE state = 'queued') AS oldest_due,
    (SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat >= (SELECT since FROM silent)) AS workers,
    (SELECT count(*) FROM sitemap_harvest_parts WHERE job IS NOT NULL) AS parts_waiting,
    (SELECT count(*) FROM sitemap_harvest_parts WHERE reason IS NOT NULL) AS parts_failed
FROM silent LEFT JOIN states ON true
"""  # noqa: S608 - of constants
_SITES = f'{_WITH_STATES} SELECT site, state, due_at, result, reason FROM states ORDER BY site COLLATE "C", store'  # noqa: S608 - the same
_FAILED_SITES = f"""{_WITH_STATES}
SELECT site, state, due_at, result, reason FROM states WHERE {_HAS_FAILED} ORDER BY result, site COLLATE "C", store
"""  # noqa: S608 - the same
_FAILURES = f"SELECT result, count(*) AS sites FROM sitemap_harvest_sites WHERE {_HAS_FAILED} GROUP BY 1"  # noqa: S608 - the same
_SLOWEST_SITES = """
SELECT site, seconds FROM sitemap_harvest_sites WHERE seconds IS NOT NULL ORDER BY seconds DESC, site LIMIT %(slowest)s
"""


def _chosen(store: str, sites: Collection[str] | None) -> dict[str, Any]:
    return {"store": store, "sites": None if sites is None else list(sites), "failures": [*FailureKind]}


def _only(cursor: psycopg.Cursor[dict[str, Any]]) -> dict[str, Any]:
    """Return the only row of the result of a query that always has one."""
    (row,) = cursor.fetchall()
    return row


@contextmanager
def _naming(address: str, *, hint: str = "") -> Iterator[None]:
    """Raise :exc:`DatabaseError` that names the queue, and ends with the *hint*, for errors of the driver."""
    try:
        yield
    except DatabaseError as error:
        raise DatabaseError(without_login(f"queue {address}: {error}")) from error
    except psycopg.Error as error:
        words = str(error).strip().splitlines()
        raise DatabaseError(without_login(f"queue {address}: {words[0] if words else repr(error)}{hint}")) from error
