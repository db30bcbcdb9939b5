"""The options of the service: read, or rejected with one line. The parameters of a ping, and the hosts of its crawl."""

from __future__ import annotations

import dataclasses
from ipaddress import ip_address
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.web.http import parse_qs

from sitemap_harvest.errors import OptionError
from sitemap_harvest.network import host_key, literal
from sitemap_harvest.scrapyd_ping import (
    _PARSERS,
    AllowedHost,
    PingConfig,
    PingError,
    PingTarget,
    check_token,
    job_settings,
    ping_target,
    read_form,
)
from sitemap_harvest.urls import site_of

TOKEN, ANOTHER = "0123456789abcdef", "another-good-token"
REQUIRED = {"project": "harvest", "hosts": "www.example.com", "tokens": TOKEN}


def test_every_option_is_read():
    assert list(_PARSERS) == [field.name for field in dataclasses.fields(PingConfig)]


def test_all_options_at_once():
    config = PingConfig.read(
        {
            "project": "harvest",
            "hosts": "www.Example.com *.example.org\n127.1:8080 [::0:1]",
            "tokens": f"{TOKEN} {ANOTHER}",
            "spider": "sitemap",
            "allow_private": "Yes",
        }.items()
    )
    assert config == PingConfig(
        project="harvest",
        hosts=(
            AllowedHost("www.example.com", False, (80, 443)),
            AllowedHost("example.org", True, (80, 443)),
            AllowedHost("127.0.0.1", False, (8080,)),
            AllowedHost("::1", False, (80, 443)),
        ),
        tokens=(TOKEN, ANOTHER),
        spider="sitemap",
        allow_private=True,
    )
    assert TOKEN not in repr(config)


def test_three_options_are_sufficient():
    config = PingConfig.read(REQUIRED.items())
    assert (config.spider, config.allow_private) == ("changes", False)


@pytest.mark.parametrize("missing", REQUIRED)
def test_these_are_required(missing):
    with pytest.raises(OptionError, match=f"^{missing} is '': (it must|each token must)"):
        PingConfig.read((name, value) for name, value in REQUIRED.items() if name != missing)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        pytest.param(
            "host",
            "a.example",
            "host: unknown option; did you mean hosts? Valid options: project, hosts, tokens, spider, allow",
            id="unknown",
        ),
        pytest.param("project", "", "project is '': it must not be empty", id="no-name"),
        pytest.param("allow_private", "maybe", "allow_private is 'maybe': it must be yes or no", id="flag"),
        pytest.param("allow_private", "", "allow_private is '': it must be yes or no", id="flag-empty"),
        pytest.param("hosts", "*", "hosts is '*': '*' must be of the form www.example.com, *.example.com", id="star"),
        pytest.param("hosts", "https://www.example.com", "must be of the form", id="url"),
        pytest.param("hosts", "a.example/path", "must be of the form", id="path"),
        pytest.param("hosts", "user@a.example", "must be of the form", id="user"),
        pytest.param("hosts", "a..example", "must be of the form", id="empty-label"),
        pytest.param("hosts", f"{'a' * 64}.example", "must be of the form", id="64-characters-of-a-name"),
        pytest.param("hosts", "a.example:0", "must be of the form", id="port-zero"),
        pytest.param("hosts", "a.example:65536", "must be of the form", id="port-too-high"),
        pytest.param("hosts", "*.127.0.0.1", "must be of the form", id="below-an-address"),
        pytest.param("hosts", "a.*.example", "must be of the form", id="star-within"),
        pytest.param("hosts", "[:::]", "must be of the form", id="bad-ipv6"),
        pytest.param("hosts", "m\u00fcnchen.example", "must be of the form", id="not-in-punycode"),
        pytest.param("hosts", "\u212a.example", "must be of the form", id="kelvin-sign"),
        pytest.param("hosts", "a b_ \n\x1b[2J", r"hosts is 'a b_ \n\x1b[2J': '\x1b[2J' must be", id="control"),
        pytest.param("tokens", "secretsecret", "tokens: each token must have 16 ASCII", id="short-token"),
        pytest.param("tokens", "geheimesWörtchen123", "tokens: each token must have 16 ASCII", id="token-not-ascii"),
    ],
)
def test_invalid_options_are_named(name, value, words):
    with pytest.raises(OptionError) as caught:
        PingConfig.read((REQUIRED | {name: value}).items())
    message = str(caught.value)
    assert words in message
    assert "\n" not in message
    assert len(message) < 500
    assert name != "tokens" or value not in message


NAMED = "www.example.com *.example.org a.example:8080 10.0.0.5:8000 printer.local 93.184.216.34 xn--mnchen-3ya.example"


def config(hosts=NAMED, *, allow_private=False):
    items = {"project": "p", "hosts": hosts, "tokens": TOKEN, "allow_private": "yes" if allow_private else "no"}
    return PingConfig.read(items.items())


def result(function, *arguments):
    """Return the result of *function*, or the code of its rejection."""
    try:
        return function(*arguments)
    except PingError as refused:
        return refused.code


def verdict(url, **options):
    return result(ping_target, url, config(**options))


def form(body):
    return result(read_form, parse_qs(body, keep_blank_values=True))


BOTH = {"sitemap": "https://a/?b=1&c=2", "token": "T"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b"sitemap=https%3A%2F%2Fa%2F%3Fb%3D1%26c%3D2&token=T", BOTH, id="both"),
        pytest.param(b"sitemap=https%3A%2F%2Fa%2F%2541", {"sitemap": "https://a/%41"}, id="decoded-once"),
        pytest.param(b"sitemap=a+b", {"sitemap": "a b"}, id="plus-is-a-space"),
        pytest.param(b"sitemap=", {"sitemap": ""}, id="empty-field"),
        pytest.param(b"", {}, id="empty"),
        pytest.param(b"sitemap=a&sitemap=b", "bad-form", id="two-sitemaps"),
        pytest.param(b"sitemap=a&token=T&token=T", "bad-form", id="token-twice"),
        pytest.param(b"sitemap=https://a/?b=1&c=2", "bad-form", id="not-escaped"),
        pytest.param(b"sitemap=a&project=other", "bad-form", id="unknown-field"),
        pytest.param(b"%ff=a", "bad-form", id="name-not-utf-8"),
        pytest.param(b"sitemap=%ff", "bad-form", id="not-utf-8"),
    ],
)
def test_forms(body, expected):
    assert form(body) == expected


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200))
def test_escaped_values_are_decoded_once(url):
    assert form(b"sitemap=" + quote(url, safe="").encode()) == {"sitemap": url}


@given(st.dictionaries(st.binary(max_size=9), st.lists(st.binary(max_size=30), min_size=1, max_size=2), max_size=3))
def test_malformed_forms_are_rejected(args):
    assert isinstance(read := result(read_form, args), dict) or read == "bad-form"


@pytest.mark.parametrize("token", [TOKEN, ANOTHER])
def test_known_tokens(token):
    check_token(token, [TOKEN, ANOTHER])


@pytest.mark.parametrize("token", ["", TOKEN[:-1], f"{TOKEN} ", TOKEN.upper(), f"{TOKEN}\u00e9"])
def test_other_tokens(token):
    with pytest.raises(PingError) as caught:
        check_token(token, [TOKEN, ANOTHER])
    assert caught.value.code == "wrong-token"
    assert not token or token not in str(caught.value)


def test_every_token_is_compared_in_constant_time(monkeypatch):
    lengths = []
    monkeypatch.setattr("hmac.compare_digest", lambda *both: lengths.append([*map(len, both)]) or both[0] == both[1])
    check_token(TOKEN, [TOKEN, ANOTHER])
    assert lengths == [[32, 32], [32, 32]]


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
        pytest.param("https://example.com/s.xml", "host-not-allowed", id="without-www"),
        pytest.param("https://example.org/s.xml", "host-not-allowed", id="star-is-not-itself"),
        pytest.param("https://badexample.org/s.xml", "host-not-allowed", id="star-needs-its-dot"),
        pytest.param("https://www.example.com.evil.net/s.xml", "host-not-allowed", id="name-in-front"),
        pytest.param("https://evil.net/?www.example.com", "host-not-allowed", id="name-in-query"),
        pytest.param("https://www.example.com:22/s.xml", "host-not-allowed", id="port"),
        pytest.param("https://a.example/s.xml", "host-not-allowed", id="not-at-its-port"),
        pytest.param("", "bad-sitemap", id="empty"),
        pytest.param("/sitemap.xml", "bad-sitemap", id="relative"),
        pytest.param("//www.example.com/sitemap.xml", "bad-sitemap", id="without-scheme"),
        pytest.param("www.example.com/sitemap.xml", "bad-sitemap", id="bare"),
        pytest.param("ftp://www.example.com/s.xml", "bad-sitemap", id="ftp"),
        pytest.param("file:///etc/passwd", "bad-sitemap", id="file"),
        pytest.param("javascript:alert(1)", "bad-sitemap", id="javascript"),
        pytest.param("http:///s.xml", "bad-sitemap", id="no-host"),
        pytest.param("http:/www.example.com/s.xml", "bad-sitemap", id="one-slash"),
        pytest.param("http://:80/s.xml", "bad-sitemap", id="port-alone"),
        pytest.param("https://user:word@www.example.com/s", "bad-sitemap", id="credentials"),
        pytest.param("https://@www.example.com/s.xml", "bad-sitemap", id="empty-user"),
        pytest.param("https://www.example.com@evil.net/s", "bad-sitemap", id="host-as-user"),
        pytest.param("https://evil.net\\@www.example.com/", "bad-sitemap", id="backslash"),
        pytest.param("https://www.example.com/s.xml#x", "bad-sitemap", id="fragment"),
        pytest.param("https://www.example.com/a b", "bad-sitemap", id="space"),
        pytest.param("https://www.example.com/s\nX: y", "bad-sitemap", id="line-break"),
        pytest.param(" https://www.example.com/s.xml", "bad-sitemap", id="space-before"),
        pytest.param("https://www.example.com/s.xml\n", "bad-sitemap", id="line-break-at-end"),
        pytest.param("https://www.example.com/\x00", "bad-sitemap", id="nul"),
        pytest.param("https://www.example.com/\u00fc", "bad-sitemap", id="not-escaped"),
        pytest.param("https://www.example.com/\u00a0", "bad-sitemap", id="no-break-space"),
        pytest.param("https://www.example.com/%zz", "bad-sitemap", id="half-escaped"),
        pytest.param("https%3A%2F%2Fwww.example.com%2F", "bad-sitemap", id="escaped-twice"),
        pytest.param("https://www.ex%61mple.com/", "bad-sitemap", id="escaped-host"),
        pytest.param("https://www.example.com./s.xml", "bad-sitemap", id="dot-at-end"),
        pytest.param("https://www..example.com/s.xml", "bad-sitemap", id="empty-label"),
        pytest.param("https://www.example.com:/s.xml", "bad-sitemap", id="no-port"),
        pytest.param("https://www.example.com:0/s.xml", "bad-sitemap", id="port-zero"),
        pytest.param("https://www.example.com:99999/", "bad-sitemap", id="port-too-high"),
        pytest.param("https://[::1/s.xml", "bad-sitemap", id="open-bracket"),
        pytest.param("https://[::1]x/s.xml", "bad-sitemap", id="behind-the-bracket"),
        pytest.param("https://" + "a" * 300 + ".example.org/", "bad-sitemap", id="long-name"),
        pytest.param(
            "https://" + "a" * 63 + ".example.org/", "a" * 63 + ".example.org 443", id="63-characters-of-a-name"
        ),
        pytest.param("https://" + "a" * 64 + ".example.org/", "bad-sitemap", id="64-characters-of-a-name"),
        pytest.param("https://www.example.com/" + "a" * 2024, "www.example.com 443", id="2048-characters"),
        pytest.param("https://www.example.com/" + "a" * 2025, "bad-sitemap", id="2049-characters"),
        pytest.param("https://www.example.com/" + "a" * 10**6, "bad-sitemap", id="a-million-characters"),
    ],
)
def test_addresses(url, expected):
    found = verdict(url)
    if isinstance(found, PingTarget):
        assert found.url == url
        found = f"{found.host} {found.port}"
    assert found == expected


@pytest.mark.parametrize(
    ("hosts", "url", "host", "port"),
    [
        pytest.param("[2606:4700::1111]", "https://[2606:4700:0:0::1111]/", "2606:4700::1111", 443, id="ipv6"),
        pytest.param("1.0.0.1", "http://1.1/s.xml", "1.0.0.1", 80, id="short"),
        pytest.param("0177.1", "http://127.0.0.1/s.xml", "127.0.0.1", 80, id="octal"),
        pytest.param(
            "under_score.example", "https://under_score.example/", "under_score.example", 443, id="underscore"
        ),
        pytest.param("single", "https://single/s.xml", "single", 443, id="one-label"),
    ],
)
def test_hosts_are_compared_in_canonical_form(hosts, url, host, port):
    assert verdict(url, hosts=hosts) == PingTarget(url, host, port, may_be_private=False)


def test_only_a_host_that_is_listed_literally_may_be_private():
    url = "http://10.0.0.5:8000/s.xml"
    assert verdict(url, allow_private=True) == PingTarget(url, "10.0.0.5", 8000, may_be_private=True)
    assert verdict("http://10.0.0.5/s.xml", allow_private=True) == "host-not-allowed"
    assert verdict("http://a.example.org/s.xml", allow_private=True).may_be_private is False
    both = f"{NAMED} a.example.org"
    assert verdict("http://a.example.org/s.xml", hosts=both, allow_private=True).may_be_private is True


@pytest.mark.parametrize(
    ("url", "words"),
    [
        pytest.param("sitemap.xml", "sitemap='sitemap.xml': it must be an absolute URL such as https://", id="url"),
        pytest.param("https://me:secret@a.example/", "sitemap='https://***@a.example/': it must be", id="password"),
        pytest.param("a" * 10**6, f"sitemap='{'a' * 200}': it must be", id="long"),
        pytest.param("https://evil.net/", "evil.net is not allowed on port 443: the operator can add it", id="host"),
        pytest.param("\x1b[2J\n", r"sitemap='\x1b[2J\n': it must be", id="control"),
    ],
)
def test_a_rejection_names_the_value_and_the_remedy(url, words):
    with pytest.raises(PingError) as caught:
        ping_target(url, config())
    assert str(caught.value).startswith(words)
    assert len(str(caught.value)) < 500


PUBLIC, PRIVATE = ip_address("93.184.216.34"), ip_address("10.0.0.5")


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254",
        "0.0.0.0", "100.64.0.1", "[::1]", "[::ffff:7f00:1]", "[fd00::1]", "[fe80::1]", "[64:ff9b::7f00:1]", "[::]",
        "localhost", "a.localhost", "printer.local", "db.internal", "224.0.0.1", "255.255.255.255",
    ],
)  # fmt: skip
def test_a_private_host_is_rejected_even_if_listed(host):
    target = verdict(f"http://{host}/s.xml", hosts=host)
    assert target.host == host_key(host.strip("[]"))
    assert result(job_settings, target, [literal(host) or PUBLIC]) == "private-address"


@pytest.mark.parametrize(
    ("found", "may_be_private", "expected"),
    [
        pytest.param([PUBLIC], False, "never", id="public"),
        pytest.param([PUBLIC], True, "never", id="public-though-it-may-be-private"),
        pytest.param([PRIVATE], True, "False", id="private-and-named"),
        pytest.param([PRIVATE], False, "private-address", id="private"),
        pytest.param([PRIVATE, PUBLIC], False, "never", id="both"),
        pytest.param([PRIVATE, PUBLIC], True, "never", id="both-and-named"),
        pytest.param([ip_address("169.254.169.254")], True, "private-address", id="metadata"),
        pytest.param([ip_address("::ffff:10.0.0.5")], False, "private-address", id="mapped"),
        pytest.param([], False, "lookup-failed", id="none"),
    ],
)
def test_the_lookup_decides_which_addresses_the_crawl_may_reach(found, may_be_private, expected):
    target = verdict("https://www.example.com/s.xml", allow_private=may_be_private)
    settings = {"SITEMAP_HARVEST_PRIVATE": expected}
    assert result(job_settings, target, found) == (settings if expected in {"never", "False"} else expected)


@given(st.text() | st.text(alphabet="htps:/@.%#?[]\\ \n127w0xexample.com", max_size=60).map("http://{}".format))
def test_any_request_is_rejected_or_names_an_allowed_host(url):
    found = verdict(url, hosts="www.example.com")
    if isinstance(found, PingTarget):
        assert found.host == "www.example.com"
        assert found.port in {80, 443}
        assert url.split() == [url]
        assert url.lower().startswith(("http://www.example.com", "https://www.example.com"))
        assert site_of(url) is not None
    else:
        assert found in {"bad-sitemap", "host-not-allowed"}
