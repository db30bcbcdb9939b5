"""The options of ``[sitemap_harvest]``: read, or refused with one line."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from sitemap_harvest.errors import OptionError
from sitemap_harvest.services.ping import PingConfig
from sitemap_harvest.services.ping.config import _READERS
from sitemap_harvest.services.ping.desk import Desk
from sitemap_harvest.services.ping.tokens import VARIABLE, Tokens, owner

TOKEN = "0123456789abcdef"
ANOTHER = "another-good-token"


def test_every_option_is_read():
    assert list(_READERS) == [field.name for field in dataclasses.fields(PingConfig)]


def test_all_options_at_once():
    config = PingConfig.read(
        {
            "project": "harvest",
            "spider": "changes",
            "arguments": "\nstore=snapshots\nlanguage = de=x",
            "settings": "LOG_LEVEL=INFO",
            "hosts": "www.Example.com *.example.org 127.0.0.1:8080 [::1]",
            "ports": "80 443 8443",
            "allow_private": "yes",
            "tokens": f"{TOKEN} {ANOTHER}",
            "token_file": "/etc/tokens",
            "get": "on",
            "repeat_minutes": "0",
            "per_minute": "1",
            "per_minute_all": "2",
            "max_pending": "3",
            "access_log": "ping.log",
            "forwarded": "True",
        }.items()
    )
    hosts = config.hosts
    assert str(hosts) == "www.example.com *.example.org 127.0.0.1:8080 [::1]"
    assert config == PingConfig(
        project="harvest",
        spider="changes",
        arguments={"store": "snapshots", "language": "de=x"},
        settings={"LOG_LEVEL": "INFO"},
        hosts=hosts,
        ports=(80, 443, 8443),
        allow_private=True,
        tokens=(TOKEN, ANOTHER),
        token_file=Path("/etc/tokens"),
        get=True,
        repeat_minutes=0,
        per_minute=1,
        per_minute_all=2,
        max_pending=3,
        access_log=Path("ping.log"),
        forwarded=True,
    )
    assert TOKEN not in repr(config)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        pytest.param(
            "host",
            "a.example",
            "host: there is no such option; did you mean hosts? There are project, spider,",
            id="unknown",
        ),
        pytest.param("get", "maybe", "get is 'maybe': it must be yes or no", id="flag"),
        pytest.param("get", "", "get is '': it must be yes or no", id="flag-empty"),
        pytest.param("per_minute", "0", "per_minute is '0': it must be a whole number from 1 to 10000", id="zero"),
        pytest.param("per_minute", "1.5", "per_minute is '1.5': it must be", id="half"),
        pytest.param("max_pending", "9" * 5000, "max_pending is '999", id="huge"),
        pytest.param("repeat_minutes", "-1", "repeat_minutes is '-1': it must be", id="negative"),
        pytest.param("repeat_minutes", "\u0663", "repeat_minutes is '\u0663': it must be", id="other-digits"),
        pytest.param("ports", "", "ports is '': it must be numbers", id="no-port"),
        pytest.param("ports", "80 65536", "ports is '80 65536': it must be numbers", id="port-too-high"),
        pytest.param("hosts", "*", "'*' is no host; each must be of the form", id="star"),
        pytest.param("hosts", "https://www.example.com", "is no host", id="url"),
        pytest.param("hosts", "a.example/path", "is no host", id="path"),
        pytest.param("hosts", "user@a.example", "is no host", id="user"),
        pytest.param("hosts", "a..example", "is no host", id="empty-label"),
        pytest.param("hosts", "a.example:0", "is no host", id="port-zero"),
        pytest.param("hosts", "*.127.0.0.1", "is no host", id="below-an-address"),
        pytest.param("hosts", "a.*.example", "is no host", id="star-within"),
        pytest.param("hosts", "[::g]", "is no host", id="bad-ipv6"),
        pytest.param("tokens", "secretsecret", "tokens: each token must be of 16", id="short-token"),
        pytest.param("tokens", "geheimesWörtchen123", "tokens: each token must be of 16", id="token-not-ascii"),
        pytest.param(
            "arguments", "sitemap=https://a.example", "arguments: what is crawled is for the ping", id="sitemap"
        ),
        pytest.param("arguments", "_job=1", "arguments: _job is a name that Scrapyd uses", id="job"),
        pytest.param("arguments", "priority=1", "arguments: priority is a name that Scrapyd uses", id="priority"),
        pytest.param("arguments", "store", "arguments: it must be lines of the form name=value", id="no-sign"),
        pytest.param("arguments", "a=1\na=2", "arguments: it must be lines of the form name=value, each", id="twice"),
        pytest.param("arguments", "-s x=1", "arguments: it must be lines of the form name=value", id="option"),
        pytest.param(
            "settings", "SITEMAP_HARVEST_PRIVATE=True", "settings: SITEMAP_HARVEST_PRIVATE is for", id="private"
        ),
        pytest.param("access_log", "a\0b", "access_log is 'a\\x00b': it must be the path of a file", id="nul"),
    ],
)
def test_a_wrong_option_is_named(name, value, words):
    with pytest.raises(OptionError) as caught:
        PingConfig.read([(name, value)])
    message = str(caught.value)
    assert words in message
    assert "\n" not in message
    assert len(message) < 500
    assert name not in {"tokens", "arguments", "settings"} or value not in message


@pytest.mark.parametrize("missing", ["project", "spider", "hosts"])
def test_an_open_service_needs_all_of_these(missing):
    whole = {"project": "p", "spider": "s", "hosts": "any", "tokens": TOKEN}
    Desk(PingConfig.read(whole.items()), {})
    del whole[missing]
    with pytest.raises(OptionError, match=f"^{missing} is missing"):
        Desk(PingConfig.read(whole.items()), {})


def test_a_closed_service_needs_nothing():
    assert not Desk(PingConfig(), {}).is_open


def test_tokens_come_from_three_places(tmp_path):
    file = tmp_path / "tokens"
    file.write_text(f"# whose?\nshop {ANOTHER}\n\n  third-good-token  # old\n", "utf-8")
    environment = {VARIABLE: "from-the-environment", "PATH": "/bin"}
    tokens = Tokens(PingConfig(tokens=(TOKEN,), token_file=file), environment)
    known = tokens.known()
    assert known == {"1": TOKEN, "2": "from-the-environment", "shop": ANOTHER, "line 4": "third-good-token"}
    assert environment == {"PATH": "/bin"}, "jobs inherit it"
    assert [owner(token, known) for token in (TOKEN, ANOTHER, "", TOKEN[:-1], f"{TOKEN}\u00e9\ud800")] == [
        "1", "shop", None, None, None
    ]  # fmt: skip


def test_a_token_is_withdrawn_without_a_restart(tmp_path):
    file = tmp_path / "tokens"
    file.write_text(TOKEN, "utf-8")
    tokens = Tokens(PingConfig(token_file=file), {})
    file.write_text("", "utf-8")
    assert tokens.known() == {}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(None, "it cannot be read: no such file", id="missing"),
        pytest.param(b"\xff\xfe", "it is no text in UTF-8", id="not-utf-8"),
        pytest.param(b"short", "line 1 is wrong: it must be a token", id="short"),
        pytest.param(b"\nname short", "line 2 is wrong", id="short-behind-a-name"),
        pytest.param(b"a b 0123456789abcdef", "line 1 is wrong", id="three-words"),
        pytest.param(b"n 0123456789abcdef\nn 0123456789abcdeg", "line 2 has the name of another line", id="name-twice"),
        pytest.param(b'"\n" 0123456789abcdef', "line 1 is wrong", id="strange-name"),
    ],
)
def test_a_wrong_file_of_tokens_is_named(tmp_path, content, words):
    file = tmp_path / "tokens"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(OptionError) as caught:
        Tokens(PingConfig(token_file=file), {})
    message = str(caught.value)
    assert message.startswith(f"token_file is '{file}', and ")
    assert words in message
    assert "0123456789" not in message


def test_a_name_in_the_file_takes_no_token_away(tmp_path):
    file = tmp_path / "tokens"
    file.write_text(f"1 {ANOTHER}", "utf-8")
    with pytest.raises(OptionError, match="the name '1' is that of another token"):
        Tokens(PingConfig(tokens=(TOKEN,), token_file=file), {})
    assert Tokens(PingConfig(token_file=file), {}).known() == {"1": ANOTHER}


def test_a_short_token_in_the_environment_is_refused():
    with pytest.raises(OptionError, match=VARIABLE):
        Tokens(PingConfig(), {VARIABLE: "short"})
