"""Daily crawls of jobs with a budget: a sitemap is not requested before its own interval has passed."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from sitemap_harvest import open_store
from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.engine import site_snapshot, snapshot_session
from tests.documents import index, urlset
from tests.engine.run import Result, Web, harvest, session_of

if TYPE_CHECKING:
    from pathlib import Path

    from sitemap_harvest.snapshots.store import Run

SITE = "https://www.example.com"
TOP = [f"{SITE}/robots.txt", f"{SITE}/index.xml"]
NEWS, *OLD = (f"{SITE}/{name}.xml" for name in ("news", "a", "b", "c"))
ALL = [*TOP, NEWS, *OLD]
BEGAN = datetime(2026, 11, 1, 3, tzinfo=UTC)
LIMITS = 0.1, 15.0
QUIET = 12
"""Days without a change, after which the interval of a sitemap is the ceiling."""


class Crawls:
    """Crawls of one site into one store."""

    def __init__(self, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.day = 0.0
        self.limits: tuple[float, float] | None = LIMITS
        self.lists: dict[str, list[str]] = {NEWS: ["/n0"]} | {name: [f"{name[-5]}1", f"{name[-5]}2"] for name in OLD}
        """The paths that each sitemap lists."""
        self.lastmod: dict[str, str] = {}
        """The dates in the index."""
        self.others: Web = {}
        """Other answers."""
        self._store = str(store)
        crawls = self

        class Clock(datetime):
            @classmethod
            def now(cls, _zone: object = None) -> datetime:
                return crawls.now

        for module in (site_snapshot, snapshot_session):
            monkeypatch.setattr(module, "datetime", Clock)

    @property
    def now(self) -> datetime:
        return BEGAN + timedelta(days=self.day)

    @property
    def runs(self) -> tuple[Run, ...]:
        return open_store(self._store).site(SITE).runs

    @property
    def listed(self) -> set[str]:
        snapshot = open_store(self._store).site(SITE).latest()
        assert snapshot is not None
        return {loc.removeprefix(f"{SITE}/") for loc in snapshot.urls(["loc"]).read_all()["loc"].to_pylist()}

    @property
    def web(self) -> Web:
        children = "".join(
            f"<sitemap><loc>{name}</loc>{f'<lastmod>{date}</lastmod>' if (date := self.lastmod.get(name)) else ''}"
            "</sitemap>"
            for name in self.lists
        )
        lists = {
            name: urlset("".join(f"<url><loc>{SITE}/{path.strip('/')}</loc></url>" for path in paths))
            for name, paths in self.lists.items()
        }
        return {TOP[0]: f"Sitemap: {TOP[1]}".encode(), TOP[1]: index(children), **lists, **self.others}

    def crawl(self, *, options: HarvestSettings | None = None, **arguments: str) -> Result:
        """Crawl the site, and go on to the next day."""
        arguments = {"site": SITE, "emit": "changes,sitemaps,sites", "store": self._store} | arguments
        session = session_of(arguments, self.now, options=options, intervals=self.limits)
        result = harvest(self.web, session=session, options=options, at=self.now, **arguments)
        self.day += 1
        return result

    def publish(self) -> None:
        """Publish a new page in the news."""
        self.lists[NEWS] = [*self.lists[NEWS], f"/n{len(self.lists[NEWS])}"]

    def learn(self) -> None:
        """Crawl the site until only the news, which change each day, are requested."""
        for _ in range(QUIET):
            self.crawl()
            self.publish()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Crawls:
    return Crawls(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store after crawls that have shown how often the sitemaps of the site change."""
    folder = tmp_path_factory.mktemp("learned")
    with pytest.MonkeyPatch.context() as monkeypatch:
        Crawls(folder, monkeypatch).learn()
    return folder


@pytest.fixture
def known(site: Crawls, learned: Path, tmp_path: Path) -> Crawls:
    """Return the site after these crawls."""
    shutil.copytree(learned, tmp_path, dirs_exist_ok=True)
    for _ in range(QUIET):
        site.publish()
        site.day += 1
    return site


def changes(*results: Result) -> list[set[tuple[str, str]]]:
    return [{(kind, url.removeprefix(f"{SITE}/")) for kind, url in result.changes} for result in results]


def test_only_sitemaps_that_change_often_are_requested_until_the_ceiling(known: Crawls) -> None:
    requests = []
    for _ in range(QUIET, 30):
        requests.append(known.crawl().requests)
        known.publish()
    last_day = 10
    assert requests == [ALL if day == last_day + LIMITS[1] else [*TOP, NEWS] for day in range(QUIET, 30)]


def test_the_record_says_when_the_sitemap_is_requested_next(known: Crawls) -> None:
    result = known.crawl()
    outcomes = {url: outcome for url, (outcome, _) in result.records.items()}
    assert outcomes == {TOP[0]: "unchanged", TOP[1]: "unchanged", NEWS: "read"} | dict.fromkeys(OLD, "skipped")
    assert {result.records[url][1] for url in OLD} == {
        "not due yet: it changes about every 40 days, next request after 2026-11-26 03:00 UTC"
    }
    assert (result.sites, result.complete) == ({SITE: "found"}, set())
    assert known.listed == {"a1", "a2", "b1", "b2", "c1", "c2", *(f"n{number}" for number in range(QUIET + 1))}


def test_a_run_that_left_sitemaps_out_is_not_complete_but_says_how_many(known: Crawls) -> None:
    first = known.runs[0]
    assert (first.complete, first.not_due) == (True, None)
    known.crawl()
    assert (known.runs[-1].complete, known.runs[-1].not_due, known.runs[-1].changes["added"]) == (False, 3, 1)
    known.others[NEWS] = 503
    known.crawl()
    assert (known.runs[-1].complete, known.runs[-1].not_due) == (False, None)  # another one was not read


def test_other_crawls_request_all_sitemaps_and_keep_what_is_known(known: Crawls) -> None:
    known.limits = None
    assert known.crawl().requests == ALL
    known.limits = LIMITS
    assert known.crawl().requests == [*TOP, NEWS]


@pytest.mark.parametrize("arguments", [{"force": "yes"}, {"max_age": "0"}])
def test_the_user_may_request_them_all(known: Crawls, arguments: dict[str, str]) -> None:
    assert known.crawl(**arguments).requests == ALL


def test_a_date_in_the_index_that_is_new_is_a_reason_to_request_the_sitemap(known: Crawls) -> None:
    known.lastmod[OLD[0]] = "2026-11-12"
    known.lists[OLD[0]] = ["a1", "a2", "a3"]
    result = known.crawl()
    assert result.requests == [*TOP, NEWS, OLD[0]]
    assert ("added", "a3") in changes(result)[0]
    known.lastmod[OLD[1]] = "2026-11-13"
    known.crawl()
    assert known.crawl().requests[:3] == [*TOP, NEWS]


def test_dates_that_change_without_a_change_are_no_reason(site: Crawls) -> None:
    for _ in range(QUIET):
        site.lastmod = dict.fromkeys(site.lists, f"{site.now:%Y-%m-%d}")  # when the index was generated
        site.crawl()
    site.lastmod = dict.fromkeys(site.lists, f"{site.now:%Y-%m-%d}")
    assert site.crawl().requests == TOP


def test_a_sitemap_that_is_new_in_the_index_is_requested(known: Crawls) -> None:
    known.lists[f"{SITE}/d.xml"] = ["d1"]
    result = known.crawl()
    assert result.requests == [*TOP, NEWS, f"{SITE}/d.xml"]
    assert ("added", "d1") in changes(result)[0]


def test_a_sitemap_that_failed_is_requested_in_each_crawl(known: Crawls) -> None:
    known.others[OLD[1]] = 503
    known.crawl(max_age="0")
    known.others = {}
    assert known.crawl().requests == [*TOP, NEWS, OLD[1]]


def test_sitemaps_that_robots_txt_lists_have_intervals_too(site: Crawls) -> None:
    site.others[TOP[0]] = "\n".join(f"Sitemap: {name}" for name in site.lists).encode()
    for _ in range(QUIET):
        site.crawl()
    result = site.crawl()
    assert (result.requests, result.sites) == ([TOP[0]], {SITE: "found"})
    assert (site.runs[-1].not_due, site.runs[-1].urls) == (4, 7)


def test_the_sitemaps_of_an_index_that_fails_are_requested(known: Crawls) -> None:
    known.others[TOP[1]] = 503
    assert known.crawl().requests == ALL


def test_a_site_that_does_not_respond_is_not_found(known: Crawls) -> None:
    known.others = dict.fromkeys(ALL, None)
    result = known.crawl()
    assert set(ALL) <= set(result.requests)
    assert result.sites == {SITE: "unreachable"}
    assert known.listed >= {"a1", "b1", "c1"}


def test_a_url_that_moves_into_a_sitemap_that_is_not_due_is_not_removed(known: Crawls) -> None:
    known.crawl()
    known.lists[NEWS].remove("/n0")
    known.lists[OLD[0]] = ["a1", "a2", "n0"]
    results = [known.crawl() for _ in range(5)]
    assert "n0" in known.listed
    found = set().union(*changes(*results))
    assert found == {("moved", "n0")}
    assert sum(result.requests == ALL for result in results) == 1  # as the removal was pending


def test_a_url_that_moves_out_of_a_sitemap_that_is_not_due_is_not_removed(known: Crawls) -> None:
    known.crawl()
    known.lists[OLD[0]] = ["a1"]
    known.lists[NEWS].append("/a2")
    results = [known.crawl() for _ in range(25)]
    assert {kind for kind, _ in set().union(*changes(*results))} <= {"moved", "changed"}
    assert "a2" in known.listed


def test_a_removed_url_is_reported_once_all_sitemaps_were_requested(known: Crawls) -> None:
    known.crawl()
    known.lists[NEWS].remove("/n0")
    results = [known.crawl() for _ in range(5)]
    (last,) = [number for number, result in enumerate(results) if result.requests == ALL]
    assert changes(*results) == [{("removed", "n0")} if number == last else set() for number in range(5)]
    assert "n0" not in known.listed
    assert known.runs[last - 5].complete


def test_removals_do_not_wait_for_a_sitemap_that_fails_forever(known: Crawls) -> None:
    known.crawl()
    known.lists[NEWS].remove("/n0")
    known.others[OLD[2]] = 503
    results = [known.crawl() for _ in range(10)]
    days = [number for number, result in enumerate(results) if ("removed", f"{SITE}/n0") in result.changes]
    assert days == [7]
    tries = sum(OLD[2] in result.requests for result in results[: days[0] + 1])
    assert tries >= 3, "it may have moved there"


def test_a_removal_is_not_reported_in_the_crawl_that_leaves_sitemaps_out(known: Crawls) -> None:
    options = HarvestSettings(pending_days=0, pending_runs=0)
    known.crawl()
    known.lists[NEWS].remove("/n0")
    results = [known.crawl(options=options) for _ in range(3)]
    assert [result.requests for result in results] == [[*TOP, NEWS], ALL, [*TOP, NEWS]]
    assert changes(*results) == [set(), {("removed", "n0")}, set()]


def test_a_sitemap_that_the_index_lists_no_more_leaves_although_it_is_not_due(known: Crawls) -> None:
    known.crawl()
    del known.lists[OLD[2]]
    results = [known.crawl() for _ in range(5)]
    assert set().union(*changes(*results)) == {("removed", "c1"), ("removed", "c2")}
    assert known.listed & {"c1", "c2"} == set()
