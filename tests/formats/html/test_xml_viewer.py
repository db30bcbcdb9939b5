from __future__ import annotations

from html import escape

import pytest

from sitemap_harvest import Kind, read
from sitemap_harvest.formats.html.xml_viewer import unwrapped, viewer_of
from tests.documents import FIXTURES, HERE, codes, fixture_bytes, found, locs, log

ROBOTS = "https://example.com/robots.txt"
HTML = "<html><head></head><body>"
PRE = f'{HTML}<pre style="word-wrap: break-word; white-space: pre-wrap;">'
DIV = f'{HTML}<div id="webkit-xml-viewer-source-xml">'
SHOWN = (
    '</div><div class="pretty-print"><span>&lt;loc&gt;https://example.com/shown&lt;/loc&gt;</span></div></body></html>'
)
DOCUMENTS = ("xml/full.xml", "xml/index.xml", "xml/plain.xml", "feeds/rss.xml", "feeds/atom.xml", "feeds/rss1.xml")
TEXTS = ("robots/shop.txt", "text/list.txt")


def as_text(name: str) -> str:
    text = (FIXTURES / name).read_text("utf-8-sig")
    return f"{PRE}{escape(text, quote=False)}</pre></body></html>"


def as_elements(name: str) -> str:
    text = (FIXTURES / name).read_text("utf-8-sig")
    return f"{DIV}{text.partition('?>')[2] if text.startswith('<?xml') else text}{SHOWN}"


@pytest.mark.parametrize("name", [*DOCUMENTS, *TEXTS])
def test_a_pre_element_is_read_like_its_content(name: str) -> None:
    _same(as_text(name), name)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_viewer_of_chromium_is_read_like_its_content(name: str) -> None:
    _same(as_elements(name), name)


def _same(page: str, name: str) -> None:
    plain, shown = read((FIXTURES / name).read_bytes(), url=HERE), read(page.encode(), url=HERE)
    assert shown.kind is plain.kind
    assert list(shown.rows()) == list(plain.rows())
    assert list(shown.sitemaps()) == list(plain.sitemaps())
    assert codes(shown) == {**codes(plain), "document/viewer": 1}
    assert shown.complete == plain.complete


@pytest.mark.parametrize(
    ("page", "url", "kind"),
    [
        pytest.param(f"{PRE}User-agent: *\nDisallow: /</pre></body></html>", ROBOTS, Kind.ROBOTS, id="robots"),
        pytest.param(f"{PRE}https://e.x/</pre></body></html>", HERE, Kind.LIST, id="list"),
        pytest.param(f"<!DOCTYPE html>{PRE}https://e.x/</pre></body></html>", HERE, Kind.LIST, id="doctype"),
        pytest.param(
            '<html><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"></head><body>'
            '<pre>https://e.x/</pre><div class="json-formatter-container"></div></body></html>',
            HERE,
            Kind.LIST,
            id="chromium-of-today",
        ),
        pytest.param(f"{DIV}<urlset/>{SHOWN}", HERE, Kind.SITEMAP, id="empty-element"),
        pytest.param(f"{DIV}<!-- <b> --><urlset></urlset>{SHOWN}", HERE, Kind.SITEMAP, id="comment"),
        pytest.param(f'<?xml version="1.0"?>{DIV}<rss></rss>{SHOWN}', HERE, Kind.FEED, id="feed"),
        pytest.param(f"{PRE}Cannot GET /sitemap.xml</pre></body></html>", HERE, Kind.HTML, id="words"),
        pytest.param(f'{PRE}{{"a": "&lt;urlset&gt;"}}</pre></body></html>', HERE, Kind.HTML, id="json"),
        pytest.param(f"{DIV}<svg></svg>{SHOWN}", HERE, Kind.HTML, id="other-xml"),
        pytest.param(f"{HTML}<p>A list:</p><pre>https://e.x/</pre></body></html>", HERE, Kind.HTML, id="text-before"),
        pytest.param(f"{PRE}https://e.x/</pre><p>A list</p></body></html>", HERE, Kind.HTML, id="text-behind"),
        pytest.param(f"{PRE}<b>https://e.x/</b></pre></body></html>", HERE, Kind.HTML, id="markup-inside"),
        pytest.param(
            "<html><head><title>Hello</title></head><body><pre>https://e.x/</pre></body></html>",
            HERE,
            Kind.HTML,
            id="page-with-a-title",
        ),
        pytest.param(f"<p>{escape(DIV)}&lt;urlset></p>", HERE, Kind.HTML, id="page-about-it"),
    ],
)
def test_only_a_viewer_page_is_unwrapped(page: str, url: str, kind: Kind) -> None:
    document = read(page.encode(), url=url)
    assert document.kind is kind
    assert ("document/viewer" in codes(document)) == (kind is not Kind.HTML)


def test_references_are_decoded_once() -> None:
    lines = "https://e.x/?a=1&amp;b=2\nhttps://e.x/?q=&amp;lt;\nhttps://e.x/?a&copy=1\nhttps://e.x/&lt;&gt;&#39;"
    assert locs(read(f"{PRE}{lines}\n</pre></body></html>".encode(), url=HERE)) == [
        *("https://e.x/?a=1&b=2", "https://e.x/?q=&lt;", "https://e.x/?a&copy=1", "https://e.x/<>'"),
    ]


def test_a_no_break_space_is_decoded_and_its_escaped_name_is_not() -> None:
    entry = "<urlset><url><loc>https://e.x/a&nbsp;b&amp;nbsp;c</loc></url></urlset>"
    assert locs(read(f"{DIV}{entry}{SHOWN}".encode(), url=HERE)) == ["https://e.x/a\u00a0b&nbsp;c"]


@pytest.mark.parametrize("name", ["html/viewer.xml", "html/pre.xml", "html/pre-list.txt"])
def test_truncated_pages_yield_no_partial_url_and_are_not_complete(name: str) -> None:
    body = fixture_bytes(name)
    whole = read(body, url=HERE)
    urls = {*locs(whole), *(ref.loc for ref in whole.sitemaps())}
    end = b"</urlset>" if name == "html/viewer.xml" else b"</pre>"
    for cut in range(body.index(end) + len(end)):
        document = read(body[:cut], url=HERE)
        assert {*locs(document), *(ref.loc for ref in document.sitemaps())} <= urls
        assert not document.complete


@pytest.mark.parametrize("name", ["html/viewer.xml", "html/pre.xml", "html/pre-list.txt"])
def test_the_size_of_blocks_does_not_matter(name: str) -> None:
    text = fixture_bytes(name).decode()
    viewer = viewer_of(text)
    assert viewer
    whole = "".join(unwrapped([text], viewer, log()))
    assert "".join(unwrapped(iter(text), viewer, log())) == whole
    assert "".join(unwrapped([text[n : n + 7] for n in range(0, len(text), 7)], viewer, log())) == whole


def test_other_encodings_are_read_too() -> None:
    page = f"{DIV}<urlset><url><loc>https://e.x/é</loc></url></urlset>{SHOWN}"
    for encoding in ("utf-16", "latin-1"):
        body = page.encode(encoding)
        assert locs(read(body, url=HERE, content_type="text/html; charset=iso-8859-1")) == ["https://e.x/é"]


def test_facts_are_those_of_the_page() -> None:
    body = fixture_bytes("html/viewer.xml")
    document = read(body, url=HERE)
    assert (document.bytes_unpacked, document.layers, len(found(document))) == (len(body), (), 4)
