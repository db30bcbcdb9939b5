"""Whether the dates of an index are believed, by what was seen of its sitemaps."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest import Outcome, SitemapRecord
from sitemap_harvest.plan.trust import Observed, is_trusted, observe
from tests.plan.test_freshness import KNOWN, NOW, instant

INDEX = "https://example.com/index.xml"


@pytest.mark.parametrize(
    ("observed", "trusted"),
    [
        pytest.param(Observed(), False, id="nothing-seen"),
        pytest.param(Observed(told=20, runs=3), True, id="enough"),
        pytest.param(Observed(told=19, runs=3), False, id="too-few"),
        pytest.param(Observed(told=500, runs=2), False, id="all-in-two-nights"),
        pytest.param(Observed(told=20, silent=1, runs=9), False, id="one-was-silent"),
        pytest.param(Observed(told=99, silent=1, runs=9), False, id="one-of-a-hundred-was-silent"),
        pytest.param(Observed(told=100, silent=1, runs=9), True, id="one-more-than-a-hundred"),
        pytest.param(Observed(told=20, idle=20, runs=3), True, id="half-of-the-moves-were-idle"),
        pytest.param(Observed(told=20, idle=21, runs=3), False, id="moves-with-every-run"),
    ],
)
def test_trust_is_earned(observed: Observed, trusted: bool) -> None:
    assert is_trusted(observed) is trusted


@pytest.mark.parametrize(
    ("before", "after", "seen"),
    [
        pytest.param({}, {"sha256": "new", "lastmod_text": "2026-11-21"}, Observed(told=1, runs=1), id="told"),
        pytest.param({}, {"sha256": "new", "lastmod_text": "2026-11-09"}, Observed(told=1, runs=1), id="went-back"),
        pytest.param({}, {"sha256": "new"}, Observed(silent=1), id="silent"),
        pytest.param({"fresh_at": KNOWN.lastmod}, {"sha256": "new"}, None, id="silent-but-on-the-same-day"),
        pytest.param({}, {"lastmod_text": "2026-11-21"}, Observed(idle=1), id="idle"),
        pytest.param({}, {"lastmod_text": "2026-11-21", "outcome": Outcome.UNCHANGED}, Observed(idle=1), id="idle-304"),
        pytest.param({}, {}, None, id="quiet"),
        pytest.param({}, {"outcome": Outcome.SKIPPED, "sha256": "new"}, None, id="not-looked-at"),
        pytest.param({}, {"outcome": Outcome.FAILED, "complete": False}, None, id="failed"),
        pytest.param({}, {"sha256": None, "lastmod_text": "2026-11-21"}, None, id="read-in-part"),
        pytest.param({"lastmod_text": None}, {"sha256": "new"}, None, id="no-date-before"),
        pytest.param({}, {"sha256": "new", "lastmod_text": None}, None, id="no-date-now"),
        pytest.param({"parent": f"{INDEX}?2"}, {"sha256": "new"}, None, id="another-index"),
    ],
)  # fmt: skip
def test_what_is_seen_of_a_sitemap(before: dict[str, Any], after: dict[str, Any], seen: Observed | None) -> None:
    one, other = replace(KNOWN, **before), replace(KNOWN, fresh_at=NOW, **after)
    other.lastmod = instant(other.lastmod_text)
    assert observe({KNOWN.url: one}, {KNOWN.url: other}) == ({INDEX: seen} if seen else {})


def test_a_new_sitemap_shows_nothing() -> None:
    assert observe({}, {KNOWN.url: KNOWN}) == {}


def test_what_is_seen_in_one_run_is_one_run() -> None:
    before = {str(number): KNOWN for number in range(50)}
    after = {key: changed(row) for key, row in before.items()}
    assert observe(before, after) == {INDEX: Observed(told=50, runs=1)}


def test_trust_is_lost_and_earned_again() -> None:
    observed = Observed(told=900, runs=30)
    observed = observed.plus(Observed(silent=200))
    assert observed == Observed(told=450, silent=100, runs=30)
    assert not is_trusted(observed)
    runs = 0
    while not is_trusted(observed):
        observed, runs = observed.plus(Observed(told=50, runs=1)), runs + 1
    assert runs < 100


@given(st.lists(st.builds(Observed, *[st.integers(0, 100_000)] * 3, st.integers(0, 1))))
def test_a_silent_change_is_never_forgotten_at_once(seen: list[Observed]) -> None:
    observed = Observed()
    for one in seen:
        observed = observed.plus(one)
        assert min(observed) >= 0
        assert observed.silent >= (one.silent + 1) // 2


def changed(row: SitemapRecord) -> SitemapRecord:
    return replace(row, sha256="new", lastmod_text="2026-11-21", lastmod=NOW - timedelta(days=1))
