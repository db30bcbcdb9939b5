"""Daily runs into a store over a site without sitemaps: most of them do not search it again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from sitemap_harvest import open_store
from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.diff import compare
from sitemap_harvest.discovery.well_known import PAGES, WELL_KNOWN
from tests.documents import index, urlset
from tests.engine.run import Result, Web, harvest, session_of

if TYPE_CHECKING:
    from pathlib import Path

SITE = "https://www.example.com"
ROBOTS, HOME = f"{SITE}/robots.txt", f"{SITE}/"
PAGE = b"<html><body><p>Welcome</p></body></html>"
BARE: Web = {ROBOTS: b"User-agent: *\nDisallow: /admin/", HOME: PAGE}
LIST = urlset(f"<url><loc>{SITE}/a</loc></url>")
INDEX = index(f"<sitemap><loc>{SITE}/1.xml</loc></sitemap>")
SEARCH = [ROBOTS, *(f"{SITE}{path}" for path in (*WELL_KNOWN, "/", *PAGES))]
BRIEF = [ROBOTS, f"{SITE}/sitemap.xml"]
FIRST_DAY = datetime(2026, 11, 20, 3, 17, tzinfo=UTC)


@pytest.fixture
def visit(tmp_path: Path):
    """Return a function that harvests the site on a day, counted from 1, into one store."""

    def run(day: float, web: Web, *, options: HarvestSettings | None = None, **arguments: str) -> Result:
        arguments = {"site": SITE, "emit": "changes,sitemaps,sites", "store": str(tmp_path)} | arguments
        session = session_of(arguments, FIRST_DAY + timedelta(days=day - 1), options=options)
        return harvest(web, session=session, **arguments)

    return run


def test_a_site_without_sitemaps_is_searched_once_a_week(visit, tmp_path: Path) -> None:
    results = [visit(day, BARE) for day in (1, 2, 7, 8, 14, 15)]
    assert [result.requests for result in results] == [SEARCH, BRIEF, BRIEF, SEARCH, BRIEF, SEARCH]
    assert all((result.sites, result.changes) == ({SITE: "absent"}, set()) for result in results)
    history = open_store(str(tmp_path)).site(SITE)
    assert all(run.complete for run in history.runs)
    for snapshot in map(history.snapshot, history.runs):  # the tried paths stay in the ledger
        assert {row["url"] for row in snapshot.sitemaps().to_pylist() if row["left"] is None} == set(SEARCH)


def test_a_site_without_robots_txt_and_home_page_stays_no_site(visit) -> None:
    results = [visit(day, {}) for day in (1, 2, 8)]
    assert [result.requests for result in results] == [SEARCH, BRIEF, SEARCH]
    assert [result.sites for result in results] == [{SITE: "not-a-site"}] * 3


@pytest.mark.parametrize(
    ("web", "arguments", "days"),
    [
        pytest.param(BARE, {"force": "yes"}, 7, id="force"),
        pytest.param(BARE | {ROBOTS: b"User-agent: *\nDisallow: /x/"}, {}, 7, id="robots-txt-has-changed"),
        pytest.param({HOME: PAGE}, {}, 7, id="robots-txt-is-gone"),
        pytest.param(BARE, {}, 0, id="always"),
        pytest.param(BARE, {"browser": "always"}, 7, id="another-browser-mode"),
    ],
)
def test_a_site_is_searched_at_once_if_something_has_changed(
    visit, web: Web, arguments: dict[str, str], days: int
) -> None:
    visit(1, BARE)
    assert visit(2, web, options=HarvestSettings(search_again=days), **arguments).requests[:26] == SEARCH[:26]


def test_other_limits_and_a_clock_that_was_set_back_lead_to_a_search(visit) -> None:
    visit(1, BARE)
    assert visit(2, BARE, options=HarvestSettings(offsite="any")).requests == SEARCH
    assert visit(2, BARE, options=HarvestSettings(offsite="any")).requests == BRIEF
    assert visit(1.5, BARE, options=HarvestSettings(offsite="any")).requests == SEARCH


@pytest.mark.parametrize(
    ("new", "requests"),
    [
        pytest.param({ROBOTS: BARE[ROBOTS] + f"\nSitemap: {SITE}/new.xml".encode(), f"{SITE}/new.xml": LIST},
                     [ROBOTS, f"{SITE}/new.xml"], id="robots-txt"),
        pytest.param({f"{SITE}/sitemap.xml": LIST}, BRIEF, id="sitemap.xml"),
        pytest.param({f"{SITE}/sitemap.xml": INDEX, f"{SITE}/1.xml": LIST}, [*BRIEF, f"{SITE}/1.xml"], id="index"),
    ],
)  # fmt: skip
def test_a_sitemap_that_appears_is_read_at_once(visit, new: Web, requests: list[str]) -> None:
    assert visit(1, BARE).sites == {SITE: "absent"}
    second, third = visit(2, BARE | new), visit(3, BARE | new)
    assert (second.requests, second.sites, second.urls) == (requests, {SITE: "found"}, [])
    assert (third.requests, third.sites) == (requests, {SITE: "found"})


def test_a_sitemap_at_another_path_is_found_by_the_next_search(visit) -> None:
    with_list: Web = BARE | {f"{SITE}/wp-sitemap.xml": LIST}
    results = [visit(1, BARE), *(visit(day, with_list) for day in (7, 8, 15))]
    assert [result.sites[SITE] for result in results] == ["absent", "absent", "found", "found"]
    assert results[2].requests == SEARCH[:4]
    assert results[3].requests == [ROBOTS, f"{SITE}/wp-sitemap.xml"]  # what was found comes first, and ends the search


def test_the_urls_of_a_site_that_was_absent_for_long_are_added(visit) -> None:
    for day in (1, 2, 3):  # three runs that do not find /sitemap.xml
        visit(day, BARE)
    assert visit(4, BARE | {f"{SITE}/sitemap.xml": LIST}).changes == {("added", f"{SITE}/a")}


def test_a_site_whose_sitemap_is_missing_is_searched_in_each_run_while_its_urls_may_have_moved(visit) -> None:
    with_list: Web = BARE | {f"{SITE}/wp-sitemap.xml": LIST}
    assert visit(1, with_list).sites == {SITE: "found"}
    second, third = visit(2, BARE), visit(3, BARE)
    wanted = [url for url in SEARCH if url != f"{SITE}/wp-sitemap.xml"]
    assert second.requests == third.requests == [ROBOTS, f"{SITE}/wp-sitemap.xml", *wanted[1:]]
    assert (second.changes, third.changes) == (set(), set())
    moved = visit(4, BARE | {f"{SITE}/sitemaps.xml": LIST})
    assert (moved.sites, moved.changes) == ({SITE: "found"}, {("moved", f"{SITE}/a")})


def test_a_site_is_searched_again_after_its_sitemaps_have_left(visit) -> None:
    visit(1, BARE | {f"{SITE}/wp-sitemap.xml": LIST})
    days = [visit(day, BARE) for day in (2, 3, 4, 5, 6)]
    assert [day.changes for day in days] == [set(), set(), {("removed", f"{SITE}/a")}, set(), set()]
    assert [len(day.requests) for day in days] == [27, 27, 27, 2, 2]


@pytest.mark.parametrize("answer", [403, 500], ids=["blocked", "failed"])
def test_a_search_that_is_blocked_or_fails_is_repeated(visit, answer: int) -> None:
    web: Web = BARE | {f"{SITE}/wp-sitemap.xml": answer}
    first, second = visit(1, web), visit(2, web)
    assert first.sites == second.sites != {SITE: "absent"}
    assert first.requests == second.requests == SEARCH


def test_only_another_host_that_responds_is_searched(visit) -> None:
    other = "http://www.example.com"
    silent: Web = dict.fromkeys(SEARCH)
    web: Web = silent | {url.replace(SITE, other): body for url, body in BARE.items()}
    results = [visit(day, web) for day in (1, 2, 3)]
    brief = [ROBOTS, f"{other}/robots.txt", f"{other}/sitemap.xml"]
    assert (len(results[0].requests), results[1].requests, results[2].requests) == (28, brief, brief)
    assert [result.sites for result in results] == [{SITE: "absent"}] * 3
    assert visit(4, BARE).requests == [ROBOTS, f"{other}/robots.txt", *SEARCH[1:]]


def test_a_failing_robots_txt_does_not_repeat_the_search_and_is_never_absence(visit) -> None:
    visit(1, BARE)
    second = visit(2, BARE | {ROBOTS: 500})
    assert (second.requests, second.sites) == (BRIEF, {SITE: "unreachable"})
    third = visit(3, BARE | {f"{SITE}/sitemap.xml": 403})
    assert (third.requests, third.sites) == (BRIEF, {SITE: "blocked"})
    assert (visit(4, BARE).requests, visit(8, BARE).requests) == (BRIEF, SEARCH)


def test_a_listed_sitemap_that_cannot_be_read_is_requested_in_each_run(visit) -> None:
    web: Web = {ROBOTS: f"Sitemap: {SITE}/listed.xml".encode(), f"{SITE}/listed.xml": 403, HOME: PAGE}
    first, second = visit(1, web), visit(2, web)
    assert (len(first.requests), first.sites) == (28, {SITE: "blocked"})
    assert (second.requests, second.sites) == ([ROBOTS, f"{SITE}/listed.xml", *BRIEF[1:]], {SITE: "blocked"})
    third = visit(3, web | {f"{SITE}/listed.xml": LIST})
    assert (third.requests, third.sites) == ([ROBOTS, f"{SITE}/listed.xml"], {SITE: "found"})


def test_probed_paths_are_no_sitemaps_that_come_and_leave(visit, tmp_path: Path) -> None:
    for web in (BARE, BARE | {f"{SITE}/sitemap.xml": LIST}, BARE | {f"{SITE}/sitemap.xml": LIST}):
        visit(1, web)
    history = open_store(str(tmp_path)).site(SITE)
    first, second, third = map(history.snapshot, history.runs)
    with compare(first, second) as opened, compare(second, third) as unchanged:
        assert (opened.summary.sitemaps_came, opened.summary.sitemaps_left) == ((f"{SITE}/sitemap.xml",), ())
        assert (unchanged.summary.sitemaps_came, unchanged.summary.sitemaps_left) == ((), ())


def test_a_run_that_stops_early_or_requests_only_feeds_does_not_replace_the_search(visit) -> None:
    visit(1, BARE)
    assert visit(2, BARE, feeds_only="yes").requests == []
    assert visit(3, BARE).requests == BRIEF
    assert visit(8, BARE, feeds_only="yes").requests == []
    assert visit(9, BARE).requests == SEARCH
