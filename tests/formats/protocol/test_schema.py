"""Values of the protocol's elements; the types of XML Schema were checked with libxml2."""

from __future__ import annotations

import pytest

from sitemap_harvest.formats.protocol import schema

URI, SHORT = "protocol/loc-not-a-uri", "protocol/loc-too-short"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("https://a.example/", None, id="plain"),
        pytest.param("\n  https://a.example/\n", None, id="whitespace-around"),
        pytest.param("https://me:secret@[::1]:80/a;b=1/?q=/?#/?[]", None, id="all-parts"),
        pytest.param("https://ä.example/ü{|}", None, id="to-be-escaped"),
        pytest.param("https://a.example/%7Ea", None, id="escape"),
        pytest.param("/a/relative/one", None, id="relative"),
        pytest.param("mailto:me@a.example", None, id="other-scheme"),
        pytest.param("https://a.example/%zz", URI, id="no-escape"),
        pytest.param("https://a.example/%", URI, id="cut-escape"),
        pytest.param("https://a.example/#a#b", URI, id="two-fragments"),
        pytest.param("https://a.example/[x]", URI, id="brackets-in-path"),
        pytest.param("https://a.example/?[x]", URI, id="brackets-in-query"),
        pytest.param("https://a.example:x/", URI, id="port-of-letters"),
        pytest.param("https://a.example:/", URI, id="empty-port"),
        pytest.param("https://a.example:2147483648/", URI, id="large-port"),
        pytest.param("https://[::1/aaaaaa", URI, id="open-bracket"),
        pytest.param("1a://a.example/", URI, id="scheme-with-digit"),
        pytest.param("https://a.example/a b%", schema.REPORTED, id="space-inside"),
        pytest.param("https://a.example/{{ url }}%", schema.REPORTED, id="template"),
        pytest.param("https://a.example/\x7f%", schema.REPORTED, id="control-character"),
        pytest.param("http://a.b", SHORT, id="short"),
        pytest.param("http://a.b/c", None, id="shortest"),
        pytest.param("http://" + "a" * 2041, None, id="longest"),
        pytest.param("http://" + "a" * 2042, "protocol/loc-too-long", id="too-long"),
        pytest.param(" \n", schema.REPORTED, id="space"),
        pytest.param("", schema.REPORTED, id="empty"),
    ],
)
def test_loc(text: str, expected: str | None) -> None:
    assert schema.check_loc(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *[
            pytest.param(text, None, id=text)
            for text in (
                *("2026-03-09", "2026-03-09Z", "2026-03-09+14:00", "2024-02-29", "2000-02-29", "12026-01-01"),
                *("-0004-02-29", "2026-03-09T14:00:00", "2026-03-09T14:00:00.123456789Z", "2026-03-09T24:00:00.0"),
                *("2026-03-09T14:00:00-13:59", " 2026-03-09\n"),
            )
        ],
        *[
            pytest.param(text, "protocol/lastmod-schema", id=text)
            for text in ("2026", "2026-03", "2026-03-09T14:00Z", "2026-03-09T14:00+01:00")
        ],
        *[
            pytest.param(text, schema.REPORTED, id=text)
            for text in ("2026-03-09 14:00:00Z", "2026-03-09t14:00:00z", "Mon, 09 Mar 2026 14:00:00 GMT")
        ],
        *[
            pytest.param(text, schema.REPORTED, id=text or "empty")
            for text in (
                "",
                "0000-01-01",
                "1900-02-29",
                "2026-13-01",
                "2026-00-01",
                "2026-03-00",
                "2026-03-09T24:00:01",
            )
        ],
        pytest.param("\u00a02026-03-09", "protocol/whitespace-around", id="no-break-space"),
    ],
)
def test_lastmod(text: str, expected: str | None) -> None:
    assert schema.check_lastmod(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *[
            pytest.param(text, None, id=text)
            for text in ("0", "1.0", ".5", "1.", "+0.5", "-0.0", " 0.5\n", "0.00000001")
        ],
        *[
            pytest.param(text, schema.REPORTED, id=text or "empty")
            for text in ("", "1.1", "-0.1", "0,5", "1e-1", "high", "\u0660")
        ],
        pytest.param("\u00a00.5", "protocol/whitespace-around", id="no-break-space"),
    ],
)
def test_priority(text: str, expected: str | None) -> None:
    assert schema.check_priority(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("daily", None, id="word"),
        pytest.param(" daily", "protocol/whitespace-around", id="space"),
        pytest.param("Daily", schema.REPORTED, id="capital"),
        pytest.param("", schema.REPORTED, id="empty"),
    ],
)
def test_changefreq(text: str, expected: str | None) -> None:
    assert schema.check_changefreq(text) == expected
