"""Runs jobs in processes as a worker does, in a program that can be killed: ``python -m tests.jobs.process_program``.

Its argument is JSON, as :func:`tests.jobs.test_processes.program` writes it. It prints one JSON line for each job.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import sys
import time
from pathlib import Path

from sitemap_harvest.jobs.bounded import JobFailedError
from sitemap_harvest.jobs.processes import JobProcesses, LeaseEndedError
from sitemap_harvest.jobs.retries import FailureKind
from tests.waiting import wait_until

_BEAT_SECONDS = 0.1


def returns(value):
    return value


def pid():
    return str(os.getpid())


def fails_with_pid():
    raise JobFailedError(FailureKind.STORE, pid())


def fails():
    raise JobFailedError(FailureKind.STORE, "the store is full")


def raises():
    raise ValueError("a fault in the program")


def is_killed():
    os.kill(os.getpid(), signal.SIGKILL)


def exits():
    os._exit(3)


def sleeps(seconds):
    time.sleep(seconds)
    return "slept"


def needs(mebibytes):
    held = b"x" * (mebibytes << 20)
    time.sleep(600)
    return len(held)


def hangs(pid):
    _write_pid(pid)
    time.sleep(600)


def is_stuck(pid):
    """Hang in C, and keep Python's lock: no other thread can run."""
    _write_pid(pid)
    ctypes.PyDLL(None).sleep(600)


def writes(pid, file):
    """Append to *file* all the time."""
    _write_pid(pid)
    with Path(file).open("ab", buffering=0) as out:
        while True:
            out.write(b".")
            time.sleep(0.001)


def waits_for(pid, file):
    _write_pid(pid)
    while not Path(file).exists():
        time.sleep(0.01)
    return "it is there"


def _write_pid(path):
    Path(f"{path}.new").write_text(str(os.getpid()))
    Path(f"{path}.new").rename(path)


async def main(*, jobs, lease, memory, seconds, renews, loses, late, cancel_when, in_turn):  # noqa: PLR0913 - options
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, lambda: None)
    processes = JobProcesses(lease=lease, memory=memory << 20)
    processes.renew(set(), time.monotonic() - late)
    beats = asyncio.create_task(_beat(processes, renews, loses))
    if in_turn:
        for number, (target, *args) in enumerate(jobs):
            found = await _outcome(processes, number, globals()[target], args, seconds)
            sys.stdout.write(f"{json.dumps(found)}\n")
        jobs = []
    running = [
        asyncio.create_task(_outcome(processes, number, globals()[target], args, seconds))
        for number, (target, *args) in enumerate(jobs)
    ]
    if cancel_when:
        await asyncio.to_thread(wait_until, Path(cancel_when).exists)
        running[0].cancel()
    for found in await asyncio.gather(*running, return_exceptions=True):
        outcome = ["cancelled"] if isinstance(found, asyncio.CancelledError) else found
        sys.stdout.write(f"{json.dumps(outcome)}\n")
    assert not processes.running
    await processes.close()
    beats.cancel()


async def _beat(processes, renews, loses):
    while renews:
        await asyncio.sleep(_BEAT_SECONDS)
        is_lost = loses and os.path.exists(loses)  # noqa: ASYNC240, PTH110 - it takes microseconds
        processes.renew(set() if is_lost else {*processes.running}, time.monotonic())


async def _outcome(processes, number, target, args, seconds):
    try:
        return ["result", await processes.run((number, 0), target, *args, seconds=seconds)]
    except JobFailedError as error:
        return [error.kind, error.reason]
    except LeaseEndedError:
        return ["its lease has ended"]


if __name__ == "__main__":
    asyncio.run(main(**json.loads(sys.argv[1])))
