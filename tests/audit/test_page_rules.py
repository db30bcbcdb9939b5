"""Rules about the listed pages: each with pages that trip it, and some that nearly do."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest.audit import RULES
from sitemap_harvest.audit.audit import Audit
from sitemap_harvest.model import Kind, PageBatch, PageSource, Severity
from sitemap_harvest.snapshots.store import PageWriter
from tests.audit.auditing import SITE, SITEMAP, _Facts, dated, found, page, seen, urls
from tests.snapshots.store.making import Making

if TYPE_CHECKING:
    from pathlib import Path

    from sitemap_harvest.model import PageRecord

A, B, C = (f"{SITE}/{name}" for name in "abc")
EXPORT = PageSource.CRAWL_EXPORT
TARGET = f"{SITE}/not-listed-target"
GONE = {"status": None, "final_url": None}


def of_pages(path: Path, rule: str, *pages: PageRecord, listed: Any = (A, B)) -> list[tuple[Any, ...]]:
    """Return what *rule* finds about *pages* if one sitemap lists the URLs *listed*, without the document."""
    findings = found(path, rule, {SITEMAP: urls(*listed)}, pages=pages)
    return [seen(finding)[1:] for finding in findings]


def url_of(name: str) -> str:
    """Return the URL of the page of that case."""
    return f"{SITE}/{name.replace(' ', '-')}"


FLAWS: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "redirect": ("page/redirect", {"redirect_statuses": (301,), "redirects": (C,), "final_url": C}, f"301 to {C}"),
    "chain": ("page/redirect", {"redirect_statuses": (302,), "redirects": (B, C)}, f"302 to {B}, then {C}"),
    "target unknown": ("page/redirect", {"status": 307}, "307"),
    "not found": ("page/client-error", {"status": 404}, "404"),
    "redirect to a missing page": (
        "page/client-error",
        {"status": 410, "redirect_statuses": (301,), "redirects": (C,)},
        "410 after a redirect",
    ),
    "server error": ("page/server-error", {"status": 503}, "503"),
    "time-out": (
        "page/unreachable",
        {**GONE, "error": "the request timed out", "cause": "timeout"},
        "the request timed out",
    ),
    "header": ("page/noindex", {"x_robots_tag": "NoIndex"}, "X-Robots-Tag: NoIndex"),
    "none": ("page/noindex", {"meta_robots": "follow, none"}, "meta robots: follow, none"),
    "noindex for one crawler": (
        "page/noindex",
        {"x_robots_tag": "googlebot: noindex, nofollow"},
        "X-Robots-Tag: googlebot: noindex, nofollow",
    ),
    "header and tag": (
        "page/noindex",
        {"x_robots_tag": "noindex", "meta_robots": "noindex nofollow"},
        "X-Robots-Tag: noindex; meta robots: noindex nofollow",
    ),
    "other page": ("page/canonical-elsewhere", {"canonical": C}, C),
    "slash": ("page/canonical-elsewhere", {"canonical": f"{SITE}/slash/"}, f"{SITE}/slash/"),
    "http": ("page/canonical-elsewhere", {"canonical": "http://a.example/http"}, "http://a.example/http"),
    "to a page that is not listed": (
        "page/redirect",
        {"redirect_statuses": (301,), "redirects": (TARGET,), "final_url": TARGET},
        f"301 to {TARGET}",
    ),
    "soft 404": ("page/soft-404", {"soft_404": "Not found"}, "Not found"),
    "not listed": ("page/not-listed", {"source": EXPORT}, None),
    "not listed xhtml": ("page/not-listed", {"source": EXPORT, "content_type": "application/xhtml+xml; a=b"}, None),
    "not listed indexable": ("page/not-listed", {"source": EXPORT, "content_type": None, "indexable": True}, None),
}
NEARLY: dict[str, tuple[str, dict[str, Any]]] = {
    "no client error": ("page/client-error", {"status": 399}),
    "no server error": ("page/server-error", {"status": 499}),
    "unknown": ("page/unreachable", GONE),
    "not requested": ("page/unreachable", {**GONE, "method": None, "error": "robots.txt forbids it"}),
    "target forbidden": ("page/unreachable", {**GONE, "error": "robots.txt forbids it", "redirects": (C,)}),
    "firewall": ("page/client-error", {"status": 403, "error": "a firewall blocks the request"}),
    "other directives": (
        "page/noindex",
        {"x_robots_tag": "max-image-preview: none, max-snippet:-1", "meta_robots": "noindexing"},
    ),
    "later": ("page/noindex", {"x_robots_tag": "unavailable_after: 2030-01-01, index"}),
    "noindex of an error page": ("page/noindex", {"meta_robots": "noindex", "status": 404}),
    "spelling": ("page/canonical-elsewhere", {"canonical": "HTTPS://A.example:443/%73pelling"}),
    "invalid": ("page/canonical-elsewhere", {"canonical": "mailto:a"}),
    "of a target": ("page/canonical-elsewhere", {"canonical": B, "redirects": (B,), "redirect_statuses": (301,)}),
    "404 in any case": ("page/soft-404", {"status": 404, "soft_404": "Not found"}),
    "fragment": ("page/canonical-elsewhere", {"canonical": f"{SITE}/fragment#top"}),
    "not listed target": ("page/not-listed", {"source": EXPORT}),
    "not listed probe": ("page/not-listed", {}),
    "not listed missing": ("page/not-listed", {"source": EXPORT, "status": 404}),
    "not listed image": ("page/not-listed", {"source": EXPORT, "content_type": "image/png"}),
    "not listed closed": ("page/not-listed", {"source": EXPORT, "indexable": False}),
    "not listed noindex": ("page/not-listed", {"source": EXPORT, "meta_robots": "noindex"}),
    "not listed canonical": ("page/not-listed", {"source": EXPORT, "canonical": A}),
    "not listed redirect": ("page/not-listed", {"source": EXPORT, "redirects": (A,), "redirect_statuses": (301,)}),
    "listed": ("page/not-listed", {"source": EXPORT, "url": "https://A.example/listed", "key": f"{SITE}/listed"}),
    "www": ("page/not-listed", {"source": EXPORT, "url": "https://www.a.example/", "key": "https://www.a.example/"}),
    "not https": ("page/not-listed", {"source": EXPORT, "url": "http://a.example/", "key": "http://a.example/"}),
    "host": ("page/not-listed", {"source": EXPORT, "url": "https://b.example/", "key": "https://b.example/"}),
}


@pytest.fixture(scope="module")
def occurrences(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], str | None]:
    """Return the value of each occurrence, by rule and URL, in one audit of the pages of all cases."""
    cases = {name: values for name, (_, values, *_) in (FLAWS | NEARLY).items()}
    pages = [replace(page(url_of(name)), **values) for name, values in cases.items()]
    making = Making(tmp_path_factory.mktemp("pages"))
    snapshot = making.run({SITEMAP: urls(*[url_of(name) for name in cases if not name.startswith("not listed")])})
    names = [name for name in RULES if name.startswith("page/")]
    batches = [PageBatch.of(pages).arrow]
    rules = [RULES[name] for name in names]
    with Audit(snapshot, making.store.history(SITE), rules=rules, pages=batches) as audit:
        assert list(audit.findings())
        rows = [row for batch in audit.occurrences(names) for row in batch.rows()]
    return {(row.rule, row.loc): row.value for row in rows}


@pytest.mark.parametrize("name", FLAWS)
def test_a_page_with_a_flaw(name: str, occurrences: dict[tuple[str, str], str | None]) -> None:
    rule, _, value = FLAWS[name]
    assert {loc: text for (known, loc), text in occurrences.items() if known == rule}[url_of(name)] == value


@pytest.mark.parametrize("name", NEARLY)
def test_a_page_that_nearly_has_a_flaw(name: str, occurrences: dict[tuple[str, str], str | None]) -> None:
    rule, values = NEARLY[name]
    assert (rule, values.get("url", url_of(name))) not in occurrences


def test_a_finding(tmp_path: Path) -> None:
    pages = [page(A, status=404), page(B)]
    (finding,) = found(tmp_path, "page/client-error", {SITEMAP: urls(A, B, C)}, pages=pages)
    assert (*seen(finding), finding.share) == (SITEMAP, 1, [(A, "404")], 0.5)
    assert finding.message == "1 URL with a client error, such as 404 (50% of the checked pages of this sitemap)"


def test_pages_are_joined_by_their_canonical_url_once_for_each_sitemap(tmp_path: Path) -> None:
    other = f"{SITE}/other.xml"
    run = {SITEMAP: urls("https://A.example/a", A, B), other: urls(A)}
    findings = found(tmp_path, "page/client-error", run, pages=[page(A, status=404)])
    assert [seen(one) for one in findings] == [
        (other, 1, [(A, "404")]),
        (SITEMAP, 1, [("https://A.example/a", "404")]),
    ]


def test_a_crawl_export_takes_precedence_over_a_probe(tmp_path: Path) -> None:
    pages = [page(A, status=404, source=EXPORT), page(A), page("https://A.example/b", status=410), page(B)]
    pages += [page(C, method=None, source=EXPORT, **GONE), page(C, status=403)]
    found_pages = [(3, [(A, "404"), (B, "410"), (C, "403")])]
    assert of_pages(tmp_path, "page/client-error", *pages, listed=(A, B, C)) == found_pages


def test_errors_of_pages_that_only_a_feed_lists(tmp_path: Path) -> None:
    documents = {SITEMAP: (urls(A, B), {"kind": Kind.FEED})}
    making = _Facts(tmp_path)
    making.facts = {url: facts for url, (_, facts) in documents.items()}
    snapshot = making.run({url: listed for url, (listed, _) in documents.items()})
    pages = [page(A, status=404), page(B, x_robots_tag="noindex", canonical=C)]
    rules = [rule for name, rule in RULES.items() if name.startswith("page/")]
    audit = Audit(snapshot, making.store.history(SITE), rules=rules, pages=[PageBatch.of(pages).arrow])
    assert [(one.rule, one.message) for one in audit.findings()] == [
        ("page/client-error", "1 URL with a client error, such as 404 (50% of the checked pages of this sitemap)"),
        ("page/error-share", "errors in 1 of 2 checked pages (50.0%)"),
    ]
    reasons = {one.rule: one.reason for one in audit.summary().not_checked}
    reason = "no page that a sitemap lists was checked, only those of feeds and pages of links"
    assert [rule for rule, text in reasons.items() if text == reason] == [
        "page/redirect",
        "page/noindex",
        "page/canonical-elsewhere",
    ]


def many(count: int, errors: int, **values: Any) -> list[PageRecord]:
    """Return *count* pages, the first of which have *errors*."""
    return [page(f"{SITE}/{at}", status=404 if at < errors else 200, **values) for at in range(count)]


@pytest.mark.parametrize(
    ("listed", "pages", "message"),
    [
        pytest.param(
            1000, many(100, 5), "5 of 100 checked pages (5.0%; 95% confidence interval 2.2% to 11.2%)", id="sample"
        ),
        pytest.param(100, many(100, 2), "2 of 100 checked pages (2.0%)", id="all"),
        pytest.param(16, many(16, 1), "1 of 16 checked pages (6.3%)", id="half rounded up"),
        pytest.param(1000, many(100, 2, source=EXPORT), "2 of 100 checked pages (2.0%)", id="crawl export"),
        pytest.param(
            10,
            [page(f"{SITE}/1", **GONE, error="timeout", cause="timeout")],
            "1 of 1 checked pages (100.0%; 95% confidence interval 20.7% to 100.0%)",
            id="one",
        ),
    ],
)
def test_share_of_errors(listed: int, pages: list[PageRecord], message: str, tmp_path: Path) -> None:
    run = {SITEMAP: urls(*[f"{SITE}/{at}" for at in range(listed)])}
    (finding,) = found(tmp_path, "page/error-share", run, pages=pages)
    assert finding.message == f"errors in {message}"
    assert (finding.sitemap, finding.severity, finding.threshold) == (None, Severity.ERROR, 0.01)


def test_share_of_errors_of_all_pages_that_a_probe_could_request(tmp_path: Path) -> None:
    making = Making(tmp_path)
    run = making.run({SITEMAP: urls(A, B, "https://other.example/")}).run
    writer = PageWriter(making.store.history(SITE), run.id, {"listed": 2, "sample": 2, "seed": 0})
    disallowed = page(B, method=None, error="robots.txt forbids it", **GONE)
    writer.add(PageBatch.of([replace(one, run=run.id) for one in (page(A, status=404), disallowed)]))
    writer.flush()
    history = making.store.history(SITE)
    (finding,) = Audit(history.at("latest"), history, rules=[RULES["page/error-share"]]).findings()
    assert finding.message == "errors in 1 of 1 checked pages (100.0%)"


def test_few_errors(tmp_path: Path) -> None:
    listed = [f"{SITE}/{at}" for at in range(100)]
    assert of_pages(tmp_path, "page/error-share", *many(100, 1), listed=listed) == []


NOW = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("lastmod", "last_modified", "value"),
    [
        pytest.param(
            "2026-03-01", datetime(2026, 3, 9, 1, tzinfo=UTC), "2026-03-09, but lastmod is 2026-03-01", id="later"
        ),
        pytest.param("2026-03-01", datetime(2026, 3, 8, 23, tzinfo=UTC), None, id="within a week"),
        pytest.param(
            "2026-03-31", datetime(2026, 2, 28, tzinfo=UTC), "2026-02-28, but lastmod is 2026-03-31", id="earlier"
        ),
        pytest.param("2026-03-30", datetime(2026, 2, 28, tzinfo=UTC), None, id="within a month"),
        pytest.param("2026-03-30", NOW - timedelta(minutes=1), None, id="time of the request"),
        pytest.param(None, datetime(2026, 3, 9, tzinfo=UTC), None, id="no lastmod"),
    ],
)
def test_last_modified(lastmod: str | None, last_modified: datetime, value: str | None, tmp_path: Path) -> None:
    pages = [page(f"{SITE}/1", last_modified=last_modified, requested_at=NOW)]
    findings = found(tmp_path, "page/lastmod-differs", {SITEMAP: dated(lastmod)}, pages=pages)
    assert [seen(one) for one in findings] == ([(SITEMAP, 1, [(f"{SITE}/1", value)])] if value else [])


def test_last_modified_in_a_crawl_export_without_a_time_zone(tmp_path: Path) -> None:
    facts = {"last_modified": NOW, "requested_at": NOW + timedelta(hours=14), "source": EXPORT}
    pages = [page(f"{SITE}/1", **facts)]
    assert found(tmp_path, "page/lastmod-differs", {SITEMAP: dated("2026-03-01")}, pages=pages) == []


def test_a_deployment_is_no_change_of_pages(tmp_path: Path) -> None:
    pages = [page(f"{SITE}/{at + 1}", last_modified=datetime(2026, 6, 1, 8, at, tzinfo=UTC)) for at in range(10)]
    assert found(tmp_path, "page/lastmod-differs", {SITEMAP: dated(*["2026-03-01"] * 10)}, pages=pages) == []


def test_pages_of_a_probe_are_read_from_the_store(tmp_path: Path) -> None:
    making = Making(tmp_path)
    run = making.run({SITEMAP: urls(A, B)}).run
    writer = PageWriter(making.store.history(SITE), run.id, {"listed": 2, "sample": 1, "seed": 0})
    writer.add(PageBatch.of([replace(page(A, status=404), run=run.id)]))
    writer.flush()
    history = making.store.history(SITE)
    findings = Audit(history.at("latest"), history, rules=[RULES["page/client-error"]]).findings()
    assert [seen(one) for one in findings] == [(SITEMAP, 1, [(A, "404")])]


def not_checked(path: Path, pages: list[PageRecord], listed: str = A) -> dict[str, str]:
    """Return the reasons why rules about pages were not checked, without those that are the same for all of them."""
    making = Making(path)
    snapshot = making.run({SITEMAP: urls(listed)})
    rules = [rule for name, rule in RULES.items() if name.startswith("page/")]
    audit = Audit(snapshot, making.store.history(SITE), rules=rules, pages=[PageBatch.of(pages).arrow])
    assert list(audit.findings()) == []
    return {one.rule.removeprefix("page/"): one.reason for one in audit.summary().not_checked}


def test_no_pages(tmp_path: Path) -> None:
    reasons = not_checked(tmp_path, [])
    assert len(reasons) == 10
    assert set(reasons.values()) == {
        "no listed page was requested, by a probe (--probe N) or in a crawl export (--crawl-export FILE)",
        "there is no crawl export with pages of the site (--crawl-export FILE)",
    }


def test_a_probe_without_anything_notable(tmp_path: Path) -> None:
    assert not_checked(tmp_path, [page(A)]) == {
        "lastmod-differs": "the pages have no Last-Modified header",
        "not-listed": "there is no crawl export with pages of the site (--crawl-export FILE)",
    }


def test_an_export_with_few_columns(tmp_path: Path) -> None:
    assert not_checked(tmp_path, [page(A, source=EXPORT)]) == {
        "canonical-elsewhere": "the crawl export has no canonical URLs",
        "lastmod-differs": "the pages have no Last-Modified header",
        "noindex": "the crawl export has no robots directives",
        "soft-404": "the crawl export has no titles",
    }


def test_an_export_of_another_site(tmp_path: Path) -> None:
    assert len(not_checked(tmp_path, [page("https://b.example/", source=EXPORT)])) == 10


def test_an_export_with_some_of_the_listed_urls(tmp_path: Path) -> None:
    making = Making(tmp_path)
    snapshot = making.run({SITEMAP: urls(A, B, C, "ftp://a.example/")})
    rules = [rule for name, rule in RULES.items() if name.startswith("page/")]
    facts = {"source": EXPORT, "canonical": A, "title": "A", "meta_robots": "all"}
    pages = [
        page(A, **facts),
        page(B, **facts | {"canonical": B, "meta_robots": "noindex"}),
        page(f"{SITE}/d", **facts),
    ]
    audit = Audit(snapshot, making.store.history(SITE), rules=rules, pages=[PageBatch.of(pages).arrow])
    assert [one.rule for one in audit.findings()] == ["page/noindex"]
    summary = audit.summary()
    assert (summary.listed_urls, summary.exported_urls, summary.passed) == (3, 2, 1)
    assert (
        "; crawl export: 2 of 3 listed URLs; rules passed: 1, not checked: 8, checked in part: 1" in summary.in_words()
    )
    reasons = {one.rule.removeprefix("page/"): one.reason for one in summary.not_checked}
    assert reasons.pop("lastmod-differs") == "the pages have no Last-Modified header"
    assert "not-listed" not in reasons
    assert {*reasons.values()} == {"only 2 of 3 listed URLs are in the crawl export"}


def test_an_export_with_another_scheme(tmp_path: Path) -> None:
    reasons = not_checked(tmp_path, [page("http://a.example/a", source=EXPORT)])
    reason = (
        "0 of 1 listed URLs are in the crawl export: it has URLs of http://a.example, and the sitemaps list URLs "
        "of https://a.example"
    )
    assert (len(reasons), {*reasons.values()}) == (10, {reason})


def test_an_export_and_a_probe_of_all_pages(tmp_path: Path) -> None:
    making = Making(tmp_path)
    snapshot = making.run({SITEMAP: urls(A, B)})
    pages = [PageBatch.of([page(A, source=EXPORT), page(B)]).arrow]
    audit = Audit(snapshot, making.store.history(SITE), rules=[RULES["page/client-error"]], pages=pages)
    assert not list(audit.findings())
    summary = audit.summary()
    assert (summary.listed_urls, summary.exported_urls, summary.not_checked) == (2, 1, ())


def test_summary_of_a_probe_that_could_not_request_all_pages(tmp_path: Path) -> None:
    making = Making(tmp_path)
    run = making.run({SITEMAP: urls(A, B)}).run
    writer = PageWriter(making.store.history(SITE), run.id, {"listed": 3, "left_out": 1, "sample": 3, "seed": 0})
    unrequested = [
        page(B, method=None, error="robots.txt disallows the URL", **GONE),
        page(C, method=None, error="the host failed to respond", **GONE),
    ]
    writer.add(PageBatch.of([replace(one, run=run.id) for one in (page(A, requested_at=NOW), *unrequested)]))
    writer.flush()
    history = making.store.history(SITE)
    audit = Audit(history.at("latest"), history, rules=[RULES["page/client-error"]])
    assert not list(audit.findings())
    words = (
        "; probe: 3 of 3 sampled pages (seed 0): 1 requested, 1 disallowed by robots.txt, 1 not requested "
        "(because the host failed to respond), 1 entry left out (invalid, or on another host); "
    )
    assert words in audit.summary().in_words()
