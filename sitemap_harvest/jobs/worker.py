"""``Worker``: takes jobs from the queue, and runs each in a process, until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import procrastinate
from procrastinate.exceptions import ConnectorException
from procrastinate.retry import BaseRetryStrategy, RetryDecision
from procrastinate.worker import Worker as ProcrastinateWorker

from sitemap_harvest.config.named_targets import is_site
from sitemap_harvest.display import counted
from sitemap_harvest.errors import DatabaseError, HarvestError
from sitemap_harvest.escape import visible
from sitemap_harvest.jobs.bounded import JobFailedError
from sitemap_harvest.jobs.held_jobs import HeldJobManager
from sitemap_harvest.jobs.job_process import (
    CrawlJob,
    CrawlResult,
    Split,
    check_store,
    crawl_block,
    crawl_site,
    write_table_part,
)
from sitemap_harvest.jobs.job_queue import CRAWL, CRAWL_BLOCK, QUEUE, WRITE_PART
from sitemap_harvest.jobs.processes import JobProcesses, LeaseEndedError
from sitemap_harvest.jobs.retries import FailureKind
from sitemap_harvest.jobs.site_jobs import SiteJobs
from sitemap_harvest.redact import without_login

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import psycopg
    from procrastinate.job_context import JobContext
    from procrastinate.jobs import Job

logger = logging.getLogger(__name__)

_CONNECT_SECONDS = 5
_MOST_SKEW_SECONDS = 600.0  # S3 refuses requests at 900
_TURN_SECONDS = 1.0  # between two looks at what is due
_BEATS = 6  # heartbeats in a lease
_MOST_ATTEMPTS = 10
_FORGOTTEN_SECONDS = 3600.0  # after which the row of a silent worker is removed


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """What a worker may use."""

    concurrency: int
    """Jobs at a time."""
    time_limit: float
    """Seconds of a job."""
    memory_limit: int
    """Bytes of the process of a job."""
    lease: float
    """Seconds without a sign of life after which other workers take over the jobs of a worker. All workers of a queue
    have the same."""
    grace: float
    """Seconds that a worker which is stopped gives to its running jobs."""
    until_idle: bool
    """Whether it ends when no job waits or runs, and no site is due."""
    settings: Mapping[str, str]
    """Settings of the crawls, as on the command line."""


class ClockError(HarvestError):
    """The clock of this machine is wrong."""


class LeaseError(HarvestError):
    """The other workers of the queue have another lease."""


class Worker:
    """One worker."""

    def __init__(self, address: str, options: WorkerOptions) -> None:
        """Prepare a worker for the queue at *address*."""
        self._address = address
        self._options = options
        self._processes = JobProcesses(lease=options.lease, memory=options.memory_limit)
        connector = procrastinate.PsycopgConnector(
            conninfo=address, configure=_prepare, min_size=1, max_size=4, timeout=_CONNECT_SECONDS,
            kwargs={"application_name": QUEUE, "connect_timeout": _CONNECT_SECONDS},
        )  # fmt: skip
        self._app = procrastinate.App(connector=connector)
        self._manager = self._app.job_manager = HeldJobManager(connector, self._processes.renew)
        self._sites = SiteJobs(self._manager)
        self._worker = _SignalledWorker(
            self._app, queues=[QUEUE], concurrency=options.concurrency, listen_notify=False, delete_jobs="always",
            fetch_job_polling_interval=_TURN_SECONDS, abort_job_polling_interval=_TURN_SECONDS,
            shutdown_graceful_timeout=options.grace, update_heartbeat_interval=_FORGOTTEN_SECONDS,
            stalled_worker_timeout=_FORGOTTEN_SECONDS,
        )  # fmt: skip
        self._checked_stores: set[str] = set()
        retry = _Requeue()
        self._app.task(name=CRAWL, pass_context=True, retry=retry)(self._crawl)
        self._app.task(name=CRAWL_BLOCK, pass_context=True, retry=retry)(self._crawl_block)
        self._app.task(name=WRITE_PART, pass_context=True, retry=retry)(self._write_part)

    async def run(self) -> None:
        """Work until a signal (SIGINT, SIGTERM) stops the worker, or it is idle and shall end then.

        Raises :exc:`DatabaseError` if the queue cannot be reached at the beginning, :exc:`ClockError` if the clock of
        this machine is wrong, and :exc:`LeaseError` if other workers have another lease.
        """
        try:
            await self._app.open_async()
        except ConnectorException as error:
            raise DatabaseError(without_login(f"queue {self._address}: {error.__cause__ or error}")) from error
        await self._check_clock()
        await self._check_lease()
        tasks = [asyncio.create_task(self._take_turns()), asyncio.create_task(self._beat())]
        for task in tasks:
            task.add_done_callback(lambda _: self._worker.end())
        try:
            await self._worker.run()  # type: ignore[no-untyped-call]  # procrastinate's
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await self._processes.close()
            await self._app.close_async()

    async def _check_clock(self) -> None:
        """Raise :exc:`ClockError` if the clock differs from that of the database: the times of runs would be wrong."""
        seconds = time.time() - await self._sites.database_time()
        if abs(seconds) > _MOST_SKEW_SECONDS:
            raise ClockError(
                f"the clock of this machine is {abs(seconds):.0f} seconds {'ahead of' if seconds > 0 else 'behind'} "
                "that of the database; set it, for example with NTP, and start the worker again"
            )

    async def _check_lease(self) -> None:
        """Raise :exc:`LeaseError` if other workers have another lease: they would take over jobs from each other."""
        own = self._options.lease
        if (theirs := await self._sites.agreed_lease(own)) != own:
            raise LeaseError(
                f"the other workers of this queue have a lease of {theirs:g} seconds, and this one of {own:g}; start "
                f"it with --lease {theirs:g}, or stop the others first (those that were killed count for {theirs:g} "
                "seconds)"
            )

    async def _beat(self) -> None:
        """Give signs of life, also while running jobs end: procrastinate gives none after a signal."""
        while True:
            await asyncio.sleep(self._options.lease / _BEATS)
            await self._manager.update_heartbeat(0)

    async def _take_turns(self) -> None:
        """Make jobs of what is due, and rescue the jobs of lost workers; return if the worker shall end."""
        rescued_at = -self._options.lease
        while True:
            if time.monotonic() - rescued_at > self._options.lease / 2:
                rescued_at = time.monotonic()
                await self._check_lease()  # two workers may have begun at the same moment
                if rescued := await self._manager.rescue([QUEUE], self._options.lease):
                    logger.warning("%s of lost workers put back into the queue", counted(rescued, "job"))
                await self._check_clock()
                await self._sites.free()
                await self._sites.balance()
            made = await self._sites.make_due()
            if self._options.until_idle and not made and await self._sites.is_idle():
                return
            await asyncio.sleep(_TURN_SECONDS)

    async def _crawl(self, context: JobContext, site: int) -> None:
        """Crawl the *site* with this id, and record the result."""
        if (row := await self._sites.load(site, context.job)) is None:
            return  # it was cancelled, an earlier attempt has recorded the result, or blocks use its host
        result = await self._result(context.job, row)
        if result.split is not None:
            if blocks := await self._sites.blocks.split(site, context.job, row, result.split):
                logger.info(
                    "%s: split into %s (%.1f s)", visible(row["site"]), counted(blocks, "block"), result.seconds
                )
            return
        if await self._sites.record(site, context.job, row, result):
            level = logging.INFO if result.failure is None else logging.WARNING
            words = ": ".join(filter(None, (row["site"], result.result, result.reason)))
            logger.log(level, "%s (%.1f s)", visible(words), result.seconds)

    async def _result(self, job: Job, row: Mapping[str, Any]) -> CrawlResult:
        """Return the result of the crawl of the site of *row* in a process."""
        started, last = time.monotonic(), row["result"]
        has_failed = bool(row["failures"])
        was_killed = has_failed and last in list(FailureKind) and FailureKind(last).leaves_checkpoints
        work = self._crawl_job(
            row,
            is_repeated=job.attempts > 0 or has_failed,
            may_resume=job.attempts > 0 or was_killed or row["was_split"],
            blocks=row["blocks"],
        )
        try:
            await self._check_store(row["store"])
            found: CrawlResult = await self._run(job, crawl_site, work)
        except JobFailedError as error:
            seconds = time.monotonic() - started
            return CrawlResult(failure=error.kind, result=error.kind, reason=error.reason, seconds=seconds)
        return found

    def _crawl_job(self, row: Mapping[str, Any], **values: Any) -> CrawlJob:
        """Return what the process needs to know of the site of *row*, and *values*."""
        return CrawlJob(
            name=row["name"],
            store=row["store"],
            site=row["site"],
            kind="site" if is_site(row["site"]) else "sitemap",
            arguments=row["arguments"],
            settings=self._options.settings,
            intervals=None if row["multiplier"] is None else (row["multiplier"], row["ceiling_days"]),
            **values,
        )

    async def _crawl_block(self, context: JobContext, site: int, number: int) -> None:
        """Crawl the block *number* of the *site* with this id. If that fails, the last crawl reads what is missing."""
        if (row := await self._sites.blocks.load(site, number, context.job)) is None:
            return  # the site was cancelled, an earlier attempt has ended it, or another crawl uses its host
        work, split = self._crawl_job(row, is_repeated=False, may_resume=False), Split(**row["split"])
        try:
            await self._check_store(row["store"])
            await self._run(context.job, crawl_block, work, split, number, row["attempts"])
        except JobFailedError as error:
            logger.warning("%s: block %d failed: %s", visible(row["site"]), number, visible(error.reason))
        await self._sites.blocks.record(site, number, context.job)

    async def _check_store(self, address: str) -> None:
        """Check the store at *address* once for all jobs. Raises :exc:`JobFailedError` if it cannot be used."""
        if address not in self._checked_stores:
            await asyncio.to_thread(check_store, address)
            self._checked_stores.add(address)

    async def _write_part(self, context: JobContext, part: int) -> None:
        """Write the *part* with this id of a table over all sites, and record the result."""
        if (values := await self._sites.load_part(part, context.job)) is None:
            return
        counts, reason = None, None
        try:
            counts = await self._run(context.job, write_table_part, values, self._options.settings)
        except JobFailedError as error:
            reason = error.reason
        await self._sites.record_part(part, context.job, counts, reason)
        words = f"{counts['rows']:,} rows of {counted(counts['sites'], 'site')}" if counts else visible(str(reason))
        level = logging.INFO if counts else logging.WARNING
        logger.log(level, "%s, part %d of %d: %s", values["table"], values["number"] + 1, values["parts"], words)

    async def _run(self, job: Job, target: Callable[..., Any], *args: Any) -> Any:
        """Return the result of *target* in a process for *job*.

        Raises :exc:`JobFailedError`, and :exc:`LeaseEndedError`: then another attempt follows, if *job* is still held.
        """
        assert job.id is not None  # noqa: S101 - for mypy: it comes from the database
        if job.attempts >= _MOST_ATTEMPTS:
            raise JobFailedError(FailureKind.LOST, f"each of {job.attempts} workers that ran it was lost or stopped")
        try:
            return await self._processes.run((job.id, job.attempts), target, *args, seconds=self._options.time_limit)
        except LeaseEndedError:
            logger.warning("A job begins again, because this worker was suspended or could not reach the queue")
            raise
        except (OSError, EOFError) as error:  # EOFError: the process that forks was killed
            words = f"its process cannot be started: {error}"
            raise JobFailedError(FailureKind.CRASHED, words) from error


class _SignalledWorker(ProcrastinateWorker):
    """Says at a signal that it ends soon: until its jobs have ended, nothing else would show that it was received."""

    def stop(self) -> None:
        """End because of a signal."""
        seconds = self.shutdown_graceful_timeout
        logger.info("The worker was stopped; it ends when its jobs have ended, or after %.0f s", seconds)
        self.end()

    def end(self) -> None:
        """End when all running jobs have ended."""
        super().stop()  # type: ignore[no-untyped-call]  # procrastinate's


class _Requeue(BaseRetryStrategy):
    """Requeues a job that its worker could not end. How others end is recorded elsewhere, with their retries."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:  # noqa: ARG002 - procrastinate's interface
        could_not_end = isinstance(exception, asyncio.CancelledError | LeaseEndedError)  # cancelled: it is stopped
        return RetryDecision() if could_not_end else None


async def _prepare(connection: psycopg.AsyncConnection[Any]) -> None:
    """Let PostgreSQL take the first job of the index instead of sorting all jobs, as it does without statistics.

    It then estimates the costs of other queries so high that it compiles them, which takes half a second each time.
    """
    await connection.execute("SET enable_sort = off")
    await connection.execute("SET jit = off")
    await connection.commit()
