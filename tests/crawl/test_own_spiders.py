"""Spiders of a user's project: code for Scrapy's SitemapSpider works here, and the additions of ours."""

from __future__ import annotations

import re
import threading
from collections import Counter
from itertools import pairwise

import pytest
from scrapy.utils.test import get_crawler

from sitemap_harvest.spiders.harvest import HarvestSpider
from tests.crawl.test_private_addresses import with_names
from tests.site import Page, gzipped, index, numbered, robots, urlset
from tests.waiting import PATIENCE_SECONDS

PAGES = dict.fromkeys(
    (
        "/product/1", "/product/2", "/category/1", "/shop/1", "/shop/2", "/about", "/home", "/de", "/fr", "/2004",
        "/2005", "/2024", "/new/a", "/new/b", "/made/3", "/made/2",
    ),
    "<html><title>A page</title></html>",
)  # fmt: skip


def entries(*parts: str) -> str:
    """Return a sitemap with these texts as the content of its entries."""
    inside = "".join(f"<url>{part}</url>" for part in parts)
    namespaces = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    return f"<urlset {namespaces}>{inside}</urlset>"


def loc(path: str, **elements: str) -> str:
    return f"<loc>{{site}}{path}</loc>" + "".join(f"<{name}>{text}</{name}>" for name, text in elements.items())


def link(path: str) -> str:
    return f'<xhtml:link rel="alternate" hreflang="x" href="{{site}}{path}"/>'


SITE = {
    **PAGES,
    "/robots.txt": robots("/index.xml"),
    "/index.xml": index("/sitemap_shops.xml", "/sitemap_other.xml", "/no-such.xml"),
    "/sitemap.xml": urlset("/product/1", "/category/1", "/product/2", "/home"),
    "/sitemap_shops.xml": entries(
        loc("/shop/1", priority="0.1"),
        loc("/no-1"),
        loc("/old/a", priority="1.0"),
        loc("/old/b", priority="0.2"),
    ),
    "/sitemap_other.xml": urlset("/shop/2", "/home"),
    "/dated.xml": entries(
        loc("/2004", lastmod="2004-12-31"),
        loc("/2005", lastmod="2005-01-01"),
        loc("/2024", lastmod="2024-05-05"),
    ),
    "/languages.xml": entries(loc("/home") + link("/de") + link("/fr"), loc("/de") + link("/home") + link("/fr")),
}  # fmt: skip

_LOCAL = {"SITEMAP_HARVEST_PRIVATE": True}  # for pages on another local site than their sitemap


@pytest.mark.parametrize(
    ("spider", "visited"),
    [
        pytest.param(
            "simplest", {"parse": ["/category/1", "/home", "/product/1", "/product/2"]}, id="all-pages-to-parse"
        ),
        pytest.param(
            "two-rules", {"parse_product": ["/product/1", "/product/2"], "parse_category": ["/category/1"]}, id="rules"
        ),
        pytest.param("shops", {"parse_shop": ["/shop/1"]}, id="robots-and-follow"),
        pytest.param("other-sources", {"parse_shop": ["/shop/1", "/shop/2"], "parse_other": ["/about"]}, id="others"),
        pytest.param("filtered", {"parse": ["/2005", "/2024"]}, id="filter"),
        pytest.param("alternates", {"parse": ["/de", "/fr", "/home"]}, id="alternates"),
        pytest.param("compiled", {"parse_product": ["/product/1", "/product/2"]}, id="compiled-and-late"),
        pytest.param(
            "rewriting", {"parse": ["/home", "/made/2", "/made/3", "/new/a", "/new/b", "/shop/2"]}, id="rewrite"
        ),
    ],
)  # fmt: skip
def test_a_spider_of_the_documentation_gives_the_same_as_with_scrapys_base_class(serve, crawl, spider, visited):
    for base in ("ours", "scrapy"):
        site = serve(SITE)
        environment = {"SITE_URL": site.url, "SPIDER_BASE": base}
        given = {"domain": site.url, "color": "red"} if spider == "compiled" else {}
        run = crawl(spider=spider, environment=environment, **given)
        found: dict[str, list[str]] = {}
        for item in run.items:
            found.setdefault(item["callback"], []).append(item["url"])
            assert item.get("color", "red") == "red"
        assert {name: sorted(urls) for name, urls in found.items()} == visited, base
        assert base == "scrapy" or max(Counter(site.requests).values()) == 1  # that one requests robots.txt twice
        assert run.urls == run.ledger == []
        assert run.reason == "finished"


def test_callbacks_get_the_entry_if_they_accept_it_and_requests_have_priority_and_depth(serve, crawl):
    site = serve({
        **dict.fromkeys(("/plain/1", "/any/1", "/one", "/two", "/zwei", "/more"), "<p>A page</p>"),
        "/robots.txt": robots("/index.xml"),
        "/index.xml": index("/s.xml"),
        "/s.xml": entries(
            loc("/plain/1", priority="0.9"),
            loc("/any/1"),
            loc("/one", lastmod="2025-01", priority="0.0"),
            loc("/two", priority="high") + '<xhtml:link rel="alternate" href="/zwei"/>',
        ),
    })  # fmt: skip
    run = crawl(spider="entries", site=site.url, environment={"SITE_URL": site.url})
    assert sorted(run.items, key=lambda item: item["url"]) == [
        {"callback": "parse_any", "url": "/any/1", "given": []},
        {"callback": "parse_more", "url": "/more", "depth": 4},
        {"callback": "parse_entry", "url": "/one", "entry": ["/one", 3, "2025-01", "/s.xml"], "priority": -10},
        {"callback": "parse_plain", "url": "/plain/1", "priority": -1, "depth": 3},
        {"callback": "parse_entry", "url": "/two", "entry": ["/two", 4, None, "/s.xml"], "priority": -5},
        {"callback": "parse_entry", "url": "/zwei", "entry": ["/two", 4, None, "/s.xml"], "priority": -5},
    ]
    assert run.stats["sitemap_harvest/pages"] == 5
    assert run.stats["sitemap_harvest/urls"] == 4


def test_requests_of_callbacks_come_before_more_pages(serve, crawl):
    site = serve({"/s.xml": urlset("/1", "/2", "/3"), **dict.fromkeys(("/1", "/2", "/3", "/more"), "<p>A page</p>")})
    crawl(spider="entries", sitemap=f"{site.url}/s.xml", settings={"CONCURRENT_REQUESTS": 1})
    assert site.requests[-4:] == ["/1", "/2", "/more", "/3"]  # /2 was requested while /1 was read


def test_a_spider_selects_by_columns_and_has_arguments_of_its_class(serve, crawl):
    paths = [f"/{number}" for number in range(6)]
    dates = [loc(path, **({"lastmod": "2025-01-01"} if path in "/1 /2 /4 /5" else {})) for path in paths]
    site = serve({**dict.fromkeys(paths, "A page"), "/robots.txt": robots("/s.xml"), "/s.xml": entries(*dates)})
    environment = {"SITE_URL": site.url}
    run = crawl(spider="columns", environment=environment)
    assert sorted(item["url"] for item in run.items) == ["/1", "/2"]
    run = crawl(spider="columns", environment=environment, limit=5, emit="urls")
    assert sorted(item["url"] for item in run.items) == ["/1", "/2", "/4"]
    assert run.locs == [f"{site.url}{path}" for path in paths[:5]]


def test_the_ledger_names_the_sitemaps_that_the_class_did_not_select(serve, crawl):
    site = serve(SITE)
    run = crawl(spider="shops", environment={"SITE_URL": site.url}, emit="sitemaps")
    reasons = {row["url"].removeprefix(site.url): row["reason"] for row in run.ledger}
    left = "the URL does not match sitemap_follow"
    assert reasons == {
        **dict.fromkeys(("/robots.txt", "/index.xml", "/sitemap_shops.xml")),
        **dict.fromkeys(("/sitemap_other.xml", "/no-such.xml"), left),
    }
    run = crawl(spider="rewriting", environment={"SITE_URL": site.url}, emit="sitemaps")
    assert run.row(f"{site.url}/no-such.xml")["reason"] == "sitemap_filter dropped the document"
    assert "/no-such.xml" not in site.requests


def test_a_spider_without_a_callback_harvests(serve, crawl):
    site = serve(SITE)
    run = crawl(spider="harvesting", environment={"SITE_URL": site.url})
    assert run.locs == [f"{site.url}{path}" for path in ("/product/1", "/category/1", "/product/2", "/home")]
    assert set(site.requests) == {"/robots.txt", "/sitemap.xml"}


def test_the_sitemaps_of_the_class_can_be_replaced_by_arguments(serve, crawl):
    site = serve(SITE)
    run = crawl(spider="simplest", environment={"SITE_URL": site.url}, sitemap=f"{site.url}/sitemap_other.xml")
    assert sorted(item["url"] for item in run.items) == ["/home", "/shop/2"]
    assert "/sitemap.xml" not in site.requests


@pytest.mark.parametrize(
    ("spider", "arguments", "message"),
    [
        pytest.param("many", {}, "nothing to harvest: Many has no sitemap_urls, and none of the", id="no-target"),
        pytest.param("simplest", {"limit": "many"}, "argument limit='many': it must be", id="wrong"),
        pytest.param("simplest", {"_harvest": "x"}, "argument _harvest: the spider itself uses this", id="taken"),
        pytest.param("simplest", {"emit": "none,urls"}, "argument emit='none,urls': it must be", id="none-and-more"),
        pytest.param("broken", {}, "sitemap_rules: 'parse_nothing' is neither a method of Broken", id="no-callback"),
        pytest.param("wrong-url", {}, "sitemap_urls: None is not a text", id="no-text"),
        pytest.param("wrong-defaults", {}, "harvest_arguments must be a dictionary of arguments, not", id="no-dict"),
        pytest.param("wrong-rule", {}, "sitemap_rules: ('', 'parse', 'x') is not a pair of", id="no-pair"),
    ],
)
def test_errors_in_a_derived_spider_end_its_run_with_one_line(crawl, spider, arguments, message):
    run = crawl(spider=spider, calm=False, **arguments)
    (error,) = run.errors
    assert message in error
    assert "Traceback" not in run.log
    assert run.reason == "wrong_argument"


def test_a_spider_without_targets_leaves_the_output_of_the_last_run(crawl, tmp_path):
    kept = tmp_path / "kept.jsonl"
    kept.write_text("the last run\n")
    run = crawl(spider="many", options=("-O", str(kept)), calm=False)
    assert (run.reason, len(run.errors), kept.read_text()) == ("wrong_argument", 1, "the last run\n")
    assert "downloader/request_count" not in run.stats


def test_an_argument_that_is_probably_misspelt_is_reported(serve, crawl):
    site = serve(SITE)
    given = {"sitmap": "x", "domains": "y"}
    run = crawl(spider="simplest", environment={"SITE_URL": site.url}, **given)
    assert "argument sitmap: unknown, so it was set as an attribute of the spider; did you mean sitemap?" in run.log
    assert "argument domains" not in run.log
    assert len(run.items) == 4


@pytest.mark.quick
def test_a_class_that_would_break_its_base_cannot_be_run_and_affects_no_other():
    parts = {"name": "mine", "_harvest": None, "harvest": None, "parse": None}
    mine = type("Mine", (type("Between", (HarvestSpider,), parts),), {})
    with pytest.raises(TypeError, match=r"Mine defines _harvest, which HarvestSpider uses itself"):
        mine.from_crawler(get_crawler(mine))


@pytest.mark.quick
def test_a_class_must_call_the_constructor_of_its_base():
    mine = type("Mine", (HarvestSpider,), {"name": "mine", "__init__": lambda self, category=None: None})
    with pytest.raises(TypeError, match=r"^Mine\.__init__\(\) must call super\(\)\.__init__\(\*args, \*\*kwargs\)$"):
        mine.from_crawler(get_crawler(mine))


def test_a_failing_filter_ends_only_the_pages_of_its_document(serve, crawl):
    site = serve({
        **PAGES,
        "/bad.xml": entries(loc("/2004", lastmod="2004"), loc("/2005"), loc("/2024", lastmod="2024")),
        "/good.xml": entries(loc("/home", lastmod="2024")),
    })  # fmt: skip
    sitemaps = f"{site.url}/bad.xml {site.url}/good.xml"
    run = crawl(spider="failing-filter", sitemap=sitemaps, environment={"SITE_URL": site.url}, calm=False)
    assert sorted(item["url"] for item in run.items) == ["/2004", "/home"]
    (error,) = run.errors
    assert f"Spider error processing <GET {site.url}/bad.xml>" in error
    assert f"Pages not visited: sitemap_filter failed for {site.url}/bad.xml: KeyError('lastmod')" in run.log
    assert run.stats["spider_exceptions/KeyError"] == run.stats["spider_exceptions/count"] == 1
    assert run.stats["sitemap_harvest/pages_filter_failed"] == 2
    assert run.stats["sitemap_harvest/pages"] == run.stats["sitemap_harvest/urls"] - 2 == 2
    assert run.reason == "finished"


@pytest.mark.parametrize(
    ("hook", "pages", "words"),
    [
        pytest.param("visits-list", 0, "visits failed for {s}: TypeError('visits() returned [1], which is not", id="v"),
        pytest.param("visits-error", 0, "visits failed for {s}: KeyError(", id="visits-error"),
        pytest.param(
            "filter-none",
            0,
            "sitemap_filter failed for {s}: TypeError('sitemap_filter() returned None: it must yield or return",
            id="filter-none",
        ),
        pytest.param(
            "filter-text",
            0,
            "sitemap_filter failed for {s}: TypeError(\"sitemap_filter() returned 'x' as an entry, which is not a dict",
            id="filter-text",
        ),
        pytest.param("filter-whole", 1, "sitemap_filter failed for {s}: KeyError('lastmod')", id="filter-whole"),
    ],
)
def test_a_wrong_hook_is_named_and_the_document_is_read(serve, crawl, hook, pages, words):
    site = serve({**PAGES, "/s.xml": entries(loc("/2004"), loc("/2005"), loc("/2024", lastmod="2024"))})
    run = crawl(spider="wrong-hooks", hook=hook, sitemap=f"{site.url}/s.xml", emit="sitemaps", calm=False)
    assert f"Pages not visited: {words.format(s=f'{site.url}/s.xml')}" in run.log
    assert run.stats["sitemap_harvest/pages_filter_failed"] == 3 - pages
    assert run.stats.get("sitemap_harvest/pages", 0) == pages
    assert run.fates(site.url) == {"/s.xml": "read"}


@pytest.mark.parametrize(
    ("pages", "line"),
    [
        pytest.param((), "WARNING: 2 responses had an error status, such as 404, and did not reach", id="all"),
        pytest.param(("/2004",), "INFO: 1 response had an error status", id="some"),
        pytest.param(("/2004", "/2005"), None, id="none"),
    ],
)
def test_pages_with_an_error_status_are_counted_below_the_summary(serve, crawl, pages, line):
    site = serve({**dict.fromkeys(pages, "A page"), "/sitemap.xml": urlset("/2004", "/2005")})
    run = crawl(spider="simplest", environment={"SITE_URL": site.url})
    assert (line or "2 URLs from 1 document (1 read)") in run.log
    assert ("had an error status" in run.log) is (line is not None)


@pytest.mark.parametrize(
    ("allowed", "line"),
    [
        pytest.param((), "WARNING: Not sent: 2 requests for pages that robots.txt disallows (ROBOTS", id="all"),
        pytest.param(("/open",), "INFO: Not sent: 2 requests for pages that robots.txt disallows", id="some"),
    ],
)
def test_pages_that_robots_txt_disallows_are_counted_below_the_summary_without_sitemaps(serve, crawl, allowed, line):
    site = serve(
        {
            "/robots.txt": robots(disallow=["/secret"]),
            "/sitemap.xml": index("/pages.xml", "/secret/pages.xml"),
            "/pages.xml": urlset("/secret/1", "/secret/2", *allowed),
            "/open": "A page",
        }
    )
    run = crawl(spider="simplest", environment={"SITE_URL": site.url})
    assert line in run.log
    assert run.stats["robotstxt/forbidden"] == 3


def test_sitemaps_that_robots_txt_disallows_are_no_pages(serve, crawl):
    site = serve({"/robots.txt": robots(disallow=["/secret"]), "/secret.xml": urlset("/1")})
    run = crawl(sitemap=f"{site.url}/secret.xml")
    assert run.stats["robotstxt/forbidden"] == 1
    assert "for pages that robots.txt disallows" not in run.log


@pytest.mark.parametrize(
    ("spider", "pages", "pipelines", "why"),
    [
        pytest.param("simplest", ["/2004"], {"tests.crawl.parts.Fail": 1}, "a pipeline failed on items", id="pipeline"),
        pytest.param("failing-after-one", ["/2005"], {}, "the code of the spider failed", id="callback"),
        pytest.param("failing-after-one", ["/2004"], {}, None, id="an-item-is-left"),
        pytest.param("simplest", [], {}, None, id="no-page"),
    ],
)
def test_an_output_stays_if_all_items_of_callbacks_are_lost(serve, crawl, spider, pages, pipelines, why):
    site = serve({**dict.fromkeys(pages, "A page"), "/sitemap.xml": urlset(*pages)})
    (kept := crawl.folder / "kept.jsonl").write_text("old\n")
    run = crawl(
        spider=spider,
        environment={"SITE_URL": site.url},
        settings={"ITEM_PIPELINES": pipelines},
        options=("-O", str(kept)),
        calm=False,
    )
    assert (f"kept.jsonl stays as it was: {why}" in run.log) is (why is not None)
    assert (kept.read_text() == "old\n") is (why is not None)
    assert run.stats.get("sitemap_harvest/lost_items", 0) == len(pipelines)
    assert ("Pipelines failed on 1 item, which is lost: see the log above" in run.log) is bool(pipelines)


def test_robots_txt_applies_to_sitemaps_outside_allowed_domains(serve, crawl):
    pages = {
        "/robots.txt": robots(disallow=["/secret/"]),
        **dict.fromkeys(("/dated.xml", "/secret/s.xml"), SITE["/dated.xml"]),
    }
    other = serve(pages, host="127.0.0.2")
    run = crawl(spider="filtered", sitemap=f"{other.url}/dated.xml {other.url}/secret/s.xml", emit="sitemaps")
    assert run.fates(other.url) == {"/dated.xml": "read", "/secret/s.xml": "forbidden"}
    assert sorted(other.requests) == ["/dated.xml", "/robots.txt"]
    assert run.stats["offsite/filtered"] == 2  # the pages of one document
    assert "Not sent: 2 requests for hosts outside allowed_domains" in run.log
    assert "for pages that robots.txt disallows" not in run.log


def test_pages_forbidden_by_robots_txt_are_not_requested_however_many_wait_for_it(serve, crawl):
    secret = numbered(60, prefix="/secret/")
    site = serve({"/s.xml": urlset(*secret[:30], "/open", *secret[30:])})
    other = serve({"/robots.txt": Page(robots(disallow=["/secret"]), delay=0.3), "/open": "A page"}, host="127.0.0.2")
    site.pages["/s.xml"] = site.pages["/s.xml"].replace("{site}", other.url)
    run = crawl(spider="many", sitemap=f"{site.url}/s.xml", settings=_LOCAL)
    assert other.requests == ["/robots.txt", "/open"]
    assert run.stats["robotstxt/forbidden"] == 60


def test_pages_in_a_private_network_are_not_visited_and_are_counted(serve, crawl):
    site, other = serve({"/1": "A page"}), serve({"/2": "A page"})
    site.pages["/s.xml"] = urlset("/1", f"{other.url}/2", "http://localhost/3", "http://10.0.0.1/4")
    run = crawl(spider="many", sitemap=f"{site.url}/s.xml", settings={"ROBOTSTXT_OBEY": False})
    assert sorted(site.requests) == ["/1", "/s.xml"]
    assert other.requests == []
    assert run.stats["sitemap_harvest/private_addresses"] == 3


@pytest.mark.parametrize("obeys", [True, False], ids=["robots", "no-robots"])
def test_an_unreachable_page_goes_to_its_errback_or_logs_one_line(serve, crawl, obeys):
    errors = {
        "http://10.0.0.1/": "PrivateAddressError",
        "http://localhost:1/": "PrivateAddressError",
        "http://turned.test/": "PrivateAddressError",
        "http://no-such-host.invalid/": "CannotResolveHostError",
    }
    site = serve({"/1": " ".join(errors), "/s.xml": urlset("/1", "http://no-such-host.invalid/page")})
    settings = {"ROBOTSTXT_OBEY": obeys, "LOG_LEVEL": "DEBUG", **with_names({"turned.test": [["10.1.1.1"]]})}
    run = crawl(spider="linking", sitemap=f"{site.url}/s.xml", settings=settings, calm=False)
    assert sorted(map(str, run.items)) == sorted(str({"url": url, "error": error}) for url, error in errors.items())
    assert "Traceback" not in run.log
    assert sorted(re.findall(r"scraper\] ERROR: (.*)", run.log)) == [
        f"Error downloading <GET http://no-such-host.invalid/{page}>: no such host: DNS cannot resolve the name"
        for page in ("?plain", "page")
    ]
    private = [url for url, error in errors.items() if error == "PrivateAddressError"]
    reported = re.findall(r"The page was not fetched: (\S+\?plain): the host", run.log)
    assert sorted(reported) == sorted(f"{url}?plain" for url in private)


def test_pages_keep_the_crawl_delay(serve, crawl):
    site = serve({"/s.xml": urlset(*numbered(3)), "/robots.txt": "User-agent: *\nCrawl-delay: 1"})
    site.generate = lambda path: "A page"
    run = crawl(spider="many", sitemap=f"{site.url}/s.xml", settings={"EXTENSIONS": {"tests.crawl.parts.Turns": 0}})
    pages = [(at, delay) for url, at, delay in run.stats["test/turns"] if "/p" in url]
    assert [delay for _, delay in pages] == [1.0] * 3
    assert all(later - sooner > 0.999 for (sooner, _), (later, _) in pairwise(pages))


def test_retries_and_redirects_wait_for_the_crawl_delay(serve, crawl):
    site = serve({
        "/robots.txt": "User-agent: *\nCrawl-delay: 0.1\n" + robots("/s.xml", "/moved.xml", "/error.xml"),
        "/s.xml": urlset("/moved", "/error", "/last"),
        "/moved.xml": Page("", status=302, headers={"Location": "/t.xml"}), "/t.xml": urlset(),
        "/moved": Page("", status=302, headers={"Location": "/target"}), "/target": "A page", "/last": "A page",
        "/error.xml": Page("", status=500), "/error": Page("", status=500),
    })  # fmt: skip
    settings = {"EXTENSIONS": {"tests.crawl.parts.Waits": 0}, "RETRY_TIMES": 1}
    run = crawl(spider="many", site=site.url, settings=settings, calm=False)
    waits = [url.removeprefix(site.url) for url in run.stats["test/waits"]]
    assert sorted(waits) == ["/error", "/error.xml", "/t.xml", "/target"]


def test_a_slow_site_does_not_delay_the_others(serve, crawl, tmp_path):
    """The slow one answers only after all pages of the other have been requested."""
    paths = numbered(24)
    quick = serve(dict.fromkeys(paths, "A page"), host="127.0.0.2")
    is_done = threading.Event()
    waited = []

    def answer_last(headers):
        waited.append(is_done.wait(PATIENCE_SECONDS))
        return "A page"

    def answer(headers):
        if {*paths} <= {*quick.requests}:
            is_done.set()
        return "A page"

    quick.pages = dict.fromkeys(paths, answer)
    slow = serve(dict.fromkeys(paths, answer_last))
    listed = tmp_path / "list.txt"
    listed.write_text("".join(f"{site.url}{path}\n" for site in (slow, quick) for path in paths))
    settings = _LOCAL | {"DOWNLOAD_TIMEOUT": PATIENCE_SECONDS}
    run = crawl(spider="many", sitemap=listed, settings=settings, patience=2 * PATIENCE_SECONDS)
    assert waited == [True] * 24
    assert run.stats["sitemap_harvest/pages"] == 48


@pytest.mark.parametrize("is_apart", [True, False], ids=["a-sitemap-each", "one-list"])
def test_each_page_of_very_many_sites_is_visited(serve, crawl, tmp_path, is_apart):
    site = serve()
    hosts = [site.url.replace("127.0.0.1", f"n{number}.test") for number in range(150)]
    site.generate = lambda path: urlset(f"{path[5:]}/1", f"{path[5:]}/2") if path.startswith("/s?u=") else "A page"
    names = [f"{host}/s?u={host}" for host in hosts]
    listed = tmp_path / "list.txt"
    listed.write_text("".join(f"{host}/{page}\n" for host in hosts for page in (1, 2)))
    settings = {"ROBOTSTXT_OBEY": False, "TWISTED_DNS_RESOLVER": "tests.crawl.parts.LocalNames", **_LOCAL}
    settings["DOWNLOAD_TIMEOUT"] = 30  # 300 pages at once take a busy machine some time
    run = crawl(spider="slow", sitemap=" ".join(names) if is_apart else listed, settings=settings)
    assert sorted(item["url"] for item in run.items) == sorted(f"{host}/{page}" for host in hosts for page in (1, 2))


def test_pages_of_a_folder_are_pages_and_others_are_not_visited(serve, crawl, tmp_path):
    for name, body in {
        "s.xml": entries(loc("/a.html"), loc("/b/"), "<loc>https://other.example/a.html</loc>"),
        "robots.txt": robots("/s.xml"),
        "a.html": "<title>A</title>",
        "b/index.html": "<title>B</title>",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(body.replace("{site}", "https://www.example.com"))
    run = crawl(spider="titles", site="https://www.example.com", root=tmp_path)
    assert sorted(item["title"] for item in run.items) == ["A", "B"]
    assert run.stats["sitemap_harvest/pages_offsite"] == 1


def test_only_web_addresses_are_visited(serve, crawl, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    odd = (secret.as_uri(), "mailto:a@b.example", "data:text/plain,a")
    site = serve({"/a": "A page", "/s.xml": entries(loc("/a"), *(f"<loc>{address}</loc>" for address in odd))})
    run = crawl(spider="slow", sitemap=f"{site.url}/s.xml")
    assert [item["url"] for item in run.items] == [f"{site.url}/a"]
    assert run.stats["sitemap_harvest/pages"] == 1
    assert "the scheme of the URL is neither http nor https" in run.log


def test_pages_deeper_than_depth_limit_are_not_visited(serve, crawl):
    site = serve(SITE)
    run = crawl(spider="many", site=site.url, settings={"DEPTH_LIMIT": 2})
    assert run.stats["sitemap_harvest/urls"] == run.stats["sitemap_harvest/pages_too_deep"] == 6
    assert "sitemap_harvest/pages" not in run.stats
    assert crawl(spider="many", site=site.url, settings={"DEPTH_LIMIT": 3}).stats["sitemap_harvest/pages"] == 6


def test_a_run_that_ends_early_reports_the_number_of_unvisited_pages(serve, crawl):
    site = serve({"/s.xml": urlset(*numbered(3000))})
    site.generate = lambda path: "A page"
    settings = {"CLOSESPIDER_PAGECOUNT": 100, "ROBOTSTXT_OBEY": False}
    run = crawl(spider="many", sitemap=f"{site.url}/s.xml", settings=settings)
    left = 3000 - run.stats["sitemap_harvest/pages"]
    assert f"The run ended before {left:,} entries were visited" in run.log
    assert 2850 < left == run.stats["sitemap_harvest/pages_left"] < 2905


def test_a_paused_run_visits_each_page_once(serve, crawl, tmp_path):
    pages = numbered(300)
    site = serve({"/s.xml": urlset(*pages)})
    site.generate = lambda path: Page("A page", delay=0.01)
    settings = {"JOBDIR": str(tmp_path / "job"), "CLOSESPIDER_PAGECOUNT": 100, "ROBOTSTXT_OBEY": False}
    crawl(spider="many", sitemap=f"{site.url}/s.xml", settings=settings)
    first = len(site.requests)
    run = crawl(spider="many", sitemap=f"{site.url}/s.xml", settings={**settings, "CLOSESPIDER_PAGECOUNT": 0})
    assert run.reason == "finished"
    assert first < 150
    assert sorted(site.requests) == sorted([*pages, "/s.xml", "/s.xml"])
    duplicates = run.stats["dupefilter/filtered"]
    assert duplicates >= first - 1
    assert f"Not sent: {duplicates} requests that this run or an earlier one in JOBDIR had made" in run.log


def test_a_full_disk_ends_the_run_orderly(serve, crawl):
    site = serve({"/s.xml": urlset(*numbered(3000))})
    site.generate = lambda path: "A page"
    run = crawl(spider="full-disk", sitemap=f"{site.url}/s.xml", settings={"ROBOTSTXT_OBEY": False}, calm=False)
    (error,) = run.errors
    assert "the temporary file cannot be written: disk I/O error" in error
    assert run.reason == "pages_not_stored"
    stats = run.stats
    assert stats["sitemap_harvest/pages_not_stored"] > 2000
    left = stats["sitemap_harvest/pages_not_stored"] + stats.get("sitemap_harvest/pages_left", 0)
    assert left + stats.get("sitemap_harvest/pages", 0) == 3000


@pytest.mark.deep
def test_all_pages_of_four_sitemaps_are_visited(serve, crawl):
    sitemaps = {f"/s{part}.xml": urlset(*numbered(250, start=250 * part)) for part in range(4)}
    site = serve({"/index.xml": index(*sitemaps), **sitemaps})
    site.generate = lambda path: "A page"
    run = crawl(spider="many", sitemap=f"{site.url}/index.xml", settings={"ROBOTSTXT_OBEY": False})
    assert sorted(site.requests) == sorted([*numbered(1000, start=0), *sitemaps, "/index.xml"])
    assert run.stats["sitemap_harvest/pages"] == 1000


def test_memory_does_not_grow_with_waiting_entries(serve, crawl):
    sitemaps = [f"/s{part}.xml" for part in range(4)]
    site = serve({"/index.xml": index(*sitemaps)})
    for part, path in enumerate(sitemaps):
        pages = urlset(*numbered(50_000, start=50_000 * part, prefix="/products/"))
        site.pages[path] = gzipped(pages.replace("{site}", site.url))
    site.generate = lambda path: "A page"
    settings = {"CLOSESPIDER_PAGECOUNT": 500, "ROBOTSTXT_OBEY": False}
    process = crawl.start(spider="many", sitemap=f"{site.url}/index.xml", settings=settings)
    log, _ = process.communicate(timeout=PATIENCE_SECONDS)
    run = crawl.finished(process.returncode, log)
    assert run.stats["sitemap_harvest/urls"] == 200_000
    assert run.stats["sitemap_harvest/pages_left"] > 199_000
    assert run.stats["test/peak_memory_bytes"] < 250_000_000
