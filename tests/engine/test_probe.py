"""``Probe``: which page is requested next."""

from __future__ import annotations

import pytest

from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.engine.interfaces import DocumentResponse
from sitemap_harvest.engine.probe import Probe
from sitemap_harvest.engine.run_summary import Summary
from sitemap_harvest.frontier.host_queue import Frontier
from sitemap_harvest.model import Cause, Outcome
from tests.snapshots.store.making import Making

NOW = 1_790_000_000.0
SITES = ("https://a.example", "https://b.example")
FAILURE = NotFetched(Outcome.FAILED, "no response", Cause.REFUSED)


def yes(_):
    return True


@pytest.fixture
def making(tmp_path):
    return Making(tmp_path)


@pytest.fixture
def begin(making):
    """Return a function that begins the probe of sites, each with as many URLs."""

    def begun(*sites, urls=3, size=100, summary=None):
        probe = Probe(
            size,
            0,
            frontier=Frontier(per_host=8),
            max_unanswered=5,
            summary=summary or Summary(),
            guard=lambda work: work(),
        )
        for site in sites:
            listed = [f"{site}/{number}" for number in range(urls)]
            making.run({f"{site}/s.xml": listed}, site=site)
            history = making.store.history(site)
            probe.begin(history, history.at("latest"))
        return probe

    return begun


def answer(probe, page, status=204):
    return probe.answered(page, DocumentResponse(url=page.url, status=status), NOW)


def test_sites_take_turns(begin):
    probe = begin(*SITES)
    pages = [probe.next(yes) for _ in range(6)]
    assert [page.site for page in pages] == [*SITES] * 3
    assert probe.next(yes) is None
    assert [*probe.take()] == []
    assert all(answer(probe, page).status == 204 for page in pages)
    assert [site.root for site in probe.take()] == [*SITES]
    assert not probe


def test_a_page_that_needs_another_request_comes_next(begin):
    probe = begin(SITES[0])
    page = probe.next(yes)
    assert answer(probe, page, 404) is None
    assert (probe.next(yes), page.method) == (page, "GET")
    assert answer(probe, page, 404).status == 404


def test_the_summary_counts_the_errors_of_the_pages(begin):
    summary = Summary()
    probe = begin(SITES[0], urls=5, summary=summary)
    for status in (200, 404, 404, 500):
        page = probe.next(yes)
        while answer(probe, page, status) is None:
            assert probe.next(yes) is page
    failure = NotFetched(Outcome.FAILED, "no response", Cause.TIMEOUT)
    page = probe.next(yes)
    while probe.failed(page, failure, NOW) is None:
        assert probe.next(yes) is page
    assert summary.probe_in_words() == "probe: 5 of 5 pages; errors: HTTP 404 2, HTTP 500 1, timeout 1"


def test_a_host_that_may_not_be_requested_does_not_delay_other_sites(begin):
    probe = begin(*SITES)
    asked = []

    def only_b(page):
        asked.append(page.site)
        return page.site == SITES[1]

    assert probe.next(only_b).site == SITES[1]
    assert asked == [*SITES]  # each host was considered once


def test_a_host_without_head_gets_get_at_once(begin):
    probe = begin(SITES[0])
    assert answer(probe, probe.next(yes), 501) is None
    assert {probe.next(yes).method for _ in range(3)} == {"GET"}


def test_a_host_that_fails_too_often_gets_no_more_requests(begin):
    probe = begin(SITES[0], urls=7)
    pages = [probe.next(yes) for _ in range(5)]
    assert [probe.failed(page, FAILURE, NOW).error for page in pages] == ["no response"] * 5
    assert probe.next(yes) is None
    assert [record.error for record in probe.records] == [
        "the host failed to respond 5 times in a row: no response"
    ] * 2
    assert [site.done for site in probe.take()] == [7]


def test_lost_requests_are_ended_when_nothing_happens_for_long(begin):
    probe = begin(SITES[0], urls=1)
    page = probe.next(yes)
    for now, is_idle in ((0.0, True), (4.0, True), (5.0, False), (6.0, True), (10.0, True)):
        probe.end_lost(now, is_idle=is_idle)
        assert not probe.records
    probe.end_lost(11.0, is_idle=True)
    assert [record.error for record in probe.records] == ["another component dropped the request"]
    assert answer(probe, page) is None  # too late
    assert [site.done for site in probe.take()] == [1]


def test_a_site_without_urls_ends_at_once(begin, making):
    probe = begin(SITES[0], urls=0)
    assert [site.root for site in probe.take()] == [SITES[0]]
    assert making.store.history(SITES[0]).runs[-1].probe == {"listed": 0, "left_out": 0, "sample": 0, "seed": 0}


def test_pages_are_stored_when_the_run_ends_early(begin, making):
    probe = begin(SITES[0], urls=9, size=4)
    answer(probe, probe.next(yes))
    assert [(site.done, len(site.sample)) for site in probe.take(all_sites=True)] == [(1, 4)]
    snapshot = making.store.history(SITES[0]).at("latest")
    assert (len(snapshot.pages()), snapshot.run.probe) == (1, {"listed": 9, "left_out": 0, "sample": 4, "seed": 0})


def test_many_pages_are_stored_while_the_probe_runs(begin, making, monkeypatch):
    monkeypatch.setattr("sitemap_harvest.engine.probe._FLUSH_PAGES", 2)
    probe = begin(SITES[0])
    for expected in (0, 2, 2):
        answer(probe, probe.next(yes))
        probe.checkpoint()
        assert len(making.store.history(SITES[0]).at("latest").pages()) == expected


def test_the_pages_of_an_earlier_probe_remain_until_there_are_others(begin, making):
    probe = begin(SITES[0])
    answer(probe, probe.next(yes))
    assert [*probe.take(all_sites=True)]
    history = making.store.history(SITES[0])
    probe.begin(history, history.at("latest"))
    assert len(making.store.history(SITES[0]).at("latest").pages()) == 1
    for _ in range(3):
        answer(probe, probe.next(yes))
    assert [*probe.take()]
    assert len(making.store.history(SITES[0]).at("latest").pages()) == 3
