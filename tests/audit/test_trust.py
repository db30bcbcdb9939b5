"""The trust in the dates of sitemaps and indexes: the score of counts, and the counts of stored runs."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest.audit import RuleOptions
from sitemap_harvest.audit.dataset import Dataset
from sitemap_harvest.audit.trust import lastmod_trust, of_site, scored
from sitemap_harvest.dates import read_date
from sitemap_harvest.model import Image, Kind, LastmodTrust, Outcome, PageBatch, SitemapRef, Video
from sitemap_harvest.urls import document_key
from tests.audit.auditing import SITE, SITEMAP, dated, page, urls
from tests.snapshots.store.making import Making

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from sitemap_harvest.model import PageRecord, UrlEntry

INDEX = f"{SITE}/index.xml"
RUN = "20261101T030000Z-000000"
DAYS = [f"2026-10-{day:02}" for day in range(1, 21)]


def trust(entries: int = 100, **counts: Any) -> LastmodTrust:
    values = {"site": SITE, "run": RUN, "sitemap": SITEMAP, "score": 0, "dated": entries}
    return LastmodTrust(entries=entries, **values | counts)


@pytest.mark.parametrize(
    ("counts", "score", "reasons"),
    [
        pytest.param({}, 100, (), id="no flaw"),
        pytest.param({"correct": 1000}, 100, (), id="all changes were reported"),
        pytest.param({"dated": 0}, 0, ("100% of the entries have no lastmod",), id="no dates"),
        pytest.param({"entries": 0}, 100, (), id="no entries"),
        pytest.param({"dated": 70}, 70, ("30% of the entries have no lastmod",), id="some dates"),
        pytest.param(
            {"dated": 70, "unreadable": 30},
            70,
            ("30% of the entries have a lastmod that cannot be read",),
            id="unreadable",
        ),
        pytest.param({"future": 10}, 90, ("10% of the dates are in the future",), id="future"),
        pytest.param(
            {"entries": 1000, "ancient": 1}, 99, ("under 1% of the dates are before 1995",), id="one is ancient"
        ),
        pytest.param(
            {"entries": 1000, "dated": 4}, 0, ("over 99% of the entries have no lastmod",), id="almost no dates"
        ),
        pytest.param({"one_stamp": 100}, 0, ("100% of the dates are the same moment",), id="one stamp"),
        pytest.param(
            {"mixed_precision": 20},
            90,
            ("20% of the dates have another precision than most of their sitemap",),
            id="counts half",
        ),
        pytest.param({"missed": 1}, 95, ("changes without a new date: 1, with one: 0",), id="one change was missed"),
        pytest.param(
            {"missed": 40, "correct": 20}, 50, ("changes without a new date: 40, with one: 20",), id="many were missed"
        ),
        pytest.param(
            {"spurious": 180, "trusted": False, "dated": 50},
            5,
            ("new dates without a change: 180, with one: 0", "50% of the sitemaps have no lastmod"),
            id="an index, largest first",
        ),
    ],
)
def test_a_score_follows_from_counts(counts: dict[str, Any], score: int, reasons: tuple[str, ...]) -> None:
    given = trust(**counts)
    assert scored(given) == dataclasses.replace(given, score=score, reasons=reasons)


def test_the_score_of_a_site_is_the_mean_by_entry() -> None:
    found = of_site([trust(entries=300), trust(one_stamp=100)])
    reasons = ("lastmod/one-stamp in 1 of 2 sitemaps: almost all dates are the same",)
    assert found == trust(entries=400, sitemap=None, score=75, reasons=reasons, one_stamp=100)


def test_the_score_of_a_site_is_rounded_once() -> None:
    found = of_site([trust(entries=103, dated=6), trust(entries=49, dated=0), trust(entries=29, dated=0)])
    reasons = ("97% of the entries have no lastmod",)
    assert found == trust(entries=181, sitemap=None, score=3, reasons=reasons, dated=6)  # 5.83 of 103 entries


def test_the_only_sitemap_of_a_site_is_the_site() -> None:
    one = scored(trust(one_stamp=95))
    assert of_site([one]) == dataclasses.replace(one, sitemap=None)


def test_each_sitemap_may_have_a_moment_of_its_own(tmp_path: Path) -> None:
    months = {f"{SITE}/{month}.xml": dated(*[f"2026-0{month}-01"] * 60) for month in (1, 2, 3, 4)}
    site = trusts(tmp_path, {**months, SITEMAP: dated(*DAYS)})[0]
    assert site.reasons == ("lastmod/one-stamp in 4 of 5 sitemaps: almost all dates are the same",)


def trusts(
    path: Path,
    *runs: Mapping[str, Any],
    options: Mapping[str, RuleOptions] | None = None,
    pages: Sequence[PageRecord] = (),
    facts: Mapping[str, dict[str, Any]] | None = None,
    **run: Any,
) -> list[LastmodTrust]:
    """Return the trust after *runs*. *facts*: fields of the ledger rows, by URL. *run*: fields of the last run."""
    making = Making(path, compares=True)
    for documents in runs:
        writer = making.begin()
        records = [making.document(writer, url, listed) for url, listed in documents.items()]
        records = [dataclasses.replace(one, **(facts or {}).get(one.url, {})) for one in records]
        snapshot = making.commit(writer, records, **(run if documents is runs[-1] else {}))
    with Dataset(snapshot, making.store.history(SITE), [PageBatch.of(pages).arrow]) as dataset:
        return lastmod_trust(dataset, options)


def test_the_site_comes_first_and_then_the_worst(tmp_path: Path) -> None:
    good, bad = f"{SITE}/good.xml", f"{SITE}/bad.xml"
    found = trusts(tmp_path, {good: dated(*DAYS), bad: dated(*DAYS[:10], "soon", None, *[None] * 8)})
    assert found == [
        trust(
            entries=40,
            sitemap=None,
            score=75,
            dated=30,
            unreadable=1,
            reasons=("23% of the entries have no lastmod", "3% of the entries have a lastmod that cannot be read"),
        ),
        trust(
            entries=20,
            sitemap=bad,
            score=50,
            dated=10,
            unreadable=1,
            reasons=("45% of the entries have no lastmod", "5% of the entries have a lastmod that cannot be read"),
        ),
        trust(entries=20, sitemap=good, score=100),
    ]


@pytest.mark.parametrize(
    ("entries", "counts"),
    [
        pytest.param(dated(*DAYS[:19], "2027-01-01"), {"future": 1}, id="future"),
        pytest.param(dated(*DAYS[:19], "1970-01-01"), {"ancient": 1}, id="ancient"),
        pytest.param(dated(*DAYS[:2], *[DAYS[3]] * 18), {"one_stamp": 18}, id="one stamp"),
        pytest.param(dated(*DAYS[:18], *["2026-10-21T10:00:00Z"] * 2), {"mixed_precision": 2}, id="mixed precision"),
        pytest.param(
            dated(*[f"2026-11-01T02:{minute}:00Z" for minute in range(51, 60)], "2026-10-01T02:00:00Z"),
            {"fetch_time": 9},
            id="time of the request",
        ),
    ],
)
def test_a_flaw_of_dates_counts(entries: list[UrlEntry], counts: dict[str, int], tmp_path: Path) -> None:
    found = trusts(tmp_path, {SITEMAP: entries}, facts={SITEMAP: {"status": 200}})
    assert found[1] == scored(trust(entries=len(entries), **counts))


def pictures(dates: list[str], name: str) -> list[UrlEntry]:
    return [
        dataclasses.replace(one, images=(Image(loc=f"{SITE}/{name}-{number}.png"),))
        for number, one in enumerate(dated(*dates))
    ]


@pytest.mark.parametrize(
    ("runs", "counts"),
    [
        pytest.param([pictures([*DAYS[:4]], "a"), pictures([*DAYS[5:9]], "b")], {"correct": 4}, id="correct"),
        pytest.param([pictures([*DAYS[:4]], "a"), pictures([*DAYS[:4]], "b")], {"missed": 4}, id="missed"),
        pytest.param([dated(*DAYS[4:8]), dated(*DAYS[:3], DAYS[8])], {"goes_back": 3}, id="earlier"),
        pytest.param(
            [dated(*[f"2026-10-2{run}T10:00:00Z"] * 20) for run in (0, 1, 2)],
            {"spurious": 40, "one_stamp": 20},
            id="all move in two runs",
        ),
    ],
)
def test_the_history_counts(runs: list[list[UrlEntry]], counts: dict[str, int], tmp_path: Path) -> None:
    found = trusts(tmp_path, *[{SITEMAP: entries} for entries in runs])[1]
    assert found == scored(trust(entries=len(runs[-1]), run=found.run, **counts))


def test_headers_of_pages_count(tmp_path: Path) -> None:
    times = {
        "1": datetime(2026, 10, 2, 12, tzinfo=UTC),  # a day after
        "2": datetime(2026, 10, 11, tzinfo=UTC),  # more than a week after
        "3": datetime(2026, 10, 4, 12, tzinfo=UTC),  # but the time of the request
        "4": None,
    }
    at = datetime(2026, 10, 4, 12, 1, tzinfo=UTC)
    pages = [page(f"{SITE}/{name}", last_modified=time, requested_at=at) for name, time in times.items()]
    found = trusts(tmp_path, {SITEMAP: dated(*DAYS[:5])}, pages=pages)[1]
    assert found == scored(trust(entries=5, correct=1, missed=1))


def child(name: str, text: str | None) -> SitemapRef:
    date = read_date(text or "")
    return SitemapRef(loc=f"{SITE}/{name}.xml", position=1, lastmod=date and date.value, lastmod_text=text)


def test_an_index_counts_as_the_crawl_has_observed_it(tmp_path: Path) -> None:
    children = [child("s", DAYS[0]), child("t", "1970"), child("u", "2027"), child("v", "soon"), child("w", None)]
    found = trusts(
        tmp_path,
        {INDEX: children, f"{SITE}/s.xml": dated(DAYS[5])},
        facts={INDEX: {"kind": Kind.INDEX}},
        trust={document_key(INDEX): [40, 10, 5, 3]},
    )
    counts = {"dated": 3, "unreadable": 1, "future": 1, "ancient": 1, "stale": 1}
    observed = {"correct": 40, "missed": 10, "spurious": 5, "trusted": False}
    expected = scored(trust(entries=5, sitemap=INDEX, **counts, **observed))
    assert [one for one in found if one.sitemap == INDEX] == [expected]
    assert expected.score == 14


@pytest.mark.parametrize(
    ("stats", "is_trusted"), [([20, 0, 20, 3], True), ([20, 0, 21, 3], False), ([19, 0, 0, 3], False)]
)
def test_trust_in_an_index_is_that_of_the_crawl(stats: list[int], is_trusted: bool, tmp_path: Path) -> None:
    found = trusts(
        tmp_path,
        {INDEX: [child("s", DAYS[0])], f"{SITE}/s.xml": []},
        facts={INDEX: {"kind": Kind.INDEX}},
        trust={document_key(INDEX): stats},
    )
    assert [one.trusted for one in found] == [is_trusted]


def test_an_index_whose_dates_are_the_same(tmp_path: Path) -> None:
    children = [dataclasses.replace(child(str(at), DAYS[0]), position=at) for at in range(20)]
    (index,) = trusts(tmp_path, {INDEX: children, f"{SITE}/0.xml": []}, facts={INDEX: {"kind": Kind.INDEX}})
    assert index == scored(trust(entries=20, sitemap=INDEX, one_stamp=20, trusted=False))


def test_nothing_is_known_of_an_index_without_a_sitemap_that_was_read(tmp_path: Path) -> None:
    documents = {INDEX: [child("s", DAYS[0])], f"{SITE}/s.xml": []}
    facts = {INDEX: {"kind": Kind.INDEX}, f"{SITE}/s.xml": {"outcome": Outcome.FAILED}}
    assert trusts(tmp_path, documents, facts=facts) == []


@pytest.mark.parametrize("kind", [Kind.FEED, Kind.LIST, Kind.LINKS])
def test_other_documents_have_no_date_of_the_last_change(kind: Kind, tmp_path: Path) -> None:
    assert trusts(tmp_path, {SITEMAP: urls(f"{SITE}/1")}, facts={SITEMAP: {"kind": kind}}) == []


def test_an_entry_with_the_date_of_a_video_needs_no_other(tmp_path: Path) -> None:
    listed = [
        *urls(f"{SITE}/1", videos=(Video(publication_date="2026-10-01"),)),
        *urls(f"{SITE}/2", videos=(Video(publication_date="gestern"),)),
        *dated("2026-10-01", videos=(Video(publication_date="2026-10-01"),)),
    ]
    (site, _) = trusts(tmp_path, {SITEMAP: listed})
    assert (site.entries, site.dated, site.score) == (2, 1, 50)


def test_thresholds_of_the_user_apply(tmp_path: Path) -> None:
    options = {"lastmod/one-stamp": RuleOptions(thresholds={"entries": 2})}
    (site, _) = trusts(tmp_path, {SITEMAP: dated(DAYS[0], DAYS[0])}, options=options)
    assert site.one_stamp == 2


def test_a_snapshot_without_documents(tmp_path: Path) -> None:
    assert trusts(tmp_path, {}) == []
