from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sitemap_harvest.urls import resolve, site_of, url_key, user_of, without_user
from sitemap_harvest.urls.key import CANONICAL_PATTERN

pieces = st.sampled_from(
    [
        *(
            "http://",
            "https://",
            "HTTP://",
            "ftp://",
            "//",
            "/",
            "?",
            "#",
            "@",
            ":",
            ".",
            "..",
            "/./",
            "/../",
            "[",
            "]",
        ),
        *("example.com", "EXAMPLE", "a", "Z", "0", "80", "443", ":80", ":443", ":08", "%", "%41", "%2f", "%2F", "%e9"),
        *(
            "é",
            "münchen.de",
            "日本",
            "\u3002",
            "\uff0f",
            "\u200b",
            " ",
            "\n",
            "\\",
            "%2E%2e",
            "xn--mnchen-3ya",
            "&",
            "=",
            "|",
            '"',
        ),
    ]
)
urls = st.lists(pieces, max_size=8).map("".join) | st.lists(pieces, max_size=8).map(lambda p: "http://" + "".join(p))


@pytest.mark.parametrize(
    ("url", "key"),
    [
        pytest.param("HTTP://Example.COM/Path", "http://example.com/Path", id="case"),
        pytest.param("http://example.com", "http://example.com/", id="empty-path"),
        pytest.param("http://example.com?q", "http://example.com/?q", id="empty-path-with-query"),
        pytest.param("http://example.com:80/", "http://example.com/", id="default-port"),
        pytest.param("https://example.com:443/", "https://example.com/", id="default-port-of-https"),
        pytest.param("http://example.com:443/", "http://example.com:443/", id="port-of-another-scheme"),
        pytest.param("http://example.com:0080/", "http://example.com/", id="port-with-zeros"),
        pytest.param("http://example.com:/", "http://example.com/", id="empty-port"),
        pytest.param("http://example.com:0/", "http://example.com:0/", id="port-zero"),
        pytest.param("http://e.x:" + "1" * 5000 + "/", "http://e.x:" + "1" * 5000 + "/", id="port-of-5000-digits"),
        pytest.param("http://example.com/%7Ea%2fb", "http://example.com/~a%2Fb", id="escapes"),
        pytest.param("http://example.com/%c3%a9", "http://example.com/%C3%A9", id="escapes-in-upper-case"),
        pytest.param("http://example.com/é ü", "http://example.com/%C3%A9%20%C3%BC", id="escaped-as-utf-8"),
        pytest.param("http://example.com/100%", "http://example.com/100%25", id="bare-percent"),
        pytest.param("http://example.com/a/./b/../c", "http://example.com/a/c", id="dot-segments"),
        pytest.param("http://example.com/a/%2E%2E/c", "http://example.com/c", id="escaped-dot-segments"),
        pytest.param("http://example.com/../../a", "http://example.com/a", id="above-the-root"),
        pytest.param("http://example.com/a/..", "http://example.com/", id="dots-at-the-end"),
        pytest.param("http://example.com/?a=/../b", "http://example.com/?a=/../b", id="dots-in-the-query"),
        pytest.param("http://München.de/", "http://xn--mnchen-3ya.de/", id="international-host"),
        pytest.param("http://example。com/", "http://example.com/", id="ideographic-full-stop"),
        pytest.param("http://a%41.com/", "http://aa.com/", id="escape-in-the-host"),
        pytest.param("http://[2001:DB8::1]:80/", "http://[2001:db8::1]/", id="ipv6"),
        pytest.param("http://User:Pw@example.com/", "http://User:Pw@example.com/", id="user"),
        pytest.param("http://example.com/a#B", "http://example.com/a#B", id="fragment-stays"),
        pytest.param("http://example.com/?b=1&a=2", "http://example.com/?b=1&a=2", id="query-order-stays"),
        pytest.param("http://www.example.com/a/", "http://www.example.com/a/", id="slash-and-www-stay"),
        pytest.param("ftp://example.com:21/a", "ftp://example.com/a", id="ftp"),
        pytest.param("/a", None, id="relative"),
        pytest.param("http:///a", None, id="no-host"),
        pytest.param("http://:80/", None, id="port-alone"),
        pytest.param("http://a:b/", None, id="port-of-letters"),
        *(
            pytest.param(f"http://{host}/", None, id=host)
            for host in ("[bad", "[bad]", "[]", "a]b", "x[::1]", "[::1]x", "u@[bad", "[::1", "[fe80::1%25eth0]")
        ),
        pytest.param("mailto:a@example.com", None, id="no-authority"),
        pytest.param("", None, id="empty"),
    ],
)
def test_key(url: str, key: str | None) -> None:
    assert url_key(url) == key


@given(urls)
@example("http://[bad/")
@example("http://[a]/")
def test_a_url_with_a_host_has_no_key_exactly_if_it_is_reported_as_malformed(url: str) -> None:
    loc, flaw = resolve(url, None)
    if flaw in {None, "loc/malformed"} and loc is not None and re.match(r"https?://[^/?#\s\\]", loc):
        assert (url_key(loc) is None) is (flaw is not None)


@given(urls | st.text(max_size=30).map(lambda text: f"http://{text}"))
@example("http://a%41/")
@example("http://É%C3/")
def test_the_key_of_a_key_is_itself(url: str) -> None:
    key = url_key(url)
    assert key is None or url_key(key) == key


@given(st.from_regex(CANONICAL_PATTERN) | urls)
@example("http://example.com/a%2Fb?c=d")
def test_canonical_urls_are_their_own_keys(url: str) -> None:
    if re.fullmatch(CANONICAL_PATTERN, url):
        assert url_key(f"{url}#") == f"{url}#"  # which no pattern matches
        assert url_key(url) == url


@pytest.mark.parametrize(
    ("url", "site"),
    [
        pytest.param("https://www.Example.com/a?b#c", "https://www.example.com", id="plain"),
        pytest.param("http://example.com:8080/", "http://example.com:8080", id="port"),
        pytest.param("http://me@example.com:80/", "http://example.com", id="user-and-default-port"),
        pytest.param("https://[::1]/", "https://[::1]", id="ipv6"),
        pytest.param("/a", None, id="relative"),
    ],
)
def test_site(url: str, site: str | None) -> None:
    assert site_of(url) == site


@pytest.mark.parametrize(
    ("url", "user", "address"),
    [
        pytest.param("https://a.example/s", None, "https://a.example/s", id="none"),
        pytest.param("https://u:p@a.example:8/s?x=1#f", "u:p", "https://a.example:8/s?x=1#f", id="user-and-password"),
        pytest.param("https://u@a.example", "u", "https://a.example", id="user-alone"),
        pytest.param("https://:p@a.example/", ":p", "https://a.example/", id="password-alone"),
        pytest.param("https://@a.example/", "", "https://a.example/", id="empty"),
        pytest.param("https://u:p@ss@a.example/", "u:p@ss", "https://a.example/", id="at-in-the-password"),
        pytest.param("http://u:p@[::1]:8/", "u:p", "http://[::1]:8/", id="ipv6"),
        pytest.param("//u:p@a.example/s", "u:p", "//a.example/s", id="without-a-scheme"),
        pytest.param("https://a.example/@me", None, "https://a.example/@me", id="at-in-the-path"),
        pytest.param("https://a.example?q=u@x", None, "https://a.example?q=u@x", id="at-in-the-query"),
        pytest.param("https://a.example#u@x", None, "https://a.example#u@x", id="at-in-the-fragment"),
        pytest.param("https://a.example\\@b.example/", None, "https://a.example\\@b.example/", id="backslash"),
        pytest.param("file:///tmp/a@b.xml", None, "file:///tmp/a@b.xml", id="file"),
        pytest.param("mailto:u@a.example", None, "mailto:u@a.example", id="mail"),
        pytest.param("", None, "", id="nothing"),
    ],
)
def test_a_user_name_is_no_part_of_an_address(url: str, user: str | None, address: str) -> None:
    assert (user_of(url), without_user(url)) == (user, address)
