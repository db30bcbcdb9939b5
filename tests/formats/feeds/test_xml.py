from __future__ import annotations

import pytest

from sitemap_harvest import Kind, read
from tests.documents import HERE, codes, fixture_bytes, locs

A = "https://example.com/a"
MALFORMED = {"xml/malformed": 1}
NO_LINK = {"feed/no-link": 1, "document/no-entries": 1}


def rss(inside: str, attributes: str = "") -> bytes:
    return f"<rss{attributes}><channel>{inside}</channel></rss>".encode()


def item(inside: str) -> bytes:
    return rss(f"<item>{inside}</item>")


def entry(inside: str, attributes: str = "") -> bytes:
    return f"<feed xmlns='http://www.w3.org/2005/Atom'{attributes}><entry>{inside}</entry></feed>".encode()


@pytest.mark.parametrize(
    ("body", "urls", "problems"),
    [
        pytest.param(item(f"<link>{A}</link>"), [A], {}, id="rss"),
        pytest.param(item(f"<link><![CDATA[ {A}?b&c ]]></link>"), [f"{A}?b&c"], {}, id="cdata"),
        pytest.param(item(f"<link>{A}?b&amp;c&#61;d</link>"), [f"{A}?b&c=d"], {}, id="entities"),
        pytest.param(item(f"<link/>{A}\n<guid isPermaLink='false'>7</guid>"), [A], {"xml/stray-text": 1}, id="of-html"),
        pytest.param(item(f"<link>\n  {A}\n</link>"), [A], {}, id="lines-around"),
        pytest.param(item(f"<link>{A}\nb</link>"), [f"{A}\nb"], {"loc/whitespace": 1}, id="line-inside"),
        pytest.param(item(f"<LINK>{A}</LINK>"), [A], {}, id="upper-case"),
        pytest.param(item(f"<link href='{A}'/>"), [A], {}, id="href-by-mistake"),
        pytest.param(item(f"<link href=''>{A}</link>"), [A], {}, id="empty-href-and-text"),
        pytest.param(item(f"<link/><guid>{A}</guid>"), [A], {}, id="empty-link"),
        pytest.param(entry(f"<link>{A}</link>"), [A], {}, id="text-in-atom"),
        pytest.param(entry("<link href=''/>"), [], NO_LINK, id="empty-href"),
        pytest.param(entry(f"<link href=' {A} '/>"), [A], {}, id="whitespace-in-href"),
        pytest.param(
            b"<a:feed xmlns:a='http://www.w3.org/2005/Atom'><a:entry><a:link href='/a'/></a:entry></a:feed>",
            [A],
            {"loc/relative": 1},
            id="prefix",
        ),
        pytest.param(item("<guid>7</guid>"), [], NO_LINK, id="no-link"),
        pytest.param(
            rss(f"<item><link>{A}</link></item>", " xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'"),
            [A],
            {},
            id="namespace-of-sitemaps",
        ),
        pytest.param(
            rss("<link>https://example.com/</link><image><link>https://example.com/</link></image>"),
            [],
            {"document/no-entries": 1},
            id="links-of-the-channel",
        ),
        pytest.param(
            rss(f"<atom:link rel='self' href='{A}2'/><item><atom:link href='{A}'/></item>"),
            [A],
            {"xml/undeclared-prefix": 1},
            id="undeclared-prefix",
        ),
        pytest.param(f"<channel><item><link>{A}</link></item></channel>".encode(), [A], {}, id="root-is-missing"),
    ],
)
def test_links(body: bytes, urls: list[str], problems: dict[str, int]) -> None:
    document = read(body, url=HERE)
    assert document.kind is Kind.FEED
    assert locs(document) == urls
    assert codes(document) == problems


@pytest.mark.parametrize(
    ("body", "urls", "problems"),
    [
        pytest.param(entry("<link href='//[bad'/>"), ["//[bad"], {"loc/malformed": 1}, id="no-url"),
        pytest.param(
            entry("<link href='http://['/>", " xml:base='https://example.com/x/'"),
            ["http://["],
            {"loc/malformed": 1},
            id="base-and-no-url",
        ),
        pytest.param(
            entry("<link href='y'/>", " xml:base='/x/'"),
            ["https://example.com/x/y"],
            {"loc/relative": 1},
            id="relative-base",
        ),
        pytest.param(
            entry("<link xml:base='y/' href='z'/>", " xml:base='https://else.example/x/'"),
            ["https://else.example/x/y/z"],
            {},
            id="base-in-base",
        ),
        pytest.param(
            b"<rss><channel xml:base='https://else.example/'><item xml:base='x/'><link>y</link></item>"
            b"<item><link>z</link></item></channel></rss>",
            ["https://else.example/x/y", "https://else.example/z"],
            {},
            id="base-ends-with-its-element",
        ),
        pytest.param(
            entry(f"<link href='{A}?#'/>", " xml:base='https://example.com/x/'"),
            [f"{A}?#"],
            {},
            id="absolute-url-is-left-to-the-letter",
        ),
    ],
)
def test_bases(body: bytes, urls: list[str], problems: dict[str, int]) -> None:
    document = read(body, url=HERE)
    assert locs(document) == urls
    assert codes(document) == problems


@pytest.mark.parametrize(
    ("body", "urls", "problems"),
    [
        pytest.param(
            rss(f"<item><link>{A}</link><item><link>{A}2</link></item>"),
            [A, f"{A}2"],
            {"xml/unclosed-entry": 1},
            id="item-is-not-closed",
        ),
        pytest.param(
            rss(f"<item><link>{A}<item><link>{A}2</link></item>"),
            [f"{A}2"],
            {"xml/unclosed-entry": 1, **MALFORMED, "feed/no-link": 1},
            id="item-ends-inside-a-link",
        ),
        pytest.param(rss(f"<item><link>{A}</link>"), [A], {"xml/unclosed-entry": 1}, id="item-is-ended-by-the-channel"),
        pytest.param(item(f"<link>{A}<title>t</title>"), [A], MALFORMED, id="link-is-not-closed"),
        pytest.param(item(f"<link>{A}<category>t</category>"), [A], MALFORMED, id="link-is-ended-by-the-item"),
        pytest.param(item(f"<link>{A}<br>b"), [], {**MALFORMED, **NO_LINK}, id="markup-in-a-link-that-is-not-closed"),
        pytest.param(item(f"<link>{A}</lnk>"), [A], MALFORMED, id="end-tag-of-another-name"),
        pytest.param(item(f"<link>{A}<b>b</b>c</link>"), [f"{A}bc"], {"loc/markup": 1}, id="markup"),
        pytest.param(item(f"<link>{A}?b&c</link>"), [f"{A}?b&c"], {"xml/bare-ampersand": 1}, id="bare-ampersand"),
        pytest.param(
            entry("<link href='https://example.com/?a&b'/>"),
            ["https://example.com/?a&b"],
            {"xml/bare-ampersand": 1},
            id="bare-ampersand-in-an-attribute",
        ),
        pytest.param(
            entry("<link href=https://example.com/a />"), [A], {"xml/bad-attributes": 1}, id="attribute-without-quotes"
        ),
        pytest.param(
            entry(f'<link href="{A}"rest"/>'),
            [],
            {"xml/bad-attributes": 1, **MALFORMED, **NO_LINK},
            id="quote-in-an-attribute",
        ),
        pytest.param(
            entry(f'<link href="{A}>'),
            [],
            {"xml/bad-attributes": 1, **MALFORMED, **NO_LINK, "xml/malformed": 2},
            id="no-quote-at-the-end",
        ),
        pytest.param(
            entry(f'<link href="{A}"rel="alternate"/>'),
            [A],
            {"xml/bad-attributes": 1},
            id="no-space-between-attributes",
        ),
        pytest.param(
            b"<!DOCTYPE rss [<!ENTITY e 'x'>]>" + item(f"<link>{A}?&e;</link>"),
            [],
            {"xml/doctype": 1, "xml/entity-not-expanded": 1, **NO_LINK},
            id="entity-in-a-link",
        ),
        pytest.param(item(f"{A}<link>{A}</link>b"), [A], {"xml/stray-text": 2}, id="text-in-an-item"),
        pytest.param(item(f"<LINK>{A}</link>"), [A], {"xml/unlike-tags": 1}, id="unlike-tags"),
        pytest.param(b"junk" + item(f"<link>{A}</link>"), [A], {"xml/junk-before": 1}, id="junk-before"),
        pytest.param(item(f"<link>{A}</link>") + b"junk", [A], {"xml/junk-after": 1}, id="junk-after"),
        pytest.param(item(f"<link>{A}{'a' * 70_000}</link>"), [], {**MALFORMED, **NO_LINK}, id="link-of-no-end"),
    ],
)
def test_flaws(body: bytes, urls: list[str], problems: dict[str, int]) -> None:
    document = read(body, url=HERE)
    assert locs(document) == urls
    assert codes(document) == problems


WHOLE = ["feeds/rss.xml", "feeds/atom.xml", "feeds/rss1.xml", "feeds/media.xml", "feeds/links.xml", "feeds/channel.cdf"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", WHOLE)
def test_a_feed_cut_at_any_byte_yields_no_invented_url(name: str) -> None:
    body = fixture_bytes(name)
    whole = set(locs(read(body, url=HERE)))
    for cut in range(len(body.rstrip())):
        document = read(body[:cut], url=HERE)
        assert set(locs(document)) <= whole, cut
        assert not document.complete, cut


def test_an_unfinished_item_is_left_out_because_another_link_may_follow() -> None:
    body = (
        b"<rss><channel><item><guid>https://example.com/?p=1</guid><link>https://example.com/b</link>"
        b"<feedburner:origLink>https://example.com/a</feedburner:origLink></item>"
    )
    assert locs(read(body, url=HERE)) == [A]
    assert locs(read(body.removesuffix(b"</item>"), url=HERE)) == []


def test_links_in_the_text_of_the_page_are_ignored() -> None:
    text = "<p><link>https://example.com/none</link><br><guid>https://example.com/none</guid>"
    for name in ("description", "summary", "content:encoded", "content", "xhtml:body"):
        document = read(item(f"<{name}>{text}</{name}><link>{A}</link>"), url=HERE)
        assert (locs(document), codes(document)) == ([A], {"xml/undeclared-prefix": 1} if ":" in name else {})


def test_an_endless_item_is_read_within_limits() -> None:
    assert codes(read(item(f"<link>{A}</link>" + "<a>" * 100), url=HERE)) == {"xml/malformed": 2}
    assert codes(read(item(f"<link>{A}</link>" + "<a/>" * 10_001), url=HERE)) == {"xml/malformed": 2}


@pytest.mark.deep
def test_reading_stops_in_a_feed_without_items() -> None:
    document = read(rss(f"<item><link>{A}</link></item>" + "<a/>" * 300_001), url=HERE)
    assert (locs(document), codes(document), document.complete) == ([A], {"document/bloated": 1}, False)
