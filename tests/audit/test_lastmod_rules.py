"""Rules about lastmod, priority and changefreq: each with sitemaps that trip it, and some that nearly do."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest.audit import RuleOptions
from sitemap_harvest.model import Image, Kind, News, Severity, UrlEntry, Video
from tests.audit.auditing import SITE, SITEMAP, dated, found, found_in_each, numbered, urls

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sitemap_harvest.model import Finding

# The first run is on 2026-11-01 at 03:00, and each of the others a day later.
DAY = "2026-10-10"
TIME = "2026-10-10T10:10:10+02:00"
MANY = [f"2026-10-10T10:{at:02}:00Z" for at in range(20)]
NEWS = {"news": (News(title="a"),)}
SERVED = {"status": 200}
Samples = list[tuple[str | None, int | None, str | None]]


def first_five(entries: Sequence[UrlEntry], value: str | None = None) -> Samples:
    return [(one.loc, at, value or one.lastmod_text) for at, one in enumerate(entries[:5], start=1)]


DATED_VIDEO = (Video(title="v", publication_date=" 2026-10-30T03:00:00Z "),)
CASES = [
    pytest.param(
        "lastmod/missing",
        dated(None, DAY, DAY, DAY, DAY),
        {},
        (Severity.NOTICE, 1, 0.2),
        [(f"{SITE}/1", 1, None)],
        id="missing for a fifth",
    ),
    pytest.param(
        "lastmod/missing",
        dated(None, None),
        {},
        (Severity.WARNING, 2, 1.0),
        [(f"{SITE}/1", 1, None), (f"{SITE}/2", 2, None)],
        id="missing for all",
    ),
    pytest.param(
        "lastmod/missing",
        [*dated(None, None, videos=DATED_VIDEO), *urls(f"{SITE}/a", videos=(Video(publication_date="gestern"),))],
        {},
        (Severity.WARNING, 1, 1.0),
        [(f"{SITE}/a", 3, None)],
        id="missing, and the video has no valid date",
    ),
    pytest.param(
        "lastmod/future",
        dated(DAY, "2026-11-02T03:00:01Z", "2027"),
        {},
        (Severity.ERROR, 2, 2 / 3),
        [(f"{SITE}/2", 2, "2026-11-02T03:00:01Z"), (f"{SITE}/3", 3, "2027")],
        id="future",
    ),
    pytest.param(
        "lastmod/ancient",
        dated("1970-01-01T00:00:00Z", DAY, "1994-12-31"),
        {},
        (Severity.WARNING, 2, 2 / 3),
        [(f"{SITE}/1", 1, "1970-01-01T00:00:00Z"), (f"{SITE}/3", 3, "1994-12-31")],
        id="ancient",
    ),
    pytest.param(
        "lastmod/one-stamp",
        stamped := dated(*["2026-10-10T10:10:10Z", "2026-10-10T10:10:59.9Z"] * 9, *[DAY, "2026-10-11T01:01Z"], None),
        {},
        (Severity.WARNING, 18, 0.9),
        first_five(stamped),
        id="one minute",
    ),
    pytest.param(
        "lastmod/one-stamp",
        dated(*[DAY] * 20),
        {},
        (Severity.WARNING, 20, 1.0),
        first_five(dated(*[DAY] * 20)),
        id="one day",
    ),
    pytest.param(
        "lastmod/fetch-time",
        dated(*["2026-11-01T02:50:00Z", "2026-11-01T04:00:01+01:00"] * 2, "2026-11-01T02:59Z", DAY),
        SERVED,
        (Severity.WARNING, 5, 1.0),
        [
            (f"{SITE}/1", 1, "2026-11-01T02:50:00Z"),
            (f"{SITE}/2", 2, "2026-11-01T04:00:01+01:00"),
            (f"{SITE}/3", 3, "2026-11-01T02:50:00Z"),
            (f"{SITE}/4", 4, "2026-11-01T04:00:01+01:00"),
            (f"{SITE}/5", 5, "2026-11-01T02:59Z"),
        ],
        id="fetch-time",
    ),
    pytest.param(
        "lastmod/mixed-precision",
        dated(TIME, DAY, TIME, None),
        {},
        (Severity.NOTICE, 1, 1 / 3),
        [(f"{SITE}/2", 2, DAY)],
        id="mixed-precision",
    ),
    pytest.param(
        "lastmod/mixed-precision",
        dated("2026-05", TIME, "2026", DAY, DAY, "2026-10-10T10:10Z", DAY, None),
        {},
        (Severity.NOTICE, 4, 4 / 7),
        [
            (f"{SITE}/1", 1, "2026-05"),
            (f"{SITE}/2", 2, TIME),
            (f"{SITE}/3", 3, "2026"),
            (f"{SITE}/6", 6, "2026-10-10T10:10Z"),
        ],
        id="mixed-precision-of-four-kinds",
    ),
    pytest.param(
        "lastmod/mixed-precision",
        dated(TIME, "2026", "2026-05", "2026", TIME, "2026-05"),
        {},
        (Severity.NOTICE, 4, 2 / 3),
        [(f"{SITE}/1", 1, TIME), (f"{SITE}/3", 3, "2026-05"), (f"{SITE}/5", 5, TIME), (f"{SITE}/6", 6, "2026-05")],
        id="mixed-precision-equally-frequent",
    ),
    pytest.param(
        "changefreq/contradicts-lastmod",
        [
            dataclasses.replace(one, changefreq=often)
            for one, often in zip(dated("2025-10-30", "2024", "2025-11-02"), ["daily", "Always", "hourly"], strict=True)
        ],
        {},
        (Severity.NOTICE, 2, 2 / 3),
        [(f"{SITE}/1", 1, "daily since 2025-10-30"), (f"{SITE}/2", 2, "Always since 2024")],
        id="contradicts-lastmod",
    ),
    pytest.param(
        "priority/all-the-same",
        dated(*[None] * 20, priority=0.8),
        {},
        (Severity.NOTICE, 20, None),
        [(None, None, "0.8")],
        id="one priority",
    ),
]
OF_SITE = [
    pytest.param(
        "lastmod/stale-site",
        dated("2025-10-30", "2020", None, "2025-10-30"),
        (Severity.NOTICE, 1, None),
        [(f"{SITE}/1", 1, "2025-10-30")],
        id="stale-site",
    ),
    pytest.param(
        "priority/ignored",
        [*dated(None, priority=0.0), *dated(None), *urls(f"{SITE}/a", priority_text="high")],
        (Severity.NOTICE, 2, 2 / 3),
        [(f"{SITE}/1", 1, "0.0"), (f"{SITE}/a", 3, "high")],
        id="priority",
    ),
    pytest.param(
        "changefreq/ignored",
        [*dated(None, changefreq="daily"), *dated(None), *urls(f"{SITE}/a", changefreq="often")],
        (Severity.NOTICE, 2, 2 / 3),
        [(f"{SITE}/1", 1, "daily"), (f"{SITE}/a", 3, "often")],
        id="changefreq",
    ),
]
NEARLY = [
    pytest.param("lastmod/missing", dated(None, *[DAY] * 5), {}, id="one of six"),
    pytest.param("lastmod/missing", dated("soon", "soon"), {}, id="unreadable"),
    pytest.param("lastmod/missing", dated(None, None), {"kind": Kind.LIST}, id="list"),
    pytest.param("lastmod/missing", dated(None, None), {"kind": Kind.FEED}, id="feed without dates"),
    pytest.param("lastmod/missing", dated(None, None, **NEWS), {}, id="news without lastmod"),
    pytest.param("lastmod/missing", dated(None, None, videos=DATED_VIDEO), {}, id="videos with a date"),
    pytest.param("lastmod/future", dated("2026-11-02", "2026-11-02T03:00:00Z"), {}, id="tomorrow"),
    pytest.param("lastmod/future", dated("2030-01-01"), {"kind": Kind.FEED}, id="feed of events"),
    pytest.param("lastmod/ancient", dated("1995-01-01", "1996"), {}, id="1995"),
    pytest.param("lastmod/one-stamp", dated(*[TIME] * 19), {}, id="19 entries"),
    pytest.param("lastmod/one-stamp", dated(*[TIME] * 17, *MANY[:2], DAY), {}, id="less than nine tenths"),
    pytest.param("lastmod/one-stamp", dated(*MANY), {}, id="a minute each"),
    pytest.param("lastmod/one-stamp", dated(*[DAY] * 19, TIME), {}, id="one day, and a time"),
    pytest.param("lastmod/one-stamp", dated(*["2026"] * 20), {}, id="one year"),
    pytest.param("lastmod/one-stamp", dated(*[DAY] * 20, **NEWS), {}, id="news of a day"),
    pytest.param("lastmod/one-stamp", dated(*[TIME] * 20), {"kind": Kind.FEED}, id="feed of a day"),
    pytest.param("lastmod/fetch-time", dated(*["2026-11-01T02:55Z"] * 5), {}, id="file"),
    pytest.param("lastmod/fetch-time", dated(*["2026-11-01T02:55Z"] * 4), SERVED, id="four entries"),
    pytest.param("lastmod/fetch-time", dated(*["2026-11-01T02:49Z"] * 9), SERVED, id="eleven minutes before"),
    pytest.param("lastmod/fetch-time", dated(*["2026-11-01"] * 9), SERVED, id="the day of the request"),
    pytest.param("lastmod/mixed-precision", dated(*[TIME] * 19, DAY), {}, id="one of twenty"),
    pytest.param("lastmod/mixed-precision", dated(TIME, "2026-10-10T10:10Z", "2026-10-10T10:10:10.5Z"), {}, id="times"),
    pytest.param("lastmod/mixed-precision", dated("2026-05", "2026-06"), {}, id="months"),
    pytest.param("lastmod/mixed-precision", dated(TIME, DAY), {"kind": Kind.FEED}, id="mixed feed"),
    pytest.param("changefreq/contradicts-lastmod", dated("2025-11-01", None, changefreq="daily"), {}, id="a year"),
    pytest.param("changefreq/contradicts-lastmod", dated("2020-11-01", changefreq="weekly"), {}, id="weekly"),
    pytest.param("priority/all-the-same", dated(*[None] * 19, priority=0.8), {}, id="19 priorities"),
    pytest.param(
        "priority/all-the-same", [*dated(*[None] * 20, priority=0.8), *urls(f"{SITE}/a")], {}, id="one without"
    ),
    pytest.param(
        "priority/all-the-same",
        [*dated(*[None] * 20, priority=0.8), *urls(f"{SITE}/a", priority=1.0)],
        {},
        id="one greater",
    ),
]
NEARLY_OF_SITE = [
    pytest.param("lastmod/stale-site", dated("2025-11-01", "2020"), {}, id="a year ago"),
    pytest.param("lastmod/stale-site", dated("2025", "2020-10"), {}, id="the year before"),
    pytest.param("lastmod/stale-site", dated("2020-01-01", None, None), {}, id="most without a date"),
    pytest.param("lastmod/stale-site", dated(None), {}, id="no date"),
    pytest.param("lastmod/stale-site", dated("2020"), {"kind": Kind.FEED}, id="feed of an old subject"),
    pytest.param("priority/ignored", dated(None, priority=None, changefreq="daily"), {}, id="no priority"),
    pytest.param("changefreq/ignored", dated(None, priority=0.5), {}, id="no changefreq"),
]


def samples(finding: Any) -> Samples:
    return [(one.loc, one.position, one.value) for one in finding.samples]


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> list[list[Finding]]:
    """Return the findings of each of the cases about a sitemap."""
    return found_in_each(tmp_path_factory.mktemp("cases"), [case.values[:3] for case in [*CASES, *NEARLY]])


@pytest.mark.parametrize(("number", "rule", "entries", "facts", "result", "expected"), numbered(CASES))
def test_a_sitemap_that_trips_the_rule(
    number: int,
    rule: str,
    entries: list[UrlEntry],
    facts: dict[str, Any],
    result: tuple[Any, ...],
    expected: Samples,
    findings: list[list[Finding]],
) -> None:
    (finding,) = findings[number]
    assert (finding.severity, finding.count, finding.share) == result
    assert samples(finding) == expected


@pytest.mark.parametrize(("rule", "entries", "result", "expected"), OF_SITE)
def test_a_site_that_trips_the_rule(
    rule: str, entries: list[UrlEntry], result: tuple[Any, ...], expected: Samples, tmp_path: Path
) -> None:
    (finding,) = found(tmp_path, rule, {SITEMAP: entries})
    assert (finding.sitemap, (finding.severity, finding.count, finding.share)) == (None, result)
    assert samples(finding) == expected


@pytest.mark.parametrize(("number", "rule", "entries", "facts"), numbered(NEARLY, len(CASES)))
def test_a_sitemap_that_nearly_trips_the_rule(
    number: int, rule: str, entries: list[UrlEntry], facts: dict[str, Any], findings: list[list[Finding]]
) -> None:
    assert findings[number] == []


@pytest.mark.parametrize(("rule", "entries", "facts"), NEARLY_OF_SITE)
def test_a_site_that_nearly_trips_the_rule(
    rule: str, entries: list[UrlEntry], facts: dict[str, Any], tmp_path: Path
) -> None:
    assert found(tmp_path, rule, {SITEMAP: entries}, facts={SITEMAP: facts}) == []


def test_a_feed_shows_that_a_site_is_not_stale(tmp_path: Path) -> None:
    feed = f"{SITE}/feed"
    documents = {SITEMAP: dated("2020-01-01"), feed: dated("2026-10-30")}
    assert found(tmp_path, "lastmod/stale-site", documents, facts={feed: {"kind": Kind.FEED}}) == []


def test_the_time_of_the_download_counts_rather_than_that_of_the_last_request(tmp_path: Path) -> None:
    facts = {SITEMAP: {"status": 304, "read_at": datetime(2026, 10, 10, 10, 5, tzinfo=UTC)}}
    (finding,) = found(tmp_path, "lastmod/fetch-time", {SITEMAP: dated(*MANY[:5])}, facts=facts)
    assert finding.count == 5


def moving(*minutes: str, count: int = 20) -> list[dict[str, list[UrlEntry]]]:
    """Return a run for each of *minutes*, in which all entries have it as their date."""
    return [{SITEMAP: dated(*[f"2026-11-0{minute}Z"] * count)} for minute in minutes]


def test_dates_that_move_together(tmp_path: Path) -> None:
    runs = moving("1T01:00", "2T01:00", "3T01:00", "3T01:00", "3T01:00")
    (finding,) = found(tmp_path, "lastmod/moves-without-change", *runs)
    assert (finding.sitemap, finding.count, finding.share, finding.threshold) == (SITEMAP, 2, 0.5, 0.5)
    assert samples(finding) == [(None, None, "in 2 of 4 runs")]
    assert finding.message == "almost all dates changed together in 2 of 4 runs"


SEPARATE = [
    {SITEMAP: dated(*[f"2026-11-0{run}T01:{minute:02}Z" for minute in range(20)])} for run in (1, 2, 3)
]  # as for pages that change each day


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param(moving("1T01:00", "2T01:00"), id="once"),
        pytest.param(moving("1T01:00", "2T01:00", "3T01:00", count=19), id="few entries"),
        pytest.param(moving("1T01:00", "2T01:00", "3T01:00", "3T01:00", "3T01:00", "3T01:00"), id="two of five runs"),
        pytest.param(moving("3T01:00", "2T01:00", "1T01:00"), id="back"),
        pytest.param(SEPARATE, id="to different times"),
        pytest.param(
            [
                {SITEMAP: dated(*[f"2026-11-0{run}T01:00Z"] * 20, images=(Image(loc=f"{SITE}/{run}.png"),))}
                for run in (1, 2, 3)
            ],
            id="with other changes",
        ),
    ],
)
def test_dates_that_nearly_move_together(runs: list[Any], tmp_path: Path) -> None:
    assert found(tmp_path, "lastmod/moves-without-change", *runs) == []


def pictured(text: str, *pictures: str, **values: Any) -> list[UrlEntry]:
    entries = dated(*[text] * len(pictures), **values)
    return [
        dataclasses.replace(one, images=(Image(loc=f"{SITE}/{picture}.png"),))
        for one, picture in zip(entries, pictures, strict=True)
    ]


def test_a_change_that_lastmod_does_not_show(tmp_path: Path) -> None:
    runs = [{SITEMAP: pictured("2026-10-10", *pictures)} for pictures in ("abc", "axc")]
    (finding,) = found(tmp_path, "lastmod/silent-change", *runs)
    assert (finding.sitemap, finding.severity, finding.count) == (SITEMAP, Severity.WARNING, 1)
    assert samples(finding) == [(f"{SITE}/2", 2, "images")]


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([pictured(DAY, "a"), pictured("2026-10-11", "b")], id="lastmod moved"),
        pytest.param([pictured("2026-11-01", "a"), pictured("2026-11-01", "b")], id="the day of the last run"),
        pytest.param([dated(DAY, priority=0.5), dated(DAY, priority=0.6)], id="priority"),
        pytest.param([pictured(DAY, *"a" * 20), pictured(DAY, *"b" * 20)], id="all images at once"),
        pytest.param([pictured(DAY, "a"), pictured(DAY, "b"), pictured(DAY, "b")], id="in an earlier run"),
        pytest.param([urls(f"{SITE}/1"), urls(f"{SITE}/1", images=(Image(loc="a"),))], id="no date"),
    ],
)
def test_a_change_that_lastmod_need_not_show(runs: list[Any], tmp_path: Path) -> None:
    assert found(tmp_path, "lastmod/silent-change", *[{SITEMAP: entries} for entries in runs]) == []


def test_a_date_that_goes_back(tmp_path: Path) -> None:
    runs = [{SITEMAP: dated(DAY, TIME)}, {SITEMAP: dated("2026-10-07", "2026-10-08")}]
    (finding,) = found(tmp_path, "lastmod/goes-back", *runs)
    assert (finding.sitemap, finding.severity, finding.count) == (SITEMAP, Severity.WARNING, 2)
    assert samples(finding) == [
        (f"{SITE}/1", 1, f"2026-10-07 instead of {DAY}"),
        (f"{SITE}/2", 2, "2026-10-08 instead of 2026-10-10T08:10:10+00:00"),
    ]


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        pytest.param("lastmod/goes-back", dated(DAY), dated("2026-10-07"), id="goes-back"),
        pytest.param("lastmod/silent-change", pictured(DAY, "a"), pictured(DAY, "b"), id="silent-change"),
    ],
)
def test_a_url_that_has_changed_counts_once(
    rule: str, before: list[UrlEntry], after: list[UrlEntry], tmp_path: Path
) -> None:
    def listed(entries: list[UrlEntry]) -> dict[str, list[UrlEntry]]:
        repeated = [dataclasses.replace(one, position=at + 1) for at, one in enumerate(entries * 3)]
        return {
            SITEMAP: repeated,
            f"{SITE}/t.xml": [dataclasses.replace(one, sitemap=f"{SITE}/t.xml") for one in entries],
        }

    (finding,) = found(tmp_path, rule, listed(before), listed(after))
    assert (finding.sitemap, finding.count, [one.position for one in finding.samples]) == (SITEMAP, 1, [1])


def test_only_the_first_entry_of_a_url_is_compared_with_the_run_before(tmp_path: Path) -> None:
    first, second = dated("2026-10-12", "2026-10-07")
    twice = [first, dataclasses.replace(second, loc=first.loc, key=first.key, position=2)]
    assert found(tmp_path, "lastmod/goes-back", {SITEMAP: dated(DAY)}, {SITEMAP: twice}) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(TIME, DAY, id="the same day"),
        pytest.param(TIME, "2026", id="the same year"),
        pytest.param("2026-10-10T23:00:00+02:00", "2026-10-10T10:00:00+02:00", id="as in another time zone"),
        pytest.param("2026-12-01", DAY, id="was in the future"),
        pytest.param(DAY, TIME, id="later"),
        pytest.param(DAY, None, id="no date"),
    ],
)
def test_a_date_that_nearly_goes_back(before: str, after: str | None, tmp_path: Path) -> None:
    assert found(tmp_path, "lastmod/goes-back", {SITEMAP: dated(before)}, {SITEMAP: dated(after)}) == []


def test_a_feed_may_give_earlier_dates(tmp_path: Path) -> None:
    runs = [{SITEMAP: dated(DAY)}, {SITEMAP: dated("2026-01-01")}]
    assert found(tmp_path, "lastmod/goes-back", *runs, facts={SITEMAP: {"kind": Kind.FEED}}) == []


def test_thresholds_of_the_user(tmp_path: Path) -> None:
    options = {"lastmod/one-stamp": RuleOptions(thresholds={"share": 1, "entries": 3})}
    (finding,) = found(tmp_path, "lastmod/one-stamp", {SITEMAP: dated(DAY, DAY, DAY)}, options=options)
    assert (finding.threshold, finding.message) == (1, f"3 dates (100%) are the same: {DAY}")
