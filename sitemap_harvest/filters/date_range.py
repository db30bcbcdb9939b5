"""Dates as ranges of time: ``2025-03`` is the whole of March 2025."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from datetime import datetime

    from sitemap_harvest.dates import Instant

_FIRST = {"month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0, "microsecond": 0}
_LAST = {"month": 12, "day": 31, "hour": 23, "minute": 59, "second": 59, "microsecond": 999_999}
PRECISIONS = {"year": 0, "month": 1, "day": 2, "minute": 4, "second": 5, "fraction": 6}
"""The precisions of a date, coarse to fine, and how many parts after the year each of them has."""


@dataclass(frozen=True, slots=True)
class DateRange:
    """The range of instants that a date covers, to the microsecond. A fraction of a second is an instant."""

    first: datetime
    """The first instant."""
    last: datetime
    """The last instant, included."""

    @classmethod
    def of(cls, date: Instant) -> Self:
        """Return the range of *date*."""
        return cls(date.value, _last(date.value, date.precision))


def floor(moment: datetime, precision: str) -> datetime:
    """Return the first instant of the range with that *precision* that contains *moment*.

    A date of that precision ends before *moment* if it begins before this instant, so
    one comparison is enough for a column of dates.
    """
    return moment.replace(**_finer(_FIRST, precision))


def _last(first: datetime, precision: str) -> datetime:
    parts = _finer(_LAST, precision)
    if precision == "month":
        parts["day"] = monthrange(first.year, first.month)[1]
    return first.replace(**parts)


def _finer(parts: dict[str, int], precision: str) -> dict[str, Any]:
    return dict(list(parts.items())[PRECISIONS[precision] :])
