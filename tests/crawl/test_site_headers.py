"""Sites that need a login or a key: the hosts to which it is sent, and those to which it is not."""

from __future__ import annotations

import time
from base64 import b64encode

import pytest
from scrapy.settings import Settings

from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.errors import OptionError
from tests.certificates import self_signed
from tests.site import Page, index, moved, robots, unless, urlset

LOGIN = "Basic " + b64encode(b"me:secret").decode()
KEYS = {"X-Api-Key": "a-key", "Authorization": "Bearer a-token"}
OPEN = {"SITEMAP_HARVEST_PRIVATE": "True", "SITEMAP_HARVEST_OFFSITE": "any"}


def closed(served, header="Authorization", value=LOGIN):
    """Return a function that serves *served* with the right header, and otherwise 401, recording the header."""

    def answer(request):
        if request[header] == value:
            return served(request) if callable(served) else served
        return Page(f"<title>{request[header]}</title>", status=401, headers={"WWW-Authenticate": "Basic realm=x"})

    return answer


def pages(**more):
    """Return a site of robots.txt, an index and two sitemaps, all of which are closed."""
    found = {"/robots.txt": robots("/index.xml"), "/index.xml": index("/a.xml", "/b.xml")}
    found |= {"/a.xml": urlset("/a"), "/b.xml": urlset("/b"), **more}
    return {path: closed(served) for path, served in found.items()}


def with_login(site, login="me:secret"):
    """Return the address of *site* with *login* in it."""
    scheme, _, host = site.url.partition("://")
    return f"{scheme}://{login}@{host}"


@pytest.mark.quick
def test_a_site_and_its_documents_are_requested_with_the_login(serve, crawl):
    site = serve(pages())
    run = crawl(site=with_login(site))
    assert set(run.locs) == {f"{site.url}/a", f"{site.url}/b"}
    assert set(run.fates(site.url).values()) == {"read"}
    assert site.sent("Authorization") == {path: {LOGIN} for path in ("/robots.txt", "/index.xml", "/a.xml", "/b.xml")}
    assert {row["root"] for row in run.ledger} == {site.url}


def test_probes_are_requested_with_the_login(serve, crawl):
    site = serve({"/sitemap.xml": closed(urlset("/a"))})
    run = crawl(site=with_login(site))
    assert run.locs == [f"{site.url}/a"]
    assert site.sent("Authorization")["/robots.txt"] == {LOGIN}


def test_without_the_login_it_is_blocked(serve, crawl):
    site = serve(pages())
    run = crawl(site=site.url)
    assert run.row(f"{site.url}/robots.txt")["reason"] == "HTTP 401: the server requires a login"
    assert f"{site.url}: blocked" in run.log


def test_a_sitemap_by_its_address_and_the_rules_of_its_host(serve, crawl):
    site = serve(pages(**{"/robots.txt": robots(disallow=["/b.xml"])}))
    run = crawl(sitemap=f"{with_login(site)}/index.xml")
    assert run.fates(site.url) == {"/index.xml": "read", "/a.xml": "read", "/b.xml": "forbidden"}


def test_sites_of_a_file_have_separate_logins(serve, crawl, tmp_path):
    other = "Basic " + b64encode("you:päss/word".encode()).decode()
    first = serve(pages())
    second = serve({"/robots.txt": closed(robots("/s.xml"), value=other), "/s.xml": closed(urlset("/s"), value=other)})
    lines = [with_login(first), with_login(second, "you:p%C3%A4ss%2Fword")]
    (tmp_path / "sites.txt").write_text("\n".join(lines))
    run = crawl(sites=tmp_path / "sites.txt")
    assert set(run.locs) == {f"{first.url}/a", f"{first.url}/b", f"{second.url}/s"}


@pytest.mark.quick
def test_over_tls(serve, crawl):
    site = serve(pages(), tls=self_signed("127.0.0.1"))
    assert set(crawl(site=with_login(site)).locs) == {f"{site.url}/a", f"{site.url}/b"}


def test_other_hosts_do_not_receive_the_login(serve, crawl):
    cdn = serve({"/child.xml": urlset("/c"), "/moved.xml": urlset("/m")})
    away = pages(**{"/a.xml": moved(f"{cdn.url}/moved.xml"), "/index.xml": index("/a.xml", f"{cdn.url}/child.xml")})
    site = serve(away)
    run = crawl(site=with_login(site), settings=OPEN | {"SITEMAP_HARVEST_SITE_HEADERS": {site.url: KEYS}})
    assert set(run.locs) == {f"{cdn.url}/c", f"{cdn.url}/m"}
    assert site.sent("Authorization")["/a.xml"] == {LOGIN}
    assert site.sent("X-Api-Key")["/a.xml"] == {"a-key"}
    for header in KEYS:
        assert cdn.sent(header) == {path: {None} for path in ("/robots.txt", "/child.xml", "/moved.xml")}


def test_the_login_is_sent_again_after_a_redirect_back(serve, crawl):
    site, other = serve(), serve()
    other.pages["/there.xml"] = moved(f"{site.url}/a.xml")
    site.pages |= pages(**{"/robots.txt": robots("/s.xml"), "/s.xml": moved(f"{other.url}/there.xml")})
    run = crawl(site=with_login(site), settings=OPEN)
    assert run.locs == [f"{site.url}/a"]
    assert other.sent("Authorization")["/there.xml"] == {None}


def test_a_login_in_an_index_or_a_redirect_is_not_used(serve, crawl):
    site = serve()
    host = site.url.removeprefix("http://")
    site.pages |= {
        "/robots.txt": robots("/index.xml", f"http://u:public@{host}/r.xml"),
        "/index.xml": index(f"http://u:public@{host}/a.xml", f"http://u:other@{host}/a.xml", "/b.xml"),
        "/a.xml": urlset(f"http://u:public@{host}/1"),
        "/b.xml": moved(f"http://u:public@{host}/moved.xml"),
        "/moved.xml": urlset("/2"),
        "/r.xml": urlset("/3"),
    }
    run = crawl(site=site.url, settings={"LOG_LEVEL": "DEBUG"})
    assert set(run.locs) == {f"http://u:public@{host}/1", f"{site.url}/2", f"{site.url}/3"}
    assert run.fates(site.url) == dict.fromkeys(("/robots.txt", "/index.xml", "/a.xml", "/b.xml", "/r.xml"), "read")
    assert {sent for values in site.sent("Authorization").values() for sent in values} == {None}
    (problem,) = run.row(f"{site.url}/index.xml")["problems"]
    assert (problem["code"], problem["count"]) == ("loc/user-name", 2)
    assert site.requests.count("/robots.txt") == 1, "the rules of a host are those of all its addresses"
    assert "public" not in (run.folder / "ledger.jsonl").read_text()
    assert "Redirecting (301) to <GET http://u:" not in run.log


def test_a_page_whose_address_has_a_login_is_visited_without(serve, crawl):
    site = serve()
    host = site.url.removeprefix("http://")
    site.pages |= {"/s.xml": urlset(f"http://u:public@{host}/page"), "/page": "<title>Here</title>"}
    crawl(sitemap=f"{site.url}/s.xml", spider="many")
    assert site.sent("Authorization")["/page"] == {None}


def test_scrapys_own_login_settings_still_work(serve, crawl):
    site = serve(pages())
    own = {"HTTPAUTH_USER": "me", "HTTPAUTH_PASS": "secret", "HTTPAUTH_DOMAIN": site.url.removeprefix("http://")}
    run = crawl(site=site.url, settings=own)
    assert set(run.locs) == {f"{site.url}/a", f"{site.url}/b"}
    assert "'HTTPAUTH_PASS': '***'" in run.log
    assert "'secret'" not in run.log


def test_headers_of_the_project_stay(serve, crawl):
    site = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/1")})
    headers = {"DEFAULT_REQUEST_HEADERS": {"Authorization": "Bearer of-the-project"}}
    crawl(site=with_login(site), settings=headers | {"SITEMAP_HARVEST_SITE_HEADERS": {site.url: KEYS}})
    assert site.sent("Authorization")["/s.xml"] == {"Bearer of-the-project"}
    assert site.sent("X-Api-Key")["/s.xml"] == {"a-key"}


def test_a_login_in_the_address_has_priority_over_the_setting(serve, crawl):
    site = serve(pages())
    run = crawl(site=with_login(site), settings={"SITEMAP_HARVEST_SITE_HEADERS": {site.url: KEYS}})
    assert len(run.locs) == 2
    assert site.sent("Authorization")["/a.xml"] == {LOGIN}
    assert site.sent("X-Api-Key")["/a.xml"] == {"a-key"}


def test_retries_and_conditional_requests_have_the_login(serve, keep):
    site = serve(pages())
    failures, tagged = iter([Page(status=503)]), unless('"v1"', urlset("/a"))
    site.pages["/a.xml"] = closed(lambda request: next(failures, None) or tagged(request))
    first = keep(site, site=with_login(site), settings={"RETRY_TIMES": 2})
    assert first.requests.count("/a.xml") == 2
    time.sleep(1 - time.time() % 1)  # a store keeps times in whole seconds, rounded up
    second = keep(site, site=with_login(site))
    assert first.locs == second.locs == ["/a", "/b"]
    assert second.fates["/a.xml"] == "unchanged"
    assert second.changes == []
    assert keep.later(site).fates["/robots.txt"] == "blocked", "stored validators do not replace a login"


@pytest.mark.parametrize("cache", ["FilesystemCacheStorage", "DbmCacheStorage"])
def test_neither_the_cache_of_scrapy_nor_a_paused_run_stores_it(serve, crawl, tmp_path, cache):
    site = serve(pages())
    settings = {
        "HTTPCACHE_ENABLED": "True",
        "HTTPCACHE_DIR": str(tmp_path / "cache"),
        "HTTPCACHE_STORAGE": f"scrapy.extensions.httpcache.{cache}",
        "JOBDIR": str(tmp_path / "job"),
        "SITEMAP_HARVEST_SITE_HEADERS": {site.url: KEYS},
    }
    assert len(crawl(site=with_login(site), settings=settings).locs) == 2
    kept = [path for folder in ("cache", "job") for path in (tmp_path / folder).rglob("*") if path.is_file()]
    assert len(kept) > 1
    for path in kept:
        body = path.read_bytes()
        assert not [word for word in (b"secret", LOGIN[6:].encode(), b"a-key", b"a-token") if word in body], path


@pytest.mark.quick
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("secret", "SITEMAP_HARVEST_SITE_HEADERS must be a dictionary"),
        ('["secret"]', "SITEMAP_HARVEST_SITE_HEADERS must be a dictionary"),
        ('{"https://a.example": "secret"}', "SITEMAP_HARVEST_SITE_HEADERS must be a dictionary"),
        ({"a.example": {"X": "secret"}}, "'a.example' must be a site, such as https://www.example.com"),
        ({"https://a.example/p": {"X": "secret"}}, "'https://a.example/p' must be a site"),
        ({"https://me:secret@a.example": {"X": "y"}}, "'https://***@a.example' must be a site"),
        ({"https://a.example": {"X Y": "secret"}}, "https://a.example: 'X Y' is not a valid header name"),
        ({"https://a.example": {"": "secret"}}, "https://a.example: '' is not a valid header name"),
        ({"https://a.example": {1: "secret"}}, "https://a.example: 1 is not a valid header name"),
        ({"https://a.example": {"X": "secret\r\nHost: b"}}, "https://a.example: X must be one line of text"),
        ({"https://a.example": {"X": None}}, "https://a.example: X must be one line of text"),
        ({"https://a.example": {"X": ["secret"]}}, "https://a.example: X must be one line of text"),
    ],
)
def test_an_invalid_setting_is_reported_without_its_values(value, words):
    with pytest.raises(OptionError) as caught:
        HarvestSettings.from_settings(Settings({"SITEMAP_HARVEST_SITE_HEADERS": value}))
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(
        HarvestSettings.from_settings(Settings({"SITEMAP_HARVEST_SITE_HEADERS": {"https://a.b/": {"X": "secret"}}}))
    )
