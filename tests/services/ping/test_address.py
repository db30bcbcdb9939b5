"""Which sitemaps a ping may name."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest.services.ping.address import Pinged, job_settings, pinged
from sitemap_harvest.services.ping.config import PingConfig
from sitemap_harvest.services.ping.hosts import Hosts
from sitemap_harvest.services.ping.refusal import Code, Refused

NAMED = "www.example.com *.example.org a.example:8080 10.0.0.5:8000 printer.local 93.184.216.34 xn--mnchen-3ya.example"


def config(hosts=NAMED, **options):
    return PingConfig(hosts=Hosts.read(hosts), **options)


def verdict(url, **options):
    try:
        return pinged(url, config(**options))
    except Refused as refused:
        return refused.code


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("https://www.example.com/sitemap.xml", "www.example.com 443", id="exact"),
        pytest.param("HTTP://WWW.EXAMPLE.COM/sitemap.xml", "www.example.com 80", id="upper-case"),
        pytest.param("https://www.example.com:443/s.xml", "www.example.com 443", id="usual-port-named"),
        pytest.param("http://www.example.com:443/s.xml", "www.example.com 443", id="other-usual-port"),
        pytest.param("https://www.example.com", "www.example.com 443", id="no-path"),
        pytest.param("https://www.example.com/s.xml?a[]=1&b=%C3%BC", "www.example.com 443", id="query"),
        pytest.param("https://a.b.example.org/s.xml", "a.b.example.org 443", id="star"),
        pytest.param("http://a.example:8080/s.xml", "a.example 8080", id="own-port"),
        pytest.param("http://93.184.216.34/s.xml", "93.184.216.34 80", id="public-address"),
        pytest.param("http://0x5db8d822/s.xml", "93.184.216.34 80", id="public-address-in-disguise"),
        pytest.param("https://xn--mnchen-3ya.example/s", "xn--mnchen-3ya.example 443", id="punycode"),
        pytest.param("https://example.com/s.xml", Code.HOST_NOT_ALLOWED, id="without-www"),
        pytest.param("https://example.org/s.xml", Code.HOST_NOT_ALLOWED, id="star-is-not-itself"),
        pytest.param("https://badexample.org/s.xml", Code.HOST_NOT_ALLOWED, id="star-needs-its-dot"),
        pytest.param("https://www.example.com.evil.net/s.xml", Code.HOST_NOT_ALLOWED, id="name-in-front"),
        pytest.param("https://evil.net/?www.example.com", Code.HOST_NOT_ALLOWED, id="name-in-query"),
        pytest.param("https://www.example.com:22/s.xml", Code.HOST_NOT_ALLOWED, id="port"),
        pytest.param("https://a.example/s.xml", Code.HOST_NOT_ALLOWED, id="not-at-its-port"),
        pytest.param("http://10.0.0.5:8000/s.xml", Code.PRIVATE_ADDRESS, id="private-though-listed"),
        pytest.param("http://printer.local/s.xml", Code.PRIVATE_ADDRESS, id="private-name"),
        pytest.param("", Code.BAD_SITEMAP, id="empty"),
        pytest.param("/sitemap.xml", Code.BAD_SITEMAP, id="relative"),
        pytest.param("//www.example.com/sitemap.xml", Code.BAD_SITEMAP, id="without-scheme"),
        pytest.param("www.example.com/sitemap.xml", Code.BAD_SITEMAP, id="bare"),
        pytest.param("ftp://www.example.com/s.xml", Code.BAD_SITEMAP, id="ftp"),
        pytest.param("file:///etc/passwd", Code.BAD_SITEMAP, id="file"),
        pytest.param("javascript:alert(1)", Code.BAD_SITEMAP, id="javascript"),
        pytest.param("http:///s.xml", Code.BAD_SITEMAP, id="no-host"),
        pytest.param("http:/www.example.com/s.xml", Code.BAD_SITEMAP, id="one-slash"),
        pytest.param("http://:80/s.xml", Code.BAD_SITEMAP, id="port-alone"),
        pytest.param("https://user:word@www.example.com/s", Code.BAD_SITEMAP, id="credentials"),
        pytest.param("https://@www.example.com/s.xml", Code.BAD_SITEMAP, id="empty-user"),
        pytest.param("https://www.example.com@evil.net/s", Code.BAD_SITEMAP, id="host-as-user"),
        pytest.param("https://evil.net\\@www.example.com/", Code.BAD_SITEMAP, id="backslash"),
        pytest.param("https://www.example.com/s.xml#x", Code.BAD_SITEMAP, id="fragment"),
        pytest.param("https://www.example.com/a b", Code.BAD_SITEMAP, id="blank"),
        pytest.param("https://www.example.com/s\nX: y", Code.BAD_SITEMAP, id="line-break"),
        pytest.param(" https://www.example.com/s.xml", Code.BAD_SITEMAP, id="blank-before"),
        pytest.param("https://www.example.com/s.xml\n", Code.BAD_SITEMAP, id="line-break-at-end"),
        pytest.param("https://www.example.com/\x00", Code.BAD_SITEMAP, id="nul"),
        pytest.param("https://www.example.com/\u00fc", Code.BAD_SITEMAP, id="not-escaped"),
        pytest.param("https://www.example.com/\u00a0", Code.BAD_SITEMAP, id="no-break-space"),
        pytest.param("https://www.example.com/%zz", Code.BAD_SITEMAP, id="half-escaped"),
        pytest.param("https%3A%2F%2Fwww.example.com%2F", Code.BAD_SITEMAP, id="escaped-twice"),
        pytest.param("https://www.ex%61mple.com/", Code.BAD_SITEMAP, id="escaped-host"),
        pytest.param("https://www.example.com./s.xml", Code.BAD_SITEMAP, id="dot-at-end"),
        pytest.param("https://www..example.com/s.xml", Code.BAD_SITEMAP, id="empty-label"),
        pytest.param("https://www.example.com:/s.xml", Code.BAD_SITEMAP, id="no-port"),
        pytest.param("https://www.example.com:0/s.xml", Code.BAD_SITEMAP, id="port-zero"),
        pytest.param("https://www.example.com:99999/", Code.BAD_SITEMAP, id="port-too-high"),
        pytest.param("https://[::1/s.xml", Code.BAD_SITEMAP, id="open-bracket"),
        pytest.param("https://[::1]x/s.xml", Code.BAD_SITEMAP, id="behind-the-bracket"),
        pytest.param("https://" + "a" * 300 + ".example.org/", Code.BAD_SITEMAP, id="long-name"),
        pytest.param("https://www.example.com/" + "a" * 2024, "www.example.com 443", id="2048-characters"),
        pytest.param("https://www.example.com/" + "a" * 2025, Code.BAD_SITEMAP, id="2049-characters"),
        pytest.param("https://www.example.com/" + "a" * 10**6, Code.BAD_SITEMAP, id="a-million-characters"),
    ],
)
def test_addresses(url, expected):
    found = verdict(url)
    if isinstance(found, Pinged):
        assert found.url == url
        found = f"{found.host} {found.port}"
    assert found == expected


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254",
        "0.0.0.0", "100.64.0.1", "[::1]", "[::ffff:127.0.0.1]", "[fd00::1]", "[fe80::1]", "[64:ff9b::7f00:1]", "[::]",
        "localhost", "a.localhost", "printer.local", "db.internal", "224.0.0.1", "255.255.255.255",
    ],
)  # fmt: skip
def test_any_host_is_no_private_one(host):
    assert verdict(f"http://{host}/s.xml", hosts="any") == Code.PRIVATE_ADDRESS
    assert verdict(f"http://{host}/s.xml", hosts="any", allow_private=True) == Code.PRIVATE_ADDRESS


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        pytest.param("https://[2606:4700:0:0::1111]/s.xml", "2606:4700::1111", 443, id="ipv6"),
        pytest.param("http://1.1/s.xml", "1.0.0.1", 80, id="short"),
        pytest.param("https://under_score.example/s.xml", "under_score.example", 443, id="underscore"),
        pytest.param("https://single/s.xml", "single", 443, id="one-label"),
    ],
)
def test_any_host_is_any_public_one(url, host, port):
    found = verdict(url, hosts="any")
    assert (found.host, found.port) == (host, port)


def test_a_private_host_that_the_operator_named_may_be_let_in():
    url = "http://10.0.0.5:8000/s.xml"
    sitemap = verdict(url, allow_private=True)
    assert sitemap == Pinged(url=url, key=url, host="10.0.0.5", port=8000, may_be_private=True)
    assert verdict("http://10.0.0.5/s.xml", allow_private=True) == Code.HOST_NOT_ALLOWED
    assert verdict("http://10.0.0.6:8000/s.xml", hosts=f"any {NAMED}", ports=(8000,), allow_private=True) == (
        Code.PRIVATE_ADDRESS
    )
    assert verdict("http://a.example.org/s.xml", allow_private=True).may_be_private is False, "a star names nobody"


PUBLIC, PRIVATE = ip_address("93.184.216.34"), ip_address("10.0.0.5")


@pytest.mark.parametrize(
    ("found", "may_be_private", "expected"),
    [
        pytest.param([PUBLIC], False, "never", id="public"),
        pytest.param([PUBLIC], True, "never", id="public-though-it-may-be-private"),
        pytest.param([PRIVATE], True, "False", id="private-and-named"),
        pytest.param([PRIVATE], False, Code.PRIVATE_ADDRESS, id="private"),
        pytest.param([PRIVATE, PUBLIC], False, "never", id="both"),
        pytest.param([PRIVATE, PUBLIC], True, "never", id="both-and-named"),
        pytest.param([ip_address("169.254.169.254")], True, Code.PRIVATE_ADDRESS, id="metadata"),
        pytest.param([ip_address("::ffff:10.0.0.5")], False, Code.PRIVATE_ADDRESS, id="mapped"),
        pytest.param([], False, Code.LOOKUP_FAILED, id="none"),
    ],
)
def test_what_a_lookup_gives_decides_where_the_crawl_may_go(found, may_be_private, expected):
    sitemap = verdict("https://www.example.com/s.xml", allow_private=may_be_private)
    if isinstance(expected, Code):
        with pytest.raises(Refused) as caught:
            job_settings(sitemap, found)
        assert caught.value.code == expected
    else:
        assert job_settings(sitemap, found) == {"SITEMAP_HARVEST_PRIVATE": expected}


@given(st.text() | st.text(alphabet="htps:/@.%#?[]\\ \n127w0xexample.com", max_size=60).map("http://{}".format))
def test_whatever_is_sent_is_refused_or_one_word_for_an_allowed_host(url):
    found = verdict(url, hosts="www.example.com")
    if isinstance(found, Pinged):
        assert found.host == "www.example.com"
        assert found.port in {80, 443}
        assert url.split() == [url]
        assert url.lower().startswith(("http://www.example.com", "https://www.example.com"))
    else:
        assert found in {Code.BAD_SITEMAP, Code.HOST_NOT_ALLOWED, Code.PRIVATE_ADDRESS}
