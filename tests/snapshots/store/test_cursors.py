from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sitemap_harvest.errors import StoreError
from sitemap_harvest.snapshots.store.cursors import (
    BEGINNING,
    Cursor,
    cursor_of,
    cursors,
    drop,
    gap,
    move,
    runs_held,
    runs_since,
)
from tests.snapshots.store.making import SITE, Making, locs

if TYPE_CHECKING:
    from sitemap_harvest.snapshots.store import History

IDS = ["20261101T030000Z-000000", "20261102T030000Z-000001", "20261103T030000Z-000002"]


@pytest.fixture
def history(tmp_path) -> History:
    making = Making(tmp_path)
    for start in range(3):
        making.run({f"{SITE}/s.xml": locs(2, start=start)})
    return making.store.history(SITE)


def test_a_cursor_only_moves_forward(history: History) -> None:
    for run, expected in [(BEGINNING, BEGINNING), (IDS[1], IDS[1]), (IDS[0], IDS[1]), (IDS[2], IDS[2])]:
        move(history, Cursor("a", run))
        assert cursor_of(history, "a") == Cursor("a", expected)


def test_each_consumer_has_a_cursor(history: History) -> None:
    assert cursors(history) == []
    for name, run in [("b", IDS[0]), ("a.b-c_D", IDS[1])]:
        move(history, Cursor(name, run))
    assert cursors(history) == [Cursor("a.b-c_D", IDS[1]), Cursor("b", IDS[0])]
    assert runs_held(history) == {"a.b-c_D": IDS[1:], "b": IDS}
    assert [drop(history, "b"), drop(history, "b"), cursor_of(history, "b")] == [True, False, None]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}"])
def test_a_damaged_cursor_is_an_error(history: History, data: bytes) -> None:
    (history.folder / "consumers").put("a.json", data)
    with pytest.raises(StoreError, match=r"consumers/a\.json is damaged"):
        cursor_of(history, "a")


@pytest.mark.parametrize(
    ("run", "first", "is_known"),
    [
        pytest.param(BEGINNING, 0, True, id="the-beginning"),
        pytest.param(IDS[0], 0, True, id="the-first"),
        pytest.param(IDS[2], 2, True, id="the-last"),
        pytest.param("20261102T120000Z-abcdef", 1, True, id="dropped: from the one before"),
        pytest.param("20250101T000000Z-abcdef", 0, False, id="older-than-all"),
        pytest.param("20300101T000000Z-abcdef", 2, True, id="later-than-all"),
    ],
)
def test_undelivered_runs_start_with_the_baseline_of_the_next(
    history: History, run: str, first: int, is_known: bool
) -> None:
    assert [one.id for one in runs_since(history, run)] == IDS[first:]
    words = gap(history, Cursor("a", run))
    assert words is None if is_known else f"up to the run {run}, which is not in" in str(words)


def test_a_site_without_runs_has_none_to_deliver(tmp_path) -> None:
    history = Making(tmp_path).store.history(SITE)
    assert (runs_since(history, BEGINNING), gap(history, Cursor("a", IDS[0])), cursors(history)) == ((), None, [])
