from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest.dates import Instant, read_date
from sitemap_harvest.filters.date_range import PRECISIONS, DateRange, floor


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        pytest.param("2025", "2025-01-01T00:00:00", "2025-12-31T23:59:59.999999", id="year"),
        pytest.param("2025-02", "2025-02-01T00:00:00", "2025-02-28T23:59:59.999999", id="february"),
        pytest.param("2024-02", "2024-02-01T00:00:00", "2024-02-29T23:59:59.999999", id="february-of-a-leap-year"),
        pytest.param("2025-03-09", "2025-03-09T00:00:00", "2025-03-09T23:59:59.999999", id="day"),
        pytest.param("2025-03-09T14:00+01:00", "2025-03-09T13:00:00", "2025-03-09T13:00:59.999999", id="minute"),
        pytest.param("2025-03-09T14:00:00Z", "2025-03-09T14:00:00", "2025-03-09T14:00:00.999999", id="second"),
        pytest.param("2025-03-09T14:00:00.5Z", "2025-03-09T14:00:00.5", "2025-03-09T14:00:00.5", id="fraction"),
        pytest.param("9999", "9999-01-01T00:00:00", "9999-12-31T23:59:59.999999", id="last-year-there-is"),
    ],
)
def test_a_date_is_all_that_it_may_mean(text: str, first: str, last: str) -> None:
    date = read_date(text)
    assert date is not None
    assert DateRange.of(date) == DateRange(utc(first), utc(last))


moments = st.datetimes(timezones=st.just(UTC))


@given(
    moments,
    st.sampled_from(list(PRECISIONS)),
    moments | st.none(),
    st.timedeltas(-timedelta(days=400), timedelta(days=400)),
)
def test_one_comparison_tells_whether_a_date_ends_before_a_moment(
    date: datetime, precision: str, other: datetime | None, near: timedelta
) -> None:
    date = floor(date, precision)
    try:
        moment = other or date + near
    except OverflowError:
        return
    assert (date < floor(moment, precision)) == (DateRange.of(Instant(date, precision, zoned=None)).last < moment)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
