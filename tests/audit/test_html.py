"""The report as HTML pages, without a browser."""

from __future__ import annotations

import base64
import hashlib
import re
from copy import copy
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from lxml import html

from sitemap_harvest.audit import RULES
from sitemap_harvest.audit.report.html import HtmlReport
from sitemap_harvest.audit.report.page import Trend, page_of
from sitemap_harvest.model import Severity
from tests.audit import shops
from tests.audit.reporting import SITE, audited, finding, sample
from tests.rings import some_quick

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sitemap_harvest.audit.site_audit import SiteAudit

NONE = " \N{EN DASH}"
SECTIONS = [
    "verdict", "changes", "findings", "not-checked", "sitemaps", "dates", "runs", "extensions", "pages", "crawl",
]  # fmt: skip


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], SiteAudit]:
    store = shops.store(tmp_path_factory.mktemp("html"))
    return cache(lambda site: shops.audited(store, site))


def written(path: Path, *audits: SiteAudit) -> html.HtmlElement:
    """Return the file that the report of *audits* writes."""
    report = HtmlReport(path)
    for one in audits:
        report.add(one)
    report.close()
    return html.document_fromstring(path.read_bytes().decode())


def text_of(element: html.HtmlElement, selector: str) -> str:
    (found,) = element.cssselect(selector)
    return " ".join(" ".join(found.itertext()).split())


@pytest.mark.parametrize("site", some_quick(shops.SITES, every=3))
def test_a_page_has_all_sections_in_order(audit: Callable[[str], SiteAudit], tmp_path: Path, site: str) -> None:
    page = written(tmp_path / "a.html", audit(site))
    assert [section.get("id") for section in page.cssselect("main > section")] == SECTIONS
    assert text_of(page, "title") == f"Sitemap audit of {site}"
    ids = [one.get("id") for one in page.cssselect("[id]")]
    assert len(ids) == len(set(ids))
    links = {one.get("href") for one in page.cssselect("a[href^='#']")}
    assert links <= {f"#{one}" for one in ids}


@pytest.mark.parametrize(
    ("site", "headline", "score"),
    [
        pytest.param(shops.SHOP, "Needs fixing", "of 100", id="errors"),
        pytest.param(shops.CLEAN, "No problems found", "100", id="clean"),
        pytest.param(shops.NOTHING, "No URLs could be read", "no score", id="nothing"),
        pytest.param(shops.EMPTY, "The sitemaps list no URLs", "no score", id="empty"),
    ],
)
def test_the_verdict_comes_first(
    audit: Callable[[str], SiteAudit], tmp_path: Path, site: str, headline: str, score: str
) -> None:
    page = written(tmp_path / "a.html", audit(site))
    assert text_of(page, "#verdict .headline") == headline
    assert score in text_of(page, "#verdict .ring")


def test_the_page_of_a_shop(audit: Callable[[str], SiteAudit], tmp_path: Path) -> None:
    page = written(tmp_path / "a.html", audit(shops.SHOP))
    rules = [one.get("data-name") for one in page.cssselect("#rules tbody")]
    assert rules[0] == "sitemap/not-fetched"
    assert "url/fragment" in rules
    fragment = text_of(page, "#rule-url-fragment")
    assert "Fix List the URL without the fragment." in fragment
    assert "/p/0#part" in fragment
    assert text_of(page, "#tree tbody tr:nth-child(3)") == f"/missing.xml sitemap status 404 absent 404{4 * NONE}"
    assert "15 added 30 changed" in text_of(page, "#changes .tiles")
    assert text_of(page, "#extensions .codes") == "de 22 en 22"
    assert [one.get("data-chart") for one in page.cssselect("figure")] == ["bar", "line", "updown"]
    assert text_of(page, "#runs figure:nth-of-type(2) tbody tr:last-child") == "2026-11-04 03:00 15 0"
    assert text_of(page, ".formula").endswith(f"= {audit(shops.SHOP).score}")


def test_incomplete_runs_are_marked(audit: Callable[[str], SiteAudit], tmp_path: Path) -> None:
    shop = copy(audit(shops.SHOP))
    assert shop.facts is not None
    first, *others = shop.facts.runs
    shop.facts = replace(shop.facts, runs=[replace(first, complete=False), *others])
    page = written(tmp_path / "a.html", shop)
    for figure in ("figure:nth-of-type(1)", "figure:nth-of-type(2)"):
        moments = [one.text_content() for one in page.cssselect(f"#runs {figure} tbody th")]
        assert moments == ["2026-11-01 03:00 (incomplete)", *(f"2026-11-0{day} 03:00" for day in (2, 3, 4))]


def test_text_of_the_site_does_nothing(audit: Callable[[str], SiteAudit], tmp_path: Path) -> None:
    page = written(tmp_path / "a.html", audit(shops.HOSTILE))
    assert len(page.cssselect("script")) == len(page.cssselect("style")) == 1
    assert page.cssselect("img, iframe, object, embed, base, link") == []
    for element in page.iter("*"):
        assert not [name for name in element.attrib if name.startswith("on") or name in {"style", "src"}]
    links = [one for one in page.cssselect("a") if not one.get("href").startswith("#")]
    assert {one.get("rel") for one in links} == {"noopener noreferrer"}
    assert [one.get("href") for one in links if not one.get("href").startswith(("https://", "http://"))] == []
    text = page.text_content()
    assert not re.search("[\u202e\u2028\x1b]", text)
    assert "\\u202egnp.exe\\x1b[31m" in text
    assert "{{ 7 * 7 }}" in text
    assert "javascript:document.title='run'" in text
    assert "a" * 301 not in text


def test_the_policy_allows_only_the_style_and_script_of_the_page(
    audit: Callable[[str], SiteAudit], tmp_path: Path
) -> None:
    page = written(tmp_path / "a.html", audit(shops.HOSTILE))
    (policy,) = page.cssselect("meta[http-equiv='Content-Security-Policy']")
    digests = [
        base64.b64encode(hashlib.sha256(page.cssselect(name)[0].text.encode()).digest()).decode()
        for name in ("script", "style")
    ]
    assert policy.get("content") == (
        f"default-src 'none'; script-src 'sha256-{digests[0]}'; style-src 'sha256-{digests[1]}'; "
        "style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )


@pytest.mark.parametrize("is_folder", [True, False])
def test_several_sites_have_an_overview_with_a_link_to_each_page(
    audit: Callable[[str], SiteAudit], tmp_path: Path, is_folder: bool
) -> None:
    path = tmp_path / ("audits" if is_folder else "my audit.html")
    report = HtmlReport(path, is_folder=is_folder)
    for site in shops.SITES:
        report.add(audit(site))
    report.close()
    overview = path / "index.html" if is_folder else path
    page = html.parse(overview).getroot()
    links = page.cssselect("#sites a")
    assert [link.text for link in links][:2] == [shops.EMPTY, shops.NOTHING]
    assert {link.text for link in links} == set(shops.SITES)
    for link in links:
        file = overview.parent / link.get("href").replace("%20", " ")
        target = html.parse(file).getroot()
        assert link.text in text_of(target, "title")
        back = target.cssselect(".top a")[0].get("href").replace("%20", " ")
        assert (file.parent / back).resolve() == overview
    assert text_of(page, "#sites tbody:last-child").startswith(f"{shops.CLEAN} No problems found 100 0 0 0 1")
    with_errors = len(page.cssselect("#sites tbody:not([data-errors='0'])"))
    assert text_of(page, ".lead") == (
        f"{with_errors} sites with errors, 1 without URLs that could be read, 1 with sitemaps that list no URLs."
    )


def test_an_audit_of_no_site_has_an_overview(tmp_path: Path) -> None:
    assert "No site was audited." in written(tmp_path / "a.html").text_content()


def test_findings_are_compared_with_those_before() -> None:
    checked = ["url/fragment", "url/unescaped", "url/double-slash", "lastmod/future", "lastmod/ancient"]
    now = audited(
        finding("url/fragment"),
        finding("url/unescaped", count=5),
        finding("url/double-slash", count=2),
        finding("change/flapping"),
        checked=[*checked[:4], "change/flapping"],
    )
    now.before = audited(
        finding("url/unescaped", count=3),
        finding("url/double-slash", count=2),
        finding("lastmod/future", count=7),
        finding("lastmod/ancient"),
        checked=checked,
    )
    page = page_of(now)
    assert [(row.rule, row.trend, row.before) for row in page.rules] == [
        ("url/unescaped", Trend.MORE, 3),
        ("url/double-slash", Trend.SAME, 2),
        ("change/flapping", None, None),
        ("url/fragment", Trend.NEW, 0),
    ]
    assert [(row.rule, row.trend) for row in page.changed] == [
        ("url/fragment", Trend.NEW),
        ("url/unescaped", Trend.MORE),
        ("lastmod/future", Trend.GONE),
    ]
    assert (page.score, page.score_before, page.not_compared) == (
        65, None, "only one of the two runs has checked 2 rules, such as change/flapping",
    )  # fmt: skip


PROBE = {"listed": 90, "sample": 50, "seed": 0}
SAMPLES = "the two probes have different samples"
RULE, PAGE_RULE = "url/fragment", "page/redirect"


@pytest.mark.parametrize(
    ("now", "before", "reason", "without_trend"),
    [
        pytest.param({}, {}, None, set(), id="alike"),
        pytest.param({"probe": PROBE}, {"probe": PROBE}, None, set(), id="same probe"),
        pytest.param({"probe": PROBE | {"listed": 91}}, {"probe": PROBE}, None, set(), id="the site has grown"),
        pytest.param(
            {"probe": PROBE | {"listed": 51, "sample": 51}},
            {"probe": PROBE | {"listed": 50}},
            None,
            set(),
            id="all pages",
        ),
        pytest.param({"probe": PROBE}, {}, "only one of the two runs has probed pages", {PAGE_RULE}, id="one probe"),
        pytest.param({"probe": PROBE}, {"probe": PROBE | {"sample": 20}}, SAMPLES, {PAGE_RULE}, id="size"),
        pytest.param({"probe": PROBE}, {"probe": PROBE | {"seed": 1}}, SAMPLES, {PAGE_RULE}, id="seed"),
        pytest.param({"probe": PROBE}, {"probe": PROBE, "probed": 30}, SAMPLES, {PAGE_RULE}, id="ended early"),
        pytest.param(
            {"checked": [RULE]},
            {},
            f"only one of the two runs has checked {PAGE_RULE}",
            {PAGE_RULE},
            id="one rule more",
        ),
        pytest.param(
            {"in_part": "some URLs"}, {}, f"one of the two runs has checked only a part of {RULE}", {RULE}, id="in part"
        ),
        pytest.param(
            {"arguments": {"prefix": "/en/", "since": "7d"}},
            {"arguments": {"since": "7d"}, "probe": PROBE},
            "the two runs have different arguments or settings (prefix)",
            {RULE, PAGE_RULE},
            id="arguments",
        ),
    ],
)
def test_a_score_is_compared_only_if_the_same_rules_were_checked_in_the_same_way(
    tmp_path: Path,
    audit: Callable[[str], SiteAudit],
    now: dict[str, Any],
    before: dict[str, Any],
    reason: str | None,
    without_trend: set[str],
) -> None:
    site = _made(**now)
    site.before = _made(**before)
    site.facts = audit(shops.SHOP).facts
    page = page_of(site)
    assert (page.score_before is None, page.not_compared) == (reason is not None, reason)
    assert {row.rule for row in page.rules if row.trend is None} == without_trend
    file = written(tmp_path / "a.html", site)
    assert text_of(file, ".delta") == (
        "as in the previous run" if reason is None else "not compared with the previous run"
    )
    assert (f"because {reason}." in text_of(file, "#changes")) == (reason is not None)


def _made(
    *, checked: list[str] | None = None, in_part: str = "", probed: int | None = None, **of_run: Any
) -> SiteAudit:
    """Return an audit in which two rules found something, with these fields of its run."""
    site = audited(
        finding(RULE),
        finding(PAGE_RULE),
        checked=checked or [RULE, PAGE_RULE],
        **({"url_fragment": in_part} if in_part else {}),
    )
    site.run = replace(site.run, **of_run)
    sampled = site.run.probe.get("sample")
    site.summary = replace(site.summary, sampled_pages=sampled, probed_pages=sampled if probed is None else probed)
    return site


def test_findings_that_are_new_in_a_document_or_gone_from_it_are_marked(tmp_path: Path) -> None:
    now = audited(finding("url/fragment", sitemap=f"{SITE}/a.xml"), finding("url/fragment", sitemap=f"{SITE}/b.xml"))
    now.before = audited(
        finding("url/fragment", sitemap=f"{SITE}/a.xml"), finding("url/fragment", sitemap=f"{SITE}/c.xml")
    )
    page = written(tmp_path / "a.html", now)
    assert [" ".join(one.text_content().split()) for one in page.cssselect(".places > li")] == [
        "/a.xmlthe message",
        "/b.xml newthe message",
        "No longer in /c.xml",
    ]
    assert page_of(now).rules[0].trend == Trend.MOVED


def test_the_page_of_a_large_site_is_small(audit: Callable[[str], SiteAudit], tmp_path: Path) -> None:
    path = "/products/category/" + "subcategory/" * 8
    samples = [sample(f"https://www.example.com{path}{at}", position=at, value="2026-11-01") for at in range(5)]
    large = audited(
        *[
            finding(rule, severity=known.severity, sitemap=f"https://www.example.com{path}{at}.xml", samples=samples)
            for rule, known in RULES.items()
            for at in range(20)
        ]
    )
    facts = audit(shops.SHOP).facts
    assert facts is not None
    documents = [replace(facts.documents[-1], url=f"https://www.example.com{path}{at}.xml") for at in range(1_000)]
    large.facts = replace(facts, documents=documents)
    written(tmp_path / "a.html", large)
    assert 500_000 < (tmp_path / "a.html").stat().st_size < 2_000_000


def test_a_rule_with_many_findings_is_shown_in_part(tmp_path: Path) -> None:
    many = [finding("url/fragment", Severity.WARNING, sitemap=f"https://www.example.com/{at}") for at in range(1_100)]
    site = audited(*many)
    assert (len(site.findings), site.rules["url/fragment"].findings) == (1_000, 1_100)
    page = written(tmp_path / "a.html", site)
    assert len(page.cssselect(".places > li")) == 11
    assert text_of(page, ".places > li:last-child") == "And 1,090 more documents"


def test_a_page_has_room_for_the_most_severe_findings() -> None:
    rules = list(RULES)
    mild = [finding(rule, Severity.NOTICE) for rule in rules[20:] for _ in range(12)]
    severe = [finding(rule, sitemap=f"{SITE}/{at}") for rule in rules[:20] for at in range(12)]
    shown = [len(row.findings) for row in page_of(audited(*mild, *severe)).rules]
    assert shown[:70] == [10] * 70
    assert shown[70:] == [1] * (len(rules) - 70)


def test_a_sample_about_several_occurrences_hides_none(tmp_path: Path) -> None:
    share = finding("page/error-share", count=2, sitemap=None, samples=(sample(sitemap=None, value="2 of 4 pages"),))
    page = written(tmp_path / "a.html", audited(share, finding("url/fragment", count=2, samples=(sample("x"),))))
    assert [text_of(one, ".rest") for one in page.cssselect(".places") if one.cssselect(".rest")] == ["The first of 2"]


def test_a_sample_about_a_site_names_the_sitemap_of_its_entry(tmp_path: Path) -> None:
    twice = finding(
        "url/duplicate-across-sitemaps", sitemap=None, samples=(sample(f"{SITE}/a", position=2, value="v"),)
    )
    page = written(tmp_path / "a.html", audited(twice))
    assert text_of(page, ".locs li") == "/a v entry 2 of /sitemap.xml"


def test_a_file_is_shown_as_it_is_named(tmp_path: Path) -> None:
    audit = audited()
    audit.summary.site = "file:///sites/%40a_b%0A.xml"
    report = HtmlReport(tmp_path, is_folder=True)
    report.add(audit)
    report.close()
    (link,) = html.document_fromstring((tmp_path / "index.html").read_text()).cssselect("#sites a")
    assert link.text == "file:///sites/@a_b\\n.xml"
    assert text_of(html.parse(tmp_path / link.get("href")).getroot(), "h1") == link.text
