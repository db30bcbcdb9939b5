"""The filter arguments of a user, and their errors."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from sitemap_harvest.config.arguments import RunConfig
from sitemap_harvest.dates import DateRange
from sitemap_harvest.errors import ArgumentError
from sitemap_harvest.filters import Filters

pytestmark = pytest.mark.quick

NOW = datetime(2025, 3, 9, 14, 30, tzinfo=UTC)
PARIS = timezone(timedelta(hours=1))
IGNORES_CASE = re.compile("c", re.IGNORECASE)


def config(**arguments: Any) -> RunConfig:
    return RunConfig.of({"site": "a.example", **arguments}, now=NOW)


def day(text: str) -> DateRange:
    first = datetime.fromisoformat(text).replace(tzinfo=UTC)
    return DateRange(first, first + timedelta(days=1, microseconds=-1))


def instant(text: str) -> DateRange:
    moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    return DateRange(moment, moment)


@pytest.mark.parametrize(
    ("arguments", "filters"),
    [
        pytest.param({}, Filters(), id="nothing"),
        pytest.param({"since": "2025-03-02"}, Filters(since=day("2025-03-02")), id="day"),
        pytest.param({"until": "2025-03-02"}, Filters(until=day("2025-03-02")), id="until"),
        pytest.param({"since": "7d"}, Filters(since=instant("2025-03-02T14:30")), id="days"),
        pytest.param({"until": "2w"}, Filters(until=instant("2025-02-23T14:30")), id="weeks"),
        pytest.param({"since": " 36h "}, Filters(since=instant("2025-03-08T02:30")), id="hours"),
        pytest.param({"since": "90min"}, Filters(since=instant("2025-03-09T13:00")), id="minutes"),
        pytest.param({"since": "0d"}, Filters(since=instant("2025-03-09T14:30")), id="now"),
        pytest.param(
            {"since": "2025-03-02T14:00:00.5+01:00"}, Filters(since=instant("2025-03-02T13:00:00.5")), id="zone"
        ),
        pytest.param({"since": "2025-03-02 14:00:00.5"}, Filters(since=instant("2025-03-02T14:00:00.5")), id="no-zone"),
        pytest.param({"since": date(2025, 3, 2)}, Filters(since=day("2025-03-02")), id="date-of-python"),
        pytest.param(
            {"since": datetime(2025, 3, 2, 1, 0, 0, 5, PARIS)},
            Filters(since=instant("2025-03-02T00:00:00.000005")),
            id="datetime-of-python",
        ),
        pytest.param({"missing_lastmod": "drop"}, Filters(missing_lastmod=True), id="missing"),
        pytest.param({"unreadable_lastmod": "DROP"}, Filters(unreadable_lastmod=True), id="unreadable"),
        pytest.param({"future_lastmod": "drop"}, Filters(future_lastmod=NOW + timedelta(days=1)), id="future"),
        pytest.param({"missing_lastmod": "keep", "future_lastmod": "keep"}, Filters(), id="keep"),
        pytest.param({"min_priority": "0.5"}, Filters(min_priority=0.5), id="min-priority"),
        pytest.param({"max_priority": 1}, Filters(max_priority=1.0), id="number-of-python"),
        pytest.param({"changefreq": "Daily,  weekly"}, Filters(changefreq=("daily", "weekly")), id="changefreq"),
        pytest.param({"include": r"/a/ \d+"}, Filters(include=(re.compile("/a/"), re.compile(r"\d+"))), id="include"),
        pytest.param({"include": ["a b", IGNORES_CASE]}, Filters(include=(re.compile("a b"), IGNORES_CASE)), id="list"),
        pytest.param({"exclude": "a{1,2}"}, Filters(exclude=(re.compile("a{1,2}"),)), id="exclude"),
        pytest.param({"prefix": "/blog/ /caf\u00e9/%7ex"}, Filters(prefix=("/blog/", "/caf%C3%A9/~x")), id="prefix"),
        pytest.param({"lang": "de, en_GB zh-Hant-TW"}, Filters(lang=("de", "en-gb", "zh-hant-tw")), id="lang"),
        pytest.param({"has": "image, news image"}, Filters(has=("image", "news")), id="has"),
    ],
)
def test_filters_from_arguments(arguments: dict[str, Any], filters: Filters) -> None:
    assert config(**arguments).filters == filters


def test_pruning_uses_since() -> None:
    assert config(since="7d").pruned_before is None
    assert config(since="7d", prune_index="no").pruned_before is None
    assert config(since="7d", prune_index="yes").pruned_before == instant("2025-03-02T14:30")


DATES = "a date (2025, 2025-03, 2025-03-09), a timestamp (2025-03-09T14:00:00+01:00) or an age (2w, 7d, 36h, 90min)"
NO_DATES = (
    *("yesterday", "2025-02-30", "2025-13", "01/02/2025", "2025-03-09T14:00:00+1", "25"),
    *("7", "7 d", "7D", "-7d", "1.5d", "7d12h", "d", "\u0667d", "99999999d", "9" * 5000 + "d"),
)
NO_PRIORITIES = ("1.1", "-0.1", "0,5", "high", "nan", "inf", 5)
POLICIES = ("missing_lastmod", "unreadable_lastmod", "future_lastmod")
FREQUENCIES = "one or more of always, hourly, daily, weekly, monthly, yearly, never"
PARTS = "one or more of image, video, news, alternate, mobile, pagemap, title"
PREFIXES = "one or more path prefixes, such as /blog/, separated by whitespace"
LANGUAGES = "one or more languages, such as de or de-AT, separated by commas or whitespace"


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        *((name, value, DATES) for name in ("since", "until") for value in NO_DATES),
        *((name, value, "keep or drop") for name in POLICIES for value in ("yes", "keep,drop", None)),
        *(("prune_index", value, "yes or no") for value in ("1", "since", "true")),
        *(
            (name, value, "a number from 0.0 to 1.0")
            for name in ("min_priority", "max_priority")
            for value in NO_PRIORITIES
        ),
        *(("changefreq", value, FREQUENCIES) for value in ("often", "daily,often", ",", [], "daily;weekly")),
        *(("has", value, PARTS) for value in ("images", "image,sound", ",", [])),
        *((name, [], "regular expressions, separated by whitespace") for name in ("include", "exclude")),
        *(
            ("prefix", value, PREFIXES)
            for value in ("blog/", "https://a.example/blog/", "/blog?page=", "/blog#top", [])
        ),
        *(("lang", value, LANGUAGES) for value in ("german", "de german", "de--at", "*", "d\u00e9", ",", [])),
    ],
)
def test_an_invalid_value_is_reported_with_the_accepted_ones(name: str, value: Any, accepted: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        config(**{"since": "7d", name: value})
    assert str(caught.value) == f"argument {name}={value!r}: it must be {accepted}"
    assert (caught.value.name, caught.value.value, caught.value.accepted) == (name, value, accepted)


@pytest.mark.parametrize("name", ["include", "exclude"])
@pytest.mark.parametrize(
    ("value", "wrong", "why"),
    [
        pytest.param("(", "(", "missing ), unterminated subpattern at position 0", id="bracket"),
        pytest.param("fine +", "+", "nothing to repeat at position 0", id="second"),
        pytest.param(["a", "[z-a]"], "[z-a]", "bad character range z-a at position 1", id="list"),
        pytest.param(r"\Z{2", r"\Z{2", None, id="strange-but-right"),
    ],
)
def test_an_invalid_pattern_is_an_error(name: str, value: Any, wrong: str, why: str | None) -> None:
    if why is None:
        assert getattr(config(**{name: value}).filters, name) == (re.compile(wrong),)
        return
    with pytest.raises(ArgumentError) as caught:
        config(**{name: value})
    assert str(caught.value) == f"argument {name}={wrong!r}: it must be a regular expression ({why})"


@pytest.mark.parametrize(
    ("arguments", "wrong", "accepted"),
    [
        ({"since": "2025-03-09", "until": "2025-03-08"}, "since='2025-03-09'", "before the end of until='2025-03-08'"),
        ({"since": "7d", "until": "2w"}, "since='7d'", "before the end of until='2w'"),
        ({"min_priority": "0.6", "max_priority": "0.5"}, "min_priority='0.6'", "at most max_priority='0.5'"),
        ({"prune_index": "yes"}, "prune_index='yes'", "used together with the argument since"),
    ],
)
def test_contradictory_arguments_are_an_error(arguments: dict[str, str], wrong: str, accepted: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        config(**arguments)
    assert str(caught.value) == f"argument {wrong}: it must be {accepted}"


def test_one_day_may_be_both_since_and_until() -> None:
    assert config(since="2025-03-02", until="2025-03-02").filters == Filters(
        since=day("2025-03-02"), until=day("2025-03-02")
    )


def test_a_glob_is_an_error_that_shows_a_pattern() -> None:
    with pytest.raises(ArgumentError, match=r"position 0\); for URLs that end with \.html, write \\.html\$$"):
        config(include="*.html")
