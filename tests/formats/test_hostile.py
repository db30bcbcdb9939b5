"""Documents designed to cost time: eight times the size costs about eight times the time, not sixty-four."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sitemap_harvest import read
from tests.documents import HERE, SITEMAPS
from tests.machine import is_linear

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = f'<urlset xmlns="{SITEMAPS}">'.encode()
A = b"<loc>http://a.example/1</loc>"
PAGE = b"<html><title>Sitemap</title><a href=/>Home</a>"
VIEWER = b'<html><body><div id="webkit-xml-viewer-source-xml">'
RSS = b"<rss><channel>"
JSON = b'{"version":"https://jsonfeed.org/version/1","items":['


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("size", "document"),
    [
        pytest.param(20_000, lambda n: ROOT + b"<url>" + A * n + b"</url></urlset>", id="locs-in-one-entry"),
        pytest.param(20_000, lambda n: ROOT + b"<a>" * n, id="nested"),
        pytest.param(20_000, lambda n: ROOT + b"<url>" + A + b"<a>" * n, id="nested-in-an-entry"),
        pytest.param(8_000, lambda n: ROOT + b"<url>" * n, id="unclosed-entries"),
        pytest.param(20_000, lambda n: ROOT + b"</url>" * n, id="end-tags"),
        pytest.param(20_000, lambda n: ROOT + b"<" * n, id="less-than-signs"),
        pytest.param(20_000, lambda n: ROOT + b"<url><loc>" + b"&" * n + b"</loc></url></urlset>", id="ampersands"),
        pytest.param(20_000, lambda n: ROOT + b"<url><loc>" + b"&#1;" * n + b"</loc></url></urlset>", id="references"),
        pytest.param(20_000, lambda n: b"<urlset " + b'a="b" ' * n + b">", id="attributes"),
        pytest.param(20_000, lambda n: ROOT + b'<url a="' + b"'\"" * n + b">" + A, id="quotes"),
        pytest.param(20_000, lambda n: ROOT + b"<!--" * n, id="comments"),
        pytest.param(20_000, lambda n: ROOT + b"<![CDATA[" * n, id="cdata-sections"),
        pytest.param(8_000, lambda n: b"<!DOCTYPE urlset [" + b"<!ENTITY a 'b'>" * n + b"]>" + ROOT, id="entities"),
        pytest.param(20_000, lambda n: b"<!DOCTYPE urlset [" + b"'" * n + ROOT, id="unclosed-doctype"),
        pytest.param(20_000, lambda n: b"<!--" * n + ROOT, id="comments-before-the-root"),
        pytest.param(20_000, lambda n: b"<!---->" * n + ROOT, id="closed-comments-before-the-root"),
        pytest.param(20_000, lambda n: ROOT + b"<url><loc>http://a.example/" + b"<b>" * n, id="nested-in-a-value"),
        pytest.param(5_000, lambda n: ROOT + b"<url>" + A + b"<i/>" * n + b"</url>", id="elements-in-one-entry"),
        pytest.param(8_000, lambda n: ROOT + b"".join(b'<x xmlns:a%d="u">' % i for i in range(n)), id="prefixes"),
        pytest.param(60_000, lambda n: b"http://a.example/," + b"1" * n + b"\n", id="digits-in-a-table"),
        pytest.param(60_000, lambda n: b"http://a.example/" + b',"' * n + b"\n", id="quotes-in-a-list"),
        pytest.param(8_000, lambda n: ROOT + b"<!DOCTYPE[" * n, id="doctypes"),
        pytest.param(20_000, lambda n: ROOT + b"<!--&--><a b=c " + b"a" * n + b"/>" + b"&", id="attribute-names"),
        pytest.param(5_000, lambda n: b"http://a.example/" + b"," * n + b'"x', id="commas-in-a-list"),
        pytest.param(8_000, lambda n: b"x" + b"\n" * n, id="blank-lines"),
        pytest.param(60_000, lambda n: b"Sitemap: " * n, id="robots"),
        pytest.param(60_000, lambda n: b"http://" * n, id="list"),
        pytest.param(10_000, lambda n: b"Sitemap: " * n, id="directives"),
        pytest.param(10_000, lambda n: b"Sitemap: http://a.example/" + b"&" * n, id="parameters-in-robots"),
        pytest.param(10_000, lambda n: b"http://a.example/" + b"?" * n + b"://\nhttp://a.example/", id="parameters"),
        pytest.param(10_000, lambda n: b"http://a.example/\nh" + b" " * n + b"x", id="whitespace-in-a-list"),
        pytest.param(8_000, lambda n: b"<html>" + b"<div " * n + b"id=", id="tags-of-a-viewer"),
        pytest.param(2_000, lambda n: PAGE + b"<a href=/a>a" * n + b"</html>", id="links"),
        pytest.param(8_000, lambda n: PAGE + b"</p><table><form>" * n + b"</html>", id="nested-in-a-page"),
        pytest.param(60_000, lambda n: PAGE + b"</p></b></a>" * n + b"</html>", id="end-tags-in-a-page"),
        pytest.param(60_000, lambda n: PAGE + b"<a href='/" + b"&#38" * n + b"'>", id="references-in-a-page"),
        pytest.param(60_000, lambda n: PAGE + b"<!--" * n, id="comments-in-a-page"),
        pytest.param(60_000, lambda n: PAGE + b"<a href='" * n, id="quotes-in-a-page"),
        pytest.param(4_000, lambda n: b"<html><head>" + b"<link rel=sitemap href=/a>" * n, id="hints"),
        pytest.param(20_000, lambda n: b"<html>" + b"<svg><title>a" * n, id="titles"),
        pytest.param(60_000, lambda n: VIEWER + b"<urlset><url>" + A + b"&nbsp;" * n, id="viewer"),
        pytest.param(60_000, lambda n: VIEWER + b"<urlset " + b'a="' * n, id="viewer-without-a-root"),
        pytest.param(60_000, lambda n: b"<html><body><pre>http://a.example/" + b"&amp;" * n, id="text-in-a-viewer"),
        pytest.param(60_000, lambda n: b'{"' + b"}<a" * n, id="json"),
        pytest.param(4_000, lambda n: RSS + b"<item><link>" * n, id="feed"),
        pytest.param(8_000, lambda n: RSS + b"<item>" + b"<a>" * n, id="feed-nested-in-an-item"),
        pytest.param(20_000, lambda n: RSS + b"<a>" * n + b"</b>" * n, id="feed-nested"),
        pytest.param(8_000, lambda n: RSS + b"<item>" + b"<link href='/a'/>" * n + b"</item>", id="links-in-an-item"),
        pytest.param(8_000, lambda n: RSS + b"<item><description>" + b"<description>" * n, id="feed-nested-text"),
        pytest.param(8_000, lambda n: RSS + b'<item><link href="' + b'href="' * n + b"/></item>", id="feed-attributes"),
        pytest.param(
            8_000, lambda n: RSS + b"<item><title type='html'>" + b"&lt;a" * n + b"</title></item>", id="title"
        ),
        pytest.param(8_000, lambda n: JSON + b"{" * n, id="json-braces"),
        pytest.param(20_000, lambda n: JSON + b'{"a":"' + b"\\" * n, id="json-backslashes"),
        pytest.param(8_000, lambda n: JSON + b"{}," * n, id="json-items"),
        pytest.param(1_000, lambda n: JSON + b"{" + b'"a":1,' * n + b'"b":2}]}', id="json-names"),
        pytest.param(8_000, lambda n: JSON + b"]," + b'"items":[' * n, id="json-lists-of-items"),
    ],
)
def test_time_grows_no_faster_than_the_size(size: int, document: Callable[[int], bytes]) -> None:
    assert is_linear(lambda body: read(body, url=HERE).problems, document, size)
