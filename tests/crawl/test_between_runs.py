"""The output of two runs over a site that changes between them: enough to distinguish removed URLs from unread ones."""

from __future__ import annotations

import signal
from datetime import datetime

import pytest

from tests.crawl.crawling import lines
from tests.site import Page, index, robots, urlset
from tests.waiting import PATIENCE_SECONDS, wait_until

ONE, TWO = urlset("/a", "/b"), urlset("/c", "/d")
SITE = {"/robots.txt": robots("/index.xml"), "/index.xml": index("/1.xml", "/2.xml"), "/1.xml": ONE, "/2.xml": TWO}
NEWS = "http://www.google.com/schemas/sitemap-news/0.9"


def surely_gone(before, after, site):
    """Return the paths that *after* no longer lists though their document, or its parent, was read completely."""
    whole = {row["url"] for row in after.ledger if row["complete"]}
    met = {row["url"] for row in after.ledger}
    index_is_whole = f"{site.url}/index.xml" in whole
    left = {row["key"] for row in after.urls}
    return {
        row["key"].removeprefix(site.url)
        for row in before.urls
        if row["key"] not in left and (row["sitemap"] in whole or (row["sitemap"] not in met and index_is_whole))
    }


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        pytest.param({"/1.xml": Page(status=503)}, set(), id="unavailable", marks=pytest.mark.case(160)),
        pytest.param({"/1.xml": ONE[:-40], "/2.xml": urlset("/c")}, {"/d"}, id="cut", marks=pytest.mark.case(161)),
        pytest.param({"/index.xml": index("/2.xml")}, {"/a", "/b"}, id="child-dropped", marks=pytest.mark.case(162)),
        pytest.param({"/1.xml": Page(status=404)}, set(), id="child-not-found", marks=pytest.mark.case(162)),
        pytest.param(
            {"/1.xml": urlset("/a"), "/2.xml": urlset("/b", "/c", "/d")}, set(), id="moved", marks=pytest.mark.case(163)
        ),
        pytest.param({"/1.xml": urlset("/b", "/a", "/a")}, set(), id="other-order", marks=pytest.mark.case(166)),
        pytest.param({"/index.xml": Page(status=304)}, set(), id="index-unchanged", marks=pytest.mark.case(171)),
        pytest.param({"/1.xml": urlset("/a", "/B")}, {"/b"}, id="renamed", marks=pytest.mark.case(172)),
    ],
)
def test_only_removed_urls_are_removed(serve, crawl, change, gone):
    site = serve(SITE)
    before = crawl(site=site.url)
    rows = before.urls, before.ledger
    site.pages |= change
    after = crawl(site=site.url, calm=False)
    assert surely_gone(_Kept(*rows), after, site) == gone


class _Kept:
    """The output of a run, read before the next one overwrites it."""

    def __init__(self, urls, ledger):
        self.urls, self.ledger = urls, ledger


@pytest.mark.case(164)
def test_after_a_change_of_scheme_only_the_schemes_of_keys_differ(serve, crawl):
    site = serve({"/1.xml": urlset("http://example.com/a", "http://example.com/b")})
    before = crawl(sitemap=f"{site.url}/1.xml").urls
    site.pages["/1.xml"] = urlset("https://example.com/a", "https://example.com/b")
    after = crawl(sitemap=f"{site.url}/1.xml").urls
    assert [row["key"] for row in after] == [row["key"].replace("http:", "https:") for row in before]


@pytest.mark.case(165)
@pytest.mark.parametrize(
    ("first", "second", "order"),
    [
        pytest.param("2025-03-09T14:00:00+01:00", "2025-03-09T13:00:00Z", 0, id="written-otherwise"),
        pytest.param("2025-03-09", "2025-03-08", -1, id="backwards"),
        pytest.param("2025-03-09", "2025-03-10", 1, id="forwards"),
    ],
)
def test_dates_compare_as_instants(serve, crawl, first, second, order):
    def dated(date):
        return urlset("/a").replace("</loc>", f"</loc><lastmod>{date}</lastmod>")

    site = serve({"/1.xml": dated(first)})
    before = _lastmod(crawl(sitemap=f"{site.url}/1.xml"))
    site.pages["/1.xml"] = dated(second)
    after = _lastmod(crawl(sitemap=f"{site.url}/1.xml"))
    assert (after > before) - (after < before) == order


def _lastmod(run):
    (row,) = run.urls
    return datetime.fromisoformat(row["lastmod"])


@pytest.mark.case(167)
def test_entries_of_a_news_sitemap_are_marked_by_their_news(serve, crawl):
    news = f'<news:news xmlns:news="{NEWS}"><news:title>T</news:title></news:news>'
    site = serve({"/1.xml": urlset("/a").replace("</loc>", f"</loc>{news}")})
    (row,) = crawl(sitemap=f"{site.url}/1.xml").urls
    assert row["news"][0]["title"] == "T"


@pytest.mark.case(168)
def test_urls_left_out_by_a_limit_are_not_removed(serve, crawl):
    site = serve(SITE)
    before = crawl(site=site.url)
    rows = before.urls, before.ledger
    after = crawl(site=site.url, settings={"SITEMAP_HARVEST_MAX_URLS": 1})
    assert len(after.urls) < len(rows[0])
    assert surely_gone(_Kept(*rows), after, site) == set()


@pytest.mark.case(169)
def test_a_run_depends_on_no_other_run(serve, crawl, tmp_path):
    site = serve(SITE)
    path = tmp_path / "other.jsonl"
    feeds = {str(path): {"format": "jsonl", "item_classes": ["sitemap_harvest.UrlEntry"]}}
    other = crawl.start(site=site.url, feeds=feeds)
    run = crawl(site=site.url)
    other.communicate(timeout=PATIENCE_SECONDS)
    assert other.returncode == run.code == 0
    assert sorted(run.locs) == [f"{site.url}/{name}" for name in "abcd"]
    assert sorted(row["loc"] for row in lines(path)) == sorted(run.locs)


@pytest.mark.case(170)
def test_the_run_after_a_killed_one_reads_all_documents(serve, crawl):
    site = serve(SITE | {"/2.xml": Page(TWO, delay=5)})
    process = crawl.start(site=site.url)
    wait_until(lambda: "/2.xml" in site.requests)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE_SECONDS)
    site.pages["/2.xml"] = TWO
    assert sorted(crawl(site=site.url).locs) == [f"{site.url}/{name}" for name in "abcd"]
