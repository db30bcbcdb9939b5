"""The arguments that say which URLs are wanted, read into :class:`~sitemap_harvest.plan.Filters`."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sitemap_harvest.dates import read_date
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.plan import Filters, Span
from sitemap_harvest.plan.filters import CHANGEFREQS, PARTS
from sitemap_harvest.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemap_harvest.crawl.arguments import Arguments

_AGE = re.compile(r"(\d+)(w|d|h|min)", re.ASCII)
_UNITS = {"w": "weeks", "d": "days", "h": "hours", "min": "minutes"}  # m could be months
_DATES = "a date (2025, 2025-03, 2025-03-09), an instant (2025-03-09T14:00:00+01:00) or an age (2w, 7d, 36h, 90min)"
_FUTURE = timedelta(hours=24)  # no zone is more than 14 hours ahead of UTC, and clocks are wrong by less than the rest
_TAG = re.compile(r"(?:[a-z]{2,3}|x)(?:-[a-z0-9]{1,8})*", re.ASCII)  # "german" would be a tag, and none is in use
_BLANKS, _COMMAS = re.compile(r"\s+"), re.compile(r"[\s,]+")
_HOST = "https://host"  # for a path to stand behind


def filters_of(arguments: Arguments, *, now: datetime) -> Filters:
    """Return the filters that *arguments* ask for; *now*, which ages count from, has a zone.

    Raises :exc:`ArgumentError` at the first that is wrong.
    """
    since, until = _span("since", arguments.since, now), _span("until", arguments.until, now)
    if since and until and since.first > until.last:
        raise ArgumentError("since", arguments.since, f"before the end of until={arguments.until!r}")
    low, high = _priority("min_priority", arguments.min_priority), _priority("max_priority", arguments.max_priority)
    if low is not None and high is not None and low > high:
        raise ArgumentError("min_priority", arguments.min_priority, f"at most max_priority={arguments.max_priority!r}")
    return Filters(
        drop_out_of_scope=_choice("scope", arguments.scope, {"mark": False, "strict": True}),
        drop_missing_lastmod=_drops("missing_lastmod", arguments.missing_lastmod),
        drop_unreadable_lastmod=_drops("unreadable_lastmod", arguments.unreadable_lastmod),
        drop_lastmod_after=now + _FUTURE if _drops("future_lastmod", arguments.future_lastmod) else None,
        since=since,
        until=until,
        min_priority=low,
        max_priority=high,
        changefreq=frozenset(_words("changefreq", arguments.changefreq, dict.fromkeys(CHANGEFREQS))),
        include=_patterns("include", arguments.include),
        exclude=_patterns("exclude", arguments.exclude),
        prefix=_paths(arguments.prefix),
        lang=_languages(arguments.lang),
        has=_words("has", arguments.has, PARTS),
    )


def pruning_of(arguments: Arguments, filters: Filters) -> Span | None:
    """Return since when a sitemap must have changed by what its index says, to be fetched; ``None`` if it need not."""
    if not _choice("prune_index", arguments.prune_index, {"yes": True, "no": False}):
        return None
    if filters.since is None:
        raise ArgumentError("prune_index", arguments.prune_index, "given with since")
    return filters.since


def _span(name: str, value: Any, now: datetime) -> Span | None:
    if value is None:
        return None
    text = value.isoformat() if isinstance(value, date) else str(value).strip()
    if (read := read_date(text)) is not None:
        return Span.of(read)
    if (age := age_of(text)) is not None:
        try:
            return Span(now - age, now - age)
        except OverflowError:
            pass
    raise ArgumentError(name, value, _DATES)


def age_of(text: str) -> timedelta | None:
    """Return the age that *text* is, such as ``7d``; ``None`` if it is none."""
    if match := _AGE.fullmatch(text):
        try:
            return timedelta(**{_UNITS[match[2]]: int(match[1])})
        except (OverflowError, ValueError):  # int() refuses thousands of digits
            pass
    return None


def _priority(name: str, value: Any) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0.0 <= number <= 1.0:  # nor is that what is no number at all
        raise ArgumentError(name, value, "a number from 0.0 to 1.0")
    return number


def _drops(name: str, value: Any) -> bool:
    return _choice(name, value, {"keep": False, "drop": True})


def _choice(name: str, value: Any, choices: Mapping[str, bool]) -> bool:
    if (word := str(value).strip().lower()) not in choices:
        raise ArgumentError(name, value, " or ".join(choices))
    return choices[word]


def _words(name: str, value: Any, known: Mapping[str, Any]) -> tuple[str, ...]:
    accepted = f"any of {', '.join(known)}"
    words = tuple(dict.fromkeys(str(word).lower() for word in _several(name, value, accepted, between=_COMMAS)))
    if not set(words) <= known.keys():
        raise ArgumentError(name, value, accepted)
    return words


def _patterns(name: str, value: Any) -> tuple[re.Pattern[str], ...]:
    return tuple(_pattern(name, text) for text in _several(name, value, "regular expressions, separated by blanks"))


def _pattern(name: str, text: Any) -> re.Pattern[str]:
    if isinstance(text, re.Pattern) and isinstance(text.pattern, str):
        return text
    try:
        return re.compile(str(text))
    except (re.error, OverflowError, RecursionError) as error:
        raise ArgumentError(name, text, f"a regular expression ({error})") from error


def _paths(value: Any) -> tuple[str, ...]:
    """Return the paths in *value* in the form that paths have in a key."""
    accepted = "the beginning of a path, such as /blog/, or several, separated by blanks"
    paths = []
    for text in map(str, _several("prefix", value, accepted)):
        is_plain = text.startswith("/") and not set(text) & set("?#") and not set(text.split("/")) & {".", ".."}
        key = url_key(_HOST + text) if is_plain else None
        if key is None:
            raise ArgumentError("prefix", text, accepted)
        paths.append(key.removeprefix(_HOST))
    return tuple(paths)


def _languages(value: Any) -> tuple[str, ...]:
    accepted = "a language, such as de or de-AT, or several, separated by commas or blanks"
    tags = [str(tag).lower().replace("_", "-") for tag in _several("lang", value, accepted, between=_COMMAS)]
    if not all(map(_TAG.fullmatch, tags)):
        raise ArgumentError("lang", value, accepted)
    return tuple(tags)


def _several(name: str, value: Any, accepted: str, *, between: re.Pattern[str] = _BLANKS) -> list[Any]:
    """Return the parts of a text, which are separated by what is *between* them; of a list, each is one as it is."""
    if value is None:
        return []
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = list(value)
    else:
        parts = [part for part in between.split(value) if part] if isinstance(value, str) else [value]
    if not parts:
        raise ArgumentError(name, value, accepted)
    return parts
