from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest import FoundBy, Kind, read
from sitemap_harvest.formats.html.links import header_hints
from sitemap_harvest.model import SitemapRef
from tests.documents import HERE, codes

PAGE = "https://example.com/shop/"
S = "https://example.com/sitemap.xml"


@pytest.mark.parametrize(
    ("values", "locs"),
    [
        pytest.param([f'<{S}>; rel="sitemap"'], [S], id="plain"),
        pytest.param([f"<{S}>;rel=sitemap"], [S], id="token"),
        pytest.param(["</sitemap.xml>; rel=sitemap"], [S], id="relative"),
        pytest.param(["<sitemap.xml>; rel=sitemap"], [f"{PAGE}sitemap.xml"], id="relative-to-the-page"),
        pytest.param([f'<{S}> ; REL = "SiteMap"'], [S], id="case-and-whitespace"),
        pytest.param([f'<{S}>; rel="canonical sitemap"'], [S], id="several-relations"),
        pytest.param([f'</a>; rel=next, <{S}>; rel="sitemap"'], [S], id="several-links"),
        pytest.param(["</a>; rel=next", f"<{S}>; rel=sitemap"], [S], id="several-headers"),
        pytest.param([f'</a>; title="x, <{PAGE}>; rel=sitemap", <{S}>; rel=sitemap'], [S], id="quoted-comma"),
        pytest.param([f'</a>; title="\\", <b>; rel=sitemap", <{S}>; rel=sitemap'], [S], id="quoted-quote"),
        pytest.param(["</a,b;c.xml>; rel=sitemap"], ["https://example.com/a,b;c.xml"], id="comma-in-the-address"),
        pytest.param(['</f>; rel="alternate"; type="application/rss+xml"'], ["https://example.com/f"], id="rss"),
        pytest.param(["</f>; type=application/atom+xml; rel=alternate"], ["https://example.com/f"], id="atom"),
        pytest.param(['</f>; rel=alternate; type="application/feed+json; a=b"'], ["https://example.com/f"], id="json"),
        pytest.param(["</de>; rel=alternate; hreflang=de"], [], id="language"),
        pytest.param(["</f>; rel=related; type=application/rss+xml"], [], id="feed-of-no-relation"),
        pytest.param([f"<{S}>; rel=next; rel=sitemap"], [], id="only-the-first-rel-counts"),
        pytest.param([f"<{S}>; rev=sitemap"], [], id="rev"),
        pytest.param([f'<{S}>; rel=sitemap; anchor="/other"'], [], id="about-another-document"),
        pytest.param([f'<{S}>; rel=sitemap; anchor=""'], [], id="empty-anchor"),
        pytest.param([f"<{S}>; rel=sitemap; anchor={PAGE}"], [S], id="about-this-document"),
        pytest.param([f"<{S}>; rel=sitemap, <{S}>; rel=sitemap"], [S], id="twice"),
        pytest.param([f"<{S}>;;; rel=sitemap;"], [S], id="empty-parameters"),
        pytest.param([f"{S}; rel=sitemap, <{S}>; rel=sitemap"], [S], id="without-brackets"),
        pytest.param([f"<{S}; rel=sitemap"], [], id="bracket-is-not-closed"),
        pytest.param([f'<{S}>; rel="sitemap'], [S], id="quote-is-not-closed"),
        pytest.param(["<mailto:a@example.com>; rel=sitemap, <http:/x>; rel=sitemap"], [], id="no-addresses"),
        pytest.param(["", ",", ", ,"], [], id="nothing"),
    ],
)
def test_the_link_header(values: list[str], locs: list[str]) -> None:
    wanted = [SitemapRef(loc=loc, position=n, found_by=FoundBy.HTTP_LINK) for n, loc in enumerate(locs, start=1)]
    assert list(header_hints(values, url=PAGE)) == wanted


@given(st.text(alphabet='<>;,="\\ \tarelstimp/', max_size=200))
def test_no_header_raises(value: str) -> None:
    assert all(ref.loc for ref in header_hints([value, f"<{S}>; {value}"], url=PAGE))


@pytest.mark.parametrize(
    ("head", "refs"),
    [
        pytest.param('<link rel="sitemap" href="/s.xml">', [("https://example.com/s.xml", "html-link")], id="sitemap"),
        pytest.param(
            '<base href="https://cdn.example.org/x/"><link rel=sitemap href=s.xml>',
            [("https://cdn.example.org/x/s.xml", "html-link")],
            id="base",
        ),
        pytest.param(
            '<link rel="ALTERNATE" type="Application/RSS+XML" href="/f?a&amp;b&copy=1">',
            [("https://example.com/f?a&b&copy=1", "feed-link")],
            id="feed",
        ),
        pytest.param('<link rel=sitemap href="javascript:x()"><link rel=sitemap><link href=/a>', [], id="no-address"),
        pytest.param("<!-- <link rel=sitemap href=/s.xml> -->", [], id="comment"),
        pytest.param("<script>'<link rel=sitemap href=/s.xml>'</script>", [], id="script"),
        pytest.param("<template><link rel=sitemap href=/s.xml></template>", [], id="template"),
        pytest.param("</head><body><link rel=sitemap href=/s.xml>", [], id="in-the-body"),
        pytest.param("<p><link rel=sitemap href=/s.xml>", [], id="after-the-head-without-its-end"),
        pytest.param(
            '<body><a href="/a">About</a><footer><a href="/map"><b>Site</b> map</a>',
            [("https://example.com/map", "html-link")],
            id="site-map-in-the-footer",
        ),
        pytest.param('<a href="/plan">Plan du site</a>', [("https://example.com/plan", "html-link")], id="in-french"),
        pytest.param('<a href="https://else.example/map">Sitemap</a>', [], id="site-map-of-another-site"),
        pytest.param('<a href="#map">Sitemap</a><a href="javascript:m()">Sitemap</a>', [], id="site-map-on-the-page"),
        pytest.param('<a href="/news">How our site map was made</a>', [], id="talk-of-site-maps"),
    ],
)
def test_the_head_of_a_page(head: str, refs: list[tuple[str, str]]) -> None:
    document = read(f"<!doctype html><html><head>{head}".encode(), url=HERE)
    assert document.kind is Kind.HTML
    assert [(ref.loc, ref.found_by) for ref in document.sitemaps()] == refs
    assert (document.entries, codes(document)) == (0, {"document/not-a-sitemap": 1})


@pytest.mark.parametrize("title", ["Page not found", "Attention Required! | Cloudflare"])
def test_error_pages_and_challenges_give_no_hints(title: str) -> None:
    document = read(f"<title>{title}</title><link rel=sitemap href=/s.xml>".encode(), url=HERE)
    assert list(document.sitemaps()) == []


def test_a_head_longer_than_the_first_block_is_read() -> None:
    body = b"<html><head><style>" + b"x" * 200_000 + b"</style><link rel=sitemap href=/s.xml></head><body>"
    assert [ref.loc for ref in read(body, url=HERE).sitemaps()] == ["https://example.com/s.xml"]
