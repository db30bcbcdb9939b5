"""The entries of a damaged document that are certainly right, and the digest that decides whether it must be read."""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from dataclasses import asdict
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from sitemap_harvest import Document, Limits, read
from tests.documents import FIXTURES, HERE, codes, fixture_bytes, urlset
from tests.formats.test_properties import PIECES, many
from tests.oracles import walked
from tests.rings import some_quick

if TYPE_CHECKING:
    from pathlib import Path

DAMAGE = (
    PIECES | st.binary(min_size=1, max_size=5) | st.sampled_from([*b"<>&/\"'=:;x!?-[\x0b"]).map(lambda n: bytes([n]))
)
NO_LIMITS = Limits()


def is_well_formed(body: bytes) -> bool:
    try:
        etree.fromstring(body, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return False
    return True


def is_whole_xml(path: Path) -> bool:
    if path.suffix != ".xml" or path.stat().st_size > 6000:
        return False
    document = read(path.read_bytes(), url=HERE)
    return walked(path.read_bytes()) is not None and document.encoding == "utf-8" and document.complete


WHOLE_XML = sorted(filter(is_whole_xml, FIXTURES.rglob("*.xml")))
OTHERS = ["text/list.txt", "text/windows.txt", "feeds/rss.xml", "feeds/atom.xml", "feeds/feed.json", "xml/index.xml"]


def cut(body: bytes, url: str = HERE, limits: Limits = NO_LIMITS) -> Document:
    """Return *body* as a document whose connection ended early."""
    return Document(body, url=url, content_type=None, limits=limits, was_cut=True)


def by_position(document: Document) -> dict[int, list[Any]]:
    """Return the rows and references at each position."""
    found: dict[int, list[Any]] = {}
    for one in (*document.rows(), *document.sitemaps()):
        found.setdefault(one.position, []).append(one)
    return found


def altered(document: Document, whole: dict[int, list[Any]]) -> list[int]:
    """Return the positions that are reported as sound but differ from the *whole* document."""
    found, sound = by_position(document), document.last_sound_position
    return [at for at in found if (sound is None or at <= sound) and found[at] != whole.get(at)]


def texts(rows: list[Any]) -> set[str]:
    """Return the published texts of *rows*, without resolved addresses."""
    found: set[str] = set()

    def gather(value: Any) -> None:
        if isinstance(value, str):  # the name of an element is preceded by its namespace, which is declared elsewhere
            found.update(value[1:].split("}", 1) if value.startswith("{") else [value])
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
            gather(item)

    for row in map(asdict, rows):
        made = {"key", "site", "loc" if row.get("loc_raw", "of a reference") else "key"}
        gather({name: value for name, value in row.items() if name not in made})
    return found


def without_cdata_marks(text: str) -> str:
    """Return *text* without the marks of CDATA sections; the end mark is text where no section is open."""
    return text.replace("<![CDATA[", "").replace("]]>", "")


def resolved(text: str) -> str:
    """Return *text* with its references resolved; a mark of a CDATA section may be inside one."""
    return re.sub(r"&(?:#\d{1,4}|amp|lt|gt|quot|apos);", lambda reference: unescape(reference[0]), text)


@pytest.mark.parametrize(
    ("body", "last"),
    [
        pytest.param(urlset("<url><loc>https://a.example/1</loc></url>" * 3), None, id="whole"),
        pytest.param(urlset("<url><loc>https://a.example/?a&b</loc></url>" * 3), None, id="mended-to-the-letter"),
        pytest.param(urlset("<url><loc>https://a.example/\x0b</loc></url>" * 3), None, id="control-character"),
        pytest.param(urlset("<url><loc>https://a.example/1</loc><image:image/></url>" * 3), None, id="usual-prefix"),
        pytest.param(b"\n" + urlset("<url><loc>https://a.example/1</loc></url>" * 3), None, id="space-before"),
        pytest.param(urlset("<url><loc>https://a.example/<b>1</b></loc></url>" * 3), None, id="well-formed-oddity"),
        pytest.param(urlset("<url><loc>https://a.example/1</loc></url>" * 9)[:-20], 8, id="cut"),
        pytest.param(urlset("<url><loc>https://a.example/1</loc></url>" * 9)[:-9], 9, id="cut-behind-the-last"),
        pytest.param(
            urlset(
                "<url><loc>https://a.example/1</loc></url>" * 5 + "<url><loc>https://a.example/<b>6</loc></url>" * 5
            ),
            4,
            id="markup-in-a-url",
        ),
        pytest.param(
            urlset("<url><loc>https://a.example/?a&b</loc></url>" * 5 + "</url><lastmod>2026</lastmod></url>"),
            4,
            id="closed-too-early",
        ),
        pytest.param(urlset("<url><loc>https://a.example/1</loc><x:y/></url>" * 3), 0, id="prefix-that-nobody-knows"),
        pytest.param(urlset("<url><loc>https://a.example/1</loc></url>" * 3) + b"<url/>", 2, id="more-behind-the-end"),
        pytest.param(
            urlset("<url><loc>https://a.example/1</loc></url>" * 5).replace(b"1<", b"\xff<"), 0, id="bytes-of-another"
        ),
    ],
)
def test_last_sound_position(body: bytes, last: int | None) -> None:
    assert read(body, url=HERE).last_sound_position == last


def test_a_compressed_body_with_a_wrong_checksum_is_suspect_from_the_start() -> None:
    packed = bytearray(gzip.compress(fixture_bytes("xml/plain.xml")))
    packed[-8] ^= 1
    document = read(bytes(packed), url=HERE)
    assert (document.complete, document.last_sound_position, document.digest()) == (False, 0, None)


def test_entries_before_a_limit_are_sound() -> None:
    body = urlset("<url><loc>https://a.example/1</loc></url>" * 9)
    too_many = read(body, url=HERE, limits=Limits(urls=5))
    too_large = read(body, url=HERE, limits=Limits(unpacked_bytes=len(body) - 20))
    assert (too_many.entries, too_many.last_sound_position) == (5, None)
    assert (too_large.entries, too_large.last_sound_position) == (8, 8)


@pytest.mark.thorough
@pytest.mark.parametrize("lane", [b"", b"<!-- strict -->", b"<url><loc>https://a.example/?a&b</loc></url>"])
def test_closed_entries_of_a_truncated_sitemap_are_sound(lane: bytes) -> None:
    body = fixture_bytes("xml/full.xml").replace(b"<url>", lane + b"<url>", 1)
    whole = by_position(read(body, url=HERE))
    for at in range(body.index(b"<url>") + 5, body.index(b"</urlset>")):
        document = read(body[:at], url=HERE)
        assert document.last_sound_position == body.count(b"</url>", 0, at)
        assert altered(document, whole) == []


@pytest.mark.parametrize("path", some_quick(WHOLE_XML, every=8), ids=lambda path: path.stem)
def test_sound_entries_of_a_truncated_document_are_unchanged(path: Path) -> None:
    body = path.read_bytes()
    whole = by_position(read(body, url=HERE))
    packed = gzip.compress(body)
    for at in range(0, len(body), 17):
        assert altered(read(body[:at], url=HERE), whole) == []
    for at in range(20, len(packed) - 8, 13):
        assert altered(read(packed[:at], url=HERE), whole) == []


@pytest.mark.parametrize("name", OTHERS)
def test_sound_entries_of_other_truncated_documents_are_unchanged(name: str) -> None:
    body = fixture_bytes(name)
    whole = by_position(read(body, url=HERE))
    for at in range(0, len(body), 3):
        assert altered(cut(body[:at]), whole) == []


@many
@given(st.sampled_from(WHOLE_XML), DAMAGE, st.data())
def test_sound_entries_are_unchanged_by_any_insertion_into_a_sitemap(
    path: Path, put: bytes, data: st.DataObject
) -> None:
    body = path.read_bytes()
    at = data.draw(st.integers(1, len(body)))
    odd = body[:at] + put + body[at + data.draw(st.integers(0, 3)) :]
    if is_well_formed(odd):
        return  # a different document
    sitemap, document = read(body, url=HERE), read(odd, url=HERE)
    if document.kind is not sitemap.kind:
        return  # damage before the root makes it a list: its lines are read as they are
    whole = by_position(sitemap)
    different = altered(document, whole)
    if different:  # it was inserted into a value, which is read unchanged, as if it had been published so
        (position,) = different
        now, before = texts(by_position(document)[position]), texts(whole.get(position, []))
        text = odd.decode(errors="replace")
        held = [
            re.sub("<!--.*?-->", "", one, flags=re.DOTALL)
            for one in (resolved(without_cdata_marks(text)), without_cdata_marks(resolved(text)))
        ]
        assert all(any(without_cdata_marks(one).strip() in each for each in held) for one in now - before)


@pytest.mark.parametrize(
    ("value", "loc"),
    [
        pytest.param("https://example.com/a]]>b", "https://example.com/a]]>b", id="outside-a-section"),
        pytest.param("<![CDATA[https://example.com/a]]>b]]>", "https://example.com/ab]]>", id="behind-a-section"),
    ],
)
def test_the_end_of_a_cdata_section_is_text_where_none_is_open(value: str, loc: str) -> None:
    document = read(urlset(f"<url><loc>{value}</loc></url>"), url=HERE)
    assert [row.loc for row in document.rows()] == [loc]
    assert codes(document) == {"xml/not-well-formed": 1}


@many
@given(st.sampled_from(WHOLE_XML), st.data())
def test_sound_entries_are_unchanged_by_any_changed_compressed_byte(path: Path, data: st.DataObject) -> None:
    packed = bytearray(gzip.compress(path.read_bytes(), mtime=0))
    packed[data.draw(st.integers(10, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    assert altered(read(bytes(packed), url=HERE), by_position(read(path.read_bytes(), url=HERE))) == []


def test_the_last_line_of_a_truncated_list_is_left_out() -> None:
    body = b"https://a.example/1\nhttps://a.example/2\nhttps://a.exam"
    document = cut(body, "https://a.example/urls.txt")
    assert [row.loc for row in document.rows()] == ["https://a.example/1", "https://a.example/2"]
    assert (document.complete, document.last_sound_position, document.sha256) == (False, 2, None)
    assert codes(document) == {}  # the published list goes on


@pytest.mark.parametrize("name", ["xml/index.xml", *OTHERS])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_where_a_connection_ended_is_no_problem_of_the_document(name: str, packed: bool) -> None:
    body = (FIXTURES / name).read_bytes()
    whole = codes(read(body, url=HERE))
    body = gzip.compress(body, mtime=0) if packed else body
    for at in range(2, len(body), max(1, len(body) // 25)):
        assert codes(cut(body[:at])).keys() <= whole.keys(), at


def test_where_a_limit_ended_the_reading_is_no_problem_of_the_document() -> None:
    body = urlset("<url><loc>https://a.example/1</loc></url>" * 99)
    document = read(body, url=HERE, limits=Limits(unpacked_bytes=len(body) - 20))
    assert (document.complete, codes(document)) == (False, {"unpack/too-large": 1})


def test_the_last_line_of_a_list_that_ends_within_a_character_is_left_out() -> None:
    document = read("https://a.example/1\nhttps://a.example/\u00e9".encode()[:-1], url="https://a.example/urls.txt")
    assert [row.loc for row in document.rows()] == ["https://a.example/1"]
    assert codes(document) == {"encoding/cut-character": 1, "encoding/bad-bytes": 1, "text/truncated": 1}


@pytest.mark.parametrize(
    "path",
    some_quick((p for p in sorted(FIXTURES.rglob("*")) if p.is_file()), every=4, others=pytest.mark.deep),
    ids=lambda path: path.name,
)
def test_the_digest_without_reading_equals_that_of_reading(path: Path) -> None:
    for body in (path.read_bytes(), gzip.compress(path.read_bytes())):
        document = read(body, url=HERE)
        assert document.digest() == document.sha256


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(gzip.compress(b"a" * 9_000)[:-9], id="cut"),
        pytest.param(gzip.compress(b"https://a.example/\n" * 9_000), id="too-large"),
    ],
)
def test_an_incomplete_decompression_has_no_digest(body: bytes) -> None:
    document = read(body, url=HERE, limits=Limits(unpacked_bytes=10_000))
    assert (document.digest(), document.sha256) == (None, None)


def test_the_digest_decodes_the_content_encoding_of_the_header() -> None:
    body = urlset("<url><loc>https://a.example/1</loc></url>")
    packed = zlib.compress(body)[2:-4]  # raw deflate, which only the header names
    document = Document(packed, url=HERE, content_type=None, limits=NO_LIMITS, content_encodings=("deflate",))
    assert document.digest() == hashlib.sha256(body).hexdigest()
