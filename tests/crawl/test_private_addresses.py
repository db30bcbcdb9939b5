"""No document and no redirect leads to a private network: no request is sent there, not even for its robots.txt."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests import forked
from tests.site import Page, index, moved, robots, urlset

if TYPE_CHECKING:
    from pathlib import Path

ALLOWS = "(-s SITEMAP_HARVEST_PRIVATE=True allows it)"
ONLY_NAMED = f"which is allowed only for hosts that you name {ALLOWS}"
LETS_GO = {"Connection": "close"}  # so that the next request needs a lookup


def port_of(site) -> str:
    return site.url.rpartition(":")[2]


def with_names(hosts: dict[str, list[list[str]]]) -> dict[str, str]:
    """Return the settings that resolve *hosts*, each time with the next of its lists."""
    return {"TWISTED_DNS_RESOLVER": "tests.crawl.parts.Names", "TEST_HOSTS": json.dumps(hosts)}


@pytest.mark.quick
@pytest.mark.case(116)
def test_a_private_target_is_read_and_leads_nowhere_else(serve, crawl):
    other = serve({"/x.xml": urlset("/no")}, host="0.0.0.0")
    port = port_of(other)
    hosts = {
        "127.0.0.1": "the loopback address 127.0.0.1",
        "127.0.0.2": "the loopback address 127.0.0.2",
        "2130706433": "the loopback address 127.0.0.1",
        "0x7f.1": "the loopback address 127.0.0.1",
        "0177.0.0.1": "the loopback address 127.0.0.1",
        "0": "the unspecified address 0.0.0.0",
        "[::1]": "the loopback address ::1",
        "[::ffff:127.0.0.1]": "the loopback address 127.0.0.1",
        "[::]": "the unspecified address ::",
        "127.0.0.5": "the loopback address 127.0.0.5",  # named with a user, which is left out
        "localhost": "the private name localhost",
        "LOCALHOST.": "the private name localhost.",
        "a.localhost": "the private name a.localhost",
    }
    site = serve({"/index.xml": index("/s.xml", "/moved.xml"), "/s.xml": urlset("/1")})
    site.pages["/moved.xml"] = moved(f"http://127.0.0.1:{port}/x.xml")
    site.pages["/robots.txt"] = robots(
        "/index.xml",
        *(f"http://{'user@' * (host == '127.0.0.5')}{host}:{port}/x.xml" for host in hosts),
        "http://169.254.169.254/latest/meta-data/",
    )
    run = crawl(site=site.url, settings={"RETRY_TIMES": 2, "SITEMAP_HARVEST_OFFSITE": "any"})
    assert run.locs == [f"{site.url}/1"]
    assert other.requests == []
    assert {host: run.row(f"http://{host}:{port}/x.xml")["reason"] for host in hosts} == {
        host: f"the host has {fact}, {ONLY_NAMED}" for host, fact in hosts.items()
    }
    assert {row["outcome"] for row in run.ledger if not row["url"].startswith(site.url)} == {"out-of-scope"}
    row = run.row(f"{site.url}/moved.xml")
    assert (row["outcome"], row["final_url"], row["complete"]) == ("out-of-scope", None, False)
    assert row["reason"] == (
        f"the URL redirects to http://127.0.0.1:{port}/x.xml: the host has the loopback address 127.0.0.1, {ONLY_NAMED}"
    )
    assert not any(name.startswith("retry/") for name in run.stats)

    settings = {"SITEMAP_HARVEST_PRIVATE": True, "SITEMAP_HARVEST_OFFSITE": "any"}
    run = crawl(site=site.url, settings=settings, skip="169.254", calm=False)
    assert run.row(f"{site.url}/moved.xml")["outcome"] in {"read", "skipped"}
    assert run.row(f"http://0x7f.1:{port}/x.xml")["outcome"] == "read"


@pytest.mark.quick
@pytest.mark.case(116)
def test_names_are_resolved_and_only_checked_addresses_are_connected_to(serve, crawl):
    every = serve(host="0.0.0.0")
    port = port_of(every)
    every.pages |= {
        "/robots.txt": Page(status=404, headers=LETS_GO),
        "/s.xml": Page(urlset("http://a.example/1"), headers=LETS_GO),
        "/moved.xml": Page(status=301, headers={"Location": f"http://inner.test:{port}/s.xml"}),
    }
    hosts = {
        "inner.test": [["127.0.0.1", "127.0.0.2"]],
        "both.test": [["127.0.0.1", "127.0.0.3"]],
        "public.test": [["127.0.0.3"]],
        "rebinds.test": [["127.0.0.3"], ["127.0.0.1"]],
        "named.test": [["127.0.0.3"], ["127.0.0.1"]],
        "home.test": [["127.0.0.1"]],
        "gone.test": [[]],
    }
    named = [f"http://{host}:{port}/s.xml" for host in ("named.test", "home.test")]
    unnamed = [f"http://{host}:{port}/s.xml" for host in hosts if f"http://{host}:{port}/s.xml" not in named]
    site = serve({"/robots.txt": robots(*unnamed, f"http://public.test:{port}/moved.xml")})
    run = crawl(site=site.url, sitemap=" ".join(named), settings=with_names(hosts), calm=False)
    assert "Traceback" not in run.log
    rows = {url.removesuffix(f":{port}/s.xml"): run.row(url) for url in [*named, *unnamed]}
    inner = f"the host has the loopback address 127.0.0.1, {ONLY_NAMED}"
    assert {url: (row["outcome"], row["reason"]) for url, row in rows.items()} == {
        "http://home.test": ("read", None),
        "http://both.test": ("read", None),
        "http://public.test": ("read", None),
        "http://inner.test": ("out-of-scope", inner),
        "http://rebinds.test": ("out-of-scope", inner),
        "http://named.test": (
            "out-of-scope",
            f"the host has the loopback address 127.0.0.1, but had a public one before {ALLOWS}",
        ),
        "http://gone.test": ("failed", "no such host: DNS cannot resolve the name"),
    }
    row = run.row(f"http://public.test:{port}/moved.xml")
    assert row["reason"] == f"the URL redirects to {every_url(port)}: {inner}"
    assert every.count("/s.xml") == 3  # of home, both and public
    assert every.count("/robots.txt") == 5  # and of those that turned private after it


def every_url(port: str) -> str:
    return f"http://inner.test:{port}/s.xml"


def test_with_a_handler_of_the_project_responses_of_private_hosts_are_not_read(serve, crawl):
    other = serve({"/robots.txt": "", "/s.xml": moved("/t.xml"), "/t.xml": urlset("http://a.example/no")})
    inner = f"http://inner.test:{port_of(other)}/s.xml"
    site = serve({"/robots.txt": robots("/s.xml", inner, f"{other.url}/s.xml"), "/s.xml": urlset("/1")})
    handler = {"http": "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"}
    settings = {"DOWNLOAD_HANDLERS": handler, **with_names({"inner.test": [["127.0.0.1"]]})}
    run = crawl(site=site.url, settings=settings)
    assert run.locs == [f"{site.url}/1"]
    assert "Another handler downloads http: a host is checked for private addresses" in run.log
    assert "Private addresses: https" not in run.log
    for url in (inner, f"{other.url}/s.xml"):
        reason = f"the host has the loopback address 127.0.0.1, {ONLY_NAMED}"
        assert (run.row(url)["outcome"], run.row(url)["reason"]) == ("out-of-scope", reason)
    assert set(other.requests) == {"/robots.txt", "/s.xml"}  # requested, as inner.test, and the redirect not followed


def test_behind_a_proxy_only_literal_addresses_are_checked(serve, crawl):
    proxy = serve({"http://site.test/s.xml": urlset("http://a.example/1")})
    refused = [f"{proxy.url}/s.xml", "http://localhost/s.xml", "http://metadata.google.internal/s.xml"]
    proxy.pages["http://site.test/robots.txt"] = robots("http://site.test/s.xml", "http://site.test/m.xml", *refused)
    proxy.pages["http://site.test/m.xml"] = moved("http://169.254.169.254/latest/")
    settings = {"TEST_PROXY": proxy.url, "DOWNLOADER_MIDDLEWARES": {"tests.crawl.parts.ThroughProxy": 740}}
    run = crawl(site="http://site.test", settings=settings)
    assert run.locs == ["http://a.example/1"]
    assert {run.row(url)["outcome"] for url in [*refused, "http://site.test/m.xml"]} == {"out-of-scope"}
    assert set(proxy.requests) == {f"http://site.test/{name}" for name in ("robots.txt", "s.xml", "m.xml")}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            "never",
            f"the host has the loopback address 127.0.0.1, and private addresses are never requested {ALLOWS}",
        ),
        ("maybe", "SITEMAP_HARVEST_PRIVATE is 'maybe'; it must be True, False or never"),
    ],
)
def test_private_never_rejects_targets_too_and_an_invalid_value_ends_the_run(serve, crawl, value, words):
    site = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/1")})
    run = crawl(site=site.url, settings={"SITEMAP_HARVEST_PRIVATE": value}, calm=False)
    assert words in run.log
    assert (f"{site.url}: unreachable (private)" in run.log) == (value == "never")
    assert "Traceback" not in run.log
    assert (run.urls, site.requests) == ([], [])


@pytest.mark.case(28)
def test_documents_and_redirects_lead_only_to_http_and_https(serve, crawl, tmp_path):
    secret = tmp_path / "secret.xml"
    secret.write_text(urlset("https://a.example/secret"))
    addresses = [
        secret.as_uri(),
        f"FILE://{secret}",
        f"file:{secret}",
        f"File://localhost{secret}",
        "data:text/plain,secret",
        "data://text/plain,secret",
        "s3://bucket/s.xml",
        "ftp://127.0.0.1/s.xml",
    ]
    site = serve({f"/{number}.xml": moved(address) for number, address in enumerate(addresses)})
    site.pages |= {
        "/robots.txt": robots("/index.xml", *addresses),
        "/index.xml": index(*addresses, *(f"/{number}.xml" for number in range(len(addresses)))),
    }
    run = crawl(site=site.url)
    assert run.urls == []
    fates = run.fates(site.url)
    assert {fates["/robots.txt"], fates["/index.xml"]} == {"read"}
    assert {fates[f"/{number}.xml"] for number in range(len(addresses))} <= {"failed", "out-of-scope"}
    assert {fate for url, fate in fates.items() if not url.startswith(("/", "http"))} == {"out-of-scope"}


def test_a_validation_reads_its_targets_and_not_their_private_redirects(serve, tmp_path: Path):
    other = serve({"/s.xml": urlset("/1")})
    site = serve({"/s.xml": urlset("/1"), "/moved.xml": moved(f"{other.url}/s.xml")})
    names = (f"{site.url}/s.xml", f"{site.url}/moved.xml")
    run = forked.scrapy("harvest", "validate", *names, "--format", "json", cwd=tmp_path)
    good, bad = map(json.loads, run.stdout.splitlines())
    assert (good["kind"], good["reason"]) == ("sitemap", None)
    assert bad["reason"].startswith(f"the URL redirects to {other.url}/s.xml: the host has the loopback address")
    assert other.requests == []

    run = forked.scrapy(
        "harvest", "validate", *names, "--format", "json", "-s", "SITEMAP_HARVEST_PRIVATE=True", cwd=tmp_path
    )
    assert [json.loads(line)["kind"] for line in run.stdout.splitlines()] == ["sitemap", "sitemap"]
