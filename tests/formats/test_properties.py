"""Properties that hold for any bytes, and for any damaged document."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import unescape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sitemap_harvest import read
from sitemap_harvest.urls import WHITESPACE, resolve
from tests.documents import FIXTURES, HERE, fixture_bytes, locs
from tests.fuzz.reading import check
from tests.oracles import walked

if TYPE_CHECKING:
    from pathlib import Path

SAMPLES = sorted(path for path in FIXTURES.rglob("*") if path.is_file() and path.stat().st_size < 4000)
PIECES = st.sampled_from(
    [
        *(b"<urlset>", b"<url>", b"</url>", b"<loc>", b"</loc>", b"<sitemapindex>", b"<sitemap>", b"<rss>", b"<item>"),
        *(
            b"<![CDATA[",
            b"]]>",
            b"<!--",
            b"-->",
            b"<?",
            b"?>",
            b"<!DOCTYPE [",
            b"<!ENTITY a 'b'>",
            b"&amp;",
            b"&a;",
            b"&",
        ),
        *(
            b"https://example.com/",
            b" ",
            b"\n",
            b"Sitemap:",
            b"\x00",
            b"\xff",
            b"\xef\xbb\xbf",
            b"\xfe\xff",
            b"\x1f\x8b\x08",
        ),
        *(b"<html>", b'<a href="/a">', b'{"items": [{"url": "', b"</", b"<", b">", b'"'),
    ]
)
many = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@many
@given(st.one_of(st.binary(max_size=200), st.lists(PIECES | st.binary(max_size=5), max_size=30).map(b"".join)))
def test_any_bytes_are_read_alike_in_any_blocks_and_compression(body: bytes) -> None:
    check(body)


@many
@given(st.sampled_from(SAMPLES), st.data())
def test_any_document_is_read_alike_in_any_blocks_and_compression(path: Path, data: st.DataObject) -> None:
    body = path.read_bytes()
    at = data.draw(st.integers(0, len(body)))
    check(body[:at] + data.draw(PIECES) + body[at + data.draw(st.integers(0, 20)) :])


@pytest.mark.thorough
@settings(many, max_examples=1000)
@given(st.sampled_from(["xml/plain.xml", "xml/full.xml"]), st.data())
def test_no_changed_byte_alters_a_url_silently(name: str, data: st.DataObject) -> None:
    body = fixture_bytes(name)
    wanted = set(locs(read(body, url=HERE)))
    at = data.draw(st.integers(0, len(body)))
    put = data.draw(st.sampled_from(["", *"<>&/\"' x\x00\x0b;![]-?:"])).encode("latin-1")
    odd = body[:at] + put + body[at + data.draw(st.integers(0, 3)) :]
    document = read(odd, url=HERE)
    rows = list(document.rows())
    if (texts := walked(odd)) is not None:  # still well-formed: a different document
        found = [row.loc for row in rows]
        assert found == [loc for text in texts if text.strip(WHITESPACE) and (loc := resolve(text, HERE).loc)]
        return
    assert document.problems
    text = unescape(odd.decode(), {"&quot;": '"', "&apos;": "'"})
    for raw in (row.loc_raw or row.loc for row in rows if row.loc not in wanted):
        assert (
            raw.strip(WHITESPACE) in text
        )  # the whitespace may have been around a tag that is reported as ``loc/markup``
