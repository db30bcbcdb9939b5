"""Text measured in terminal cells, and cut to a width."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from sitemap_harvest.text_width import head_cut, middle_cut

pytestmark = pytest.mark.quick

URLS = [
    "https://a.example/" + "x" * 200,
    "https://a.example/" + "目录" * 50,
    "https://a.example/" + "قائمة" * 20,
    "https://a.example/e" + "\u0301" * 100,
]


def test_long_urls_are_cut_in_the_middle() -> None:
    assert middle_cut(URLS[0], 40) == "https://a.examp…" + "x" * 24
    assert middle_cut(URLS[1], 40) == "https://a.examp…" + "目录" * 6
    assert [cell_len(middle_cut(url, 24)) for url in URLS] == [24, 24, 24, 19]  # accents have no width
    assert middle_cut("https://a.example/b", 19) == "https://a.example/b"


def test_the_end_of_a_value_is_cut() -> None:
    assert (head_cut("abcdef", 6), head_cut("abcdefg", 6)) == ("abcdef", "abcde…")
