from __future__ import annotations

import json
from pathlib import Path

import pytest

from sitemap_harvest.cli.runs import EPILOG
from sitemap_harvest.snapshots.store import SiteLocks, open_store
from sitemap_harvest.snapshots.store.cursors import Cursor, cursors, move
from tests import forked
from tests.cli.storing import B, command, made
from tests.snapshots.store.making import SITE, Making, listed

IDS = ["20261101T030000Z-000000", "20261102T030000Z-000001", "20261103T030000Z-000002"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made(tmp_path / "s")
    return tmp_path


def kept(folder: Path, site: str = SITE) -> list[str]:
    return [run.id for run in open_store(folder / "s").history(site).runs]


@pytest.mark.quick
def test_the_runs_of_all_sites_are_listed(folder: Path) -> None:
    run = command("runs", cwd=folder)
    assert (run.returncode, run.stderr) == (0, "")
    lines = [line.replace("│", "|").split("|") for line in run.stdout.splitlines()[2:]]
    assert [[cell.strip() for cell in line] for line in lines] == [
        [SITE, IDS[0], "2026-11-01 03:00:00", "60.0", "1", "20", "first", "yes"],
        [SITE, IDS[1], "2026-11-02 03:00:00", "60.0", "1", "20", "1 added, 1 removed", "yes"],
        [SITE, IDS[2], "2026-11-03 03:00:00", "60.0", "1", "20", "1 added, 1 removed", "yes"],
        [B, "20261104T030000Z-000000", "2026-11-04 03:00:00", "60.0", "1", "20", "first", "yes"],
    ]


@pytest.mark.parametrize("column", ["documents", "URLs", "changes", "complete", "rows"])
def test_the_help_explains_the_columns(column: str) -> None:
    text = EPILOG.partition("Exit codes")[0]
    assert f"{column} is " in text or f"{column} are " in text or f"{column} and URLs are " in text


def test_the_runs_of_a_site_are_listed_as_json(folder: Path) -> None:
    run = command("runs", "a.example", "--json", cwd=folder)
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert [(row["site"], row["run"], row["urls"], row["changes"]["added"]) for row in rows] == [
        (SITE, IDS[0], 20, 0),
        (SITE, IDS[1], 20, 1),
        (SITE, IDS[2], 20, 1),
    ]


def test_a_damaged_file_is_named(folder: Path) -> None:
    intact = command("runs", "--verify", cwd=folder)
    files = sum(path.suffix in {".parquet", ".gz"} for path in (folder / "s").rglob("*"))
    assert (intact.returncode, intact.stderr) == (0, f"{files} files of 2 sites match their checksums\n")
    path = next((folder / "s").rglob(f"{IDS[1]}/rows-*.parquet"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    run = command("runs", "--verify", "--prune", "1", cwd=folder)
    assert run.returncode == 4
    assert run.stderr == f"damaged: {path}: the checksum does not match\n"
    assert kept(folder) == IDS


def test_a_missing_file_is_named(folder: Path) -> None:
    path = next((folder / "s").rglob(f"{IDS[0]}/rows-*.parquet"))
    path.unlink()
    run = command("runs", "--verify", cwd=folder)
    assert run.returncode == 4
    assert f"damaged: {path}: " in run.stderr


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        pytest.param("2", IDS[1:], id="number"),
        pytest.param("9", IDS, id="more-than-there-are"),
        pytest.param("1min", IDS[2:], id="age-of-none"),
        pytest.param("9999w", IDS, id="age-of-all"),
    ],
)
def test_runs_are_dropped(folder: Path, rule: str, left: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    before = {run: listed(open_store(folder / "s").site(SITE).at(run)) for run in IDS}
    run = command("runs", SITE, "--prune", rule, cwd=folder)
    assert run.returncode == 0, run.stderr
    assert kept(folder) == left
    assert kept(folder, B) != []
    assert {run: listed(open_store(folder / "s").site(SITE).at(run)) for run in left} == {
        run: before[run] for run in left
    }
    words = {0: "", 1: f"{SITE}: 1 run was removed\n", 2: f"{SITE}: 2 runs were removed\n"}
    assert words[3 - len(left)] in run.stderr
    assert ("removed" in run.stderr) == (len(left) < 3)


def test_undelivered_runs_are_kept_until_the_consumer_is_dropped(folder: Path) -> None:
    move(open_store(folder / "s").history(SITE), Cursor("slow", IDS[1]))
    run = command("runs", "--prune", "1", cwd=folder)
    words = (
        f"the consumer slow has not received the changes after {IDS[1]} "
        "(if it no longer exists, add --drop-consumer slow)"
    )
    assert run.stderr == f"{SITE}: 1 older run is kept: {words}\n{SITE}: 1 run was removed\n"
    assert kept(folder) == IDS[1:]
    assert f"{SITE}: slow has received the changes up to {IDS[1]}\n" in run.stdout
    rows = [json.loads(line) for line in command("runs", SITE, "--json", cwd=folder).stdout.splitlines()]
    assert [row["consumers"] for row in rows] == [["slow"], []]
    run = command("runs", "--drop-consumer", "slow", "--prune", "1", cwd=folder)
    assert (run.returncode, run.stderr) == (0, f"{SITE}: 1 run was removed\n")
    assert (kept(folder), cursors(open_store(folder / "s").history(SITE))) == (IDS[2:], [])


@pytest.mark.quick
def test_runs_are_compacted(folder: Path) -> None:
    run = command("runs", "--pack", cwd=folder)
    assert run.returncode == 0, run.stderr
    assert kept(folder) == IDS
    tables = [file.table for file in open_store(folder / "s").history(SITE).manifest.files]
    assert sorted(tables) == sorted(set(tables))
    assert command("runs", "--verify", cwd=folder).returncode == 0


def test_a_site_that_another_run_has_locked_is_left_unchanged(folder: Path) -> None:
    store = open_store(folder / "s")
    claims = SiteLocks(store.folder, "20261105T030000Z-abcdef")
    claims.take(store.history(SITE).folder)
    run = command("runs", "--prune", "1", cwd=folder)
    claims.close()
    assert run.returncode == 4
    assert run.stderr == f"{SITE}: locked by the run 20261105T030000Z-abcdef; nothing was changed\n"
    assert kept(folder) == IDS


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(
            ["--store", "none"],
            "store 'none': no snapshot store exists there; a crawl makes one: sitemap-harvest crawl SITE --store none",
            id="no-store",
        ),
        pytest.param(["--store", "s", "c.example"], "c.example: the store has no snapshot of this site", id="no-site"),
        pytest.param(["--store", "s", "--prune", "0"], "--prune 0: it must be a number of runs to keep", id="none"),
        pytest.param(["--store", "s", "--prune", "old"], "--prune old: it must be", id="no-rule"),
        pytest.param(["--store", "s", "--drop-consumer", "x"], "--drop-consumer x: there is no such", id="no-consumer"),
        pytest.param(
            ["--store", "s", "--drop-consumer", "/x"], "--drop-consumer /x: it must be 1 to 64", id="bad-name"
        ),
        pytest.param([], "no store was given: add --store FOLDER", id="no-name"),
    ],
)
def test_usage_errors_are_reported_in_one_line(folder: Path, arguments: list[str], words: str) -> None:
    run = forked.scrapy("harvest", "runs", *arguments, cwd=folder)
    assert run.returncode == 2
    assert run.stderr.startswith(f"scrapy harvest runs: {words}")
    assert run.stderr.count("\n") == 1


def test_an_empty_store_has_no_runs(tmp_path: Path) -> None:
    open_store(tmp_path / "s", create=True)
    run = command("runs", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (3, "The store has no runs.\n")


def test_the_store_in_the_settings_is_used(folder: Path) -> None:
    run = forked.scrapy("harvest", "runs", "-s", f"SITEMAP_HARVEST_STORE={folder}/s", "--json", cwd=Path("/"))
    assert len(run.stdout.splitlines()) == 4


def test_a_run_that_left_out_sitemaps_that_were_not_due_says_so(tmp_path: Path) -> None:
    Making(tmp_path / "s").run({f"{SITE}/1.xml": ["/a"]}, complete=False, not_due=1234)
    run = command("runs", cwd=tmp_path)
    assert run.stdout.splitlines()[-1].endswith("no, 1,234 not due")
