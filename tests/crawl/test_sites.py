"""The result of each site: found, or why nothing was; in items, stats, log; and the limits of its harvest."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from sitemap_harvest.integration import default_settings as defaults
from tests.crawl.crawling import lines
from tests.site import Manner, Page, index, moved, numbered, robots, urlset

HOME = "<!doctype html><title>Shop</title>"
CHALLENGE = "<!doctype html><title>Just a moment...</title><script src='/cdn-cgi/challenge-platform/h'></script>"
FEED = '<rss version="2.0"><channel><title>t</title><item><link>{site}/news</link></item></channel></rss>'
SITE_MAP = '<!doctype html><title>Site map</title><a href="/one">One</a> <a href="/two">Two</a>'


def feeds(crawl):
    kinds = {"urls": "UrlEntry", "ledger": "SitemapRecord", "sites": "SiteRecord"}
    return {
        f"{crawl.folder}/{name}.jsonl": {
            "format": "jsonl", "item_classes": [f"sitemap_harvest.{kind}"], "overwrite": True
        }
        for name, kind in kinds.items()
    }  # fmt: skip


@pytest.fixture
def harvest(crawl):
    """Return a function that crawls and returns the run, and the records of its sites by target."""

    def run(**arguments):
        done = crawl(feeds=feeds(crawl), **{"emit": "urls,sitemaps,sites", "calm": False, **arguments})
        return done, {row["root"]: row for row in lines(crawl.folder / "sites.jsonl")}

    return run


@pytest.mark.parametrize(
    ("pages", "result", "cause", "words"),
    [
        pytest.param({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/1")}, "found", None,
                     "1 URL in 1 document", id="found"),
        pytest.param({"/robots.txt": robots(), "/": HOME}, "absent", None, "robots.txt lists no sitemap", id="absent"),
        pytest.param({"/robots.txt": CHALLENGE, "/": CHALLENGE}, "blocked", None, "a firewall blocks the request",
                     id="challenge"),
        pytest.param({"/robots.txt": robots("/s.xml"), "/s.xml": Page(status=403), "/": HOME}, "blocked", None,
                     "/s.xml: HTTP 403", id="blocked"),
        pytest.param({"/robots.txt": robots("/s.xml", disallow=["/"])}, "forbidden", None,
                     "robots.txt disallows the URL", id="forbidden"),
        pytest.param({"/robots.txt": Page(manner=Manner.HANG)}, "unreachable", "timeout", "no response", id="hangs"),
        pytest.param({"/robots.txt": Page(manner=Manner.RESET)}, "unreachable", "connection", "lost", id="resets"),
        pytest.param({"/robots.txt": Page(status=500), "/": HOME}, "unreachable", "server-error", "HTTP 500",
                     id="broken"),
        pytest.param({}, "not-a-site", None, "there is neither a robots.txt nor a home page", id="nothing"),
    ],
)  # fmt: skip
def test_each_result_of_a_site_has_its_own_reason(serve, harvest, pages, result, cause, words):
    site = serve(pages)
    run, records = harvest(site=site.url, settings={"TEST_HANGING": site.url if cause == "timeout" else ""})
    record = records[site.url]
    assert (record["result"], record["cause"]) == (result, cause)
    assert words in record["reason"]
    assert run.stats[f"sitemap_harvest/site/{result}"] == 1
    assert result == "found" or f"{site.url}: {result}" in run.log
    assert result == "found" or record["evidence"]


@pytest.mark.parametrize(("host", "cause"), [("http://no-such-host.invalid", "dns"), ("http://127.0.0.1:9", "refused")])
def test_an_unreachable_host_is_tried_by_its_variants_and_has_a_reason(harvest, host, cause):
    run, records = harvest(site=host)
    assert (records[host]["result"], records[host]["cause"], records[host]["base"]) == ("unreachable", cause, None)
    tried = {row["url"]: row["found_by"] for row in run.ledger}
    assert tried.pop(f"{host}/robots.txt") == "argument"
    assert tried
    assert set(tried.values()) == {"variant"}
    assert run.stats[f"sitemap_harvest/site/unreachable/{cause}"] == 1


def test_the_other_scheme_is_tried_where_the_named_one_fails(serve, harvest):
    site = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/1")})
    named = site.url.replace("http://", "https://")
    run, records = harvest(site=named)
    assert run.locs == [f"{site.url}/1"]
    assert (records[named]["result"], records[named]["base"]) == ("found", site.url)
    assert run.row(f"{named}/robots.txt")["outcome"] == "failed"
    assert run.row(f"{site.url}/robots.txt")["found_by"] == "variant"


@pytest.mark.parametrize(
    ("pages", "found_by"),
    [
        pytest.param({"/wp-sitemap.xml": urlset("/one", "/two")}, "well-known", id="usual-name"),
        pytest.param({"/": HOME + '<link rel="sitemap" href="/x.xml">', "/x.xml": urlset("/one", "/two")}, "html-link",
                     id="link-of-the-home-page"),
        pytest.param({"/": Page(HOME, headers={"Link": '</x.xml>; rel="sitemap"'}), "/x.xml": urlset("/one", "/two")},
                     "http-link", id="link-header"),
        pytest.param({"/": f'{HOME}<link rel="alternate" type="application/rss+xml" href="/f">', "/f": FEED},
                     "feed-link", id="feed"),
        pytest.param({"/": HOME, "/site-map": SITE_MAP}, "well-known", id="site-map-for-people"),
        pytest.param({"/": HOME + '<a href="/all">Site map</a>', "/all": SITE_MAP}, "html-link",
                     id="site-map-that-the-home-page-links-to"),
        pytest.param({"/": HOME, "/sitemap.xml": moved("/"), "/site-map": SITE_MAP}, "well-known",
                     id="usual-name-that-leads-home"),
        pytest.param({"/": HOME + '<link rel="sitemap" href="/x.xml">', "/sitemap.xml": moved("/"),
                      "/x.xml": urlset("/one", "/two")}, "html-link", id="home-page-is-looked-at-all-the-same"),
    ],
)  # fmt: skip
def test_each_way_to_find_a_sitemap_is_tried_and_recorded(serve, harvest, pages, found_by):
    site = serve(pages)
    run, records = harvest(site=site.url)
    assert run.locs
    assert (records[site.url]["result"], records[site.url]["found_by"]) == ("found", found_by)
    assert records[site.url]["urls"] == len(run.locs)


@pytest.mark.quick
def test_soft_404_pages_are_no_sitemaps(serve, harvest):
    site = serve({"/robots.txt": robots("/gone.xml")})
    site.generate = lambda path: HOME
    run, records = harvest(site=site.url)
    assert run.urls == []
    assert records[site.url]["result"] == "absent"
    assert set(run.fates(site.url).values()) == {"read", "not-a-sitemap"}


def test_absent_sitemaps_in_robots_txt_do_not_end_the_search(serve, harvest):
    site = serve({"/robots.txt": robots("/old.xml"), "/sitemap_index.xml": index("/a.xml"), "/a.xml": urlset("/1")})
    run, records = harvest(site=site.url)
    assert run.locs == [f"{site.url}/1"]
    assert (records[site.url]["found_by"], records[site.url]["complete"]) == ("index", False)


def test_invalid_lines_are_records_too(serve, harvest, tmp_path):
    site = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/1")})
    (tmp_path / "sites.txt").write_text(f"{site.url}\nnot a site\n")
    _, records = harvest(sites=tmp_path / "sites.txt")
    assert {root: row["result"] for root, row in records.items()} == {site.url: "found", "not a site": "not-a-site"}
    assert "line 2" in records["not a site"]["reason"]


def test_two_sites_that_name_one_sitemap_are_both_found(serve, harvest):
    one, two = serve(), serve(host="127.0.0.2")
    for site in (one, two):
        site.pages["/robots.txt"] = robots(f"{one.url}/s.xml")
    one.pages["/s.xml"] = urlset("/1")
    run, records = harvest(site=f"{one.url} {two.url}", settings={"SITEMAP_HARVEST_OFFSITE": "any"})
    assert run.locs == [f"{one.url}/1"]
    assert {row["result"] for row in records.values()} == {"found"}
    assert len(one.requests) + len(two.requests) == 3


@pytest.mark.parametrize(
    ("settings", "code", "read"),
    [
        ({"SITEMAP_HARVEST_MAX_DOCUMENTS": 4}, "limit/documents", 3),
        ({"SITEMAP_HARVEST_MAX_SITE_BYTES": 1_000}, "limit/bytes", None),
        ({"SITEMAP_HARVEST_MAX_SITE_URLS": 25}, "limit/urls", 3),
        ({"SITEMAP_HARVEST_MAX_SITE_SECONDS": 1}, "limit/seconds", None),
    ],
)
def test_each_budget_of_a_site_is_a_problem_and_makes_it_incomplete(serve, harvest, settings, code, read):
    pages = {f"/{number}.xml": Page(urlset(*numbered(10, start=10 * number)), delay=0.3) for number in range(12)}
    site = serve({"/index.xml": index(*pages), **pages})
    other = serve({"/other.xml": urlset("/1")}, host="127.0.0.2")
    run, records = harvest(
        sitemap=f"{site.url}/index.xml {other.url}/other.xml",
        settings={"CONCURRENT_REQUESTS_PER_DOMAIN": 1, **settings},
    )
    record = records[f"{site.url}/index.xml"]
    assert (record["result"], record["limits"], record["complete"]) == ("found", [code], False)
    rows = [row for row in run.ledger if row["root"] == record["root"]]
    assert len(rows) == 13
    cut = [row for row in rows if row["problems"]]
    assert cut
    assert {problem["code"] for row in cut for problem in row["problems"]} == {code}
    assert {row["outcome"] for row in cut} <= {"over-limit", "partial"}
    assert not any(row["complete"] for row in cut)
    mine = [row for row in run.urls if row["site"] == site.url]
    assert len(mine) == record["urls"]
    assert read is None or len({row["sitemap"] for row in mine}) == read
    assert code != "limit/urls" or len(mine) == 25
    assert run.stats[f"sitemap_harvest/problem/{code}"] == len(cut)
    assert records[f"{other.url}/other.xml"]["complete"]


def test_a_run_that_ends_early_reports_its_sites_as_far_as_known(serve, harvest):
    site = serve({"/robots.txt": robots("/s.xml"), "/s.xml": Page(urlset("/1"), manner=Manner.HANG)})
    done = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/1")}, host="127.0.0.2")
    settings = {"EXTENSIONS": {"tests.crawl.parts.EndsAfterFirstSite": 0}}
    _, records = harvest(site=f"{site.url} {done.url}", settings=settings)
    assert (records[site.url]["result"], records[site.url]["complete"]) == ("unfinished", False)
    assert (records[done.url]["result"], records[done.url]["complete"]) == ("found", True)


@pytest.mark.quick
def test_a_short_retry_after_is_kept_and_the_request_repeated(serve, harvest):
    site = serve({"/robots.txt": robots("/a.xml", "/b.xml"), "/a.xml": urlset("/1"), "/b.xml": urlset("/2")})
    busy, at = Page(status=429, headers={"Retry-After": "2"}), []

    def answer(path):
        at.append(time.monotonic())
        return busy if len(at) == 1 else urlset("/1")

    del site.pages["/a.xml"]
    site.generate = answer
    run, records = harvest(site=site.url, settings={"RETRY_TIMES": 2})
    assert sorted(run.locs) == [f"{site.url}/1", f"{site.url}/2"]
    assert at[1] - at[0] > 1.9
    assert run.row(f"{site.url}/a.xml")["outcome"] == "read"
    assert records[site.url]["complete"]
    assert run.stats["sitemap_harvest/requeued"] == 1


def test_after_a_long_retry_after_a_server_gets_no_more_requests(serve, harvest):
    site = serve({"/robots.txt": robots("/a.xml", "/b.xml"), "/b.xml": urlset("/2")})
    site.pages["/a.xml"] = Page(status=503, headers={"Retry-After": "3600"})
    run, records = harvest(site=site.url, settings={"RETRY_TIMES": 2})
    assert site.requests == ["/robots.txt", "/a.xml"]
    assert run.row(f"{site.url}/a.xml")["outcome"] == "failed"
    row = run.row(f"{site.url}/b.xml")
    assert (row["outcome"], "longer than SITEMAP_HARVEST_MAX_WAIT (60)" in row["reason"]) == ("blocked", True)
    assert records[site.url]["result"] == "blocked"


def test_a_crawl_delay_applies_between_the_documents_of_its_host_and_no_other(serve, harvest):
    slow = serve({"/robots.txt": "User-agent: *\nCrawl-delay: 0.6\n" + robots("/1.xml", "/2.xml", "/3.xml")})
    quick = serve({"/robots.txt": robots("/1.xml", "/2.xml", "/3.xml")}, host="127.0.0.2")
    for site in (slow, quick):
        site.generate = urlset
    run, _ = harvest(site=f"{slow.url} {quick.url}", settings={"EXTENSIONS": {"tests.crawl.parts.Turns": 0}})
    assert len(run.urls) == 6
    turns = run.stats["test/turns"]
    assert [delay for url, _, delay in turns if url.startswith(quick.url)] == [0.0] * 4
    at, delays = zip(*((at, delay) for url, at, delay in turns if url.startswith(slow.url)), strict=True)
    assert delays == (0.0, 0.0, 0.6, 0.6)  # Scrapy checks the rules before the first document behind robots.txt
    assert all(later - sooner > 0.599 for sooner, later in pairwise(at[1:]))


@pytest.mark.parametrize("read_declared", [True, False])
def test_only_forbidden_documents_that_robots_txt_names_are_read_if_requested(serve, harvest, read_declared):
    other = serve({"/robots.txt": robots(disallow=["/"]), "/theirs.xml": urlset("/3")}, host="127.0.0.2")
    site = serve({
        "/robots.txt": robots("/no/index.xml", f"{other.url}/theirs.xml", disallow=["/no/"]),
        "/no/index.xml": index("/no/a.xml"), "/no/a.xml": urlset("/1"), "/no/typed.xml": urlset("/2"),
    })  # fmt: skip
    settings = {"SITEMAP_HARVEST_READ_DECLARED": read_declared, "SITEMAP_HARVEST_PRIVATE": True}
    run, records = harvest(site=site.url, sitemap=f"{site.url}/no/typed.xml", settings=settings)
    assert run.locs == ([f"{site.url}/1"] if read_declared else [])
    assert run.row(f"{site.url}/no/typed.xml")["outcome"] == "forbidden"
    assert run.row(f"{other.url}/theirs.xml")["outcome"] == "forbidden"
    assert records[site.url]["result"] == ("found" if read_declared else "forbidden")


@pytest.mark.parametrize(
    "address",
    ["http://www.example.com:port/s.xml", "http://a.example:99999/s.xml", "http://[::1/s.xml", "http://[zz]/s.xml#f",
     "http://\u2100.invalid/s.xml", "http://[::1/x#f", "http://*.invalid/s.xml", "http://user:pw@*.invalid/s.xml"],
)  # fmt: skip
def test_an_invalid_address_affects_nothing_else(serve, harvest, address):
    bad = serve({"/robots.txt": robots(address, "/i.xml"), "/i.xml": index(address, "/s.xml"), "/s.xml": urlset("/1")})
    good = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/2")}, host="127.0.0.2")
    run, records = harvest(site=f"{bad.url} {good.url}")
    assert sorted(run.locs) == [f"{bad.url}/1", f"{good.url}/2"]
    assert run.reason == "finished"
    assert "Traceback" not in run.log
    assert not run.errors
    row = run.row(address.replace("user:pw@", ""))
    assert row["outcome"] == "failed"
    assert "pw" not in row["reason"]
    assert {row["result"] for row in records.values()} == {"found"}


@pytest.mark.parametrize(
    "part",
    [
        "LeadsAway",
        "TakesTheCallback",
        "DropsSilently",
    ],
)
def test_a_document_whose_request_is_lost_in_the_project_does_not_block_the_end_of_the_run(serve, harvest, part):
    site = serve({"/robots.txt": robots("/lost.xml", "/s.xml"), "/lost.xml": urlset("/no"), "/s.xml": urlset("/1")})
    settings = {"DOWNLOADER_MIDDLEWARES": {**defaults.DOWNLOADER_MIDDLEWARES, f"tests.crawl.parts.{part}": 50}}
    run, records = harvest(site=site.url, settings=settings)
    assert run.reason == "finished"
    assert run.locs == [f"{site.url}/1"]
    row = run.row(f"{site.url}/lost.xml")
    assert (row["outcome"], row["reason"]) == ("failed", "another component dropped the request")
    assert not records[site.url]["complete"]


def test_retry_after_behind_a_redirect_applies_to_the_host_that_sent_it(serve, harvest):
    away = serve(host="127.0.0.2")
    away.generate = lambda path: Page(status=429, headers={"Retry-After": "3600"})
    site = serve({"/robots.txt": robots("/a.xml", "/b.xml", "/c.xml"), "/b.xml": urlset("/1")})
    site.pages |= {"/a.xml": moved(f"{away.url}/a.xml"), "/c.xml": moved(f"{away.url}/c.xml")}
    settings = {"SITEMAP_HARVEST_PRIVATE": True, "RETRY_TIMES": 1}
    run, _ = harvest(site=site.url, settings=settings)
    assert run.locs == [f"{site.url}/1"]
    assert run.fates(site.url) == {
        "/robots.txt": "read", "/a.xml": "blocked", "/b.xml": "read", "/c.xml": "blocked"
    }  # fmt: skip
