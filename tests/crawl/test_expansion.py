"""Indexes with cycles, excessive depth or no end; and the limits of a harvest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.site import Page, index, moved, numbered, robots, urlset


@pytest.mark.case(50, 122, 124)
def test_every_document_is_read_once_however_it_is_found(serve, crawl):
    site = serve({
        "/robots.txt": robots("/a.xml"),
        "/a.xml": index("/a.xml", "/b.xml", "/shared.xml", "/to-a.xml", "/to-shared.xml", "/to-new.xml", "deep/c.xml"),
        "/b.xml": index("/a.xml", "/b.xml", "/shared.xml", "/SHARED.xml#x"),
        "/shared.xml": urlset("/1"),
        "/to-a.xml": moved("{site}/a.xml"),
        "/to-shared.xml": moved("/shared.xml"),
        "/to-new.xml": moved("/deep/new.xml"),
        "/deep/new.xml": urlset("/2"),
        "/deep/c.xml": index("../d.xml"),
        "/d.xml": urlset("/3"),
    })  # fmt: skip
    run = crawl(site=site.url)
    assert sorted(run.locs) == [f"{site.url}/{number}" for number in (1, 2, 3)]
    fates = run.fates(site.url)
    assert {url: fate for url, fate in fates.items() if fate != "read"} == {
        "/to-a.xml": "skipped", "/to-shared.xml": "skipped", "/SHARED.xml#x": "absent"
    }  # fmt: skip
    row = run.row(f"{site.url}/to-a.xml")
    assert row["reason"] == f"the URL redirects to {site.url}/a.xml, which is read separately"
    assert run.row(f"{site.url}/to-new.xml")["final_url"] == f"{site.url}/deep/new.xml"
    assert site.count("/b.xml") == site.count("/d.xml") == 1
    assert site.count("/shared.xml") <= 2  # once more, behind the redirect


def test_follow_and_skip_choose_sitemaps(serve, crawl):
    site = serve({
        "/index.xml": index("/shop-1.xml", "/shop-2.xml", "/blog.xml"),
        "/shop-1.xml": urlset("/1"),
        "/shop-2.xml": urlset("/2"),
        "/blog.xml": urlset("/3"),
    })  # fmt: skip
    run = crawl(sitemap=f"{site.url}/index.xml", follow="shop", skip="-2")
    assert run.locs == [f"{site.url}/1"]
    assert run.fates(site.url) == {
        "/index.xml": "read", "/shop-1.xml": "read", "/shop-2.xml": "skipped", "/blog.xml": "skipped"
    }  # fmt: skip
    assert run.row(f"{site.url}/blog.xml")["reason"] == "the URL does not match follow='shop'"
    assert site.count("/blog.xml") == 0


@pytest.mark.case(121)
def test_depth_is_limited_and_an_endless_chain_ends(serve, crawl):
    site = serve({"/0.xml": index("/1.xml")})
    site.generate = lambda path: index(f"/{int(path[1:-4]) + 1}.xml") if path.endswith(".xml") else None
    run = crawl(sitemap=f"{site.url}/0.xml", settings={"SITEMAP_HARVEST_MAX_DEPTH": 3})
    assert run.fates(site.url) == {
        "/0.xml": "read", "/1.xml": "read", "/2.xml": "read", "/3.xml": "read", "/4.xml": "over-limit"
    }  # fmt: skip
    assert run.row(f"{site.url}/4.xml")["reason"] == "the document is deeper than MAX_DEPTH (3) allows"

    run = crawl(sitemap=f"{site.url}/0.xml")
    assert len(run.ledger) == 12
    assert run.row(f"{site.url}/11.xml")["outcome"] == "over-limit"


@pytest.mark.parametrize(("limit", "name", "depth"), [(1, "DEPTH_LIMIT", 1), (0, "MAX_DEPTH", 2), (3, "MAX_DEPTH", 2)])
def test_the_depth_limit_of_scrapy_applies_where_it_is_smaller(serve, crawl, limit, name, depth):
    site = serve({f"/{number}.xml": index(f"/{number + 1}.xml") for number in range(5)})
    settings = {"SITEMAP_HARVEST_MAX_DEPTH": 2, "DEPTH_LIMIT": limit}
    run = crawl(sitemap=f"{site.url}/0.xml", settings=settings)
    row = run.row(f"{site.url}/{depth + 1}.xml")
    assert (row["outcome"], row["reason"]) == ("over-limit", f"the document is deeper than {name} ({depth}) allows")
    assert len(run.ledger) == depth + 2


def test_documents_are_limited_for_each_root(serve, crawl):
    pages = {f"/{number}.xml": urlset(f"/p{number}") for number in range(10)}
    site = serve({"/index.xml": index(*pages), "/other.xml": urlset("/other"), **pages})
    run = crawl(sitemap=f"{site.url}/index.xml {site.url}/other.xml", settings={"SITEMAP_HARVEST_MAX_DOCUMENTS": 4})
    assert len(run.urls) == 4  # the index and three of its children, and the other one
    assert list(run.fates().values()).count("over-limit") == 7


def test_limit_is_exact_and_the_rest_is_over_limit(serve, crawl):
    pages = {f"/{number}.xml": urlset(*numbered(10, start=10 * number)) for number in range(6)}
    site = serve({"/index.xml": index(*pages), **pages})
    for limit, read, partial in ((25, 2, 1), (20, 2, 0)):
        run = crawl(sitemap=f"{site.url}/index.xml", limit=limit, settings={"SITEMAP_HARVEST_CONCURRENCY": 1})
        assert len(run.urls) == len(set(run.locs)) == limit
        assert run.stats["sitemap_harvest/urls"] == limit
        fates = list(run.fates().values())
        assert (fates.count("read"), fates.count("partial")) == (1 + read, partial)
        assert fates.count("over-limit") == 6 - read - partial


@pytest.mark.quick
def test_limit_is_exact_with_many_downloads_at_a_time(serve, crawl):
    pages = {f"/{number}.xml": urlset(*numbered(10, start=10 * number)) for number in range(20)}
    site = serve({"/index.xml": index(*pages), **pages})
    run = crawl(sitemap=f"{site.url}/index.xml", limit=47)
    assert len(run.urls) == 47
    assert len(run.ledger) == 21


@pytest.mark.case(50, 125)
def test_a_redirect_to_another_host_needs_the_same_permission_as_a_link(serve, crawl):
    other = serve({"/far.xml": urlset("/2")}, host="127.0.0.2")
    site = serve({
        "/robots.txt": robots("/index.xml"),
        "/index.xml": index("/near.xml", "/away.xml"),
        "/near.xml": urlset("/1"),
        "/away.xml": moved(f"{other.url}/far.xml"),
    })  # fmt: skip
    run = crawl(site=site.url, settings={"SITEMAP_HARVEST_PRIVATE": True})
    assert run.locs == [f"{site.url}/1"]
    row = run.row(f"{site.url}/away.xml")
    assert (row["outcome"], row["entries"]) == ("out-of-scope", 0)
    assert row["reason"].startswith(f"the URL redirects to {other.url}/far.xml: an index may list only")


def test_a_request_dropped_by_a_spider_middleware_does_not_block_the_run(serve, crawl):
    site = serve({"/index.xml": index("/a.xml", "/b.xml?" + "x" * 3_000), "/a.xml": urlset("/1")})
    run = crawl(sitemap=f"{site.url}/index.xml")
    assert run.locs == [f"{site.url}/1"]
    assert [(row["outcome"], row["reason"]) for row in run.ledger if "xxx" in row["url"]] == [
        ("skipped", "a spider middleware dropped the request")
    ]


def test_follow_selects_children_of_an_index_and_not_the_index_itself(serve, crawl):
    site = serve({
        "/robots.txt": robots("/index.xml"),
        "/index.xml": index("/products.xml", "/pages.xml"),
        "/products.xml": urlset("/1"),
        "/pages.xml": urlset("/2"),
    })  # fmt: skip
    run = crawl(site=site.url, follow="products")
    assert run.locs == [f"{site.url}/1"]


def test_a_folder_is_listed_again_even_with_an_http_cache(crawl, tmp_path):
    folder = tmp_path / "public"
    folder.mkdir()
    settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    for count in (1, 2):
        urls = numbered(count, prefix="https://www.example.com/p")
        (folder / "sitemap.xml").write_text(urlset(*urls))
        assert crawl(site="https://www.example.com", root=str(folder), settings=settings).locs == urls


def rows_of(run, url):
    """Return outcome and depth in each ledger row of one document."""
    return [(row["outcome"], row["depth"]) for row in run.ledger if row["url"] == url]


def test_a_document_is_read_if_one_of_its_parents_may_name_it(serve, crawl):
    other = serve(host="127.0.0.2")
    names = [f"{other.url}/theirs.xml"] * 3
    site = serve({"/robots.txt": robots("/a.xml", "/b.xml"), "/a.xml": index(*names), "/b.xml": index(*names)})
    late = Page(robots("/theirs.xml"), delay=1.0, after=lambda: {"/a.xml", "/b.xml"} <= {*site.requests})
    other.pages |= {"/robots.txt": late, "/theirs.xml": urlset("/1")}
    run = crawl(site=f"{site.url} {other.url}")
    assert run.locs == [f"{other.url}/1"]
    assert rows_of(run, f"{other.url}/theirs.xml") == [("out-of-scope", 2), ("read", 1)]
    assert run.stats["sitemap_harvest/documents"] == len(run.ledger)
    assert {row["url"] for row in run.ledger if row["found_by"] not in {"well-known", "home"}} == {
        f"{site.url}/robots.txt", f"{site.url}/a.xml", f"{site.url}/b.xml",
        f"{other.url}/robots.txt", f"{other.url}/theirs.xml",
    }  # fmt: skip


def test_a_document_too_deep_on_one_path_is_read_by_a_shorter_one(serve, crawl):
    site = serve({
        "/robots.txt": robots("/deep.xml", "/late.xml"),
        "/deep.xml": index("/deeper.xml"),
        "/deeper.xml": index("/s.xml", "/s.xml"),
        "/late.xml": Page(index("/s.xml"), delay=1.0, after=lambda: "/deeper.xml" in site.requests),
        "/s.xml": urlset("/1"),
    })  # fmt: skip
    run = crawl(site=site.url, settings={"SITEMAP_HARVEST_MAX_DEPTH": 2})
    assert run.locs == [f"{site.url}/1"]
    assert rows_of(run, f"{site.url}/s.xml") == [("over-limit", 3), ("read", 2)]


def test_a_document_that_follow_skips_is_read_when_robots_txt_names_it(serve, crawl):
    other = serve(host="127.0.0.2")
    site = serve({"/robots.txt": robots("/index.xml"), "/index.xml": index("/pages.xml"), "/pages.xml": urlset("/1")})
    other.pages["/robots.txt"] = Page(
        robots(f"{site.url}/pages.xml"), delay=1.0, after=lambda: "/index.xml" in site.requests
    )
    run = crawl(site=f"{site.url} {other.url}", follow="products")
    assert run.locs == [f"{site.url}/1"]
    assert rows_of(run, f"{site.url}/pages.xml") == [("skipped", 2), ("read", 1)]


def test_a_document_beyond_the_budget_of_one_root_is_read_for_another(serve, crawl):
    site = serve({
        "/full.xml": index("/1.xml", "/2.xml", "/s.xml"),
        "/other.xml": Page(index("/s.xml"), delay=1.0, after=lambda: "/full.xml" in site.requests),
        **{f"/{name}.xml": urlset(f"/{name}") for name in ("1", "2", "s")},
    })  # fmt: skip
    run = crawl(sitemap=f"{site.url}/full.xml {site.url}/other.xml", settings={"SITEMAP_HARVEST_MAX_DOCUMENTS": 3})
    assert sorted(run.locs) == [f"{site.url}/{name}" for name in ("1", "2", "s")]
    assert rows_of(run, f"{site.url}/s.xml") == [("over-limit", 1), ("read", 1)]


def test_a_redirect_to_a_rejected_document_is_read_where_it_is_allowed(serve, crawl):
    other = serve({"/theirs.xml": urlset("/1")}, host="127.0.0.2")
    site = serve({"/robots.txt": robots("/index.xml", "/moved.xml"), "/index.xml": index(f"{other.url}/theirs.xml")})
    site.pages["/moved.xml"] = replace(
        moved(f"{other.url}/theirs.xml"), delay=1.0, after=lambda: "/index.xml" in site.requests
    )
    run = crawl(site=site.url, settings={"SITEMAP_HARVEST_PRIVATE": True})
    assert run.locs == [f"{other.url}/1"]


@pytest.mark.case(58, 117)
def test_one_sitemap_at_two_addresses_is_read_at_each_and_each_lists_its_urls(serve, crawl):
    """Addresses that may be different documents are different; only two spellings of one address are one."""
    twins = ["/s.xml?a=1&amp;b=2", "/s.xml?b=2&amp;a=1", "/s.xml/", "/S.xml", "/s.xml", "/%73.xml", "/s.xml#again"]
    site = serve({"/index.xml": index(*twins)})
    site.generate = lambda path: urlset("/1", "/1", "/2") if "s.xml" in path.lower() else None
    run = crawl(sitemap=f"{site.url}/index.xml")
    assert len(site.requests) == len(set(site.requests))
    read = [row["url"].removeprefix(site.url) for row in run.ledger if row["kind"] == "sitemap"]
    assert sorted(read) == ["/S.xml", "/s.xml", "/s.xml/", "/s.xml?a=1&b=2", "/s.xml?b=2&a=1"]
    for path in read:
        mine = [row["loc"] for row in run.urls if row["sitemap"] == f"{site.url}{path}"]
        assert mine == [f"{site.url}/{number}" for number in (1, 1, 2)]
