"""Whether the dates of an index are trusted, from the observed changes of its sitemaps."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest import Outcome, SitemapRecord
from sitemap_harvest.snapshots.conditional_requests import LastmodStats, is_noise, is_trusted, observe
from tests.snapshots.test_conditional_requests import KNOWN, NOW, instant

INDEX = "https://example.com/index.xml"


@pytest.mark.parametrize(
    ("observed", "trusted"),
    [
        pytest.param(LastmodStats(), False, id="nothing-seen"),
        pytest.param(LastmodStats(correct=20, runs=3), True, id="enough"),
        pytest.param(LastmodStats(correct=19, runs=3), False, id="too-few"),
        pytest.param(LastmodStats(correct=500, runs=2), False, id="all-in-two-nights"),
        pytest.param(LastmodStats(correct=20, missed=1, runs=9), False, id="one-was-missed"),
        pytest.param(LastmodStats(correct=99, missed=1, runs=9), False, id="one-of-a-hundred-was-missed"),
        pytest.param(LastmodStats(correct=100, missed=1, runs=9), True, id="one-more-than-a-hundred"),
        pytest.param(LastmodStats(correct=20, spurious=20, runs=3), True, id="half-of-the-moves-were-spurious"),
        pytest.param(LastmodStats(correct=20, spurious=21, runs=3), False, id="moves-with-every-run"),
    ],
)
def test_trust_is_earned(observed: LastmodStats, trusted: bool) -> None:
    assert is_trusted(observed) is trusted


@pytest.mark.parametrize(
    ("observed", "noise"),
    [
        pytest.param(LastmodStats(), False, id="nothing-seen"),
        pytest.param(LastmodStats(spurious=19), False, id="too-few"),
        pytest.param(LastmodStats(spurious=20), True, id="none-was-correct"),
        pytest.param(LastmodStats(correct=10, spurious=90), True, id="one-in-ten-was-correct"),
        pytest.param(LastmodStats(correct=10, spurious=89), False, id="more-were-correct"),
    ],
)
def test_dates_that_change_without_a_change_are_noise(observed: LastmodStats, noise: bool) -> None:
    assert is_noise(observed) is noise


@pytest.mark.parametrize(
    ("before", "after", "seen"),
    [
        pytest.param({}, {"sha256": "new", "lastmod_text": "2026-11-21"}, LastmodStats(1, runs=1), id="correct"),
        pytest.param({}, {"sha256": "new", "lastmod_text": "2026-11-09"}, LastmodStats(1, runs=1), id="went-back"),
        pytest.param({}, {"sha256": "new"}, LastmodStats(missed=1), id="missed"),
        pytest.param({"fresh_at": KNOWN.lastmod}, {"sha256": "new"}, None, id="missed-but-on-the-same-day"),
        pytest.param({}, {"lastmod_text": "2026-11-21"}, LastmodStats(spurious=1), id="spurious"),
        pytest.param({}, {"lastmod_text": "2026-11-21", "outcome": Outcome.UNCHANGED}, LastmodStats(0, 0, 1), id="304"),
        pytest.param({}, {}, None, id="quiet"),
        pytest.param({}, {"outcome": Outcome.SKIPPED, "sha256": "new"}, None, id="not-looked-at"),
        pytest.param({}, {"outcome": Outcome.FAILED, "complete": False}, None, id="failed"),
        pytest.param({}, {"sha256": None, "lastmod_text": "2026-11-21"}, None, id="read-in-part"),
        pytest.param({"lastmod_text": None}, {"sha256": "new"}, None, id="no-date-before"),
        pytest.param({}, {"sha256": "new", "lastmod_text": None}, None, id="no-date-now"),
        pytest.param({"parent": f"{INDEX}?2"}, {"sha256": "new"}, None, id="another-index"),
    ],
)  # fmt: skip
def test_observations_of_a_sitemap(before: dict[str, Any], after: dict[str, Any], seen: LastmodStats | None) -> None:
    one, other = replace(KNOWN, **before), replace(KNOWN, fresh_at=NOW, **after)
    other.lastmod = instant(other.lastmod_text)
    assert observe({KNOWN.url: one}, {KNOWN.url: other}) == ({INDEX: seen} if seen else {})


def test_a_new_sitemap_proves_nothing() -> None:
    assert observe({}, {KNOWN.url: KNOWN}) == {}


def test_observations_of_one_run_count_as_one_run() -> None:
    before = {str(number): KNOWN for number in range(50)}
    after = {key: changed(row) for key, row in before.items()}
    assert observe(before, after) == {INDEX: LastmodStats(correct=50, runs=1)}


def test_trust_is_lost_and_earned_again() -> None:
    observed = LastmodStats(correct=900, runs=30)
    observed = observed.plus(LastmodStats(missed=200))
    assert observed == LastmodStats(correct=450, missed=100, runs=30)
    assert not is_trusted(observed)
    runs = 0
    while not is_trusted(observed):
        observed, runs = observed.plus(LastmodStats(correct=50, runs=1)), runs + 1
    assert runs < 100


@given(st.lists(st.builds(LastmodStats, *[st.integers(0, 100_000)] * 3, st.integers(0, 1))))
def test_a_silent_change_is_not_forgotten_at_once(seen: list[LastmodStats]) -> None:
    observed = LastmodStats()
    for one in seen:
        observed = observed.plus(one)
        assert min(observed) >= 0
        assert observed.missed >= (one.missed + 1) // 2


def changed(row: SitemapRecord) -> SitemapRecord:
    return replace(row, sha256="new", lastmod_text="2026-11-21", lastmod=NOW - timedelta(days=1))
