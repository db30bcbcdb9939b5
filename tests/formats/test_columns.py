from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest.dates import read_date
from sitemap_harvest.formats.columns import dates, priorities, read_priority, trimmed

uniform = st.sampled_from(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S+05:30", "%Y-%m-%dT%H:%M:%S.%fZ"])
written = st.builds(lambda instant, form: instant.strftime(form), st.datetimes(), uniform)
zones = st.from_regex(r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", fullmatch=True)
other = st.sampled_from(
    [
        *("", "2025", "2025-02-30", "0000-00-00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "x"),
        *("2025-03-09T24:00:00Z", "2025-03-09 10:00:00", "Sun, 09 Mar 2025 10:00:00 EST", "1741514400"),
    ]
)


@given(st.lists(st.none() | written | other | zones, max_size=5) | st.lists(written, max_size=5))
def test_date_columns_match_single_dates(texts: list[str | None]) -> None:
    columns = dates(pa.array(texts, pa.string()))
    rows = [read_date(text) if text is not None else None for text in texts]
    assert columns.instant.to_pylist() == [row and row.value for row in rows]
    assert columns.precision.to_pylist() == [row and row.precision for row in rows]
    assert columns.zoned.to_pylist() == [row and row.zoned for row in rows]
    assert columns.is_w3c.to_pylist() == [row and row.is_w3c for row in rows]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *((text, float(text)) for text in ("0", "1", "0.5", "1.0", ".5", "+0.3", "0.123456789")),
        *(
            (text, None)
            for text in ("", "1.1", "-0.1", "0,5", "high", "nan", "1e-1", "0.5.5", "\u0660", "inf", "--1", "1_0")
        ),
    ],
)
def test_a_priority_is_a_number_from_0_to_1(text: str, number: float | None) -> None:
    assert read_priority(text) == number


@given(st.lists(st.none() | st.sampled_from(["0.5", "1", "high", "2", ""]), max_size=6))
def test_priority_columns_match_single_priorities(texts: list[str | None]) -> None:
    numbers, unreadable = priorities(pa.array(texts, pa.string()))
    rows = [None if text is None else read_priority(text) for text in texts]
    assert numbers.to_pylist() == rows
    assert unreadable.to_pylist() == [text if row is None else None for text, row in zip(texts, rows, strict=True)]


def test_all_kinds_of_whitespace_are_trimmed() -> None:
    assert trimmed(pa.array(["\u00a0 a \ufeff", None, "\n"])).to_pylist() == ["a", None, ""]
