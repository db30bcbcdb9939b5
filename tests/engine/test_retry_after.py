from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sitemap_harvest.engine.document_records import retry_after

NOW = datetime(2025, 3, 9, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "header", "attempt", "seconds"),
    [
        pytest.param(429, "120", 0, 120.0, id="seconds"),
        pytest.param(503, " 7 ", 3, 7.0, id="whitespace"),
        pytest.param(503, "0", 0, 0.0, id="at-once"),
        pytest.param(429, "Sun, 09 Mar 2025 12:01:30 GMT", 0, 90.0, id="date"),
        pytest.param(503, "Sun, 09 Mar 2025 11:00:00 GMT", 0, 0.0, id="date-that-has-passed"),
        pytest.param(429, None, 0, 5.0, id="429-without-word"),
        pytest.param(429, None, 2, 20.0, id="429-without-word-again"),
        pytest.param(429, "soon", 1, 10.0, id="429-with-a-word-nobody-knows"),
        pytest.param(429, "-5", 0, 5.0, id="negative"),
        pytest.param(503, None, 0, None, id="503-without-word"),
        pytest.param(503, "", 0, None, id="503-empty"),
        pytest.param(503, "9" * 5000, 0, None, id="503-with-more-digits-than-seconds-have"),
        pytest.param(200, "120", 0, None, id="no-error"),
        pytest.param(403, "120", 0, None, id="other-error"),
    ],
)
def test_the_delay_that_retry_after_requests(
    status: int, header: str | None, attempt: int, seconds: float | None
) -> None:
    assert retry_after(status, header, attempt, NOW) == seconds
