from __future__ import annotations

import pytest

from sitemap_harvest.discovery.candidate import Candidate
from sitemap_harvest.frontier.host_queue import Frontier

ROOT = "https://example.com"


def candidate(url: str, *, depth: int = 0, site_root: bool = False) -> Candidate:
    return Candidate(url=url, root=ROOT, depth=depth, site_root=site_root)


def filled(*urls: str, per_host: int = 8) -> tuple[Frontier, list[Candidate]]:
    """Return a frontier with documents at *urls* in its queue, and their candidates."""
    frontier, candidates = Frontier(per_host=per_host), [candidate(url) for url in urls]
    for one in candidates:
        frontier.add(one)
    return frontier, candidates


def taken(frontier: Frontier, now: float = 0.0) -> list[str]:
    """Return the addresses of all documents that may be requested *now*."""
    return [one.url for one in iter(lambda: frontier.take(now), None)]


def test_a_new_host_gets_one_request_and_then_as_many_as_allowed() -> None:
    frontier, candidates = filled("http://a/1", "http://a/2", "http://a/3", "http://a/4", per_host=2)
    assert taken(frontier) == ["http://a/1"]
    frontier.done(candidate("http://a/1", site_root=True))  # its request did not check the rules
    assert taken(frontier) == ["http://a/2"]
    frontier.done(candidates[1])
    assert taken(frontier) == ["http://a/3", "http://a/4"]
    assert len(frontier) == 0


def test_hosts_take_turns_and_a_busy_one_delays_only_its_own_documents() -> None:
    frontier, candidates = filled(
        "http://a:80/1", "http://a:80/2", "http://b/1", "http://b/2", "file:///1", "file:///2"
    )
    assert taken(frontier) == ["http://a:80/1", "http://b/1", "file:///1", "file:///2"]
    frontier.done(candidates[0])
    assert taken(frontier) == ["http://a:80/2"]
    assert len(frontier) == 1


def test_the_deepest_documents_come_first_in_the_order_of_discovery() -> None:
    frontier = Frontier(per_host=8)
    for url, depth in (("file:///index", 1), ("file:///b", 2), ("file:///c", 2), ("file:///other", 1)):
        frontier.add(candidate(url, depth=depth))
    assert taken(frontier) == ["file:///b", "file:///c", "file:///index", "file:///other"]


def test_documents_that_are_not_requested_do_not_wait_for_the_crawl_delay() -> None:
    frontier, candidates = filled("http://a/1", "http://a/2", "http://a/3", "http://a/4")
    host = frontier.host("http://a/")
    host.slow_down(10.0)
    assert taken(frontier, now=100.0) == ["http://a/1"]
    host.skip_turn()
    frontier.done(candidates[0])
    assert taken(frontier, now=100.0) == ["http://a/2"]
    frontier.done(candidates[1])
    assert taken(frontier, now=109.0) == []
    assert taken(frontier, now=110.0) == ["http://a/3"]
    host.ready_at = 150.0  # the server requires a wait
    host.skip_turn()
    frontier.done(candidates[2])
    assert taken(frontier, now=149.0) == []


def test_a_crawl_delay_applies_between_the_documents_of_a_host() -> None:
    frontier, candidates = filled("http://a/1", "http://a/2", "http://a/3", "http://b/1")
    frontier.host("http://a/").slow_down(10.0)
    assert taken(frontier, now=100.0) == ["http://a/1", "http://b/1"]
    frontier.done(candidates[0])
    assert taken(frontier, now=109.0) == []
    assert frontier.next_turn() == 110.0
    assert taken(frontier, now=110.0) == ["http://a/2"]
    frontier.done(candidates[1])
    assert taken(frontier, now=200.0) == ["http://a/3"]


def test_documents_and_pages_of_a_host_share_its_delay() -> None:
    frontier, _ = filled("http://a/1", "http://a/2")
    frontier.host("http://a/").slow_down(10.0)
    assert taken(frontier, now=100.0) == ["http://a/1"]
    assert [frontier.host(f"http://{host}/page").ready_at for host in "ab"] == [110.0, 0.0]


def test_the_rules_of_a_host_may_become_known_by_a_page_visit() -> None:
    frontier, _ = filled("http://a/1", "http://a/2")
    assert not frontier.host("http://a/page").has_rules
    frontier.host("http://a/page").has_rules = True
    assert taken(frontier) == ["http://a/1", "http://a/2"]


def test_a_host_on_hold_is_not_requested_until_then() -> None:
    frontier, candidates = filled("http://a/1", "http://a/2")
    assert taken(frontier) == ["http://a/1"]
    frontier.host("http://a/1").ready_at = 30.0
    frontier.add(candidates[0])
    frontier.done(candidates[0])
    assert len(frontier) == 2
    assert taken(frontier, now=29.0) == []
    assert taken(frontier, now=30.0) == ["http://a/2", "http://a/1"]


def test_drained_documents_no_longer_wait() -> None:
    frontier, _ = filled("http://a/1", "http://a/2", "http://b/1")
    assert taken(frontier) == ["http://a/1", "http://b/1"]
    assert [one.url for one in frontier.drain()] == ["http://a/2"]
    assert len(frontier) == 0
    assert frontier.take(0.0) is None


@pytest.mark.deep
def test_a_turn_does_not_scan_a_hundred_thousand_waiting_hosts() -> None:
    frontier = Frontier(per_host=8)
    for number in range(100_000):
        frontier.host(f"http://{number}.example/").ready_at = 1e9
        frontier.add(candidate(f"http://{number}.example/"))
    assert taken(frontier) == []
    frontier.add(candidate("http://ready.example/"))
    assert len(frontier._turns) == 1
    assert taken(frontier) == ["http://ready.example/"]
