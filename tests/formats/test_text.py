from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest import read
from sitemap_harvest.formats.text import whole_lines
from tests.documents import HERE, codes, locs, log, noted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemap_harvest.formats.problem_log import ProblemLog

BESIDE, NONE, NUL, EMPTY = "text/beside-url", "text/not-a-url", "document/nul-bytes", "document/no-entries"


@pytest.mark.parametrize(
    ("body", "urls"),
    [
        pytest.param(b"\xef\xbb\xbfhttps://example.com/a\n", ["https://example.com/a"], id="bom"),
        pytest.param(b"https://example.com/a\r\n\r\nhttps://example.com/b", 2, id="crlf-space"),
        pytest.param(b"https://example.com/a\rhttps://example.com/b\r", 2, id="cr"),
        pytest.param("https://example.com/a\u2028b".encode(), ["https://example.com/a\u2028b"], id="line-separator"),
        pytest.param(" https://example.com/a\t".encode("utf-16"), ["https://example.com/a"], id="utf-16"),
        pytest.param(b"https://example.com/?a=1&b=<2>", ["https://example.com/?a=1&b=<2>"], id="markup-characters"),
    ],
)
def test_locs(body: bytes, urls: list[str] | int) -> None:
    document = read(body, url="https://example.com/list.txt")
    assert locs(document) == (["https://example.com/a", "https://example.com/b"] if urls == 2 else urls)
    assert document.complete


def lines(chunks: Iterable[str], problems: ProblemLog) -> list[tuple[int, str]]:
    return [numbered for first, whole in whole_lines(chunks, problems) for numbered in enumerate(whole, first)]


@given(st.lists(st.sampled_from(["a", "b", "\r", "\n", "\r\n", "\u2028", " "]), max_size=8).map("".join))
def test_the_size_of_blocks_does_not_matter(text: str) -> None:
    whole = lines([text], log())
    assert [line for _, line in whole if line] == [
        line for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n") if line
    ]
    assert [one for one in lines(text, log()) if one[1]] == [one for one in whole if one[1]]


def test_a_line_that_is_too_long_is_left_out_with_a_problem() -> None:
    problems = log()
    long = ["a\n", *["x" * 400_000] * 4, "\nb\n", *["x" * 400_000] * 3]
    assert lines(long, problems) == [(1, "a"), (3, "b")]
    assert noted(problems) == {"text/line-too-long": 2}
    assert problems.lost_something


@pytest.mark.parametrize(
    ("text", "urls", "problems", "complete"),
    [
        pytest.param("{}a\n{}b\tx\n", ["a", "b"], {"text/beside-url": 1}, True, id="tab"),
        pytest.param("url,lastmod\n{}a,2025-01-01\n{}b,\n", ["a", "b"], {BESIDE: 2, NONE: 1}, True, id="header"),
        pytest.param("{}a,2025-01-01,0.5\n{}b,,1\n", ["a", "b"], {BESIDE: 2}, True, id="columns-without-a-header"),
        pytest.param("{}a\n{}b,2025\n", ["a", "b,2025"], {}, True, id="comma-in-a-url"),
        pytest.param('"{}a"\n"{}b","x"\n', ["a", "b"], {BESIDE: 2}, True, id="quotes"),
        pytest.param('"{}it\'s"\n({}w_(x))\n', ["it's", "w_(x)"], {BESIDE: 2}, True, id="quotes-within"),
        pytest.param('url,x\n"{}1,a",2\n', ["1,a"], {BESIDE: 1, NONE: 1}, True, id="comma-in-a-quoted-cell"),
        pytest.param("<{}a>\n({}b)\n[{}c]\n", ["a", "b", "c"], {BESIDE: 3}, True, id="brackets"),
        pytest.param("- {}a\n1. {}b\n", ["a", "b"], {BESIDE: 2}, True, id="bullets"),
        pytest.param("2025,{}a,x\n", ["a"], {BESIDE: 1}, True, id="second-column"),
        pytest.param("{}a {}b\n", ["a", "b"], {BESIDE: 1}, True, id="two-on-a-line"),
        pytest.param("{}a b\n", ["a b"], {"loc/whitespace": 1}, True, id="space-inside"),
        pytest.param("{}a\x00b\n", [], {"loc/control-character": 1, NUL: 1, EMPTY: 1}, False, id="nul-inside"),
        pytest.param("{}a\n{}b\x00\x00", ["a"], {"loc/control-character": 1, NUL: 1}, False, id="nul-at-the-end"),
        pytest.param("{}a\n\x00\x00\n", ["a"], {"loc/control-character": 1, NUL: 1}, False, id="nul-on-a-line"),
        pytest.param("{}a\n{}b\x7f\n", ["a"], {"loc/control-character": 1}, False, id="delete"),
        pytest.param("{}a\n{}{{ b }}\n", ["a"], {"loc/template": 1}, False, id="template"),
        pytest.param("{}a\n<%= url %>\n# {% if x %}\n", ["a"], {"loc/template": 1, NONE: 1}, False, id="template-tag"),
        pytest.param("{}a\n{}%%B_1%%\n", ["a"], {"loc/template": 1}, False, id="placeholder"),
        pytest.param("{}a\n/b\n", ["a", "b"], {"loc/relative": 1}, True, id="relative"),
        pytest.param("{}a\nexample.com/b\n", ["a"], {"text/no-scheme": 1}, False, id="no-scheme"),
        pytest.param("# all\n{}a\nTralala\n", ["a"], {NONE: 2}, True, id="words"),
    ],
)
def test_odd_lines(text: str, urls: list[str], problems: dict[str, int], complete: bool) -> None:
    site = "https://example.com/"
    document = read(text.replace("{}", site).encode(), url=f"{site}list.txt")
    assert locs(document) == [site + path for path in urls]
    assert codes(document) == problems
    assert document.complete is complete


def test_a_truncated_compressed_list_yields_no_partial_url() -> None:
    body = "".join(f"https://example.com/page-{number}?a={number}\n" for number in range(30)).encode()
    whole = set(locs(read(body, url=HERE)))
    packed = gzip.compress(body)
    for cut in range(2, len(packed)):
        document = read(packed[:cut], url="https://example.com/list.txt.gz")
        assert set(locs(document)) <= whole
        assert "unpack/truncated" in codes(document)
        assert not document.complete
