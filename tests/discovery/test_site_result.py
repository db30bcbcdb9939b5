"""The result of a site, from the results of all documents tried."""

from __future__ import annotations

import pytest

from sitemap_harvest import Cause, FoundBy, Kind, Outcome, Problem, SitemapRecord, SiteResult
from sitemap_harvest.discovery.candidate import Candidate
from sitemap_harvest.discovery.site_state import SiteState
from sitemap_harvest.discovery.well_known import robots_of
from sitemap_harvest.engine.run_summary import Summary

SITE = "https://example.com"
ABSENT = {"outcome": Outcome.ABSENT, "reason": "HTTP 404", "status": 404}
BLOCKED = {"outcome": Outcome.BLOCKED, "reason": "HTTP 403", "status": 403}
FORBIDDEN = {"outcome": Outcome.FORBIDDEN, "reason": "robots.txt disallows the URL"}
BROKEN = {"outcome": Outcome.FAILED, "reason": "HTTP 500", "status": 500, "cause": Cause.SERVER_ERROR}
TIMEOUT = {"outcome": Outcome.FAILED, "reason": "no answer", "cause": Cause.TIMEOUT}
DNS = {"outcome": Outcome.FAILED, "reason": "no such host", "cause": Cause.DNS}
GARBAGE = {"outcome": Outcome.FAILED, "reason": "no HTTP", "cause": Cause.NOT_HTTP}
CUT = {"outcome": Outcome.PARTIAL, "reason": "it was cut", "kind": Kind.ROBOTS, "status": 200}
CUT_SITEMAP = {"outcome": Outcome.PARTIAL, "reason": "it is incomplete", "kind": Kind.SITEMAP, "status": 200}
UNREADABLE = {"outcome": Outcome.FAILED, "reason": "the document cannot be decompressed", "status": 200}
HTML = {"outcome": Outcome.NOT_A_SITEMAP, "reason": "the document is a web page", "kind": Kind.HTML, "status": 200}
OFF_SITE = {"outcome": Outcome.OUT_OF_SCOPE, "reason": "off"}
PRIVATE = {"outcome": Outcome.OUT_OF_SCOPE, "reason": "it is private", "cause": Cause.PRIVATE}
ROBOTS = {"outcome": Outcome.READ, "kind": Kind.ROBOTS, "status": 200, "complete": True}
INDEX = {"outcome": Outcome.READ, "kind": Kind.INDEX, "status": 200, "complete": True, "entries": 2}
SITEMAP = {"outcome": Outcome.READ, "kind": Kind.SITEMAP, "status": 200, "complete": True, "entries": 1}
EMPTY = {"outcome": Outcome.READ, "kind": Kind.SITEMAP, "status": 200, "complete": True}
LIMIT = {
    "outcome": Outcome.OVER_LIMIT,
    "reason": "too many",
    "problems": (Problem(code="limit/documents", document=f"{SITE}/s.xml", detail="too many"),),
}
NAMED = {"named/1": ABSENT}


def site_after(answers: dict[str, dict[str, object]], *, otherwise: dict[str, object]) -> SiteState:
    """Return the state of a site that has these *answers* by path; robots.txt names those below ``named/``."""
    site = SiteState(first=robots_of(SITE))
    named = [
        Candidate(url=f"{SITE}/{path}", root=SITE, found_by=FoundBy.ROBOTS) for path in answers if path[:5] == "named"
    ]
    while candidate := site.next_candidate():
        for one in (candidate, *named) if candidate.url == f"{SITE}/robots.txt" else (candidate,):
            values = answers.get(one.url.removeprefix(f"{SITE}/"), otherwise)
            record = SitemapRecord(url=one.url, root=SITE, found_by=one.found_by, **values)
            site.note(one, record, urls=int(values.get("entries", 0)))
    return site


@pytest.mark.parametrize(
    ("answers", "otherwise", "result", "cause", "words"),
    [
        pytest.param({"robots.txt": ROBOTS, "named/1": SITEMAP}, ABSENT, "found", None, "1 URL in 1 doc", id="named"),
        pytest.param({"sitemap.xml": SITEMAP}, ABSENT, "found", None, "1 URL in", id="usual-name"),
        pytest.param({"robots.txt": ROBOTS, "named/1": EMPTY}, ABSENT, "found", None, "0 URLs in 1", id="empty"),
        pytest.param({"robots.txt": ROBOTS, "": HTML}, ABSENT, "absent", None,
                     "robots.txt lists no sitemap, and none of the 25 well-known paths exists", id="nothing"),
        pytest.param({"": HTML}, ABSENT, "absent", None, "there is no robots.txt, and none", id="no-robots"),
        pytest.param({"": HTML}, HTML, "absent", None, "there is no robots.txt", id="pages-for-everything"),
        pytest.param({"robots.txt": ROBOTS, "named/1": ABSENT, "": HTML}, ABSENT, "absent", None,
                     "/named/1: HTTP 404, and none of", id="named-and-gone"),
        pytest.param({"robots.txt": ROBOTS, "named/1": OFF_SITE, "": HTML}, ABSENT, "absent", None,
                     "/named/1: off, and", id="named-elsewhere"),
        pytest.param({"robots.txt": ROBOTS, "named/1": PRIVATE, "": HTML}, ABSENT, "unfinished", None,
                     "/named/1: it is private", id="named-and-private"),
        pytest.param({"robots.txt": ROBOTS, "named/1": PRIVATE}, BLOCKED, "blocked", None, "/sitemap.xml: HTTP 403",
                     id="named-and-private-and-usual-names-blocked"),
        pytest.param({"robots.txt": TIMEOUT, "named/1": PRIVATE}, TIMEOUT, "unreachable", "timeout", "no answer",
                     id="named-and-private-but-silent"),
        pytest.param({}, PRIVATE, "unreachable", "private", "robots.txt: it is private", id="private"),
        pytest.param({"robots.txt": ROBOTS, "named/1": INDEX, "named/2": BLOCKED}, ABSENT, "blocked", None,
                     "/named/2: HTTP 403", id="index-whose-children-are-blocked"),
        pytest.param({"robots.txt": ROBOTS, "named/1": BROKEN, "": BROKEN}, ABSENT, "unreachable", "server-error",
                     "/named/1: HTTP 500; /: HTTP 500", id="named-and-home-broken"),
        pytest.param({"robots.txt": ROBOTS, "sitemap.xml": BROKEN, "": BROKEN}, ABSENT, "unreachable", "server-error",
                     "/sitemap.xml: HTTP 500; /: HTTP 500", id="usual-name-and-home-broken"),
        pytest.param({"robots.txt": BLOCKED, "": HTML}, ABSENT, "blocked", None, "robots.txt: HTTP 403", id="robots"),
        pytest.param({"robots.txt": ROBOTS}, BLOCKED, "blocked", None, "and 1 more", id="all-is-blocked"),
        pytest.param({"robots.txt": ROBOTS, "named/1": FORBIDDEN, "": HTML}, ABSENT, "forbidden", None,
                     "named/1: robots.txt disallows the URL", id="named-and-forbidden"),
        pytest.param({"robots.txt": ROBOTS}, FORBIDDEN, "forbidden", None, "and 23 more", id="all-is-forbidden"),
        pytest.param({"robots.txt": ROBOTS, "sitemap.xml": FORBIDDEN, "": HTML}, ABSENT, "absent", None, "none of",
                     id="one-usual-name-is-forbidden"),
        pytest.param({"robots.txt": ROBOTS, "named/1": TIMEOUT, "": HTML}, ABSENT, "unreachable", "timeout",
                     "named/1: no answer", id="named-and-silent"),
        pytest.param({}, TIMEOUT, "unreachable", "timeout", "and 1 more", id="silent"),
        pytest.param({}, DNS, "unreachable", "dns", "no such host", id="no-such-host"),
        pytest.param({}, BROKEN, "unreachable", "server-error", "HTTP 500", id="all-is-broken"),
        pytest.param({"robots.txt": BROKEN, "": HTML}, ABSENT, "unreachable", "server-error", "robots.txt: HTTP 500",
                     id="robots-broken"),
        pytest.param({"robots.txt": CUT, "": HTML}, ABSENT, "unreachable", "server-error", "robots.txt: it was cut",
                     id="robots-cut"),
        pytest.param({"robots.txt": ROBOTS, "sitemap.xml": UNREADABLE, "": HTML}, ABSENT, "unreachable", None,
                     "/sitemap.xml: the document cannot be decompressed", id="usual-name-that-cannot-be-read"),
        pytest.param({"robots.txt": ROBOTS, "sitemap.xml": CUT_SITEMAP, "": HTML}, ABSENT, "unreachable", None,
                     "/sitemap.xml: it is incomplete", id="usual-name-cut-before-its-first-url"),
        pytest.param({"robots.txt": ROBOTS, "named/1": CUT_SITEMAP, "": HTML}, ABSENT, "unreachable", None,
                     "/named/1: it is incomplete", id="named-and-cut-before-its-first-url"),
        pytest.param({"robots.txt": ROBOTS, "named/1": CUT_SITEMAP, "sitemap.xml": SITEMAP}, ABSENT, "found", None,
                     "1 URL in 1 document", id="named-and-cut-but-another-is-found"),
        pytest.param({"robots.txt": ROBOTS, "named/1": HTML, "": HTML}, ABSENT, "absent", None,
                     "/named/1: the document is a web page", id="named-and-a-web-page"),
        pytest.param({"robots.txt": ROBOTS, "sitemap.xml": TIMEOUT, "": HTML}, ABSENT, "unreachable", "timeout",
                     "/sitemap.xml: no answer", id="usual-name-that-is-silent"),
        pytest.param({}, GARBAGE, "not-a-site", None, "no HTTP", id="no-http"),
        pytest.param({}, ABSENT, "not-a-site", None, "neither a robots.txt nor a home page", id="nothing-at-all"),
        pytest.param({"robots.txt": ROBOTS}, ABSENT, "absent", None, "robots.txt lists", id="robots-and-nothing-else"),
    ],
)  # fmt: skip
def test_results(
    answers: dict[str, dict[str, object]], otherwise: dict[str, object], result: str, cause: str | None, words: str
) -> None:
    record = site_after(answers, otherwise=otherwise).conclude(is_over=True, epoch=0.0)
    assert (record.result, record.cause) == (result, cause)
    assert words in record.reason


@pytest.mark.parametrize(
    ("answer", "named", "tried", "words"),
    [
        pytest.param(
            BROKEN,
            1,
            4,
            "/robots.txt: HTTP 500; /named/1: HTTP 500; /sitemap.xml: HTTP 500; and 1 more",
            id="broken",
        ),
        pytest.param(
            BLOCKED, 3, 5, "/robots.txt: HTTP 403; /named/1: HTTP 403; /named/2: HTTP 403; and 2 more", id="many"
        ),
        pytest.param(
            BLOCKED,
            60,
            50,
            "/robots.txt: HTTP 403; /named/1: HTTP 403; /named/2: HTTP 403; and at least 47 more",
            id="more-than-the-evidence",
        ),
    ],
)
def test_the_reason_counts_all_documents_that_failed_and_begins_with_robots_txt(
    answer: dict[str, object], named: int, tried: int, words: str
) -> None:
    answers = {f"named/{number}": answer for number in range(1, named + 1)}
    record = site_after(answers, otherwise=answer).conclude(is_over=True, epoch=0.0)
    assert (record.reason, len(record.evidence)) == (words, tried)


def test_a_limit_makes_the_result_unfinished_and_incomplete() -> None:
    record = site_after({"robots.txt": ROBOTS, "named/1": LIMIT}, otherwise=ABSENT).conclude(is_over=True, epoch=0.0)
    assert (record.result, record.limits, record.complete) == (SiteResult.UNFINISHED, ("limit/documents",), False)
    record = site_after({"robots.txt": ROBOTS, "named/1": SITEMAP, "named/2": LIMIT}, otherwise=ABSENT).conclude(
        is_over=True, epoch=0.0
    )
    assert (record.result, record.limits, record.complete) == (SiteResult.FOUND, ("limit/documents",), False)


def test_an_early_end_of_the_run_makes_the_result_unfinished() -> None:
    assert site_after({}, otherwise=ABSENT).conclude(is_over=False, epoch=0.0).result is SiteResult.UNFINISHED


@pytest.mark.parametrize(
    ("answers", "complete"),
    [
        pytest.param({"robots.txt": ROBOTS, "named/1": SITEMAP}, True, id="whole"),
        pytest.param({"sitemap.xml": SITEMAP}, True, id="no-robots-txt"),
        pytest.param({"robots.txt": HTML, "sitemap.xml": SITEMAP}, True, id="page-for-robots-txt"),
        pytest.param({"robots.txt": BROKEN, "sitemap.xml": SITEMAP}, False, id="robots-may-have-named-more"),
        pytest.param({"robots.txt": ROBOTS, "named/1": SITEMAP, "named/2": ABSENT}, False, id="one-is-absent"),
        pytest.param({"robots.txt": ROBOTS, "named/1": {**SITEMAP, "complete": False}}, False, id="damaged"),
        pytest.param({"robots.txt": ROBOTS, "named/1": SITEMAP, "named/2": OFF_SITE}, False, id="one-is-off-site"),
        pytest.param({"robots.txt": ROBOTS, "": HTML}, True, id="no-sitemap"),
        pytest.param({"robots.txt": ROBOTS, "named/1": ABSENT, "": HTML}, False, id="all-that-it-lists-is-absent"),
        pytest.param({"robots.txt": ROBOTS, "sitemap.xml": BLOCKED, "": HTML}, False, id="blocked"),
        pytest.param({}, False, id="not-a-site"),
    ],
)
def test_a_result_is_complete_only_if_no_url_can_be_missing(
    answers: dict[str, dict[str, object]], complete: bool
) -> None:
    assert site_after(answers, otherwise=ABSENT).conclude(is_over=True, epoch=0.0).complete is complete


@pytest.mark.parametrize(
    ("other", "was_read", "sitemap", "result", "complete"),
    [
        pytest.param(ROBOTS, False, SITEMAP, "found", True, id="responds"),
        pytest.param(ABSENT, False, SITEMAP, "found", True, id="has-no-robots-txt"),
        pytest.param(HTML, False, SITEMAP, "found", True, id="page-for-robots-txt"),
        pytest.param(ROBOTS, False, ABSENT, "absent", True, id="has-no-sitemap"),
        pytest.param(ROBOTS, True, SITEMAP, "found", False, id="but-the-named-site-responded-before"),
        pytest.param(ROBOTS, True, ABSENT, "unreachable", False, id="has-no-sitemap-but-the-named-site-responded"),
        pytest.param(BROKEN, False, SITEMAP, "found", False, id="is-broken"),
        pytest.param(BLOCKED, False, SITEMAP, "found", False, id="is-blocked"),
        pytest.param(TIMEOUT, False, SITEMAP, "unreachable", False, id="is-silent-too"),
    ],
)
def test_a_silent_root_is_a_wrong_guess_once_a_variant_of_its_robots_txt_is_known(
    other: dict[str, object], was_read: bool, sitemap: dict[str, object], result: str, complete: bool
) -> None:
    site = SiteState(first=robots_of(SITE), was_read=was_read)
    answers = {f"{SITE}/robots.txt": TIMEOUT, "http://example.com/robots.txt": other}
    answers |= {"https://www.example.com/robots.txt": DNS, "http://www.example.com/robots.txt": DNS}
    answers |= {"http://example.com/sitemap.xml": sitemap, "http://example.com/": HTML}
    while candidate := site.next_candidate():
        values = answers.get(candidate.url, ABSENT)
        record = SitemapRecord(url=candidate.url, root=SITE, found_by=candidate.found_by, **values)
        site.note(candidate, record, urls=int(values.get("entries", 0)))
    record = site.conclude(is_over=True, epoch=0.0)
    is_guess = other in (ROBOTS, ABSENT, HTML) and not was_read
    assert (record.result, record.complete, record.evidence[0].found_by) == (
        result,
        complete,
        FoundBy.VARIANT if is_guess else FoundBy.ARGUMENT,
    )
    summary = Summary()
    summary.add_site(record)
    assert summary.has_failed == (result != "found" or not is_guess)


def test_a_site_record_lists_the_documents_tried() -> None:
    site = site_after({"robots.txt": ROBOTS, "": HTML}, otherwise=ABSENT)
    record = site.conclude(is_over=True, epoch=0.0)
    assert len(record.evidence) == 26
    first = record.evidence[0]
    assert (first.url, first.found_by, first.outcome, first.reason, first.cause) == (
        f"{SITE}/sitemap.xml", FoundBy.WELL_KNOWN, Outcome.ABSENT, "HTTP 404", None,
    )  # fmt: skip
    assert record.base == SITE


def test_a_named_index_that_lists_nothing_but_itself() -> None:
    candidate = Candidate(url=f"{SITE}/index.xml", root=f"{SITE}/index.xml", found_by=FoundBy.ARGUMENT)
    site = SiteState(first=candidate, documents=1)
    site.note(
        candidate, SitemapRecord(url=candidate.url, root=candidate.url, found_by=FoundBy.ARGUMENT, **INDEX), urls=0
    )
    record = site.conclude(is_over=True, epoch=0)
    assert (record.result, record.reason) == (SiteResult.ABSENT, "the documents that were read list no URLs")


@pytest.mark.parametrize(
    ("name", "answers", "result", "cause"),
    [
        pytest.param("index.xml", [INDEX, PRIVATE], "unfinished", None, id="only-what-it-lists-is-private"),
        pytest.param("index.xml", [PRIVATE], "unreachable", "private", id="private"),
        pytest.param("robots.txt", [PRIVATE], "unreachable", "private", id="robots-private"),
        pytest.param("robots.txt", [TIMEOUT], "unreachable", "timeout", id="robots-silent"),
    ],
)
def test_the_result_of_a_named_document(
    name: str, answers: list[dict[str, object]], result: str, cause: str | None
) -> None:
    named = Candidate(url=f"{SITE}/{name}", root=f"{SITE}/{name}", found_by=FoundBy.ARGUMENT)
    listed = Candidate(url="http://10.0.0.1/s.xml", root=named.root, found_by=FoundBy.INDEX)
    site = SiteState(first=named)
    for one, values in zip((named, listed), answers, strict=False):
        site.note(one, SitemapRecord(url=one.url, root=one.root, found_by=one.found_by, **values), urls=0)
    record = site.conclude(is_over=True, epoch=0.0)
    summary = Summary()
    summary.add_site(record)
    assert (record.result, record.cause, record.complete) == (result, cause, False)
    assert summary.site_notes.first == [f"{named.root}: {record.in_words()}"]  # so the last lines have the reason
