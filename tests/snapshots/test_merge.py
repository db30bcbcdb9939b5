"""From one snapshot to the next: the rows of each document, and the documents that are removed."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitemap_harvest import FoundBy, Kind, Outcome, Problem, SitemapRecord
from sitemap_harvest.snapshots.merge import merge_snapshot
from sitemap_harvest.snapshots.merge_policy import merge_decision
from sitemap_harvest.urls import document_key
from tests.snapshots.model_site import FAULTS, INDEXES, REFUSALS, ROBOTS, SITE, SITEMAPS, Keeper, ModelSite

DOCUMENTS = [ROBOTS, *INDEXES, *SITEMAPS]


@settings(max_examples=100, deadline=None)
@given(
    st.randoms(use_true_random=False),
    st.lists(st.dictionaries(st.sampled_from(DOCUMENTS), st.sampled_from(FAULTS), max_size=6), max_size=8),
    st.booleans(),
)
def test_with_any_faults_urls_come_and_go_only_if_true(
    random: Random, runs: list[dict[str, str]], asks_by_itself: bool
) -> None:
    site, session = ModelSite(), Keeper(asks_by_itself=asks_by_itself)
    for _ in range(10):
        site.change(random)
    for faults in [{}, *runs, {}]:
        before = session.snapshot()
        session.harvest(site, faults, random)
        assert (before - session.snapshot()).isdisjoint(site.truth())
        assert session.snapshot() - before <= site.served()
        last = site.truth()
        site.change(random)
    if any("not accepted yet" in (row.reason or "") for row in session.ledger.values()):  # an emptied robots.txt
        assert session.snapshot() >= last
    else:
        assert session.snapshot() == last


NOW = datetime(2026, 11, 22, tzinfo=UTC)
BEFORE = datetime(2026, 11, 20, tzinfo=UTC)
FRESH = {"fresh_at": NOW, "fresh_run": "run-2"}
INDEX, SITEMAP, OTHER = INDEXES[0], SITEMAPS[0], SITEMAPS[1]
READING = {"content_type": "text/xml", "encoding": "utf-8", "bytes_unpacked": 900, "problems": ()}


def row(url: str, **values: Any) -> SitemapRecord:
    """Return the row of *url*, read completely in this run."""
    kind = Kind.ROBOTS if url == ROBOTS else Kind.INDEX if url in INDEXES else Kind.SITEMAP
    parent = {ROBOTS: None, INDEX: ROBOTS}.get(url, INDEX)
    usual = {
        "depth": 0 if parent is None else 1 if parent == ROBOTS else 2, "parent": parent, "kind": kind,
        "found_by": FoundBy.ARGUMENT if parent is None else FoundBy.INDEX, "outcome": Outcome.READ, "complete": True,
        "status": 200, "final_url": url, "entries": 3, "sha256": "new", "etag": '"new"', "fetched_at": NOW,
    }  # fmt: skip
    return SitemapRecord(url=url, root=SITE, **(READING | usual | values))


def kept(url: str, **values: Any) -> SitemapRecord:
    """Return the row of *url* in the last snapshot: read completely."""
    usual = {"sha256": "old", "etag": '"old"', "fetched_at": BEFORE, "rows_from": "run-1"}
    return row(url, **(usual | {"fresh_at": BEFORE, "fresh_run": "run-1", "read_at": BEFORE} | values))


GUESSED = (Problem(code="encoding/bad-bytes", document=SITEMAP, detail="bad"),)
NOTHING_READ = {"complete": False, "kind": None, "entries": 0, "sha256": None, "etag": None, "final_url": None}
PAGE = {**NOTHING_READ, "outcome": Outcome.NOT_A_SITEMAP, "kind": Kind.HTML, "final_url": SITEMAP}
MOVED = {"final_url": OTHER}
CUT = {"outcome": "partial", "complete": False, "entries": 0}
NEVER_READ = {"rows_from": None, "fresh_at": None, "fresh_run": None}


@pytest.mark.parametrize(
    ("known", "record", "policy"),
    [
        pytest.param(None, row(SITEMAP), "replace", id="first-time"),
        pytest.param(kept(SITEMAP), row(SITEMAP), "replace", id="whole"),
        pytest.param(kept(SITEMAP), row(SITEMAP, entries=0), "replace", id="emptied-and-still-a-sitemap"),
        pytest.param(kept(SITEMAP), row(SITEMAP, complete=False), "add", id="read-but-not-whole"),
        pytest.param(kept(SITEMAP), row(SITEMAP, outcome="partial", complete=False), "add", id="partial"),
        pytest.param(None, row(SITEMAP, outcome="partial", complete=False), "add", id="partial-first-time"),
        pytest.param(kept(SITEMAP), row(SITEMAP, outcome="too-large", complete=False), "add", id="too-large"),
        pytest.param(kept(SITEMAP), row(SITEMAP, outcome="too-large", **NOTHING_READ), "keep", id="too-large-to-read"),
        pytest.param(kept(SITEMAP), row(SITEMAP, **CUT), "add", id="part-without-an-entry"),
        pytest.param(None, row(SITEMAP, **CUT), "keep", id="part-without-an-entry-first-time"),
        pytest.param(kept(SITEMAP, left="left"), row(SITEMAP, **CUT), "keep", id="part-without-an-entry-after-leaving"),
        pytest.param(kept(SITEMAP), row(SITEMAP, **CUT, kind=Kind.FEED), "keep", id="part-of-a-feed-without-an-entry"),
        pytest.param(kept(ROBOTS), row(ROBOTS, **CUT), "keep", id="part-of-robots-that-names-nothing"),
        *(
            pytest.param(kept(SITEMAP), row(SITEMAP, **NOTHING_READ, outcome=outcome), "keep", id=str(outcome))
            for outcome in Outcome
            if outcome not in {"read", "partial", "too-large", "unchanged"}
        ),
        pytest.param(kept(SITEMAP), row(SITEMAP, **PAGE), "keep", id="a-page"),
        pytest.param(kept(SITEMAP), row(SITEMAP, outcome="unchanged"), "confirm", id="unchanged"),
        pytest.param(kept(SITEMAP), row(SITEMAP, outcome="skipped"), "confirm", id="fresh"),
        pytest.param(kept(SITEMAP, sha256=None), row(SITEMAP, outcome="unchanged"), "keep", id="unchanged-of-parts"),
        pytest.param(None, row(SITEMAP, outcome="unchanged"), "keep", id="unchanged-without-state"),
        pytest.param(kept(SITEMAP, left="left"), row(SITEMAP, outcome="unchanged"), "keep", id="304-after-leaving"),
        pytest.param(kept(INDEX), row(INDEX, entries=0), "replace", id="emptied-and-still-an-index"),
        pytest.param(kept(INDEX), row(INDEX, kind=Kind.SITEMAP, entries=0), "keep", id="index-now-empty-sitemap"),
        pytest.param(kept(INDEX), row(INDEX, kind=Kind.SITEMAP), "replace", id="index-now-a-sitemap-with-urls"),
        pytest.param(kept(SITEMAP), row(SITEMAP, kind=Kind.INDEX, entries=0), "keep", id="sitemap-now-empty-index"),
        pytest.param(kept(SITEMAP, kind=Kind.LIST), row(SITEMAP, entries=0), "keep", id="list-now-an-empty-sitemap"),
        pytest.param(kept(INDEX, absent_runs=2), row(INDEX, kind=Kind.SITEMAP, entries=0), "replace", id="for-3-runs"),
        pytest.param(kept(ROBOTS), row(ROBOTS), "replace", id="robots"),
        pytest.param(kept(ROBOTS), row(ROBOTS, entries=0), "keep", id="robots-names-nothing"),
        pytest.param(kept(ROBOTS, absent_runs=2), row(ROBOTS, entries=0), "replace", id="robots-empty-for-long"),
        pytest.param(kept(SITEMAP), row(SITEMAP, kind=Kind.LINKS), "keep", id="sitemap-now-a-web-page-with-links"),
        pytest.param(kept(SITEMAP, kind=Kind.LINKS), row(SITEMAP, kind=Kind.LINKS), "replace", id="web-page-as-it-was"),
        pytest.param(kept(ROBOTS), row(ROBOTS, kind=Kind.SITEMAP), "keep", id="robots-now-a-sitemap"),
        pytest.param(kept(ROBOTS, absent_runs=9), row(ROBOTS, kind=Kind.LIST), "keep", id="robots-now-a-list"),
        pytest.param(kept(ROBOTS, kind=Kind.LIST), row(ROBOTS, kind=Kind.LIST), "replace", id="robots-never-was-one"),
        pytest.param(kept(SITEMAP), row(SITEMAP, encoding="cp1252"), "replace", id="another-encoding-declared"),
        pytest.param(kept(SITEMAP), row(SITEMAP, encoding="cp1252", problems=GUESSED), "keep", id="encoding-guessed"),
        pytest.param(kept(SITEMAP), row(SITEMAP, problems=GUESSED), "keep", id="bytes-guessed"),
        pytest.param(kept(SITEMAP, problems=GUESSED), row(SITEMAP, problems=GUESSED), "replace", id="guessed-as-ever"),
        pytest.param(
            kept(SITEMAP), row(SITEMAP, outcome="partial", complete=False, problems=GUESSED), "keep",
            id="part-whose-bytes-are-guessed",
        ),
        pytest.param(kept(SITEMAP), row(SITEMAP, **MOVED), "keep", id="redirects-to-another-sitemap"),
        pytest.param(None, row(SITEMAP, **MOVED), "keep", id="new-and-redirects-to-another-sitemap"),
        pytest.param(None, row(SITEMAP, kind=Kind.LINKS), "keep", id="new-and-a-web-page-with-links"),
        pytest.param(
            kept(SITEMAP, **NEVER_READ), row(SITEMAP, kind=Kind.LINKS, found_by=FoundBy.SNAPSHOT), "keep",
            id="unread-before-and-a-web-page-with-links",
        ),
        pytest.param(
            kept(SITEMAP, **NEVER_READ, absent_runs=2), row(SITEMAP, kind=Kind.LINKS), "replace",
            id="new-and-a-web-page-for-3-runs",
        ),
        pytest.param(None, row(SITEMAP, problems=GUESSED), "keep", id="new-and-bytes-guessed"),
        pytest.param(kept(SITEMAP, **MOVED), row(SITEMAP, **MOVED), "replace", id="redirects-there-as-ever"),
        pytest.param(kept(SITEMAP), row(SITEMAP, final_url=f"{SITE}/new"), "replace", id="redirects-to-a-new-place"),
    ],
)  # fmt: skip
def test_the_rows_of_a_document_after_a_run(known: SitemapRecord | None, record: SitemapRecord, policy: str) -> None:
    record.outcome = Outcome(record.outcome)
    before = {OTHER: kept(OTHER)} | ({} if known is None else {known.url: known})
    assert merge_decision(document_key(record.url), before, record, absent_runs=3).policy == policy


@pytest.mark.parametrize(
    ("other", "policy"),
    [
        pytest.param(kept(OTHER), "keep", id="read"),
        pytest.param(row(OTHER, **NOTHING_READ, outcome=Outcome.FAILED), "keep", id="listed-and-never-read"),
        pytest.param(
            row(OTHER, **NOTHING_READ, outcome=Outcome.FAILED, found_by=FoundBy.VARIANT), "replace", id="only-tried"
        ),
        pytest.param(kept(OTHER, left="gone"), "replace", id="left"),
    ],
)
def test_a_redirect_to_a_separate_document_is_suspect(other: SitemapRecord, policy: str) -> None:
    before = {OTHER: other, SITEMAP: kept(SITEMAP)}
    record = row(SITEMAP, **MOVED)
    assert merge_decision(document_key(record.url), before, record, absent_runs=3).policy == policy


def after(before: list[SitemapRecord], records: list[SitemapRecord], **references: Any) -> dict[str, SitemapRecord]:
    """Return the row of each document after a run; by default, nothing lists another document."""
    lists = {"references": {}, "references_before": {}} | references
    return merge_snapshot({one.url: one for one in before}, records, run="run-2", now=NOW, **lists)


LISTS = {ROBOTS: [INDEX], INDEX: [SITEMAP]}
TREE = [kept(ROBOTS), kept(INDEX), kept(SITEMAP)]


@pytest.mark.parametrize(
    ("before", "fresh_at"),
    [
        pytest.param({ROBOTS: [INDEX], INDEX: [SITEMAP]}, BEFORE, id="its-index-was-read-and-did-not-list-it"),
        pytest.param({ROBOTS: [INDEX], INDEX: [SITEMAP, OTHER]}, None, id="its-index-listed-it-before"),
    ],
)
def test_a_sitemap_that_fails_at_first_was_new_if_nothing_listed_it(before, fresh_at) -> None:
    failed = row(OTHER, **NOTHING_READ, outcome=Outcome.FAILED)
    found = after(
        TREE,
        [row(ROBOTS), row(INDEX), row(SITEMAP), failed],
        references={ROBOTS: [INDEX], INDEX: [SITEMAP, OTHER]},
        references_before=before,
    )
    assert (found[OTHER].fresh_at, found[OTHER].rows_from) == (fresh_at, None)


SAME = {"references": LISTS, "references_before": LISTS}


@pytest.mark.parametrize(
    ("known", "record", "expected"),
    [
        pytest.param(
            kept(SITEMAP, absent_runs=2), row(SITEMAP),
            row(SITEMAP, rows_from="run-2", **FRESH, read_at=NOW),
            id="whole",
        ),
        pytest.param(
            kept(SITEMAP, absent_runs=2, kind=Kind.LIST),
            row(SITEMAP, outcome=Outcome.PARTIAL, complete=False, reason="cut"),
            row(SITEMAP, outcome=Outcome.PARTIAL, complete=False, reason="cut", rows_from="run-2", kind=Kind.LIST,
                fresh_at=BEFORE, fresh_run="run-1", read_at=BEFORE, sha256=None, etag=None),
            id="partial",
        ),
        pytest.param(
            kept(SITEMAP, absent_runs=1), row(SITEMAP, **NOTHING_READ, outcome=Outcome.FAILED, status=503, reason="no"),
            kept(SITEMAP, absent_runs=1, outcome=Outcome.FAILED, status=503, reason="no", complete=False,
                 fetched_at=NOW),
            id="failed",
        ),
        pytest.param(
            kept(SITEMAP, absent_runs=1), row(SITEMAP, **NOTHING_READ, outcome=Outcome.ABSENT, status=404, reason="no"),
            kept(SITEMAP, absent_runs=2, outcome=Outcome.ABSENT, status=404, reason="no", complete=False,
                 fetched_at=NOW),
            id="absent",
        ),
        pytest.param(
            kept(SITEMAP, absent_runs=2), row(SITEMAP, **NOTHING_READ, outcome=Outcome.ABSENT, status=404),
            kept(SITEMAP, absent_runs=3, outcome=Outcome.ABSENT, status=404, complete=False, fetched_at=NOW,
                 left="the document was absent in 3 runs", rows_from=None),
            id="absent-for-the-third-time",
        ),
        pytest.param(
            kept(SITEMAP, absent_runs=2), row(SITEMAP, **NOTHING_READ, outcome=Outcome.UNCHANGED, status=304,
                                              lastmod=NOW, lastmod_text="2026-11-22"),
            kept(SITEMAP, outcome=Outcome.UNCHANGED, status=304, fetched_at=NOW, **FRESH, lastmod=NOW,
                 lastmod_text="2026-11-22"),
            id="304",
        ),
        pytest.param(
            kept(SITEMAP, absent_runs=2), row(SITEMAP, outcome=Outcome.UNCHANGED, sha256="old", bytes_downloaded=9),
            kept(SITEMAP, outcome=Outcome.UNCHANGED, fetched_at=NOW, **FRESH, read_at=NOW, etag='"new"',
                 bytes_downloaded=9),
            id="same-digest",
        ),
        pytest.param(
            kept(SITEMAP), row(SITEMAP, **{**NOTHING_READ, "complete": True}, outcome=Outcome.SKIPPED, reason="fresh",
                               status=None, fetched_at=None),
            kept(SITEMAP, outcome=Outcome.SKIPPED, reason="fresh", status=None, fetched_at=None, **FRESH),
            id="fresh",
        ),
        pytest.param(
            kept(SITEMAP), None,
            kept(SITEMAP, outcome=Outcome.SKIPPED, reason="not requested in this run", status=None, fetched_at=None,
                 complete=False),
            id="not-met",
        ),
        pytest.param(
            kept(SITEMAP), row(SITEMAP, kind=Kind.FEED, entries=0),
            kept(SITEMAP, absent_runs=1, complete=False, fetched_at=NOW,
                 reason="the kind changed from sitemap to feed, and the document has no entries; "
                 "the reading is not accepted yet"),
            id="in-doubt",
        ),
        pytest.param(
            kept(SITEMAP), row(SITEMAP, parent=None, depth=0, found_by=FoundBy.SNAPSHOT),
            row(SITEMAP, rows_from="run-2", **FRESH, read_at=NOW),
            id="found-as-before",
        ),
        pytest.param(
            None, row(SITEMAP, **NOTHING_READ, outcome=Outcome.BLOCKED),
            row(SITEMAP, **NOTHING_READ, outcome=Outcome.BLOCKED),
            id="never-read",
        ),
        pytest.param(
            row(SITEMAP, **NOTHING_READ, outcome=Outcome.ABSENT, absent_runs=2),
            row(SITEMAP, **NOTHING_READ, outcome=Outcome.ABSENT),
            row(SITEMAP, **NOTHING_READ, outcome=Outcome.ABSENT, absent_runs=3, **FRESH),
            id="never-there-and-believed",
        ),
        pytest.param(
            row(SITEMAP, **NOTHING_READ, outcome=Outcome.ABSENT, absent_runs=3, fresh_at=BEFORE, fresh_run="run-1"),
            row(SITEMAP, **NOTHING_READ, outcome=Outcome.FAILED, absent_runs=3, fresh_at=BEFORE, fresh_run="run-1"),
            row(SITEMAP, **NOTHING_READ, outcome=Outcome.FAILED, absent_runs=3, fresh_at=BEFORE, fresh_run="run-1"),
            id="never-there-and-failed-now",
        ),
        pytest.param(
            kept(SITEMAP, outcome=Outcome.ABSENT, left="absent", rows_from=None, absent_runs=3),
            row(SITEMAP, **NOTHING_READ, outcome=Outcome.ABSENT),
            row(SITEMAP, **NOTHING_READ, outcome=Outcome.ABSENT, absent_runs=4, **FRESH),
            id="listed-and-absent-after-it-left",
        ),
        pytest.param(
            row(SITEMAP, **NOTHING_READ, outcome=Outcome.PARTIAL, fresh_at=BEFORE, fresh_run="run-1"),
            row(SITEMAP, outcome=Outcome.PARTIAL, complete=False),
            row(SITEMAP, outcome=Outcome.PARTIAL, complete=False, rows_from="run-2", sha256=None, etag=None,
                fresh_at=BEFORE, fresh_run="run-1"),
            id="new-and-unread-before-and-partial-now",
        ),
        pytest.param(
            kept(SITEMAP, left="gone", rows_from=None, absent_runs=3), row(SITEMAP),
            row(SITEMAP, rows_from="run-2", **FRESH, read_at=NOW),
            id="back-again",
        ),
    ],
)  # fmt: skip
def test_the_row_of_a_document(
    known: SitemapRecord | None, record: SitemapRecord | None, expected: SitemapRecord
) -> None:
    before = [*TREE[:2], *([known] if known else [])]
    records = [row(ROBOTS), row(INDEX), *([record] if record else [])]
    assert after(before, records, **SAME)[SITEMAP] == expected


def test_a_document_that_is_listed_again_and_absent_may_have_urls() -> None:
    left = kept(SITEMAP, outcome=Outcome.ABSENT, left="no longer listed", rows_from=None, absent_runs=3)
    before, now = {ROBOTS: [INDEX], INDEX: []}, row(SITEMAP, **NOTHING_READ, outcome=Outcome.ABSENT)
    found = after([*TREE[:2], left], [row(ROBOTS), row(INDEX), now], references=LISTS, references_before=before)
    assert (found[SITEMAP].fresh_at, found[SITEMAP].fresh_run, found[SITEMAP].left) == (BEFORE, "run-1", None)


GONE = {**NOTHING_READ, "outcome": Outcome.ABSENT}
BROKEN = {**NOTHING_READ, "outcome": Outcome.FAILED}
INDEX_DROPPED = {ROBOTS: [INDEX], INDEX: []}
DELISTED = f"{INDEX} was read completely and no longer lists the document"
REDIRECTS = row(SITEMAP, outcome=Outcome.SKIPPED, complete=False, **MOVED)
PASSED_ON = f"the URL redirects to {OTHER}, which was read separately"


@pytest.mark.parametrize(
    ("before", "records", "references", "left"),
    [
        pytest.param(TREE, [row(ROBOTS), row(INDEX), row(SITEMAP)], LISTS, {}, id="all-is-listed"),
        pytest.param(TREE, [row(ROBOTS), row(INDEX)], INDEX_DROPPED, {SITEMAP: DELISTED}, id="no-longer-listed"),
        pytest.param(TREE, [row(ROBOTS), row(INDEX), row(SITEMAP, found_by=FoundBy.SNAPSHOT)], INDEX_DROPPED,
                     {SITEMAP: DELISTED}, id="no-longer-listed-though-it-answers"),
        pytest.param(TREE, [row(ROBOTS), row(INDEX), row(SITEMAP)], {ROBOTS: [INDEX, SITEMAP], INDEX: []}, {},
                     id="listed-by-another"),
        pytest.param(TREE, [row(ROBOTS), row(INDEX, **BROKEN), row(SITEMAP)], LISTS, {}, id="index-failed"),
        pytest.param(TREE, [row(ROBOTS, **BROKEN), row(INDEX)], INDEX_DROPPED, {}, id="another-lister-failed"),
        pytest.param([*TREE, kept(INDEXES[1], parent=ROBOTS, depth=1)],
                     [row(ROBOTS), row(INDEX), row(INDEXES[1], **GONE)],
                     {ROBOTS: [INDEX, INDEXES[1]], INDEX: []}, {}, id="another-index-is-absent"),
        pytest.param([*TREE[:2], kept(SITEMAP, absent_runs=2)], [row(ROBOTS, **BROKEN), row(INDEX)], INDEX_DROPPED,
                     {SITEMAP: DELISTED}, id="another-lister-failed-for-the-third-time"),
        pytest.param(TREE, [row(ROBOTS), row(INDEX)], {ROBOTS: [INDEX, INDEXES[1]], INDEX: []}, {},
                     id="a-new-index-was-not-met"),
        pytest.param(TREE, [row(ROBOTS), row(INDEX), row(INDEXES[1], **BROKEN)],
                     {ROBOTS: [INDEX, INDEXES[1]], INDEX: []}, {}, id="a-new-index-failed"),
        pytest.param(TREE, [row(ROBOTS), row(INDEX), row(OTHER, outcome=Outcome.OUT_OF_SCOPE, **NOTHING_READ)],
                     {ROBOTS: [INDEX], INDEX: [OTHER]}, {SITEMAP: DELISTED}, id="what-is-out-of-scope-leads-nowhere"),
        pytest.param(TREE, [row(ROBOTS)], {ROBOTS: [], INDEX: [SITEMAP]},
                     {INDEX: f"{ROBOTS} was read completely and no longer lists the document",
                      SITEMAP: f"{INDEX}, which listed the document, is no longer listed"},
                     id="an-index-and-what-it-lists"),
        pytest.param(TREE, [row(ROBOTS), row(INDEX, **GONE), row(SITEMAP)], LISTS, {}, id="index-absent"),
        pytest.param([TREE[0], kept(INDEX, absent_runs=2), TREE[2]], [row(ROBOTS), row(INDEX, **GONE), row(SITEMAP)],
                     LISTS, {INDEX: "the document was absent in 3 runs"}, id="children-stay-if-they-answer"),
        pytest.param([TREE[0], kept(INDEX, absent_runs=2), TREE[2]], [row(ROBOTS), row(INDEX, **GONE), row(SITEMAP)],
                     {ROBOTS: [], INDEX: [SITEMAP]},
                     {INDEX: f"{ROBOTS} was read completely and no longer lists the document",
                      SITEMAP: f"{INDEX}, which listed the document, is no longer listed"},
                     id="absent-and-no-longer-listed"),
        pytest.param([TREE[0], kept(INDEX, absent_runs=2), kept(SITEMAP, absent_runs=2)],
                     [row(ROBOTS), row(INDEX, **BROKEN), row(SITEMAP, **BROKEN)], LISTS, {}, id="a-503-is-no-404"),
        pytest.param([kept(SITEMAP, parent=None, depth=0, found_by=FoundBy.ARGUMENT)], [], {}, {}, id="named-by-user"),
        pytest.param([*TREE[:2], kept(SITEMAP, parent=None, depth=0, found_by=FoundBy.WELL_KNOWN)],
                     [row(ROBOTS), row(INDEX)], INDEX_DROPPED, {}, id="guessed"),
        pytest.param([*TREE, kept(OTHER)],
                     [row(ROBOTS), row(INDEX), REDIRECTS, row(OTHER)],
                     {ROBOTS: [INDEX], INDEX: [SITEMAP, OTHER]}, {}, id="redirects-to-what-is-read-by-itself"),
        pytest.param([*TREE[:2], kept(SITEMAP, **MOVED)],
                     [row(ROBOTS), row(INDEX), REDIRECTS, row(OTHER)],
                     {ROBOTS: [INDEX], INDEX: [SITEMAP, OTHER]}, {SITEMAP: PASSED_ON}, id="as-it-did-before"),
        pytest.param([*TREE[:2], kept(OTHER)],
                     [row(ROBOTS), row(INDEX), REDIRECTS, row(OTHER)],
                     LISTS, {}, id="only-a-redirect-leads-there"),
        pytest.param([TREE[0], kept(INDEX, final_url=INDEXES[1]), TREE[2]],
                     [row(ROBOTS), row(INDEXES[1], parent=ROBOTS, depth=1), row(OTHER, parent=INDEXES[1]),
                      row(INDEX, outcome=Outcome.SKIPPED, complete=False, final_url=INDEXES[1]),
                      row(SITEMAP, found_by=FoundBy.SNAPSHOT, **BROKEN)],
                     {ROBOTS: [INDEXES[1]], INDEXES[1]: [OTHER]},
                     {INDEX: f"the URL redirects to {INDEXES[1]}, which was read separately",
                      SITEMAP: f"{INDEXES[1]} was read completely and no longer lists the document"},
                     id="index-has-a-new-address"),
        pytest.param([*TREE[:2], kept(SITEMAP, **MOVED), kept(OTHER)],
                     [row(ROBOTS), row(INDEX), row(SITEMAP, **MOVED)], {ROBOTS: [INDEX], INDEX: [SITEMAP, OTHER]},
                     {OTHER: f"the document was read as {SITEMAP}, which redirects to it"},
                     id="read-under-another-name"),
        pytest.param([*TREE, row(f"{SITE}/sitemap.xml", parent=None, depth=0, found_by=FoundBy.WELL_KNOWN, **GONE)],
                     [row(ROBOTS), row(INDEX), row(SITEMAP)], LISTS,
                     {f"{SITE}/sitemap.xml": "the document is no longer listed, and was never read"},
                     id="a-guess-that-was-wrong"),
        pytest.param([*TREE, row(OTHER, **BROKEN)], [row(ROBOTS), row(INDEX), row(SITEMAP)],
                     {ROBOTS: [INDEX], INDEX: [SITEMAP, OTHER]}, {}, id="never-read-and-listed"),
    ],
)  # fmt: skip
def test_removed_documents(
    before: list[SitemapRecord], records: list[SitemapRecord], references: dict[str, list[str]], left: dict[str, str]
) -> None:
    found = after(before, records, references=references, references_before=LISTS)
    assert {key: one.left for key, one in found.items() if one.left is not None} == left


def test_a_document_that_may_still_be_listed_waits() -> None:
    records = [row(ROBOTS, **BROKEN), row(INDEX), row(SITEMAP, found_by=FoundBy.SNAPSHOT)]
    one = after(TREE, records, references=INDEX_DROPPED, references_before=LISTS)[SITEMAP]
    assert one == row(SITEMAP, rows_from="run-2", **FRESH, read_at=NOW, absent_runs=1)


def test_of_several_rows_the_most_informative_is_used() -> None:
    refused = row(SITEMAP, outcome=Outcome.OUT_OF_SCOPE, **NOTHING_READ)
    found = after(TREE, [refused, row(SITEMAP), refused], **SAME)[SITEMAP]
    assert (found.rows_from, found.complete) == ("run-2", True)


def test_a_removed_document_is_in_one_ledger_only() -> None:
    assert after([*TREE[:2], kept(SITEMAP, left="gone", rows_from=None)], [row(ROBOTS), row(INDEX)], **SAME).keys() == {
        ROBOTS,
        INDEX,
    }


def test_arguments_are_not_modified() -> None:
    before, records = deepcopy(TREE), [row(ROBOTS), row(INDEX, **BROKEN), row(SITEMAP, **GONE)]
    given = deepcopy(records)
    after(before, records, **SAME)
    assert (before, records) == (TREE, given)


def test_an_outage_changes_nothing() -> None:
    site, session = ModelSite(), Keeper()
    random = Random(5)
    for _ in range(10):
        site.change(random)
    session.harvest(site, {}, random)
    for fault in REFUSALS:
        before = session.snapshot()
        session.harvest(site, dict.fromkeys(DOCUMENTS, fault), random)
        assert session.snapshot() == before == site.truth()
