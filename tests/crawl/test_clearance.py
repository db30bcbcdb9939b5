"""The clearance of a browser, on plain requests."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response

from sitemap_harvest.browser.middleware import Clearance, take_off

pytestmark = pytest.mark.quick

SITE = "https://www.example.com"


def cookie(name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "value": "1",
        "domain": "www.example.com",
        "path": "/",
        "expires": -1,
        "secure": False,
        **more,
    }


@pytest.mark.parametrize(
    ("given", "url", "sent"),
    [
        pytest.param(cookie("a"), f"{SITE}/s.xml", b"a=1", id="of-the-host"),
        pytest.param(cookie("a", domain=".example.com"), f"{SITE}/s.xml", b"a=1", id="of-the-domain"),
        pytest.param(cookie("a", domain="other.example"), f"{SITE}/s.xml", None, id="of-another-site"),
        pytest.param(cookie("a", domain="ads.example.com"), f"{SITE}/s.xml", None, id="of-a-sibling"),
        pytest.param(cookie("a", path="/maps"), f"{SITE}/s.xml", None, id="of-another-path"),
        pytest.param(cookie("a", path="/maps"), f"{SITE}/maps/s.xml", b"a=1", id="of-the-path"),
        pytest.param(cookie("a", expires=1.0), f"{SITE}/s.xml", None, id="that-has-ended"),
        pytest.param(cookie("a", expires=4e9), f"{SITE}/s.xml", b"a=1", id="that-ends-some-day"),
        pytest.param(cookie("a", secure=True), "http://www.example.com/s.xml", None, id="secure-on-http"),
    ],
)
def test_cookies_for_a_request(given: dict[str, Any], url: str, sent: bytes | None) -> None:
    request = Request(url)
    Clearance([given], b"Browser").put_on(request)
    assert (request.headers.get("Cookie"), request.headers["User-Agent"]) == (sent, b"Browser")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_hosts_without_a_domain(host: str) -> None:
    request = Request(f"http://{host}:8000/s.xml")
    Clearance([cookie("a", domain=host)], None).put_on(request)
    assert request.headers.get("Cookie") == b"a=1"


@pytest.mark.parametrize("headers", [{}, {"Cookie": "own=1", "User-Agent": "Own"}, {"User-Agent": "Own"}])
def test_applied_headers_are_removed_again(headers: dict[str, str]) -> None:
    request = Request(f"{SITE}/s.xml", headers=headers)
    Clearance([cookie("a")], b"Browser").put_on(request)
    assert request.headers["Cookie"].endswith(b"a=1")
    assert request.headers["Cookie"].startswith(headers.get("Cookie", "a=1").encode())
    take_off(request)
    assert request.headers == Request(SITE, headers=headers).headers
    assert request.meta == {}
    take_off(request)
    assert request.headers == Request(SITE, headers=headers).headers


def test_new_cookies_are_learnt() -> None:
    given = Clearance([cookie("a")], b"Browser")
    request = Request(f"{SITE}/s.xml")
    given.learn(Response(request.url, headers={"Set-Cookie": "a=2; Path=/"}))
    given.put_on(request)
    assert request.headers["Cookie"] == b"a=2"
