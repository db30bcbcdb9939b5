"""From a site to its URLs: robots.txt, well-known paths, indexes, and their ledger."""

from __future__ import annotations

import pytest

from sitemap_harvest.integration import default_settings as defaults
from tests.site import Page, gzipped, index, moved, robots, urlset

RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>
<item><title>One</title><link>{site}/news/1</link><pubDate>Sat, 01 Mar 2025 10:00:00 GMT</pubDate></item>
</channel></rss>"""
RICH = """<?xml version="1.0"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"
 xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc>{site}/rich?a=1&amp;b=2</loc><lastmod>2025-03-09T14:00:00+01:00</lastmod><changefreq>daily</changefreq>
<priority>0.8</priority><xhtml:link rel="alternate" hreflang="de" href="{site}/de"/>
<image:image><image:loc>{site}/i.png</image:loc></image:image></url>
</urlset>"""
RICH_VALUES = {
    "loc": "{site}/rich?a=1&b=2",
    "key": "{site}/rich?a=1&b=2",
    "site": "{site}",
    "sitemap": "{site}/a.xml",
    "position": 1,
    "lastmod": "2025-03-09T13:00:00+00:00",
    "lastmod_text": "2025-03-09T14:00:00+01:00",
    "changefreq": "daily",
    "priority": 0.8,
    "title": None,
    "videos": None,
}
INDEX = """<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<sitemap><loc>{site}/a.xml</loc><lastmod>2025-01-02</lastmod></sitemap>
<sitemap><loc>{site}/b.xml.gz</loc></sitemap>
<sitemap><loc>relative.txt</loc></sitemap>
<sitemap><loc>{site}/private/c.xml</loc></sitemap>
</sitemapindex>"""


@pytest.mark.quick
@pytest.mark.case(30, 32, 126)
def test_a_site_is_read_through_robots_txt_index_and_sitemaps_of_every_kind(serve, crawl):
    site = serve({
        "/robots.txt": robots("/index.xml", "/feed.rss", disallow=["/private/"]),
        "/index.xml": INDEX,
        "/a.xml": Page(RICH, headers={"Content-Type": "application/xml", "ETag": '"v1"'}),
        "/relative.txt": "{site}/t1\n{site}/t2\n",
        "/feed.rss": RSS,
        "/private/c.xml": urlset("/secret"),
    })  # fmt: skip
    site.pages["/b.xml.gz"] = gzipped(urlset("/b1").replace("{site}", site.url))
    here = site.url

    run = crawl(site=here)

    assert sorted(run.locs) == sorted(f"{here}{path}" for path in ("/rich?a=1&b=2", "/b1", "/t1", "/t2", "/news/1"))
    (rich,) = [row for row in run.urls if "rich" in row["loc"]]
    assert {name: rich[name] for name in RICH_VALUES} == {
        name: value.replace("{site}", here) if isinstance(value, str) else value for name, value in RICH_VALUES.items()
    }
    assert rich["alternates"][0]["href"] == f"{here}/de"
    assert rich["images"][0]["loc"] == f"{here}/i.png"
    assert [(row["url"].removeprefix(here), row["depth"], row["found_by"], row["outcome"], row["kind"],
             (row["parent"] or "").removeprefix(here)) for row in sorted(run.ledger, key=lambda row: row["url"])] == [
        ("/a.xml", 2, "index", "read", "sitemap", "/index.xml"),
        ("/b.xml.gz", 2, "index", "read", "sitemap", "/index.xml"),
        ("/feed.rss", 1, "robots", "read", "feed", "/robots.txt"),
        ("/index.xml", 1, "robots", "read", "index", "/robots.txt"),
        ("/private/c.xml", 2, "index", "forbidden", None, "/index.xml"),
        ("/relative.txt", 2, "index", "read", "list", "/index.xml"),
        ("/robots.txt", 0, "argument", "read", "robots", ""),
    ]  # fmt: skip
    first = run.row(f"{here}/a.xml")
    assert (first["status"], first["content_type"], first["etag"]) == (200, "application/xml", '"v1"')
    assert (first["entries"], first["complete"], first["lastmod"]) == (1, True, "2025-01-02T00:00:00+00:00")
    assert run.row(f"{here}/b.xml.gz")["layers"] == ["gzip"]
    assert run.row(f"{here}/private/c.xml")["reason"].startswith(
        "robots.txt disallows the URL, but also lists it or a document that leads to it"
    )
    assert site.count("/robots.txt") == 1
    assert site.count("/private/c.xml") == 0
    assert len(site.requests) == 6
    assert run.code == 0
    assert run.reason == "finished"
    assert run.stats["item_scraped_count"] == 5 + 7
    assert run.stats["sitemap_harvest/urls"] == 5


@pytest.mark.quick
@pytest.mark.case(25)
def test_without_robots_txt_the_well_known_paths_are_tried(serve, crawl):
    site = serve({"/sitemap_index.xml": index("/a.xml"), "/a.xml": urlset("/1")})
    run = crawl(site=site.url)
    assert run.locs == [f"{site.url}/1"]
    assert site.requests == ["/robots.txt", "/sitemap.xml", "/sitemap_index.xml", "/a.xml"]
    assert run.fates(site.url) == {
        "/robots.txt": "absent", "/sitemap.xml": "absent", "/sitemap_index.xml": "read", "/a.xml": "read"
    }  # fmt: skip
    assert run.row(f"{site.url}/sitemap_index.xml")["found_by"] == "well-known"


@pytest.mark.case(23)
def test_a_site_without_sitemaps_gives_no_urls_and_a_ledger_with_the_reasons(serve, crawl):
    site = serve({"/robots.txt": Page("<html><title>Welcome</title>", headers={"Content-Type": "text/html"})})
    run = crawl(site=site.url)
    assert run.urls == []
    assert set(run.fates(site.url).values()) == {"absent", "not-a-sitemap"}
    assert run.reason == "finished"


@pytest.mark.case(29, 125)
def test_robots_txt_may_name_a_sitemap_on_another_host_but_an_index_may_not(serve, crawl):
    other = serve(
        {"/theirs.xml": index("/deep.xml"), "/deep.xml": urlset("/1"), "/no.xml": urlset("/2")}, host="127.0.0.2"
    )
    site = serve(
        {"/robots.txt": robots(f"{other.url}/theirs.xml", "/ours.xml"), "/ours.xml": index(f"{other.url}/no.xml")}
    )
    run = crawl(site=site.url, settings={"SITEMAP_HARVEST_PRIVATE": True})
    assert run.locs == [f"{other.url}/1"]
    assert run.row(f"{other.url}/theirs.xml")["found_by"] == "robots"
    assert run.row(f"{other.url}/no.xml")["outcome"] == "out-of-scope"
    assert "/no.xml" not in other.requests
    assert other.count("/robots.txt") == site.count("/robots.txt") == 1

    run = crawl(site=site.url, settings={"SITEMAP_HARVEST_OFFSITE": "any", "SITEMAP_HARVEST_PRIVATE": True})
    assert sorted(run.locs) == [f"{other.url}/1", f"{other.url}/2"]


def test_a_robots_txt_named_as_a_sitemap_is_requested_once_for_spider_and_rules(serve, crawl):
    """Here the request for its rules comes first, and the spider gets that response."""
    site = serve({"/robots.txt": robots("/own.xml"), "/own.xml": urlset("/1")})
    run = crawl(sitemap=f"{site.url}/robots.txt")
    assert run.locs == [f"{site.url}/1"]
    assert site.requests == ["/robots.txt", "/own.xml"]


def test_a_failing_robots_txt_is_requested_once_with_its_retries(serve, crawl):
    site = serve({"/robots.txt": Page(status=500), "/sitemap.xml": urlset("/1")})
    run = crawl(site=site.url, sitemap=f"{site.url}/sitemap.xml", settings={"RETRY_TIMES": 2}, calm=False)
    assert run.locs == [f"{site.url}/1"]
    assert site.count("/robots.txt") == 3


@pytest.mark.case(24)
def test_a_large_robots_txt_is_downloaded_once(serve, crawl):
    site = serve({"/robots.txt": "#" * 3_000_000 + "\n" + robots("/s.xml"), "/s.xml": urlset("/1")})
    run = crawl(site=site.url)
    assert run.locs == [f"{site.url}/1"]
    assert site.requests == ["/robots.txt", "/s.xml"]


@pytest.mark.parametrize("order", [500, 1000, 2_000_000])
@pytest.mark.parametrize("part", ["RefusesRobots", "RequestsRobotsAgain"])
def test_a_middleware_that_drops_the_response_blocks_nothing(serve, crawl, part, order):
    site = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/1")})
    run = crawl(
        site=site.url,
        sitemap=f"{site.url}/s.xml",
        settings={"DOWNLOADER_MIDDLEWARES": {**defaults.DOWNLOADER_MIDDLEWARES, f"tests.crawl.parts.{part}": order}},
        calm=False,
    )
    assert run.reason == "finished"
    assert run.locs == [f"{site.url}/1"]
    assert run.fates(site.url)["/robots.txt"] == ("failed" if part == "RefusesRobots" else "read")


@pytest.mark.case(25)
def test_a_robots_txt_behind_five_redirects_is_read_and_its_rules_apply(serve, crawl):
    site = serve({f"/{number}.txt": moved(f"/{number + 1}.txt") for number in range(1, 5)})
    site.pages |= {
        "/robots.txt": moved("/1.txt"),
        "/5.txt": robots("/s.xml", "/no.xml", disallow=["/no"]),
        "/s.xml": urlset("/1"),
    }
    run = crawl(site=site.url)
    assert run.locs == [f"{site.url}/1"]
    assert run.fates(site.url) == {"/robots.txt": "read", "/s.xml": "read", "/no.xml": "forbidden"}


@pytest.mark.case(31)
def test_a_robots_txt_stored_on_another_host_applies_to_the_first(serve, crawl):
    other = serve(host="127.0.0.2")
    site = serve({"/robots.txt": moved(f"{other.url}/rules"), "/s.xml": urlset("/1")})
    other.pages["/rules"] = robots(f"{site.url}/s.xml", "/theirs.xml", f"{site.url}/no.xml", disallow=["/no"])
    other.pages["/theirs.xml"] = urlset("/2")
    run = crawl(site=site.url, settings={"SITEMAP_HARVEST_PRIVATE": True})
    assert sorted(run.locs) == [f"{site.url}/1", f"{other.url}/2"]
    assert run.row(f"{site.url}/robots.txt")["final_url"] == f"{other.url}/rules"
    assert run.row(f"{site.url}/robots.txt")["kind"] == "robots"
    assert run.row(f"{site.url}/no.xml")["outcome"] == "forbidden"


@pytest.mark.case(129)
def test_a_well_known_path_named_by_robots_txt_is_read_once(serve, crawl):
    site = serve({"/robots.txt": robots("/sitemap.xml", "/sitemap.xml"), "/sitemap.xml": urlset("/1")})
    run = crawl(site=site.url)
    assert run.locs == [f"{site.url}/1"]
    assert site.requests == ["/robots.txt", "/sitemap.xml"]
    assert run.row(f"{site.url}/sitemap.xml")["found_by"] == "robots"


def test_a_site_without_sitemaps_is_not_searched_in_each_run(serve, keep):
    site = serve({"/robots.txt": robots(), "/": "<html><body><p>Welcome</p></body></html>"})
    first, second, forced = keep(site), keep(site), keep(site, force="yes")
    assert (len(first.requests), second.requests) == (27, ["/robots.txt", "/sitemap.xml"])
    assert forced.requests == first.requests
    assert [output.sites[0]["result"] for output in (first, second, forced)] == ["absent"] * 3
    assert second.run.stats["sitemap_harvest/searches_postponed"] == 1
    site.pages["/sitemap.xml"] = urlset("/a")
    assert keep(site).locs == ["/a"]
