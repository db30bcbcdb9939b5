"""``HeldJobManager``: a worker ends only those jobs that it still holds, and survives a restart of the database."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.manager import JobManager

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Set as AbstractSet
    from datetime import datetime

    from procrastinate.connector import BaseConnector
    from procrastinate.jobs import Job, Status

logger = logging.getLogger(__name__)

HeldJob = tuple[int, int]
"""A job that a worker runs: its id, and the number of earlier attempts."""
_PAUSE_SECONDS = 1.0
_BEAT = """
WITH beat AS (UPDATE procrastinate_workers SET last_heartbeat = now() WHERE id = %(worker)s RETURNING id)
SELECT jobs.id, attempts FROM beat LEFT JOIN procrastinate_jobs AS jobs ON jobs.worker_id = beat.id AND status = 'doing'
"""
_HELD = "WHERE id = %(job)s AND attempts = %(attempts)s AND worker_id = %(worker)s AND status = 'doing'"
_END = f"DELETE FROM procrastinate_jobs {_HELD} RETURNING id"  # noqa: S608 - of constants
_END_ABORTED = f"DELETE FROM procrastinate_jobs {_HELD} AND abort_requested RETURNING id"  # noqa: S608 - of constants
_REQUEUE = f"""
UPDATE procrastinate_jobs SET status = 'todo', attempts = attempts + 1, worker_id = NULL, scheduled_at = NULL
{_HELD} AND NOT abort_requested RETURNING id
"""  # noqa: S608 - of constants
_LOST = """
WHERE status = 'doing' AND queue_name = ANY(%(queues)s) AND (worker_id IS NULL OR worker_id IN (
    SELECT id FROM procrastinate_workers WHERE last_heartbeat < now() - %(lease)s * interval '1 second'
))
"""
_RESCUE = f"""
UPDATE procrastinate_jobs SET status = 'todo', attempts = attempts + 1, worker_id = NULL, scheduled_at = NULL
{_LOST} AND NOT abort_requested RETURNING id
"""  # noqa: S608 - of constants
_END_LOST_ABORTED = f"DELETE FROM procrastinate_jobs {_LOST} AND abort_requested RETURNING id"  # noqa: S608 - of constants


class HeldJobManager(JobManager):
    """Executes the statements of a procrastinate worker.

    A worker that was suspended, or could not reach the database, has lost its jobs to others: it must not end them.
    The id of the worker and the number of attempts tell whether a job is still held. If the database cannot be
    reached, the statements are repeated until it can: otherwise a job whose end was not recorded would be held forever.
    """

    def __init__(self, connector: BaseConnector, on_beat: Callable[[AbstractSet[HeldJob], float], None]) -> None:
        """*on_beat* is called after each heartbeat with the jobs that are held, and the monotonic time before it."""
        super().__init__(connector)
        self._on_beat = on_beat
        self._worker = 0
        self._fetched: set[HeldJob] = set()
        self._unknown: AbstractSet[HeldJob] = set()

    async def register_worker(self) -> int:
        """Register the worker, and remember its id."""
        self._worker = await super().register_worker()
        return self._worker

    async def unregister_worker(self, worker_id: int) -> None:  # noqa: ARG002 - procrastinate's interface; a new id may have replaced it
        """Remove the row of the worker, if the database can be reached."""
        worker, self._worker = self._worker, 0
        with suppress(ConnectorException):
            await super().unregister_worker(worker)

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:  # noqa: ARG002 - the same
        """Return the next job; ``None`` if there is none, or the database cannot be reached."""
        try:
            job = await super().fetch_job(queues, self._worker)
        except UniqueViolation:  # another worker has just taken a job with the same lock
            return None
        except ConnectorException as error:
            await _wait_after(error)
            return None
        if job is not None:
            self._fetched.add(_key(job))
        return job

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:  # noqa: ARG002, FBT001 - procrastinate's interface; the row of the site has the result
        """Remove *job*, if it is still held: usually it was removed when its result was recorded."""
        await self.query(_END, **self.held(job))
        self._fetched.discard(_key(job))

    async def retry_job(
        self,
        job: Job,
        retry_at: datetime | None = None,  # noqa: ARG002 - procrastinate's interface: jobs are put back at once
        priority: int | None = None,  # noqa: ARG002 - the same
        queue: str | None = None,  # noqa: ARG002 - the same
        lock: str | None = None,  # noqa: ARG002 - the same
    ) -> None:
        """Put *job* back into the queue, if it is still held; remove it if its abortion was requested."""
        await self._requeue(**self.held(job))
        self._fetched.discard(_key(job))

    async def _requeue(self, **held: Any) -> None:
        await self.query(_REQUEUE, **held)
        await self.query(_END_ABORTED, **held)

    async def update_heartbeat(self, worker_id: int) -> None:  # noqa: ARG002 - procrastinate's interface
        """Write the time of the database as the sign of life of the worker, and compare the jobs that it holds."""
        if not self._worker:  # it is not registered yet, or not any more
            return
        asked_at = time.monotonic()
        try:
            rows = await self.connector.execute_query_all_async(_BEAT, worker=self._worker)
            if not rows and self._worker:  # it was silent for so long that its row was removed
                await self.register_worker()
        except ConnectorException as error:  # the processes end by themselves when the lease has ended
            await _wait_after(error)
            return
        held = {(row["id"], row["attempts"]) for row in rows if row["id"] is not None}
        self._on_beat(held, asked_at)
        await self._requeue_unknown(held)

    async def _requeue_unknown(self, held: AbstractSet[HeldJob]) -> None:
        """Put those of the jobs *held* back that this worker does not run, because the answer to its query was lost.

        A job that is only unknown at one heartbeat may be just on its way to the worker.
        """
        unknown = held - self._fetched
        for job, attempts in unknown & self._unknown:
            await self._requeue(job=job, attempts=attempts, worker=self._worker)
        self._unknown = unknown

    async def rescue(self, queues: Iterable[str], lease: float) -> int:
        """Put the jobs of workers back that have been silent for *lease* seconds; return how many there were.

        Those whose abortion was requested are removed.
        """
        values = {"queues": list(queues), "lease": lease}
        await self.query(_END_LOST_ABORTED, **values)
        return len(await self.query(_RESCUE, **values))

    def held(self, job: Job) -> dict[str, Any]:
        """Return the values ``job``, ``attempts`` and ``worker`` of a condition that *job* is still held."""
        return {"job": job.id, "attempts": job.attempts, "worker": self._worker}

    async def query(self, query: str, **values: Any) -> list[dict[str, Any]]:
        """Return the rows of *query*, which is repeated until the database can be reached."""
        while True:
            try:
                return await self.connector.execute_query_all_async(query, **values)
            except ConnectorException as error:
                await _wait_after(error)


def _key(job: Job) -> HeldJob:
    assert job.id is not None  # noqa: S101 - for mypy: it comes from the database
    return job.id, job.attempts


async def _wait_after(error: ConnectorException) -> None:
    """Wait before the next attempt if *error* means that the database cannot be reached; otherwise raise it."""
    if not isinstance(error.__cause__, psycopg.OperationalError | psycopg.InterfaceError):
        raise error
    logger.warning("The queue cannot be reached, and is tried again: %s", error.__cause__)
    await asyncio.sleep(_PAUSE_SECONDS)
