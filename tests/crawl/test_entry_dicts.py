"""The argument of ``sitemap_filter``: the same as with Scrapy's own spider."""

from __future__ import annotations

import pytest
from scrapy.utils.sitemap import Sitemap

from sitemap_harvest import UrlEntry, read
from sitemap_harvest.page_visits.page_rules import dict_of_entry, dict_of_ref, entry_of_dict
from tests.documents import HERE, index, urlset

pytestmark = pytest.mark.quick

XHTML = ' xmlns:xhtml="http://www.w3.org/1999/xhtml"'
IMAGE = ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
NEWS = ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
MOBILE = ' xmlns:mobile="http://www.google.com/schemas/sitemap-mobile/1.0"'
OURS = ' xmlns:o="https://example.com/ours"'


@pytest.mark.parametrize(
    ("inside", "namespaces"),
    [
        pytest.param("", "", id="nothing-more"),
        pytest.param("<lastmod> 2025 </lastmod><changefreq>daily</changefreq><priority>0.8</priority>", "", id="all"),
        pytest.param("<lastmod>yesterday</lastmod><priority>high</priority>", "", id="unreadable"),
        pytest.param("<lastmod/>", "", id="empty"),
        pytest.param('<xhtml:link rel="alternate" href="https://example.com/de"/>' * 2, XHTML, id="alternates"),
        pytest.param("<image:image><image:loc>https://example.com/i</image:loc></image:image>", IMAGE, id="image"),
        pytest.param("<news:news><news:title>T</news:title></news:news>", NEWS, id="news"),
        pytest.param("<mobile:mobile/>", MOBILE, id="mobile"),
        pytest.param("<o:stock>7</o:stock><o:box><o:in>8</o:in></o:box><plain>9</plain>", OURS, id="unknown"),
    ],
)  # fmt: skip
def test_an_entry_equals_that_of_scrapy(inside, namespaces):
    body = urlset(f"<url><loc>https://example.com/a</loc>{inside}</url>", namespaces)
    (entry,) = read(body, url=HERE).rows()
    found = dict_of_entry(entry)
    assert found.pop("entry") is entry
    assert [found] == list(Sitemap(body))


@pytest.mark.parametrize("lastmod", ["", "<lastmod>2025</lastmod>"])
def test_an_entry_of_an_index_equals_that_of_scrapy(lastmod):
    body = index(f"<sitemap><loc>https://example.com/a.xml</loc>{lastmod}</sitemap>")
    (ref,) = read(body, url=HERE).sitemaps()
    assert [dict_of_ref(ref)] == list(Sitemap(body))


def test_an_entry_made_by_a_filter_has_its_address_and_no_position():
    entry = UrlEntry(loc="https://example.com/a", sitemap=HERE, position=1)
    assert entry_of_dict({**dict_of_entry(entry), "loc": "https://example.com/b"}, sitemap="x") is entry
    made = UrlEntry(loc="https://example.com/b", sitemap=HERE, position=0)
    assert entry_of_dict({"loc": "https://example.com/b"}, sitemap=HERE) == made
