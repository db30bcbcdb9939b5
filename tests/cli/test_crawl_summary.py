from __future__ import annotations

import io
import logging
from collections import Counter
from contextlib import redirect_stderr

import pytest
from rich.text import Text

from sitemap_harvest.cli.crawl_summary import line, show
from sitemap_harvest.engine.exit_codes import verdict
from sitemap_harvest.engine.run_summary import Summary, Tally
from sitemap_harvest.model import (
    Cause,
    ChangeSummary,
    Evidence,
    FoundBy,
    LeftSitemap,
    Outcome,
    SitemapRecord,
    SiteRecord,
    SiteResult,
    StaleSitemap,
)
from sitemap_harvest.model.run import FailedDocument
from sitemap_harvest.reporting.run_reports import ErrorCount

pytestmark = pytest.mark.quick

FINISHED = {"finish_reason": "finished"}


@pytest.mark.parametrize(
    ("summary", "stats", "expected"),
    [
        pytest.param(Summary(urls=1), FINISHED, 0, id="whole"),
        pytest.param(Summary(urls=0), FINISHED, 3, id="nothing"),
        pytest.param(Summary(urls=0, has_failed=True), FINISHED, 3, id="nothing-and-failed"),
        pytest.param(Summary(urls=0, dropped=Counter(since=3)), FINISHED, 3, id="the-filters-left-none"),
        pytest.param(Summary(urls=1, has_failed=True), FINISHED, 4, id="failed"),
        pytest.param(Summary(sites=Counter(["blocked", "blocked"])), FINISHED, 5, id="all-blocked"),
        pytest.param(Summary(sites=Counter(["forbidden"])), FINISHED, 6, id="forbidden"),
        pytest.param(Summary(sites=Counter(["unreachable"])), FINISHED, 7, id="unreachable"),
        pytest.param(Summary(sites=Counter(["not-a-site"])), FINISHED, 8, id="no-site"),
        pytest.param(Summary(sites=Counter(["blocked", "absent"])), FINISHED, 3, id="several-reasons"),
        pytest.param(Summary(sites=Counter(["found"])), FINISHED, 3, id="found-but-empty"),
        pytest.param(
            Summary(urls=1, sites=Counter(["found", "blocked"])), FINISHED, 0, id="failures-are-counted-separately"
        ),
        pytest.param(Summary(urls=1), {"finish_reason": "shutdown"}, 130, id="interrupted"),
        pytest.param(Summary(urls=0), {"finish_reason": "shutdown"}, 130, id="interrupted-before-a-url"),
        pytest.param(Summary(urls=1), {}, 130, id="aborted"),
        pytest.param(Summary(urls=1), {"finish_reason": "closespider_timeout"}, 4, id="ended-early"),
        pytest.param(Summary(urls=2), FINISHED | {"item_dropped_count": 2}, 3, id="dropped-by-pipelines"),
        pytest.param(
            Summary(urls=2), FINISHED | {"item_dropped_count": 1, "item_scraped_count": 1}, 0, id="one-is-not-dropped"
        ),
        pytest.param(Summary(urls=1), FINISHED | {"feedexport/failed_count/S3FeedStorage": 1}, 4, id="output"),
    ],
)
def test_exit_codes(summary: Summary, stats: dict[str, object], expected: int) -> None:
    assert verdict(summary, stats).exit_code == expected


@pytest.mark.parametrize(("dropped", "words"), [(1, "the only item"), (2, "all 2 items")])
def test_the_last_line_tells_that_pipelines_dropped_all_items(dropped: int, words: str) -> None:
    last = shown(Summary(urls=dropped), FINISHED | {"item_dropped_count": dropped, "elapsed_time_seconds": 1.0})[-1]
    assert last.endswith(f": pipelines dropped {words} (exit code 3).")


def test_an_error_in_the_log_gives_exit_code_4() -> None:
    assert verdict(Summary(urls=1), FINISHED, errors=1).exit_code == 4


def shown(
    summary: Summary,
    stats: dict[str, object],
    *,
    has_output: bool | None = True,
    checkpointed: int | None = None,
    errors: ErrorCount | None = None,
) -> list[str]:
    """Return the lines below the table."""
    file = io.StringIO()
    outcome = verdict(summary, stats, errors=errors.errors if errors else 0)
    with redirect_stderr(file):
        show(summary, stats, outcome, has_output=has_output, checkpointed=checkpointed, errors=errors)
    lines = file.getvalue().splitlines()
    return lines[next(number for number, line in enumerate(lines) if line.startswith("total")) + 1 :]


@pytest.mark.parametrize("has_failed", [False, True])
def test_errors_in_the_log_are_shown_if_they_are_the_only_reason(has_failed: bool) -> None:
    errors = ErrorCount()
    for number in range(5):
        message = "%d: cut\nmore" if number else "%d"
        arguments = (number,) if number else ("wrong",)
        errors.handle(logging.LogRecord("any", logging.ERROR, __file__, 1, message, arguments, None))
    finished = {**FINISHED, "elapsed_time_seconds": 1.25}
    expected = ["Errors:", "  1: cut", "  2: cut", "  3: cut", "  and 2 more, in the log"]
    assert shown(Summary(urls=1, has_failed=has_failed), finished, errors=errors) == [
        *([] if has_failed else expected),
        "Ended after 1.2 seconds: part of the run failed (exit code 4).",
    ]


@pytest.mark.parametrize(("compared", "which"), [(0, ""), (1, ", which do not apply to changes")])
def test_dropped_rows_are_reported_by_filter(compared: int, which: str) -> None:
    summary = Summary(urls=1, dropped=Counter(since=1200, include=1), compared=compared)
    assert summary.in_words().endswith(f"; dropped by filters{which}: since 1,200, include 1")
    assert shown(summary, {**FINISHED, "elapsed_time_seconds": 1.25}) == [
        f"URLs dropped by filters{which}: since 1,200, include 1",
        "Ended after 1.2 seconds: complete.",
    ]


@pytest.mark.parametrize(
    ("summary", "words"),
    [
        pytest.param(Summary(urls=1_200, limit=1_200), "the limit of 1,200 URLs was reached.", id="reached"),
        pytest.param(Summary(urls=1, limit=1), "the limit of 1 URL was reached.", id="one"),
        pytest.param(Summary(urls=2, limit=3), "complete.", id="not-reached"),
        pytest.param(
            Summary(urls=3, limit=3, has_failed=True),
            "part of the run failed; the limit of 3 URLs was reached (exit code 4).",
            id="and-failed",
        ),
    ],
)
def test_a_run_that_reached_its_limit_is_not_called_complete(summary: Summary, words: str) -> None:
    assert shown(summary, {**FINISHED, "elapsed_time_seconds": 1.25}) == [f"Ended after 1.2 seconds: {words}"]


@pytest.mark.parametrize(("stored", "has_output"), [(1, True), (0, None)])
def test_the_limit_does_not_apply_to_snapshots_and_audits(stored: int, has_output: bool | None) -> None:
    summary = Summary(urls=1, limit=1, stored=stored)
    last = shown(summary, {**FINISHED, "elapsed_time_seconds": 1.25}, has_output=has_output)[-1]
    words = "snapshots and audits have all URLs of the documents that were read."
    assert last == f"Ended after 1.2 seconds: the limit of 1 URL was reached; {words}"


def test_the_largest_counts_come_first_in_any_order_of_documents() -> None:
    tallies = {Outcome.NOT_A_SITEMAP: 1, Outcome.READ: 9, Outcome.ABSENT: 1}
    summary = Summary(
        urls=1,
        dropped=Counter(until=1, since=20, include=1),
        tallies={outcome: Tally(documents=count) for outcome, count in tallies.items()},
    )
    assert summary.in_words() == (
        "1 URL from 11 documents (9 read, 1 absent, 1 not-a-sitemap); dropped by filters: since 20, include 1, until 1"
    )


def test_more_than_can_be_shown_is_counted() -> None:
    summary = Summary(urls=1, problems=Counter({f"a/{number}": number for number in range(1, 11)}), has_failed=True)
    for number in (11, 3, 5, 0, 10, 2, 9, 8, 7, 1, 6, 4):
        summary.notes.add(f"/{number}: no")
    assert shown(summary, {**FINISHED, "elapsed_time_seconds": 1.25}) == [
        "Failed or incomplete:",
        *(f"  /{number}: no" for number in range(10)),
        "  and 2 more (crawl with --emit sitemaps -O sitemaps.jsonl lists all)",
        "Problems in the documents: a/10 10, a/9 9, a/8 8, a/7 7, a/6 6, a/5 5, a/4 4, a/3 3, and 2 more codes",
        "Ended after 1.2 seconds: part of the run failed (exit code 4).",
    ]
    del summary.problems["a/1"]
    assert shown(summary, {**FINISHED, "elapsed_time_seconds": 1.25})[-2].endswith(", a/3 3, and 1 more code")


def test_more_sites_than_can_be_shown_are_in_records_of_sites() -> None:
    summary = Summary(urls=1)
    for number in range(12):
        summary.site_notes.add(f"https://{number}.example: there is no sitemap")
    *_, more, _ = shown(summary, {**FINISHED, "elapsed_time_seconds": 1.25})
    assert more == "  and 2 more (crawl with --emit sites -O sites.jsonl lists all)"


def test_documents_out_of_scope_are_listed_but_not_counted() -> None:
    summary = Summary(urls=1)
    reason = "an index may list only sitemaps on its own host"
    for url, outcome in (("https://b.example/s.xml", Outcome.OUT_OF_SCOPE), ("https://a.example/s.xml", Outcome.READ)):
        root, found_by = "https://a.example/i.xml", FoundBy.INDEX
        record = SitemapRecord(url=url, root=root, found_by=found_by, outcome=outcome, reason=reason)
        summary.add(record, urls=0, is_wanted=False)
    assert shown(summary, FINISHED | {"elapsed_time_seconds": 1.0}) == [
        "Failed, but not needed:",
        f"  https://b.example/s.xml: {reason}",
        "Ended after 1.0 seconds: complete.",
    ]
    assert [tally.failures for tally in summary.tallies.values()] == [0, 0]


@pytest.mark.parametrize(
    ("root", "evidence", "words"),
    [
        pytest.param(
            "file:///a.png",
            [("file:///a.png", FoundBy.ARGUMENT, Outcome.NOT_A_SITEMAP)],
            "the target is not a sitemap. file:///a.png: not-a-sitemap: why.",
            id="not-a-sitemap",
        ),
        pytest.param(
            "https://a.example",
            [
                ("http://b.example/1.xml", FoundBy.INDEX, Outcome.OUT_OF_SCOPE),
                ("https://a.example/sitemap.xml", FoundBy.WELL_KNOWN, Outcome.ABSENT),
            ],
            "the documents that are listed are all on other hosts. https://a.example: absent: why.",
            id="other-hosts",
        ),
        pytest.param(
            "https://a.example",
            [
                ("http://b.example/1.xml", FoundBy.INDEX, Outcome.OUT_OF_SCOPE),
                ("https://a.example/2.xml", FoundBy.INDEX, Outcome.ABSENT),
            ],
            "there is no sitemap. https://a.example: absent: why.",
            id="absent-too",
        ),
    ],
)
def test_why_no_url_was_found(root: str, evidence: list[tuple[str, FoundBy, Outcome]], words: str) -> None:
    summary = Summary(tallies={Outcome.READ: Tally(documents=1)})
    tried = tuple(Evidence(url=url, found_by=found_by, outcome=outcome) for url, found_by, outcome in evidence)
    summary.add_site(SiteRecord(root=root, result=SiteResult.ABSENT, reason="why", evidence=tried, documents=1))
    assert [summary.why_nothing() for _ in range(2)] == [f"No URL was found: {words}"] * 2


@pytest.mark.parametrize(
    ("root", "hint"),
    [
        pytest.param(
            "https://a.example/shop/", " To search the site for sitemaps, use site=https://a.example", id="url"
        ),
        pytest.param("file:///shop/", "", id="file"),
        pytest.param("https://a.example", "", id="site"),
    ],
)
def test_a_named_document_that_does_not_exist_leads_to_its_site(root: str, hint: str) -> None:
    summary, url = Summary(), root if root.endswith("/") else f"{root}/sitemap.xml"
    found_by = FoundBy.ARGUMENT if url == root else FoundBy.WELL_KNOWN
    summary.add(SitemapRecord(url=url, root=root, found_by=found_by, outcome=Outcome.ABSENT), urls=0, is_wanted=False)
    assert summary.in_words().partition(" No URL was found")[2].endswith(f".{hint}")
    assert bool(summary.how_to_search()) == bool(hint)


def test_a_search_that_a_failure_has_ended_needs_no_further_reason() -> None:
    summary = Summary(tallies={Outcome.READ: Tally(documents=1)}, sites=Counter({SiteResult.UNFINISHED: 1}))
    assert summary.why_nothing() == "No URL was found: the search is unfinished."


def test_guesses_that_failed_are_listed_but_not_counted() -> None:
    site, base = "https://a.example", "http://a.example"
    evidence = [
        (f"{site}/robots.txt", FoundBy.VARIANT, Outcome.FAILED),
        (f"{site}:8080/robots.txt", FoundBy.VARIANT, Outcome.FAILED),
        (f"{base}/sitemap.xml", FoundBy.WELL_KNOWN, Outcome.BLOCKED),
        (f"{base}/sitemap.xml.gz", FoundBy.WELL_KNOWN, Outcome.ABSENT),
    ]
    record = SiteRecord(
        root=site,
        base=base,
        result=SiteResult.FOUND,
        reason="1 URL",
        evidence=tuple(
            Evidence(url=url, found_by=found_by, outcome=outcome, reason="TLS failed")
            for url, found_by, outcome in evidence
        ),
    )
    summary = Summary(urls=1)
    summary.add_site(record)
    assert shown(summary, FINISHED | {"elapsed_time_seconds": 1.0})[:-1] == [
        "Failed, but not needed:",
        f"  {base}/sitemap.xml: it was only a guess, and sitemaps were found elsewhere",
        f"  {site}/robots.txt: TLS failed; the site was read at {base}",
        f"  {site}:8080/robots.txt: it was only a guess, and the site responds at {base}",
    ]


@pytest.mark.parametrize(
    ("stats", "expected"),
    [
        pytest.param(
            {},
            "The run was aborted: what it had read is not in the output files (exit code 130).",
            id="twice",
        ),
        pytest.param(
            {"finish_reason": "shutdown", "elapsed_time_seconds": 3.0},
            "Interrupted after 3.0 seconds: 1,200 queued documents were not read (exit code 130). "
            "Run the same command again: without a store, it reads all documents again.",
            id="once",
        ),
        pytest.param(
            {"finish_reason": "closespider_timeout", "elapsed_time_seconds": 3.0},
            "Ended after 3.0 seconds, early (closespider_timeout): 1,200 queued documents were not read (exit code 4).",
            id="limit",
        ),
    ],
)
def test_interrupted_runs_are_reported_as_such(stats: dict[str, object], expected: str) -> None:
    assert shown(Summary(urls=1, queued=1200), stats) == [expected]


@pytest.mark.parametrize(("urls", "checkpointed"), [(1, None), (0, None), (1, 0)])
def test_documents_that_an_interrupted_run_has_not_read_are_listed(urls: int, checkpointed: int | None) -> None:
    summary, reason = Summary(urls=urls, queued=2), "the run ended before a response arrived"
    root = "https://a.example"
    for path, found_by in (("/a.xml", FoundBy.ROBOTS), ("/sitemap.xml", FoundBy.WELL_KNOWN)):
        record = SitemapRecord(
            url=f"{root}{path}", root=root, found_by=found_by, outcome=Outcome.INTERRUPTED, reason=reason
        )
        summary.add(record, urls=0, is_wanted=True)
    *lines, last = shown(summary, {"finish_reason": "shutdown", "elapsed_time_seconds": 3.0}, checkpointed=checkpointed)
    assert lines == ["Not read:", *(f"  {root}{path}: {reason}" for path in ("/a.xml", "/sitemap.xml"))]
    assert last.endswith(" reads all documents again.") == (checkpointed is None)
    assert [one.url for one in summary.failed_documents] == [f"{root}/a.xml"]


def test_an_aborted_run_without_outputs_loses_none() -> None:
    assert shown(Summary(urls=1), {}, has_output=None) == ["The run was aborted."]


LOST = "The run was aborted: what it had read is not in the output files; "
SAVES = "a run saves its progress every 500 documents or 30 seconds"
LATER = f"it had saved; what it read later is requested again ({SAVES})."
RESUME = "Run the same command again with --resume to reuse the"


@pytest.mark.parametrize(
    ("stored", "checkpointed", "ending"),
    [
        pytest.param(
            0,
            0,
            f"snapshots in the store are unchanged (exit code 130). There is nothing to resume yet: {SAVES}.",
            id="before-a-checkpoint",
        ),
        pytest.param(
            0,
            1_000,
            f"snapshots in the store are unchanged (exit code 130). {RESUME} 1,000 documents that {LATER}",
            id="after-a-checkpoint",
        ),
        pytest.param(
            1,
            1,
            f"other snapshots in the store are unchanged (exit code 130). {RESUME} 1 document that {LATER}",
            id="after-a-snapshot",
        ),
    ],
)
def test_an_aborted_run_with_a_store_says_what_is_left(stored: int, checkpointed: int, ending: str) -> None:
    lines = shown(Summary(urls=1, stored=stored), {}, checkpointed=checkpointed)
    assert lines[-1] == LOST + ending
    assert len(lines) == stored + 1


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(0.0, "1,200 documents done, 30 queued · 65,000 URLs · 0 per second · 0:00", id="start"),
        pytest.param(65.0, "1,200 documents done, 30 queued · 65,000 URLs · 1,000 per second · 1:05", id="later"),
    ],
)
def test_the_progress_line(seconds: float, expected: str) -> None:
    summary = Summary(urls=65_000, queued=30, tallies={Outcome.READ: Tally(documents=1_200)})
    assert line(summary, seconds) == expected


@pytest.mark.parametrize(
    ("queued", "known", "which"),
    [
        pytest.param(1, "1 queued document was", "this document", id="one"),
        pytest.param(1200, "1,200 queued documents were", "these documents", id="many"),
    ],
)
def test_an_interrupted_run_with_a_store_says_how_to_go_on(queued: int, known: str, which: str) -> None:
    stats = {"finish_reason": "shutdown", "elapsed_time_seconds": 3.0}
    again = f"Run the same command again to read the rest: it requests {which} first."
    ending = f"{known} not read (exit code 130). {again}"
    assert shown(Summary(urls=0, queued=queued, stored=1, snapshot_urls=1), stats) == [
        "Stored 1 snapshot with 1 different URL.",
        f"Interrupted after 3.0 seconds: {ending}",
    ]


def test_lines_that_depend_on_no_order_of_responses() -> None:
    sites = Counter(["unreachable", "blocked", "found", "found"])
    assert Summary(sites=sites).sites_in_words() == "4 sites: 2 found, 1 blocked, 1 unreachable"


def test_sites_and_sitemaps_are_counted_as_what_was_given() -> None:
    summary = Summary()
    for root, result in (
        ("https://a.example", SiteResult.FOUND),
        ("two words", SiteResult.NOT_A_SITE),
        ("https://b.example:8443", SiteResult.ABSENT),
        ("https://a.example/", SiteResult.ABSENT),
        ("https://a.example/sitemap.xml", SiteResult.FOUND),
        ("file:///sitemap.xml", SiteResult.FOUND),
    ):
        summary.add_site(SiteRecord(root=root, result=result, reason="why"))
    assert summary.sites_in_words() == "3 sites: 1 absent, 1 found, 1 not-a-site; 3 sitemaps: 2 found, 1 absent"


CHANGES = {"site": "https://a.example", "run": "2", "baseline": "1", "urls_after": 200}


@pytest.mark.parametrize(
    ("sites", "words"),
    [
        pytest.param([ChangeSummary(**CHANGES)], "nothing has changed", id="confirmed"),
        pytest.param(
            [ChangeSummary(**CHANGES, stale_share=1)],
            "unknown, because no document that lists URLs was read",
            id="unread",
        ),
        pytest.param(
            [ChangeSummary(**CHANGES, stale=40, unread=2)],
            "nothing has changed in the documents that were read; 2 documents were not read completely",
            id="partly-read",
        ),
        pytest.param(
            [ChangeSummary(**CHANGES, unread=1)],
            "nothing has changed in the documents that were read; 1 document was not read completely",
            id="never-read",
        ),
        pytest.param(
            [ChangeSummary(**CHANGES, stale=40)],
            "nothing has changed in the documents that were read",
            id="skipped-on-purpose",
        ),
        pytest.param(
            [ChangeSummary(**CHANGES, added=2, stale=40, unread=1)],
            "2 added; 1 document was not read completely",
            id="changed",
        ),
        pytest.param(
            [ChangeSummary(**CHANGES, removed=1_200, unread=1, stale_share=1)],
            "1,200 removed, but no document that lists URLs was read; 1 document was not read completely",
            id="changed-but-unread",
        ),
        pytest.param(
            [ChangeSummary(**CHANGES, added=1, newly_known=1_200, retracted=3)],
            "1 added, 1,200 newly known (from documents never read completely before, so perhaps not new), "
            "3 retracted (from documents read only in part before, so perhaps never there)",
            id="newly-known",
        ),
        pytest.param(
            [ChangeSummary(**CHANGES), ChangeSummary(**CHANGES, unread=2, stale_share=1)],
            "nothing has changed in the documents that were read; of 1 target, no document that lists URLs was read; "
            "2 documents were not read completely",
            id="one-site-of-two",
        ),
    ],
)
def test_nothing_has_changed_only_if_everything_was_read(sites: list[ChangeSummary], words: str) -> None:
    summary = Summary(urls=1)
    for changes in sites:
        summary.add_snapshot(changes)
        summary.add_changes(changes)
    assert summary.changes_in_words() == f"since the last snapshot: {words}"
    assert summary.has_failed is any(changes.unread for changes in sites)


def test_items_that_pipelines_dropped_are_counted_if_others_are_left() -> None:
    stats = FINISHED | {"item_dropped_count": 1_200, "item_scraped_count": 1, "elapsed_time_seconds": 1.0}
    assert shown(Summary(urls=1_201), stats) == ["Pipelines dropped 1,200 items.", "Ended after 1.0 seconds: complete."]


@pytest.mark.parametrize(
    ("alike", "words"),
    [
        pytest.param([[]], "1 first snapshot: nothing to compare with", id="first"),
        pytest.param(
            [["https://a.example/s.xml", "http://a.example"], [], ["http://a.example", "http://b.example", "http://c"]],
            "3 first snapshots: nothing to compare with (the store has snapshots of https://a.example/s.xml, "
            "http://a.example, http://b.example: to compare with them, give the same target)",
            id="under-another-name",
        ),
        pytest.param([None], "1 snapshot without a baseline: nothing to compare with", id="before-the-first"),
    ],
)
def test_a_snapshot_without_a_baseline_says_why(alike: list[list[str] | None], words: str) -> None:
    summary = Summary(urls=1)
    for one in alike:
        summary.add_changes(ChangeSummary(site="https://a.example", run="2"))
        summary.add_without_baseline(one)
    assert summary.changes_in_words() == words


def test_documents_that_are_gone_or_empty_are_named_after_the_changes() -> None:
    robots = LeftSitemap(url="https://a.example/robots.txt", reason="the document was absent in 3 runs")
    left = (robots, LeftSitemap(url="https://a.example/s.xml", reason="the document was absent in 3 runs"))
    changes = ChangeSummary(**CHANGES, removed=2, sitemaps_left=left, sitemaps_emptied=("https://a.example/b.xml",))
    summary = Summary(run="2", urls=1)
    summary.add_snapshot(changes)
    summary.add_changes(changes)
    lines = shown(summary, FINISHED | {"elapsed_time_seconds": 1.0})
    assert lines[lines.index("Since the last snapshot: 2 removed.") :][:4] == [
        "Since the last snapshot: 2 removed.",
        "Stored 1 snapshot with 200 different URLs.",
        "https://a.example/b.xml lists no URLs any more.",
        f"{robots.in_words()}.",
    ]


def stale(path: str, outcome: Outcome, reason: str) -> StaleSitemap:
    return StaleSitemap(url=f"https://a.example{path}", outcome=outcome, reason=reason)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param(
            None,
            [
                "Failed or incomplete:",
                "  https://a.example/a.xml: HTTP 500",
                "  https://a.example/c.xml: the URL redirects to https://a.example/b.xml, which is read separately",
                "  https://a.example/robots.txt: HTTP 404",
                "  https://a.example/s.xml: the reading is not accepted yet",
            ],
            id="all-are-named-once",
        ),
        pytest.param(1, ["Failed or incomplete:", "  https://a.example/a.xml: HTTP 500"], id="limit"),
    ],
)
def test_documents_that_are_counted_as_unread_are_named(limit: int | None, expected: list[str]) -> None:
    summary = Summary(urls=1, limit=limit)
    of_the_index = {"root": "https://a.example", "found_by": FoundBy.INDEX}
    failed = SitemapRecord(url="https://a.example/a.xml", **of_the_index, outcome=Outcome.FAILED, reason="HTTP 500")
    summary.add(failed, urls=0, is_wanted=False)
    unread = (
        stale("/a.xml", Outcome.FAILED, "HTTP 500"),
        stale("/robots.txt", Outcome.ABSENT, "HTTP 404"),
        stale("/s.xml", Outcome.READ, "the reading is not accepted yet"),
        stale("/c.xml", Outcome.SKIPPED, "the URL redirects to https://a.example/b.xml, which is read separately"),
        stale("/skipped.xml", Outcome.SKIPPED, "excluded by skip"),
    )
    summary.add_snapshot(ChangeSummary(**CHANGES, unread=4, stale_sitemaps=unread))
    lines = shown(summary, FINISHED | {"elapsed_time_seconds": 1.0})
    start = lines.index("Failed or incomplete:")
    assert [line for line in lines[start:] if line.startswith(("Failed", "  "))] == expected


@pytest.mark.parametrize("found", [True, False], ids=["and-sitemaps-were-found", "and-none-was-found"])
def test_a_failed_robots_file_is_named_alike_with_and_without_a_store(found: bool) -> None:
    site, why = "https://a.example", "the host refuses the connection"
    failed = {"url": f"{site}/robots.txt", "found_by": FoundBy.ARGUMENT, "outcome": Outcome.FAILED, "reason": why}
    result = SiteResult.FOUND if found else SiteResult.UNREACHABLE
    record = SiteRecord(root=site, result=result, reason=why, evidence=(Evidence(**failed, cause=Cause.REFUSED),))
    notes = []
    for is_stored in (False, True):
        summary = Summary(urls=1)
        summary.add_site(record)
        if is_stored:
            unread = (stale("/robots.txt", Outcome.FAILED, why),)
            summary.add_snapshot(ChangeSummary(**{**CHANGES, "site": site}, unread=1, stale_sitemaps=unread))
        assert summary.has_failed
        notes.append((summary.failed_documents, summary.notes.first))
    document = FailedDocument(url=f"{site}/robots.txt", outcome=Outcome.FAILED, cause=Cause.REFUSED, reason=why)
    assert notes == [([document], [f"{site}/robots.txt: {why}"]) if found else ([], [])] * 2


@pytest.mark.parametrize(
    ("summary", "words"),
    [
        pytest.param(Summary(), "", id="none"),
        pytest.param(
            Summary(stored=2, snapshot_urls=1_200), "stored 2 snapshots with 1,200 different URLs", id="all-of-this-run"
        ),
        pytest.param(
            Summary(stored=1, snapshot_urls=200, unconfirmed=40, dropped=Counter(since=3)),
            "stored 1 snapshot with 200 different URLs before filters; 40 of the entries are from earlier runs",
            id="differs-from-the-output",
        ),
        pytest.param(
            Summary(stored=1, snapshot_urls=38, unconfirmed=10, pending=3, unread_documents=1),
            "stored 1 snapshot with 38 different URLs; 10 of the entries are from earlier runs; "
            "the removal of 3 URLs is pending",
            id="some-are-pending",
        ),
        pytest.param(
            Summary(stored=1, snapshot_urls=38, pending=3),
            "stored 1 snapshot with 38 different URLs; the removal of 3 URLs is pending, because skipped documents may "
            "list them",
            id="some-are-pending-because-of-a-filter",
        ),
    ],
)
def test_the_urls_of_snapshots_are_counted_separately(summary: Summary, words: str) -> None:
    assert summary.snapshots_in_words() == words


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        pytest.param(["own"], "1 snapshot with 2 different URLs", id="own"),
        pytest.param(
            ["resumed"],
            "1 snapshot with 2 different URLs; its run ID is resumed, not that of this run",
            id="resumed",
        ),
        pytest.param(
            ["own", "resumed", "own"],
            "3 snapshots with 6 different URLs; 1 snapshot has another run ID than this run: see sitemap-harvest runs",
            id="one-of-three",
        ),
        pytest.param(
            ["resumed", "later"],
            "2 snapshots with 4 different URLs; 2 snapshots have other run IDs than this run: see sitemap-harvest runs",
            id="both",
        ),
    ],
)
def test_run_ids_of_snapshots_that_differ_from_that_of_the_run_are_reported(runs: list[str], words: str) -> None:
    summary = Summary(run="own")
    for run in runs:
        summary.add_snapshot(ChangeSummary(site="https://a.example", run=run, urls_after=2))
    assert summary.snapshots_in_words() == f"stored {words}"


FAILED = {Outcome.READ: Tally(documents=2), Outcome.FAILED: Tally(documents=1, failures=1)}
MISSING = {Outcome.ABSENT: Tally(documents=1, failures=1), Outcome.SKIPPED: Tally(documents=1)}


@pytest.mark.parametrize(
    ("summary", "reason", "styles"),
    [
        pytest.param(Summary(urls=1, tallies=FAILED), "finished", {"green": "complete"}, id="only-a-probe-failed"),
        pytest.param(
            Summary(urls=1, tallies=FAILED, has_failed=True),
            "finished",
            {"red": "failed", "yellow": "part of the run failed"},
            id="failed",
        ),
        pytest.param(
            Summary(urls=1, tallies=MISSING, has_failed=True),
            "finished",
            {"yellow": "absent, part of the run failed"},
            id="missing",
        ),
        pytest.param(Summary(), "finished", {"red": "No document was requested, no URL was harvested"}, id="nothing"),
        pytest.param(Summary(urls=1), "shutdown", {"yellow": "Interrupted"}, id="interrupted"),
    ],
)
def test_failures_have_a_colour_on_a_terminal(
    summary: Summary, reason: str, styles: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stats = {"finish_reason": reason, "elapsed_time_seconds": 1.0}
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = Text.from_ansi("\n".join(shown_raw(summary, stats)))
    found = {
        name: ", ".join(coloured.plain[span.start : span.end] for span in coloured.spans if str(span.style) == code)
        for name, code in (("red", "color(1)"), ("green", "color(2)"), ("yellow", "color(3)"))
    }
    assert {name for name, text in found.items() if text} == {*styles}
    assert all(word in found[name] for name, words in styles.items() for word in words.split(", "))
    monkeypatch.delenv("FORCE_COLOR")
    assert "\x1b" not in "".join(shown_raw(summary, stats))


def shown_raw(summary: Summary, stats: dict[str, object]) -> list[str]:
    """Return all lines, with their escape sequences."""
    file = io.StringIO()
    with redirect_stderr(file):
        show(summary, stats, verdict(summary, stats), has_output=True)
    return file.getvalue().splitlines()
