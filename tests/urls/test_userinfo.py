from __future__ import annotations

import pytest

from sitemap_harvest.urls import user_of, without_user


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
def test_a_user_name_is_no_part_of_what_an_address_names(url: str, user: str | None, address: str) -> None:
    assert (user_of(url), without_user(url)) == (user, address)
