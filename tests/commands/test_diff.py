from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.commands.storing import command, made
from tests.store.making import SITE, locs

FIRST, SECOND, LAST = "20261101T030000Z-000000", "20261102T030000Z-000001", "20261103T030000Z-000002"
ONE_DAY = [("removed", locs(1, start=1)[0]), ("added", locs(1, start=21)[0])]
TWO_DAYS = sorted(
    [*(("removed", loc) for loc in locs(2)), *(("added", loc) for loc in locs(2, start=20))], key=lambda it: it[1]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("diff")
    made(path / "s")
    return path


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        pytest.param([], ONE_DAY, id="the-last-against-the-one-before"),
        pytest.param(["latest", "2026-11-01"], TWO_DAYS, id="latest-and-a-day"),
        pytest.param(["2026-11-01", "latest"], TWO_DAYS, id="the-newer-is-decided-by-time"),
        pytest.param([LAST, FIRST], TWO_DAYS, id="ids"),
        pytest.param(["latest", "previous"], ONE_DAY, id="previous"),
    ],
)
def test_two_runs_are_compared(folder: Path, runs: list[str], expected: list[tuple[str, str]]) -> None:
    run = command("diff", SITE, *runs, "-O", "changes.csv", cwd=folder)
    assert run.returncode == 0, run.stderr
    with (folder / "changes.csv").open(newline="") as file:
        assert [(row["kind"], row["loc"]) for row in csv.DictReader(file)] == expected
    assert run.stdout == ""
    assert f"{SITE} since " in run.stderr


def test_a_run_is_compared_with_the_one_before_it(folder: Path) -> None:
    run = command("diff", SITE, SECOND, "-O", "-:jsonl", cwd=folder)
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert {(row["run"], row["baseline"]) for row in rows} == {(SECOND, FIRST)}


def test_changes_are_written_in_each_format(folder: Path) -> None:
    for name in ("c.parquet", "c.json", "c.xml"):
        assert command("diff", SITE, "-O", name, cwd=folder).returncode == 0
    assert pq.read_table(folder / "c.parquet").column("kind").to_pylist() == ["removed", "added"]
    assert [row["kind"] for row in json.loads((folder / "c.json").read_text())] == ["removed", "added"]
    assert (folder / "c.xml").read_text().count("<kind>") == 2
    assert not [path for path in folder.iterdir() if path.name.endswith(".part")]


def test_without_a_file_the_counts_and_the_first_changes_are_shown(folder: Path) -> None:
    run = command("diff", SITE, cwd=folder)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert lines[:2] == [f"{SITE} since {SECOND}: 1 added, 1 removed", "URLs: 20 before, 20 after, 19 unchanged"]
    assert [line.replace("│", " ").split()[:2] for line in lines[-2:]] == [list(pair) for pair in ONE_DAY]


def test_a_summary_is_one_record(folder: Path) -> None:
    run = command("diff", SITE, "--summary", "-O", "-:json", cwd=folder)
    (row,) = json.loads(run.stdout)
    assert (row["added"], row["removed"], row["unchanged"]) == (1, 1, 19)
    assert command("diff", SITE, "--summary", cwd=folder).stdout.count("\n") == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["c.example"], "c.example: the store has no snapshot of it", id="no-site"),
        pytest.param([SITE, "x"], "'x' names no run", id="no-run"),
        pytest.param([SITE, "latest", LAST], f"latest and {LAST} are the same run", id="the-same"),
        pytest.param([SITE, "first"], f"{SITE}: there is no run before {FIRST}", id="the-first"),
        pytest.param(["b.example"], "https://b.example: there is no run before", id="only-one"),
        pytest.param([SITE, "1", "2", "3"], "1 2 3: two runs are compared", id="three"),
        pytest.param([SITE, "-O", "c.nope"], "-O c.nope: its ending must be one of", id="no-format"),
        pytest.param([SITE, "-O", "no/where.csv"], "-O no/where.csv: ", id="no-folder"),
    ],
)
def test_wrong_usage_is_told_in_a_line(folder: Path, arguments: list[str], words: str) -> None:
    run = command("diff", *arguments, cwd=folder)
    assert run.returncode == 2
    assert run.stderr.startswith(f"scrapy harvest diff: {words}")
    assert run.stderr.count("\n") == 1
