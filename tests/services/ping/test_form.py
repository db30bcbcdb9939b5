"""From a request to what it says."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest.services.ping.form import Form, Received, check_method, loggable_address, read_form
from sitemap_harvest.services.ping.refusal import Code, Refused

TOKEN = "0123456789abcdef"
TYPE = {"content-type": ["application/x-www-form-urlencoded"]}


def post(body, **headers):
    given = {name.replace("_", "-"): [value] for name, value in headers.items()}
    return Received(method="POST", headers=TYPE | given, body=body)


def get(query, **headers):
    return Received(method="GET", headers={name: [value] for name, value in headers.items()}, query=query)


def read(received):
    try:
        form = read_form(received)
    except Refused as refused:
        return refused.code
    return form.sitemap, form.token


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        pytest.param(post(b"sitemap=https%3A%2F%2Fa%2F%3Fb%3D1%26c%3D2"), ("https://a/?b=1&c=2", ""), id="post"),
        pytest.param(post(b"sitemap=https%3A%2F%2Fa%2F%2541"), ("https://a/%41", ""), id="decoded-once"),
        pytest.param(post(b"sitemap=a+b"), ("a b", ""), id="plus-is-a-blank"),
        pytest.param(post(b"sitemap=a&token=T"), ("a", "T"), id="token-in-field"),
        pytest.param(post(b"sitemap=a", authorization="Bearer T"), ("a", "T"), id="bearer"),
        pytest.param(post(b"sitemap=a", authorization="bearer   T "), ("a", "T"), id="bearer-in-lower-case"),
        pytest.param(post(b"sitemap=a&token=T", authorization="Basic dTpw"), ("a", "T"), id="basic-is-scrapyds"),
        pytest.param(
            post(b"sitemap=a", authorization="Basic dTpw", x_ping_authorization="Bearer T"),
            ("a", "T"),
            id="other-header",
        ),
        pytest.param(post(b"sitemap=a&token=T", authorization="Bearer T"), ("a", "T"), id="same-token-twice"),
        pytest.param(post(b"sitemap=a&token=U", authorization="Bearer T"), Code.BAD_FORM, id="two-tokens"),
        pytest.param(
            post(b"", authorization="Bearer U", x_ping_authorization="Bearer T"), Code.BAD_FORM, id="two-headers"
        ),
        pytest.param(
            Received(method="POST", headers=TYPE | {"authorization": ["Bearer T", "Bearer U"]}),
            Code.BAD_FORM,
            id="a-header-twice",
        ),
        pytest.param(post(b""), ("", ""), id="empty"),
        pytest.param(post(b"sitemap="), ("", ""), id="empty-field"),
        pytest.param(post(b"sitemap=a&sitemap=b"), Code.BAD_FORM, id="two-sitemaps"),
        pytest.param(post(b"sitemap=a&token=T&token=T"), Code.BAD_FORM, id="token-twice"),
        pytest.param(post(b"sitemap=a&project=other"), Code.BAD_FORM, id="unknown-field"),
        pytest.param(post(b"sitemap=%ff"), Code.BAD_FORM, id="not-utf-8"),
        pytest.param(post(b"sitemap=\xc3\xbc"), Code.BAD_FORM, id="raw-utf-8"),
        pytest.param(post(b"a=1&" * 1000), Code.BAD_FORM, id="many-fields"),
        pytest.param(post(None), Code.BODY_TOO_LONG, id="too-long"),
        pytest.param(post(b"{}", content_type="application/json"), Code.MEDIA_TYPE, id="json"),
        pytest.param(post(b"", content_type="multipart/form-data; boundary=x"), Code.MEDIA_TYPE, id="multipart"),
        pytest.param(Received(method="POST", body=b"sitemap=a"), Code.MEDIA_TYPE, id="no-type"),
        pytest.param(
            post(b"sitemap=a", content_type="Application/X-WWW-Form-urlencoded; charset=UTF-8"),
            ("a", ""),
            id="charset",
        ),
        pytest.param(post(b"sitemap=a", content_encoding="gzip"), Code.MEDIA_TYPE, id="compressed"),
        pytest.param(
            Received(method="POST", headers=TYPE, body=b"sitemap=a", query=b"token=T"),
            Code.BAD_FORM,
            id="post-with-query",
        ),
        pytest.param(get(b"sitemap=https%3A%2F%2Fa%2F%3Fb%3D1%26c%3D2"), ("https://a/?b=1&c=2", ""), id="get"),
        pytest.param(get(b"sitemap=https://a/?b=1"), ("https://a/?b=1", ""), id="get-hardly-escaped"),
        pytest.param(get(b"sitemap=https://a/?b=1&c=2"), Code.BAD_FORM, id="get-not-escaped"),
        pytest.param(get(b"sitemap=a", authorization="Bearer T"), ("a", "T"), id="get-with-header"),
        pytest.param(get(b"sitemap=a&token=T"), Code.BAD_FORM, id="token-in-address"),
        pytest.param(get(b""), ("", ""), id="get-empty"),
    ],
)
def test_forms(received, expected):
    assert read(received) == expected


@pytest.mark.parametrize(
    ("method", "by_get", "is_allowed"),
    [
        ("POST", False, True), ("POST", True, True), ("GET", False, False), ("GET", True, True), ("HEAD", True, False),
        ("HEAD", False, False), ("PUT", True, False), ("DELETE", False, False), ("post", False, False),
        ("", True, False),
    ],
)  # fmt: skip
def test_methods(method, by_get, is_allowed):
    if is_allowed:
        check_method(method, get=by_get)
        return
    with pytest.raises(Refused) as caught:
        check_method(method, get=by_get)
    assert caught.value.code.status == 405
    assert caught.value.headers == {"Allow": "GET, POST, OPTIONS" if by_get else "POST, OPTIONS"}


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        pytest.param(b"", b"/ping", id="nothing"),
        pytest.param(b"sitemap=https://a/", b"/ping?sitemap=https%3A%2F%2Fa%2F", id="sitemap"),
        pytest.param(b"sitemap=a&token=SECRET", b"/ping?...", id="token"),
        pytest.param(b"sitemap=a&%74oken=SECRET", b"/ping?...", id="token-in-disguise"),
        pytest.param(b"token=SECRET", b"/ping?...", id="token-alone"),
        pytest.param(b"SECRET", b"/ping?...", id="no-field"),
        pytest.param(b"sitemap=a;token=SECRET", b"/ping?sitemap=a%3Btoken%3DSECRET", id="semicolon-is-no-separator"),
    ],
)
def test_what_is_logged_of_an_address(address, shown):
    assert loggable_address(b"/ping", address) == shown


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200))
def test_what_is_escaped_once_comes_back(url):
    escaped = quote(url, safe="").encode()
    assert read(get(b"sitemap=" + escaped)) == (url, "")
    assert read(post(b"sitemap=" + escaped)) == (url, "")


@given(st.binary(max_size=300))
def test_no_body_and_no_query_is_a_fault(raw):
    for received in (get(raw), post(raw)):
        assert isinstance(read(received), tuple | Code)
    assert b"\n" not in loggable_address(b"/ping", raw)


def test_a_form_does_not_show_its_token():
    assert TOKEN not in repr(Form(sitemap="a", token=TOKEN))
