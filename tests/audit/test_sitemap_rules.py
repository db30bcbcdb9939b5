"""Rules about sites and about sitemaps as documents: each with records that trip it, and some that nearly do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest.audit import RULES
from sitemap_harvest.dates import read_date
from sitemap_harvest.model import Alternate, FoundBy, Image, Kind, News, Outcome, SitemapRef
from tests.audit.auditing import SITE, audit_of, audit_of_web, audited, dated, seen, urls

if TYPE_CHECKING:
    from pathlib import Path

    from tests.audit.auditing import Documents


ROBOTS, INDEX, S, T = (f"{SITE}/{name}" for name in ("robots.txt", "index.xml", "s.xml", "t.xml"))
HTTP = "http://a.example/s.xml"
DAY = datetime(2026, 10, 1, tzinfo=UTC)

robots = {"found_by": FoundBy.ARGUMENT, "kind": Kind.ROBOTS, "parent": None}
index = {"found_by": FoundBy.ROBOTS, "kind": Kind.INDEX, "parent": ROBOTS}
child = {"found_by": FoundBy.INDEX, "parent": INDEX}
failed = {"kind": None, "complete": False}


def refs(*urls: str, **values: Any) -> list[SitemapRef]:
    return [SitemapRef(loc=url, position=at, **values) for at, url in enumerate(urls, 1)]


CASES: list[Any] = [
    (
        "site/no-sitemap",
        {"result": "blocked", "reason": "/robots.txt: HTTP 403"},
        {"result": "unfinished", "reason": "the run ended early"},
        [(None, 1, [(None, "blocked: /robots.txt: HTTP 403")])],
    ),
    (
        "site/no-sitemap",
        {"result": "unreachable", "reason": "/robots.txt: DNS error"},
        {"result": "found", "reason": "/robots.txt"},
        [(None, 1, [(None, "unreachable: no usable response: /robots.txt: DNS error")])],
    ),
    (
        "site/robots-unreadable",
        {ROBOTS: ([], robots | failed | {"outcome": Outcome.FAILED, "reason": "HTTP 500", "status": 500})},
        {ROBOTS: ([], robots | failed | {"outcome": Outcome.FAILED, "reason": "the host refuses the connection"})},
        [(None, 1, [(None, "HTTP 500")])],
    ),
    (
        "site/robots-unreadable",
        {
            ROBOTS: (
                [],
                robots | {"outcome": Outcome.NOT_A_SITEMAP, "kind": Kind.HTML, "reason": "a page", "status": 200},
            )
        },
        {
            ROBOTS: (
                [],
                robots | {"outcome": Outcome.NOT_A_SITEMAP, "kind": Kind.EMPTY, "reason": "empty", "status": 200},
            )
        },
        [(None, 1, [(None, "a page")])],
    ),
    (
        "site/not-in-robots",
        {ROBOTS: ([], robots), S: (urls(f"{SITE}/a"), {"found_by": FoundBy.WELL_KNOWN})},
        {ROBOTS: (refs(S), robots), S: (urls(f"{SITE}/a"), {"found_by": FoundBy.WELL_KNOWN})},
        [(S, 1, [(None, "well-known")])],
    ),
    (
        "site/mixed-schemes",
        {S: (urls("http://a.example/1", f"{SITE}/2", f"{SITE}/3"), {})},
        {S: (urls("http://b.example/1", f"{SITE}/2"), {})},
        [(None, 1, [("http://a.example/1", "a.example (1 http, 2 https)")])],
    ),
    (
        "site/mixed-www",
        {S: (urls("https://www.a.example/1", f"{SITE}/2", f"{SITE}/3"), {})},
        {S: (urls("https://www.b.example/1", "https://wwwa.example/", f"{SITE}/2"), {})},
        [(None, 1, [("https://www.a.example/1", "a.example (2 without www., 1 with it)")])],
    ),
    (
        "site/repeated-in-robots",
        {ROBOTS: (refs(S, T, "https://A.example/s.xml"), robots)},
        {ROBOTS: (refs(S, T), robots), INDEX: (refs(S, S), index)},
        [(ROBOTS, 1, [("https://A.example/s.xml", "https://A.example/s.xml in lines 1, 3")])],
    ),
    (
        "site/foreign-hosts",
        {ROBOTS: (refs(S), robots), S: (urls(f"{SITE}/1", "https://b.example/1", "https://b.example/2"), child)},
        {
            ROBOTS: (refs("https://A.example/s.xml"), robots),
            "https://A.example/s.xml": (
                urls(f"{SITE}/1", "http://www.a.example:8080/1"),
                child,
            ),
            T: (urls("https://c.example/2"), child | {"kind": Kind.FEED}),
        },
        [(None, 2, [("https://b.example/1", "b.example")])],
    ),
    (
        "site/home-page-missing",
        {ROBOTS: (refs(S), robots), S: (urls(f"{SITE}/1"), child)},
        {ROBOTS: (refs(S), robots), S: (urls(f"{SITE}/1", "https://www.a.example"), child)},
        [(None, 1, [(f"{SITE}/", None)])],
    ),
    (
        "sitemap/not-fetched",
        {S: ([], child | failed | {"outcome": Outcome.ABSENT, "reason": "HTTP 404"})},
        {S: ([], failed | {"outcome": Outcome.ABSENT, "found_by": FoundBy.WELL_KNOWN, "reason": "HTTP 404"})},
        [(S, 1, [(None, "HTTP 404")])],
    ),
    (
        "sitemap/robots-disallowed",
        {S: ([], child | failed | {"outcome": Outcome.FORBIDDEN, "reason": "robots.txt forbids it"})},
        {S: ([], child | failed | {"outcome": Outcome.BLOCKED, "reason": "HTTP 403"})},
        [(S, 1, [(None, "robots.txt forbids it")])],
    ),
    (
        "sitemap/not-a-sitemap",
        {S: ([], child | failed | {"outcome": Outcome.NOT_A_SITEMAP, "kind": Kind.HTML, "reason": "it is a web page"})},
        {f"{SITE}/": ([], failed | {"outcome": Outcome.NOT_A_SITEMAP, "found_by": FoundBy.HOME, "reason": "no"})},
        [(S, 1, [(None, "it is a web page")])],
    ),
    (
        "sitemap/incomplete",
        {S: (urls(f"{SITE}/a"), child | {"outcome": Outcome.PARTIAL, "reason": "the connection was cut"})},
        {S: (urls(f"{SITE}/a"), child | {"outcome": Outcome.OVER_LIMIT, "reason": "limit=1 was reached"})},
        [(S, 1, [(None, "the connection was cut")])],
    ),
    (
        "sitemap/redirected",
        {S: (urls(f"{SITE}/a"), child | {"final_url": T})},
        {S: (urls(f"{SITE}/a"), child | {"final_url": "https://A.example:443/s.xml"})},
        [(S, 1, [(None, T)])],
    ),
    ("sitemap/empty", {S: ([], child)}, {S: (urls(f"{SITE}/a"), child)}, [(S, 1, [(None, None)])]),
    (
        "sitemap/near-limit",
        {S: (urls(f"{SITE}/a"), child | {"entries": 45_001, "bytes_unpacked": 1})},
        {S: (urls(f"{SITE}/a"), child | {"entries": 45_000, "bytes_unpacked": 47_185_920})},
        [(S, 1, [(None, "45,001 entries of 50,000")])],
    ),
    (
        "sitemap/http-on-https-site",
        {HTTP: (urls(f"{SITE}/1", f"{SITE}/2", "http://a.example/3"), child)},
        {HTTP: (urls(f"{SITE}/1", "http://a.example/3"), child), T: (urls(f"{SITE}/1"), child)},
        [(HTTP, 1, [(None, "2 https URLs")])],
    ),
    (
        "sitemap/wrong-content-type",
        {S: (urls(f"{SITE}/1"), child | {"content_type": "text/html; charset=utf-8"})},
        {
            S: (urls(f"{SITE}/1"), child | {"content_type": "Application/RSS+XML"}),
            T: (urls(f"{SITE}/1"), child | {"content_type": "application/x-gzip", "layers": ("gzip",)}),
        },
        [(S, 1, [(None, "text/html")])],
    ),
    (
        "sitemap/slow",
        {S: (urls(f"{SITE}/1"), child | {"seconds": 5.1})},
        {S: (urls(f"{SITE}/1"), child | {"seconds": 5.0})},
        [(S, 1, [(None, "5.1 seconds")])],
    ),
    (
        "sitemap/large-uncompressed",
        {S: (urls(f"{SITE}/1"), child | {"bytes_downloaded": 10_000_001, "bytes_unpacked": 10_000_001})},
        {
            S: (urls(f"{SITE}/1"), child | {"bytes_downloaded": 10_000_000, "bytes_unpacked": 10_000_000}),
            T: (urls(f"{SITE}/1"), child | {"bytes_downloaded": 11_000_000, "bytes_unpacked": 50_000_000}),
        },
        [(S, 1, [(None, "10.0 MB")])],
    ),
    (
        "sitemap/listed-twice",
        {INDEX: (refs(S, T, "https://A.example/s.xml"), index), S: (urls(f"{SITE}/1"), child)},
        {ROBOTS: (refs(S), robots), INDEX: (refs(S), index), S: (urls(f"{SITE}/1"), child)},
        [(None, 1, [("https://A.example/s.xml", "named 2 times")])],
    ),
    (
        "sitemap/nested-index",
        {INDEX: (refs(S), index), S: (refs(T), child | {"kind": Kind.INDEX})},
        {ROBOTS: (refs(INDEX), robots), INDEX: (refs(S, INDEX), index), S: (urls(f"{SITE}/1"), child)},
        [(INDEX, 1, [(S, S)])],
    ),
    (
        "sitemap/cycle",
        {INDEX: (refs(S), index), S: (refs(INDEX), child | {"kind": Kind.INDEX})},
        {INDEX: (refs(S, T), index), S: (refs(T), child | {"kind": Kind.INDEX}), T: (urls(f"{SITE}/1"), child)},
        [(INDEX, 1, [(S, S)]), (S, 1, [(INDEX, INDEX)])],
    ),
    (
        "sitemap/index-lastmod-stale",
        {
            INDEX: (refs(S, S, lastmod=DAY, lastmod_text="2026-10-01"), index),
            S: (urls(f"{SITE}/1", lastmod=DAY.replace(day=4), lastmod_text="2026-10-04"), child),
        },
        {
            INDEX: (refs(S, lastmod=DAY, lastmod_text="2026-10-01"), index),
            S: (
                urls(f"{SITE}/1", lastmod=DAY.replace(day=3)) + urls(f"{SITE}/2", lastmod=DAY.replace(year=2030)),
                child,
            ),
        },
        [(INDEX, 1, [(S, "2026-10-01, but the newest entry is from 2026-10-04")])],
    ),
    (
        "protocol/too-many-entries",
        {S: (urls(f"{SITE}/a"), child | {"entries": 50_001})},
        {S: (urls(f"{SITE}/a"), child | {"entries": 50_000})},
        [(S, 1, [(None, "50,001")])],
    ),
    (
        "protocol/too-large",
        {S: (urls(f"{SITE}/a"), child | {"bytes_unpacked": 52_428_801})},
        {S: (urls(f"{SITE}/a"), child | {"bytes_unpacked": 52_428_800})},
        [(S, 1, [(None, "50.1")])],
    ),
    (
        "protocol/loc-too-long",
        {S: (urls(f"{SITE}/{'a' * 2048}"), child)},
        {S: (urls(f"{SITE}/{'a' * 2030}"), child)},
        [(S, 1, [(f"{SITE}/{'a' * 82}", "2,066 characters")])],
    ),
    (
        "protocol/too-many-images",
        {S: (urls(f"{SITE}/a", images=(Image(loc="i"),) * 1_001), child)},
        {S: (urls(f"{SITE}/a", images=(Image(loc="i"),) * 1_000), child)},
        [(S, 1, [(f"{SITE}/a", "1,001 images")])],
    ),
    (
        "protocol/too-many-news",
        {S: (urls(f"{SITE}/a", news=(News(title="t"),) * 1_001), child)},
        {S: (urls(f"{SITE}/a", news=(News(title="t"),) * 1_000), child)},
        [(S, 1, [(None, "1,001")])],
    ),
    (
        "protocol/future-lastmod",
        {INDEX: (refs(S, S, lastmod=DAY.replace(month=12), lastmod_text="2026-12-01"), index)},
        {INDEX: (refs(S, lastmod=DAY.replace(month=11, day=2), lastmod_text="2026-11-02"), index)},
        [(INDEX, 1, [(S, "2026-12-01")])],
    ),
    (
        "sitemap/index-lastmod-missing",
        {INDEX: (refs(S, S) + refs(T, lastmod=DAY, lastmod_text="2026-10-01"), index)},
        {INDEX: (refs(S, S) + refs(T, ROBOTS, lastmod=DAY, lastmod_text="2026-10-01"), index)},
        [(INDEX, 1, [(S, None)])],
    ),
]


@pytest.mark.parametrize(("rule", "trips", "nearly", "expected"), CASES, ids=[case[0] for case in CASES])
def test_a_rule_and_what_nearly_trips_it(
    rule: str, trips: Any, nearly: Any, expected: list[Any], tmp_path: Path
) -> None:
    for name, given, wanted in (("trips", trips, expected), ("nearly", nearly, [])):
        run = given if "result" in given else {}
        documents = {ROBOTS: ([], robots)} if run else given
        assert [*map(seen, audited(tmp_path / name, rule, documents, **run))] == wanted, name


@pytest.mark.parametrize(
    ("of_index", "newest", "is_stale"),
    [
        pytest.param("2025", "2026-01-02", False, id="year"),
        pytest.param("2025", "2026-01-03", True, id="a-year-before"),
        pytest.param("2026-02", "2026-03-02", False, id="month"),
        pytest.param("2026-02", "2026-03-03", True, id="a-month-before"),
        pytest.param("2026-02-01", "2026-02-03", False, id="day"),
        pytest.param("2026-02-01", "2026-02-04", True, id="a-day-before"),
        pytest.param("2026-02-01T12:00Z", "2026-02-02T12:00Z", False, id="time"),
        pytest.param("2026-02-01T12:00Z", "2026-02-02T12:01Z", True, id="a-time-before"),
    ],
)
def test_a_date_of_an_index_may_mean_its_last_instant(
    of_index: str, newest: str, tmp_path: Path, *, is_stale: bool
) -> None:
    date = read_date(of_index)
    documents = {
        INDEX: (refs(S, lastmod=date and date.value, lastmod_text=of_index), index),
        S: (dated("2020-01-01", newest), child),
    }
    found = audited(tmp_path, "sitemap/index-lastmod-stale", documents)
    assert [one.samples[0].value for one in found] == [f"{of_index}, but the newest entry is from {newest}"] * is_stale


def test_the_home_page_may_be_listed_as_its_index_file(tmp_path: Path) -> None:
    facts = {"root": "https://A.example"}
    documents = {ROBOTS: (refs(S), robots | facts), S: (urls(f"{SITE}/index.html"), child | facts)}
    assert audited(tmp_path, "site/home-page-missing", documents) == []


ABSENT, CUT = failed | {"outcome": Outcome.ABSENT}, {"outcome": Outcome.PARTIAL, "complete": False}
MAY_BE_LISTED = "a document that was not read completely may list what seems to be missing"
TO_FRENCH = (Alternate(hreflang="fr", href=f"{SITE}/fr"),)


@pytest.mark.parametrize(
    ("rule", "documents", "reasons"),
    [
        pytest.param(
            "site/home-page-missing",
            {ROBOTS: (refs(S, T), robots), S: (urls(f"{SITE}/1"), child), T: ([], child | ABSENT)},
            [MAY_BE_LISTED],
            id="home page",
        ),
        pytest.param(
            "site/home-page-missing",
            {ROBOTS: (refs(S, T), robots), S: (urls(f"{SITE}/"), child), T: ([], child | ABSENT)},
            [],
            id="home page is listed",
        ),
        pytest.param(
            "site/home-page-missing",
            {ROBOTS: ([], robots | ABSENT), S: (urls(f"{SITE}/1"), child | CUT)},
            [MAY_BE_LISTED],
            id="cut sitemap",
        ),
        pytest.param("lastmod/stale-site", {S: (dated("2020"), child | CUT)}, [MAY_BE_LISTED], id="stale site"),
        pytest.param(
            "site/not-in-robots",
            {
                ROBOTS: ([], robots | failed | {"outcome": Outcome.FAILED}),
                S: (urls(f"{SITE}/"), {"found_by": FoundBy.WELL_KNOWN}),
            },
            ["robots.txt or an index was not read completely"],
            id="robots.txt",
        ),
    ],
)
def test_what_is_missing_may_be_in_a_document_that_was_not_read(
    rule: str, documents: Documents, reasons: list[str], tmp_path: Path
) -> None:
    audit = audit_of(tmp_path, rule, documents)
    assert [*audit.findings()] == []
    summary = audit.summary()
    assert [one.reason for one in summary.not_checked] == reasons
    assert (summary.passed, rule in audit.checked) == ((0, False) if reasons else (1, True))


@pytest.mark.parametrize(("facts", "reasons"), [({}, []), (CUT, [MAY_BE_LISTED])], ids=["whole", "cut"])
def test_missing_language_versions_may_be_in_the_rest_of_a_sitemap(
    facts: dict[str, Any], reasons: list[str], tmp_path: Path
) -> None:
    documents = {S: (urls(f"{SITE}/1", alternates=TO_FRENCH), child | facts)}
    audit = audit_of(tmp_path, "hreflang/target-not-listed", documents)
    assert [one.message for one in audit.findings()] == [f"1 language version in no sitemap, such as {SITE}/fr"]
    assert [one.reason for one in audit.summary().not_checked] == reasons


def test_a_document_that_search_engines_need_not_read_lists_nothing_more(tmp_path: Path) -> None:
    other = "http://a.example/robots.txt"
    documents = {
        ROBOTS: ([], robots | failed | {"outcome": Outcome.FAILED}),
        other: (refs(S), robots | {"found_by": FoundBy.VARIANT}),
        S: (urls(f"{SITE}/1"), child),
    }
    assert len(audited(tmp_path, "site/home-page-missing", documents)) == 1


def test_nothing_passes_where_nothing_was_read(tmp_path: Path) -> None:
    unread = {ROBOTS: ([], robots | failed | {"outcome": Outcome.FAILED, "reason": "DNS error"})}
    audit = audit_of(tmp_path, "sitemap/slow", unread)
    assert [*audit.findings()] == []
    assert (audit.summary().passed, audit.checked) == (0, [])
    assert [(one.rule, one.reason) for one in audit.summary().not_checked] == [("sitemap/slow", "no document was read")]


@pytest.mark.parametrize("facts", [pytest.param({"kind": Kind.FEED}, id="feed"), pytest.param({}, id="news sitemap")])
def test_a_list_of_recent_pages_needs_no_home_page(facts: dict[str, Any], tmp_path: Path) -> None:
    entries = urls(f"{SITE}/1", news=(News(title="t"),))
    assert audited(tmp_path, "site/home-page-missing", {ROBOTS: (refs(S), robots), S: (entries, child | facts)}) == []


def test_a_redirect_to_another_host_is_a_warning(tmp_path: Path) -> None:
    documents = {S: (urls(f"{SITE}/a"), child | {"final_url": "https://b.example/s.xml"})}
    (finding,) = audited(tmp_path, "sitemap/redirected", documents)
    assert (finding.severity, finding.message) == ("warning", "redirects to https://b.example/s.xml")


def test_a_single_document_shows_nothing_about_the_rest_of_its_site(tmp_path: Path) -> None:
    old = f"<urlset><url><loc>{SITE}/a</loc><lastmod>2020-01-01</lastmod></url></urlset>".encode()
    names = ["site/home-page-missing", "lastmod/stale-site", "sitemap/unlisted", "hreflang/target-not-listed"]
    audit = audit_of_web(tmp_path, {S: old}, rules=[RULES[name] for name in names], sitemap=S)
    assert [*audit.findings()] == []
    reason = "a single document was audited, not a site"
    assert {one.rule: one.reason for one in audit.summary().not_checked} == dict.fromkeys(names, reason)
