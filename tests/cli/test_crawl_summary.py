from __future__ import annotations

import io
from collections import Counter
from contextlib import redirect_stderr

import pytest

from sitemap_harvest.cli.crawl_summary import line, show
from sitemap_harvest.engine.exit_codes import verdict
from sitemap_harvest.engine.run_summary import Summary, Tally
from sitemap_harvest.model import Outcome

pytestmark = pytest.mark.quick

FINISHED = {"finish_reason": "finished"}


@pytest.mark.parametrize(
    ("summary", "stats", "expected"),
    [
        pytest.param(Summary(urls=1), FINISHED, 0, id="whole"),
        pytest.param(Summary(urls=0), FINISHED, 3, id="nothing"),
        pytest.param(Summary(urls=0, has_failed=True), FINISHED, 3, id="nothing-and-failed"),
        pytest.param(Summary(urls=0, dropped=Counter(since=3)), FINISHED, 3, id="the-filters-left-none"),
        pytest.param(Summary(urls=1, has_failed=True), FINISHED, 4, id="failed"),
        pytest.param(Summary(sites=Counter(["blocked", "blocked"])), FINISHED, 5, id="all-blocked"),
        pytest.param(Summary(sites=Counter(["forbidden"])), FINISHED, 6, id="forbidden"),
        pytest.param(Summary(sites=Counter(["unreachable"])), FINISHED, 7, id="unreachable"),
        pytest.param(Summary(sites=Counter(["not-a-site"])), FINISHED, 8, id="no-site"),
        pytest.param(Summary(sites=Counter(["blocked", "absent"])), FINISHED, 3, id="several-reasons"),
        pytest.param(Summary(sites=Counter(["found"])), FINISHED, 3, id="found-but-empty"),
        pytest.param(
            Summary(urls=1, sites=Counter(["found", "blocked"])), FINISHED, 0, id="failures-are-counted-separately"
        ),
        pytest.param(Summary(urls=1), {"finish_reason": "shutdown"}, 4, id="interrupted"),
        pytest.param(Summary(urls=1), FINISHED | {"feedexport/failed_count/S3FeedStorage": 1}, 4, id="output"),
    ],
)
def test_exit_codes(summary: Summary, stats: dict[str, object], expected: int) -> None:
    assert verdict(summary, stats).exit_code == expected


def test_an_error_in_the_log_gives_exit_code_4() -> None:
    assert verdict(Summary(urls=1), FINISHED, errors=1).exit_code == 4


def shown(summary: Summary, stats: dict[str, object], *, has_output: bool | None = True) -> list[str]:
    """Return the lines below the table."""
    file = io.StringIO()
    with redirect_stderr(file):
        show(summary, stats, has_output=has_output)
    lines = file.getvalue().splitlines()
    return lines[next(number for number, line in enumerate(lines) if line.startswith("total")) + 1 :]


def test_dropped_rows_are_reported_by_filter() -> None:
    summary = Summary(urls=1, dropped=Counter(since=1200, include=1))
    assert shown(summary, {**FINISHED, "elapsed_time_seconds": 1.25}) == [
        "URLs dropped by filters: since 1,200, include 1",
        "Ended after 1.2 seconds.",
    ]


def test_the_largest_counts_come_first_in_any_order_of_documents() -> None:
    tallies = {Outcome.NOT_A_SITEMAP: 1, Outcome.READ: 9, Outcome.ABSENT: 1}
    summary = Summary(
        urls=1,
        dropped=Counter(until=1, since=20, include=1),
        tallies={outcome: Tally(documents=count) for outcome, count in tallies.items()},
    )
    assert summary.in_words() == (
        "1 URL from 11 documents (9 read, 1 absent, 1 not-a-sitemap); dropped by filters: since 20, include 1, until 1"
    )


def test_more_than_can_be_shown_is_counted() -> None:
    summary = Summary(urls=1, problems=Counter({f"a/{number}": number for number in range(1, 11)}))
    for number in range(12):
        summary.notes.add(f"/{number}: no")
    assert shown(summary, {**FINISHED, "elapsed_time_seconds": 1.25}) == [
        "Failed or incomplete:",
        *(f"  /{number}: no" for number in range(10)),
        "  and 2 more (emit=sitemaps,sites lists all)",
        "Problems in the documents: a/10 10, a/9 9, a/8 8, a/7 7, a/6 6, a/5 5, a/4 4, a/3 3, and 2 more codes",
        "Ended after 1.2 seconds.",
    ]
    del summary.problems["a/1"]
    assert shown(summary, {**FINISHED, "elapsed_time_seconds": 1.25})[-2].endswith(", a/3 3, and 1 more code")


@pytest.mark.parametrize(
    ("stats", "expected"),
    [
        pytest.param(
            {}, "The run was aborted: the output files may be truncated, and their previous contents are lost.", id="2"
        ),
        pytest.param(
            {"finish_reason": "shutdown", "elapsed_time_seconds": 3.0},
            "Ended after 3.0 seconds, early (shutdown): 1,200 known documents were not read.",
            id="1",
        ),
    ],
)
def test_interrupted_runs_are_reported_as_such(stats: dict[str, object], expected: str) -> None:
    assert shown(Summary(urls=1, queued=1200), stats) == [expected]


def test_an_aborted_run_without_outputs_loses_none() -> None:
    assert shown(Summary(urls=1), {}, has_output=None) == ["The run was aborted."]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(0.0, "1,200 documents done, 30 queued · 65,000 URLs · 0 per second · 0:00", id="start"),
        pytest.param(65.0, "1,200 documents done, 30 queued · 65,000 URLs · 1,000 per second · 1:05", id="later"),
    ],
)
def test_the_progress_line(seconds: float, expected: str) -> None:
    summary = Summary(urls=65_000, queued=30, tallies={Outcome.READ: Tally(documents=1_200)})
    assert line(summary, seconds) == expected
