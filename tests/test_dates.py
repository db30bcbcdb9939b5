from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest.dates import PRECISIONS, DateRange, Instant, distinct_moments, floor, read_date


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)


NOON = at(2016, 11, 3, 12)


def second(instant: datetime, *, zoned: bool = True) -> Instant:
    return Instant(instant, "second", zoned, is_w3c=False)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        pytest.param("2005", Instant(at(2005, 1, 1), "year", None), id="year"),
        pytest.param("2005-03", Instant(at(2005, 3, 1), "month", None), id="month"),
        pytest.param("2005-03-09", Instant(at(2005, 3, 9), "day", None), id="day"),
        pytest.param(" \n2005-03-09\t", Instant(at(2005, 3, 9), "day", None), id="whitespace-around"),
        pytest.param("2005-03-09T14:30Z", Instant(at(2005, 3, 9, 14, 30), "minute", True), id="minute"),
        pytest.param("2005-03-09T14:30:15Z", Instant(at(2005, 3, 9, 14, 30, 15), "second", True), id="second"),
        pytest.param(
            "2005-03-09T14:30:15.25Z", Instant(at(2005, 3, 9, 14, 30, 15, 250_000), "fraction", True), id="fraction"
        ),
        pytest.param(
            "2005-03-09T14:30:15.1234567891Z",
            Instant(at(2005, 3, 9, 14, 30, 15, 123_456), "fraction", True),
            id="what-is-below-a-microsecond-is-left-out",
        ),
        pytest.param("2005-03-09T14:30+01:00", Instant(at(2005, 3, 9, 13, 30), "minute", True), id="zone-east"),
        pytest.param("2005-03-09T14:30-05:30", Instant(at(2005, 3, 9, 20), "minute", True), id="zone-west"),
        pytest.param("2005-01-01T00:30+01:00", Instant(at(2004, 12, 31, 23, 30), "minute", True), id="year-before"),
        pytest.param("2005-03-09T14:30:15", Instant(at(2005, 3, 9, 14, 30, 15), "second", False), id="no-zone"),
        pytest.param("2004-02-29", Instant(at(2004, 2, 29), "day", None), id="leap-day"),
        pytest.param("0001-01-01", Instant(at(1, 1, 1), "day", None), id="first-day"),
    ],
)
def test_a_w3c_date_is_read_to_an_instant(text: str, instant: Instant) -> None:
    assert read_date(text) == instant


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        pytest.param("2016-11-03T13:00:00+0100", second(NOON), id="zone-without-a-colon"),
        pytest.param("2016-11-03T13:00:00+01", second(NOON), id="zone-of-hours"),
        pytest.param("2016-11-03T13:00:00 +01:00", second(NOON), id="space-before-the-zone"),
        pytest.param("2016-11-03T13:00:00+01:00[Europe/Paris]", second(NOON), id="zone-with-its-name"),
        pytest.param("2016-11-03 13:00:00 +0100 CET", second(NOON), id="go"),
        pytest.param("2016-11-03 12:00:00 UTC", second(NOON), id="ruby"),
        pytest.param("2016-11-03t12:00:00z", second(NOON), id="lower-case"),
        pytest.param("2016-11-03 12:00:00", second(NOON, zoned=False), id="space-for-t"),
        pytest.param(
            "2016-11-03T12:00:00,5Z", Instant(at(2016, 11, 3, 12, 0, 0, 500_000), "fraction", True, False), id="comma"
        ),
        pytest.param("2016-11-02T24:00:00Z", second(at(2016, 11, 3)), id="hour-24"),
        pytest.param("2016/11/03", Instant(at(2016, 11, 3), "day", None, False), id="slashes"),
        pytest.param("2016-11-03Z", Instant(at(2016, 11, 3), "day", None, False), id="day-in-utc"),
        pytest.param("2016-11-03+00:00", Instant(at(2016, 11, 3), "day", None, False), id="day-in-utc-as-an-offset"),
        pytest.param("2016.11.03", Instant(at(2016, 11, 3), "day", None, False), id="dots"),
        pytest.param("2016-1-3", Instant(at(2016, 1, 3), "day", None, False), id="one-digit"),
        pytest.param("20161103", Instant(at(2016, 11, 3), "day", None, False), id="basic"),
        pytest.param("20161103T120000Z", second(NOON), id="basic-with-time"),
        pytest.param("20161103T1300+0100", Instant(NOON, "minute", True, False), id="basic-with-minutes"),
        pytest.param("20161103120000", second(NOON, zoned=False), id="digits-only"),
        pytest.param("Thu, 03 Nov 2016 12:00:00 GMT", second(NOON), id="http"),
        pytest.param("3 Nov 2016 13:00:00 +0100", second(NOON), id="rfc822-offset"),
        pytest.param("Thu, 03 Nov 2016 13:00:00 +01:00", second(NOON), id="rfc822-offset-with-a-colon"),
        pytest.param("Thu, 03 Nov 2016 13:00:00 +0100 (CET)", second(NOON), id="rfc822-comment"),
        pytest.param("Thu, 03 Nov 2016 07:00 EST", Instant(at(2016, 11, 3, 12), "minute", True, False), id="est"),
        pytest.param("Thu, 03 Nov 2016 05:00:00 PDT", second(NOON), id="pdt"),
        pytest.param("Thu, 03 Nov 2016 12:00:00 UT", second(NOON), id="ut"),
        pytest.param("Thu, 03 Nov 2016 12:00:00 Z", second(NOON), id="z"),
        pytest.param("03 Nov 16 12:00:00 GMT", second(NOON), id="rfc822-short-year"),
        pytest.param("03 Nov 50 12:00:00 GMT", second(at(1950, 11, 3, 12)), id="rfc822-short-year-1950"),
        pytest.param("Thu, 03 Nov 2016 12:00:00", second(NOON, zoned=False), id="rfc822-no-zone"),
        pytest.param("Fri, 03 Nov 2016 12:00:00 GMT", second(NOON), id="rfc822-wrong-weekday"),
        pytest.param("Thursday, 03-Nov-16 12:00:00 GMT", second(NOON), id="rfc850"),
        pytest.param("Thu Nov  3 12:00:00 2016", second(NOON, zoned=False), id="asctime"),
        pytest.param("Thu Nov  3 12:00:00 UTC 2016", second(NOON), id="unix"),
        pytest.param("Thu Nov 03 2016 13:00:00 GMT+0100 (CET)", second(NOON), id="javascript"),
        pytest.param(
            "Thu Nov 03 2016 13:00:00 GMT+0100 (Central European Standard Time)", second(NOON), id="javascript-long"
        ),
        pytest.param("3 November 2016", Instant(at(2016, 11, 3), "day", None, False), id="words"),
        pytest.param("November 3, 2016", Instant(at(2016, 11, 3), "day", None, False), id="words-as-in-the-usa"),
        pytest.param("1478174400", second(NOON), id="epoch"),
        pytest.param(
            "1478174400500", Instant(at(2016, 11, 3, 12, 0, 0, 500_000), "fraction", True, False), id="epoch-millis"
        ),
    ],
)
def test_other_unambiguous_forms_are_read(text: str, instant: Instant) -> None:
    assert read_date(text) == instant


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("01/02/2005", id="day-or-month-first"),
        pytest.param("01.02.2005", id="dots"),
        pytest.param("01-02-2005", id="hyphens"),
        pytest.param("05-01-02", id="short-year"),
        pytest.param("05 Mar 09", id="short-year-or-day"),
        pytest.param("2005-01/02", id="two-marks"),
        pytest.param("2005-02-30", id="no-such-day"),
        pytest.param("2005-13-01", id="no-such-month"),
        pytest.param("20051301", id="no-such-month-basic"),
        pytest.param("2005-00-00", id="zeros"),
        pytest.param("0000-01-01", id="year-zero"),
        pytest.param("0000-00-00", id="database-null"),
        pytest.param("0000-00-00T00:00:00Z", id="database-null-with-time"),
        pytest.param("-0001-11-30", id="database-null-as-php-writes-it"),
        pytest.param("-0001-11-30T00:00:00+00:00", id="database-null-as-php-writes-it-with-time"),
        pytest.param("2005-03-09T24:00:01Z", id="past-hour-24"),
        pytest.param("2005-03-09T25:00:00Z", id="hour-25"),
        pytest.param("9999-12-31T24:00:00Z", id="hour-24-of-the-last-day"),
        pytest.param("2005-03-09T14:60:00Z", id="minute-60"),
        pytest.param("2005-12-31T23:59:60Z", id="leap-second"),
        pytest.param("Sat, 31 Dec 2005 23:59:60 GMT", id="leap-second-rfc822"),
        pytest.param("2005-03-09T14Z", id="hour-only"),
        pytest.param("2005-03-09T112:13:04", id="hour-of-three-digits"),
        pytest.param("2005-03-09T14:30:15+24:00", id="zone-of-a-day"),
        pytest.param("2005-03-09T14:30:15+99:99", id="no-such-zone"),
        pytest.param("2005-03-09T14:30:15+01:60", id="zone-of-60-minutes"),
        pytest.param("2005-03-09+02:00", id="day-that-begins-on-another-in-utc"),
        pytest.param("2005-03-09T14:30:15[Europe/Paris]", id="zone-by-name-only"),
        pytest.param("2005-03-09 14:30:15 CST", id="zone-of-china-or-chicago"),
        pytest.param("Wed Mar 09 14:30:15 CST 2005", id="zone-of-china-or-chicago-unix"),
        pytest.param("Wed, 09 Mar 2005 14:30:15 CET", id="zone-unknown-to-rfc822"),
        pytest.param("Wed, 09 Mar 2005 14:30:15 A", id="zone-of-one-letter"),
        pytest.param("0001-01-01T00:00:00+01:00", id="before-the-first-instant"),
        pytest.param("9999-12-31T23:59:59-14:00", id="after-the-last-instant"),
        pytest.param("2005-03-09T14:30:15Z extra", id="words-behind"),
        pytest.param("Yesterday", id="word"),
        pytest.param("9 mars 2005", id="french"),
        pytest.param("9. M\u00e4rz 2005", id="german"),
        pytest.param("mer, 09 Mar 2005 14:30:15 GMT", id="foreign-weekday"),
        pytest.param("March 2005", id="words-without-a-day"),
        pytest.param("Wed, 32 Mar 2005 14:30:15 GMT", id="rfc822-no-such-day"),
        pytest.param("2030010112", id="epoch-or-date-with-an-hour"),
        pytest.param("0000000000", id="epoch-of-zeros"),
        pytest.param("147817440", id="epoch-of-nine-digits"),
        pytest.param("\u0662\u0660\u0660\u0665", id="arabic-digits"),
        pytest.param("{{ date }}", id="template"),
        pytest.param("2005-03-09" + " " * 200 + "10:00:00", id="long"),
    ],
)
def test_invalid_and_ambiguous_dates_are_not_read(text: str) -> None:
    assert read_date(text) is None


FORMS = {
    "year": "%Y",
    "month": "%Y-%m",
    "day": "%Y-%m-%d",
    "minute": "%Y-%m-%dT%H:%MZ",
    "second": "%Y-%m-%dT%H:%M:%SZ",
    "fraction": "%Y-%m-%dT%H:%M:%S.%fZ",
}


@given(st.datetimes(min_value=datetime(1000, 1, 1)), st.sampled_from(list(FORMS)))  # noqa: DTZ001 - hypothesis wants it so
def test_an_instant_round_trips_in_each_precision(instant: datetime, precision: str) -> None:
    text = instant.strftime(FORMS[precision])
    value = datetime.strptime(text, FORMS[precision]).replace(tzinfo=UTC)
    assert read_date(text) == Instant(value, precision, True if "T" in text else None)


@given(st.datetimes(timezones=st.timezones() | st.just(UTC)))
def test_dates_written_by_python_round_trip(instant: datetime) -> None:
    offset = instant.utcoffset()
    if offset is None or offset.seconds % 60:  # local mean time, which no format here can write
        return
    try:
        wanted = instant.astimezone(UTC)
    except OverflowError:
        wanted = None
    read = read_date(instant.isoformat())
    assert (read and read.value) == wanted


@given(st.text() | st.text(alphabet="0123456789-+:.,/TtZz Wed,MarGMT()[]", max_size=40))
def test_nothing_raises(text: str) -> None:
    read = read_date(text)
    assert read is None or read.value.tzinfo is UTC


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
def test_a_date_covers_its_whole_period(text: str, first: str, last: str) -> None:
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
def test_one_comparison_shows_whether_a_date_ends_before_an_instant(
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


@pytest.mark.parametrize(
    ("step", "texts"),
    [
        pytest.param(timedelta(minutes=1), ["2026-11-01 03:00", "2026-11-01 03:01"], id="minutes"),
        pytest.param(timedelta(seconds=1), ["2026-11-01 03:00:00", "2026-11-01 03:00:01"], id="seconds"),
        pytest.param(
            timedelta(microseconds=1), ["2026-11-01 03:00:00.000000", "2026-11-01 03:00:00.000001"], id="microseconds"
        ),
    ],
)
def test_moments_that_differ_have_different_texts(step: timedelta, texts: list[str]) -> None:
    first = datetime(2026, 11, 1, 3, tzinfo=UTC)
    assert distinct_moments([first, first + step]) == texts
    assert distinct_moments([]) == []
