"""Measure what a queue of many sites costs, and what jobs cost over one crawl of the same sites.

    python -m tests.benchmarks.jobs [queue] [crawls] [workers] [--sites 100000,1000000] [--crawls 300]

``queue`` submits many sites to a real PostgreSQL, and prints the seconds of each command, the milliseconds that it
takes to hand out a job and to end it with a full queue, and the sizes of the tables after 20,000 jobs. ``crawls``
crawls small sites on loopback as jobs, and with one ``crawl``; it prints the processor time of both, and of PostgreSQL.
``workers`` compares two workers with one. Quote the ratios of one run; seconds depend on the machine. All files are in
a temporary folder. The benchmark ends without intervention.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import procrastinate
import psycopg

from sitemap_harvest.jobs.job_queue import JobQueue, Plan
from sitemap_harvest.jobs.worker import _prepare
from tests.benchmarks.processes import ROOT
from tests.jobs.network import Network
from tests.jobs.workers import ManualWorker
from tests.services.postgresql import postgresql

if TYPE_CHECKING:
    from collections.abc import Callable

_PARTS = ("queue", "crawls", "workers")
_JOBS = 20_000
_PR_SET_CHILD_SUBREAPER = 36  # of prctl(2)
_STORE = "s3://bucket/store"
_TABLES = ("sitemap_harvest_sites", "procrastinate_jobs", "procrastinate_events")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=_PARTS, metavar="PART", help=f"of {', '.join(_PARTS)} (all)")
    parser.add_argument("--sites", default="100000,1000000", help="numbers of sites in the queue (100000,1000000)")
    parser.add_argument("--crawls", type=int, default=300, help="sites that are crawled (300)")
    parser.add_argument("--jobs", type=int, default=_JOBS, help=f"jobs that are handed out ({_JOBS})")
    options = parser.parse_args()
    for address in postgresql():
        if "queue" in options.parts:
            for sites in map(int, options.sites.split(",")):
                _drop(address)
                measure_queue(address, sites, options.jobs)
        if "crawls" in options.parts:
            _drop(address)
            measure_crawls(address, options.crawls)
        if "workers" in options.parts:
            measure_workers(address, options.crawls)


def _drop(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")


def measure_queue(address: str, sites: int, jobs: int) -> None:
    """Measure what users and workers do to a queue of so many *sites*."""
    pairs = [(f"https://www.site-{number}.example", f"www.site-{number}.example") for number in range(sites)]
    with JobQueue.open(address) as queue:
        _timed(f"{sites:,} sites: submit", lambda: queue.submit(Plan(store=_STORE, arguments={}), pairs))
        _timed("  status", queue.status)
        _timed("  submit again", lambda: queue.submit(Plan(store=_STORE, arguments={}), pairs))
        with asyncio.Runner() as runner:
            connector = procrastinate.PsycopgConnector(conninfo=address, configure=_prepare, min_size=1, max_size=1)
            runner.run(connector.open_async())
            _hand_out(ManualWorker(connector, runner), jobs)
            runner.run(connector.close_async())
        _timed("  status after these jobs", queue.status)
    with psycopg.connect(address, autocommit=True) as connection:
        for table in _TABLES:
            query = (
                "SELECT pg_size_pretty(pg_total_relation_size(relid)), n_live_tup, n_dead_tup, autovacuum_count "
                "FROM pg_stat_user_tables WHERE relname = %s"
            )
            row = connection.execute(query, [table]).fetchone()
            assert row is not None
            print(f"  {table}: {row[0]}, {row[1]:,} rows, {row[2]:,} dead, {row[3]} times vacuumed by itself")


def _hand_out(worker: ManualWorker, jobs: int) -> None:
    """Hand out so many *jobs* from a full queue, and end them."""
    _timed("  make jobs of those that are due", worker.make_due)
    _timed("  look again", worker.make_due)
    spent = {"fetch": 0.0, "load": 0.0, "record": 0.0, "finish": 0.0, "make_due": 0.0}

    def measured(name: str, call: Callable[..., Any], *arguments: Any) -> Any:
        started = time.perf_counter()
        found = call(*arguments)
        spent[name] += time.perf_counter() - started
        return found

    looked_at = time.monotonic()
    for _ in range(jobs):
        job = measured("fetch", worker.fetch)
        row = measured("load", worker.load, job)
        measured("record", lambda job=job, row=row: worker.record(job, row=row))
        measured("finish", worker.finish, job)
        if time.monotonic() - looked_at > 1:  # as workers do
            looked_at = time.monotonic()
            measured("make_due", worker.make_due)
    each = ", ".join(f"{name} {seconds / jobs * 1000:.2f}" for name, seconds in spent.items())
    print(f"  {sum(spent.values()) / jobs * 1000:.2f} ms a job ({each})", flush=True)


def measure_crawls(address: str, sites: int) -> None:
    """Measure the processor time of jobs, and that of one crawl of the same *sites*."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)  # orphans become children of this process, and count
    with tempfile.TemporaryDirectory() as name, Network(sites) as network:
        folder = Path(name)
        (folder / "sites.txt").write_text("\n".join(network.sites))
        crawl, _ = _ended([_started(folder, "crawl", "sites.txt", "--store", folder / "alone", "--nolog")])
        _submit(folder, address)
        before = _of_postgresql(address)
        jobs, seconds = _ended([_started(folder, *_work(folder, address, 2))])
        queue = _of_postgresql(address) - before
    more = (jobs + queue - crawl) / sites * 1000
    print(
        f"{sites} small sites: {crawl:.1f} s of processor time for one crawl; {jobs:.1f} s for jobs and {queue:.1f} s "
        f"of PostgreSQL, {more:.0f} ms more a site; {seconds:.1f} s"
    )


def measure_workers(address: str, sites: int) -> None:
    """Compare two workers with one, each with one crawl at a time."""
    found = []
    for workers in (1, 2):
        _drop(address)
        with tempfile.TemporaryDirectory() as name, Network(sites) as network:
            folder = Path(name)
            (folder / "sites.txt").write_text("\n".join(network.sites))
            _submit(folder, address)
            _ended([_started(folder, *_work(folder, address, 1)) for _ in range(workers)])
            with psycopg.connect(address) as connection:
                query = "SELECT extract(epoch FROM max(ended_at) - min(ended_at))::float FROM sitemap_harvest_sites"
                row = connection.execute(query).fetchone()
                assert row is not None
                found.append(row[0])
    print(
        f"{sites} sites: {found[0]:.1f} s with one worker, {found[1]:.1f} s with two: {found[0] / found[1]:.2f} times"
    )


def _submit(folder: Path, address: str) -> None:
    options = ["--store", folder / "store", "--queue", address]
    _ended([_started(folder, "jobs", "submit", "sites.txt", *options)])


def _work(folder: Path, address: str, concurrency: int) -> list[Any]:
    options = ["--store", folder / "store", "--queue", address, "--concurrency", concurrency]
    return ["jobs", "work", "--until-idle", *options, "--loglevel", "WARNING"]


def _started(folder: Path, *arguments: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sitemap_harvest", *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)


def _ended(processes: list[subprocess.Popen[bytes]]) -> tuple[float, float]:
    """Wait for *processes*; return their processor time with that of their children, and the time in seconds."""
    started = time.monotonic()
    before = os.times()
    for process in processes:
        if process.wait():
            sys.exit(f"{process.args} failed")
    with suppress(ChildProcessError):  # what the processes have left, such as the one that forks those of jobs
        while True:
            os.waitpid(-1, 0)
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system,
        time.monotonic() - started,
    )


def _of_postgresql(address: str) -> float:
    """Return the processor time of the server and of its processes, also of those that have ended."""
    with psycopg.connect(address) as connection:
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
        assert row is not None
        server = int(Path(f"/proc/{row[0]}/stat").read_text().rpartition(")")[2].split()[1])
        total = 0.0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                pid, _, rest = stat.read_text().partition(" (")
            except OSError:
                continue
            fields = rest.rpartition(")")[2].split()
            if int(pid) == server:
                total += sum(map(int, fields[11:15]))  # with its children that have ended
            elif int(fields[1]) == server:
                total += sum(map(int, fields[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def _timed(what: str, call: Callable[[], object]) -> None:
    started = time.perf_counter()
    call()
    print(f"{what}: {time.perf_counter() - started:.2f} s", flush=True)


if __name__ == "__main__":
    main()
