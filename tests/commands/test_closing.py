from __future__ import annotations

import pytest

from sitemap_harvest.commands.closing import exit_code
from sitemap_harvest.commands.progress import line
from sitemap_harvest.crawl.summary import Summary, Tally
from sitemap_harvest.model import Outcome

FINISHED = {"finish_reason": "finished"}


@pytest.mark.parametrize(
    ("summary", "stats", "expected"),
    [
        pytest.param(Summary(urls=1), FINISHED, 0, id="whole"),
        pytest.param(Summary(urls=0), FINISHED, 3, id="nothing"),
        pytest.param(Summary(urls=0, has_failed=True), FINISHED, 3, id="nothing-and-failed"),
        pytest.param(Summary(urls=1, has_failed=True), FINISHED, 4, id="failed"),
        pytest.param(Summary(urls=1, complaints=("line 2",)), FINISHED, 4, id="bad-line-of-sites"),
        pytest.param(Summary(urls=1), {"finish_reason": "shutdown"}, 4, id="interrupted"),
        pytest.param(Summary(urls=1), FINISHED | {"log_count/ERROR": 1}, 4, id="error-in-the-log"),
    ],
)
def test_exit_codes(summary: Summary, stats: dict[str, object], expected: int) -> None:
    assert exit_code(summary, stats) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(0.0, "1,200 documents done, 30 to go · 65,000 URLs · 0 a second · 0:00", id="start"),
        pytest.param(65.0, "1,200 documents done, 30 to go · 65,000 URLs · 1,000 a second · 1:05", id="later"),
    ],
)
def test_the_progress_line(seconds: float, expected: str) -> None:
    summary = Summary(urls=65_000, queued=30, tallies={Outcome.READ: Tally(documents=1_200)})
    assert line(summary, seconds) == expected
