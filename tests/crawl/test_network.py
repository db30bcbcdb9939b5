"""Servers that are slow, lie, abort or speak another protocol; hosts that hang; and endless trees."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread

import pytest

from sitemap_harvest import Outcome
from tests import forked
from tests.certificates import self_signed
from tests.crawl.crawling import lines
from tests.network import Network, Sort
from tests.site import Manner, Page, in_turn, index, moved, numbered, robots, urlset
from tests.waiting import PATIENCE_SECONDS, wait_until

LISTED = numbered(40, prefix="/a-path-that-is-long-enough-to-be-cut-somewhere/")
BAD = {  # the manner of serving, the outcome, its cause, and words of the reason
    "/drip.xml": (Manner.DRIP, "failed", "timeout", "no response within the timeout"),
    "/garbage.xml": (Manner.GARBAGE, "failed", "not-http", "the server does not speak HTTP"),
    "/close.xml": (Manner.CLOSE, "failed", "connection", "Connection was closed cleanly"),
    "/reset.xml": (Manner.RESET, "failed", "connection", "Connection to the other side was lost"),
    "/longer.xml": (Manner.LIES_LONGER, "partial", None, "the connection was closed early"),
    "/shorter.xml": (Manner.LIES_SHORTER, "partial", None, "xml/truncated"),
    "/endless.xml": (Manner.ENDLESS, "too-large", None, "the document is larger than DOWNLOAD_MAXSIZE"),
}


@pytest.fixture
def harvest(crawl):
    """Return a function that crawls and returns the run and the results of its sites by target."""

    def run(**arguments):
        records = {"format": "jsonl", "item_classes": ["sitemap_harvest.SiteRecord"]}
        feeds = {**crawl.feeds(), f"{crawl.folder}/sites.jsonl": records}
        for file in feeds:  # a run that reads nothing leaves them as they are
            Path(file).unlink(missing_ok=True)
        done = crawl(emit="urls,sitemaps,sites", feeds=feeds, calm=False, **arguments)
        assert "Traceback" not in done.log, done.log
        return done, {row["root"]: row for row in lines(crawl.folder / "sites.jsonl")}

    return run


def test_each_manner_of_bad_serving_has_its_outcome_and_invents_nothing(serve, crawl):
    pages = {path: Page(urlset(*LISTED), manner=manner) for path, (manner, *_) in BAD.items()}
    site = serve({"/index.xml": index(*BAD, "/good.xml"), "/good.xml": urlset("/1"), **pages})
    run = crawl(
        sitemap=f"{site.url}/index.xml",
        settings={"DOWNLOAD_MAXSIZE": 1_000_000, "TEST_HANGING": "/drip.xml"},
        calm=False,
    )
    assert "Traceback" not in run.log, run.log
    assert "DOWNLOAD_FAIL_ON_DATALOSS" not in run.log  # its advice would change nothing
    for path, (_, outcome, cause, words) in BAD.items():
        row = run.row(f"{site.url}{path}")
        assert (path, row["outcome"], row["cause"], row["complete"]) == (path, outcome, cause, False)
        assert words in row["reason"]
    listed = defaultdict(list)
    for row in run.urls:
        listed[row["sitemap"].removeprefix(site.url)].append(row["loc"].removeprefix(site.url))
    half = listed["/shorter.xml"]
    assert 15 < len(half) < 25
    assert listed == {"/good.xml": ["/1"], "/longer.xml": LISTED, "/shorter.xml": LISTED[: len(half)]}


@pytest.mark.parametrize(
    ("manner", "result", "cause"),
    [
        (Manner.DRIP, "unreachable", "timeout"),
        (Manner.HANG, "unreachable", "timeout"),
        (Manner.GARBAGE, "not-a-site", None),
        (Manner.CLOSE, "unreachable", "connection"),
    ],
)
def test_a_badly_served_robots_txt_has_its_result_and_delays_no_other_site(serve, harvest, manner, result, cause):
    bad = serve({"/robots.txt": Page(robots("/a.xml", "/b.xml"), manner=manner)}, host="127.0.0.2")
    site = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/1")})
    run, records = harvest(
        site=f"{bad.url} {site.url}", settings={"TEST_HANGING": bad.url if cause == "timeout" else ""}
    )
    assert run.locs == [f"{site.url}/1"]
    assert (records[site.url]["result"], records[site.url]["complete"]) == ("found", True)
    assert (records[bad.url]["result"], records[bad.url]["cause"]) == (result, cause)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("another.example", "TLS failed: the certificate is for another host", id="another-host"),
        pytest.param("127.0.0.1", "certificate verify failed", id="self-signed"),
    ],
)
def test_an_invalid_certificate_fails_only_if_certificates_are_verified(serve, harvest, name, words):
    site = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/1")}, tls=self_signed(name))
    assert site.url.startswith("https://")
    run, records = harvest(site=site.url)
    assert (run.locs, records[site.url]["result"]) == ([f"{site.url}/1"], "found")

    run, records = harvest(site=site.url, settings={"DOWNLOAD_VERIFY_CERTIFICATES": True})
    row = run.row(f"{site.url}/robots.txt")
    assert (row["outcome"], row["cause"], row["reason"].partition(":")[0]) == ("failed", "tls", "TLS failed")
    assert words in row["reason"]
    assert (records[site.url]["result"], records[site.url]["cause"]) == ("unreachable", "tls")
    assert run.urls == []


def test_a_wrong_scheme_fails_and_is_named(serve, crawl):
    secure, plain = serve({"/s.xml": urlset("/1")}, tls=self_signed()), serve({"/s.xml": urlset("/2")})
    wrong = [plain.url.replace("http:", "https:"), secure.url.replace("https:", "http:")]
    run = crawl(sitemap=" ".join(f"{url}/s.xml" for url in (*wrong, secure.url, plain.url)), calm=False)
    assert sorted(run.locs) == [f"{plain.url}/2", f"{secure.url}/1"]
    rows = [run.row(f"{url}/s.xml") for url in wrong]
    assert [(row["outcome"], row["cause"]) for row in rows] == [("failed", "tls"), ("failed", "connection")]
    assert rows[0]["reason"] == "TLS failed: the server does not speak TLS; the URL may need http://"
    assert rows[1]["reason"].startswith("the connection failed: ")


def test_a_server_that_closes_the_connection_may_need_http(crawl):
    with ThreadingTCPServer(("127.0.0.1", 0), BaseRequestHandler) as server:  # closes each at once
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_address[1]}/s.xml"
        run = crawl(sitemap=f"https://{address} http://{address}", settings={"RETRY_ENABLED": False}, calm=False)
        server.shutdown()
    secure, plain = (run.row(f"{scheme}://{address}")["reason"] for scheme in ("https", "http"))
    assert secure.startswith("the connection failed: ")
    assert secure.endswith("; the URL may need http://")
    assert "may need" not in plain


@pytest.mark.quick
def test_a_redirect_from_https_to_http_is_followed_on_the_same_host(serve, crawl):
    plain = serve({"/s.xml": urlset("/1")})
    secure = serve({"/robots.txt": robots("/s.xml"), "/s.xml": moved(f"{plain.url}/s.xml")}, tls=self_signed())
    run = crawl(site=secure.url, settings={"SITEMAP_HARVEST_PRIVATE": True})
    assert run.locs == [f"{plain.url}/1"]
    row = run.row(f"{secure.url}/s.xml")
    assert (row["outcome"], row["final_url"]) == ("read", f"{plain.url}/s.xml")


def test_hosts_that_redirect_to_each_other_end_and_others_are_read(serve, crawl):
    one, two = serve(), serve(host="127.0.0.2")
    one.generate, two.generate = lambda path: moved(f"{two.url}{path}"), lambda path: moved(f"{one.url}{path}")
    good = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/1")}, host="127.0.0.3")
    run = crawl(site=f"{one.url} {two.url} {good.url}", settings={"REDIRECT_MAX_TIMES": 5}, calm=False)
    assert run.locs == [f"{good.url}/1"]
    for site in (one, two):
        row = run.row(f"{site.url}/robots.txt")
        assert row["outcome"] == "failed"
        assert row["reason"] == "too many redirects"
    assert len(one.requests) + len(two.requests) < 100


@pytest.mark.parametrize("home", ["/", "/index.xml", "/robots.txt"], ids=["home", "parent", "robots"])
def test_children_that_redirect_to_one_place_give_nothing_and_are_requested_once(serve, crawl, home):
    paths = [f"/{number}.xml" for number in range(5)]
    site = serve({"/robots.txt": robots("/index.xml"), "/index.xml": index(*paths, "/good.xml"),
                  "/good.xml": urlset("/1"), "/": "<!doctype html><title>Home</title><a href='/no.xml'>no</a>",
                  **{path: moved(home) for path in paths}})  # fmt: skip
    run = crawl(site=site.url)
    assert run.locs == [f"{site.url}/1"]
    fates = {run.fates(site.url)[path] for path in paths}
    assert fates == ({"not-a-sitemap"} if home == "/" else {"skipped"})
    assert [site.count(path) for path in paths] == [1] * 5
    assert site.count("/no.xml") == 0


def test_a_request_is_retried_after_too_many_requests(serve, crawl):
    busy = Page(status=429, headers={"Retry-After": "1"})
    site = serve({"/robots.txt": robots("/s.xml"), "/s.xml": in_turn(busy, urlset("/1"))})
    run = crawl(site=site.url, settings={"RETRY_TIMES": 2})
    assert run.locs == [f"{site.url}/1"]
    assert run.row(f"{site.url}/s.xml")["outcome"] == "read"
    assert site.requests == ["/robots.txt", "/s.xml", "/s.xml"]


def test_a_server_that_varies_by_user_agent_is_read_as_served_to_us(serve, crawl):
    def for_us(headers):
        return urlset("/1") if "sitemap_harvest" in headers["User-Agent"] else Page(status=403)

    site = serve({"/s.xml": for_us})
    assert crawl(sitemap=f"{site.url}/s.xml").locs == [f"{site.url}/1"]
    run = crawl(sitemap=f"{site.url}/s.xml", settings={"USER_AGENT": "Another/1.0"})
    assert run.row(f"{site.url}/s.xml")["outcome"] == "blocked"


def test_hanging_hosts_do_not_delay_others(serve, crawl):
    """All documents of the other hosts are read while twenty hosts hang; the run ends when these time out."""
    hanging = [serve({"/robots.txt": Page(manner=Manner.HANG)}, host=f"127.0.1.{number}") for number in range(1, 21)]
    good = [serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/1")}, host=f"127.0.2.{n}") for n in range(1, 11)]
    sites = " ".join(site.url for site in hanging + good)
    process = crawl.start(site=sites, settings={"DOWNLOAD_TIMEOUT": 2 * PATIENCE_SECONDS})
    try:
        wait_until(lambda: all(site.count("/s.xml") for site in good))
        assert [site.count("/s.xml") for site in good] == [1] * len(good)
        for site in hanging:
            site.stop()
        log, _ = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
        process.communicate()
    run = crawl.finished(process.returncode, log, calm=False)
    assert sorted(run.locs) == sorted(f"{site.url}/1" for site in good)
    assert {run.row(f"{site.url}/robots.txt")["outcome"] for site in hanging} == {"failed"}


def test_each_of_many_hosts_gives_its_urls_whatever_the_others_do(harvest, tmp_path):
    sites = tmp_path / "sites.txt"
    with Network(100, hanging=3, refusing=5) as network:
        assert {host.sort for host in network.hosts} == set(Sort)
        sites.write_text("\n".join(host.url for host in network.hosts))
        hanging = ",".join(host.url for host in network.of(Sort.HANGING))
        run, records = harvest(sites=sites, settings={"TEST_HANGING": hanging})
    assert network.differences(sites=records.values(), ledger=run.ledger, locs=run.locs) == {}
    assert run.reason == "finished"
    counts = Counter(url for _, url in network.requests)
    leads_to = {host.target.url for host in network.of(Sort.ALIAS) if host.target}
    once = [f"{host.url}/robots.txt" for host in network.hosts if host.sort is not Sort.REFUSING]
    assert {counts[url] for url in once if not url.startswith(tuple(leads_to))} == {1}


@pytest.mark.parametrize("kept", [(), ("-a", "store=snapshots")], ids=["read", "kept"])
def test_many_hosts_are_requested_with_few_open_files_allowed(tmp_path, kept):
    with Network(500, hanging=0, refusing=0) as network:
        (tmp_path / "sites.txt").write_text("\n".join(host.url for host in network.hosts))
        feeds = {
            "sites.jsonl": {"format": "jsonl", "item_classes": ["sitemap_harvest.SiteRecord"]},
            "ledger.jsonl": {"format": "jsonl", "item_classes": ["sitemap_harvest.SitemapRecord"]},
            "urls.jsonl": {"format": "jsonl", "item_classes": ["sitemap_harvest.UrlEntry"]},
        }
        arguments = (
            "-a",
            "sites=sites.txt",
            "-a",
            "emit=urls,sitemaps,sites",
            "-s",
            f"FEEDS={json.dumps(feeds)}",
            *kept,
        )
        run = forked.scrapy("harvest", "crawl", *arguments, cwd=tmp_path, open_files=320)
    found = {name: lines(tmp_path / f"{name}.jsonl") for name in ("sites", "ledger", "urls")}
    locs = [row["loc"] for row in found["urls"]]
    assert network.differences(sites=found["sites"], ledger=found["ledger"], locs=locs) == {}, run.stderr


def test_an_index_whose_children_have_a_new_name_each_time_ends(serve, crawl):
    """Each response names two more copies under new names: without a limit, that is a thousand."""
    names = iter(range(1_000_000))
    site = serve()
    site.generate = lambda path: (
        index(*(f"/index.xml?session={next(names)}" for _ in range(2))) if "index" in path else None
    )
    run = crawl(sitemap=f"{site.url}/index.xml", settings={"SITEMAP_HARVEST_MAX_DOCUMENTS": 40})
    fates = Counter(run.fates(site.url).values())
    assert fates == {"read": 40, "over-limit": 41}
    assert len(site.requests) == 41  # with robots.txt

    run = crawl(sitemap=f"{site.url}/index.xml", settings={"SITEMAP_HARVEST_MAX_DEPTH": 3})
    fates = Counter(run.fates(site.url).values())
    assert fates == {"read": 1 + 2 + 4 + 8, "over-limit": 16}


def test_a_thousand_of_the_children_above_the_limit_have_a_row_and_memory_stays_flat(serve, crawl):
    children = [f"/child-{number}.xml" for number in range(50_000)]
    site = serve({"/index.xml": index(*children)})
    site.generate = lambda path: urlset(f"{path}/1") if "child" in path else None
    settings = {"SITEMAP_HARVEST_MAX_DOCUMENTS": 300, "MEMUSAGE_CHECK_INTERVAL_SECONDS": 0.5}
    run = crawl(sitemap=f"{site.url}/index.xml", settings=settings, patience=240)
    fates = run.fates(site.url)
    assert fates.keys() == {"/index.xml", *children[: 299 + 1_000]}
    assert Counter(fates.values()) == {"read": 300, "over-limit": 1_000}
    assert len(run.locs) == 299
    assert run.stats["memusage/max"] - run.stats["memusage/startup"] < 100 * 1024 * 1024


SPECIMENS = {
    Outcome.READ: "/read.xml",
    Outcome.PARTIAL: "/partial.xml",
    Outcome.SKIPPED: "/skipped.xml",
    Outcome.ABSENT: "/absent.xml",
    Outcome.BLOCKED: "/blocked.xml",
    Outcome.FORBIDDEN: "/forbidden.xml",
    Outcome.FAILED: "/failed.xml",
    Outcome.NOT_A_SITEMAP: "/page.xml",
    Outcome.TOO_LARGE: "/large.xml",
    Outcome.OUT_OF_SCOPE: "http://127.0.0.9/elsewhere.xml",
    Outcome.OVER_LIMIT: "/deeper.xml",
}


def test_every_outcome_occurs_in_one_crawl_with_its_own_reason(serve, crawl):
    site = serve({
        "/robots.txt": robots("/index.xml", disallow=["/forbidden"]),
        "/index.xml": index(*[path for word, path in SPECIMENS.items() if word is not Outcome.OVER_LIMIT], "/in.xml"),
        "/in.xml": index("/deeper.xml"),
        "/read.xml": urlset("/1"),
        "/partial.xml": urlset("/2", "/3")[:-30],
        "/blocked.xml": Page(status=403),
        "/failed.xml": Page(status=500),
        "/page.xml": "<!doctype html><title>Welcome</title>",
        "/large.xml": urlset(*numbered(3_000, prefix="/a-rather-long-path-to-fill-the-file/")),
    })  # fmt: skip
    settings = {"SITEMAP_HARVEST_MAX_DEPTH": 2, "DOWNLOAD_MAXSIZE": 100_000}
    run = crawl(site=site.url, skip="skipped", settings=settings, calm=False)
    fates = run.fates(site.url)
    assert {path: fates[path] for path in SPECIMENS.values()} == {path: word for word, path in SPECIMENS.items()}
    others = {Outcome.UNCHANGED, Outcome.INTERRUPTED}  # which need an earlier run, and a run that ends early
    assert set(Outcome) - set(fates.values()) == others
    reasons = [run.row(path if "://" in path else f"{site.url}{path}")["reason"] for path in SPECIMENS.values()]
    assert len(set(reasons)) == len(SPECIMENS)
    for word in SPECIMENS:
        assert f"{run.stats[f'sitemap_harvest/outcome/{word}']} {word}" in run.log
