from __future__ import annotations

import pytest

from sitemap_harvest import FoundBy, Kind, Outcome, SitemapRecord
from sitemap_harvest.snapshots.removal import is_overdue, is_settled

SITE = "https://example.com"
ROBOTS, INDEX, SITEMAP, OTHER = (f"{SITE}/{name}" for name in ("robots.txt", "index.xml", "a.xml", "b.xml"))
SINCE, LATER = "20261121T000000Z-000000", "20261122T000000Z-000000"
LISTS = {ROBOTS: [INDEX], INDEX: [SITEMAP]}


def row(url: str, fresh_run: str | None = LATER, **values) -> SitemapRecord:
    facts = {"root": SITE, "found_by": FoundBy.INDEX, "kind": Kind.SITEMAP, "outcome": Outcome.READ, "depth": 1}
    facts |= {"rows_from": fresh_run, "fresh_run": fresh_run, "final_url": url}
    return SitemapRecord(url=url, **(facts | values))


def unread(url: str, **values) -> SitemapRecord:
    return row(url, None, **({"outcome": Outcome.FAILED, "final_url": None} | values))


@pytest.mark.parametrize(
    ("changed", "references", "expected"),
    [
        pytest.param([], LISTS, True, id="all-read-in-this-run"),
        pytest.param([row(SITEMAP, SINCE)], LISTS, False, id="read-in-the-run-that-missed-the-url"),
        pytest.param([row(INDEX, SINCE, kind=Kind.INDEX)], LISTS, False, id="index-may-list-a-new-sitemap-since"),
        pytest.param([row(ROBOTS, SINCE, kind=Kind.ROBOTS)], LISTS, False, id="robots-may-name-a-new-sitemap-since"),
        pytest.param([row(OTHER, SINCE, rows_from=LATER)], LISTS, False, id="new-since-and-read-in-part"),
        pytest.param([unread(OTHER)], LISTS, False, id="new-and-failed"),
        pytest.param([unread(OTHER, rows_from=LATER)], LISTS, False, id="new-and-read-in-part"),
        pytest.param([unread(OTHER, outcome=Outcome.NOT_A_SITEMAP)], LISTS, False, id="new-and-a-web-page"),
        pytest.param([unread(OTHER, outcome=Outcome.OVER_LIMIT)], LISTS, False, id="not-fetched"),
        pytest.param([unread(OTHER, outcome=Outcome.OUT_OF_SCOPE)], LISTS, True, id="out-of-scope"),
        pytest.param([unread(OTHER, outcome=Outcome.SKIPPED)], LISTS, True, id="excluded-by-a-filter"),
        pytest.param([row(OTHER, SINCE, outcome=Outcome.SKIPPED)], LISTS, False, id="of-the-snapshot-and-excluded"),
        pytest.param([unread(OTHER, outcome=Outcome.ABSENT)], LISTS, False, id="listed-and-absent"),
        pytest.param([unread(ROBOTS, outcome=Outcome.ABSENT, depth=0)], LISTS, True, id="no-robots-txt"),
        pytest.param([unread(OTHER, found_by=FoundBy.WELL_KNOWN)], LISTS, True, id="probed-and-failed"),
        pytest.param([row(OTHER, SINCE, left="unlisted")], LISTS, True, id="left"),
        pytest.param([], LISTS | {INDEX: [SITEMAP, OTHER]}, False, id="listed-and-not-met"),
        pytest.param([row(SITEMAP, final_url=OTHER)], LISTS | {INDEX: [OTHER]}, True, id="read-through-a-redirect"),
        pytest.param([row(OTHER, left="unlisted")], LISTS | {OTHER: ["gone"]}, True, id="lists-of-one-that-left"),
    ],
)
def test_a_removal_is_settled_once_one_run_has_read_all_that_may_list_the_url(changed, references, expected) -> None:
    ledger = {url: row(url) for url in (ROBOTS, INDEX, SITEMAP)} | {one.url: one for one in changed}
    assert is_settled(LATER, ledger, references) is expected


@pytest.mark.parametrize(
    ("run", "runs", "expected"),
    [
        pytest.param("20261201T000000Z-000000", 3, True, id="both-limits"),
        pytest.param("20261201T000000Z-000000", 2, False, id="too-few-runs"),
        pytest.param("20261127T230000Z-000000", 99, False, id="too-few-days"),
        pytest.param("20261128T000000Z-000000", 3, True, id="exactly"),
        pytest.param("20261101T000000Z-000000", 3, False, id="the-clock-went-back"),
    ],
)
def test_a_removal_is_overdue_once_both_limits_are_reached(run, runs, expected) -> None:
    assert is_overdue(SINCE, run, runs=runs, most_runs=3, most_days=7) is expected


def test_without_limits_no_removal_is_pending() -> None:
    assert is_overdue(SINCE, SINCE, runs=0, most_runs=0, most_days=0)
