"""When a failed crawl is tried again."""

from __future__ import annotations

from datetime import timedelta
from itertools import count, takewhile

import pytest

from sitemap_harvest.jobs.retries import BACKOFFS, Backoff, FailureKind

KINDS = FailureKind
SECONDS = {
    KINDS.UNREACHABLE: [60, 240, 960, 3_840, 15_360],
    KINDS.BLOCKED: [21_600, 86_400],
    KINDS.FORBIDDEN: [],
    KINDS.NOT_A_SITE: [],
    KINDS.REFUSED: [],
    KINDS.STORE: [5, 20, 80, 320, 1_280, 5_120, 20_480],
    KINDS.TIME: [5, 20],
    KINDS.MEMORY: [5],
    KINDS.CRASHED: [5, 20, 80],
    KINDS.LOST: [],
}
"""The waiting times after the first failure, the second one in a row, and so on."""


def waits(backoff, spread):
    """Return all waiting times in seconds."""
    found = (backoff.after(failures, spread) for failures in count(1))
    return [wait.total_seconds() for wait in takewhile(lambda wait: wait is not None, found)]


@pytest.mark.parametrize("kind", FailureKind)
def test_waiting_times_of_each_kind_of_failure(kind):
    assert waits(BACKOFFS[kind], spread=0) == SECONDS[kind]
    assert BACKOFFS[kind].after(1_000, 0) is None


@pytest.mark.parametrize(("spread", "factor"), [(0, 1), (0.5, 1.125), (1, 1.25)])
def test_sites_that_failed_together_are_tried_at_different_moments(spread, factor):
    backoff = Backoff(timedelta(seconds=8), 3)
    assert waits(backoff, spread) == [8 * factor, 32 * factor, 128 * factor]


def test_crawls_that_were_killed_leave_checkpoints():
    assert {kind for kind in FailureKind if kind.leaves_checkpoints} == {
        KINDS.TIME, KINDS.MEMORY, KINDS.CRASHED, KINDS.LOST, KINDS.STORE
    }  # fmt: skip
