"""The options of ``[sitemap_harvest]``: read, or rejected with one line."""

from __future__ import annotations

import dataclasses

import pytest

from sitemap_harvest.errors import OptionError
from sitemap_harvest.scrapyd_ping import PingConfig
from sitemap_harvest.scrapyd_ping.config import _PARSERS, AllowedHost

TOKEN = "0123456789abcdef"
ANOTHER = "another-good-token"
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
            "host: there is no such option; did you mean hosts? The options are project, hosts, tokens, spider, allow",
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
