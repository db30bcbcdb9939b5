from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest.urls import registrable_domain


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        pytest.param("www.example.com", "example.com", id="below"),
        pytest.param("example.com", "example.com", id="itself"),
        pytest.param("a.b.Example.CO.UK", "example.co.uk", id="suffix-of-two-labels"),
        pytest.param("www.example.com.", "example.com", id="dot-at-the-end"),
        pytest.param("a.b.ck", "a.b.ck", id="suffix-with-a-star"),
        pytest.param("www.ck", "www.ck", id="exception-to-a-star"),
        pytest.param("this.github.io", "this.github.io", id="private-suffix", marks=pytest.mark.case(118)),
        pytest.param("docs.this.github.io", "this.github.io", id="below-one-of-a-private-suffix"),
        pytest.param("www.xn--bcher-kva.de", "xn--bcher-kva.de", id="punycode"),
        pytest.param("shop.corp.internal", "corp.internal", id="ending-that-is-not-in-the-list"),
        pytest.param("co.uk", None, id="suffix"),
        pytest.param("github.io", None, id="suffix-that-is-private"),
        pytest.param("com", None, id="suffix-of-one-label"),
        pytest.param("localhost", None, id="single-name"),
        pytest.param("127.0.0.1", None, id="ipv4"),
        pytest.param("127.1", None, id="ipv4-short"),
        pytest.param("0x7f.0x1", None, id="ipv4-hexadecimal"),
        pytest.param("[::1]", None, id="ipv6-in-brackets"),
        pytest.param("fe80::1", None, id="ipv6"),
        pytest.param("::ffff:1.2.3.4", None, id="ipv6-that-ends-as-ipv4"),
        pytest.param("", None, id="nothing"),
        pytest.param("..", None, id="dots"),
        pytest.param("a..b", None, id="empty-label"),
    ],
)
def test_registrable_domain(host: str, domain: str | None) -> None:
    assert registrable_domain(host) == domain


@given(st.text())
def test_any_text_has_a_result(host: str) -> None:
    domain = registrable_domain(host)
    assert domain is None or registrable_domain(domain) == domain


@pytest.mark.case(118)
def test_two_sites_below_a_private_suffix_have_two_domains() -> None:
    assert registrable_domain("this.github.io") != registrable_domain("that.github.io")
