from __future__ import annotations

import pytest

from sitemap_harvest import read
from tests.documents import HERE, SITEMAPS, codes, locs, urlset

A, B, C = "https://example.com/a", "https://example.com/b", "https://example.com/c"
MANY = [f"https://example.com/{number}" for number in range(3_000)]
FLAWED = "xml/not-well-formed"


def entry(loc: str, more: str = "") -> str:
    return f"<url><loc>{loc}</loc>{more}</url>"


@pytest.mark.parametrize(
    ("body", "urls", "problems", "complete"),
    [
        pytest.param(
            urlset(f"<url><LOC>{A}</loc></url>&"),
            [A],
            {"xml/unlike-tags": 1, "xml/bare-ampersand": 1, "xml/stray-text": 1},
            True,
            id="tags-that-differ-in-case",
        ),
        pytest.param(
            urlset(f"<url><loc>{A}</loc><a b='1' b='2'/></url>"),
            [A],
            {"xml/bad-attributes": 1},
            True,
            id="attribute-twice",
        ),
        pytest.param(
            urlset(entry(A) + '">\n' + f"<url><loc>{B}</url>").removesuffix(b"</urlset>"),
            [A, B],
            {"xml/stray-text": 1, "xml/malformed": 1, "xml/truncated": 1},
            False,
            id="stray-text-before-the-flaw",
        ),
        pytest.param(urlset(entry(A) + entry(B)) + b"<p>", [A, B], {"xml/junk-after": 1}, True, id="junk-after"),
        pytest.param(b"Notice: x\n" + urlset(entry(A)), [A], {"xml/junk-before": 1}, True, id="junk-before"),
        pytest.param(
            b"\n<?xml version='1.0'?>" + urlset(entry(A)), [A], {"xml/bad-declaration": 1}, True, id="space-before"
        ),
        pytest.param(urlset(entry(A)) + urlset(entry(B)), [A, B], {"xml/junk-after": 1}, True, id="two-documents"),
        pytest.param(
            urlset(entry(A + "\x01")),
            [],
            {"xml/control-character": 1, "loc/control-character": 1, "document/no-entries": 1},
            False,
            id="control",
        ),
        pytest.param(
            urlset(entry(A, "<image:image/>")), [A], {"xml/undeclared-prefix": 1}, True, id="prefix-is-not-declared"
        ),
        pytest.param(urlset(entry(A + "&nbsp;")), [A + "&nbsp;"], {"xml/unknown-entity": 1}, True, id="entity"),
        pytest.param(
            urlset(f"<url><loc>{A}</loc>" + entry(B)), [A, B], {"xml/unclosed-entry": 1}, True, id="url-is-not-closed"
        ),
        pytest.param(
            urlset(f"<url><loc>{A}" + entry(B)),
            [B],
            {"xml/unclosed-entry": 1, "xml/malformed": 1, "loc/empty": 1},
            False,
            id="loc-may-have-been-cut",
        ),
        pytest.param(
            urlset(f"<url><loc><url>{A}</url></loc></url>" + entry(B + "&c")),
            [A, B + "&c"],
            {"xml/bare-ampersand": 1, "loc/markup": 1},
            True,
            id="url-inside-loc",
        ),
        pytest.param(
            urlset(f"<url><loc>{A}</url>" + entry(B)), [A, B], {"xml/malformed": 1}, False, id="loc-has-no-end"
        ),
        pytest.param(
            urlset(f"<url><loc>{A}<lastmod>2025</lastmod></url>" + entry(B)),
            [A, B],
            {"xml/malformed": 1},
            False,
            id="loc-ends-at-the-next-field",
        ),
        pytest.param(
            urlset(f"<url><loc>{A}</lok></url>" + entry(B)), [A, B], {"xml/malformed": 1}, False, id="other-end-tag"
        ),
        pytest.param(
            urlset(f"<url><loc>{A}</loc></loc></url>" + entry(B)),
            [A, B],
            {"xml/malformed": 1},
            False,
            id="end-tag-twice",
        ),
        pytest.param(f"<urlset>{entry(A)}<url><loc>{B[:-3]}".encode(), [A], {"xml/truncated": 1}, False, id="cut"),
        pytest.param(
            f"<urlset>{entry(B)}<url><loc>{A}</loc><lastmod>2025-0".encode(),
            [B],
            {"xml/truncated": 1},
            False,
            id="cut-in-lastmod",
        ),
        pytest.param(
            f"<urlset>{entry(A)}<url>{B[:-3]}".encode(), [A], {"xml/truncated": 1}, False, id="cut-in-bare-text"
        ),
        pytest.param(
            f"<urlset>{entry(A)}<url><lastmod>2025-01-01</lastmod></ur".encode(),
            [A],
            {"xml/truncated": 1},
            False,
            id="cut-in-an-end-tag",
        ),
        pytest.param(entry(A).encode(), [A], {"xml/entry-outside": 1, "xml/malformed": 1}, False, id="no-root"),
        pytest.param(
            urlset(entry(A) + "<a <b>" + entry(B)),
            [A, B],
            {"xml/malformed": 1, "xml/stray-text": 1},
            False,
            id="stray-sign",
        ),
        pytest.param(
            urlset(f"<url><loc>{A}</loc><xurl>" + entry(B) + entry(C)),
            [A, B, C],
            {"xml/unclosed-entry": 1},
            True,
            id="end-tag-that-became-a-start-tag",
        ),
        pytest.param(
            urlset(f"<url><loc>{A}</loc><image:image><image:loc>{A}i</image:loc>" + entry(B) + entry(C)),
            [A, B, C],
            {"xml/unclosed-entry": 1, "xml/undeclared-prefix": 1},
            True,
            id="extension-and-entry-are-not-closed",
        ),
        pytest.param(
            urlset(f"{entry(A)}<url><loc>{B[:-3]}"),
            [A],
            {"xml/unclosed-entry": 1, "xml/malformed": 1, "loc/empty": 1},
            False,
            id="footer-in-the-middle-of-a-loc",
        ),
        pytest.param(
            urlset(f"{entry(A)}<url><loc>{B[:-3]}<b>"),
            [A],
            {"xml/unclosed-entry": 1, "xml/malformed": 1, "loc/empty": 1},
            False,
            id="footer-in-markup-in-a-loc",
        ),
        pytest.param(
            f"<urlset>{entry(A)}<url><loc>{B}<b".encode(), [A], {"xml/truncated": 1}, False, id="cut-in-markup-in-a-loc"
        ),
        pytest.param(
            urlset(entry("https://example.com/a<b>b</b>c") + entry(B + "&c")),
            ["https://example.com/abc", B + "&c"],
            {"loc/markup": 1, "xml/bare-ampersand": 1},
            True,
            id="markup-in-a-loc",
        ),
        pytest.param(
            b"<!DOCTYPE urlset>" + urlset(entry("https://example.com/a<b>b</b>c")),
            ["https://example.com/abc"],
            {"loc/markup": 1, "xml/doctype": 1},
            True,
            id="markup-in-a-loc-that-is-well-formed",
        ),
        pytest.param(
            urlset(entry("https://example.com/a?q=<script>b") + entry(B)),
            ["https://example.com/a?q=<script>b", B],
            {"xml/malformed": 1},
            False,
            id="a-tag-in-a-loc-that-is-text",
        ),
        pytest.param(
            urlset(f"<url><loc>{A}<foo x='1'>c</foo></url>" + entry(B)),
            [A, B],
            {"xml/malformed": 1},
            False,
            id="loc-has-no-end-before-an-unknown-element",
        ),
        pytest.param(
            urlset(f"{entry(A)}<loc>{B}</loc>" + entry(C + "?&")),
            [A, B, C + "?&"],
            {"loc/outside-entry": 1, "xml/bare-ampersand": 1},
            True,
            id="loc-outside-an-entry",
        ),
        pytest.param(
            urlset(f"<loc><url><loc>{A}</loc></url>"),
            [A],
            {"xml/unclosed-entry": 1, "xml/malformed": 1},
            False,
            id="entry-in-a-loc-outside-an-entry",
        ),
        pytest.param(
            urlset(f"<loc>{A}<image:image/></loc>" + entry(B)),
            [A, B],
            {"loc/outside-entry": 1, "xml/malformed": 2, "xml/undeclared-prefix": 1},
            False,
            id="extension-in-a-loc-outside-an-entry",
        ),
        pytest.param(
            urlset(f"<loc>{A}<loc>{B}</loc>&"),
            [A, B],
            {"loc/outside-entry": 2, "xml/malformed": 1, "xml/bare-ampersand": 1, "xml/stray-text": 1},
            False,
            id="loc-in-a-loc-outside-an-entry",
        ),
        pytest.param(
            urlset(f"<url><loc>{A}<lastmod>2020</lastmod></loc></url>" + entry(B)),
            [A, B],
            {"xml/malformed": 2},
            False,
            id="a-field-in-a-loc-that-is-well-formed",
        ),
        pytest.param(
            urlset("<\u200cx></\u200cx><\u0378/>" + "".join(map(entry, MANY)) + entry(A + "?&")),
            [*MANY, A + "?&"],
            {"xml/bare-ampersand": 1},
            True,
            id="names-that-are-no-words",
        ),
        pytest.param(
            urlset(f"<a>&</a>{entry(A)}<loc>{B}" + entry(C)),
            [A, C],
            {"xml/bare-ampersand": 1, "xml/unclosed-entry": 1, "xml/malformed": 1},
            False,
            id="loc-outside-an-entry-may-have-been-cut",
        ),
        pytest.param(
            b"<?xml version='1.0' encoding='utf-8'>" + urlset(entry(A)),
            [A],
            {"xml/bad-declaration": 1},
            True,
            id="declaration-without-its-end",
        ),
        pytest.param(
            f"<urlset xmlns='{SITEMAPS}>{entry(A)}</urlset>".encode(),
            [A],
            {"xml/bad-attributes": 1},
            True,
            id="attribute-without-its-end",
        ),
        pytest.param(
            urlset(entry(A), ' a="&nbsp;"'), [A], {"xml/unknown-entity": 1}, True, id="entity-in-an-attribute"
        ),
    ],
)
def test_flaws(body: bytes, urls: list[str], problems: dict[str, int], complete: bool) -> None:
    document = read(body, url=HERE)
    found = codes(document)
    assert locs(document) == urls
    assert {code: count for code, count in found.items() if code != FLAWED} == problems
    assert document.complete is complete


def test_a_namespace_ends_with_the_element_that_declares_it() -> None:
    pagemap = '<PageMap xmlns="http://www.google.com/schemas/sitemap-pagemap/1.0"><DataObject type="t"/></PageMap>'
    document = read(urlset(entry(A, pagemap) + entry("https://example.com/?b&c", pagemap) + entry(B)), url=HERE)
    rows = list(document.rows())
    assert [row.loc for row in rows] == [A, "https://example.com/?b&c", B]
    assert [row.pagemap and row.pagemap[0].type for row in rows] == ["t", "t", None]


def test_text_around_an_element_inside_a_value_keeps_its_order() -> None:
    document = read(b"&" + urlset("<url><loc><b>https://example.com/</b>a</loc></url>"), url=HERE)
    assert locs(document) == [A]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param("<lastmod>2025-01-01</lastmod>", id="field"),
        pytest.param("<image:image><image:loc>/i.png</image:loc></image:image>", id="image"),
        pytest.param('<xhtml:link rel="alternate" hreflang="de" href="/de"/>', id="alternate"),
        pytest.param("</url", id="end-tag-without-its-end"),
    ],
)
def test_an_unfinished_entry_is_left_out(more: str) -> None:
    document = read(f"<urlset>{entry(A)}<url><loc>{B}</loc>{more}".encode(), url=HERE)
    assert (locs(document), document.complete, document.last_sound_position) == ([A], False, 1)


@pytest.mark.parametrize("prefix", ["s:", ""])
def test_elements_nested_deeper_than_any_extension_are_skipped(prefix: str) -> None:
    deep = f"<{prefix}x>" * 200 + f"</{prefix}x>" * 200
    body = f'<{prefix}urlset xmlns{":s" if prefix else ""}="{SITEMAPS}">'
    body += "".join(f"<{prefix}url><{prefix}loc>{loc}</{prefix}loc>{deep}</{prefix}url>" for loc in (A, B))
    document = read(f"{body}</{prefix}urlset>&".encode(), url=HERE)
    assert locs(document) == [A, B]
    assert codes(document)["xml/malformed"] > 0


def test_the_number_of_elements_of_one_entry_is_limited() -> None:
    document = read(urlset(entry(A, "<x/>" * 100_001 + "&")), url=HERE)
    (row,) = document.rows()
    assert row.extra is not None
    assert len(row.extra) < 100_001
    assert not document.complete
