"""The sites of a run: which documents may be requested, whose turn it is, and what is left to try."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sitemap_harvest import Cause, FoundBy, Kind, Outcome, SitemapRecord, SitemapRef, SiteRecord
from sitemap_harvest.discovery.candidate import Candidate, NotFetched
from sitemap_harvest.discovery.rules import Bounds
from sitemap_harvest.discovery.site_state import SiteState
from sitemap_harvest.discovery.well_known import robots_of
from sitemap_harvest.frontier.site_queue import MOST_OPEN, Budget, SiteQueue, secure_twin

A, B = "https://a.example", "https://b.example"


MOST_UNANSWERED, MOST_UNANSWERED_HOSTS = 3, 2
SILENCE = NotFetched(Outcome.FAILED, "no response within the timeout", Cause.TIMEOUT)


def sites(*roots: str, **budget: int) -> SiteQueue:
    candidates = [robots_of(root) for root in roots or (A,)]
    state = SiteQueue(
        bounds=Bounds(),
        budget=Budget(**budget, unanswered=MOST_UNANSWERED, unanswered_hosts=MOST_UNANSWERED_HOSTS),
        per_host=8,
    )
    state.begin(candidates)
    return state


def begun(state: SiteQueue) -> list[str]:
    """Take the first candidate of each site, and return their addresses."""
    candidates = [(site, site.next_candidate()) for site in state.settled()]
    assert all(state.consider(candidate, 0.0) is None for _, candidate in candidates if candidate)
    return [candidate.url for _, candidate in candidates if candidate]


def child(url: str, root: str = A) -> Candidate:
    return Candidate(url=url, root=root, found_by=FoundBy.ROBOTS, parent=f"{root}/robots.txt", depth=1)


def record(candidate: Candidate, **values: object) -> SitemapRecord:
    return SitemapRecord(url=candidate.url, root=candidate.root, found_by=candidate.found_by, **values)


def test_a_run_starts_with_the_robots_txt_of_each_site() -> None:
    state = sites(A, B)
    assert begun(state) == [f"{A}/robots.txt", f"{B}/robots.txt"]
    assert list(state.settled()) == []
    assert len(state.frontier) == 2


def test_a_site_is_settled_when_none_of_its_documents_waits_or_is_in_flight() -> None:
    state = sites()
    begun(state)
    (robots, _) = state.take(0.0) or pytest.fail("none is taken")
    assert state.consider(child(f"{A}/s.xml"), 0.0) is None
    state.done(robots, 1.0)
    assert list(state.settled()) == []
    (sitemap, refusal) = state.take(1.0) or pytest.fail("none is taken")
    assert (sitemap.url, refusal) == (f"{A}/s.xml", None)
    state.done(sitemap, 2.0)
    assert [site.root for site in state.settled()] == [A]
    assert (state.by_root[A].started_at, state.by_root[A].ended_at, state.by_root[A].documents) == (0.0, 2.0, 2)


def test_a_document_of_another_site_is_not_requested_again_and_that_site_is_named() -> None:
    state = sites(A, B)
    begun(state)
    assert state.consider(child(f"{A}/s.xml", A), 0.0) is None
    assert state.consider(child(f"{A}/s.xml", B), 0.0) is None
    assert (state.by_root[A].shared, state.by_root[B].shared) == ({}, {f"{A}/s.xml": A})
    assert len(state.frontier) == 3


def test_a_document_is_claimed_once_under_any_spelling() -> None:
    state = sites(A, B)
    begun(state)
    spellings = (child(f"{A}/a.xml"), child("HTTPS://A.example:443/%61.xml", B), child(f"{A}/A.xml"), child("no url"))
    assert [state.consider(one, 0.0) for one in spellings[:3]] == [None] * 3
    assert [state.owner(one.url) for one in spellings] == [A, A, A, None]
    assert state.owner(f"{A}/b.xml") is None
    assert len(state.frontier) == 4


def test_a_rejected_document_can_still_be_claimed() -> None:
    state = sites()
    begun(state)
    unwanted = NotFetched(Outcome.SKIPPED, "not this one")
    assert state.consider(child(f"{A}/a.xml"), 0.0, unwanted) == unwanted
    assert state.consider(child("HTTPS://A.example:443/%61.xml"), 0.0, unwanted) is None
    assert state.owner(f"{A}/a.xml") is None
    assert state.consider(child(f"{A}/a.xml"), 0.0) is None
    assert state.owner(f"{A}/a.xml") == A


def test_a_rejection_is_reported_once_per_document() -> None:
    state = sites()
    begun(state)
    far = Candidate(url="ftp://a.example/s.xml", root=A, found_by=FoundBy.INDEX, parent=f"{A}/i.xml", depth=1)
    reason = "the scheme of the URL is neither http nor https"
    assert state.consider(far, 0.0) == NotFetched(Outcome.OUT_OF_SCOPE, reason)
    assert state.consider(far, 0.0) is None


@pytest.mark.parametrize(
    ("budget", "code", "words"),
    [
        ({"documents": 2}, "limit/documents", "SITEMAP_HARVEST_MAX_DOCUMENTS (2) was reached"),
        ({"bytes": 1_000}, "limit/bytes", "SITEMAP_HARVEST_MAX_SITE_BYTES (1,000) was reached"),
        ({"urls": 10}, "limit/urls", "SITEMAP_HARVEST_MAX_SITE_URLS (10) was reached"),
        ({"seconds": 60}, "limit/seconds", "SITEMAP_HARVEST_MAX_SITE_SECONDS (60) was reached"),
    ],
)
def test_a_spent_budget_rejects_new_and_waiting_documents(budget: dict[str, int], code: str, words: str) -> None:
    state = sites(**budget)
    begun(state)
    (robots, _) = state.take(0.0) or pytest.fail("none is taken")
    assert state.consider(child(f"{A}/1.xml"), 0.0) is None
    state.note(robots, record(robots, outcome=Outcome.READ, kind=Kind.ROBOTS, bytes_downloaded=1_000), urls=10)
    state.done(robots, 60.0)
    refusal = NotFetched(Outcome.OVER_LIMIT, words, problem=code)
    assert state.consider(child(f"{A}/2.xml"), 60.0) == refusal
    (candidate, waiting) = state.take(60.0) or pytest.fail("none is taken")
    assert candidate.url == f"{A}/1.xml"
    assert waiting == (None if code == "limit/documents" else refusal)


def test_the_number_of_urls_left() -> None:
    state = sites(urls=10)
    begun(state)
    assert state.urls_left(robots_of(A)) == 10
    state.by_root[A].urls = 12
    assert state.urls_left(robots_of(A)) == 0
    unlimited = sites()
    begun(unlimited)
    assert unlimited.urls_left(robots_of(A)) is None


def test_a_closed_host_gets_no_more_requests() -> None:
    state = sites(A, B)
    begun(state)
    state.frontier.host(f"{A}/x").shut = NotFetched(Outcome.BLOCKED, "it wants to be left alone")
    taken = [state.take(0.0), state.take(0.0)]
    assert [(candidate.root, refusal) for candidate, refusal in filter(None, taken)] == [
        (A, NotFetched(Outcome.BLOCKED, "it wants to be left alone")), (B, None)
    ]  # fmt: skip


def test_a_host_gets_no_more_requests_after_a_number_of_consecutive_failures() -> None:
    state = sites()
    begun(state)
    for number in range(3):
        assert state.consider(child(f"{A}/{number}.xml"), 0.0) is None
    for url in (f"{A}/a", f"{B}/b", f"{A}/c"):
        state.unanswered(child(url), url, SILENCE)
    state.answered(child(f"{A}/d"), f"{A}/d")
    (robots, refusal) = state.take(0.0) or pytest.fail("none is taken")
    assert refusal is None
    state.done(robots, 0.0)
    for number in range(MOST_UNANSWERED):
        url = f"{A}/{number}"
        state.unanswered(child(url), url, SILENCE)
    (_, refusal) = state.take(0.0) or pytest.fail("none is taken")
    reason = "the host failed to respond 3 times in a row: no response within the timeout"
    assert refusal == NotFetched(Outcome.FAILED, reason, Cause.TIMEOUT)


def test_after_a_number_of_unresponsive_hosts_a_site_gets_requests_only_to_hosts_that_have_responded() -> None:
    state = sites(A, B)
    begun(state)
    taken = [state.take(0.0), state.take(0.0)]
    for candidate, _ in filter(None, taken):
        state.answered(candidate, candidate.url)
        state.done(candidate, 0.0)
    moved, target = child(f"{A}/moved.xml"), "https://cdn.example/s.xml"
    state.answered(moved, target)
    for number in range(MOST_UNANSWERED):  # many documents of one host count once
        url = f"https://h1.example/{number}.xml"
        state.unanswered(child(url), url, SILENCE)
    state.answered(moved, target)  # from now on they are consecutive
    for host in ("h2", "h3"):
        url = f"https://{host}.example/s.xml"
        state.unanswered(child(url), url, SILENCE)
    urls = [f"{A}/1.xml", "https://cdn.example/1.xml", "https://h4.example/1.xml"]
    others = [child(f"{url}?b", root=B) for url in urls]
    assert [state.consider(each, 0.0) for each in [*map(child, urls), *others]] == [None] * 6
    refusals = {}
    while taken := state.take(0.0):
        refusals[taken[0].url] = taken[1]
        state.done(taken[0], 0.0)
    reason = "2 consecutive hosts of the site failed to respond: no response within the timeout"
    assert refusals.pop("https://h4.example/1.xml") == NotFetched(Outcome.FAILED, reason, Cause.TIMEOUT)
    assert refusals == dict.fromkeys([*urls[:2], *(each.url for each in others)])


def test_a_rejection_does_not_wait_for_the_delay_of_its_host() -> None:
    state = sites(seconds=60)
    begun(state)
    (robots, _) = state.take(0.0) or pytest.fail("none is taken")
    state.frontier.host(A).slow_down(30.0)
    candidates = [child(f"{A}/{number}.xml") for number in range(3)]
    assert [state.consider(candidate, 0.0) for candidate in candidates] == [None, None, None]
    state.done(robots, 0.0)
    assert state.take(29.0) is None
    rejections = []
    while taken := state.take(60.0):
        rejections.append(taken[1])
        state.done(taken[0], 60.0)
    reason = "SITEMAP_HARVEST_MAX_SITE_SECONDS (60) was reached"
    refusal = NotFetched(Outcome.OVER_LIMIT, reason, problem="limit/seconds")
    assert rejections == [refusal] * 3


def test_a_document_that_is_not_requested_does_not_make_others_wait() -> None:
    state = sites()
    begun(state)
    (robots, _) = state.take(0.0) or pytest.fail("none is taken")
    state.frontier.host(A).slow_down(30.0)
    candidates = [child(f"{A}/{number}.xml") for number in range(3)]
    assert [state.consider(candidate, 0.0) for candidate in candidates] == [None, None, None]
    state.done(robots, 0.0)
    for candidate in candidates[:2]:  # known from an interrupted run
        assert state.take(30.0) == (candidate, None)
        state.spare(candidate)
        state.done(candidate, 30.0, was_requested=False)
    assert not state.frontier.host(A).has_rules
    assert state.take(30.0) == (candidates[2], None)
    state.done(candidates[2], 30.0)
    assert (state.frontier.host(A).has_rules, state.frontier.host(A).ready_at) == (True, 60.0)


def test_a_document_of_another_run_is_not_queued() -> None:
    state = sites()
    begun(state)
    claimed, other = child(f"{A}/1.xml"), child(f"{A}/2.xml")
    state.claim(claimed)
    assert [state.consider(one, 0.0) for one in (claimed, other)] == [None, None]
    assert state.redirect(other, claimed.url, has_document=True) is not None
    assert len(state.frontier) == 2  # with the robots.txt


def test_a_requeued_document_is_taken_again_when_its_host_is_free() -> None:
    state = sites()
    begun(state)
    (robots, _) = state.take(0.0) or pytest.fail("none is taken")
    state.requeue(robots, robots.url, 5.0)
    state.done(robots, 1.0)
    assert list(state.settled()) == []
    assert (len(state.frontier), state.frontier.next_turn()) == (1, 5.0)
    assert state.take(4.0) is None
    (again, _) = state.take(5.0) or pytest.fail("none is taken")
    assert (again.url, again.attempt) == (robots.url, 1)


def test_draining_settles_a_site() -> None:
    state = sites(A, B)
    begun(state)
    assert [candidate.root for candidate in state.drain(0.0)] == [A, B]
    assert [site.root for site in state.settled()] == [A, B]
    assert [site.documents for site in state.by_root.values()] == [0, 0]


def test_a_finished_site_is_not_settled_again() -> None:
    state = sites()
    (site,) = state.settled()
    assert state.conclude(site, is_over=True, epoch=0.0).result == "absent"
    state.settle(site)
    assert [*state.settled()] == [*state.unfinished()] == []


@pytest.mark.parametrize(
    ("url", "found_by", "cause", "twin"),
    [
        pytest.param("http://a.example/s.xml", FoundBy.ROBOTS, Cause.TIMEOUT, "https://a.example/s.xml", id="hangs"),
        pytest.param("HTTP://a.example/s.xml", FoundBy.INDEX, Cause.REFUSED, "https://a.example/s.xml", id="refused"),
        pytest.param("http://a.example/s.xml", FoundBy.ARGUMENT, Cause.TIMEOUT, "https://a.example/s.xml", id="named"),
        pytest.param("https://a.example/s.xml", FoundBy.ROBOTS, Cause.TIMEOUT, None, id="it-has-https"),
        pytest.param("http://a.example:8000/s.xml", FoundBy.ROBOTS, Cause.TIMEOUT, None, id="port"),
        pytest.param("http://a.example/s.xml", FoundBy.ROBOTS, Cause.DNS, None, id="no-host"),
        pytest.param("http://a.example/s.xml", FoundBy.ROBOTS, Cause.SERVER_ERROR, None, id="it-answers"),
        pytest.param("http://a.example/s.xml", FoundBy.ROBOTS, None, None, id="it-came"),
        pytest.param("http://a.example/s.xml", FoundBy.WELL_KNOWN, Cause.TIMEOUT, None, id="guess"),
    ],
)
def test_https_is_tried_where_http_fails(url: str, found_by: FoundBy, cause: Cause | None, twin: str | None) -> None:
    candidate = Candidate(url=url, root=A, found_by=found_by)
    found = secure_twin(candidate, record(candidate, outcome=Outcome.FAILED, cause=cause))
    assert (found and found.url, found and found.found_by) == (twin, FoundBy.VARIANT if twin else None)


def test_a_site_is_complete_if_its_sitemap_was_read_over_https_instead() -> None:
    state = sites()
    (site,) = state.settled()
    candidate = child("http://a.example/s.xml")
    failed = record(candidate, outcome=Outcome.FAILED, cause=Cause.TIMEOUT, fetched_at=datetime(2026, 3, 9, tzinfo=UTC))
    state.note(candidate, failed, urls=0)
    twin = secure_twin(candidate, failed)
    assert isinstance(site, SiteState)
    assert twin is not None
    values = {"outcome": Outcome.READ, "kind": Kind.SITEMAP, "complete": True, "entries": 1}
    state.note(twin, record(twin, **values), urls=1)
    assert site.conclude(is_over=True, epoch=0.0).complete
    state.note(twin, record(twin, **{**values, "complete": False}), urls=1)
    assert not site.conclude(is_over=True, epoch=0.0).complete


def test_the_number_of_open_sites_is_limited() -> None:
    roots = [f"https://{number}.example" for number in range(MOST_OPEN + 100)]
    state = sites(*roots)
    first = list(state.settled())
    assert [site.root for site in first] == roots[:MOST_OPEN]
    for site in first[:10]:
        state.conclude(site, is_over=True, epoch=0.0)
    assert [site.root for site in state.settled()] == roots[MOST_OPEN : MOST_OPEN + 10]
    assert [site.root for site in state.unfinished()] == roots[10:]


def run(state: SiteQueue, answers: dict[str, dict[str, object]], names: dict[str, list[str]]) -> dict[str, SiteRecord]:
    """Run *state* to its end, where addresses have these *answers* and *names* maps documents to those they name."""
    results = {}
    while True:
        for site in state.settled():
            if candidate := site.next_candidate():
                state.consider(candidate, 0.0)
                state.settle(site)
            else:
                results[site.root] = state.conclude(site, is_over=True, epoch=0.0)
        if (taken := state.take(0.0)) is None:
            return results
        candidate, _ = taken
        for url in names.get(candidate.url, ()):
            ref = SitemapRef(loc=url, position=1)
            state.consider(candidate.child(ref, FoundBy.ROBOTS if candidate.site_root else FoundBy.INDEX), 0.0)
        state.note(candidate, record(candidate, **answers.get(candidate.url, ABSENT)), urls=0)
        state.done(candidate, 0.0)


ABSENT = {"outcome": Outcome.ABSENT, "status": 404, "reason": "HTTP 404"}
BLOCKED = {"outcome": Outcome.BLOCKED, "status": 403, "reason": "HTTP 403"}
ROBOTS = {"outcome": Outcome.READ, "kind": Kind.ROBOTS, "complete": True, "status": 200}
INDEX = {"outcome": Outcome.READ, "kind": Kind.INDEX, "complete": True, "status": 200, "entries": 1}
SITEMAP = {"outcome": Outcome.READ, "kind": Kind.SITEMAP, "complete": True, "status": 200, "entries": 1}
C = "https://c.example"
ALL_ROBOTS = {f"{root}/robots.txt": ROBOTS for root in (A, B, C)}


@pytest.mark.parametrize(
    ("answers", "names", "expected"),
    [
        pytest.param(
            {f"{A}/s.xml": SITEMAP}, {A: ["s"], B: ["s"]}, {A: ("found", True), B: ("found", True)}, id="both-name-one"
        ),
        pytest.param(
            {f"{A}/s.xml": BLOCKED}, {A: ["s"], B: ["s"]}, {A: ("blocked", False), B: ("blocked", False)}, id="blocked"
        ),
        pytest.param(
            {f"{B}/sitemap.xml": SITEMAP},
            {A: ["s"], B: ["s"]},
            {A: ("absent", False), B: ("found", False)},
            id="what-they-share-is-dead-and-one-has-another",
        ),
        pytest.param(
            {f"{A}/sitemap.xml": SITEMAP},
            {A: ["s"], B: ["s"]},
            {A: ("found", False), B: ("absent", False)},
            id="what-they-share-is-dead-and-the-owner-has-another",
        ),
        pytest.param(
            {f"{A}/i.xml": INDEX, f"{A}/s.xml": SITEMAP},
            {A: ["i"], B: ["i"], f"{A}/i.xml": ["s", "dead"]},
            {A: ("found", False), B: ("found", False)},
            id="a-child-of-what-they-share-is-dead",
        ),
        pytest.param(
            {f"{A}/i.xml": INDEX, f"{A}/s.xml": SITEMAP},
            {A: ["s", "i"], B: ["i"], C: ["dead"], f"{A}/i.xml": ["dead", "s"]},
            {A: ("found", False), B: ("found", False), C: ("absent", False)},
            id="a-child-that-a-third-one-has",
        ),
    ],
)
def test_sites_share_the_results_of_shared_documents_and_are_searched_if_those_are_empty(
    answers: dict[str, dict[str, object]], names: dict[str, list[str]], expected: dict[str, tuple[str, bool]]
) -> None:
    robots = {f"{key}/robots.txt" if key in (A, B, C) else key: [f"{A}/{n}.xml" for n in v] for key, v in names.items()}
    results = run(sites(*expected), {**ALL_ROBOTS, **answers}, robots)
    assert {root: (one.result, one.complete) for root, one in results.items()} == expected


def test_retry_after_behind_a_redirect_delays_no_other_host() -> None:
    state = sites(A, B)
    begun(state)
    (robots, _) = state.take(0.0) or pytest.fail("none is taken")
    state.requeue(robots, f"{B}/away", 9.0)
    state.done(robots, 0.0)
    assert state.consider(child(f"{A}/s.xml"), 0.0) is None
    ((sitemap, _),) = iter(lambda: state.take(1.0), None)
    assert sitemap.url == f"{A}/s.xml"
    state.done(sitemap, 1.0)
    assert {candidate.url for candidate, _ in iter(lambda: state.take(9.0), None)} == {
        f"{A}/robots.txt",
        f"{B}/robots.txt",
    }


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param(f"{A}:443/%73.xml", None, id="the-same-in-another-spelling"),
        pytest.param(f"{A}/elsewhere.xml", None, id="elsewhere"),
        pytest.param(
            f"{A}/known.xml",
            NotFetched(Outcome.SKIPPED, f"the URL redirects to {A}/known.xml, which is read separately"),
            id="to-what-is-known",
        ),
        pytest.param(
            "ftp://a.example/s.xml",
            NotFetched(
                Outcome.OUT_OF_SCOPE,
                "the URL redirects to ftp://a.example/s.xml: the scheme of the URL is neither http nor https",
            ),
            id="where-nobody-may-go",
        ),
    ],
)
def test_redirects(url: str, expected: NotFetched | None) -> None:
    state = sites()
    begun(state)
    candidate = child(f"{A}/s.xml")
    assert [state.consider(one, 0.0) for one in (candidate, child(f"{A}/known.xml"))] == [None, None]
    assert state.redirect(candidate, url, has_document=True) == expected


def test_another_candidate_may_probe_where_a_redirect_found_nothing() -> None:
    state = sites()
    begun(state)
    candidate, other = child(f"{A}/s.xml"), child(f"{A}/other.xml")
    assert [state.consider(one, 0.0) for one in (candidate, other)] == [None, None]
    assert state.redirect(candidate, f"{A}/page", has_document=True) is None
    assert state.redirect(other, f"{A}/page", has_document=True) is not None
    state.release(candidate, f"{A}/page")
    assert state.redirect(other, f"{A}/page", has_document=True) is None
    state.release(candidate, candidate.url)  # no redirect: the document stays claimed
    assert state.redirect(other, candidate.url, has_document=True) is not None
    assert state.redirect(other, candidate.url, has_document=False) is None


def test_candidates_may_be_added_during_the_run_and_each_counts_once() -> None:
    state = sites(A)
    assert begun(state) == [f"{A}/robots.txt"]
    state.begin([robots_of(A), robots_of(B), robots_of(B)])
    assert begun(state) == [f"{B}/robots.txt"]
