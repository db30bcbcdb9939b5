"""Which bodies are held in memory at a time."""

from __future__ import annotations

import pytest
from scrapy import Request
from scrapy.exceptions import StopDownload

from sitemap_harvest.crawl.bodies import Bodies
from sitemap_harvest.plan import Lead

SMALL, MOST = 10, 1_000


def lead(host: str, name: str = "s") -> Lead:
    return Lead(url=f"https://{host}.example/{name}.xml", root=f"https://{host}.example")


A, B, C = lead("a"), lead("b"), lead("c")


class Downloads:
    """Downloads whose headers and bytes are told to the bodies."""

    def __init__(self) -> None:
        self.bodies = Bodies(most=MOST, small=SMALL)

    def begin(self, one: Lead, length: int | None = None) -> bool:
        """Begin to download *one*; return whether that goes on."""
        self.bodies.begin(one)
        return self._goes_on(lambda: self.bodies.note_headers(length or "unknown", _request(one)))

    def receive(self, one: Lead, size: int) -> bool:
        """Receive *size* bytes of *one*; return whether the download goes on."""
        return self._goes_on(lambda: self.bodies.note_bytes(b"x" * size, _request(one)))

    @staticmethod
    def _goes_on(told) -> bool:
        try:
            told()
        except StopDownload:
            return False
        return True


def _request(one: Lead) -> Request:
    return Request(one.url, cb_kwargs={"lead": one})


@pytest.mark.parametrize(
    ("lengths", "go_on"),
    [
        pytest.param([600, 400], [True, True], id="they-fit"),
        pytest.param([600, 401], [True, False], id="one-too-many"),
        pytest.param([5_000], [True], id="one-may-be-larger-than-all"),
        pytest.param([5_000, 11, 10], [True, False, True], id="small-ones-always-fit"),
        pytest.param([600, 600, 300], [True, False, True], id="what-was-stopped-holds-nothing"),
    ],
)
def test_a_body_whose_length_is_known_is_stopped_before_it_comes(lengths: list[int], go_on: list[bool]) -> None:
    downloads = Downloads()
    assert [downloads.begin(one, length) for one, length in zip((A, B, C), lengths, strict=False)] == go_on


def test_a_body_whose_length_is_not_known_is_stopped_when_it_does_not_fit_any_more() -> None:
    downloads = Downloads()
    assert downloads.begin(A)
    assert downloads.begin(B)
    assert downloads.receive(A, 600)
    assert downloads.receive(B, 400)
    assert not downloads.receive(B, 1)
    assert downloads.bodies.was_stopped(B)
    assert downloads.receive(A, 5_000)
    assert not downloads.bodies.was_stopped(A)


def test_what_was_stopped_waits_until_it_fits_and_is_expected_to_be_twice_as_large() -> None:
    downloads = Downloads()
    downloads.begin(A, 600)
    downloads.begin(B)
    assert not downloads.receive(B, 401)
    downloads.bodies.wait(B)
    assert downloads.bodies.next() is None
    downloads.bodies.end(A)
    assert downloads.begin(C, 198)
    assert downloads.bodies.next() == B
    assert downloads.bodies.next() is None


def test_the_first_that_waits_is_not_overtaken() -> None:
    bodies = Downloads().bodies
    bodies.begin(A)
    bodies.note_headers(900, _request(A))
    for one in (B, C):
        bodies.wait(one)
    bodies.end(B)
    assert bodies.next() == C


def test_documents_of_a_host_are_expected_to_be_as_large_as_its_largest() -> None:
    downloads = Downloads()
    downloads.begin(A, 600)
    downloads.bodies.end(A)
    downloads.begin(B, 500)
    assert not downloads.bodies.fits(lead("a", "other"))
    assert downloads.bodies.fits(lead("b", "other"))
    assert downloads.bodies.fits(C)


def test_requests_for_other_things_do_not_count() -> None:
    downloads = Downloads()
    for request in (Request("https://a.example/robots.txt"), _request(A)):
        downloads.bodies.note_headers(5_000, request)
        downloads.bodies.note_bytes(b"x" * 5_000, request)
    assert downloads.begin(B, 900)
    assert downloads.begin(C, 100)
