from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest.snapshots.store.row_ranges import Intervals, RowRanges

ids = st.sets(st.integers(0, 40))
spans = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6)), max_size=8)


def intervals(numbers):
    return Intervals.of_ids(np.array(sorted(numbers), dtype=np.int64))


def assert_tidy(found):
    """Disjoint, ascending, none adjacent to another, none empty."""
    assert (found.count > 0).all()
    assert (np.diff(found.start) > found.count[:-1]).all()


@given(spans)
def test_intervals_that_overlap_in_any_order_are_joined(given_spans):
    starts, counts = (np.array([span[side] for span in given_spans], dtype=np.int64) for side in (0, 1))
    found = Intervals.of(starts, counts)
    assert_tidy(found)
    assert found.ids().tolist() == sorted(
        {number for start, count in given_spans for number in range(start, start + count)}
    )


@given(ids)
def test_ids_come_back_out_of_intervals(numbers):
    found = intervals(numbers)
    assert_tidy(found)
    assert found.ids().tolist() == sorted(numbers)
    assert len(found) == len(numbers)


@given(ids, ids)
def test_minus_is_the_difference_of_sets(these, others):
    found = intervals(these).minus(intervals(others))
    assert_tidy(found)
    assert found.ids().tolist() == sorted(these - others)


@given(ids, st.integers(0, 40), st.integers(0, 40))
def test_within_is_a_section(numbers, start, count):
    found = intervals(numbers).within(start, start + count)
    assert found.ids().tolist() == sorted(numbers & set(range(start, start + count)))


@given(st.lists(st.integers(0, 9)), st.data())
def test_ranges_give_back_each_position_and_row(rows, data):
    gaps = data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    positions = np.cumsum(np.array(gaps, dtype=np.int64))
    row_ranges = RowRanges.of(3, positions, np.array(rows, dtype=np.int64))
    assert row_ranges.rows().tolist() == rows
    assert row_ranges.positions().tolist() == positions.tolist()
    assert row_ranges.documents().tolist() == [3] * len(rows)
    assert row_ranges.intervals().ids().tolist() == sorted(set(rows))


@pytest.mark.parametrize(
    ("positions", "rows", "count"),
    [
        pytest.param([1, 2, 3], [7, 8, 9], 1, id="as-they-were-read"),
        pytest.param([1, 2, 3], [7, 9, 10], 2, id="one-is-new"),
        pytest.param([1, 3, 4], [7, 8, 9], 2, id="an-entry-without-url-between"),
        pytest.param([1, 2], [7, 7], 2, id="the-same-row-twice"),
        pytest.param([1, 2, 3], [9, 8, 7], 3, id="turned-round"),
        pytest.param([], [], 0, id="empty"),
    ],
)
def test_the_number_of_ranges(positions, rows, count):
    assert len(RowRanges.of(0, np.array(positions, dtype=np.int64), np.array(rows, dtype=np.int64)).row) == count


def test_joined_parts_follow_each_other():
    parts = [RowRanges.of(number, np.array([1, 2]), np.array([row, row + 1])) for number, row in ((0, 5), (1, 0))]
    joined = RowRanges.joined(parts)
    assert joined.rows().tolist() == [5, 6, 0, 1]
    assert joined.documents().tolist() == [0, 0, 1, 1]
    assert RowRanges.joined([]).rows().tolist() == []
