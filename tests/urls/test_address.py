from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest.urls import MAX_BASE_CHARS, WHITESPACE, Address, resolve
from sitemap_harvest.urls import address as module

BASE = "https://example.com/maps/sitemap.xml"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        pytest.param("https://example.com/a", Address("https://example.com/a", None), id="absolute"),
        pytest.param("HTTPS://example.com/a", Address("HTTPS://example.com/a", None), id="scheme-in-upper-case"),
        pytest.param("\n\t https://example.com/a \u00a0", Address("https://example.com/a", None), id="whitespace"),
        pytest.param("\ufeffhttps://example.com/a", Address("https://example.com/a", None), id="mark-before"),
        pytest.param("", Address(None, "loc/empty"), id="empty"),
        pytest.param(WHITESPACE, Address(None, "loc/empty"), id="all-whitespace"),
        pytest.param("https://e.x/a b", Address("https://e.x/a b", "loc/whitespace"), id="space-inside"),
        pytest.param("https://e.x/a\nb", Address("https://e.x/a\nb", "loc/whitespace"), id="line-break-inside"),
        pytest.param("/a", Address("https://example.com/a", "loc/relative"), id="path"),
        pytest.param("a.html", Address("https://example.com/maps/a.html", "loc/relative"), id="name"),
        pytest.param("?a=1", Address("https://example.com/maps/sitemap.xml?a=1", "loc/relative"), id="query"),
        pytest.param("//cdn.example/a", Address("https://cdn.example/a", "loc/relative"), id="no-scheme"),
        pytest.param("http:/e.x/a", Address("http:/e.x/a", "loc/malformed"), id="one-slash"),
        pytest.param("https//e.x/a", Address("https//e.x/a", "loc/malformed"), id="no-colon"),
        pytest.param("www.example.com/a", Address("www.example.com/a", "loc/malformed"), id="www"),
        pytest.param("localhost:3000/a", Address("localhost:3000/a", "loc/malformed"), id="host-and-port"),
        pytest.param("//[bad/a", Address("//[bad/a", "loc/malformed"), id="no-ipv6-address"),
        pytest.param("ftp://e.x/a", Address("ftp://e.x/a", "loc/scheme"), id="ftp"),
        pytest.param("file:///etc/passwd", Address("file:///etc/passwd", "loc/scheme"), id="file"),
        pytest.param("mailto:me@e.x", Address(None, "loc/not-a-url"), id="mail"),
        pytest.param("javascript:void(0)", Address(None, "loc/not-a-url"), id="script"),
        pytest.param("a/b?\n https://e.x/", Address(None, "loc/not-a-url"), id="text-before-a-url"),
        *(
            pytest.param(text, Address(None, "loc/control-character"), id=repr(text))
            for text in ("https://e.x/a\0", "\0https://e.x/a", "https://e.x/\x0bb", "/a\x1f", "/a\x7f", "\0")
        ),
        *(
            pytest.param(text, Address(None, "loc/template"), id=text)
            for text in (
                *("{{ site.url }}{{ page.url }}", "https://e.x{{page.url}}", "{{{url}}}", "/{% url 'page' %}"),
                *("<%= url %>/a", "https://e.x/<% id %>", "${base}/a", "https://e.x/?id=${id}"),
                *("%%URL%%", "/%%p.id_1%%"),
            )
        ),
        *(
            pytest.param(text, Address(text, None), id=text)
            for text in (
                *("https://e.x/?u={id}", "https://e.x/{+path}{?q,page}", 'https://e.x/?q={"a":{"b":{"c":1}}}'),
                *(
                    "https://e.x/%7B%7B%20url%20%7D%7D",
                    "https://e.x/?q={%22a%22:1}",
                    "https://e.x/100%%",
                    "https://e.x/a%%b",
                ),
                *(
                    "https://e.x/?$filter={a}",
                    "https://e.x/{{",
                    "https://e.x/}}{{",
                    "https://e.x/{{}}",
                    "https://e.x/<b>%",
                ),
            )
        ),
    ],
)
def test_address(text: str, address: Address) -> None:
    assert resolve(text, BASE) == address


@pytest.mark.parametrize("base", [None, "sitemap.xml", "file:///tmp/sitemap.xml"])
def test_a_relative_url_without_a_web_base_stays_relative(base: str | None) -> None:
    assert resolve("/a", base) == Address("/a", "loc/no-base")


@pytest.mark.parametrize("text", ["a", "/a", "?a", "//h/a", "ä"])
def test_nothing_is_joined_to_a_base_that_is_too_long(text: str) -> None:
    base = "https://example.com/".ljust(MAX_BASE_CHARS, "b")
    assert resolve(text, base).flaw == "loc/relative"
    assert resolve(text, base + "b") == Address(None, "loc/long-base")
    assert resolve("https://example.com/a", base + "b") == Address("https://example.com/a", None)


@given(st.from_regex(module._PLAIN, fullmatch=True))
def test_the_short_check_for_plain_urls_agrees_with_the_full_one(text: str) -> None:
    assert resolve(text, BASE) == module._resolve_odd(text, BASE)
