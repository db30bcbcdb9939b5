"""Three parsers, one result."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock, patch

import pytest
from hypothesis import HealthCheck, example, given, settings
from lxml import etree

from sitemap_harvest import Kind, read
from sitemap_harvest.formats import source
from sitemap_harvest.formats.xml import fast, sitemap, strict
from sitemap_harvest.formats.xml.entries import EntryReader
from sitemap_harvest.formats.xml.sitemap import read_fast
from sitemap_harvest.formats.xml.strict import NotWellFormed, read_strictly
from sitemap_harvest.formats.xml.tolerant import read_tolerantly
from tests.documents import HERE, SITEMAPS, codes, collected, collector, fixture_bytes, index, locs, noted, urlset
from tests.formats.xml.sitemaps import NAMESPACES, disturbed_sitemaps, odd_sitemaps, plain_sitemaps
from tests.rings import some_quick

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.model import UrlBatch

Read = tuple[list[Any], dict[str, int], int]
many = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def strictly(text: str) -> Read:
    into = collector()
    rows = collected(into, read_strictly([text.encode()], EntryReader(into, Kind.SITEMAP), into))
    return rows, noted(into.problems), into.entries


def mending(text: str, size: int | None = None) -> Read:
    into = collector()
    pieces = [text] if size is None else [text[at : at + size] for at in range(0, len(text), size)]
    rows = collected(into, read_tolerantly(iter(pieces), EntryReader(into, Kind.SITEMAP), into))
    return rows, noted(into.problems), into.entries


def quickly(text: str) -> tuple[Read, bool]:
    """Return the result of the fast path and, for the rest, of the strict parser; and whether there was no rest.

    The fast path reads even a single entry by its template.
    """
    into = collector()
    left = []

    def batches() -> Iterator[UrlBatch]:
        rest = yield from read_fast(iter([text.encode()]), into)
        left.append(rest)
        if rest is not None:
            reader = EntryReader(into, Kind.SITEMAP, read=rest.entries, line=rest.lines)
            yield from read_strictly(rest.blocks, reader, into)

    with patch.object(fast, "_FEW_ENTRIES", 1):
        rows = collected(into, batches())
    return (rows, noted(into.problems), into.entries), left == [None]


def assert_the_fast_path_agrees(text: str) -> None:
    """Assert that the fast path reads what the strict parser reads, or rejects the document as it does."""
    try:
        wanted = strictly(text)
    except NotWellFormed:
        with pytest.raises(NotWellFormed):
            quickly(text)
    else:
        assert quickly(text)[0] == wanted


@many
@given(plain_sitemaps())
def test_the_parsers_agree_on_plain_sitemaps(text: str) -> None:
    wanted = strictly(text)
    assert quickly(text)[0] == wanted
    assert mending(text) == wanted


@pytest.mark.deep
@many
@given(odd_sitemaps())
@example(urlset("<url><loc>https://e.x/a<!-- c -->b</loc></url>").decode())
@example(urlset("<url><loc><b>https://e.x/</b>c</loc></url>").decode())
def test_the_parsers_agree_on_odd_sitemaps(text: str) -> None:
    wanted = strictly(text)
    assert quickly(text)[0] == wanted
    assert mending(text) == wanted
    assert mending(text, size=7) == wanted


@many
@given(disturbed_sitemaps())
def test_the_fast_path_reads_what_the_strict_parser_reads_among_anything(text: str) -> None:
    assert_the_fast_path_agrees(text)


PLAIN_ENTRY = "<url><loc>https://example.com/a</loc><lastmod>2025-03-09</lastmod></url>"
IMAGE = "<image:image><image:loc> /a.png </image:loc><image:caption>A &amp; B</image:caption></image:image>"


def extended(extensions: str) -> str:
    """Return an entry with *extensions*, and one without."""
    return f"<url>{extensions}<loc>https://example.com/a</loc></url>{PLAIN_ENTRY}"


@pytest.mark.parametrize(
    ("entries", "apart"),
    [
        pytest.param(PLAIN_ENTRY * 3, 0, id="one-pattern"),
        pytest.param(PLAIN_ENTRY + "<url><loc>https://example.com/b</loc></url>", 0, id="a-field-left-out"),
        pytest.param(PLAIN_ENTRY.replace("/a<", "/a?b&amp;c<"), 0, id="entity"),
        pytest.param(PLAIN_ENTRY.replace("/a<", "/a?b&#38;c<"), 0, id="reference"),
        pytest.param(PLAIN_ENTRY.replace("<loc>", "<loc >"), 0, id="space-in-a-tag"),
        pytest.param(PLAIN_ENTRY + "<!-- -->" + PLAIN_ENTRY, 0, id="comment"),
        pytest.param(PLAIN_ENTRY.replace("/a<", "/<!-- <url> -->a<"), 0, id="comment-in-a-value"),
        pytest.param(PLAIN_ENTRY + "<!-- -->", None, id="comment-at-the-end"),
        pytest.param(PLAIN_ENTRY.replace("/a<", '/<![CDATA[a?b&<"]]]><'), 0, id="cdata"),
        pytest.param(PLAIN_ENTRY + "<?note ?>" + PLAIN_ENTRY, 1, id="processing-instruction"),
        pytest.param(PLAIN_ENTRY + "text" + PLAIN_ENTRY, 1, id="text-between-entries"),
        pytest.param(PLAIN_ENTRY.replace("</url>", "<priority/></url>"), 1, id="empty-element"),
        pytest.param(PLAIN_ENTRY.replace("/a<", "/a\n<"), 0, id="line-break-in-a-value"),
        pytest.param(PLAIN_ENTRY.replace("/a<", "/a\r\n<"), 0, id="line-break-of-windows"),
        pytest.param(PLAIN_ENTRY + "<url><loc>" + "\n\t " * 5 + "</loc></url>", 1, id="loc-of-whitespace"),
        pytest.param(PLAIN_ENTRY.replace("/a<", "/a>b<"), 0, id="greater-than-sign"),
        pytest.param("<sitemap><loc>https://example.com/a</loc></sitemap>", None, id="no-url"),
        pytest.param(extended('<xhtml:link rel="alternate" hreflang="de" href="/de"/>' * 3), 0, id="alternates"),
        pytest.param(
            extended('<xhtml:link href="/a"/><xhtml:link hreflang="de" href="/de" /><xhtml:link/>'),
            0,
            id="alternates-that-differ",
        ),
        pytest.param(extended('<xhtml:link rel="canonical" href="/"/>'), 1, id="link-of-another-relation"),
        pytest.param(extended('<xhtml:link id="a" href="/"/>'), 1, id="attribute-that-is-unknown"),
        pytest.param(extended('<xhtml:link href="/a\nb"/>'), 1, id="line-break-in-an-attribute"),
        pytest.param(extended("<xhtml:link href='/a'/>"), 1, id="single-quotes"),
        pytest.param(extended('<xhtml:link href="/a"></xhtml:link>'), 1, id="link-with-an-end-tag"),
        pytest.param(extended(IMAGE * 2), 0, id="images"),
        pytest.param(extended("<image:image>\n</image:image>") + PLAIN_ENTRY, 0, id="image-without-fields"),
        pytest.param(extended(IMAGE.replace("caption", "note")), 1, id="image-with-an-unknown-field"),
        pytest.param(extended(IMAGE.replace("caption", "loc")), 1, id="image-with-two-locs"),
        pytest.param(extended("<image:loc>/a</image:loc>"), 1, id="image-field-outside-an-image"),
        pytest.param(extended("<image:image><loc>/a</loc></image:image>"), 1, id="own-field-in-an-image"),
        pytest.param(extended("<video:video><video:title>T</video:title></video:video>" * 2), 0, id="videos"),
        pytest.param(extended("<video:video><video:tag>T</video:tag></video:video>"), 1, id="video-with-a-tag"),
        pytest.param(
            extended("<news:news><news:publication><news:name>N</news:name></news:publication></news:news>"),
            0,
            id="news",
        ),
        pytest.param(extended("<news:news><news:name>N</news:name></news:news>"), 1, id="name-without-publication"),
        pytest.param(extended("<video:video><image:loc>/a</image:loc></video:video>"), 1, id="image-field-in-a-video"),
        pytest.param(extended("<mobile:mobile/>"), 1, id="another-extension"),
    ],
)
def test_documents_that_the_fast_path_accepts(entries: str, apart: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """*apart*: how many of the entries the strict parser reads; ``None``: it reads the rest of the document."""
    text = urlset(entries, NAMESPACES).decode()
    read_apart = Mock(wraps=strict.read_apart)
    monkeypatch.setattr(sitemap, "read_apart", read_apart)
    found, whole = quickly(text)
    assert found == strictly(text)
    assert (sum(len(call.args[1]) for call in read_apart.call_args_list) if whole else None) == apart


def test_documents_with_the_same_namespaces_share_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    template_of = Mock(wraps=fast.template_of)
    monkeypatch.setattr(fast, "template_of", template_of)
    for namespace, made in (
        ("urn:a", 1),
        ("urn:a", 0),
        ("urn:b", 1),
        ("urn:a" + "a" * 4000, 1),
        ("urn:a" + "a" * 4000, 1),
    ):
        template_of.reset_mock()
        document = read(urlset(PLAIN_ENTRY * 2, f' xmlns:x="{namespace}"'), url=HERE)
        assert locs(document) == ["https://example.com/a"] * 2
        assert template_of.call_count == made


@pytest.mark.parametrize(
    "odd",
    [
        "<image:image></loc>",
        "<image:image></image:loc></image:image>",
        "<xhtml:link href='a' href='b'/>",
        '<xhtml:link href="a" href="b"/>',
        '<xhtml:link href="a"hreflang="b"/>',
        '<xhtml:link href="a/>',
        "<loc></lastmod>",
        "</loc><loc>",
        "</url><url>",
        "<image:image></image:image><image:image/>",
        "<i:image></i:image>",
        "<image:image></i:image>",
    ],
)
def test_the_fast_path_reads_nothing_that_the_strict_parser_rejects(odd: str) -> None:
    text = urlset(PLAIN_ENTRY * 2 + f"<url>{odd}<loc>https://example.com/</loc></url>", NAMESPACES).decode()
    assert_the_fast_path_agrees(text)


@pytest.mark.parametrize("odd", ["\x0c", "\x0b", "\x00", "\x1f", "\ufffe", "&nbsp;", "&", "<b>"])
@pytest.mark.parametrize("place", ["<url>{}<loc>", "https://{}", "</url>{}<url>", "</url>{}</urlset>", "</urlset>{}"])
def test_the_fast_path_accepts_only_well_formed_documents(odd: str, place: str) -> None:
    text = urlset(PLAIN_ENTRY * 2).decode()
    text = text.replace(place.replace("{}", ""), place.format(odd), 1)
    document = read(text.encode(), url=HERE)
    assert "xml/not-well-formed" in codes(document)
    assert len(locs(document)) >= 1


def test_many_entries_pass_from_parser_to_parser_without_loss() -> None:
    entries = [f"<url><loc>https://example.com/{number}</loc></url>\n" for number in range(30_000)]
    entries[25_000] = "<url><loc>https://example.com/a&b</loc></url>\n"
    entries[28_000] = "<url><!-- --><loc>https://example.com/c</loc></url>\n"
    document = read(urlset("".join(entries)), url=HERE)
    rows = list(document.rows())
    assert [row.position for row in rows] == list(range(1, 30_001))
    assert rows[25_000].loc == "https://example.com/a&b"
    assert len({row.loc for row in rows}) == 30_000
    assert codes(document) == {"xml/not-well-formed": 1, "xml/bare-ampersand": 1}


@pytest.mark.parametrize("ends", ["", "<", "<loc>https://a", "<loc>https://a\n&", "</x>", "</url>\n"])
@pytest.mark.parametrize("indent", ["", "\n", "\n\n    "])
@pytest.mark.parametrize("prolog", [b"", b"<?xml version='1.0'?>\n\n"])
def test_positions_of_flaws_after_the_fast_path_are_those_in_the_document(
    prolog: bytes, indent: str, ends: str
) -> None:
    text = prolog + urlset(f"{indent}{PLAIN_ENTRY}" * 3 + f"{indent}<url>{ends}").partition(b"</urlset>")[0].rstrip()
    with pytest.raises(etree.XMLSyntaxError) as wanted:
        etree.fromstring(text)
    (flaw,) = (problem for problem in read(text, url=HERE).problems if problem.code == "xml/not-well-formed")
    columns = "(?!)" if indent else r", column \d+|(?<!,) line \d+"  # unknown on a line that is read in two parts
    assert re.sub(columns, "", flaw.detail) == re.sub(columns, "", wanted.value.msg)
    assert [sample.line for sample in flaw.samples] == [wanted.value.lineno]


@pytest.mark.parametrize(
    "ends", ["</urlset>", "<!-- -->text</urlset>", "<url><loc>/?a&b</loc></url></urlset>", "<url>"]
)
def test_an_empty_line_before_the_declaration_is_the_only_flaw_that_it_adds(
    ends: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b'<?xml version="1.0"?>\n' + urlset(PLAIN_ENTRY * 2).replace(b"</urlset>", ends.encode())
    wanted, document = read(text, url=HERE), read(b"\n \r\n" + text, url=HERE)
    assert list(document.rows()) == list(wanted.rows())
    assert document.complete == wanted.complete
    assert codes(document) == {**codes(wanted), "xml/not-well-formed": 1, "xml/bad-declaration": 1}
    lines = {problem.code: problem.samples[0].line for problem in document.problems}
    assert (lines.pop("xml/not-well-formed"), lines.pop("xml/bad-declaration")) == (3, 3)
    before = {problem.code: problem.samples[0].line for problem in wanted.problems}
    assert lines == {code: line and line + 2 for code, line in before.items() if code != "xml/not-well-formed"}
    tolerant = Mock()
    monkeypatch.setattr("sitemap_harvest.formats.xml.tolerant.read_tolerantly", tolerant)
    if wanted.complete and "&" not in ends:
        list(read(b"\n" + text, url=HERE).urls())
        assert not tolerant.called


def test_a_bare_ampersand_is_kept_and_reported() -> None:
    document = read(urlset("<url><loc>https://example.com/?a=1&b=2&amp;c=3&lt=4</loc></url>"), url=HERE)
    assert locs(document) == ["https://example.com/?a=1&b=2&c=3&lt=4"]
    assert codes(document) == {"xml/not-well-formed": 1, "xml/bare-ampersand": 2}
    assert document.complete


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["xml/full.xml", "xml/plain.xml", "xml/index.xml"])
def test_a_document_cut_at_any_byte_yields_no_invented_url(name: str) -> None:
    body = fixture_bytes(name)
    whole = read(body, url=HERE)
    wanted = {row.loc for row in whole.rows()} | {ref.loc for ref in whole.sitemaps()}
    end = len(body.rstrip())
    for cut in range(len(body)):
        document = read(body[:cut], url=HERE)
        found = {row.loc for row in document.rows()} | {ref.loc for ref in document.sitemaps()}
        assert found <= wanted, cut
        assert document.complete == (cut >= end), cut
        assert (document.problems == whole.problems) == (cut >= end), cut


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["xml/full.xml", "xml/plain.xml", "xml/index.xml"])
def test_a_compressed_document_cut_at_any_byte_yields_no_invented_url(name: str) -> None:
    body = fixture_bytes(name)
    wanted = {row.loc for row in read(body, url=HERE).rows()} | {ref.loc for ref in read(body, url=HERE).sitemaps()}
    packed = gzip.compress(body)
    for cut in range(len(packed)):
        document = read(packed[:cut], url=HERE)
        assert {row.loc for row in document.rows()} | {ref.loc for ref in document.sitemaps()} <= wanted, cut
        assert not document.complete, cut
        assert document.problems, cut


@pytest.mark.deep
@settings(many, max_examples=20)
@given(odd_sitemaps())
def test_an_odd_sitemap_cut_anywhere_yields_no_invented_url(text: str) -> None:
    body = text.encode()
    wanted = set(locs(read(body, url=HERE)))
    for cut in range(0, len(body), 13):
        assert set(locs(read(body[:cut], url=HERE))) <= wanted


def test_a_doctype_is_skipped_and_entities_are_not_expanded() -> None:
    body = b'<!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + urlset(
        "<url><loc>https://example.com/&x;</loc></url><url><loc>https://example.com/b</loc></url>"
    )
    document = read(body, url=HERE)
    assert locs(document) == ["https://example.com/b"]
    assert codes(document) == {"xml/doctype": 1, "xml/entity-not-expanded": 1, "loc/empty": 1}
    assert not document.complete


def test_an_endless_element_keeps_memory_flat() -> None:
    with pytest.raises(NotWellFormed, match="more than"):
        strictly(f'<urlset xmlns="{SITEMAPS}"><url>' + "<a/>" * 3_000_000)


def test_blocks_may_end_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    body = fixture_bytes("xml/full.xml")
    wanted = list(read(body, url=HERE).rows())
    monkeypatch.setattr(source, "_HEAD_BYTES", 500)
    for size in (1, 7, 100):
        monkeypatch.setattr("sitemap_harvest.formats.source.BLOCK_BYTES", size)
        assert list(read(body, url=HERE).rows()) == wanted
        mended = read(b"&" + body, url=HERE)
        assert list(mended.rows()) == wanted


def test_an_index_is_read_like_a_sitemap() -> None:
    entries = "<sitemap><loc>/a.xml</loc><lastmod>2025-03</lastmod></sitemap><sitemap><loc>/b.xml?a&b</loc></sitemap>"
    document = read(index(entries), url=HERE)
    assert [(ref.loc, ref.position, ref.lastmod_text) for ref in document.sitemaps()] == [
        ("https://example.com/a.xml", 1, "2025-03"),
        ("https://example.com/b.xml?a&b", 2, None),
    ]


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param('<x:url xmlns:x="urn:x"><url>https://example.com/in</url></x:url>', id="url-in-another-element"),
        pytest.param("<url><sitemap><loc>/in.xml</loc></sitemap><loc>https://example.com/o</loc></url>", id="sitemap"),
        pytest.param("<url><loc>https://example.com/<url>in</url>o</loc></url>", id="url-in-loc"),
        pytest.param("<url><loc>https://example.com/<loc>in</loc>o</loc></url>", id="loc-in-loc"),
        pytest.param("<url><url><url><loc>/in</loc></url></url><loc>/o</loc></url>", id="url-in-url"),
        pytest.param("<loc>https://example.com/o</loc><url/><x><y/></x><!-- <url> --><?a <url>?>", id="outside"),
        pytest.param("<url><loc><![CDATA[https://example.com/</url>]]></loc><a b='>'/></url>", id="cdata"),
    ],
)
@pytest.mark.parametrize(
    "flaw", some_quick(["<url><loc>https://example.com/?a&b</loc></url>", "<image:image/>", "<url>", ""], every=4)
)
def test_no_entry_is_lost_or_doubled_between_parsers(odd: str, flaw: str) -> None:
    plain = [f"https://example.com/{number}" for number in range(6000)]
    entries = [f"<url><loc>{loc}</loc></url>" for loc in plain]
    entries.insert(2500, odd)  # so that the fast path ends before it, and the strict parser has read past the flaw
    document = read(urlset("".join(entries) + flaw), url=HERE)
    rows, ours = list(document.rows()), set(plain)
    assert [row.loc for row in rows if row.loc in ours] == plain
    positions = [row.position for row in rows if row.loc in ours]
    assert positions == sorted(set(positions))
