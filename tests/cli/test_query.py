from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sitemap_harvest.cli import output, query
from tests.cli.storing import command, made
from tests.cli.test_output import Terminal
from tests.snapshots.store.making import SITE, locs
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("query")
    made(path / "s")
    return path


def answer(folder: Path, sql: str, *options: str) -> list[dict[str, object]]:
    run = command("query", sql, "-O", "-:jsonl", *options, cwd=folder)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


@pytest.mark.parametrize(
    ("sql", "options", "expected"),
    [
        pytest.param("select count(*) as n from urls where lastmod > now() - interval 7 days", [], [7], id="recent"),
        pytest.param("select count(*) as n from urls", [], [40], id="last-snapshots"),
        pytest.param("select count(*) as n from urls", ["--at", "all"], [80], id="all-snapshots"),
        pytest.param("select count(*) as n from urls", ["--site", "a.example"], [20], id="one-site"),
        pytest.param("select loc as n from urls order by 1 limit 1", ["--at", "2026-11-02"], locs(1, start=1), id="at"),
        pytest.param("select distinct root as n from urls", ["--at", "previous"], [SITE], id="those-that-have-one"),
        pytest.param("select kind as n from changes order by all", [], ["added"] * 2 + ["removed"] * 2, id="changes"),
        pytest.param("select outcome as n from sitemaps", [], ["read", "read"], id="sitemaps"),
        pytest.param("select code as n from problems", [], [], id="problems"),
        pytest.param("select sum(added) as n from runs", [], [2], id="runs"),
        pytest.param("select runs as n from sites order by root", [], [3, 1], id="sites"),
    ],
)
def test_the_views_can_be_queried(folder: Path, sql: str, options: list[str], expected: list[object]) -> None:
    assert [row["n"] for row in answer(folder, sql, *options)] == expected


@pytest.mark.quick
def test_a_pipe_gets_all_rows_as_tsv(folder: Path) -> None:
    run = command("query", "select root, count(*) as urls from urls group by all order by root", cwd=folder)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == f"root\turls\n{SITE}\t20\nhttps://b.example\t20\n"
    many = command("query", "select i, repeat('x', 300) as long from range(2500) as r(i)", cwd=folder).stdout
    assert many.splitlines() == ["i\tlong", *(f"{number}\t{'x' * 300}" for number in range(2500))]


def shell(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run *command*, in which QUERY means a query with a million rows."""
    query = f"{sys.executable} -m scrapy harvest query --store s 'select i from range(1000000) as r(i)'"
    bash = ["bash", "-c", command.replace("QUERY", query)]
    return subprocess.run(bash, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)


def test_a_pipe_that_is_closed_early_ends_the_query_quietly(folder: Path) -> None:
    run = shell(folder, "QUERY | head -n 2; echo ${PIPESTATUS[0]}")
    assert (run.stdout, run.stderr) == ("i\n0\n0\n", "")


def test_a_redirection_gets_a_header_even_if_the_file_has_content(folder: Path) -> None:
    query = f"{sys.executable} -m scrapy harvest query --store s"
    run = shell(folder, f"(echo hi; {query} 'select 1 as a'; {query} 'select 2 as b, 3 as c' -o csv) > two.txt")
    assert (run.returncode, run.stderr) == (0, "")
    assert (folder / "two.txt").read_text().splitlines() == ["hi", "a", "1", "b,c", "2,3"]


def test_a_full_disk_is_reported_in_one_line(folder: Path) -> None:
    run = shell(folder, "QUERY > /dev/full")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.splitlines() == ["scrapy harvest query: standard output: No space left on device"]


def test_a_query_that_fails_leaves_the_previous_file(folder: Path) -> None:
    (folder / "kept.csv").write_text("before")
    run = command("query", "select 1 // (i - 5) as n, error('no') from range(9) as r(i)", "-o", "kept.csv", cwd=folder)
    assert (run.returncode, run.stdout, (folder / "kept.csv").read_text()) == (2, "", "before")
    assert [path.name for path in folder.iterdir() if path.name.endswith(".part")] == []


EACH_KIND = """select null as nothing, '' as empty, e'a\\tb\\nc\\\\d,"e"' as text,
    1.50 as money, sum(3) as whole, 'nan'::double as nan,
    true as yes, date '2026-01-02' as day, timestamp '2026-01-02 03:04:05' as local, [date '2026-01-02'] as days,
    {'a': 1.5::decimal(3, 1), 'b': null} as struct, map {1: 'x'} as map, interval 36 hour as span, encode('ü') as bytes,
    timestamptz '2026-01-02 03:04:05+01:00' as instant, 2 as yes"""


def test_each_format_has_each_kind_of_value(folder: Path) -> None:
    tsv = command("query", EACH_KIND, cwd=folder).stdout
    names, values, rest = tsv.split("\n")
    assert rest == ""
    assert dict(zip(names.split("\t"), values.split("\t"), strict=True)) == {
        "nothing": r"\N", "empty": "", "text": r'a\tb\nc\\d,"e"',
        "money": "1.50", "whole": "3", "nan": "nan", "yes": "true",
        "day": "2026-01-02", "local": "2026-01-02T03:04:05", "days": '["2026-01-02"]',
        "struct": '{"a": 1.5, "b": null}',
        "map": '{"1": "x"}', "span": "P0M0DT129600S", "bytes": "ü",
        "instant": "2026-01-02T02:04:05+00:00", "yes_2": "2",
    }  # fmt: skip
    (row,) = csv.DictReader(io.StringIO(command("query", EACH_KIND, "-o", "csv", cwd=folder).stdout))
    assert (row["nothing"], row["empty"], row["text"], row["days"]) == ("", "", 'a\tb\nc\\d,"e"', '["2026-01-02"]')
    (row,) = json.loads(command("query", EACH_KIND, "-o", "json", cwd=folder).stdout)
    assert row == {
        "nothing": None, "empty": "", "text": 'a\tb\nc\\d,"e"', "money": 1.5, "whole": 3, "nan": None, "yes": True,
        "day": "2026-01-02", "local": "2026-01-02T03:04:05", "days": ["2026-01-02"], "struct": {"a": 1.5, "b": None},
        "map": {"1": "x"}, "span": "P0M0DT129600S", "bytes": "ü", "instant": "2026-01-02T02:04:05+00:00", "yes_2": 2,
    }  # fmt: skip


def test_a_terminal_gets_the_first_rows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stdout", terminal)
    batches = [pa.RecordBatch.from_pydict({"n": list(range(start, start + 60))}) for start in (0, 60)]
    told: list[str] = []
    monkeypatch.setattr(output, "tell", told.append)
    query._show(iter(batches))
    assert terminal.getvalue().splitlines() == [" n", "━━", *(f"{number:2}" for number in range(100))]
    assert told == ["These are the first 100 rows. To get all, add -o rows.csv"]


def test_results_are_written_to_a_file(folder: Path) -> None:
    sql = "select loc, lastmod, alternates, 1.5 as half, date '2026-01-02' as day from urls where root like '%a.%'"
    for name in ("new/folder/q.csv", "q.parquet", "UPPER.PARQUET", "q.json"):
        run = command("query", sql, "-O", name, cwd=folder)
        assert (run.returncode, run.stderr) == (0, "20 rows\n")
    with (folder / "new" / "folder" / "q.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["loc"] for row in rows] == locs(20, start=2)
    assert {(row["half"], row["day"], row["alternates"]) for row in rows} == {("1.5", "2026-01-02", "")}
    for name in ("q.parquet", "UPPER.PARQUET"):
        schema = pq.read_schema(folder / name)
        assert (schema.field("lastmod").type, schema.field("day").type) == (pa.timestamp("us", "UTC"), pa.date32())
    assert json.loads((folder / "q.json").read_text())[0]["half"] == 1.5


def test_empty_results_name_their_columns(folder: Path) -> None:
    assert command("query", "select loc from urls where false", "-O", "-:csv", cwd=folder).stdout == "loc\n"
    run = command("query", "select loc from urls where false", "-O", "e.parquet", cwd=folder)
    assert pq.read_schema(folder / "e.parquet").names == ["loc"], run.stderr


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("copy urls to 'out.csv'", id="copy"),
        pytest.param("create table t as select * from urls", id="create"),
        pytest.param("attach 'x.db'", id="attach"),
        pytest.param("select 1; select 2", id="two"),
        pytest.param("", id="nothing"),
        pytest.param("set TimeZone = 'Asia/Tokyo'", id="setting"),
        pytest.param("install httpfs", id="extension"),
    ],
)
def test_the_store_is_read_only(folder: Path, sql: str) -> None:
    run = command("query", sql, cwd=folder)
    assert run.returncode == 2
    assert run.stderr == "scrapy harvest query: the query must be one SELECT statement: a store is read-only\n"
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize(
    "sql", ["select * from read_text('/etc/hostname')", "select * from glob('/etc/*')", "from 'q.csv'"]
)
def test_other_local_files_cannot_be_read(folder: Path, sql: str) -> None:
    run = command("query", sql, cwd=folder)
    assert run.returncode == 2
    assert run.stderr.startswith("scrapy harvest query: the query failed: ")


@pytest.mark.quick
def test_query_errors_name_the_available_views_and_columns(folder: Path) -> None:
    run = command("query", "select lastmood from urls", cwd=folder)
    assert run.returncode == 2
    assert '"lastmood" not found' in run.stderr
    assert '"lastmod"' in run.stderr
    assert "explain" not in run.stderr


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("yesterdayish", "'yesterdayish' is not a run; use latest, previous, first, a run ID, a date"),
        ("2020", "https://a.example: there is no snapshot from 2020 or earlier; the first is "),
    ],
    ids=["no-time", "too-early"],
)
def test_a_time_without_a_snapshot_is_reported_in_one_line(folder: Path, when: str, words: str) -> None:
    run = command("query", "select count(*) from urls", "--at", when, cwd=folder)
    assert (run.returncode, run.stderr.count("\n"), run.stdout) == (2, 1, "")
    assert words in run.stderr
