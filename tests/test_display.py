"""Tables as text and as HTML."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

import pyarrow as pa
import pytest
from lxml import html

from sitemap_harvest.display import percent, summary_as_html, table_as_html, table_as_text

URLS = pa.table({"loc": ["https://a.example/" + "目" * 100, "https://a.example/b"], "priority": ["0.5", "1.0"]})
NASTY = "<script>alert('1')</script>\" onload=x \x1b[31m\u202e"
SHOWN = "<script>alert('1')</script>\" onload=x \\x1b[31m\\u202e"


def test_columns_are_aligned_by_their_width_in_a_terminal() -> None:
    assert table_as_text("urls", URLS).splitlines() == [
        "urls: 2 rows, 2 columns",
        f"loc{' ' * 89}priority",
        f"https://a.example/{'目' * 8}…{'目' * 27}{' ' * 3}0.5",
        f"https://a.example/b{' ' * 73}1.0",
    ]


def test_long_cells_of_a_page_are_cut_in_the_middle() -> None:
    assert f">https://a.example/{'目' * 6}…{'目' * 24}</td>" in table_as_html("urls", URLS)


def test_names_of_columns_and_values_are_text() -> None:
    page = html.fragment_fromstring(table_as_html(NASTY, pa.table({NASTY: [NASTY]})), create_parent=True)
    assert [(one.tag, one.text, sorted(one.attrib)) for one in page.iter("script", "p", "th", "td")] == [
        ("p", f"{NASTY}: 1 row, 1 column", []),
        ("th", SHOWN, ["style", "title"]),
        ("td", SHOWN, ["style", "title"]),
    ]
    assert SHOWN in table_as_text("urls", pa.table({NASTY: [1]}))


def test_values_of_other_types_and_columns_of_one_name_are_shown() -> None:
    columns = [[date(2020, 1, 1)], [time(1, 2, 3)], [datetime(2020, 1, 1, 4, 5, 6, 7, UTC)], [timedelta(1)]]
    table = pa.Table.from_arrays([pa.array(column) for column in columns], ["a", "a", "b", "a"])
    assert table_as_text("rows", table).splitlines()[1:] == [
        "a           a         b                    a",
        "2020-01-01  01:02:03  2020-01-01 04:05:06  1 day, 0:00:00",
    ]


def test_huge_values_and_many_lines_are_cut() -> None:
    table = pa.table({"text": ["a" * 10_000_000], "list": [list(range(100_000))]})
    assert len(table_as_html("urls", table)) < 5_000
    page = html.fragment_fromstring(summary_as_html(NASTY, [NASTY] * 1_000), create_parent=True)
    assert [one.text for one in page.iter("b", "li")] == [*[SHOWN] * 11, "..."]


@pytest.mark.parametrize(
    ("share", "places", "text"),
    [
        (1 / 8, 0, "13%"),
        (3 / 40, 0, "8%"),
        (29 / 200, 0, "15%"),
        (1 / 16, 1, "6.3%"),
        (0, 0, "0%"),
        (0.0099, 0, "under 1%"),
        (0.9901, 0, "over 99%"),
        (0.9999, 1, "over 99.9%"),
        (1, 1, "100.0%"),
    ],
)
def test_percentages_are_rounded_half_up_but_never_to_none_or_all(share: float, places: int, text: str) -> None:
    assert percent(share, places) == text
