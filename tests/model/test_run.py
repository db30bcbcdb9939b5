"""The ids of runs sort by time, even if the clock goes back."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sitemap_harvest.model.run import id_after, is_run_id, moment_of, new_run_id

NOON = datetime(2026, 11, 22, 12, 0, 5, 999_999, tzinfo=UTC)


def test_an_id_starts_with_the_time_and_is_unique():
    one, other = new_run_id(NOON), new_run_id(NOON)
    assert one != other
    assert moment_of(one) == moment_of(other) == NOON.replace(microsecond=0)


@pytest.mark.parametrize(
    ("before", "own", "wanted"),
    [
        pytest.param(None, "20261122T120005Z-4f2a1c", "20261122T120005Z-4f2a1c", id="first"),
        pytest.param("20261122T120004Z-ffffff", "20261122T120005Z-4f2a1c", "20261122T120005Z-4f2a1c", id="later"),
        pytest.param("20261122T120005Z-ffffff", "20261122T120005Z-4f2a1c", "20261122T120006Z-4f2a1c", id="same-second"),
        pytest.param("20261231T235959Z-4f2a1c", "20261122T120005Z-4f2a1c", "20270101T000000Z-4f2a1c", id="clock-back"),
    ],
)
def test_a_run_sorts_after_the_previous_one(before, own, wanted):
    assert id_after(before, own) == wanted


@pytest.mark.parametrize(
    "name", ["", "notes", ".DS_Store", "20261122T120005Z", "20261122T120005Z-4F2A1C", "٢0261122T120005Z-4f2a1c"]
)
def test_invalid_ids_are_rejected(name):
    assert not is_run_id(name)
