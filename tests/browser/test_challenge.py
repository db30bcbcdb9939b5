"""Whether a response is the document, or a browser is needed to get it."""

from __future__ import annotations

import gzip

import pytest
from scrapy import Request
from scrapy.http import Response

from sitemap_harvest.browser.challenge import BrowserNeed, may_navigate, need_of
from sitemap_harvest.discovery.candidate import Candidate
from sitemap_harvest.formats import Limits
from sitemap_harvest.model import FoundBy

SITE = "https://www.example.com"
XML = '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></urlset>'
DOOR = '<html><body><script>document.cookie = "pass=1; path=/"; location.reload();</script></body></html>'
CLOUDFLARE = (
    "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>"
    "<script>window._cf_chl_opt = {cvId: '3'};</script></body></html>"
)
NGINX = "<html><head><title>403 Forbidden</title></head><body><center><h1>403 Forbidden</h1></center></body></html>"
HOME = (
    "<html><head><title>Shop</title><script>document.cookie = 'seen=1'; if (location.hash) location.reload();</script>"
    "</head><body>" + "".join(f'<a href="/c{n}">Category {n}</a>' for n in range(40)) + "</body></html>"
)
ARTICLE = f"<html><body><script>document.cookie='a=1';location.href='/x'</script><p>{'Words. ' * 400}</p></body></html>"
SITE_MAP = "<html><head><title>Site map</title></head><body><a href='/a'>A</a><script>track()</script></body></html>"
APP = '<html><head><title>Shop</title></head><body><div id="app"></div><script src="/app.js"></script></body></html>'
LOST = "<html><head><title>Page not found</title></head><body><script>track()</script></body></html>"
REFRESH = '<html><head><meta http-equiv="refresh" content="0"></head><body>One moment</body></html>'
NEWS = REFRESH.replace('"0"', '"600"')
BUSY = "<html><head><title>Service unavailable</title></head><body>We are busy</body></html>"


FILE = Candidate(url=f"{SITE}/sitemap.xml", root=SITE, found_by=FoundBy.WELL_KNOWN)
MAP = Candidate(url=f"{SITE}/map", root=f"{SITE}/map")


def need(candidate: Candidate | None, head: str | bytes, status: int = 200, **headers: str) -> BrowserNeed | None:
    """Return the need for *candidate*, whose response begins with *head*."""
    request = Request(f"{SITE}/sitemap.xml", cb_kwargs={"candidate": candidate})
    body = head.encode() if isinstance(head, str) else head
    given = {"Content-Type": "text/html", **headers}
    return need_of(request, Response(request.url, status=status, headers=given, body=body), Limits())


@pytest.mark.parametrize(
    ("status", "head", "headers", "expected"),
    [
        pytest.param(200, XML, {}, None, id="a-sitemap"),
        pytest.param(403, XML, {}, None, id="an-error-in-xml"),
        pytest.param(403, '{"error": "forbidden"}', {}, None, id="an-error-in-json"),
        pytest.param(403, "", {}, None, id="an-error-without-words"),
        pytest.param(200, "User-agent: *\nDisallow:", {}, None, id="a-robots-txt"),
        pytest.param(403, CLOUDFLARE, {}, BrowserNeed.PASS, id="challenge-403"),
        pytest.param(200, CLOUDFLARE, {}, BrowserNeed.PASS, id="challenge-200"),
        pytest.param(503, CLOUDFLARE, {"Retry-After": "60"}, BrowserNeed.PASS, id="challenge-503-with-retry-after"),
        pytest.param(404, CLOUDFLARE, {}, None, id="challenge-404"),
        pytest.param(403, NGINX, {}, BrowserNeed.PASS, id="forbidden-in-html"),
        pytest.param(403, NGINX, {"Retry-After": "60"}, BrowserNeed.PASS, id="forbidden-says-nothing-of-waiting"),
        pytest.param(429, BUSY, {}, BrowserNeed.PASS, id="too-many-in-html"),
        pytest.param(503, BUSY, {}, BrowserNeed.PASS, id="unavailable-in-html"),
        pytest.param(429, BUSY, {"Retry-After": "60"}, None, id="too-many-with-retry-after"),
        pytest.param(503, BUSY, {"Retry-After": "60"}, None, id="unavailable-with-retry-after"),
        pytest.param(500, BUSY, {}, None, id="a-server-that-failed"),
        pytest.param(401, NGINX, {}, None, id="a-login"),
        pytest.param(404, LOST, {}, None, id="not-there"),
        pytest.param(410, DOOR, {}, None, id="gone"),
        pytest.param(451, NGINX, {}, None, id="for-legal-reasons"),
        pytest.param(407, NGINX, {}, None, id="a-proxy"),
        pytest.param(200, DOOR, {}, BrowserNeed.PROOF, id="cookie-by-script"),
        pytest.param(202, DOOR, {}, BrowserNeed.PROOF, id="cookie-by-script-accepted"),
        pytest.param(200, REFRESH, {"Set-Cookie": "a=1"}, BrowserNeed.PROOF, id="cookie-by-header-and-refresh"),
        pytest.param(200, REFRESH, {}, None, id="refresh-alone"),
        pytest.param(200, NEWS, {"Set-Cookie": "a=1"}, None, id="a-page-that-loads-anew-every-ten-minutes"),
        pytest.param(200, HOME, {}, None, id="the-home-page"),
        pytest.param(200, ARTICLE, {}, None, id="an-article"),
        pytest.param(200, APP, {}, None, id="made-by-script-where-a-file-was-due"),
        pytest.param(301, DOOR, {}, None, id="a-redirect"),
    ],
)
def test_need(status: int, head: str, headers: dict[str, str], expected: BrowserNeed | None) -> None:
    assert need(FILE, head, status, **headers) is expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        pytest.param(DOOR, BrowserNeed.PROOF, id="cookie-by-script-for-a-page"),
        pytest.param(SITE_MAP, None, id="a-site-map-with-its-links"),
        pytest.param(LOST, None, id="a-soft-404"),
        pytest.param(APP, BrowserNeed.RENDER, id="made-by-script"),
        pytest.param(HOME, None, id="a-page-with-links"),
    ],
)
def test_need_for_an_html_sitemap(head: str, expected: BrowserNeed | None) -> None:
    assert need(MAP, head) is expected


def test_compressed_pages_are_decompressed_and_binary_files_are_no_challenge() -> None:
    assert need(FILE, gzip.compress(CLOUDFLARE.encode()), **{"Content-Encoding": "gzip"}) is BrowserNeed.PASS
    assert need(FILE, b"\x89PNG\r\n\x1a\n", 403) is None


@pytest.mark.parametrize(
    ("head", "opens"),
    [
        pytest.param(NGINX, False, id="nothing-in-it-moves"),
        pytest.param(DOOR, True, id="script"),
        pytest.param(REFRESH, True, id="refresh"),
        pytest.param('<html><body><iframe src="/challenge"></iframe></body></html>', True, id="frame"),
    ],
)
def test_navigation_is_limited_to_the_site(head: str, opens: bool) -> None:
    response = Response(SITE, headers={"Content-Type": "text/html"}, body=head.encode())
    assert may_navigate(response, Limits()) is opens


@pytest.mark.parametrize(
    ("candidate", "wanted"),
    [
        pytest.param(Candidate(url=f"{SITE}/map", root=f"{SITE}/map"), True, id="named"),
        pytest.param(Candidate(url=f"{SITE}/robots.txt", root=SITE, site_root=True), False, id="robots-txt-of-a-site"),
        pytest.param(
            Candidate(url=f"{SITE}/sitemap.html", root=SITE, found_by=FoundBy.WELL_KNOWN), True, id="guessed-page"
        ),
        pytest.param(
            Candidate(url=f"{SITE}/sitemap.xml", root=SITE, found_by=FoundBy.WELL_KNOWN), False, id="guessed-file"
        ),
        pytest.param(Candidate(url=f"{SITE}/a.xml", root=SITE, found_by=FoundBy.INDEX), False, id="named-by-an-index"),
        pytest.param(Candidate(url=f"{SITE}/", root=SITE, found_by=FoundBy.HOME), False, id="home"),
        pytest.param(None, False, id="no-document"),
    ],
)
def test_pages_that_are_rendered_for_their_links(candidate: Candidate | None, wanted: bool) -> None:
    assert need(candidate, APP) is (BrowserNeed.RENDER if wanted else None)
