"""The real command ``sitemap-harvest``, run as a process with an environment of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.services import lacking
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

COMMAND = (sys.executable, "-m", "sitemap_harvest")


def harvest(*arguments: object, variables: Mapping[str, str] | None = None) -> str:
    """Run the command; return what it writes to standard output. Fails if its exit code is not 0."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class WorkerProcess:
    """A process of ``jobs work`` in a process group of its own."""

    def __init__(self, log: Path, *arguments: object, variables: Mapping[str, str] | None = None) -> None:
        self.log = log
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                [*COMMAND, "jobs", "work", *map(str, arguments)],
                env={**os.environ, **(variables or {})},
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def processes(self) -> list[int]:
        """Return the ids of its processes that run jobs."""
        return job_processes(self.pid)

    def signal(self, number: int, *, itself: bool = True, jobs: bool = False) -> None:
        """Send the signal *number* to the worker, or to the processes of its jobs, or to both."""
        for pid in [*(self.processes() if jobs else []), *([self.pid] if itself else [])]:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue

    def stop(self) -> None:
        """Kill all that is left."""
        for number in (signal.SIGCONT, signal.SIGKILL):
            self.signal(number, jobs=True)
        self._process.wait()

    def wait(self) -> int:
        """Return its exit code when it has ended."""
        return self._process.wait(PATIENCE_SECONDS)


@contextmanager
def worker(log: Path, *arguments: object, variables: Mapping[str, str] | None = None) -> Iterator[WorkerProcess]:
    """Yield a running worker, which is killed at the end."""
    process = WorkerProcess(log, *arguments, variables=variables)
    try:
        yield process
    finally:
        process.stop()


_SLEEP = "import select, time\ntime.sleep = lambda seconds: select.select([], [], [], seconds)\n"


def wrong_clock(folder: Path, *, seconds: int) -> dict[str, str]:
    """Return the variables of a process whose clock is some *seconds* ahead."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    if library is None:
        lacking("libfaketime", "apt-get install faketime")
    modules = folder / "sleep"  # libfaketime refuses the call behind time.sleep() if the monotonic clock is right
    modules.mkdir()
    (modules / "sitecustomize.py").write_text(_SLEEP)
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME": f"+{seconds}s",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",  # a wrong clock does not change how long the system waits
        "PYTHONPATH": os.pathsep.join([str(modules), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }


def job_processes(worker: int) -> list[int]:
    """Return the ids of the processes that run jobs of a *worker*: the children of the process that forks them."""
    return [job for forking in _children(worker) for job in _children(forking)]


def _children(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]
