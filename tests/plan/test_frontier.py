from __future__ import annotations

import pytest

from sitemap_harvest import Outcome
from sitemap_harvest.plan import Frontier, Lead, Refusal, room


def lead(url: str, root: str = "https://example.com") -> Lead:
    return Lead(url=url, root=root)


def test_a_document_is_claimed_once_under_any_spelling() -> None:
    frontier = Frontier(max_documents=9)
    assert frontier.claim("https://example.com/a.xml")
    assert not frontier.claim("HTTPS://EXAMPLE.com:443/%61.xml")
    assert frontier.claim("https://example.com/A.xml")
    assert frontier.claim("no url")
    assert not frontier.claim("no url")
    assert frontier.knows("https://example.com/%61.xml")


def test_a_document_that_was_refused_is_still_to_be_had() -> None:
    frontier = Frontier(max_documents=9)
    assert frontier.refuse("https://example.com/a.xml")
    assert not frontier.refuse("HTTPS://EXAMPLE.com:443/%61.xml")
    assert not frontier.knows("https://example.com/a.xml")
    assert frontier.add(lead("https://example.com/a.xml")) is None
    assert frontier.knows("https://example.com/a.xml")


def test_leads_wait_their_turn() -> None:
    frontier = Frontier(max_documents=9)
    leads = [lead(f"https://example.com/{number}") for number in range(3)]
    assert [frontier.add(one) for one in leads] == [None, None, None]
    assert len(frontier) == 3
    assert frontier.take() == leads[0]
    assert list(frontier.drain()) == leads[1:]
    assert len(frontier) == 0
    assert frontier.take() is None


def test_a_host_that_is_busy_holds_up_only_its_own_documents() -> None:
    frontier = Frontier(max_documents=9)
    a1, a2, b1, file = (lead(url) for url in ("http://a:80/1", "http://a:80/2", "http://b/1", "file:///tmp/1"))
    for one in (a1, a2, b1, file):
        frontier.add(one)
    assert frontier.take({"a:80"}) == b1
    assert frontier.take({"a:80", "b"}) == file
    assert frontier.take({"a:80", "b"}) is None
    assert [frontier.take(), frontier.take()] == [a1, a2]


def test_each_root_has_room_of_its_own() -> None:
    frontier = Frontier(max_documents=1)
    assert frontier.add(lead("https://a.example/1", "https://a.example")) is None
    assert frontier.add(lead("https://b.example/1", "https://b.example")) is None
    refusal = frontier.add(lead("https://a.example/2", "https://a.example"))
    assert refusal == Refusal(Outcome.OVER_LIMIT, "more than 1 documents")
    assert len(frontier) == 2
    assert not frontier.knows("https://a.example/2")
    assert frontier.add(lead("https://a.example/2", "https://c.example")) is None


@pytest.mark.parametrize(
    ("most", "done", "largest", "in_flight"),
    [
        pytest.param(8, 0, 0, 1, id="nothing-is-known-yet"),
        pytest.param(8, 3, 10, 4, id="one-more-than-are-done"),
        pytest.param(8, 100, 10, 8, id="small-ones"),
        pytest.param(8, 100, 300, 3, id="as-many-as-fit"),
        pytest.param(8, 100, 5000, 1, id="too-large-is-still-one"),
    ],
)
def test_room(most: int, done: int, largest: int, in_flight: int) -> None:
    assert room(most=most, bytes_in_memory=1000, done=done, largest=largest) == in_flight
