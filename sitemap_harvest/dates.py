"""Dates as sitemaps, feeds and HTTP write them: read to an instant in UTC, or not at all.

Specs: https://www.w3.org/TR/NOTE-datetime, https://www.rfc-editor.org/rfc/rfc822#section-5,
https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7

Nothing is ever guessed: a form that can be read in two ways (``01/02/2005``)
is unreadable, and no part is filled in from today's date.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

_W3C = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?"
    r"\s?([Zz]|[+-]\d\d(?::?\d\d)?)?)?)?)?",
    re.ASCII,
)
_RFC822 = re.compile(
    r"(?:[A-Za-z]{3,9},?\s+)?\d{1,2}\s+[A-Za-z]{3}\s+(?:\d\d|\d{4})\s+\d{1,2}:\d\d(?::\d\d)?(?:\s+(?:[+-]\d{4}|([A-Z]{1,4})))?",
    re.ASCII,
)
_PRECISIONS = ("year", "month", "day", "minute", "minute", "second", "fraction")  # by the last part that is there


@dataclass(frozen=True, slots=True)
class Instant:
    """A date as it was read."""

    value: datetime
    """In UTC. What was not given is the first it can be: ``2005-03`` is the first instant of March 2005."""
    precision: str
    """``year``, ``month``, ``day``, ``minute``, ``second`` or ``fraction``."""
    zoned: bool | None
    """Whether a zone was given; ``False`` was read as UTC; ``None`` if there is no time."""


def read_date(text: str) -> Instant | None:
    """Return the instant that *text* names, or ``None`` where it cannot be told for certain."""
    text = text.strip()
    return _read_w3c(text) or _read_rfc822(text)


def _read_w3c(text: str) -> Instant | None:
    if not (match := _W3C.fullmatch(text)):
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    given = sum(part is not None for part in (year, month, day, hour, minute, second, fraction))
    try:
        date = datetime(int(year), int(month or 1), int(day or 1), tzinfo=_zone(zone))
        value = date.replace(
            hour=int(hour or 0),
            minute=int(minute or 0),
            second=int(second or 0),
            microsecond=int((fraction or "0").ljust(6, "0")[:6]),
        ).astimezone(UTC)
    except (ValueError, OverflowError):
        return None  # 2005-02-30, 0000-00-00, 9999-12-31T23:59-14:00
    return Instant(value, _PRECISIONS[given - 1], None if hour is None else zone is not None)


def _zone(text: str | None) -> timezone:
    if text is None or text in "Zz":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)


def _read_rfc822(text: str) -> Instant | None:
    if not (match := _RFC822.fullmatch(text)):
        return None
    try:
        value = parsedate_to_datetime(text)
        zoned = value.tzinfo is not None
        if match[1] and not zoned:
            return None  # a zone by a name that RFC 822 does not know, such as CEST
        value = value.astimezone(UTC) if zoned else value.replace(tzinfo=UTC)
    except (ValueError, OverflowError, TypeError):
        return None
    return Instant(value, "second" if text.count(":") > 1 else "minute", zoned)
