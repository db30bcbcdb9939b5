"""Runs over a site whose index has proved reliable: its sitemaps are not requested."""

from __future__ import annotations

from functools import partial
from shutil import copytree
from typing import TYPE_CHECKING

import pytest

from tests.documents import index, urlset
from tests.engine.run import Result, Web, harvest, session_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SITE = "https://www.example.com"
TOP = [f"{SITE}/robots.txt", f"{SITE}/index.xml"]
NAMES = [f"{SITE}/{number}.xml" for number in range(8)]


class ReliableSite:
    """A site whose index gives the date of each change of its sitemaps."""

    def __init__(self) -> None:
        self.days = dict.fromkeys(NAMES, 1)
        """The day of the last change of each sitemap, in January 2025; 0: the index gives none."""
        self.others: Web = {}
        """Other answers."""

    def change(self, *names: str) -> None:
        for name in names:
            self.days[name] += 1

    @property
    def web(self) -> Web:
        dates = {
            name: f"<lastmod>2025-01-{day:02}T00:00:00Z</lastmod>" if day else "" for name, day in self.days.items()
        }
        lists = {
            name: urlset("".join(f"<url><loc>{name}/{number}</loc></url>" for number in range(day + 1)))
            for name, day in self.days.items()
        }
        children = "".join(f"<sitemap><loc>{name}</loc>{date}</sitemap>" for name, date in dates.items())
        return {TOP[0]: f"Sitemap: {TOP[1]}".encode(), TOP[1]: index(children), **lists, **self.others}


def crawl(store: Path, site: ReliableSite, **arguments: str) -> Result:
    """Harvest *site* into *store*."""
    arguments = {"site": SITE, "emit": "urls,changes,sitemaps,sites", "store": str(store)} | arguments
    return harvest(site.web, session=session_of(arguments), **arguments)


@pytest.fixture(scope="module")
def earned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ReliableSite]:
    """Return the store of a site, and the site, whose index is trusted: it had 21 changes in three runs."""
    store, site = tmp_path_factory.mktemp("store"), ReliableSite()
    for run in range(4):
        assert crawl(store, site).requests == TOP + NAMES, f"run {run}: the index is not trusted yet"
        site.change(*NAMES[:7])
    assert crawl(store, site).requests == TOP + NAMES[:7]
    return store, site


@pytest.fixture
def trusted(earned: tuple[Path, ReliableSite]) -> ReliableSite:
    """Return the site whose index is trusted."""
    site = ReliableSite()
    site.days = dict(earned[1].days)
    return site


@pytest.fixture
def visit(earned: tuple[Path, ReliableSite], tmp_path: Path) -> Callable[..., Result]:
    """Return a function that harvests a site into a store in which its index is trusted."""
    copytree(earned[0], tmp_path / "store")
    return partial(crawl, tmp_path / "store")


def test_an_unchanged_index_that_is_trusted_spares_its_sitemaps(visit, trusted: ReliableSite) -> None:
    result = visit(trusted)
    assert (result.requests, result.sites, result.changes) == (TOP, {SITE: "found"}, set())
    assert len(result.urls) == sum(day + 1 for day in trusted.days.values())
    assert {result.records[name][0] for name in NAMES} == {"skipped"}


def test_only_the_sitemaps_with_another_date_are_requested(visit, trusted: ReliableSite) -> None:
    trusted.change(NAMES[3])
    result = visit(trusted)
    assert result.requests == [*TOP, NAMES[3]]
    assert {kind for kind, _ in result.changes} == {"added"}
    assert visit(trusted).requests == TOP


def test_a_sitemap_without_a_date_is_requested_in_each_run(visit, trusted: ReliableSite) -> None:
    trusted.days[NAMES[5]] = 0
    assert [visit(trusted).requests for _ in range(2)] == [[*TOP, NAMES[5]]] * 2


@pytest.mark.parametrize("status", [404, 500])
def test_a_sitemap_that_failed_last_time_is_requested_again(visit, trusted: ReliableSite, status: int) -> None:
    trusted.others = dict.fromkeys(NAMES[:2], status)
    trusted.change(NAMES[0])
    failed = visit(trusted, max_age="0")  # requests all of them
    assert (failed.requests, failed.changes) == (TOP + NAMES, set())
    trusted.others = {}
    result = visit(trusted)
    assert result.requests == TOP + NAMES[:2]
    assert {kind for kind, _ in result.changes} == {"added"}


def test_the_user_may_request_them_all(visit, trusted: ReliableSite) -> None:
    for arguments in ({"max_age": "0"}, {"force": "yes"}):
        assert visit(trusted, **arguments).requests == TOP + NAMES


def test_an_index_that_misses_a_change_is_not_trusted_any_more(visit, trusted: ReliableSite) -> None:
    web = dict(trusted.web)
    trusted.days[NAMES[7]] += 1
    site = ReliableSite()
    site.days = trusted.days
    site.others = {TOP[1]: web[TOP[1]]}  # the index of before
    assert visit(site).requests == TOP
    assert visit(site, max_age="0").records[NAMES[7]] == ("read", None)  # found when all are downloaded again
    assert visit(site).requests == TOP + NAMES
