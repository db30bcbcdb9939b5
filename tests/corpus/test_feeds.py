"""The links of feeds, compared with feedparser: over the fixtures and over feeds from the web."""

from __future__ import annotations

import gzip
import warnings
from typing import TYPE_CHECKING

import pytest

from sitemap_harvest import Document, Kind, read
from tests.corpus.test_corpus import CORPUS, FILES, document_of
from tests.documents import FIXTURES, locs
from tests.rings import some_quick

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # feedparser imports a module that Python 3.13 removed
    import feedparser

if TYPE_CHECKING:
    from pathlib import Path

AN_ID = "takes an id for a link that is no absolute URL"
ABOUT = "knows no rdf:about"
SEVERAL = "takes the last of several links, we the first"
TEMPLATE = "takes a template that was never rendered for a link"
OTHERWISE = {  # where we deliberately read a well-formed feed differently
    "feeds/ARhackintosh__main-website__en__tag__acpibatterymanager-kext__feed__index.xml": "takes href='' for the link",
    "feeds/ARhackintosh__main-website__en__tag__e2400__feed__index.xml": "takes href='' for the link",
    "feeds/ARhackintosh__main-website__en__tag__enablelidwake-kext__feed__index.xml": "takes href='' for the link",
    "feeds/ARhackintosh__main-website__en__tag__opencore-boot-loader__feed__index.xml": "takes href='' for the link",
    "feeds/ARhackintosh__main-website__en__tag__sdcard__feed__index.xml": "takes href='' for the link",
    "feeds/AT-Publishing__website__rss-press.xml": TEMPLATE,
    "feeds/ajitsing__ajitsing.github.io__feed-postgres.xml": TEMPLATE,
    "feeds/ajitsing__ajitsing.github.io__feed.xml": TEMPLATE,
    "feeds/ajitsing__ajitsing.github.io__feed@1f318dd.xml": TEMPLATE,
    "peers/crawler-commons/sitemaps__atom.xml": SEVERAL,
    "peers/feedparser/illformed__rdf_channel_empty_textinput.xml": ABOUT,
    "peers/feedparser/wellformed__atom10__entry_id_with_attributes.xml": AN_ID,
    "peers/feedparser/wellformed__base__http_entry_id_base_content_location.xml": AN_ID,
    "peers/feedparser/wellformed__base__http_entry_id_base_docuri.xml": AN_ID,
    "peers/feedparser/wellformed__rdf__rdf_item_title.xml": ABOUT,
    "peers/gofeed/parser__atom__atom10_feed_entry_link_href_invalid_space_prefix.xml": "keeps a space before the URL",
    "peers/gofeed/parser__rss__rdf_item_description.xml": ABOUT,
    "peers/gofeed/parser__rss__rdf_item_description_cdata_escaped_markup.xml": ABOUT,
    "peers/gofeed/parser__rss__rdf_item_description_naked_markup.xml": ABOUT,
    "peers/gofeed/parser__rss__rdf_item_title_naked_markup.xml": ABOUT,
    "peers/gofeed/parser__rss__rss_channel_item_uri_at_protocol.xml": "takes an attribute uri for the link",
    "peers/gofeed/translator__rss__feed_item_links_-_rss_channel_item_links.xml": SEVERAL,
    "peers/reader/full.atom": AN_ID,
    "peers/trafilatura/feed1.atom": AN_ID,
    "atom.xml": "takes a link in the text of the page",
    "links.xml": "takes the last of several links and ids that are no URL; knows no relation by its full name",
    "media.xml": "takes the link that FeedBurner put in the place of the page's, the last of several, and a urn",
}


def links_of(body: bytes, document: Document) -> list[str]:
    """Return the links that feedparser finds."""
    body = gzip.decompress(body) if document.layers == ("gzip",) else body
    headers = {"content-location": document.url, "content-type": f"application/xml; charset={document.encoding}"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # feedparser's use of its own deprecated names
        found = feedparser.parse(body, response_headers=headers)
    return [entry["link"] for entry in found.entries if entry.get("link")]


FEEDS = [path for path in FILES if document_of(path).kind is Kind.FEED]
WELL_FORMED = [path for path in sorted((FIXTURES / "feeds").iterdir()) if path.suffix in {".xml", ".cdf"}]


@pytest.mark.skipif(not FILES, reason="there is no corpus: name its folder in HARVEST_CORPUS")
@pytest.mark.parametrize(
    "path", some_quick((path for path in FEEDS if path not in OTHERWISE), every=4, others=pytest.mark.deep)
)
def test_links_of_feeds_in_the_wild_match_feedparser(path: str) -> None:
    document = document_of(path)
    assert locs(document) == links_of((CORPUS / path).read_bytes(), document)


@pytest.mark.skipif(not FILES, reason="there is no corpus: name its folder in HARVEST_CORPUS")
@pytest.mark.parametrize("path", [path for path in OTHERWISE if "/" in path])
def test_deliberate_differences_still_exist(path: str) -> None:
    document = document_of(path)
    assert locs(document) != links_of((CORPUS / path).read_bytes(), document), (
        "it is the same now: take it off the list"
    )


@pytest.mark.parametrize("path", WELL_FORMED, ids=lambda path: path.name)
def test_links_of_the_fixtures_match_feedparser(path: Path) -> None:
    document = read(path.read_bytes(), url=f"https://example.com/{path.name}")
    is_same = locs(document) == links_of(path.read_bytes(), document)
    assert is_same is (path.name not in OTHERWISE and document.complete)
