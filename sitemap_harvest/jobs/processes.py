"""``JobProcesses``: runs each job in a process that has no other job at that time.

A process is forked from one that has imported everything, and has some jobs, one after the other: Scrapy's start takes
as long as a small crawl. It ends when its worker dies, and when its lease ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sitemap_harvest.jobs.bounded import LEASE_ENDED, RENEW, JobFailedError, ProcessBounds, run_jobs
from sitemap_harvest.jobs.retries import FailureKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkServerProcess

_PRELOADED = "sitemap_harvest.jobs.preload"
_MOST_JOBS = 50  # of a process, so that what a job may leave does not add up
_SHARE = 0.8  # of the lease that a process uses: it ends before others may begin with its job


class LeaseEndedError(Exception):
    """A process has ended with its lease, because its worker was suspended or could not reach the queue."""


@dataclass(slots=True, eq=False)
class _Process:
    """A process of jobs."""

    process: ForkServerProcess
    connection: Connection
    jobs: int = 0
    """The jobs that it has had."""
    began_at: float = 0.0
    """When it got its last job, by the clock."""

    def renew(self) -> None:
        with contextlib.suppress(OSError):  # it has just ended
            self.connection.send(RENEW)


class JobProcesses:
    """The processes of a worker. A job is known by its id and its number of attempts."""

    def __init__(self, *, lease: float, memory: int, clock: Callable[[], float] = time.monotonic) -> None:
        """*lease*: in seconds, as in the queue. *memory*: the most bytes of a process. *clock*: returns seconds."""
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([_PRELOADED])
        self._lease = lease * _SHARE
        self._memory = memory
        self._clock = clock
        self._running: dict[tuple[int, int], _Process] = {}
        self._idle: list[_Process] = []
        self._renewed_at = clock()

    @property
    def running(self) -> AbstractSet[tuple[int, int]]:
        """The jobs that have a process."""
        return self._running.keys()

    def renew(self, held: AbstractSet[tuple[int, int]], asked_at: float) -> None:
        """Renew the lease of the processes of the jobs *held*, and kill those of others.

        *asked_at*: the time of the clock before the database was asked which jobs are held.
        """
        self._renewed_at = asked_at
        for job, one in self._running.items():
            if job in held:
                one.renew()
            elif one.began_at < asked_at:  # a later job may have been handed out after the answer was made
                one.process.kill()
        for one in self._idle:
            one.renew()

    async def run(self, job: tuple[int, int], target: Callable[..., Any], *args: Any, seconds: float) -> Any:
        """Return the result of *target* with *args* in a process, for *job*.

        Raises :exc:`JobFailedError`, and :exc:`LeaseEndedError`, which says nothing about the job. The process is
        killed after this number of *seconds*, and if the task that awaits it is cancelled.
        """
        one = self._idle_process() or await self._started()
        one.began_at = self._clock()
        one.jobs += 1
        self._running[job] = one
        result: Any = None
        try:
            async with asyncio.timeout(seconds):
                result = await _result(one, target, args)
        except TimeoutError:
            words = f"the time limit of {seconds:g} seconds was exceeded; --time-limit sets another one"
            raise JobFailedError(FailureKind.TIME, words) from None
        finally:
            del self._running[job]
            if isinstance(result, _Result) and result.may_go_on and one.jobs < _MOST_JOBS:
                self._idle.append(one)
            else:
                await _end(one)
        if isinstance(result.value, JobFailedError):
            raise result.value
        return result.value

    async def close(self) -> None:
        """End the processes that have no job."""
        while self._idle:
            await _end(self._idle.pop())

    def _idle_process(self) -> _Process | None:
        """Return a process without a job; ``None`` if there is none, or all have ended with their lease."""
        while self._idle:
            if (one := self._idle.pop()).process.is_alive():
                return one
            one.connection.close()
        return None

    async def _started(self) -> _Process:
        """Return a new process. Raises :exc:`OSError` and :exc:`EOFError` if it cannot be started."""
        ours, theirs = self._context.Pipe()
        remaining = self._lease - (self._clock() - self._renewed_at)
        bounds = ProcessBounds(lease=self._lease, remaining=remaining, memory=self._memory)
        process = self._context.Process(target=run_jobs, args=(theirs, bounds), daemon=True)
        one = _Process(process, ours)
        try:
            await asyncio.to_thread(process.start)
        except BaseException:
            await _end(one)
            raise
        theirs.close()  # so that the end of the process closes the connection
        return one


class _Result(NamedTuple):
    """What a job has returned, or the :exc:`JobFailedError` that it has raised."""

    value: Any

    @property
    def may_go_on(self) -> bool:
        """Whether its process can have another job."""
        return not isinstance(self.value, JobFailedError) or self.value.kind is not FailureKind.MEMORY


async def _end(one: _Process) -> None:
    """Kill the process *one*."""
    one.connection.close()
    if one.process.pid is not None:
        one.process.kill()
        await asyncio.shield(asyncio.to_thread(one.process.join))


async def _result(one: _Process, target: Callable[..., Any], args: Sequence[Any]) -> _Result:
    """Return the result of *target* in the process *one*.

    Raises :exc:`JobFailedError` or :exc:`LeaseEndedError` if it sends none.
    """
    loop, is_readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(one.connection.fileno(), is_readable.set)
    try:
        one.connection.send((target, args))
        await is_readable.wait()
        result = one.connection.recv()
    except (EOFError, OSError):
        await asyncio.to_thread(one.process.join, 1)
        if one.process.exitcode == LEASE_ENDED:
            raise LeaseEndedError from None
        words = f"its process ended without a result ({_how(one.process.exitcode)})"
        raise JobFailedError(FailureKind.CRASHED, words) from None
    finally:
        loop.remove_reader(one.connection.fileno())
    return _Result(result)


def _how(code: int | None) -> str:
    if code is None:
        return "it is being killed"
    return f"signal {-code}; the system may have had too little memory" if code < 0 else f"exit code {code}"
