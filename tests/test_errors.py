from __future__ import annotations

import pickle

import pytest

from sitemap_harvest.errors import ArgumentError, there_is_no
from sitemap_harvest.redact import without_login


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param("https://a.example/s", "https://a.example/s", id="none"),
        pytest.param("https://me:secret@a.example/s", "https://***@a.example/s", id="plain"),
        pytest.param("https://me:se/cret@a.example/s", "https://***@a.example/s", id="slash"),
        pytest.param("https://me:se@cret@a.example/s", "https://***@a.example/s", id="at"),
        pytest.param("https://me:se'cr\"et@a.example/s", "https://***@a.example/s", id="quotes"),
        pytest.param("https://me:secret@[::1/s", "https://***@[::1/s", id="half-a-host"),
        pytest.param("ftp://me:secret@a.example", "ftp://***@a.example", id="another-scheme"),
        pytest.param("me:secret@a.example/s", "***@a.example/s", id="without-a-scheme"),
        pytest.param("https:/me:secret@a.example", "***@a.example", id="a-slash-too-few"),
        pytest.param("https://me:secret", "https://me:***", id="cut-before-the-host"),
        pytest.param("https://me:1secret", "https://me:***", id="cut-and-begins-with-a-digit"),
        pytest.param("https://a.example:80801/s", "https://a.example:80801/s", id="port"),
        pytest.param("https://[::1]:x/s", "https://[::1]:x/s", id="ipv6"),
        pytest.param(["https://me:secret@a.example"], "https://***@a.example", id="list"),
    ],
)
def test_a_message_shows_no_password(value: object, shown: str) -> None:
    message = str(ArgumentError("site", value, "a site"))
    assert "cret" not in message
    assert shown in message
    assert message.endswith(": it must be a site")


@pytest.mark.parametrize(
    "text",
    [
        "http://a.example:81,http://b.example:82",
        "http://127.0.0.1:81,127.0.0.1:82 http://a:81;b:82",
        "['http://a.example:81', 'http://b.example:82'] (http://a.example:81), http://a.example:81.",
        "http://a.example:81: there is no such table",
    ],
)
def test_ports_are_shown(text: str) -> None:
    assert without_login(text) == text


@pytest.mark.parametrize("part", ["a:", "a:b@", "//", "//a:", "//a:1", "//a:1,", "//a:1,b", "=a:", "a", "a: @", ":"])
def test_a_long_value_is_shown_at_once(part: str) -> None:
    assert without_login(part * (100_000 // len(part)))


def test_text_that_is_no_address_is_shown_unchanged() -> None:
    text = "argument since='x': it must be a date (2025, 2025-03) or a timestamp (2025-03-09T14:00:00+01:00)"
    assert without_login(text) == text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("OUR_LIMT", "did you mean OUR_LIMIT? Valid settings: OUR_SITE, OUR_LIMIT", id="misspelt"),
        pytest.param("OUR_COLOUR", "valid settings: OUR_SITE, OUR_LIMIT", id="another"),
        pytest.param(
            "LIMT", "did you mean OUR_LIMIT? Valid settings: OUR_SITE, OUR_LIMIT", id="without-what-all-begin-with"
        ),
    ],
)
def test_messages_suggest_the_likely_intended_name(name: str, words: str) -> None:
    assert there_is_no("setting", name, ["OUR_SITE", "OUR_LIMIT"]) == f"unknown setting; {words}"


def test_an_error_can_come_from_another_process() -> None:
    error = ArgumentError("since", "7", "a date")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (ArgumentError, str(error), vars(error))
