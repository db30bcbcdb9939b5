"""Parses the date formats of sitemaps, feeds and HTTP into instants in UTC, ranges of instants, and ages.

Specs: https://www.w3.org/TR/NOTE-datetime, https://www.rfc-editor.org/rfc/rfc3339,
https://www.rfc-editor.org/rfc/rfc822#section-5, https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7

Nothing is ever guessed: a form that can be read in two ways (``01/02/2005``)
is unreadable, and no part is filled in from today's date.
``docs/explain/edge-cases.md`` lists the forms.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_CHARS = 128  # the longest format with the name of its zone has some 70
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_RFC822_ZONES = {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}  # in hours
PRECISIONS = {"year": 0, "month": 1, "day": 2, "minute": 4, "second": 5, "fraction": 6}
"""The precisions of a date, coarse to fine, and how many parts after the year each of them has."""
_FIRST = {"month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0, "microsecond": 0}
_LAST = {"month": 12, "day": 31, "hour": 23, "minute": 59, "second": 59, "microsecond": 999_999}

_DAY_OF_WEEK = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s*)?"
_MONTH = "(?P<month>" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTHS) + r"|sept)\.?"
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?"
_OFFSET = r"(?:UTC|GMT|UT)?[+-]\d\d(?::?\d\d)?"
_COMMENT = r"(?:\s*\([^()]*\)|\s?\[[^\[\]]+\]|\s(?!AM|PM)[A-Z]{1,5})?"  # repeats the offset as text
_ZONE = rf"\s*(?:(?P<zone>{_OFFSET}){_COMMENT}|(?P<name>Z|UTC?|GMT))"
_ZONE_822 = rf"\s*(?:(?P<zone>{_OFFSET}){_COMMENT}|(?P<name>Z|UTC?|GMT|{'|'.join(_RFC822_ZONES)}))"

_W3C = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)"
    r"(?:T(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d+))?)?"
    r"(?:(?P<zone>[+-]\d\d:\d\d)|(?P<name>Z))?)?)?)?",
    re.ASCII,
)
# Year first, as in ISO 8601: 2005/3/9 14:30, 20050309T143015Z; and as in XML Schema, but only in UTC: 2005-03-09Z
_YEAR_FIRST = (
    r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d\d?)(?P=mark)(?P<day>\d\d?)"
    rf"(?:(?:T|\s+){_TIME}(?:{_ZONE})?|Z|[+-]00:00)?"
)
_BASIC = (
    r"(?P<year>(?:19|20)\d\d)(?P<month>\d\d)(?P<day>\d\d)"
    rf"(?:T?(?P<hour>\d\d)(?P<minute>\d\d)(?:(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?(?:{_ZONE})?)?"
)
# RFC 822 and its successors, RFC 850: Wed, 09 Mar 2005 14:30:15 +0100, Wednesday, 09-Mar-05 14:30:15 GMT
_RFC822 = (
    rf"{_DAY_OF_WEEK}(?P<day>\d\d?)(?:\s+|-){_MONTH}(?:\s+|-)(?P<year>\d{{4}}|\d\d(?=\s+\d))"
    rf"(?:\s+{_TIME}(?:{_ZONE_822})?)?"
)
# As in the USA and in JavaScript: March 9, 2005, Wed Mar 09 2005 14:30:15 GMT+0100 (CET)
_MONTH_FIRST = rf"{_DAY_OF_WEEK}{_MONTH}\s+(?P<day>\d\d?)(?:,\s*|\s+)(?P<year>\d{{4}})(?:,?\s+{_TIME}(?:{_ZONE})?)?"
# asctime, and Unix date: Wed Mar 9 14:30:15 UTC 2005
_ASCTIME = rf"{_DAY_OF_WEEK}{_MONTH}\s+(?P<day>\d\d?)\s+{_TIME}(?:{_ZONE})?\s+(?P<year>\d{{4}})"
_OTHERS = (_YEAR_FIRST, _BASIC, _RFC822, _MONTH_FIRST, _ASCTIME)
_EPOCH = re.compile(r"([1-9]\d{9})(\d{3})?", re.ASCII)
_AGE = re.compile(r"(\d{1,9})(w|d|h|min|s)", re.ASCII)  # no m: it could mean months
_SECONDS = {"w": 7 * 24 * 3600, "d": 24 * 3600, "h": 3600, "min": 60, "s": 1}
_LONGEST_AGE = timedelta(days=1000 * 365)  # so that the result of "now minus age" is a date


@dataclass(frozen=True, slots=True)
class Instant:
    """A parsed date."""

    value: datetime
    """In UTC. Missing parts have their first value: ``2005-03`` is the first instant of March 2005."""
    precision: str
    """``year``, ``month``, ``day``, ``minute``, ``second`` or ``fraction``."""
    zoned: bool | None
    """Whether a zone was given; ``False``: none, so UTC was assumed; ``None``: there is no time."""
    is_w3c: bool = True
    """Whether the text has a form of the W3C's note, ignoring a missing zone, which ``zoned`` shows."""


def read_date(text: str) -> Instant | None:
    """Return the instant of *text*, or ``None`` if it is not certain."""
    text = text.strip()
    if len(text) > _MAX_CHARS:
        return None
    if match := _W3C.fullmatch(text):
        return _instant(match.groupdict(), is_w3c=True)
    for form in _other_forms():
        if match := form.fullmatch(text):
            return _instant(match.groupdict(), is_w3c=False)
    return _read_epoch(text)


@cache  # compiling is slow, and most dates are W3C's
def _other_forms() -> list[re.Pattern[str]]:
    return [re.compile(form, re.ASCII | re.IGNORECASE) for form in _OTHERS]


def read_age(text: str) -> timedelta | None:
    """Return the age *text*, such as ``2w``, ``7d``, ``36h``, ``90min`` or ``30s``; ``None`` if it is not one."""
    if not (match := _AGE.fullmatch(text.strip())):
        return None
    age = timedelta(seconds=int(match[1]) * _SECONDS[match[2]])
    return age if age <= _LONGEST_AGE else None


def _instant(parts: dict[str, str | None], *, is_w3c: bool) -> Instant | None:
    given = sum(parts[name] is not None for name in PRECISIONS)
    hour = int(parts["hour"] or 0)
    try:
        value = datetime(
            _year(parts["year"] or ""),
            _month(parts["month"] or "1"),
            int(parts["day"] or 1),
            0 if (is_next_day := hour == 24) else hour,
            int(parts["minute"] or 0),
            int(parts["second"] or 0),
            int((parts["fraction"] or "0")[:6].ljust(6, "0")),
            tzinfo=_zone(parts),
        )
        if is_next_day and value.time().isoformat() != "00:00:00":
            return None
        value = (value + timedelta(days=is_next_day)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None  # 2005-02-30, 0000-00-00, 9999-12-31T23:59-14:00
    zoned = None if parts["hour"] is None else bool(parts["zone"] or parts["name"])
    return Instant(value, tuple(PRECISIONS)[given - 1], zoned, is_w3c=is_w3c and not is_next_day)


def _year(text: str) -> int:
    """Return the year; two digits mean 1950 to 2049, as in RFC 5322."""
    return int(text) if len(text) == 4 else int(text) + (2000 if int(text) < 50 else 1900)


def _month(text: str) -> int:
    if text.isdecimal():
        return int(text)
    return next(number for number, name in enumerate(_MONTHS, start=1) if name.startswith(text[:3].lower()))


def _zone(parts: dict[str, str | None]) -> timezone:
    """Return the zone; UTC if none is given. Raises :exc:`ValueError` for an invalid offset."""
    if not (text := parts["zone"]):
        return timezone(timedelta(hours=_RFC822_ZONES.get((parts["name"] or "").upper(), 0)))
    text = text.lstrip("UTCGMutcgm")
    digits = text[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if minutes > 59:
        raise ValueError(text)
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)


def _read_epoch(text: str) -> Instant | None:
    """Read seconds or milliseconds since 1970, except numbers that may be a date and hour, such as ``2030010112``."""
    if not (match := _EPOCH.fullmatch(text)):
        return None
    seconds, milliseconds = match.groups()
    if milliseconds is None and seconds[8:] < "24" and read_date(seconds[:8]):
        return None
    value = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(seconds), milliseconds=int(milliseconds or 0))
    return Instant(value, "fraction" if milliseconds else "second", zoned=True, is_w3c=False)


@dataclass(frozen=True, slots=True)
class DateRange:
    """The instants that a date covers: ``2025-03`` is all of March 2025, and a fraction of a second one instant."""

    first: datetime
    """The first instant."""
    last: datetime
    """The last instant, included."""

    @classmethod
    def of(cls, date: Instant) -> Self:
        """Return the range of *date*."""
        parts = _finer(_LAST, date.precision)
        if date.precision == "month":
            parts["day"] = monthrange(date.value.year, date.value.month)[1]
        return cls(date.value, date.value.replace(**parts))


def floor(moment: datetime, precision: str) -> datetime:
    """Return the first instant of the range with that *precision* that contains *moment*.

    A date of that precision ends before *moment* if it begins before this instant, so
    one comparison is enough for a column of dates.
    """
    return moment.replace(**_finer(_FIRST, precision))


def distinct_moments(moments: Sequence[datetime]) -> list[str]:
    """Return *moments* as text to the minute; to the second, or finer, if some would be the same."""
    for form in ("%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"):
        texts = [f"{moment:{form}}" for moment in moments]
        if len(set(texts)) == len(texts):
            break
    return texts


def _finer(parts: dict[str, int], precision: str) -> dict[str, Any]:
    return dict(list(parts.items())[PRECISIONS[precision] :])
