"""Problems of documents as findings: what follows from another finding is left out."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest.audit import RULES
from sitemap_harvest.audit.audit import Audit
from sitemap_harvest.audit.explanation import explanation_of
from sitemap_harvest.audit.problems import causes_of
from sitemap_harvest.model import CATALOGUE, Kind, Problem, Sample
from tests.audit.auditing import SITE, audit_of_web, findings_of_web
from tests.audit.web import html, index, robots, rss, urlset
from tests.engine.run import Cut
from tests.snapshots.store.making import Making, record_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PAGES = urlset(f"{SITE}/", f"{SITE}/1")[2]
FLAWED = {
    "truncated": (PAGES[:-12], "xml/truncated"),
    "ampersand": (PAGES.replace(b"/1<", b"/1?a&b<"), "xml/bare-ampersand"),
    "front-matter": (b"---\n---\n" + PAGES, "xml/junk-before"),
    "template": (PAGES.replace(b"/1<", b"/{{ slug }}<"), "loc/template"),
    "lost": (urlset(f"{SITE}/{{{{ slug }}}}")[2], "loc/template"),
    "empty-sitemap": (urlset()[2], "sitemap/empty"),
    "empty-feed": (rss()[2], "document/no-entries"),
    "index-of-itself": (index(f"{SITE}/index-of-itself")[2], "sitemap/cycle"),
    "web-page": (html("Welcome")[2], "sitemap/not-a-sitemap"),
    "nothing": (b"", "sitemap/not-a-sitemap"),
    "damaged": (gzip.compress(PAGES)[:3] + b"\xff" * 99, "unpack/unreadable"),
    "cut": (gzip.compress(PAGES)[:-20], "unpack/truncated"),
}
UNREAD = {
    "truncated": "sitemap/incomplete",
    "template": "sitemap/incomplete",
    "lost": "sitemap/incomplete",
    "cut": "sitemap/incomplete",
    "damaged": "sitemap/not-fetched",
}
"""What the flaw means for the whole document: a finding of its own."""
OF_ENTRIES = {"lastmod", "url", "hreflang"}


def test_a_flaw_is_one_finding_and_one_more_if_the_document_is_not_read_completely(tmp_path: Path) -> None:
    web = {f"{SITE}/{name}": body for name, (body, _) in FLAWED.items()}
    found = findings_of_web(tmp_path, {f"{SITE}/robots.txt": robots(*web)[2], **web})
    about = [(one.sitemap, one.rule) for one in found if one.rule.partition("/")[0] not in OF_ENTRIES]
    expected = [(f"{SITE}/{name}", code) for name, (_, code) in FLAWED.items()]
    expected += [(f"{SITE}/{name}", rule) for name, rule in UNREAD.items()]
    assert sorted(about) == sorted([*expected, (f"{SITE}/index-of-itself", "sitemap/index-lastmod-missing")])


def test_a_sitemap_at_a_probed_path_that_ends_before_its_first_url_has_its_problem_too(tmp_path: Path) -> None:
    web = {f"{SITE}/robots.txt": robots()[2], f"{SITE}/sitemap.xml": PAGES[:-80], f"{SITE}/": html("Welcome")[2]}
    rules = {one.rule for one in findings_of_web(tmp_path, web)}
    assert rules == {"site/no-sitemap", "site/not-in-robots", "sitemap/incomplete", "xml/truncated"}


def findings_of_problems(path: Path, *problems: Sequence[Problem], **facts: Any) -> list[tuple[str, str]]:
    """Return the rule and the message of each finding about documents that have *problems* and *facts*."""
    making = Making(path)
    writer = making.begin()
    records = [
        record_of(f"{SITE}/{number}", problems=tuple(some), parent=f"{SITE}/robots.txt", entries=1, **facts)
        for number, some in enumerate(problems)
    ]
    audit = Audit(making.commit(writer, records), making.store.history(SITE), rules=[RULES["sitemap/incomplete"]])
    return [(one.rule, one.message) for one in audit.findings()]


def problem(code: str, detail: str = "D", **values: Any) -> Problem:
    return Problem(code=code, document=SITE, detail=detail, **values)


def test_every_problem_is_a_finding_if_nothing_else_explains_it(tmp_path: Path) -> None:
    found = findings_of_problems(tmp_path, *[[problem(code)] for code in CATALOGUE], kind=Kind.FEED)
    assert [code for code, _ in found] == list(CATALOGUE)


CUT = "the connection was closed early"


@pytest.mark.parametrize(
    ("body", "first", "message"),
    [
        pytest.param(PAGES[:-12], "sitemap/incomplete", f"read only in part: {CUT}; ", id="xml"),
        pytest.param(gzip.compress(PAGES)[:-20], "sitemap/incomplete", f"read only in part: {CUT}; ", id="gzip"),
        pytest.param(PAGES[:30], "sitemap/not-fetched", f"not fetched: {CUT}, before it was clear ", id="start"),
        pytest.param(b"", "sitemap/not-fetched", f"not fetched: {CUT}, before it was clear ", id="nothing"),
    ],
)
def test_a_cut_connection_is_no_problem_of_the_document_then_or_later(
    body: bytes, first: str, message: str, tmp_path: Path
) -> None:
    def web(answer: bytes | int) -> dict[str, Any]:
        return {f"{SITE}/robots.txt": robots(f"{SITE}/s.xml")[2], f"{SITE}/s.xml": answer}

    def about(audit: Audit) -> dict[str, str]:
        found = [one for one in audit.findings() if one.sitemap and one.rule.partition("/")[0] not in OF_ENTRIES]
        return {one.rule: one.message for one in found}

    then = about(audit_of_web(tmp_path, web(PAGES), web(Cut(body)), site=SITE))
    assert then.keys() == {first}
    assert then[first].startswith(message)
    later = about(audit_of_web(tmp_path, web(503), site=SITE))
    assert later == {"sitemap/not-fetched": "not fetched: HTTP 503: the server failed"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        pytest.param({"code": "loc/empty", "detail": "An entry has no URL."}, "An entry has no URL", id="once"),
        pytest.param(
            {
                "code": "loc/relative",
                "detail": "It is relative.",
                "count": 1200,
                "samples": (Sample(excerpt=" /a\n b"),),
            },
            "It is relative: /a b (1,200 times)",
            id="text and count",
        ),
        pytest.param(
            {"code": "loc/relative", "samples": (Sample(excerpt="x" * 81),)}, f"D: {'x' * 80}...", id="long text"
        ),
        pytest.param(
            {"code": "encoding/unknown", "detail": "unknown encoding 'x'", "samples": (Sample(excerpt="x"),)},
            "unknown encoding 'x'",
            id="text in the detail",
        ),
        pytest.param(
            {"code": "xml/not-well-formed", "detail": "expected '>', line 4, column 1"},
            "The XML is not well-formed: expected '>', line 4, column 1",
            id="words of the parser",
        ),
    ],
)
def test_the_message_has_the_detail_the_text_and_the_count(
    values: Mapping[str, Any], message: str, tmp_path: Path
) -> None:
    assert findings_of_problems(tmp_path, [problem(**values)]) == [(values["code"], message)]


def test_a_problem_names_the_findings_that_explain_it_and_is_left_out_if_there_is_one(tmp_path: Path) -> None:
    assert explanation_of("xml/bare-ampersand").left_out is None
    assert explanation_of("xml/bad-declaration").left_out == (
        "the same document has a finding that explains it: `xml/junk-before`"
    )
    pairs = [(code, cause) for code in CATALOGUE for cause in causes_of(code)]
    assert {cause for _, cause in pairs} <= CATALOGUE.keys() | RULES.keys()
    pairs = [pair for pair in pairs if pair[1] in CATALOGUE]
    found = findings_of_problems(tmp_path, *[[problem(one) for one in pair] for pair in pairs], kind=Kind.FEED)
    assert sorted(code for code, _ in found) == sorted(cause for _, cause in pairs)
