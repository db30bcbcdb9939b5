"""Exports that are killed, that lose their server, or of which two run at once: nothing is there half, or twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sitemap_harvest.databases import store_export
from sitemap_harvest.databases.store_export import EXPORTS, StoreExport
from sitemap_harvest.errors import DatabaseError
from tests.databases.reading import run_query
from tests.databases.test_store_export import connected, export, queried, tables
from tests.snapshots.store.making import Making, locs
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from sitemap_harvest.snapshots.store import Store

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
SITES = ("https://a.example", "https://b.example", "https://c.example")
_BATCHES = 18  # of the new rows: five tables and the state, for each site
KILLED = """
import os, signal, sys
from sitemap_harvest.databases import store_export
from sitemap_harvest.snapshots.store import open_store
from sitemap_harvest.databases import Mode, open_database, parse_location

left = int(sys.argv[3])

def on_rows(_):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)

store_export._GROUP_SITES = 1
with open_database(parse_location(sys.argv[1], default=Mode.APPEND)) as database:
    done = store_export.StoreExport(database, on_rows=on_rows)
    done.check()
    for sites in done.export(open_store(sys.argv[2]).iter_histories()):
        pass
"""


@pytest.fixture
def new(tmp_path: Path) -> Making:
    """Return a store of three sites, each with two runs that were not exported."""
    making = Making(tmp_path / "store", compares=True)
    for start in range(2):
        for site in SITES:
            making.run({f"{site}/s.xml": locs(5, start=start)}, site=site)
    return making


@pytest.fixture
def making(tmp_path: Path, any_uri: str) -> Making:
    """Return a store of three sites, each with a run that was exported and a run that was not."""
    making = Making(tmp_path / "store", compares=True)
    for start in range(2):
        for site in SITES:
            making.run({f"{site}/s.xml": locs(5, start=start)}, site=site)
        if not start:
            export(any_uri, making.store)
    return making


def assert_each_site_is_whole(uri: str, store: Store, before: dict[str, list[str]]) -> int:
    """Assert that the rows of each site are those *before*, or the new ones; return how many have new ones."""
    after, found = queried(store), tables(uri)
    state = {row["root"]: row["run"] for row in run_query(uri, f"select * from {EXPORTS}")}
    new = {site for site in SITES if state[site] == store.site(site).runs[-1].id}
    for name, rows in found.items():
        wanted = [row for row in after[name] if _site(row) in new]
        wanted += [row for row in before[name] if _site(row) not in new]
        assert rows == sorted(wanted)
    return len(new)


def _site(row: str) -> str:
    values = json.loads(row)
    return str(values["root"] if "root" in values else values["site"])


@pytest.mark.parametrize("moment", [*range(0, _BATCHES, 2), _BATCHES - 1])
def test_a_killed_export_leaves_each_site_whole(any_uri: str, making: Making, moment: int) -> None:
    before = tables(any_uri)
    command = [sys.executable, "-c", KILLED, any_uri, str(making.store.folder), str(moment)]
    done = subprocess.run(command, cwd=ROOT, check=False, timeout=PATIENCE_SECONDS)
    assert done.returncode == -signal.SIGKILL
    if not any_uri.startswith("delta"):  # whose tables have a commit each
        assert_each_site_is_whole(any_uri, making.store, before)
    export(any_uri, making.store)
    assert assert_each_site_is_whole(any_uri, making.store, before) == len(SITES)


@pytest.mark.parametrize("moment", [0, 2, 5, 8])
def test_a_first_export_that_is_killed_continues(any_uri: str, new: Making, moment: int) -> None:
    command = [sys.executable, "-c", KILLED, any_uri, str(new.store.folder), str(moment)]
    done = subprocess.run(command, cwd=ROOT, check=False, timeout=PATIENCE_SECONDS)
    assert done.returncode == -signal.SIGKILL
    export(any_uri, new.store)
    assert tables(any_uri) == queried(new.store)


def test_an_exception_leaves_each_site_whole(any_uri: str, making: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_export, "_GROUP_SITES", 1)
    before, left = tables(any_uri), iter(range(8))

    def interrupt(_: int) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    with connected(any_uri) as database, pytest.raises(KeyboardInterrupt):
        list(StoreExport(database, on_rows=interrupt).export(making.store.iter_histories()))
    if not any_uri.startswith("delta"):
        assert assert_each_site_is_whole(any_uri, making.store, before) == 1
    export(any_uri, making.store)
    assert tables(any_uri) == queried(making.store)


@pytest.mark.parametrize("fixture", ["new", "making"])
def test_of_two_exports_at_once_one_waits_or_is_refused(
    any_uri: str, fixture: str, request: pytest.FixtureRequest
) -> None:
    making: Making = request.getfixturevalue(fixture)
    command = [sys.executable, "-m", "sitemap_harvest", "export", "--store", str(making.store.folder), any_uri]
    others: list[subprocess.Popen[str]] = []

    def start_another(_: int) -> None:
        if not others:
            others.append(subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True))

    with connected(any_uri) as database:
        done = StoreExport(database, on_rows=start_another)
        done.check()
        list(done.export(making.store.iter_histories()))
    (other,) = others
    _, told = other.communicate(timeout=PATIENCE_SECONDS)
    assert done.counts.sites == len(SITES)
    if other.returncode:
        assert any_uri.startswith(("duckdb", "delta"))
        assert ("lock" if any_uri.startswith("duckdb") else "another program has changed the table") in told
    elif not any_uri.startswith("delta"):
        assert told == "nothing new: 3 sites up to date\n"
    assert tables(any_uri) == queried(making.store)


@pytest.mark.service
def test_a_server_that_ends_the_connection_gives_one_error(server: str, making: Making, any_uri: str) -> None:
    if any_uri.startswith("postgresql"):
        before = tables(server)

        def end_connections(_: int) -> None:
            run_query(
                server, "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() "
                "and datname = current_database()"
            )  # fmt: skip

        lost = r"postgresql://\*{3}@.*terminating connection"
        with connected(server) as database, pytest.raises(DatabaseError, match=lost):
            list(StoreExport(database, on_rows=end_connections).export(making.store.iter_histories()))
        assert tables(server) == before
        export(server, making.store)
        assert tables(server) == queried(making.store)
