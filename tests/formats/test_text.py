from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest import read
from sitemap_harvest.formats.text import lines
from tests.documents import HERE, codes, locs, log


@pytest.mark.parametrize(
    ("body", "urls"),
    [
        pytest.param(b"\xef\xbb\xbfhttps://example.com/a\n", ["https://example.com/a"], id="bom"),
        pytest.param(b"https://example.com/a\r\n\r\nhttps://example.com/b", 2, id="crlf-blank"),
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


@given(st.lists(st.sampled_from(["a", "b", "\r", "\n", "\r\n", "\u2028", " "]), max_size=8).map("".join))
def test_lines_are_the_same_wherever_chunks_end(text: str) -> None:
    whole = list(lines([text], log()))
    assert [line for _, line in whole if line] == [
        line for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n") if line
    ]
    assert [one for one in lines(text, log()) if one[1]] == [one for one in whole if one[1]]


def test_a_line_without_end_comes_in_pieces() -> None:
    assert [len(line) for _, line in lines(["x" * 40_000] * 5, log())] == [80_000, 80_000, 40_000]


def test_a_packed_list_that_is_cut_yields_no_half_url() -> None:
    body = "".join(f"https://example.com/page-{number}?a={number}\n" for number in range(30)).encode()
    whole = set(locs(read(body, url=HERE)))
    packed = gzip.compress(body)
    for cut in range(2, len(packed)):
        document = read(packed[:cut], url="https://example.com/list.txt.gz")
        assert set(locs(document)) <= whole
        assert "unpack/truncated" in codes(document)
        assert not document.complete
