from __future__ import annotations

import pytest

from sitemap_harvest import read
from tests.documents import HERE, codes, fixture_bytes, locs

A = "https://example.com/a"


def rss(inside: str) -> bytes:
    return f"<rss><channel>{inside}</channel></rss>".encode()


@pytest.mark.parametrize(
    ("body", "urls", "problems"),
    [
        pytest.param(rss(f"<item><link>{A}</link></item>"), [A], {}, id="rss"),
        pytest.param(rss(f"<item><link><![CDATA[ {A}?b&c ]]></link></item>"), [f"{A}?b&c"], {}, id="cdata"),
        pytest.param(rss(f"<item><guid>{A}</guid></item>"), [A], {}, id="guid"),
        pytest.param(
            rss("<item><guid>7</guid></item>"), [], {"feed/no-link": 1, "document/no-entries": 1}, id="no-link"
        ),
        pytest.param(
            rss(f"<item><link>{A}</link><item><link>{A}2</link></item>"),
            [A, f"{A}2"],
            {"xml/unclosed-entry": 1},
            id="item-is-not-closed",
        ),
        pytest.param(
            rss(f"<item><link>{A}?b&c</link></item>"), [f"{A}?b&c"], {"xml/bare-ampersand": 1}, id="bare-ampersand"
        ),
        pytest.param(
            rss("<image><link>https://example.com/</link></image>"), [], {"document/no-entries": 1}, id="channel"
        ),
        pytest.param(
            b"<feed><entry><link href='//[bad'/></entry></feed>", ["//[bad"], {"loc/malformed": 1}, id="no-url"
        ),
        pytest.param(
            b"<feed xml:base='https://example.com/x/'><entry xml:base='y/'><link href='http://['/></entry></feed>",
            ["http://["],
            {},
            id="base-and-no-url",
        ),
        pytest.param(
            b"<feed><entry xml:base='/x/'><link href='y'/></entry></feed>",
            ["https://example.com/x/y"],
            {"loc/relative": 1},
            id="relative-base",
        ),
        pytest.param(rss(f"<item><link>{A}<b>b</b>c</link></item>"), [f"{A}bc"], {"loc/markup": 1}, id="markup"),
        pytest.param(
            b"<feed><entry><link href='https://example.com/?a&b'/></entry></feed>",
            ["https://example.com/?a&b"],
            {"xml/bare-ampersand": 1},
            id="bare-ampersand-in-an-attribute",
        ),
        pytest.param(
            b"<feed><entry><link href=https://example.com/a /></entry></feed>",
            [A],
            {"xml/bad-attributes": 1},
            id="attribute-without-quotes",
        ),
    ],
)
def test_feeds(body: bytes, urls: list[str], problems: dict[str, int]) -> None:
    document = read(body, url=HERE)
    assert locs(document) == urls
    assert codes(document) == problems


@pytest.mark.parametrize("name", ["feeds/rss.xml", "feeds/atom.xml", "feeds/rss1.xml"])
def test_cut_at_every_byte_a_feed_yields_no_url_that_it_does_not_have(name: str) -> None:
    body = fixture_bytes(name)
    whole = set(locs(read(body, url=HERE)))
    for cut in range(len(body.rstrip())):
        document = read(body[:cut], url=HERE)
        assert set(locs(document)) <= whole, cut
        assert not document.complete, cut


def test_a_guid_is_no_link_as_long_as_the_link_may_follow() -> None:
    body = b"<rss><channel><item><guid>https://example.com/?p=1</guid><link>https://example.com/a</link></item>"
    assert locs(read(body, url=HERE)) == [A]
    assert locs(read(body[: body.index(b"<link>")], url=HERE)) == []
