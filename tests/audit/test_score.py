"""The score of a site."""

from __future__ import annotations

import pytest

from sitemap_harvest.audit.score import score
from sitemap_harvest.model import Severity

E, W, N = Severity


@pytest.mark.parametrize(
    ("severities", "expected"),
    [
        pytest.param([], 100, id="none"),
        pytest.param([N], 99, id="notice"),
        pytest.param([W], 97, id="warning"),
        pytest.param([E], 90, id="error"),
        pytest.param([E, E, W, N, N], 77, id="several"),
        pytest.param([E] * 100, 0, id="many"),
    ],
)
def test_score(severities: list[Severity], expected: int) -> None:
    assert score(severities) == expected
