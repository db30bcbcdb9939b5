"""The pages that a crawl receives: challenges block, pages named by the user give hints, others have no entries."""

from __future__ import annotations

import pytest

from tests.site import Page, index, robots, urlset

CHALLENGE = "<html><title>Just a moment...</title><script>window._cf_chl_opt={}</script><a href='/x'>x</a></html>"
MISSING = "<html><head><title>Page not found</title><link rel=sitemap href='/no.xml'></head></html>"
HOME = (
    "<html><head><title>Home</title><link rel='sitemap' href='/s.xml'>"
    "<link rel='alternate' type='application/rss+xml' href='/feed'>"
    "<link rel='sitemap' href='http://127.0.0.9/s.xml'></head><body><a href='/page'>page</a></body></html>"
)
SITE_MAP = "<html><title>Site map</title><body><a href='/1'>One</a><a href='https://other.example/'>x</a></body></html>"
FEED = "<rss><channel><item><link>{site}/2</link></item></channel></rss>"


@pytest.mark.quick
def test_a_challenge_is_blocked_with_any_status_and_a_soft_404_is_no_sitemap(serve, crawl):
    site = serve({
        "/robots.txt": robots("/index.xml"),
        "/index.xml": index("/challenge.xml", "/refused.xml", "/missing.xml", "/picture.xml", "/good.xml"),
        "/challenge.xml": CHALLENGE,
        "/refused.xml": Page(CHALLENGE, status=403),
        "/missing.xml": MISSING,
        "/picture.xml": b"\x89PNG\r\n\x1a\n",
        "/good.xml": urlset("/1"),
    })  # fmt: skip
    run = crawl(site=site.url)
    assert run.locs == [f"{site.url}/1"]
    ends = {
        path: run.row(f"{site.url}{path}")
        for path in ("/challenge.xml", "/refused.xml", "/missing.xml", "/picture.xml")
    }
    assert {path: (row["outcome"], row["kind"], row["reason"]) for path, row in ends.items()} == {
        "/challenge.xml": (
            "blocked",
            "challenge",
            "a firewall blocks the request: the response is a page of Cloudflare",
        ),
        "/refused.xml": ("blocked", None, "HTTP 403: the server refuses access"),
        "/missing.xml": ("not-a-sitemap", "soft-404", "the document is a web page that reports a missing page"),
        "/picture.xml": ("not-a-sitemap", "binary", "the document is a PNG image"),
    }
    assert not any(row["complete"] for row in ends.values())
    assert "/no.xml" not in site.requests


def test_a_challenge_in_place_of_robots_txt_is_reported_and_does_not_end_the_search(serve, crawl):
    site = serve({"/robots.txt": CHALLENGE, "/sitemap.xml": urlset("/1")})
    run = crawl(site=site.url)
    assert run.fates(site.url) == {"/robots.txt": "blocked", "/sitemap.xml": "read"}
    assert run.locs == [f"{site.url}/1"]


@pytest.mark.parametrize("page", [HOME, MISSING], ids=["home", "soft-404"])
def test_a_page_in_place_of_robots_txt_names_nothing_and_does_not_end_the_search(serve, crawl, page):
    site = serve(
        {"/robots.txt": page, "/sitemap.xml": page, "/sitemap_index.xml": urlset("/1"), "/s.xml": urlset("/no")}
    )
    run = crawl(site=site.url)
    fates = {"/robots.txt": "not-a-sitemap", "/sitemap.xml": "not-a-sitemap", "/sitemap_index.xml": "read"}
    assert run.fates(site.url) == fates
    assert run.locs == [f"{site.url}/1"]


def test_hints_of_a_page_are_followed_only_if_the_user_named_the_page(serve, crawl):
    site = serve({
        "/home": HOME,
        "/index.xml": index("/other-home"),
        "/other-home": HOME.replace("/s.xml", "/never.xml").replace("/feed", "/never"),
        "/s.xml": urlset("/1"),
        "/feed": FEED,
    })  # fmt: skip
    run = crawl(sitemap=f"{site.url}/home {site.url}/index.xml")
    assert sorted(run.locs) == [f"{site.url}/1", f"{site.url}/2"]
    assert {(row["url"].removeprefix(site.url), row["outcome"], row["found_by"]) for row in run.ledger} == {
        ("/home", "not-a-sitemap", "argument"),
        ("/s.xml", "read", "html-link"),
        ("/feed", "read", "feed-link"),
        ("http://127.0.0.9/s.xml", "out-of-scope", "html-link"),
        ("/index.xml", "read", "argument"),
        ("/other-home", "not-a-sitemap", "index"),
    }
    row = run.row(f"{site.url}/home")
    assert (row["entries"], [problem["code"] for problem in row["problems"]]) == (0, ["document/not-a-sitemap"])


@pytest.mark.quick
def test_an_html_sitemap_is_read(serve, crawl):
    site = serve({"/robots.txt": robots("/map"), "/map": SITE_MAP})
    run = crawl(site=site.url)
    assert [(url["loc"], url["title"]) for url in run.urls] == [(f"{site.url}/1", "One")]
    row = run.row(f"{site.url}/map")
    assert (row["outcome"], row["kind"], row["complete"]) == ("read", "links", True)
    assert [(problem["code"], problem["count"]) for problem in row["problems"]] == [("html/off-site", 1)]
