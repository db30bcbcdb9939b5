"""When a sitemap is due, and what a crawl shows about its changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sitemap_harvest import FoundBy, Kind, Outcome, SitemapRecord
from sitemap_harvest.frontier.intervals import ChangeHistory, observed
from sitemap_harvest.snapshots.sitemap_intervals import SitemapIntervals

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
DAY = timedelta(days=1)
URL = "https://example.com/1.xml"
KNOWN = SitemapRecord(
    url=URL, root="https://example.com", parent="https://example.com/index.xml", depth=1, found_by=FoundBy.INDEX,
    kind=Kind.SITEMAP, outcome=Outcome.UNCHANGED, complete=True, lastmod_text="2026-11-10", rows_from="run-1",
    fresh_at=NOW - 10 * DAY, fresh_run="run-2",
)  # fmt: skip
QUIET, BUSY = ChangeHistory(0.0, 39.0), ChangeHistory(20.0, 6.0)
CEILING = 30.0


def known(**values: Any) -> SitemapRecord:
    return replace(KNOWN, **values)


def of(history: ChangeHistory | None, *, last_crawl: datetime = NOW - DAY, **limits: float) -> SitemapIntervals:
    """Return the intervals of a site with one sitemap that has this *history*."""
    given = {"multiplier": 0.1, "ceiling": CEILING} | limits
    return SitemapIntervals.of(
        {} if history is None else {URL: history},
        (given["multiplier"], given["ceiling"]),
        now=NOW,
        last_crawl=last_crawl,
    )


@pytest.mark.parametrize(
    ("record", "history", "lastmod", "is_due"),
    [
        pytest.param(KNOWN, QUIET, None, False, id="quiet"),
        pytest.param(KNOWN, BUSY, None, True, id="busy"),
        pytest.param(KNOWN, None, None, True, id="without-history"),
        pytest.param(KNOWN, QUIET, "2026-11-10", False, id="the-date-of-before"),
        pytest.param(KNOWN, QUIET, "2026-11-21", True, id="a-new-date"),
        pytest.param(KNOWN, QUIET, "2026-11-09", True, id="an-earlier-date"),
        pytest.param(known(lastmod_text=None), QUIET, "2026-11-10", True, id="the-first-date"),
        pytest.param(known(kind=Kind.LIST), QUIET, None, False, id="list"),
        pytest.param(known(kind=Kind.INDEX), QUIET, None, True, id="index"),
        pytest.param(known(kind=Kind.FEED), QUIET, None, True, id="feed"),
        pytest.param(known(depth=0), QUIET, None, True, id="named-by-the-user"),
        pytest.param(known(fresh_at=None), QUIET, None, True, id="never-read"),
        pytest.param(known(fresh_at=NOW + DAY), QUIET, None, True, id="clock-went-back"),
        pytest.param(
            known(fresh_at=NOW - 29.4 * DAY), QUIET, None, False, id="the-next-crawl-is-nearer-to-the-ceiling"
        ),
        pytest.param(known(fresh_at=NOW - 29.6 * DAY), QUIET, None, True, id="this-crawl-is-nearer-to-the-ceiling"),
    ],
)
def test_whether_a_sitemap_is_due(
    record: SitemapRecord, history: ChangeHistory | None, lastmod: str | None, is_due: bool
) -> None:
    assert (of(history).why_not_due(record, lastmod) is None) == is_due


@pytest.mark.parametrize(
    ("history", "limits", "reason"),
    [
        (QUIET, {}, "it changes about every 40 days, next request after 2026-12-12 12:00 UTC"),
        (BUSY, {"multiplier": 12.0}, "it changes about every day, next request after 2026-12-12 12:00 UTC"),
        (ChangeHistory(3.0, 9.0), {"multiplier": 5.0, "ceiling": 20.0},
         "it changes about every 2 days, next request after 2026-12-02 12:00 UTC"),
        (None, {"multiplier": 12.0}, "its changes are not known yet, next request after 2026-12-12 12:00 UTC"),
    ],
)  # fmt: skip
def test_the_reason_gives_the_estimate_and_the_date(history, limits, reason: str) -> None:
    assert of(history, **limits).why_not_due(KNOWN, None) == f"not due yet: {reason}"


@pytest.mark.parametrize(
    ("sitemaps", "changes"),  # four times as many are the changes of 4 days a month
    [pytest.param(1, 1.0, id="alone"), (5, 0.2), (20, 0.05), pytest.param(1000, 0.05, id="at-least-a-twentieth")],
)
def test_a_request_costs_a_part_of_a_crawl(sitemaps: int, changes: float) -> None:
    quiet = {f"{URL}{number}": QUIET for number in range(1, sitemaps)}
    for share_of_changes, is_due in ((0.7, False), (1.0, True)):
        histories = {URL: ChangeHistory(share_of_changes * changes, 39.0)} | quiet
        intervals = SitemapIntervals.of(histories, (0.1, CEILING), now=NOW, last_crawl=NOW - DAY)
        assert (intervals.why_not_due(known(fresh_at=NOW - 2 * DAY), None) is None) == is_due


def test_without_a_budget_all_are_due() -> None:
    plain = SitemapIntervals.of({URL: QUIET}, None, now=NOW, last_crawl=NOW - DAY)
    assert plain.why_not_due(KNOWN, None) is None


@pytest.mark.parametrize(("age", "found"), [(4, True), (3, False)])
def test_a_sitemap_that_was_not_due_is_unchecked_for_some_days(age: int, found: bool) -> None:
    skipped = known(outcome=Outcome.SKIPPED, reason="not due yet: ...", fresh_at=NOW - age * DAY)
    others = [KNOWN, known(outcome=Outcome.SKIPPED, reason="not requested in this run"), known(fresh_at=None)]
    assert of(QUIET).has_unchecked([*others, skipped], days=3.5) is found


OTHER = "https://example.com/2.xml"


def after(intervals: SitemapIntervals, *, changed: bool = False, **values: Any) -> dict[str, ChangeHistory]:
    """Return the histories after a run that gave the record of the sitemap these *values*, beside another one."""
    before = {"1": KNOWN, "2": known(url=OTHER)}
    rows = {"1": known(**values), "2": known(url=OTHER, fresh_at=NOW, fresh_run="run-3")}
    return intervals.histories_after(before, rows, run="run-3", has_changed=lambda row: changed and row.url == URL)


CHECKED = {"fresh_at": NOW, "fresh_run": "run-3"}


@pytest.mark.parametrize(
    ("values", "changed", "expected"),
    [
        pytest.param(CHECKED, False, observed(QUIET, days_since_last=10, changed=False), id="unchanged"),
        pytest.param(CHECKED | {"rows_from": "run-3"}, True, observed(QUIET, days_since_last=10, changed=True),
                     id="read-with-other-rows"),
        pytest.param(CHECKED | {"rows_from": "run-3"}, False, observed(QUIET, days_since_last=10, changed=False),
                     id="read-with-the-same-rows"),
        pytest.param({"outcome": Outcome.SKIPPED}, False, QUIET, id="not-requested"),
        pytest.param({"outcome": Outcome.PARTIAL, "rows_from": "run-3"}, True, QUIET, id="read-in-part"),
        pytest.param({"left": "it left"}, False, None, id="left"),
        pytest.param({"kind": Kind.INDEX}, False, None, id="an-index-now"),
    ],
)  # fmt: skip
def test_a_check_adds_to_the_history(values: dict[str, Any], changed: bool, expected: ChangeHistory | None) -> None:
    intervals = SitemapIntervals.of({URL: QUIET, OTHER: QUIET}, None, now=NOW, last_crawl=NOW - DAY)
    found = after(intervals, changed=changed, **values)
    assert found.get(URL) == expected
    if expected is not None:
        assert found[OTHER] == observed(QUIET, days_since_last=10, changed=False)


def test_histories_begin_in_a_job_with_a_budget() -> None:
    first = observed(ChangeHistory(), days_since_last=10, changed=False)
    assert after(of(None), **CHECKED) == {URL: first, OTHER: first}
    assert after(SitemapIntervals.of({}, None, now=NOW, last_crawl=NOW), **CHECKED) == {}


def test_a_single_sitemap_has_the_interval_of_its_site() -> None:
    rows = {"1": known(**CHECKED)}
    assert of(None).histories_after({"1": KNOWN}, rows, run="run-3", has_changed=lambda _: True) == {}
