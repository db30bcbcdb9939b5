from __future__ import annotations

import pytest

from sitemap_harvest import Kind, read
from sitemap_harvest.formats.sniff import sniff
from tests.documents import locs

XML = "https://example.com/sitemap.xml"
XMLNS = "http://www.sitemaps.org/schemas/sitemap/0.9"
ROBOTS = "https://example.com/robots.txt"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("<urlset></urlset>", Kind.SITEMAP, id="urlset"),
        pytest.param('<?xml version="1.0"?>\n<!-- by <html> -->\n<urlset/>', Kind.SITEMAP, id="comment-before"),
        pytest.param("<sm:urlset xmlns:sm='x'>", Kind.SITEMAP, id="prefix"),
        pytest.param("<URLSET>", Kind.SITEMAP, id="upper-case"),
        pytest.param("\ufeff\n\n <urlset>", Kind.SITEMAP, id="mark-and-whitespace-before"),
        pytest.param("Warning: mysql\n<urlset><url>", Kind.SITEMAP, id="junk-before"),
        pytest.param("<!DOCTYPE urlset [<!ENTITY a 'b'>]><urlset>", Kind.SITEMAP, id="doctype"),
        pytest.param("<url><loc>http://e.x/</loc></url>", Kind.SITEMAP, id="root-is-missing"),
        pytest.param("<sitemapindex>", Kind.INDEX, id="index"),
        pytest.param("<sitemap><loc>http://e.x/</loc></sitemap>", Kind.INDEX, id="index-root-is-missing"),
        pytest.param("<rss version='2.0'>", Kind.FEED, id="rss"),
        pytest.param("<rdf:RDF xmlns:rdf='x'>", Kind.FEED, id="rss-1"),
        pytest.param("<feed xmlns='http://www.w3.org/2005/Atom'>", Kind.FEED, id="atom"),
        pytest.param("<CHANNEL HREF='x'>", Kind.FEED, id="cdf"),
        pytest.param('{"version": "https://jsonfeed.org/version/1", "items": []}', Kind.FEED, id="json-feed"),
        pytest.param(' {"version":"https:\\/\\/jsonfeed.org\\/version\\/1.1"', Kind.FEED, id="json-feed-with-escapes"),
        pytest.param('{"items": [{"content_html": "<p>a"}]', Kind.FEED, id="json-feed-with-its-items-first"),
        pytest.param('{"items": [{"url": "https://e.x/a"}]}', Kind.UNKNOWN, id="other-json"),
        pytest.param("<!DOCTYPE html><body>", Kind.HTML, id="html"),
        pytest.param("<html><head><link href='/feed'>", Kind.HTML, id="html-without-doctype"),
        pytest.param("<p>Hello", Kind.HTML, id="html-fragment"),
        pytest.param("<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>", Kind.HTML, id="xhtml"),
        pytest.param(f"<html><p>{XMLNS}</p><p>&lt;urlset&gt;", Kind.HTML, id="html-about-sitemaps"),
        pytest.param("<html><script>'<urlset>'</script>", Kind.HTML, id="root-in-a-script"),
        pytest.param("<div><script>'<urlset>'</script>", Kind.HTML, id="root-in-a-script-of-a-fragment"),
        pytest.param("<html><body><pre><urlset></pre>", Kind.HTML, id="root-inside-html"),
        pytest.param("<br /><b>Notice</b> x<br />\n" * 99 + "<urlset>", Kind.SITEMAP, id="much-junk-before"),
        pytest.param("<html><p>A plugin</p></html>\n<?xml version='1.0'?>\n<urlset>", Kind.SITEMAP, id="page-before"),
        pytest.param("<table>" + "<tr><td>x</td></tr>" * 99 + "<sitemapindex>", Kind.INDEX, id="table-before"),
        pytest.param("<h1>404</h1>", Kind.SOFT_404, id="says-404"),
        pytest.param("<title>Not found</title><a href='/a'>", Kind.SOFT_404, id="says-not-found"),
        pytest.param("<title>Sitemap</title><a href='/a'>a</a>", Kind.LINKS, id="site-map"),
        pytest.param("<title>Hello</title><h1>Site map</h1><a href='/a'>a</a>", Kind.LINKS, id="site-map-in-heading"),
        pytest.param("<title>Sitemap</title><a href='https://o.x/'>a</a>", Kind.HTML, id="site-map-without-own-links"),
        pytest.param("<title>Sitemap</title><style>" + "x" * 70_000, Kind.LINKS, id="site-map-whose-links-come-late"),
        pytest.param("<title>Sitemap tips</title><a href='/a'>a</a>", Kind.HTML, id="about-site-maps"),
        pytest.param("<title>Sitemap</title><h1>404</h1><a href='/a'>a</a>", Kind.SOFT_404, id="missing-site-map"),
        pytest.param("<svg><metadata><rdf:RDF></rdf:RDF></metadata></svg>", Kind.XML, id="rdf-in-a-picture"),
        pytest.param("<xsl:stylesheet><xsl:template><html>", Kind.XML, id="style-sheet-for-sitemaps"),
        pytest.param('{"html": "<urlset>"}', Kind.UNKNOWN, id="json"),
        pytest.param('["<p>", "<rss>"]', Kind.UNKNOWN, id="json-list"),
        pytest.param('{"debug": 1}\n<urlset>', Kind.SITEMAP, id="json-before"),
        pytest.param("<opml><outline/></opml>", Kind.XML, id="other-xml"),
        pytest.param("<?xml version='1.0'?>", Kind.XML, id="declaration-alone"),
        pytest.param("", Kind.EMPTY, id="empty"),
        pytest.param(" \r\n\t\x00\ufeff", Kind.EMPTY, id="whitespace"),
        pytest.param("https://e.x/a\nhttps://e.x/b", Kind.LIST, id="list"),
        pytest.param("https://e.x/a\rhttps://e.x/b\r", Kind.LIST, id="list-with-cr"),
        pytest.param("all of them\nhttps://e.x/a https://e.x/b", Kind.LIST, id="two-on-a-line"),
        pytest.param("- https://e.x/a\r\n- https://e.x/b", Kind.LIST, id="bullets"),
        pytest.param('"https://e.x/a","2025"', Kind.LIST, id="table"),
        pytest.param("<https://e.x/a>", Kind.LIST, id="brackets"),
        pytest.param("http://e.x/a could not be found", Kind.UNKNOWN, id="words-about-a-url"),
        pytest.param("# a list\nhttps://e.x/a", Kind.LIST, id="list-with-a-heading"),
        pytest.param("User-agent: *\nDisallow: /", Kind.ROBOTS, id="robots-anywhere"),
        pytest.param("Sitemap: https://e.x/a.xml", Kind.ROBOTS, id="sitemap-line"),
        pytest.param("not found", Kind.UNKNOWN, id="words"),
        pytest.param('print("hello")\nx = "<p>hi</p>"\n', Kind.UNKNOWN, id="program"),
        pytest.param('x = [\n  "https://e.x/a",\n  "<p>",\n]', Kind.UNKNOWN, id="program-with-urls"),
        pytest.param("y = f'<b>{x}</b>' + \"<html>\\n\"", Kind.UNKNOWN, id="program-with-a-page"),
        pytest.param('Say "hi" <p>there</p>', Kind.HTML, id="words-before-a-page"),
        pytest.param('Say "hi <a href="/a">there</a>', Kind.HTML, id="quote-before-a-page"),
        pytest.param("I'm <b>not</b> here, isn't it?", Kind.HTML, id="apostrophes-before-a-page"),
        pytest.param("\x01\x02\x03", Kind.BINARY, id="binary"),
    ],
)
def test_kind_by_content(text: str, kind: Kind) -> None:
    assert sniff(text, url=XML) is kind


@pytest.mark.parametrize(
    ("text", "url", "content_type", "kind"),
    [
        pytest.param("# hello\n \n", ROBOTS, None, Kind.ROBOTS, id="comments-at-robots"),
        pytest.param("x: y\ndissallow : /", ROBOTS, None, Kind.ROBOTS, id="misspelt-directive"),
        pytest.param("User-agent *", ROBOTS, None, Kind.ROBOTS, id="directive-without-a-colon"),
        pytest.param("Crawl-delay: 5", ROBOTS, None, Kind.ROBOTS, id="directive-of-no-standard"),
        pytest.param("#" * 65_530 + "\nUser-agent: *", ROBOTS, None, Kind.ROBOTS, id="directive-is-cut"),
        pytest.param("hello", ROBOTS, None, Kind.UNKNOWN, id="words-at-robots"),
        pytest.param("Note: gone\nStatus: 503", ROBOTS, None, Kind.UNKNOWN, id="names-at-robots"),
        pytest.param("Allow cookies to go on.", ROBOTS, None, Kind.UNKNOWN, id="directive-in-a-sentence"),
        pytest.param('{\n  "allow": 1,\n  "sitemap": "/"\n}', ROBOTS, None, Kind.UNKNOWN, id="json-at-robots"),
        pytest.param("gone, see\nhttps://e.x/", ROBOTS, None, Kind.UNKNOWN, id="url-at-robots"),
        pytest.param("x" * 70_000, ROBOTS, None, Kind.UNKNOWN, id="long-line-at-robots"),
        pytest.param("a\x01b", ROBOTS, None, Kind.BINARY, id="binary-at-robots"),
        pytest.param("# see <b>docs</b>\nDisallow: /", ROBOTS, None, Kind.ROBOTS, id="tags-in-robots"),
        pytest.param("<!doctype html><p>", ROBOTS, None, Kind.HTML, id="soft-404-of-robots"),
        pytest.param("<title>Sitemap</title><a href='/a'>a</a>", ROBOTS, None, Kind.HTML, id="site-map-at-robots"),
        pytest.param("<urlset>", ROBOTS, "text/plain", Kind.SITEMAP, id="sitemap-at-robots"),
        pytest.param("ftp://e.x/a", "https://e.x/urls.txt", None, Kind.LIST, id="list-by-name"),
        pytest.param("ftp://e.x/a", XML, "text/plain; charset=utf-8", Kind.LIST, id="list-by-type"),
        pytest.param("ftp://e.x/a", XML, None, Kind.UNKNOWN, id="nothing-breaks-the-tie"),
        pytest.param('{"items": []}', XML, "application/feed+json; charset=utf-8", Kind.FEED, id="json-feed-by-type"),
        pytest.param("<urlset>", "https://e.x/page.html", "text/html", Kind.SITEMAP, id="type-is-wrong"),
    ],
)
def test_names_break_ties(text: str, url: str, content_type: str | None, kind: Kind) -> None:
    assert sniff(text, url=url, content_type=content_type) is kind


def test_a_long_licence_before_the_root_is_skipped() -> None:
    assert read(b"<!--" + b"x" * 60_000 + b"-->\n<urlset></urlset>", url=XML).kind is Kind.SITEMAP


@pytest.mark.parametrize(
    "before",
    [b"\n" * 700_000, b"<!--" + b"x" * 700_000 + b"-->", b"<?xml version='1.0'?><!--" + b"-" * 70_000 + b"-->"],
    ids=["whitespace", "comment", "declaration-and-comment"],
)
def test_prologues_may_have_any_size(before: bytes) -> None:
    document = read(before + b"<urlset><url><loc>https://example.com/a</loc></url></urlset>", url=XML)
    assert document.kind is Kind.SITEMAP
    assert locs(document) == ["https://example.com/a"]
    assert read(b"\n" * 70_000 + b"Sitemap: /a", url=XML).kind is Kind.ROBOTS
    assert read(b"\n" * 70_000 + b"https://example.com/a", url=XML).kind is Kind.LIST
