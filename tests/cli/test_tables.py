"""Tables that fit, asserted whole at fixed widths."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from sitemap_harvest.cli.tables import NARROWEST, fitted, table_lines, wrapped
from sitemap_harvest.escape import visible
from tests.test_text_width import URLS

pytestmark = pytest.mark.quick

RUNS = ["site", "run", "started", "URLs", "changes"]
ROWS = [
    ["https://a.example", "20261101T030000Z-000000", "2026-11-01 03:00:00", "1,095", "first"],
    ["https://a.example", "20261102T030000Z-000001", "2026-11-02 03:00:00", "96", "7 added, 6 removed, 73 changed"],
    ["https://b.example", "20261101T030000Z-000000", "2026-11-01 03:00:00", "7", "first"],
]
WIDE = """\
site              ┃ run                     ┃ started             ┃  URLs ┃ changes
━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
https://a.example │ 20261101T030000Z-000000 │ 2026-11-01 03:00:00 │ 1,095 │ first
https://a.example │ 20261102T030000Z-000001 │ 2026-11-02 03:00:00 │    96 │ 7 added, 6 removed, 73 changed
https://b.example │ 20261101T030000Z-000000 │ 2026-11-01 03:00:00 │     7 │ first
"""
GROUPED = """\
run                     ┃ started             ┃  URLs ┃ changes
━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━
https://a.example
20261101T030000Z-000000 │ 2026-11-01 03:00:00 │ 1,095 │ first
20261102T030000Z-000001 │ 2026-11-02 03:00:00 │    96 │ 7 added, 6 removed, 73
                        │                     │       │ changed
https://b.example
20261101T030000Z-000000 │ 2026-11-01 03:00:00 │     7 │ first
"""
WRAPPED = """\
run                     ┃ started             ┃  URLs ┃ changes
━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━╇━━━━━━━━━━━━━━━
https://a.example
20261101T030000Z-000000 │ 2026-11-01 03:00:00 │ 1,095 │ first
20261102T030000Z-000001 │ 2026-11-02 03:00:00 │    96 │ 7 added, 6
                        │                     │       │ removed, 73
                        │                     │       │ changed
https://b.example
20261101T030000Z-000000 │ 2026-11-01 03:00:00 │     7 │ first
"""
WITHOUT_STARTED = """\
run                     ┃  URLs ┃ changes
━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
https://a.example
20261101T030000Z-000000 │ 1,095 │ first
20261102T030000Z-000001 │    96 │ 7 added, 6 removed, 73 changed
https://b.example
20261101T030000Z-000000 │     7 │ first
Columns not shown, because the lines would be too long: started
"""
RECORDS = """\
site     https://a.example
run      20261101T030000Z-000000
started  2026-11-01 03:00:00
URLs     1,095
changes  first

site     https://a.example
run      20261102T030000Z-000001
started  2026-11-02 03:00:00
URLs     96
changes  7 added, 6 removed, 73 changed

site     https://b.example
run      20261101T030000Z-000000
started  2026-11-01 03:00:00
URLs     7
changes  first
"""


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        pytest.param(None, WIDE, id="no-terminal"),
        pytest.param(110, WIDE, id="wide"),
        pytest.param(80, GROUPED, id="the-group-as-a-heading"),
        pytest.param(70, WRAPPED, id="short-texts-wrapped"),
        pytest.param(64, WITHOUT_STARTED, id="an-optional-column-left-out"),
        pytest.param(40, RECORDS, id="records"),
        pytest.param(10, RECORDS, id="never-narrower-than-40"),
    ],
)
def test_a_table_fits(width: int | None, expected: str) -> None:
    lines = table_lines(RUNS, ROWS, width=width, right=["URLs"], whole=["started"], optional=["started"], group="site")
    assert "".join(f"{line}\n" for line in lines) == expected


def test_long_urls_of_a_site_are_shown_without_their_common_beginning() -> None:
    urls = [f"https://www.a.example/shoes?colour={name}&size=xl" for name in ("red", "green")]
    rows = [[url, "https://www.a.example/s.xml", "x"] for url in urls]
    assert list(table_lines(["loc", "sitemap", "n"], [*rows, ["", "", ""]], width=60)) == [
        "loc                         ┃ sitemap                    ┃ n",
        "━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━",
        "…shoes?colour=red&size=xl   │ https://ww…a.example/s.xml │ x",
        "…shoes?colour=green&size=xl │ https://ww…a.example/s.xml │ x",
        "                            │                            │",
        "Each loc begins with https://www.a.example/",
    ]
    rows = [[f"https://a.example/{name}/{'x' * 40}/1", "y" * 24] for name in "ab"]
    assert list(table_lines(["loc", "n"], rows, width=52))[2:] == [
        f"…/{name}/xxxxx…xxxxxxxxxxxxx/1 │ {'y' * 24}" for name in "ab"
    ] + ["Each loc begins with https://a.example"]


def test_names_of_a_record_are_whole_if_there_is_room() -> None:
    names = ["n" * 17, *(f"a{number}" for number in range(9))]
    assert next(iter(table_lines(names, [["https://a.example/" + "x" * 99] * 10], width=80))).startswith(
        "n" * 17 + "  "
    )
    assert next(iter(table_lines(names, [["x" * 99] * 10], width=40))) == f"nnnnn…nnnnnnnn  xxxxxxxxx…{'x' * 14}"


def test_an_empty_table_has_a_head() -> None:
    assert list(table_lines(["loc", "n"], [], width=40)) == ["loc ┃ n", "━━━━╇━━"]


def test_an_empty_table_may_have_names_of_several_words() -> None:
    assert list(table_lines(["first name"], [], width=80)) == ["first name", "━━━━━━━━━━"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("short", ["short"], id="fits"),
        pytest.param("no URL was read", ["no URL was", "read"], id="between-words"),
        pytest.param("see https://a.example/b/c", ["see", "htt…le/b/c"], id="a-long-word-is-cut"),
        pytest.param("one two three four five six seven", ["one two", "three four", "five six …"], id="three-lines"),
    ],
)
def test_text_is_broken_between_words(text: str, lines: list[str]) -> None:
    expected = [line.replace(" …", "…") if line.endswith("six …") else line for line in lines]
    assert wrapped(text, 10, most=3) == expected


def test_a_line_is_indented_below_its_first_words() -> None:
    assert fitted("  Failed: https://a.example/b/c d", 20) == ["  Failed:", "    https:…ample/b/c", "    d"]
    assert fitted("No: https://a.example/b/c/d", 20, cuts=False) == ["No:", "  https://a.example/b/c/d"]
    assert fitted("No: https://a.example/b/c/d", None) == ["No: https://a.example/b/c/d"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param(
            "no action; did you mean: sitemap-harvest crawl a.example -O u.csv",
            ["no action; did you", "  mean:", "  sitemap-harvest crawl a.example -O u.csv"],
            id="command",
        ),
        pytest.param(
            "unknown option -x (for help: scrapy harvest crawl --help)",
            ["unknown option -x", "  (for help: scrapy harvest crawl --help)"],
            id="help",
        ),
        pytest.param(
            "root='/home/a b/c d/e f': no folder, isn't it, and doesn't exist",
            ["root='/home/a b/c d/e f':", "  no folder, isn't", "  it, and doesn't", "  exist"],
            id="quoted-path",
        ),
    ],
)
def test_commands_and_quoted_values_are_not_broken(text: str, lines: list[str]) -> None:
    assert fitted(text, 20, cuts=False) == lines


def test_the_last_row_can_be_a_total() -> None:
    rows = [["read", "1"], ["total", "1"], ["total", "1"]]
    assert list(table_lines(["outcome", "n"], rows, width=40, right=["n"], has_total=True)) == [
        "outcome ┃ n",
        "━━━━━━━━╇━━",
        "read    │ 1",
        "total   │ 1",
        "────────┼──",
        "total   │ 1",
    ]


TEXTS = st.text(st.characters(codec="utf-8"), max_size=60) | st.sampled_from([*URLS, "a reason " * 20])
TABLES = st.integers(1, 6).flatmap(
    lambda columns: st.tuples(
        st.lists(st.text(max_size=20).map(visible), min_size=columns, max_size=columns, unique=True),
        st.lists(st.lists(TEXTS.map(visible), min_size=columns, max_size=columns), max_size=4),
    )
)


@pytest.mark.thorough
@given(table=TABLES, width=st.integers(NARROWEST, 200), has_ids=st.booleans(), options=st.data())
def test_no_line_is_wider_than_the_terminal_and_ids_and_numbers_are_whole(
    table: tuple[list[str], list[list[str]]], width: int, options: Any, *, has_ids: bool
) -> None:
    names, rows = table
    chosen = st.lists(st.sampled_from(names), unique=True)
    ids = [f"{20261101 + number}T030000Z-00000{number}" for number in range(len(rows))]
    if has_ids and "run" not in names:
        names, rows = ["run", *names], [[one, *row] for one, row in zip(ids, rows, strict=True)]
    group = options.draw(st.sampled_from([None, *table[0]]))
    lines = list(table_lines(names, rows, width=width, optional=options.draw(chosen), group=group))
    assert [line for line in lines if cell_len(line) > width] == []
    if "run" in names:
        assert [one for one in ids if one in "\n".join(lines)] == ids


@given(rows=st.lists(st.lists(st.integers(0, 10**12).map(str), min_size=3, max_size=3), max_size=4))
def test_numbers_are_never_broken(rows: list[list[str]]) -> None:
    for width in (40, 80):
        shown = "\n".join(table_lines(["a", "b", "c"], rows, width=width, right=["a", "b", "c"]))
        assert all(number in shown for number in itertools.chain(*rows))
