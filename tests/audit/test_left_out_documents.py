"""Audits of runs that left out documents: what these list, no rule reports as missing."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import openpyxl
import pytest
from lxml import html

from sitemap_harvest import open_store
from sitemap_harvest.audit import RULES
from sitemap_harvest.audit.audit import Audit
from sitemap_harvest.audit.facts import since_baseline
from sitemap_harvest.audit.report.html import HtmlReport
from sitemap_harvest.audit.report.markdown import render_markdown
from sitemap_harvest.audit.report.xlsx import render_xlsx
from sitemap_harvest.audit.site_audit import SiteAudit
from sitemap_harvest.diff import compare
from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.model import Cause, Outcome, PageBatch, PageSource
from tests.audit.auditing import SITE, audit_of_web, page
from tests.site import dated, index, robots, urlset

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sitemap_harvest.model import AuditSummary, Finding
    from tests.engine.run import Web

ROBOTS, INDEX, A, B, USUAL = (f"{SITE}/{name}" for name in ("robots.txt", "i.xml", "a.xml", "b.xml", "sitemap.xml"))
MAY_BE_LISTED = "a document that was not read completely may list what seems to be missing"
NOT_REQUESTED = "a document that the run did not request may list what seems to be missing"
UNREAD_NAMES = "robots.txt or an index was not read completely"
ALTERNATES = "".join(
    f'<xhtml:link xmlns:xhtml="http://www.w3.org/1999/xhtml" rel="alternate" hreflang="{lang}" href="{SITE}/{lang}"/>'
    for lang in ("en", "fr", "de")
)
WITH_ALTERNATES = dated(urlset(f"{SITE}/en"), "2020-01-01").replace("</url>", f"{ALTERNATES}</url>")
WEB: Web = {
    ROBOTS: robots(INDEX).encode(),
    INDEX: dated(index(A, B), "2020-01-01", "2100-01-01").encode(),
    A: WITH_ALTERNATES.replace("</urlset>", f"<url><loc>{SITE}/fr</loc></url></urlset>").encode(),
    B: dated(urlset(f"{SITE}/fr", f"{SITE}/de"), "2100-01-01")
    .replace("</url>", f"{ALTERNATES}</url>")
    .replace("</urlset>", f"<url><loc>{SITE}/</loc></url></urlset>")
    .encode(),
}
OF_ABSENCE = (
    "hreflang/missing-return",
    "hreflang/target-not-listed",
    "lastmod/stale-site",
    "page/not-listed",
    "site/home-page-missing",
)


def audited(
    path: Path, names: Sequence[str], *webs: Web, last: dict[str, str] | None = None, **arguments: str
) -> tuple[list[Finding], AuditSummary]:
    """Return what the rules *names* find in the last of several runs over *webs*, which has the arguments *last* too.

    There is a crawl export with a page that only :data:`B` lists.
    """
    arguments = {"site": SITE, **arguments}
    if webs[:-1]:
        audit_of_web(path, *webs[:-1], **arguments)
    audit_of_web(path, webs[-1], **arguments, **(last or {}))
    pages = PageBatch.of([page(f"{SITE}/{name}", source=PageSource.CRAWL_EXPORT) for name in ("en", "de")]).arrow
    (history,) = open_store(str(path)).histories()
    audit = Audit(history.at("latest"), history, rules=[RULES[name] for name in names], pages=[pages])
    return [*audit.findings()], audit.summary()


def test_nothing_is_missing_if_all_documents_are_read(tmp_path: Path) -> None:
    found, summary = audited(tmp_path, OF_ABSENCE, WEB)
    assert (found, summary.not_checked, summary.passed, summary.not_requested) == ([], (), 5, 0)


def test_paths_that_only_an_earlier_search_tried_were_not_left_out(tmp_path: Path) -> None:
    found, summary = audited(tmp_path, ["site/no-sitemap"], *[{ROBOTS: robots().encode()}] * 2)
    assert [one.message.partition(":")[0] for one in found] == ["absent"]
    assert (summary.not_checked, summary.not_requested) == ((), 0)


@pytest.mark.parametrize(
    ("arguments", "runs", "not_requested", "unread"),
    [
        pytest.param({"skip": "b.xml"}, 1, 1, 0, id="skip"),
        pytest.param({"skip": "b.xml"}, 2, 1, 0, id="skip-again"),
        pytest.param({"follow": "a.xml"}, 1, 1, 0, id="follow"),
        pytest.param({"limit": "1"}, 1, 0, 1, id="limit"),
        pytest.param({}, 1, 1, 0, id="other-host"),
    ],
)
def test_what_documents_list_that_the_run_left_out_is_not_missing(
    arguments: dict[str, str], runs: int, not_requested: int, unread: int, tmp_path: Path
) -> None:
    web = WEB if arguments else WEB | {INDEX: index(A, "https://other.test/b.xml").encode()}
    found, summary = audited(tmp_path, OF_ABSENCE, *[web] * runs, **arguments)
    assert [one.rule for one in found] == []
    assert {one.rule: one.reason for one in summary.not_checked} == dict.fromkeys(OF_ABSENCE, NOT_REQUESTED)
    assert (summary.passed, summary.not_requested, summary.unread) == (0, not_requested, unread)


def test_sitemaps_whose_date_in_the_index_is_old_are_left_out(tmp_path: Path) -> None:
    web = WEB | {A: WEB[B], B: WEB[A]}
    found, summary = audited(tmp_path, OF_ABSENCE, web, since="2024", prune_index="yes")
    assert ([one.rule for one in found], summary.not_requested) == ([], 1)


def test_that_nothing_was_removed_is_not_known_without_all_documents(tmp_path: Path) -> None:
    names = ["change/mass-removal", "change/sitemap-gone"]
    found, summary = audited(tmp_path, names, WEB, WEB, last={"skip": "a.xml"})
    assert (found, {one.rule: one.reason for one in summary.not_checked}) == ([], dict.fromkeys(names, NOT_REQUESTED))


def test_urls_that_are_removed_from_the_documents_that_are_read_are_reported(tmp_path: Path) -> None:
    webs = [WEB | {A: urlset(*(f"{SITE}/{number}" for number in range(count))).encode()} for count in (30, 10)]
    found, summary = audited(tmp_path, ["change/mass-removal"], *webs, skip="b.xml")
    assert [one.message for one in found] == ["20 URLs removed since the last run (67%)"]
    assert summary.partly_checked_by_reason == {NOT_REQUESTED: ["change/mass-removal"]}


@pytest.mark.parametrize(
    ("status", "reasons"), [pytest.param(503, [UNREAD_NAMES], id="fails"), pytest.param(404, [], id="absent")]
)
def test_a_document_that_robots_txt_names_may_be_an_index(status: int, reasons: list[str], tmp_path: Path) -> None:
    web: Web = {ROBOTS: WEB[ROBOTS], INDEX: status, USUAL: WEB[A]}
    found, summary = audited(tmp_path, ["site/not-in-robots"], web)
    assert [one.sitemap for one in found] == ([] if reasons else [USUAL])
    assert [one.reason for one in summary.not_checked] == reasons


def test_a_sitemap_may_be_named_by_an_index_that_is_skipped(tmp_path: Path) -> None:
    other = f"{SITE}/j.xml"
    before = WEB | {ROBOTS: robots(INDEX, other).encode(), other: index(A).encode()}
    after = before | {INDEX: index(A).encode(), other: index(A, B).encode()}
    found, summary = audited(tmp_path, ["sitemap/unlisted"], before, after, skip="j.xml")
    assert (found, [one.reason for one in summary.not_checked]) == ([], [UNREAD_NAMES])


def test_a_run_has_not_left_out_a_sitemap_that_nothing_lists_any_more(tmp_path: Path) -> None:
    """It stays in the snapshot because an absent document may list it, but a run without a store does not know it."""
    gone = f"{SITE}/gone.xml"
    before = WEB | {INDEX: index(A, B, gone).encode(), A: WITH_ALTERNATES.replace("/fr", "/es").encode(), gone: 404}
    names = ["hreflang/target-not-listed"]
    found, summary = audited(tmp_path, names, before, before | {INDEX: index(A, gone).encode()})
    assert [one.message for one in found] == [f"1 language version in no sitemap, such as {SITE}/es"]
    assert summary.partly_checked_by_reason == {MAY_BE_LISTED: names}
    assert (summary.not_requested, summary.unread) == (0, 2)


def test_a_run_that_requests_only_feeds_does_not_know_that_there_is_no_sitemap(tmp_path: Path) -> None:
    found, summary = audited(tmp_path, ["site/no-sitemap"], WEB, WEB, last={"feeds_only": "yes"})
    assert (found, [one.reason for one in summary.not_checked]) == ([], ["no document was read"])


def test_a_site_whose_sitemaps_have_private_addresses_may_have_one(tmp_path: Path) -> None:
    private = NotFetched(Outcome.OUT_OF_SCOPE, "the host has a private address", Cause.PRIVATE)
    web = {ROBOTS: robots("http://10.0.0.1/s.xml").encode(), "http://10.0.0.1/s.xml": private}
    found, summary = audited(tmp_path, ["site/no-sitemap"], web)
    assert (found, [one.reason for one in summary.not_checked]) == ([], [NOT_REQUESTED])


def test_the_totals_say_that_the_audit_is_partial(tmp_path: Path) -> None:
    _, summary = audited(tmp_path, ["url/fragment"], WEB, skip="b.xml")
    assert summary.in_words() == (
        f"{SITE}: no findings in 2 URLs of 3 documents (1 listed document not requested, so the audit is partial); "
        "crawl export: 1 of 2 listed URLs; rules passed: 1, not checked: 0"
    )
    summary.unread = 2
    assert " (2 not read completely, 1 listed document not requested, so the audit is partial)" in summary.in_words()


PENDING: Web = WEB | {
    A: urlset(f"{SITE}/fr", f"{SITE}/de", f"{SITE}/gone#x", f"{SITE}/").encode(),
    B: urlset(f"{SITE}/b").encode(),
}
AFTER: Web = PENDING | {A: WITH_ALTERNATES.encode(), B: 503}


def test_entries_whose_removal_is_pending_are_neither_listed_nor_missing(tmp_path: Path) -> None:
    names = ["url/fragment", "lastmod/one-stamp", *OF_ABSENCE]
    found, summary = audited(tmp_path, names, PENDING, AFTER)
    assert [one.rule for one in found] == []
    assert (summary.urls, summary.sitemaps, summary.unread, summary.pending) == (2, 4, 1, 4)


def test_reports_show_pending_removals(tmp_path: Path) -> None:
    audit_of_web(tmp_path, PENDING, AFTER, site=SITE)
    history = open_store(str(tmp_path)).history(SITE)
    site = SiteAudit()
    assert list(site.collect(Audit(history.at("latest"), history, rules=[], with_facts=True))) == []
    report = HtmlReport(tmp_path / "a.html")
    report.add(site)
    report.close()
    page = html.parse(tmp_path / "a.html").getroot()
    urls = [one.text_content().strip() for one in page.cssselect("#changes .tiles li, #changes .locs li")]
    pending = [f"{path} last listed in {A}" for path in ("/fr", "/de", "/gone#x", "/")]
    assert urls == ["1 added", "4 pending", "/en", *pending]
    assert "4 URLs were not checked because of a pending removal." in page.cssselect("#verdict .lead")[0].text_content()
    words = "4 URLs not checked because of a pending removal"
    assert words in render_markdown([site]).decode()
    summary = openpyxl.load_workbook(BytesIO(render_xlsx([site])))["summary"]
    assert dict(summary.iter_cols(values_only=True))["pending removals"] == 4
    assert site.facts is not None
    with compare(history.at("first"), history.at("latest")) as changes:
        facts = since_baseline(site.facts, changes)
    assert {kind: len(facts.samples[kind]) for kind, count in facts.run.changes.items() if count} == {
        "added": 1,
        "pending": 4,
    }


def test_entries_whose_removal_is_pending_have_no_share(tmp_path: Path) -> None:
    webs = [
        PENDING | {A: dated(urlset(*(f"{SITE}/{number}" for number in range(count))), f"20{count}-01-01").encode()}
        for count in (30, 25)
    ]
    found, summary = audited(tmp_path, ["lastmod/one-stamp"], webs[0], webs[1] | {B: 503})
    assert [one.message for one in found] == ["25 dates (100%) are the same: 2025-01-01"]
    assert summary.urls == 26
