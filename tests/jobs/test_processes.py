"""The process of a job ends with its job, its worker and its lease."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.thorough  # each needs a program that has imported Scrapy
ROOT = Path(__file__).parents[2]
SOME_TIME = 600
linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux kills the processes of a lost parent")


@contextmanager
def program(
    *jobs,
    lease=SOME_TIME,
    memory=2048,
    seconds=SOME_TIME,
    renews=True,
    loses=None,
    late=0,
    cancel_when=None,
    in_turn=False,
):
    """Start a program that runs *jobs*, each the name of a function with its arguments; kill it at the end."""
    given = {
        "jobs": jobs, "lease": lease, "memory": memory, "seconds": seconds, "renews": renews, "loses": loses,
        "late": late, "cancel_when": cancel_when, "in_turn": in_turn,
    }  # fmt: skip
    command = [sys.executable, "-m", "tests.jobs.process_program", json.dumps(given, default=str)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def outcomes(process):
    """Return what the jobs returned, or why they failed."""
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, err.decode()
    return [json.loads(line) for line in out.splitlines()]


def pid_in(path):
    """Return the id of the process that has written it to *path*."""
    wait_until(path.exists)
    return int(path.read_text())


def state(pid):
    """Return the state of a process as the system reports it, or ``None`` if it has ended."""
    try:
        found = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if found in "ZX" else found


def test_a_process_has_fifty_jobs_one_after_the_other():
    with program(*[["pid"] if number % 2 else ["fails_with_pid"] for number in range(51)], in_turn=True) as process:
        pids = [pid for _, pid in outcomes(process)]
    assert [pids.count(one) for one in dict.fromkeys(pids)] == [50, 1]


def test_how_a_job_ends():
    with program(
        ["returns", {"urls": 3}], ["fails"], ["raises"], ["is_killed"], ["exits"], ["needs", 700], memory=600
    ) as process:
        assert outcomes(process) == [
            ["result", {"urls": 3}],
            ["store", "the store is full"],
            ["crashed", "its process ended without a result (exit code 1)"],
            ["crashed", "its process ended without a result (signal 9; the system may have had too little memory)"],
            ["crashed", "its process ended without a result (exit code 3)"],
            ["memory", AnyMemory()],
        ]


class AnyMemory:
    """The reason of a job that needed too much memory."""

    def __eq__(self, other):
        needed, _, rest = other.removeprefix("it needed ").partition(" MiB")
        return int(needed) > 600 and rest == " of memory, and may need 600; --memory-limit sets another limit"

    __hash__ = None


def test_a_job_that_exceeds_its_time_is_killed(tmp_path):
    with program(["hangs", tmp_path / "pid"], seconds=1) as process:
        reason = "the time limit of 1 seconds was exceeded; --time-limit sets another one"
        assert outcomes(process) == [["time", reason]]
        if (tmp_path / "pid").exists():  # a busy machine may not have started it
            assert state(pid_in(tmp_path / "pid")) is None


ENDED = ["its lease has ended"]
KILLED = ["crashed", "its process ended without a result (signal 9; the system may have had too little memory)"]


def test_a_process_ends_when_its_lease_is_not_renewed(tmp_path):
    with program(["hangs", tmp_path / "pid"], lease=4, renews=False) as process:
        assert outcomes(process) == [ENDED]


def test_a_process_goes_on_while_its_lease_is_renewed():
    with program(["sleeps", 12], lease=10) as process:
        assert outcomes(process) == [["result", "slept"]]


def test_a_process_does_not_begin_after_the_lease_has_ended():
    with program(["sleeps", SOME_TIME], lease=60, renews=False, late=100) as process:
        assert outcomes(process) == [ENDED]


def test_the_process_of_a_job_that_is_not_held_is_killed(tmp_path):
    with program(["hangs", tmp_path / "pid"], loses=tmp_path / "pid") as process:
        assert outcomes(process) == [KILLED]


def test_a_cancelled_task_kills_its_process(tmp_path):
    with program(["hangs", tmp_path / "pid"], ["returns", 1], cancel_when=tmp_path / "pid") as process:
        assert outcomes(process) == [["cancelled"], ["result", 1]]
        assert state(pid_in(tmp_path / "pid")) is None


@pytest.mark.parametrize("target", ["hangs", pytest.param("is_stuck", marks=linux)])
def test_processes_end_with_a_worker_that_is_killed(tmp_path, target):
    with program([target, tmp_path / "1"], [target, tmp_path / "2"]) as process:
        pids = [pid_in(tmp_path / name) for name in "12"]
        process.kill()
        wait_until(lambda: not any(map(state, pids)))


def test_a_process_that_continues_after_its_lease_does_nothing_more(tmp_path):
    """Worker and process are suspended, as on a machine that sleeps."""
    with program(["writes", tmp_path / "pid", tmp_path / "written"], lease=10) as process:
        pid = pid_in(tmp_path / "pid")
        wait_until((tmp_path / "written").exists)
        for one in (process.pid, pid):
            os.kill(one, signal.SIGSTOP)
        wait_until(lambda: state(pid) == "T")
        written = (tmp_path / "written").read_bytes()
        time.sleep(10)  # the lease
        os.kill(pid, signal.SIGCONT)
        wait_until(lambda: state(pid) is None)
        assert (tmp_path / "written").read_bytes() in {written, written + b"."}  # it may have been in a write
        os.kill(process.pid, signal.SIGCONT)
        assert outcomes(process) == [ENDED]


def test_a_process_goes_on_after_a_suspension_if_its_lease_was_renewed(tmp_path):
    with program(["waits_for", tmp_path / "pid", tmp_path / "file"], lease=10) as process:
        pid = pid_in(tmp_path / "pid")
        os.kill(pid, signal.SIGSTOP)
        time.sleep(10)
        os.kill(pid, signal.SIGCONT)
        (tmp_path / "file").touch()
        assert outcomes(process) == [["result", "it is there"]]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_all_processes_of_a_worker_does_not_end_jobs(tmp_path, number):
    """As systemd and a terminal send it."""
    with program(["waits_for", tmp_path / "pid", tmp_path / "file"]) as process:
        pid_in(tmp_path / "pid")
        os.killpg(process.pid, number)
        (tmp_path / "file").touch()
        assert outcomes(process) == [["result", "it is there"]]
