"""Workers, their processes, the database and the object store fail in turn; each job still stores exactly one run."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random

import psycopg
import pyarrow.parquet as pq
import pytest

from sitemap_harvest.errors import DatabaseError
from sitemap_harvest.jobs.job_queue import JobQueue
from sitemap_harvest.jobs.status import as_lines
from sitemap_harvest.snapshots.store import open_store
from tests.jobs.commands import WorkerProcess, harvest, worker, wrong_clock
from tests.jobs.network import Network
from tests.snapshots.store.making import Making
from tests.waiting import wait_until

pytestmark = [pytest.mark.thorough, pytest.mark.service]

SITES = int(os.environ.get("HARVEST_FAULT_SITES", "40"))
REFUSED_SECONDS = float(os.environ.get("HARVEST_REFUSED_SECONDS", "6"))
VERSIONS = 2
LEASE = 5.0
_STALL_SECONDS = 400  # without a job that ends, after which the test gives up
"""Long enough for the slowest retry, and for a machine with other work."""


class Gate:
    """Forwards connections to the object store, or refuses them."""

    def __init__(self, port: int) -> None:
        self._target = port
        self.is_open = True
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while self._listener.fileno() >= 0:  # until it is closed
            with suppress(OSError):
                client, _ = self._listener.accept()
                if not self.is_open:
                    client.close()
                    continue
                threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(("127.0.0.1", self._target)) as server:
            back = threading.Thread(target=self._copy, args=(server, client), daemon=True)
            back.start()
            self._copy(client, server)
            back.join()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while (data := source.recv(65_536)) and self.is_open:
                target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def gate(bucket, monkeypatch):
    """Put a gate in front of the object store."""
    gate = Gate(int(os.environ["AWS_ENDPOINT_URL"].rpartition(":")[2]))
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{gate.port}")
    yield gate
    gate.close()


class Fleet:
    """Three workers, which are started again when they end; the clock of one is nine minutes ahead."""

    def __init__(self, folder: Path, address: str) -> None:
        self._folder = folder
        self._arguments = ("--queue", address, "--concurrency", 2, "--lease", LEASE, "--time-limit", 60)
        self._wrong_clock = wrong_clock(folder, seconds=540)
        self.workers = [self._start(number) for number in range(3)]

    def _start(self, number: int) -> WorkerProcess:
        variables = self._wrong_clock if number == 2 else {}
        return WorkerProcess(self._folder / f"worker{number}.log", *self._arguments, variables=variables)

    def restart(self) -> None:
        """Start those again that have ended."""
        for number, one in enumerate(self.workers):
            if not one.is_running:
                one.stop()
                self.workers[number] = self._start(number)

    def stop(self) -> None:
        for one in self.workers:
            one.stop()


def _restart_database(address: str) -> None:
    """Restart the database at once: connections break, and transactions that have not ended are lost."""
    log = Path(f"/proc/{_postmaster(address)}/cwd").resolve()
    control = shutil.which("pg_ctl") or next(map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))))
    user, groups = (log.stat().st_uid, []) if os.getuid() == 0 else (None, None)
    subprocess.run(
        [control, f"--pgdata={log}", f"--log={log.parent}/log", "--mode=immediate", "--wait", "restart"],
        user=user, extra_groups=groups, cwd="/", check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _postmaster(address: str) -> int:
    with psycopg.connect(address) as connection:
        folder = connection.execute("SHOW data_directory").fetchone()[0]
    return int(Path(folder, "postmaster.pid").read_text().split()[0])


def _faults(fleet, gate, address, random):
    """Return what goes wrong, each as a function."""

    def some():
        return random.choice([one for one in fleet.workers if one.processes()] or fleet.workers)

    def suspend(one, **which):
        one.signal(signal.SIGSTOP, **which)
        time.sleep(LEASE * 1.5)
        one.signal(signal.SIGCONT, **which)

    def refuse():
        gate.is_open = False
        time.sleep(REFUSED_SECONDS)
        gate.is_open = True

    return [
        lambda: some().signal(signal.SIGKILL, jobs=True),
        lambda: some().signal(signal.SIGKILL),
        lambda: some().signal(signal.SIGKILL, itself=False, jobs=True),
        lambda: suspend(some()),
        lambda: suspend(some(), itself=False, jobs=True),
        lambda: suspend(some(), jobs=True),
        lambda: _restart_database(address),
        refuse,
    ]


def _work_while_it_fails(queue, fleet, faults):
    """Return when all jobs have ended. Each fault happens in its turn, when a share of the sites is done."""
    before, ended, changed_at, happening = queue().done, 0, time.monotonic(), []
    while True:
        status = queue()
        if status.done - before != ended:
            ended, changed_at = status.done - before, time.monotonic()
        if len(happening) < len(faults) and status.running and ended >= SITES * len(happening) // (len(faults) + 1):
            happening.append(threading.Thread(target=faults[len(happening)]))
            happening[-1].start()
        if not (status.queued or status.running or status.scheduled):
            break
        if status.failed or time.monotonic() - changed_at > _STALL_SECONDS:
            pytest.fail("\n".join(as_lines(status)))
        fleet.restart()
        time.sleep(0.2)
    for one in happening:
        one.join()
    assert len(happening) == len(faults)


def _status(address):
    """Return the state of the queue, as soon as the database answers."""
    for _ in range(100):
        try:
            with JobQueue.open(address) as queue:
                return queue.status()
        except DatabaseError:
            time.sleep(0.2)
    raise AssertionError("the database does not answer")


def test_each_job_stores_exactly_one_run_whatever_fails(address, bucket, gate, tmp_path):
    random, single = Random(21), tmp_path / "single"
    address += "?options=-csynchronous_commit%3Don"  # a restart loses no transaction, as with the usual configuration
    with Network(SITES, delay=0.2) as network, ExitStack() as stack:
        sites = tmp_path / "sites.txt"
        sites.write_text("\n".join(network.sites))
        fleet = Fleet(tmp_path, address)
        stack.callback(fleet.stop)
        for network.version in range(VERSIONS):
            network.requests.clear()
            harvest("jobs", "submit", sites, "--store", bucket, "--queue", address)
            faults = _faults(fleet, gate, address, random)
            _work_while_it_fails(lambda: _status(address), fleet, random.sample(faults, len(faults)))
            assert network.overlapping() == {}
            network.delay, before = 0.0, network.delay
            harvest("crawl", sites, "--store", single, "-s", "LOG_LEVEL=ERROR")
            network.delay = before
    for site in network.sites:
        runs, expected = open_store(bucket).site(site).runs, open_store(single).site(site).runs
        assert len({run.job for run in runs}) == VERSIONS
        assert [(run.result, run.urls, run.complete, run.changes) for run in runs] == [
            ("found", run.urls, True, run.changes) for run in expected
        ]


def test_a_table_is_complete_though_the_store_has_refused_for_a_while(address, bucket, gate, tmp_path):
    making = Making(bucket)
    sites = [f"https://{number}.example" for number in range(4)]
    for site in sites:
        making.run({f"{site}/s.xml": [f"{site}/1", f"{site}/2"]}, site=site)
    log, output = tmp_path / "log", tmp_path / "urls"
    options = ("--store", bucket, "--queue", address, "--output", output, "--parts", 2)
    with ThreadPoolExecutor() as pool:
        export = pool.submit(harvest, "jobs", "export", *options)
        wait_until(lambda: _status(address).parts_waiting == 2 or export.done())
        gate.is_open = False
        with worker(log, "--queue", address, "--concurrency", 2):
            wait_until(lambda: log.read_text().count("The store cannot be reached, and is tried again in 5 sec") == 2)
            gate.is_open = True
            export.result()
    rows = [row for file in sorted(output.glob("*.parquet")) for row in pq.read_table(file).to_pylist()]
    assert sorted(row["loc"] for row in rows) == [f"{site}/{page}" for site in sites for page in (1, 2)]


def test_a_worker_whose_clock_is_an_hour_wrong_takes_no_jobs(address, tmp_path):
    log = tmp_path / "log"
    with worker(log, "--queue", address, variables=wrong_clock(tmp_path, seconds=3600)) as one:
        assert one.wait() == 2
    assert "the clock of this machine is 3600 seconds ahead of that of the database; set it" in log.read_text()
