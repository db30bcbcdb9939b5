"""The lines of entries, found again in documents."""

from __future__ import annotations

import pytest

from sitemap_harvest import read
from sitemap_harvest.audit.report.lines import lines_of

HEAD = '<?xml version="1.0"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param(f"{HEAD}<url><loc>a</loc></url><url\n/>\n<url>", {1: 3, 2: 3, 3: 5}, id="sitemap"),
        pytest.param(f"{HEAD}<!-- <url>\n--><![CDATA[<url>]]><url/>", {1: 4}, id="comment"),
        pytest.param(f"{HEAD}<url/><!-- <url/>", {1: 3}, id="comment-without-end"),
        pytest.param('<s:urlset xmlns:s="x">\n<s:url>\n<s:URL >', {1: 2, 2: 3}, id="prefix"),
        pytest.param("<sitemapindex>\n<sitemap>", {1: 2}, id="index"),
        pytest.param("<rss><image>\n<url>a</url></image>\n<item>\n<item>", {1: 3, 2: 4}, id="rss"),
        pytest.param("<feed>\n<entry>", {1: 2}, id="atom"),
        pytest.param("https://a.example/\nhttps://b.example/", {1: 1, 2: 2, 3: 3, 4: 4}, id="list"),
        pytest.param('{"items": []}', {}, id="json"),
        pytest.param("\ufeff<html><a href='/'>", {}, id="html"),
        pytest.param("\ufeffhttps://a.example/", {1: 1, 2: 2, 3: 3, 4: 4}, id="list-with-byte-order-mark"),
        pytest.param("\x1f\ufffd", {}, id="binary"),
        pytest.param("", {1: 1, 2: 2, 3: 3, 4: 4}, id="empty"),
    ],
)
def test_lines(text: str, lines: dict[int, int]) -> None:
    data = text.encode().replace(b"\x1f\xef\xbf\xbd", b"\x1f\x8b")
    assert lines_of(data, [4, 3, 2, 1]) == lines


def test_no_position_has_no_line() -> None:
    assert lines_of(HEAD.encode(), []) == {}


def test_hostile_text_is_read_once() -> None:
    data = HEAD.encode() + b"<!--" * 1_000_000
    assert lines_of(data, [1]) == {}


def test_positions_are_those_of_the_reader() -> None:
    body = f"{HEAD}<!-- <url/> -->\n<url><loc>https://a.example/1</loc></url>\n<url></url>\n<url><loc>https://a.example/3</loc></url>\n</urlset>"
    document = read(body.encode(), url="https://a.example/sitemap.xml")
    found = {row.position: row.loc for row in document.rows()}
    lines = lines_of(body.encode(), found)
    assert {loc: body.split("\n")[lines[position] - 1] for position, loc in found.items()} == {
        loc: f"<url><loc>{loc}</loc></url>" for loc in ("https://a.example/1", "https://a.example/3")
    }
