"""A process of jobs: it ends when its lease ends, when its worker dies, and when it needs too much memory."""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import os
import resource
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from multiprocessing import forkserver
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from scrapy.utils.reactor import install_reactor

from sitemap_harvest.escape import escape_log
from sitemap_harvest.jobs.retries import FailureKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection

RENEW = "lease"
"""The message of the worker that renews the lease."""
LEASE_ENDED = 75
"""The exit code of a process that ends with its lease."""
_LOOK_SECONDS = 1.0
_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"  # the one that Scrapy needs
_PR_SET_PDEATHSIG = 1  # of prctl(2)
_UNIT = 1 if sys.platform == "darwin" else 1024  # of the memory that the system reports


class JobFailedError(Exception):
    """A job has failed."""

    def __init__(self, kind: FailureKind, reason: str) -> None:
        super().__init__(kind, reason)  # so that it can be pickled
        self.kind = kind
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessBounds:
    """What ends a process of jobs."""

    lease: float
    """Seconds after a renewal of the lease."""
    remaining: float
    """Seconds of the lease that remain at the start of the process."""
    memory: int
    """Bytes that it may need at most."""


def run_jobs(connection: Connection, bounds: ProcessBounds) -> None:
    """Run the jobs that come from *connection*, one after the other, each a function and its arguments.

    The result of each goes back, or the :exc:`JobFailedError` that it raises. Any other exception ends the process.
    A function may be a coroutine function: Twisted's reactor runs all the time, because it can start only once.
    """
    _end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal of the worker, which ends its processes
    escape_log()
    install_reactor(_REACTOR)
    from twisted.internet import reactor as installed  # only now: importing it would install another one

    reactor: Any = installed
    loop: asyncio.AbstractEventLoop = reactor._asyncioEventloop  # noqa: SLF001 - it has no public name
    jobs: asyncio.Queue[tuple[Callable[..., Any], Sequence[Any]]] = asyncio.Queue()
    _Watch(connection, bounds, lambda job: loop.call_soon_threadsafe(jobs.put_nowait, job)).start()
    task = loop.create_task(_run_each(jobs, connection))
    reactor.run(installSignalHandlers=False)
    task.cancel()


async def _run_each(jobs: asyncio.Queue[tuple[Callable[..., Any], Sequence[Any]]], connection: Connection) -> None:
    while True:
        target, args = await jobs.get()
        try:
            result = target(*args)
            if inspect.isawaitable(result):
                result = await result
        except JobFailedError as error:
            result = error
        except BaseException:  # noqa: BLE001 - the log has it, and the worker begins with a new process
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        connection.send(result)


class _Watch(Thread):
    """Ends the process when its lease ends, its worker dies, or it needs too much memory."""

    def __init__(self, connection: Connection, bounds: ProcessBounds, begin: Callable[[Any], object]) -> None:
        """*begin* is called with each job that arrives."""
        super().__init__(daemon=True)
        self._begin = begin
        self._lock = Lock()
        self._connection = connection
        self._bounds = bounds
        self._ends_at = time.monotonic() + bounds.remaining
        signal.signal(signal.SIGCONT, self._continued)

    def run(self) -> None:
        try:
            while True:
                if self._connection.poll(max(0.0, min(_LOOK_SECONDS, self._ends_at - time.monotonic()))):
                    self._read()
                elif time.monotonic() >= self._ends_at and not self._connection.poll(0):  # a signal may end poll()
                    os._exit(LEASE_ENDED)
                if (size := resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT) > self._bounds.memory:
                    self._end_for_memory(size)
        except (EOFError, OSError):  # the worker has ended
            os._exit(1)

    def _read(self) -> None:
        """Read a message, which is there."""
        with self._lock:
            if (message := self._connection.recv()) == RENEW:
                self._ends_at = time.monotonic() + self._bounds.lease
        if message != RENEW:
            self._begin(message)

    def _end_for_memory(self, size: int) -> None:
        mebibytes, most = size >> 20, self._bounds.memory >> 20
        reason = f"it needed {mebibytes:,} MiB of memory, and may need {most:,}; --memory-limit sets another limit"
        self._connection.send(JobFailedError(FailureKind.MEMORY, reason))
        os._exit(1)

    def _continued(self, *_: object) -> None:
        """End the process if the lease has ended while it was suspended, before it does anything else."""
        with self._lock:  # a renewal is either still there, or was read and counts
            if time.monotonic() >= self._ends_at and not self._connection.poll(0):
                os._exit(LEASE_ENDED)


def _end_with_parent() -> None:
    """Let Linux kill this process when its parent dies, in case this process is not able to notice it.

    The parent is the forkserver. It lives as long as a process has the other end of a pipe, which the worker has and
    each of the processes inherits.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    server: Any = forkserver._forkserver  # noqa: SLF001 - there is no other way to this descriptor
    if (pipe := server._forkserver_alive_fd) is not None:  # noqa: SLF001 - the same
        os.close(pipe)
        server._forkserver_alive_fd = None  # noqa: SLF001 - the same
