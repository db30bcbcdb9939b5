"""Documents in flight, and those that will not arrive."""

from __future__ import annotations

import pytest

from sitemap_harvest.discovery.candidate import Candidate
from sitemap_harvest.engine.in_flight import InFlight

LOST, LATER = (Candidate(url=f"https://a.example/{name}.xml", root="https://a.example") for name in ("lost", "later"))


@pytest.mark.parametrize(
    ("looks", "is_stranded"),
    [
        pytest.param([(0.0, True), (4.9, True)], False, id="not-yet"),
        pytest.param([(0.0, True), (5.0, True)], True, id="after-five-seconds"),
        pytest.param([(9.0, True)], False, id="the-first-look-is-the-beginning"),
        pytest.param([(look / 1000, True) for look in range(100)], False, id="many-looks-in-no-time"),
        pytest.param([(0.0, True), (3.0, False), (6.0, True)], False, id="something-to-do-in-between"),
        pytest.param([(0.0, True), (5.0, False)], False, id="something-to-do-in-the-end"),
        pytest.param([(0.0, True), (3.0, False), (6.0, True), (11.0, True)], True, id="idle-again"),
    ],
)
def test_a_document_is_lost_after_scrapy_has_long_been_idle(looks: list[tuple[float, bool]], is_stranded: bool) -> None:
    in_flight = InFlight(most=1_000, small=10)
    in_flight.begin(LOST, 0.0)
    *_, last = [in_flight.lost(now, is_idle=is_idle) for now, is_idle in looks]
    assert last == [LOST] * is_stranded


def test_a_document_that_was_just_requested_is_not_lost() -> None:
    in_flight = InFlight(most=1_000, small=10)
    assert in_flight.lost(0.0, is_idle=True) == []
    in_flight.begin(LATER, 60.0)
    assert in_flight.lost(60.0, is_idle=True) == []
    assert in_flight.lost(65.0, is_idle=True) == [LATER]


def test_documents_that_wait_for_a_free_slot_are_not_lost() -> None:
    in_flight = InFlight(most=1_000, small=10)
    in_flight.begin(LOST, 0.0)
    in_flight.postpone(LATER)
    assert in_flight.lost(0.0, is_idle=True) == []
    assert in_flight.lost(5.0, is_idle=True) == [LOST]
