"""A worker without processes: it takes jobs and ends them when a test says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from procrastinate.jobs import Status

from sitemap_harvest.jobs.held_jobs import HeldJobManager
from sitemap_harvest.jobs.job_process import CrawlResult, Split
from sitemap_harvest.jobs.job_queue import QUEUE
from sitemap_harvest.jobs.site_jobs import SiteJobs

if TYPE_CHECKING:
    import asyncio

    from procrastinate.connector import BaseConnector
    from procrastinate.jobs import Job

SPLIT = Split(blocks=2, run="20261122T014512Z-4f2a1c", postponed=[("https://a.example/index.xml", 1, [])])
OK = CrawlResult(failure=None, result="ok", run="run", is_complete=True, seconds=1.5)


class ManualWorker:
    """Calls what a worker calls, and waits for it."""

    def __init__(self, connector: BaseConnector, runner: asyncio.Runner) -> None:
        self._runner = runner
        self.beats: list[set[tuple[int, int]]] = []
        """The jobs that it held at each heartbeat."""
        self.manager = HeldJobManager(connector, lambda held, _: self.beats.append({*held}))
        self.sites = SiteJobs(self.manager)
        self.id = self.wait(self.manager.register_worker())

    def wait(self, awaitable: Any) -> Any:
        return self._runner.run(awaitable)

    def make_due(self) -> int:
        return int(self.wait(self.sites.make_due()))

    def fetch(self) -> Job | None:
        return self.wait(self.manager.fetch_job([QUEUE], self.id))  # type: ignore[no-any-return]

    def beat(self) -> None:
        self.wait(self.manager.update_heartbeat(self.id))

    def rescue(self, lease: float = 30) -> int:
        return int(self.wait(self.manager.rescue([QUEUE], lease)))

    def load(self, job: Job) -> dict[str, Any] | None:
        return self.wait(self.sites.load(job.task_kwargs["site"], job))  # type: ignore[no-any-return]

    def record(self, job: Job, result: CrawlResult = OK, row: dict[str, Any] | None = None) -> bool:
        """Record the result; *row*: what :meth:`load` returned, or ``None`` to load it now."""
        row = row or self.load(job)
        return row is not None and bool(self.wait(self.sites.record(job.task_kwargs["site"], job, row, result)))

    def split(self, job: Job, split: Split = SPLIT) -> int:
        """Record that the crawl of *job* has left blocks, and end it; return their number."""
        row = self.load(job)
        assert row is not None
        blocks: int = self.wait(self.sites.blocks.split(job.task_kwargs["site"], job, row, split))
        self.finish(job)
        return blocks

    def load_block(self, job: Job) -> dict[str, Any] | None:
        return self.wait(self.sites.blocks.load(job=job, **job.task_kwargs))  # type: ignore[no-any-return]

    def end_block(self, job: Job) -> bool:
        """Record that *job* has ended its block."""
        is_held = bool(self.wait(self.sites.blocks.record(job=job, **job.task_kwargs)))
        self.finish(job)
        return is_held

    def free(self) -> int:
        return int(self.wait(self.sites.free()))

    def finish(self, job: Job) -> None:
        self.wait(self.manager.finish_job(job, Status.SUCCEEDED, True))

    def requeue(self, job: Job) -> None:
        self.wait(self.manager.retry_job(job))

    def crawl(self, result: CrawlResult = OK) -> Job | None:
        """Do the next job completely; return it, or ``None`` if there is none."""
        if (job := self.fetch()) is not None:
            self.record(job, result)
            self.finish(job)
        return job
