"""The meaning of entries, in the strict parser and in the recovering one alike."""

from __future__ import annotations

from typing import Any

import pytest

from sitemap_harvest import UrlEntry, read
from tests.documents import HERE, SITEMAPS, codes, index, locs, urlset

A, B = "https://example.com/a", "https://example.com/b"
IMAGE = '<image:image xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">'


@pytest.fixture(params=["strict", "mending"])
def flaw(request: pytest.FixtureRequest) -> bytes:
    """A prefix for a document that makes one parser or the other read it."""
    return b"" if request.param == "strict" else b"junk"


def problems(document: Any) -> dict[str, int]:
    return {code: n for code, n in codes(document).items() if code not in {"xml/not-well-formed", "xml/junk-before"}}


@pytest.mark.parametrize(
    ("inside", "urls", "found"),
    [
        pytest.param(f"<url><loc>{A}</loc></url>", [A], {}, id="one"),
        pytest.param(f"<url><loc>{A}</loc><loc>{B}</loc></url>", [A, B], {"loc/repeated": 1}, id="several-locs"),
        pytest.param(f"<url><loc></loc><loc>{B}</loc></url>", [B], {}, id="an-empty-loc-first"),
        pytest.param("<url><loc/></url>", [], {"loc/empty": 1, "document/no-entries": 1}, id="empty-loc"),
        pytest.param("<url></url>", [], {"loc/empty": 1, "document/no-entries": 1}, id="no-loc"),
        pytest.param(
            f"<url><loc>{A}<url><loc>{B}</loc></url></loc></url>",
            [B],
            {"xml/unclosed-entry": 1, "xml/malformed": 3, "loc/empty": 1},
            id="entry-behind-text-in-loc",
        ),
        pytest.param(f"<url><loc><url>{A}</url></loc></url>", [A], {"loc/markup": 1}, id="url-in-loc"),
        pytest.param(f"<url>{A}</url>", [A], {"loc/no-element": 1}, id="text-in-url"),
        pytest.param(f"<url><loc>{A}</loc></url>x<url><loc>{B}</loc></url>", [A, B], {"xml/stray-text": 1}, id="text"),
        pytest.param(
            f"<url><loc>{A}</loc><lastmod>2025</lastmod><lastmod>2026</lastmod></url>",
            [A],
            {"xml/repeated-field": 1},
            id="lastmod-twice",
        ),
        pytest.param(f"<loc>{A}</loc>", [A], {"loc/outside-entry": 1}, id="loc-without-url"),
        pytest.param(
            "<x><loc>Paris</loc></x>", [], {"xml/stray-text": 1, "document/no-entries": 1}, id="loc-of-something-else"
        ),
        pytest.param(f"<x><loc>{A}</loc></x>", [A], {"loc/outside-entry": 1}, id="loc-in-another-element"),
        pytest.param(f'<url xmlns="urn:x"><loc>{A}</loc></url>', [A], {"loc/outside-entry": 1}, id="foreign-url"),
        pytest.param(f"<x><url>{A}</url></x>", [A], {"loc/no-element": 1}, id="text-in-url-in-another-element"),
        pytest.param(
            f"{IMAGE}<image:loc>{A}</image:loc></image:image>",
            [],
            {"xml/extension-outside": 1, "document/no-entries": 1},
            id="image-outside",
        ),
        pytest.param(f"<url><loc>{A}</loc>{B}</url>", [A], {"xml/stray-text": 1}, id="text-beside-loc"),
        pytest.param(f"<URL><Loc>{A}</Loc></URL>", [A], {}, id="upper-case"),
        pytest.param(f'<url><loc xmlns="urn:x">{A}</loc><loc>{B}</loc></url>', [B], {}, id="foreign-loc"),
        pytest.param(
            f'<s:url xmlns:s="http://www.google.com/schemas/sitemap/0.84"><s:loc>{A}</s:loc></s:url>', [A], {}, id="old"
        ),
        pytest.param(f"<x><url><loc>{A}</loc></url></x>", [A], {}, id="wrapped"),
        pytest.param(f"<sitemap><loc>{A}</loc></sitemap>", [], {"xml/foreign-entry": 1}, id="sitemap-in-a-sitemap"),
        pytest.param(f"<url>\n<loc>\n{A}\n</loc>\n</url>", [A], {}, id="whitespace-everywhere"),
        pytest.param(f"<url><loc>{A}?<![CDATA[b&c]]>&amp;d</loc></url>", [f"{A}?b&c&d"], {}, id="cdata-in-part"),
        pytest.param(f"<url><loc>{A}<!-- -->b</loc></url>", [f"{A}b"], {}, id="comment-inside"),
        pytest.param(f"<url><loc><b>{A}</b>?<i>b</i></loc></url>", [f"{A}?b"], {"loc/markup": 1}, id="markup-inside"),
        pytest.param(
            "<url><loc>mailto:a@example.com</loc></url>",
            [],
            {"loc/not-a-url": 1, "document/no-entries": 1},
            id="no-url",
        ),
    ],
)
def test_urls(inside: str, urls: list[str], found: dict[str, int], flaw: bytes) -> None:
    document = read(flaw + urlset(inside), url=HERE)
    assert locs(document) == urls
    assert problems(document) == found


def test_an_entry_inside_an_entry_is_a_separate_entry(flaw: bytes) -> None:
    document = read(flaw + urlset(f"<url><loc>{A}</loc><url><loc>{B}</loc></url></url>"), url=HERE)
    assert locs(document) == [A, B]


@pytest.mark.parametrize("inside", [f"<url><loc>{A}</loc></url>", f"<x><url><loc>{A}</loc></url></x>"])
def test_a_well_formed_entry_inside_an_entry_is_a_problem(inside: str) -> None:
    document = read(urlset(f"<url><loc>{B}</loc>{inside}</url>"), url=HERE)
    assert locs(document) == [B, A]
    assert codes(document) == {"xml/nested-entry": 1}


def test_an_entry_inside_an_extension_is_no_part_of_the_outer_entry(flaw: bytes) -> None:
    image = f"{IMAGE}<image:loc>{B}/1.png</image:loc><url><loc>{A}</loc></url></image:image>"
    document = read(flaw + urlset(f"<url><loc>{B}</loc>{image}</url>"), url=HERE)
    assert [(row.loc, row.extra) for row in document.rows()] == [(B, None), (A, None)]


@pytest.mark.parametrize(
    ("inside", "refs", "found"),
    [
        pytest.param(f"<sitemap><loc>{A}</loc></sitemap>", [A], {}, id="one"),
        pytest.param(f"<sitemap>{A}</sitemap>", [A], {"loc/no-element": 1}, id="text-in-sitemap"),
        pytest.param(f"<sitemap><loc>{A}</loc><loc>{B}</loc></sitemap>", [A, B], {"loc/repeated": 1}, id="several"),
        pytest.param("<sitemap><loc> </loc></sitemap>", [], {"loc/empty": 1, "document/no-entries": 1}, id="empty"),
    ],
)
def test_references(inside: str, refs: list[str], found: dict[str, int], flaw: bytes) -> None:
    document = read(flaw + index(inside), url=HERE)
    assert [ref.loc for ref in document.sitemaps()] == refs
    assert problems(document) == found


def test_a_url_in_an_index_is_a_url(flaw: bytes) -> None:
    document = read(flaw + index(f"<url><loc>{A}</loc></url><sitemap><loc>{B}</loc></sitemap>"), url=HERE)
    assert locs(document) == [A]
    assert [ref.loc for ref in document.sitemaps()] == [B]
    assert problems(document) == {"xml/foreign-entry": 1}


def test_the_first_value_is_used_and_the_others_are_kept(flaw: bytes) -> None:
    fields = "<priority>0.1</priority><priority>0.2</priority><lastmod/><lastmod>2025</lastmod><lastmod>2024</lastmod>"
    (row,) = read(flaw + urlset(f"<url><loc>{A}</loc>{fields}</url>"), url=HERE).rows()
    assert (row.priority, row.lastmod_text) == (0.1, "")
    assert [(extra.name, extra.text) for extra in row.extra or ()] == [
        (f"{{{SITEMAPS}}}priority", "0.2"),
        (f"{{{SITEMAPS}}}lastmod", "2025"),
        (f"{{{SITEMAPS}}}lastmod", "2024"),
    ]


def test_absent_values_are_none(flaw: bytes) -> None:
    rows = list(read(flaw + urlset(f"<url><loc>{A}</loc></url>"), url=HERE).rows())
    assert rows == [UrlEntry(loc=A, key=A, site="https://example.com", sitemap=HERE, position=1)]


def test_deeply_nested_entries_are_read_once_each() -> None:
    inside = "<url/>"
    for number in range(60):
        inside = f"<url><x>{inside}</x><loc>https://example.com/{number}</loc></url>"
    document = read(urlset(inside), url=HERE)
    assert locs(document) == [f"https://example.com/{number}" for number in reversed(range(60))]
    assert codes(document) == {"xml/nested-entry": 59}


@pytest.mark.parametrize("root", ["urlset", "x"])
def test_a_document_inside_a_loc_is_no_part_of_its_text(root: str, flaw: bytes) -> None:
    inside = f"<{root}><url><loc>{B}</loc></url></{root}>"
    document = read(flaw + urlset(f"<url><loc>{A}</loc></url><url><loc>x {inside}</loc></url>"), url=HERE)
    assert locs(document) == [A, B]
    assert not document.complete


ODD = f"<url><loc>{B}<lastmod>2020</lastmod></loc></url>"


@pytest.mark.parametrize(
    "inside",
    [
        pytest.param(f"<url><loc>{A}</loc>{ODD}</url>", id="in-an-entry"),
        pytest.param(f"<url><loc>{A}</loc><x>{ODD}</x></url>", id="in-an-element-of-an-entry"),
        pytest.param(f"<x><url><loc>{A}</loc></url>{ODD}</x>", id="in-another-element"),
        pytest.param(f"<url><loc>{A}</loc><loc>{B}<lastmod>2020</lastmod></loc></url>", id="in-the-same-entry"),
        pytest.param(f"<url><loc>{A}</loc></url>{ODD}", id="beside-it"),
    ],
)
def test_a_value_inside_a_value_loses_and_doubles_no_other(inside: str) -> None:
    document = read(urlset(inside), url=HERE)
    assert locs(document) == [A, B]
    assert not document.complete
