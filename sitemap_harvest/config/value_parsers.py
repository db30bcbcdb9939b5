"""Parsers of single values: of spider arguments, of settings and of command-line options.

Each takes a value as the user gave it, and raises :exc:`InvalidValueError` with the
accepted values.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from sitemap_harvest.dates import DateRange, read_age, read_date
from sitemap_harvest.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_T = TypeVar("_T")
_N = TypeVar("_N", int, float)
_MOST = 2**63 - 1  # the largest number that a column can hold
_TAG = re.compile(r"(?:[a-z]{2,3}|x)(?:-[a-z0-9]{1,8})*", re.ASCII)  # would accept "german", but no such tag is in use
_BASELINES = ("latest", "previous", "first")
_RUN = re.compile(r"\d{8}(T\d{0,6}Z?(-[0-9a-f]{0,6})?)?", re.ASCII)
_CONSUMER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)  # used as a file name
_BUDGET = re.compile(r"(\d{1,12})\s*/\s*(day|hour)", re.ASCII)
_PER_DAY = {"day": 1, "hour": 24}
_SHORTEST = timedelta(minutes=1)  # between two crawls of a site
_LEAST_LEASE = 3.0  # seconds: heartbeats must arrive in time
_SPACES, _COMMAS = re.compile(r"\s+"), re.compile(r"[\s,]+")
_PATHS = "one or more path prefixes, such as /blog/, separated by whitespace"
_HOST = "https://host"  # to make a URL of a path


class InvalidValueError(ValueError):
    """A value is invalid."""

    def __init__(self, accepted: str, part: Any = None) -> None:
        super().__init__(accepted)
        self.accepted = accepted  #: The accepted values, as text.
        self.part = part  #: The invalid part of the value; ``None``: all of it.


def parser(accepted: str, convert: Callable[[Any], _T]) -> Callable[[Any], _T]:
    """Return *convert* as a parser: its errors mean that the value is invalid."""

    def parse(value: Any) -> _T:
        try:
            return convert(value)
        except InvalidValueError:
            raise
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            raise InvalidValueError(accepted) from error

    return parse


def _within(number: _N, least: float, most: float) -> _N:
    if not least <= number <= most:  # False for NaN too
        raise ValueError(number)
    return number


def _local_path(value: Any) -> str:
    if "://" in (text := str(value)) or "\0" in text:
        raise ValueError(value)
    return text


def _matching(text: str, form: re.Pattern[str]) -> str:
    if not form.fullmatch(text):
        raise ValueError(text)
    return text


def _as_in_scrapy(value: Any) -> bool:
    return value in ("True", "true") or (value not in ("False", "false") and bool(int(value)))


def _age(text: str) -> timedelta:
    if (age := read_age(text)) is None:
        raise ValueError(text)
    return age


def _seconds(value: Any) -> int:
    text = str(value).strip()
    return int(_age(f"{text}s" if text.isdecimal() else text).total_seconds())


def _date_or_age(value: Any) -> DateRange | timedelta:
    text = value.isoformat() if isinstance(value, date) else str(value).strip()
    if (read := read_date(text)) is not None:
        return DateRange.of(read)
    return _age(text)


def _every(value: Any) -> timedelta | Literal["auto"]:
    text = str(value).strip()
    if text == "auto":
        return "auto"
    if (age := _age(text)) < _SHORTEST:
        raise ValueError(text)
    return age


def _budget(value: Any) -> float:
    if not (match := _BUDGET.fullmatch(str(value).strip())):
        raise ValueError(value)
    return float(_within(int(match[1]), 1, _MOST) * _PER_DAY[match[2]])


def _lease(value: Any) -> float:
    return _within(float(value), _LEAST_LEASE, _MOST)


def _baseline(value: Any) -> str:
    text = str(value).strip()
    is_known = text in _BASELINES or read_date(text) is not None or read_age(text) is not None
    return text if is_known else _matching(text, _RUN)


def _paths(value: Any) -> tuple[str, ...]:
    """Return the beginnings of paths in the form that they have in a key."""
    found = []
    for part in _several(value, _SPACES):
        text = str(part)
        is_plain = text.startswith("/") and not set(text) & set("?#") and not set(text.split("/")) & {".", ".."}
        if (key := url_key(_HOST + text) if is_plain else None) is None:
            raise InvalidValueError(_PATHS, part=part)
        found.append(key.removeprefix(_HOST))
    return tuple(found)


def _whole_number(value: Any) -> int:
    if isinstance(value, float):
        raise TypeError(value)  # int() would cut 10.5
    return int(value)


def _whole_or_all(value: Any) -> int:
    return _MOST if str(value).strip().lower() == "all" else _within(_whole_number(value), 1, _MOST)


def _languages(value: Any) -> tuple[str, ...]:
    return tuple(_matching(str(tag).lower().replace("_", "-"), _TAG) for tag in _several(value, _COMMAS))


def _several(value: Any, between: re.Pattern[str]) -> list[Any]:
    """Return the parts of a text, separated by *between*, or the elements of a list as they are; never none."""
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = list(value)
    else:
        parts = [part for part in between.split(value) if part] if isinstance(value, str) else [value]
    if not parts:
        raise ValueError(value)
    return parts


def whole(least: int = 1) -> Callable[[Any], int]:
    """Return a parser of whole numbers not below *least*."""
    return parser(f"a whole number, {least} or more", lambda value: _within(_whole_number(value), least, _MOST))


def choice(*names: str) -> Callable[[Any], str]:
    """Return a parser that accepts one of *names*."""
    return parser(f"one of {', '.join(names)}", lambda value: names[names.index(value)])


def switch(**words: bool) -> Callable[[Any], bool]:
    """Return a parser that converts each of *words* to its value."""
    return parser(" or ".join(words), lambda value: words[str(value).strip().lower()])


def words(known: Iterable[str], *, alone: str | None = None) -> Callable[[Any], tuple[str, ...]]:
    """Return a parser of some of the *known* words; *alone* is accepted by itself, and means none of them."""

    def convert(value: Any) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(str(word).lower() for word in _several(value, _COMMAS)))
        if found == (alone,):
            return ()
        if not set(found) <= set(known):
            raise ValueError(found)
        return found

    return parser(f"one or more of {', '.join(known)}", convert)


def pattern(value: Any) -> re.Pattern[str]:
    """Parse a regular expression."""
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        return value
    try:
        return re.compile(str(value))
    except (re.error, OverflowError, RecursionError) as error:
        hint = r"; for URLs that end with .html, write \.html$" if str(value).startswith("*") else ""  # no glob
        raise InvalidValueError(f"a regular expression ({error}){hint}", part=value) from error


whole_or_all = parser("a whole number, 1 or more, or all", _whole_or_all)
fraction = parser("a number from 0.0 to 1.0", lambda value: _within(float(value), 0.0, 1.0))
boolean = parser("True or False", _as_in_scrapy)
date_or_age = parser(
    "a date (2025, 2025-03, 2025-03-09), a timestamp (2025-03-09T14:00:00+01:00) or an age (2w, 7d, 36h, 90min)",
    _date_or_age,
)
seconds = parser("an age (2w, 7d, 36h, 90min) or a number of seconds", _seconds)
every = parser("auto, or the time between two crawls of a site, from 1min: 6h, 1d, 2w", _every)
budget = parser("a number of crawls per day or hour, such as 100000/day or 5000/hour", _budget)
"""In crawls per day."""
lease = parser(f"a number of seconds, {_LEAST_LEASE:g} or more", _lease)
baseline = parser(f"{', '.join(_BASELINES)}, a run ID, a date, a timestamp or an age (2w, 7d, 36h)", _baseline)
local_path = parser("a local path", _local_path)
consumer = parser(
    "1 to 64 letters, digits, dots, hyphens and underscores, starting with a letter or a digit",
    lambda value: _matching(str(value), _CONSUMER),
)
patterns = parser(
    "regular expressions, separated by whitespace", lambda value: tuple(map(pattern, _several(value, _SPACES)))
)
paths = parser(_PATHS, _paths)
names = parser("one or more names, separated by commas or whitespace", lambda value: tuple(_several(value, _COMMAS)))
languages = parser("one or more languages, such as de or de-AT, separated by commas or whitespace", _languages)
