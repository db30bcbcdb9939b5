"""Workers, as users start them: they crawl what one process crawls, each site once in a run."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pyarrow.parquet as pq
import pytest

from sitemap_harvest.audit.audit import Audit
from sitemap_harvest.diff import compare_each
from sitemap_harvest.jobs.address import queue_address
from sitemap_harvest.jobs.job_queue import JobQueue
from sitemap_harvest.model import FindingBatch
from sitemap_harvest.snapshots.store import open_store
from tests.jobs.commands import job_processes
from tests.jobs.network import Network
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = [pytest.mark.thorough, pytest.mark.service]
ROOT = Path(__file__).parents[2]
LONG = 900
PATIENT = ["--concurrency", "2", "-s", f"DOWNLOAD_TIMEOUT={LONG}"]
EMBEDDED, POSTGRESQL = "embedded", "postgresql"
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


class Machine:
    """Runs commands in a folder, with one store and one queue."""

    def __init__(self, folder, queue):
        self.folder = folder
        self.store = str(folder / "store")
        self._queue = queue
        self._options = ["--store", self.store, *(["--queue", queue] if queue else [])]

    @property
    def address(self):
        return queue_address(self._queue, self.store, {})

    def jobs(self, *arguments, code=0):
        """Run ``jobs`` with *arguments*; return its output and its messages."""
        return self.run("jobs", *arguments, *self._options, code=code)

    def run(self, *arguments, code=0):
        done = subprocess.run(
            _command(*arguments), cwd=self.folder, capture_output=True, text=True, check=False,
            timeout=PATIENCE_SECONDS, env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stdout, done.stderr

    @contextmanager
    def worker(self, *arguments):
        """Start a worker, and kill it at the end if it has not ended."""
        process = subprocess.Popen(
            _command("jobs", "work", *self._options, *arguments), cwd=self.folder, stderr=subprocess.PIPE, text=True,
            start_new_session=True, env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        try:
            yield process
        finally:
            process.kill()
            process.communicate(timeout=PATIENCE_SECONDS)

    def work(self, *arguments):
        """Work until nothing is left; return the log."""
        with self.worker("--until-idle", *arguments) as process:
            return ended(process)

    def sql(self, statement, *values):
        with psycopg.connect(self.address, autocommit=True) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else None

    def recorded(self, columns):
        return self.sql(f"SELECT {columns} FROM sitemap_harvest_sites ORDER BY id")

    def running(self):
        ((jobs,),) = self.sql("SELECT count(*) FROM procrastinate_jobs WHERE status = 'doing'")
        return jobs

    def make_due(self):
        self.sql("UPDATE sitemap_harvest_sites SET due_at = now(), turn_at = now()")


def _command(*arguments):
    return [sys.executable, "-m", "sitemap_harvest", *map(str, arguments)]


def ended(process):
    """Wait until a worker has ended; return its log."""
    _, log = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, log
    return log


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path, None)


def contents(store, sites):
    """Return what the runs in *store* have of each site: their number, results, changes, and the last URLs."""
    opened = open_store(store)
    found = {}
    for site in sites:
        history = opened.history(site)
        snapshots = [history.snapshot(run) for run in history.runs]
        changes = []
        for compared in compare_each(snapshots):
            with compared:
                rows = [row for batch in compared.batches() for row in batch.arrow.to_pylist()]
            changes.append([{name: row[name] for name in row if name not in {"run", "baseline"}} for row in rows])
        runs = [(run.result, run.complete, run.urls, dict(run.changes)) for run in history.runs]
        found[site] = (runs, changes, [row for batch in snapshots[-1].urls() for row in batch.to_pylist()])
    return found


def names(store, sites):
    """Return the names of the jobs of all runs, by site."""
    opened = open_store(store)
    return {site: [run.job for run in opened.history(site).runs] for site in sites}


@pytest.mark.parametrize("kind", [EMBEDDED, POSTGRESQL])
def test_two_workers_store_what_one_crawl_stores(tmp_path, kind, request):
    machine = Machine(tmp_path, request.getfixturevalue("address") if kind == POSTGRESQL else None)
    alone = tmp_path / "alone"
    with Network(40) as network:
        (tmp_path / "sites.txt").write_text("\n".join(network.sites))
        for version in range(2):
            network.version = version
            machine.jobs("submit", "sites.txt")
            with machine.worker("--until-idle") as one, machine.worker("--until-idle") as other:
                logs = ended(one) + ended(other)
            assert "was stopped" not in logs
            assert all(logs.count(f"{site}: found: ") == 1 for site in network.sites)
        assert {len(crawls) for crawls in network.requests.values()} == {2}
        assert network.overlapping() == {}
        for version in range(2):
            network.version = version
            machine.run("crawl", "sites.txt", "--store", alone)
    assert contents(machine.store, network.sites) == contents(alone, network.sites)
    owners = {site: str(owner) for site, owner in machine.recorded("site, owner")}
    found = names(machine.store, network.sites)
    assert all(len({*jobs}) == 2 for jobs in found.values())
    assert all(job.startswith(f"{owners[site]}/") for site, jobs in found.items() for job in jobs)
    assert {*machine.recorded("result, crawls, failures = '{}', job, due_at")} == {("found", 2, True, None, None)}


def test_a_worker_that_is_stopped_requeues_unfinished_jobs(machine):
    with Network(3, delay=LONG) as network:
        machine.jobs("submit", *network.sites)
        with machine.worker(*PATIENT) as worker:
            wait_until(lambda: machine.running() == 2)
            worker.send_signal(signal.SIGTERM)
            log = ended(worker)  # after 30 seconds
        assert "The worker was stopped; it ends when its jobs have ended, or after 30 s" in log
        assert machine.recorded("result, reason, failures") == [(None, None, {})] * 3
        states = "SELECT status::text, attempts, worker_id FROM procrastinate_jobs ORDER BY id"
        assert machine.sql(states) == [("todo", 1, None), ("todo", 1, None), ("todo", 0, None)]
        assert machine.sql("SELECT count(*) FROM procrastinate_workers") == [(0,)]
        network.delay = 0
        expected = {site: [name] for site, name in machine.recorded("site, owner || '/' || crawl")}
        machine.work()
        assert machine.recorded("result, crawls") == [("found", 1)] * 3
        assert names(machine.store, network.sites) == expected


def test_a_job_begins_again_after_its_worker_was_suspended(machine):
    """No other worker takes it, and it is no failure of the site."""
    with Network(1, delay=LONG) as network:
        machine.jobs("submit", *network.sites)
        with machine.worker("--until-idle", "--lease", "5", *PATIENT) as worker:
            wait_until(lambda: machine.running() and job_processes(worker.pid))
            worker.send_signal(signal.SIGSTOP)
            wait_until(lambda: not job_processes(worker.pid))
            network.delay = 0
            worker.send_signal(signal.SIGCONT)
            assert "A job begins again, because this worker was suspended" in ended(worker)
        assert machine.recorded("result, crawls, failures") == [("found", 1, {})]


def test_a_worker_with_another_lease_than_the_others_takes_no_jobs(machine):
    with Network(1, delay=LONG) as network:
        machine.jobs("submit", *network.sites)
        with machine.worker(*PATIENT):
            wait_until(machine.running)
            _, log = machine.jobs("work", "--lease", "5", code=2)
    assert "have a lease of 30 seconds, and this one of 5; start it with --lease 30, or stop the others first (" in log


def test_a_crawl_that_is_cancelled_is_stopped(machine):
    with Network(2, delay=LONG) as network:
        machine.jobs("submit", *network.sites)  # before the worker begins, which needs the queue
        with machine.worker(*PATIENT) as worker:
            wait_until(lambda: machine.running() == 2)
            _, told = machine.jobs("cancel", network.sites[0])
            assert told.endswith("1 site removed\n")
            wait_until(lambda: machine.sql("SELECT count(*) FROM procrastinate_jobs") == [(1,)])
            assert machine.recorded("site") == [(network.sites[1],)]
            machine.jobs("cancel", "--all")
            wait_until(lambda: machine.sql("SELECT count(*) FROM procrastinate_jobs") == [(0,)])
            worker.send_signal(signal.SIGTERM)
            assert "Traceback" not in ended(worker)
    assert open_store(machine.store).sites() == []


def test_wrong_settings_are_refused(machine):
    with Network(1) as network:
        machine.jobs("submit", *network.sites)
        machine.work("-s", "SITEMAP_HARVEST_MAX_URLS=many")
        ((result, reason, given_up, due_at),) = machine.recorded("result, reason, given_up, due_at")
        assert (result, given_up, due_at) == ("refused", True, None)
        assert "many" in reason
        assert not network.requests
        machine.jobs("retry", "--all")
        machine.work()
        assert machine.recorded("result, given_up") == [("found", False)]


def test_a_site_that_cannot_be_reached_is_tried_again(machine):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        site = f"http://127.0.0.1:{probe.getsockname()[1]}"
    machine.jobs("submit", site)
    for failures in (1, 2):
        machine.work()
        ((result, counted, given_up, minutes),) = machine.recorded(
            "result, failures, given_up, extract(epoch FROM due_at - ended_at)::float / 60"
        )
        assert (result, counted, given_up) == ("unreachable", {"unreachable": failures}, False)
        first = 4 ** (failures - 1)
        assert first <= minutes <= first * 1.25
        machine.make_due()


class LargeSite(Network):
    """One site with many sitemaps, the last of which do not respond at first."""

    hangs = True

    def __init__(self):
        super().__init__(1)
        self.documents = []

    def _answer(self, connection, host, path):
        if path == "/index.xml":
            locs = "".join(f"<sitemap><loc>http://{host}/{number}.xml</loc></sitemap>" for number in range(700))
            return 200, f"<sitemapindex {_NAMESPACE}>{locs}</sitemapindex>"
        status, text = super()._answer(connection, host, "/1.xml" if path.endswith(".xml") else path)
        if path.endswith(".xml"):
            self.documents.append(path)
            if self.hangs and int(path.removeprefix("/").removesuffix(".xml")) >= 600:
                wait_until(lambda: not self.hangs)
            text = text.replace(f"http://{host}/", f"http://{host}{path.removesuffix('.xml')}/")
        return status, text


def test_a_crawl_continues_after_its_time_has_ended(machine):
    with LargeSite() as network:
        (site,) = network.sites
        machine.jobs("submit", site)
        machine.work("--time-limit", "40s")
        assert machine.recorded("result, failures") == [("time", {"time": 1})]
        before = {*network.documents}
        network.documents.clear()
        network.hangs = False
        machine.make_due()
        machine.work()
        assert machine.recorded("result, failures, crawls") == [("found", {}, 2)]
        assert len(before & {*network.documents}) < 300  # those that were not in a checkpoint
        ((runs, _, urls),) = contents(machine.store, [site]).values()
        assert [run[:2] for run in runs] == [("found", True)]
        assert len(urls) == 700 * 3


class Archive(Network):
    """One site with some sitemaps."""

    def __init__(self):
        super().__init__(1)
        self.documents = []

    def _page(self, site, path):
        self.documents.append(path)
        if path == "/index.xml":
            locs = "".join(f"<sitemap><loc>{site}/{number}.xml</loc></sitemap>" for number in range(3))
            return 200, f"<sitemapindex {_NAMESPACE}>{locs}</sitemapindex>"
        return super()._page(site, "/1.xml" if path.endswith(".xml") else path)


def test_a_job_with_a_budget_does_not_request_sitemaps_that_are_not_due(machine):
    with Archive() as network:
        (site,) = network.sites
        machine.jobs("submit", site, "--every", "auto", "--budget", "10/day")
        machine.work()
        assert sorted(network.documents) == ["/0.xml", "/1.xml", "/2.xml", "/index.xml", "/robots.txt"]
        machine.sql("UPDATE sitemap_harvest_plans SET multiplier = 1000")  # so all intervals are the ceiling
        network.documents.clear()
        machine.make_due()
        machine.work()
        assert network.documents == ["/robots.txt", "/index.xml"]
        (first, second) = open_store(machine.store).site(site).runs
        assert [(run.result, run.complete, run.not_due) for run in (first, second)] == [
            ("found", True, None),
            ("found", False, 3),
        ]
        ((changes, days, is_observed),) = machine.recorded("changes, days, observed_at = ended_at")
        assert (changes, days > 0, is_observed) == (0, True, True)


TABLES = {"diff": "changes", "audit": "findings", "export": "urls"}


def test_tables_over_all_sites_are_those_of_single_commands(machine, tmp_path):
    with Network(5) as network:
        for version in range(2):
            network.version = version
            machine.jobs("submit", *network.sites)
            machine.work()
    store = open_store(machine.store)
    with machine.worker() as worker:
        found = {}
        for command, table in TABLES.items():
            machine.jobs(command, "--output", tmp_path / command, "--parts", "3")
            files = sorted((tmp_path / command).glob(f"{table}-*-of-0003.parquet"))
            assert len(files) == 3
            found[command] = [row for file in files for row in pq.read_table(file).to_pylist()]
        worker.send_signal(signal.SIGTERM)
        ended(worker)
    wanted = {command: [] for command in TABLES}
    for history in map(store.history, network.sites):
        wanted["export"] += [row for batch in history.latest().urls() for row in batch.to_pylist()]
        (changes,) = compare_each(map(history.snapshot, history.runs))
        with changes:
            wanted["diff"] += [row for batch in changes.batches() for row in batch.arrow.to_pylist()]
        with Audit(history.latest(), history, None, store=store) as audit:
            wanted["audit"] += FindingBatch.of(audit.findings()).arrow.to_pylist()
    for command in TABLES:
        assert sorted(map(repr, found[command])) == sorted(map(repr, wanted[command]))
        assert found[command]


def test_the_status_of_a_queue_without_services(machine):
    with Network(2) as network:
        machine.jobs("submit", *network.sites)
        before = json.loads(machine.jobs("status", "--json")[0])
        machine.work()
        after = json.loads(machine.jobs("status", "--json")[0])
    shown = ("sites", "queued", "running", "done", "workers")
    assert [before[name] for name in shown] == [2, 2, 0, 0, 0]
    assert [after[name] for name in shown] == [2, 0, 0, 2, 0]
    assert datetime.fromisoformat(after["at"]) <= datetime.now(UTC)


def test_sites_of_one_host_are_crawled_one_after_the_other(machine):
    with Network(1) as network:
        (site,) = network.sites
        documents = [f"{site}/1.xml?{number}" for number in range(4)]
        machine.jobs("submit", *documents)
        with JobQueue.open(machine.address) as queue:
            assert queue.status().sites == 4
        machine.work("--concurrency", "2")
    assert machine.recorded("crawls") == [(1,)] * 4
