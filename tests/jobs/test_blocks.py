"""Workers crawl one giant site in blocks, and store what one process stores, whatever fails."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack

import pytest

from sitemap_harvest.snapshots.store import open_store
from tests.jobs.commands import harvest, worker
from tests.jobs.network import Network
from tests.snapshots.contents import contents
from tests.waiting import wait_until

pytestmark = [pytest.mark.thorough, pytest.mark.service]
CHILDREN = 150
_FEWER = "from sitemap_harvest.engine import site_parts\nsite_parts.MOST_CHILDREN = 100\n"
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


class GiantSite(Network):
    """One site with so many sitemaps that it is split, of which some move, change and end in each version."""

    def __init__(self) -> None:
        super().__init__(1)
        self.documents: list[str] = []
        """The paths that were requested, in order."""
        self.hangs = False
        """Whether only the first 30 children are sent: fewer than one of 4 blocks has, so none of them ends."""

    @property
    def site(self) -> str:
        return self.sites[0]

    def children(self) -> list[int]:
        return [number for number in range(CHILDREN + self.version) if number % 50 or not self.version]

    def children_read(self) -> list[str]:
        return [path for path in self.documents if path.startswith("/child")]

    def _page(self, site: str, path: str) -> tuple[int, str]:
        self.documents.append(path)
        if self.hangs and len(self.children_read()) > 30:
            wait_until(lambda: not self.hangs)
        if path == "/index.xml":
            return 200, _index(site, [*(f"child-{number}" for number in self.children()), "nested"])
        if path == "/nested.xml":
            return 200, _index(site, ["child-n1", "child-n2"])
        if not path.startswith("/child") or not path.endswith(".xml"):
            return super()._page(site, path)
        name = path.removeprefix("/child-").removesuffix(".xml")
        pages = [name, f"{name}/{self.version if name.endswith('7') else 'page'}"]
        if name.endswith("3"):  # with the page of another one, in the second version
            pages.append(f"moved/{int(name) + 10 * self.version}")
        urls = "".join(f"<url><loc>{site}/{page}</loc></url>" for page in pages)
        return 200, f"<urlset {_NAMESPACE}>{urls}</urlset>"


def _index(site: str, names: list[str]) -> str:
    children = "".join(f"<sitemap><loc>{site}/{name}.xml</loc></sitemap>" for name in names)
    return f"<sitemapindex {_NAMESPACE}>{children}</sitemapindex>"


@pytest.fixture
def giant(tmp_path, monkeypatch):
    """Yield the site, for processes that split it with fewer children than usual."""
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "sitecustomize.py").write_text(_FEWER)
    path = os.pathsep.join([str(modules), *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setenv("PYTHONPATH", path)
    with GiantSite() as network:
        yield network


@pytest.fixture
def alone(giant, tmp_path):
    """Return what one process stores of the site in two versions."""
    for giant.version in range(2):
        harvest("crawl", giant.site, "--store", tmp_path / "alone")
    giant.version = 0
    giant.documents.clear()
    return contents(open_store(tmp_path / "alone").history(giant.site))


def is_done(sql):
    """Whether nothing is left. Sites that were held back get another turn at once."""
    sql("UPDATE sitemap_harvest_sites SET turn_at = now() WHERE turn_at > now()")
    return sql("SELECT count(*) FROM sitemap_harvest_sites WHERE due_at <= now() OR job IS NOT NULL") == [(0,)]


@pytest.mark.parametrize("place", ["disk", "bucket"])
def test_blocks_store_what_one_process_stores(giant, alone, place, address, sql, tmp_path, request):
    store = request.getfixturevalue("bucket") if place == "bucket" else tmp_path / "store"
    other = f"{giant.site}/child-other.xml"
    for giant.version in range(2):
        giant.documents.clear()
        harvest("jobs", "submit", giant.site, "--blocks", 4, "--store", store, "--queue", address)
        harvest("jobs", "submit", other, "--store", store, "--queue", address)
        logs = [tmp_path / f"{number}.log" for number in range(2)]
        with ExitStack() as stack:
            workers = [stack.enter_context(worker(log, "--queue", address, "--concurrency", 2)) for log in logs]
            wait_until(lambda: is_done(sql))
            for one in workers:
                one.signal(signal.SIGTERM)
                assert one.wait() == 0
        read = giant.children_read()
        place_of_other = read.index("/child-other.xml")
        assert place_of_other in {0, len(read) - 1}  # never while blocks run
        assert len(read) == len({*read}) == len(giant.children()) + 3
    assert sum(log.read_text().count("split into 4 blocks") for log in logs) == 2
    assert "failed" not in "".join(log.read_text() for log in logs)
    history = open_store(store).history(giant.site)
    assert contents(history) == alone
    assert len({run.job for run in history.runs}) == 2
    assert history.unfinished() == []


def test_a_site_in_blocks_needs_no_services(giant, alone, tmp_path):
    store = tmp_path / "store"
    for giant.version in range(2):
        harvest("jobs", "submit", giant.site, "--blocks", 2, "--store", store)
        harvest("jobs", "work", "--store", store, "--until-idle")
    assert contents(open_store(store).history(giant.site)) == alone


@pytest.mark.parametrize("what", ["worker", "process"])
def test_what_is_killed_while_blocks_run_loses_nothing(giant, alone, what, address, sql, tmp_path):
    """The blocks of a killed worker are begun again; the last job reads what a killed process has not read."""
    store = tmp_path / "store"
    options = ("--queue", address, "--concurrency", 2, "--lease", 15)
    harvest("jobs", "submit", giant.site, "--blocks", 4, "--store", store, "--queue", address)
    giant.hangs = True
    with worker(tmp_path / "first.log", *options) as first, worker(tmp_path / "other.log", *options) as other:
        wait_until(lambda: len(giant.children_read()) > 30 and len(first.processes()) == len(other.processes()) == 2)
        if what == "worker":
            first.signal(signal.SIGKILL, jobs=True)
        else:
            first.signal(signal.SIGKILL, itself=False, jobs=True)
        giant.hangs = False
        wait_until(lambda: is_done(sql))
        other.signal(signal.SIGTERM)
        assert other.wait() == 0
    assert {*giant.children_read()} == {f"/child-{name}.xml" for name in [*range(CHILDREN), "n1", "n2"]}
    logs = (tmp_path / "first.log").read_text() + (tmp_path / "other.log").read_text()
    assert logs.count("split into 4 blocks") == 1
    assert ("ended without a result" in logs) is (what == "process")
    history = open_store(store).history(giant.site)
    found = contents(history)
    assert found.pop("runs") == alone["runs"][:1]
    assert found == {name: alone[name] for name in ("documents 0", "urls 0")}
