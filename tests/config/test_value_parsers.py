from __future__ import annotations

from datetime import timedelta

import pytest

from sitemap_harvest.config import value_parsers
from sitemap_harvest.config.value_parsers import InvalidValueError

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("every", "auto", "auto"),
        ("every", " 1d ", timedelta(days=1)),
        ("every", "6h", timedelta(hours=6)),
        ("every", "1min", timedelta(minutes=1)),
        ("every", "2w", timedelta(weeks=2)),
        ("budget", "100000/day", 100_000.0),
        ("budget", "5000/hour", 120_000.0),
        ("budget", " 1 / day ", 1.0),
    ],
)
def test_valid_values(name, text, value):
    assert getattr(value_parsers, name)(text) == value


@pytest.mark.parametrize(
    ("name", "texts", "accepted"),
    [
        (
            "every",
            ["", "1", "1m", "0d", "59s", "-1d", "Auto", "daily", "2000w5", "999999999w", None],
            "auto, or the time between two crawls of a site, from 1min: 6h, 1d, 2w",
        ),
        (
            "budget",
            ["", "100000", "0/day", "-5/day", "1.5/hour", "100,000/day", "5/week", "/day", "٣/day", "1/day/", 5, None],
            "a number of crawls per day or hour, such as 100000/day or 5000/hour",
        ),
    ],
)
def test_invalid_values_and_what_is_accepted_instead(name, texts, accepted):
    for text in texts:
        with pytest.raises(InvalidValueError) as raised:
            getattr(value_parsers, name)(text)
        assert (raised.value.accepted, raised.value.part) == (accepted, None), text
