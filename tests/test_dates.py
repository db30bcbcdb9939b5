from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest.dates import Instant, read_date


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        pytest.param("2005", Instant(at(2005, 1, 1), "year", None), id="year"),
        pytest.param("2005-03", Instant(at(2005, 3, 1), "month", None), id="month"),
        pytest.param("2005-03-09", Instant(at(2005, 3, 9), "day", None), id="day"),
        pytest.param(" \n2005-03-09\t", Instant(at(2005, 3, 9), "day", None), id="blanks-around"),
        pytest.param("2005-03-09T14:30Z", Instant(at(2005, 3, 9, 14, 30), "minute", True), id="minute"),
        pytest.param("2005-03-09T14:30:15Z", Instant(at(2005, 3, 9, 14, 30, 15), "second", True), id="second"),
        pytest.param(
            "2005-03-09T14:30:15.25Z", Instant(at(2005, 3, 9, 14, 30, 15, 250_000), "fraction", True), id="fraction"
        ),
        pytest.param(
            "2005-03-09T14:30:15,123456789Z",
            Instant(at(2005, 3, 9, 14, 30, 15, 123_456), "fraction", True),
            id="nanoseconds-with-a-comma",
        ),
        pytest.param("2005-03-09T14:30+01:00", Instant(at(2005, 3, 9, 13, 30), "minute", True), id="zone-east"),
        pytest.param("2005-03-09T14:30-0530", Instant(at(2005, 3, 9, 20), "minute", True), id="zone-west-no-colon"),
        pytest.param("2005-03-09T14:30+01", Instant(at(2005, 3, 9, 13, 30), "minute", True), id="zone-hours"),
        pytest.param("2005-01-01T00:30+01:00", Instant(at(2004, 12, 31, 23, 30), "minute", True), id="year-before"),
        pytest.param("2005-03-09T14:30:15", Instant(at(2005, 3, 9, 14, 30, 15), "second", False), id="no-zone"),
        pytest.param("2005-03-09 14:30:15", Instant(at(2005, 3, 9, 14, 30, 15), "second", False), id="blank-for-t"),
        pytest.param("2005-03-09t14:30:15z", Instant(at(2005, 3, 9, 14, 30, 15), "second", True), id="lower-case"),
        pytest.param(
            "2005-03-09T14:30:15 +00:00", Instant(at(2005, 3, 9, 14, 30, 15), "second", True), id="blank-zone"
        ),
        pytest.param("2004-02-29", Instant(at(2004, 2, 29), "day", None), id="leap-day"),
        pytest.param("0001-01-01", Instant(at(1, 1, 1), "day", None), id="first-day"),
        pytest.param("Wed, 09 Mar 2005 14:30:15 GMT", Instant(at(2005, 3, 9, 14, 30, 15), "second", True), id="http"),
        pytest.param(
            "9 Mar 2005 14:30:15 +0100", Instant(at(2005, 3, 9, 13, 30, 15), "second", True), id="rfc822-offset"
        ),
        pytest.param("Wed, 09 Mar 2005 14:30 EST", Instant(at(2005, 3, 9, 19, 30), "minute", True), id="rfc822-name"),
        pytest.param("09 Mar 05 14:30:15 GMT", Instant(at(2005, 3, 9, 14, 30, 15), "second", True), id="rfc822-year"),
        pytest.param(
            "Wed, 09 Mar 2005 14:30:15", Instant(at(2005, 3, 9, 14, 30, 15), "second", False), id="rfc822-bare"
        ),
    ],
)
def test_a_date_is_read_to_an_instant(text: str, instant: Instant) -> None:
    assert read_date(text) == instant


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("01/02/2005", id="day-or-month-first"),
        pytest.param("1.2.2005", id="dots"),
        pytest.param("2005-1-2", id="one-digit"),
        pytest.param("05-01-02", id="short-year"),
        pytest.param("20050102", id="no-hyphens"),
        pytest.param("2005-02-30", id="no-such-day"),
        pytest.param("2005-13-01", id="no-such-month"),
        pytest.param("2005-00-00", id="zeros"),
        pytest.param("0000-01-01", id="year-zero"),
        pytest.param("0000-00-00T00:00:00Z", id="database-null"),
        pytest.param("2005-03-09T24:00:00Z", id="hour-24"),
        pytest.param("2005-03-09T14:60:00Z", id="minute-60"),
        pytest.param("2005-03-09T14:30:60Z", id="leap-second"),
        pytest.param("2005-03-09T14Z", id="hour-only"),
        pytest.param("2005-03-09T14:30:15+24:00", id="zone-of-a-day"),
        pytest.param("2005-03-09T14:30:15+99:99", id="no-such-zone"),
        pytest.param("0001-01-01T00:00:00+01:00", id="before-the-first-instant"),
        pytest.param("9999-12-31T23:59:59-14:00", id="after-the-last-instant"),
        pytest.param("2005-03-09T14:30:15Z extra", id="words-behind"),
        pytest.param("yesterday", id="word"),
        pytest.param("March 9, 2005", id="american"),
        pytest.param("Wed, 32 Mar 2005 14:30:15 GMT", id="rfc822-no-such-day"),
        pytest.param("1110378615", id="unix-time"),
        pytest.param("\u0662\u0660\u0660\u0665", id="arabic-digits"),
        pytest.param("{{ date }}", id="template"),
    ],
)
def test_what_could_be_read_in_two_ways_is_not_read(text: str) -> None:
    assert read_date(text) is None


@given(st.datetimes(timezones=st.timezones() | st.just(UTC)))
def test_what_python_writes_is_read_back(instant: datetime) -> None:
    offset = instant.utcoffset()
    if offset is None or offset.seconds % 60:  # local mean time, which no format here can write
        return
    try:
        wanted = instant.astimezone(UTC)
    except OverflowError:
        wanted = None
    read = read_date(instant.isoformat())
    assert (read and read.value) == wanted


@given(st.text(alphabet="0123456789-+:.,TtZz Wed,MarGMT", max_size=40))
def test_nothing_raises(text: str) -> None:
    read = read_date(text)
    assert read is None or read.value.tzinfo is UTC


def test_a_zone_by_an_unknown_name_is_not_taken_for_utc() -> None:
    assert read_date("Tue, 03 Jun 2025 10:00:00 CEST") is None
