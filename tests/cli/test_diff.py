from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from sitemap_harvest.model import ChangeBatch
from sitemap_harvest.snapshots.store import open_store
from sitemap_harvest.snapshots.store.cursors import Cursor, cursor_of, move
from tests.cli.storing import command, made
from tests.snapshots.store.making import SITE, Making, locs

if TYPE_CHECKING:
    from pathlib import Path

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
        pytest.param(["2026-11-01"], TWO_DAYS, id="from-a-day-to-the-last"),
        pytest.param(["first"], TWO_DAYS, id="from-the-first-to-the-last"),
        pytest.param(["latest"], ONE_DAY, id="the-last"),
    ],
)
def test_two_runs_are_compared(folder: Path, runs: list[str], expected: list[tuple[str, str]]) -> None:
    run = command("diff", SITE, *runs, "-O", "changes.csv", cwd=folder)
    assert run.returncode == 0, run.stderr
    with (folder / "changes.csv").open(newline="") as file:
        assert [(row["kind"], row["loc"]) for row in csv.DictReader(file)] == expected
    assert run.stdout == ""
    assert f"{SITE} since " in run.stderr


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_without_changes_has_columns(tmp_path: Path, suffix: str) -> None:
    making = Making(tmp_path / "s")
    for _ in range(2):
        making.run({f"{SITE}/s.xml": locs(1)})
    run = command("diff", SITE, "-O", f"none.{suffix}", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    table = (pacsv.read_csv if suffix == "csv" else pq.read_table)(tmp_path / f"none.{suffix}")
    assert (table.num_rows, table.column_names) == (0, ChangeBatch.schema().names)


def test_an_age_is_compared_with_the_last_run(tmp_path: Path) -> None:
    making = Making(tmp_path / "s", every=timedelta(days=4))
    making.now = datetime.now(UTC) - timedelta(days=10)
    runs = [making.run({f"{SITE}/s.xml": locs(1, start=number)}).run.id for number in range(3)]  # 10, 6 and 2 days old

    def compared(age: str) -> tuple[str, str]:
        run = command("diff", SITE, age, "--summary", "-O", "-:jsonl", cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        summary = json.loads(run.stdout)
        return summary["baseline"], summary["run"]

    assert compared("7d") == (runs[0], runs[2])
    assert compared("72h") == (runs[1], runs[2])
    for age, words in (("1d", f"1d and latest are the same run, {runs[2]}"), ("2w", "at least 2w old; the first is")):
        run = command("diff", SITE, age, cwd=tmp_path)
        assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
        assert f"{SITE}: " in run.stderr
        assert words in run.stderr


def test_changes_are_written_in_each_format(folder: Path) -> None:
    for name in ("c.parquet", "c.json", "c.xml"):
        assert command("diff", SITE, "-O", name, cwd=folder).returncode == 0
    assert pq.read_table(folder / "c.parquet").column("kind").to_pylist() == ["removed", "added"]
    assert [row["kind"] for row in json.loads((folder / "c.json").read_text())] == ["removed", "added"]
    assert (folder / "c.xml").read_text().count("<kind>") == 2
    assert not [path for path in folder.iterdir() if path.name.endswith(".part")]


@pytest.mark.quick
def test_counts_and_the_first_changes_are_shown_without_a_file(folder: Path) -> None:
    run = command("diff", SITE, cwd=folder)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert lines[:2] == [f"{SITE} since {SECOND}: 1 added, 1 removed", "URLs: 20 before, 20 after, 19 unchanged"]
    assert lines[-6:] == [
        "Removed: 1",
        "  the sitemap was read completely and no longer lists the URL:",
        f"  {ONE_DAY[0][1]}",
        "",
        "Added: 1",
        f"  {ONE_DAY[1][1]}",
    ]


def test_a_summary_is_one_record(folder: Path) -> None:
    run = command("diff", SITE, "--summary", "-O", "-:json", cwd=folder)
    (row,) = json.loads(run.stdout)
    assert (row["added"], row["removed"], row["unchanged"]) == (1, 1, 19)
    shown = command("diff", SITE, "--summary", cwd=folder).stdout.splitlines()
    assert [line.replace("│", " ").split() for line in shown[2:]][-1:] == [["/p/", "1", "1"]]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param("first", [(SECOND, FIRST), (LAST, SECOND)], id="two-runs"),
        pytest.param("previous", [(LAST, SECOND)], id="the-last"),
        pytest.param("latest", [], id="none"),
    ],
)
def test_changes_since_a_run_are_written_run_by_run(folder: Path, after: str, expected: list[Any]) -> None:
    run = command("diff", SITE, "--after", after, "-O", "-:jsonl", cwd=folder)
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert [(row["run"], row["baseline"], row["kind"]) for row in rows] == [
        (*step, kind) for step in expected for kind in ("removed", "added")
    ]
    words = [f"{SITE} since {before}: 1 added, 1 removed" for _, before in expected]
    assert run.stderr.splitlines() == (words or [f"{SITE}: there is no run after {LAST}"])


def test_summaries_and_screen_output_cover_each_run_since(folder: Path) -> None:
    run = command("diff", SITE, "--after", "first", "--summary", "-O", "-:jsonl", cwd=folder)
    assert [json.loads(line)["run"] for line in run.stdout.splitlines()] == [SECOND, LAST]
    shown = command("diff", SITE, "--after", "first", cwd=folder).stdout
    assert [line for line in shown.splitlines() if " since " in line] == [
        f"{SITE} since {before}: 1 added, 1 removed" for before in (FIRST, SECOND)
    ]


def test_a_consumer_receives_undelivered_changes(folder: Path) -> None:
    def delivered(*arguments: str, output: str = "-:jsonl") -> list[str]:
        run = command("diff", SITE, "--consumer", "app", *arguments, "-O", output, cwd=folder)
        assert (run.returncode == 0) == (output == "-:jsonl"), run.stderr
        return [json.loads(line)["run"] for line in run.stdout.splitlines()]

    def cursor() -> Cursor | None:
        return cursor_of(open_store(folder / "s").history(SITE), "app")

    assert delivered("--after", "first", output="s/store.json/where.jsonl") == []
    assert cursor() is None
    assert delivered("--after", "previous") == [LAST] * 2
    assert cursor() == Cursor("app", LAST)
    assert delivered() == []
    assert delivered("--after", "first") == [SECOND] * 2 + [LAST] * 2
    assert cursor() == Cursor("app", LAST)


def test_reading_without_a_consumer_moves_no_cursor(folder: Path) -> None:
    move(open_store(folder / "s").history(SITE), Cursor("looks", SECOND))
    for arguments in ([], ["--summary"], ["--summary", "-O", "-:json"]):
        assert command("diff", SITE, "--consumer", "looks", *arguments, cwd=folder).returncode == 0
    assert cursor_of(open_store(folder / "s").history(SITE), "looks") == Cursor("looks", SECOND)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["c.example"], "c.example: the store has no snapshot of this site", id="no-site"),
        pytest.param([SITE, "x"], "'x' is not a run", id="no-run"),
        pytest.param([SITE, "latest", LAST], f"{SITE}: latest and {LAST} are the same run", id="the-same"),
        pytest.param(["b.example"], "https://b.example: there is only one snapshot, ", id="only-one"),
        pytest.param([SITE, "1", "2", "3"], "1 2 3: give at most two runs", id="three"),
        pytest.param([SITE, LAST, "--after", FIRST], f"{LAST}: runs cannot be combined with --after or", id="both"),
        pytest.param([SITE, "--after", "x"], "'x' is not a run", id="after-no-run"),
        pytest.param(
            [SITE, "--consumer", "new"], f"{SITE}: there is no consumer named new; to create it", id="no-consumer"
        ),
        pytest.param([SITE, "--consumer", "a b"], "--consumer a b: it must be 1 to 64 letters", id="bad-name"),
        pytest.param([SITE, "-O", "c.nope"], "output c.nope: the suffix must be one of", id="no-format"),
        pytest.param([SITE, "-O", "s/store.json/no.csv"], "output s/store.json/no.csv: the folder ", id="no-folder"),
    ],
)
def test_usage_errors_are_reported_in_one_line(folder: Path, arguments: list[str], words: str) -> None:
    run = command("diff", *arguments, cwd=folder)
    assert run.returncode == 2
    assert run.stderr.startswith(f"scrapy harvest diff: {words}")
    assert run.stderr.count("\n") == 1
