"""Tables as text."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sitemap_harvest.api.display import table_as_html, table_as_text

pytestmark = pytest.mark.quick

URLS = pa.table({"loc": ["https://a.example/" + "目" * 100, "https://a.example/b"], "priority": ["0.5", "1.0"]})


def test_columns_are_aligned_by_their_width_in_a_terminal() -> None:
    assert table_as_text("urls", URLS).splitlines() == [
        "urls: 2 rows, 2 columns",
        f"loc{' ' * 89}priority",
        f"https://a.example/{'目' * 8}…{'目' * 27}{' ' * 3}0.5",
        f"https://a.example/b{' ' * 73}1.0",
    ]


def test_long_cells_of_a_page_are_cut_in_the_middle() -> None:
    assert f">https://a.example/{'目' * 6}…{'目' * 24}</td>" in table_as_html("urls", URLS)
