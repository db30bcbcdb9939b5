"""The probe: what comes of the requests for listed pages, in real crawls of a real site."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sitemap_harvest import open_store
from tests.crawl.crawling import lines
from tests.server import Manner
from tests.site import Page, gzipped, in_turn, moved, numbered, robots, urlset
from tests.waiting import wait_until

HTML = {"Content-Type": "text/html; charset=utf-8"}
PDF = Page(b"%PDF", headers={"Content-Type": "application/pdf"})


def html(title="Shop", head="", **page):
    return Page(f"<!doctype html><title>{title}</title>{head}<h1>{title}</h1>", **{"headers": HTML, **page})


@pytest.fixture
def probe(serve, crawl, tmp_path):
    """Return a function that probes a site with *pages*, and returns the records by path, the site and the run."""

    def run(pages, *, emit="pages", listed=None, disallow=(), has_head=True, **arguments):
        site = serve({"/robots.txt": robots("/s.xml", disallow=disallow), "/s.xml": urlset(*(listed or pages))})
        site.pages |= pages
        site.knows_head = has_head
        feeds = {
            f"{tmp_path}/{name}.jsonl": {"format": "jsonl", "item_classes": [f"sitemap_harvest.{kind}"]}
            for name, kind in (("pages", "PageRecord"), ("audits", "AuditSummary"))
        }
        made = crawl(spider="audit", site=site.url, emit=emit, feeds=feeds, **{"probe": "all", **arguments})
        found = lines(tmp_path / "pages.jsonl")
        return {row["url"].removeprefix(site.url): row for row in found}, site, made

    return run


def values(record, *names):
    return tuple(record[name] for name in names)


def of_pages(site):
    """Return the requests for pages, in order."""
    return [one for one in site.requests if not one.endswith(("/robots.txt", "/s.xml"))]


@pytest.mark.quick
def test_a_page_is_requested_with_head_and_an_html_page_is_seen(probe):
    head = '<meta name="robots" content="noindex"><link rel="canonical" href="/b">'
    sent = HTML | {"Last-Modified": "Wed, 18 Nov 2026 08:00:00 GMT", "X-Robots-Tag": "nofollow"}
    found, site, run = probe({"/a": html("A", head, headers=sent), "/f.pdf": PDF})
    url = f"{site.url}/a"
    a, pdf = found["/a"], found["/f.pdf"]
    assert a.pop("requested_at").startswith("20")
    assert a == {
        "site": site.url,
        "run": run.stats["sitemap_harvest/run"],
        "source": "probe",
        "url": url,
        "key": url,
        "sitemap": f"{site.url}/s.xml",
        "method": "GET",
        "status": 200,
        "error": None,
        "cause": None,
        "redirects": [],
        "redirect_statuses": [],
        "final_url": url,
        "content_type": "text/html; charset=utf-8",
        "x_robots_tag": "nofollow",
        "meta_robots": "noindex",
        "canonical": f"{site.url}/b",
        "last_modified": "2026-11-18T08:00:00+00:00",
        "title": "A",
        "soft_404": None,
        "indexable": None,
    }
    assert values(pdf, "method", "status", "content_type", "title") == ("HEAD", 200, "application/pdf", None)
    assert sorted(of_pages(site)) == ["/a", "HEAD /a", "HEAD /f.pdf"]
    assert f"Probe of {site.url}: requesting 2 of 2 listed pages (seed 0)" in run.log
    stats = {name.removeprefix("sitemap_harvest/probe/"): n for name, n in run.stats.items() if "/probe/" in name}
    assert stats == {"sample": 2, "requests": 3, "pages": 2, "status/200": 2}


def test_get_follows_where_head_fails(probe):
    pages = {"/a": PDF, "/b": PDF, "/c": Page(status=404), "/d": Page(status=500)}
    found, site, _ = probe(pages | dict.fromkeys(numbered(50), PDF), has_head=False)
    assert {path: values(row, "method", "status") for path, row in found.items() if path in pages} == {
        "/a": ("GET", 200),
        "/b": ("GET", 200),
        "/c": ("GET", 404),
        "/d": ("GET", 500),
    }
    assert len([one for one in site.requests if one.startswith("HEAD")]) < 20  # the host does not support it


def test_redirects_are_followed_and_recorded(probe):
    pages = {
        "/a": moved("{site}/b?x=ä"),
        "/b?x=%C3%A4": Page(status=302, headers={"Location": "c?\xc3\xa4#part"}),  # as UTF-8
        "/c?%C3%A4": PDF,
        "/loop": moved("/loop2"),
        "/loop2": moved("/loop"),
        "/self": moved("/self"),
        "/gone": moved("/missing"),
        "/mail": moved("mailto:a@b.example"),
        "/nowhere": Page(status=301),
        "/bad": moved("http://[::1"),
        **{f"/far{n}": moved(f"/far{n + 1}") for n in range(12)},
    }
    listed = ["/a", "/loop", "/self", "/gone", "/mail", "/nowhere", "/bad", "/far0"]
    found, site, _ = probe(pages, listed=listed)
    s = site.url
    facts = ("status", "redirects", "redirect_statuses", "final_url", "error", "cause")
    assert values(found["/a"], *facts) == (200, [f"{s}/b?x=ä", f"{s}/c?ä"], [301, 302], f"{s}/c?%C3%A4", None, None)
    loop = f"redirect loop: it leads back to {s}/loop"
    assert values(found["/loop"], *facts) == (None, [f"{s}/loop2", f"{s}/loop"], [301, 301], None, loop, "server-error")
    assert values(found["/self"], *facts[:2]) == (None, [f"{s}/self"])
    assert values(found["/gone"], *facts) == (404, [f"{s}/missing"], [301], f"{s}/missing", None, None)
    assert values(found["/mail"], "status", "error") == (
        None,
        "it redirects to mailto:a@b.example, which is no http or https URL",
    )
    assert values(found["/nowhere"], *facts) == (301, [], [], f"{s}/nowhere", None, None)
    assert values(found["/bad"], "status", "redirects") == (None, ["http://[::1"])
    assert found["/bad"]["error"].startswith("the URL cannot be requested: ")
    assert values(found["/far0"], "status", "error") == (None, "more than 10 redirects")


def test_robots_txt_is_obeyed_for_pages_and_for_targets_of_redirects(probe):
    found, site, run = probe({"/a/no": PDF, "/b": moved("/a/no"), "/c": PDF}, disallow=["/a/"])
    forbidden = "robots.txt disallows the URL"
    assert values(found["/a/no"], "status", "error", "cause", "requested_at", "method") == (
        None,
        forbidden,
        None,
        None,
        None,
    )
    assert values(found["/b"], "status", "error", "redirects") == (None, forbidden, [f"{site.url}/a/no"])
    assert found["/b"]["requested_at"]
    assert found["/c"]["status"] == 200
    assert "HEAD /a/no" not in site.requests
    assert run.stats["sitemap_harvest/probe/not_requested"] == 1
    assert "3 pages: 2 requested, 1 disallowed by robots.txt" in run.log


def test_failures_are_text_with_a_cause(probe, serve):
    other, down = serve({}), serve({})
    down.stop()
    found, _, run = probe(
        {
            "/reset": Page(manner=Manner.RESET),
            "/hang": Page(manner=Manner.HANG),
            "/garbage": Page(b"nothing\r\n\r\n", manner=Manner.GARBAGE),
            "/down": moved(down.url),
            "/tls": moved(other.url.replace("http:", "https:")),
            "/dns": moved("http://nowhere.invalid/"),
        },
        settings={"DOWNLOAD_TIMEOUT": 1, "RETRY_TIMES": 0, "SITEMAP_HARVEST_PRIVATE": True},
    )
    assert {path: values(row, "status", "cause", "method") for path, row in found.items()} == {
        "/reset": (None, "connection", "GET"),
        "/hang": (None, "timeout", "GET"),
        "/garbage": (None, "not-http", "GET"),
        "/down": (None, "refused", "HEAD"),
        "/tls": (None, "tls", "HEAD"),
        "/dns": (None, "dns", "HEAD"),
    }
    assert found["/hang"]["error"] == "no response within the timeout"
    assert run.stats["sitemap_harvest/probe/failed/timeout"] == 1


def test_a_redirect_to_a_private_address_is_not_followed(probe, serve):
    other = serve({"/": PDF})
    found, _, _ = probe({"/a": moved(other.url)})
    assert values(found["/a"], "status", "cause", "redirects") == (None, "private", [f"{other.url}"])
    assert other.requests == []


def test_a_host_that_does_not_respond_gets_no_more_requests(probe):
    pages = dict.fromkeys(numbered(30), Page(manner=Manner.CLOSE))
    settings = {"RETRY_TIMES": 0, "SITEMAP_HARVEST_MAX_UNANSWERED": 4}
    found, _, _ = probe(pages, settings=settings)
    assert len(found) == 30
    left_out = [row for row in found.values() if row["requested_at"] is None]
    assert {row["cause"] for row in left_out} == {"connection"}
    assert left_out[0]["error"].startswith("the host failed to respond 4 times in a row: the connection ")
    assert 1 <= len(left_out) < 30


def test_a_long_page_is_read_up_to_a_limit(probe):
    found, _, run = probe(
        {
            "/endless": html("Endless", manner=Manner.ENDLESS),
            "/large": Page("<title>Large</title>" + "x" * 3_000_000, headers=HTML),
            "/video": Page(b"x" * 3_000_000, headers={"Content-Type": "video/mp4"}),
            "/cut": html("Cut", '<meta name="robots" content="noindex">' + " " * 1000, manner=Manner.CUT),
        },
        has_head=False,
        settings={"DOWNLOAD_MAXSIZE": 1_000_000},
    )
    assert {path: values(row, "status", "title", "error") for path, row in found.items()} == {
        "/endless": (200, "Endless", None),
        "/large": (200, "Large", None),
        "/video": (200, None, None),
        "/cut": (200, "Cut", None),
    }
    assert found["/cut"]["meta_robots"] == "noindex"
    assert run.stats["downloader/response_bytes"] < 3_000_000


def test_compressed_pages_and_other_encodings_are_read(probe):
    title = "Größe"
    packed = {"Content-Type": "text/html", "Content-Encoding": "gzip"}
    latin = {"Content-Type": "text/html; charset=iso-8859-1"}
    found, _, _ = probe(
        {
            "/gzip": Page(gzipped(f'<meta charset="utf-8"><title>{title}</title>'), headers=packed),
            "/cut": Page(
                gzipped(f"<title>{title}</title>" + "".join(numbered(1000))), headers=packed, manner=Manner.CUT
            ),
            "/bomb": Page(gzipped("<title>Bomb</title>" + " " * 50_000_000), headers=packed),
            "/latin": Page(f"<title>{title}</title>".encode("latin-1"), headers=latin),
            "/wide": Page(f"<title>{title}</title>".encode("utf-16"), headers={"Content-Type": "text/html"}),
            "/no-type": Page(f"<title>{title}</title>"),
        }
    )
    titles = {path: row["title"] for path, row in found.items()}
    assert titles == dict.fromkeys(titles, title) | {"/bomb": "Bomb"}


def test_pages_that_say_that_there_is_nothing(probe):
    found, _, _ = probe(
        {
            "/en": html("Page not found | Shop"),
            "/de": html("Shop", "<h1>Seite nicht gefunden</h1>"),
            "/real": html("Page not found", status=404),
            "/book": html("Not found: a novel"),
        }
    )
    assert {path: row["soft_404"] for path, row in found.items()} == {
        "/en": "Page not found | Shop",
        "/de": "Seite nicht gefunden",
        "/real": None,
        "/book": None,
    }


def test_the_page_of_a_firewall_is_no_page_of_the_site(probe):
    page = html("Just a moment...", "<script src=/cdn-cgi/challenge-platform/x></script>", status=403)
    found, _, _ = probe({"/a": page})
    assert values(found["/a"], "status", "error") == (403, "a firewall blocks the request: Cloudflare")


def test_several_headers_and_meta_elements(probe):
    head = '<meta name="robots" content="all"><meta name="googlebot" content="noindex">'
    headers = HTML | {
        "Link": '<{site}/next>; rel="next", <{site}/other>; rel="canonical"',
        "Last-Modified": "yesterday",
    }
    found, site, _ = probe({"/a": html("A", head, headers=headers)})
    assert values(found["/a"], "meta_robots", "canonical", "last_modified") == (
        "all, googlebot: noindex",
        f"{site.url}/other",
        None,
    )


def test_a_sample_is_requested_with_its_seed(probe):
    pages = dict.fromkeys(numbered(60), PDF)
    found, site, run = probe(pages, probe=10, probe_seed=7)
    assert len(found) == len(of_pages(site)) == 10
    assert f"Probe of {site.url}: requesting 10 of 60 listed pages (seed 7)" in run.log


def test_the_crawl_delay_of_the_site_applies_to_each_request_for_a_page(probe):
    """A page takes two requests: GET comes after the delay too."""
    pages = {
        "/robots.txt": robots("/s.xml").replace("Sitemap", "Crawl-delay: 1\n\nSitemap"),
        "/a": html(),
        "/b": html(),
    }
    _, site, _ = probe(pages, listed=["/a", "/b"])
    times = [time for time, request in site.times if request.endswith(("/a", "/b"))]
    assert len(times) == 4
    assert all(later - earlier > 0.9 for earlier, later in pairwise(times))


def test_pages_are_kept_with_the_run(probe, tmp_path):
    found, site, _ = probe({"/a": PDF, "/b": PDF}, emit="none", store=tmp_path / "store")
    assert found == {}
    snapshot = open_store(tmp_path / "store").latest(site.url)
    assert sorted(snapshot.pages()["url"].to_pylist()) == [f"{site.url}/a", f"{site.url}/b"]
    assert snapshot.run.probe == {"listed": 2, "left_out": 0, "sample": 2, "seed": 0}


def test_a_stored_run_is_probed_without_reading_a_sitemap(probe, crawl, tmp_path):
    _, site, _ = probe({"/a": PDF, "/b": PDF}, emit="none", store=tmp_path / "store", probe=1)
    site.requests.clear()
    site.pages["/b"] = Page(status=404)
    run = crawl(spider="audit", site=site.url, emit="none", store=tmp_path / "store", at="latest", probe="all")
    assert sorted(site.requests) == ["/b", "/robots.txt", "HEAD /a", "HEAD /b"]
    history = open_store(tmp_path / "store").site(site.url)
    assert len(history.runs) == 1
    statuses = history.at("latest").pages().select(["url", "status"]).to_pylist()
    assert {row["url"].removeprefix(site.url): row["status"] for row in statuses} == {"/a": 200, "/b": 404}
    assert run.stats["finish_reason"] == "finished"


def test_the_stored_pages_of_a_run_that_ends_early_remain(probe, tmp_path):
    pages = dict.fromkeys(numbered(100), PDF)
    settings = {"CLOSESPIDER_ITEMCOUNT": 5, "CONCURRENT_REQUESTS_PER_DOMAIN": 2}
    found, site, run = probe(pages, emit="pages", store=tmp_path / "store", settings=settings)
    assert run.stats["finish_reason"] == "closespider_itemcount"
    snapshot = open_store(tmp_path / "store").latest(site.url)
    assert 5 <= len(found) < 100
    assert len(snapshot.pages()) == len(found) == run.stats["sitemap_harvest/probe/pages"]
    assert snapshot.run.probe["sample"] == 100
    assert f"Probe of {site.url}: the run ended after {len(found)} of 100 pages" in run.log


def test_a_local_folder_is_probed_without_a_network(crawl, tmp_path):
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "sitemap.xml").write_text(urlset("/a.html", "/b").replace("{site}", "https://a.example"))
    (tmp_path / "public" / "a.html").write_text("<title>A</title>")
    feeds = {f"{tmp_path}/pages.jsonl": {"format": "jsonl", "item_classes": ["sitemap_harvest.PageRecord"]}}
    crawl(spider="audit", site="https://a.example", root=tmp_path / "public", probe="all", emit="pages", feeds=feeds)
    found = {row["url"]: values(row, "status", "title", "error") for row in lines(tmp_path / "pages.jsonl")}
    assert found == {"https://a.example/a.html": (200, "A", None), "https://a.example/b": (404, None, None)}


def test_sites_are_audited_when_their_pages_are_in(probe, tmp_path):
    _, site, run = probe({"/a": PDF, "/b": Page(status=404)}, emit="findings,audits")
    (audit,) = lines(tmp_path / "audits.jsonl")
    assert audit["site"] == site.url
    assert run.log.index("Probe of ") < run.log.index("Audit of ")


def test_a_killed_probe_says_how_many_pages_it_looked_at(serve, crawl, tmp_path):
    hanging = Page(manner=Manner.HANG)
    site = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/a", "/b"), "/a": hanging, "/b": hanging})
    site.knows_head = True
    with crawl.running(spider="audit", site=site.url, store=tmp_path / "store", probe="all", emit="none"):
        wait_until(lambda: "HEAD /a" in site.requests or "HEAD /b" in site.requests)
    audits = {f"{tmp_path}/audits.jsonl": {"format": "jsonl", "item_classes": ["sitemap_harvest.AuditSummary"]}}
    crawl(spider="audit", site=site.url, store=tmp_path / "store", at="latest", emit="audits", feeds=audits)
    (audit,) = lines(tmp_path / "audits.jsonl")
    assert values(audit, "sampled_pages", "probed_pages", "probe_seed") == (2, 0, 0)


def test_a_site_that_another_run_has_locked_is_not_probed(serve, crawl, tmp_path):
    site = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/a"), "/a": Page(manner=Manner.HANG)})
    site.knows_head = True
    facts = {"site": site.url, "store": tmp_path / "store", "probe": "all", "emit": "none"}
    with crawl.running(spider="audit", **facts):
        wait_until(lambda: "HEAD /a" in site.requests)
        run = crawl(spider="audit", at="latest", **facts, calm=False)
    assert f"The probe of {site.url} failed: the run " in run.log
    assert " is harvesting the site into the same store" in run.log
    assert site.count("HEAD /a") == 1


def test_several_sites_are_probed_and_audited_each(serve, crawl, tmp_path):
    sites = [
        serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset(*paths), **dict.fromkeys(paths, PDF)})
        for paths in (numbered(3), numbered(20), numbered(1))
    ]
    (tmp_path / "sites.txt").write_text("\n".join(site.url for site in sites))
    audits = {f"{tmp_path}/audits.jsonl": {"format": "jsonl", "item_classes": ["sitemap_harvest.AuditSummary"]}}
    crawl(spider="audit", sites=tmp_path / "sites.txt", probe=5, emit="audits", feeds=audits)
    found = {row["site"]: values(row, "sampled_pages", "probed_pages") for row in lines(tmp_path / "audits.jsonl")}
    assert found == {site.url: (size, size) for site, size in zip(sites, (3, 5, 1), strict=True)}


def test_requests_that_another_component_drops_get_a_record(probe):
    settings = {"DOWNLOADER_MIDDLEWARES": {"tests.crawl.parts.DropHead": 1}}
    found, _, _ = probe({"/a": PDF}, settings=settings)
    assert values(found["/a"], "status", "error", "requested_at") == (
        None,
        "another component of the project dropped the request",
        None,
    )


def test_a_probe_of_a_site_without_pages_ends(probe):
    found, _, run = probe({}, listed=[])
    assert found == {}
    assert "requesting 0 of 0 listed pages" in run.log


def test_a_wait_that_the_server_requires_is_kept_before_get(probe):
    busy = Page(status=429, headers={"Retry-After": "1"})
    found, site, _ = probe({"/a": in_turn(busy, PDF)})
    assert values(found["/a"], "status", "method") == (200, "GET")
    (first, _), (second, _) = [one for one in site.times if one[1].endswith("/a")]
    assert second - first > 0.9


def test_a_page_whose_request_never_reaches_scrapy_gets_a_record(probe):
    """Scrapy's spider middleware drops requests with long URLs silently."""
    long = "/" + "x" * 2_100
    found, _, run = probe({"/a": PDF, long: PDF})
    reason = "the URL cannot be requested: it is longer than URLLENGTH_LIMIT (2,083 characters)"
    assert {path[:2]: values(row, "status", "error", "requested_at") for path, row in found.items()} == {
        "/a": (200, None, found["/a"]["requested_at"]),
        "/x": (None, reason, None),
    }
    assert f"2 pages: 1 requested, 1 not requested (because {reason})\n" in run.log
