from __future__ import annotations

import re
from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest import Kind, Limits, read
from sitemap_harvest.formats.html.links import decoded, read_links
from tests.documents import HERE, codes, collected, collector, fixture_bytes, locs

SITE = "https://example.com"


def page(inside: str, head: str = "") -> bytes:
    return f"<!doctype html><html><head><title>Sitemap</title>{head}</head><body>{inside}</body></html>".encode()


@pytest.mark.parametrize(
    ("inside", "entries"),
    [
        pytest.param("<a href=/a>A</a>", [("/a", "A")], id="unquoted"),
        pytest.param("<A HREF='/a'>A</A>", [("/a", "A")], id="upper-case"),
        pytest.param('<a href=" /a\n">A</a>', [("/a", "A")], id="whitespace-around"),
        pytest.param(
            '<a href="a/b">A</a><a href="?p=2">B</a>', [("/a/b", "A"), ("/sitemap.xml?p=2", "B")], id="relative"
        ),
        pytest.param("<a href=/a><b>A</b>\n  and <i>B</i></a>", [("/a", "A and B")], id="text-with-markup"),
        pytest.param("<a href=/a>Salt &amp; pepper &copy;</a>", [("/a", "Salt & pepper ©")], id="text-with-references"),
        pytest.param("<a href=/a><img alt='A'></a>", [("/a", "A")], id="picture"),
        pytest.param("<a href=/a><img></a>", [("/a", None)], id="no-text"),
        pytest.param("<a href=/a><script>x()</script>A</a>", [("/a", "A")], id="script-in-the-text"),
        pytest.param("<map><area href=/a alt=A></map>", [("/a", "A")], id="area"),
        pytest.param("<a href=/a>A<a href=/b>B", [("/a", "A"), ("/b", "B")], id="not-closed"),
        pytest.param("<a href=/a>A</a><a href=/a>B</a>", [("/a", "A")], id="twice"),
        pytest.param("<a href=/a>A</a><a href=/a#b>B</a>", [("/a", "A"), ("/a#b", "B")], id="place-on-a-page"),
        pytest.param("<a href=/a rel=nofollow>A</a>", [("/a", "A")], id="nofollow"),
        pytest.param("<a href=/a hidden href=/b>A</a>", [("/a", "A")], id="attribute-twice"),
        pytest.param("<svg><a href=/a><title>A</title></a></svg>", [("/a", "A")], id="in-a-picture"),
        pytest.param("<noscript><a href=/a>A</a></noscript>", [("/a", "A")], id="noscript"),
        pytest.param("<a href=/a?x=1&y=2&copy=3&reg;=4>A</a>", [("/a?x=1&y=2&copy=3®=4", "A")], id="references"),
        pytest.param("<a href='/a?x=1&amp;amp;y=2'>A</a>", [("/a?x=1&amp;y=2", "A")], id="reference-of-a-reference"),
    ],
)
def test_links_are_entries(inside: str, entries: list[tuple[str, str | None]]) -> None:
    document = read(page(inside), url=HERE)
    assert [(row.loc.removeprefix(SITE), row.title) for row in document.rows()] == entries
    assert [row.position for row in document.rows()] == list(range(1, len(entries) + 1))
    assert (codes(document), document.complete) == ({}, True)


@pytest.mark.parametrize(
    "inside",
    [
        *("<a href='#top'>x</a>", "<a href=''>x</a>", "<a name=x>x</a>", "<a>x</a>", "<a href=javascript:x()>x</a>"),
        *("<a href=mailto:a@example.com>x</a>", "<a href=tel:12345>x</a>", "<a href='JavaScript:x()'>x</a>"),
        *("<a href='data:text/html,x'>x</a>", "<a href='whatsapp://send?x'>x</a>", "<!-- <a href=/x>x</a> -->"),
        *("<script>'<a href=/x>'</script>", "<textarea><a href=/x></textarea>", "<template><a href=/x></a></template>"),
        *("<a data-href=/x>x</a>", "<link rel=next href=/x>", "&lt;a href=/x>", "<iframe src=/x></iframe>"),
    ],
)
def test_links_to_no_page_are_neither_entries_nor_problems(inside: str) -> None:
    document = read(page(f"<a href=/a>A</a>{inside}"), url=HERE)
    assert (locs(document), codes(document)) == ([f"{SITE}/a"], {})


@pytest.mark.parametrize(
    ("href", "is_own"),
    [
        pytest.param("https://example.com/b", True, id="same"),
        pytest.param("HTTPS://EXAMPLE.COM:443/b", True, id="spelled-otherwise"),
        pytest.param("//example.com/b", True, id="without-scheme"),
        pytest.param("http://example.com/b", True, id="http"),
        pytest.param("https://www.example.com/b", True, id="www"),
        pytest.param("https://shop.example.com/b", False, id="subdomain"),
        pytest.param("https://example.com:8443/b", False, id="port"),
        pytest.param("https://example.com.evil.example/b", False, id="longer-host"),
        pytest.param("https://example.com@evil.example/b", False, id="user-name"),
        pytest.param("//evil.example/b", False, id="other-host-without-scheme"),
    ],
)
def test_links_to_other_sites_are_counted_and_left_out(href: str, is_own: bool) -> None:
    document = read(page(f"<a href=/a>A</a><a href={href}>B</a>"), url=HERE)
    assert len(locs(document)) == 1 + is_own
    assert codes(document) == ({} if is_own else {"html/off-site": 1})
    assert document.complete


def test_an_address_that_cannot_be_parsed_is_a_problem() -> None:
    document = read(page("<a href=/a>A</a><a href='http:/b'>B</a><a href=www.example.com/c>C</a>"), url=HERE)
    assert (locs(document), codes(document)) == ([f"{SITE}/a"], {"loc/not-a-url": 2})


@pytest.mark.parametrize(
    ("base", "urls"),
    [
        pytest.param("<base href=/x/>", [f"{SITE}/x/a"], id="path"),
        pytest.param("<base href=/x/><base href=/y/>", [f"{SITE}/x/a"], id="the-first-counts"),
        pytest.param("<base target=_top><base href=/x/>", [f"{SITE}/x/a"], id="one-without-address"),
        pytest.param("<base href='javascript:x'>", [f"{SITE}/a"], id="no-address"),
        pytest.param("<base href=https://www.example.com/x/>", ["https://www.example.com/x/a"], id="www"),
    ],
)
def test_base(base: str, urls: list[str]) -> None:
    assert locs(read(page("<a href=a>A</a>", base), url=HERE)) == urls


def test_a_base_on_another_site_leaves_no_link_on_the_site() -> None:
    document = read(page("<a href=a>A</a>", "<base href=https://cdn.example.org/>"), url=HERE)
    assert (document.kind, list(document.rows())) == (Kind.HTML, [])


def test_a_saved_page_belongs_to_the_site_of_its_base() -> None:
    own = page("<a href=/a>A</a><a href=https://other.example/>B</a>", "<base href=https://example.com/>")
    assert locs(read(own, url="file:///tmp/sitemap.html")) == [f"{SITE}/a"]
    assert read(page("<a href=https://example.com/a>A</a>"), url="file:///tmp/sitemap.html").kind is Kind.HTML


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("html/site-map.html", marks=pytest.mark.deep),
        *("html/page.html", "html/challenge.html", "html/missing.html"),
    ],
)
def test_truncated_pages_yield_no_partial_url_and_are_not_complete(name: str) -> None:
    body = fixture_bytes(name)
    whole = read(body, url=HERE)
    hrefs = {urljoin(HERE, decoded(href)) for href in re.findall(r'<link [^>]*href="([^"]*)"', body.decode())}
    for cut in range(0, body.index(b"</body"), 3):
        document = read(body[:cut], url=HERE)
        assert set(locs(document)) <= set(locs(whole))
        assert {ref.loc for ref in document.sitemaps()} <= hrefs
        assert document.problems
        assert not document.complete


def test_the_size_of_blocks_does_not_matter() -> None:
    text = fixture_bytes("html/site-map.html").decode()
    whole, pieces = collector(), collector()
    rows = collected(whole, read_links(iter([text]), whole, url=HERE))
    assert rows == collected(pieces, read_links(iter(text), pieces, url=HERE))
    assert (whole.hints, whole.problems.all()) == (pieces.hints, pieces.problems.all())
    assert rows


def test_a_page_of_many_batches() -> None:
    body = page("".join(f"<a href=/{n}>{n}</a>\n" for n in range(25_000)))
    document = read(body, url=HERE)
    assert locs(document) == [f"{SITE}/{n}" for n in range(25_000)]
    assert document.complete


def test_the_url_limit_ends_the_reading() -> None:
    document = read(page("<a href=/a>A</a>" + "<a href=/b>B</a>"), url=HERE, limits=Limits(urls=1))
    assert (locs(document), codes(document)) == ([f"{SITE}/a"], {"document/too-many-urls": 1})


def test_a_page_with_excessive_nesting_is_not_complete() -> None:
    document = read(page("<a href=/a>A</a>" + "<div>" * 20_000 + "<p>" * 100_000 + "<a href=/b>B</a>"), url=HERE)
    assert (locs(document), codes(document)) == ([f"{SITE}/a"], {"html/too-deep": 1})
    assert not document.complete


def test_a_page_is_read_up_to_its_limit() -> None:
    document = read(page("<a href=/a>A</a>" + "<!--" + "a" * 2**25 + "-->" + "<a href=/b>B</a>"), url=HERE)
    assert (locs(document), codes(document)) == ([f"{SITE}/a"], {"html/too-large": 1})
    assert not document.complete


def test_the_declared_encoding_is_used() -> None:
    head = (
        '<html><head><meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS"><title>サイトマップ</title>'
    )
    body = f"{head}<body><a href=/a>日本</a></body></html>".encode("shift_jis")
    document = read(body, url=HERE)
    assert [(row.loc, row.title) for row in document.rows()] == [(f"{SITE}/a", "日本")]
    assert (document.encoding, codes(document)) == ("cp932", {})
    assert read(body, url=HERE, content_type="text/html; charset=euc-jp").encoding == "euc_jp"


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        pytest.param("?a=1&copy=2", "?a=1&copy=2", id="name-before-equals-sign"),
        pytest.param("?a=1&copyright", "?a=1&copyright", id="longer-name"),
        pytest.param("?a=1&copyx;", "?a=1&copyx;", id="longer-name-with-semicolon"),
        pytest.param("?a=1&copy", "?a=1©", id="name-at-the-end"),
        pytest.param("?a=1&copy;=2", "?a=1©=2", id="name-with-semicolon"),
        pytest.param("?a=1&amp;copy=2", "?a=1&copy=2", id="ampersand"),
        pytest.param("?a=1&unknown;b", "?a=1&unknown;b", id="unknown-name"),
        pytest.param("&#38;&#x26;&#38", "&&&", id="numbers"),
        pytest.param("&#0;&#xD800;&#1114112;&#" + "9" * 5000 + ";", "\ufffd" * 4, id="numbers-of-no-character"),
        pytest.param("&#150;", "\u2013", id="number-of-windows-1252"),
        pytest.param("&&;&#;&#x;", "&&;&#;&#x;", id="no-references"),
    ],
)
def test_references_in_an_attribute(text: str, meaning: str) -> None:
    assert decoded(text) == meaning


_PIECES = st.sampled_from([
    *("<!doctype html>", "<html>", "<title>", "Sitemap", "</title>", "404", "<body>", "</body></html>", "<pre>"),
    *("<a href=/x>", "<a href='", '">', "</a>", "<base href=//y>", "<link rel=sitemap href=z>", "<svg>", "<!--", "-->"),
    *('<div id="webkit-xml-viewer-source-xml">', "<urlset>", "<url><loc>https://example.com/1", "</urlset>", "</pre>"),
    *("<script>", "</script>", "\0", "\x01", "&amp", "&lt;", "&#", "%PDF-1", "{", '"', "<?xml ?>", "https://e.x/\n"),
])  # fmt: skip


@given(st.lists(_PIECES, max_size=30).map("".join) | st.text(max_size=60), st.sampled_from(["utf-8", "utf-16"]))
def test_no_page_raises_and_all_results_are_addresses(text: str, encoding: str) -> None:
    document = read(text.encode(encoding, "replace"), url=HERE)
    assert all(re.match(r"[a-z]+:|//|/|\w", row.loc, re.IGNORECASE) for row in document.rows())
    assert document.kind.is_readable or not document.complete
    assert document.problems or document.complete


@given(st.binary(max_size=200))
def test_no_bytes_raise(body: bytes) -> None:
    for before in (b"", b"<html><title>Sitemap</title><a href='/", b"<html><body><pre>"):
        document = read(before + body, url=HERE)
        assert document.kind.is_readable or not list(document.rows())
