"""The rules for the structure of a document, compared with the protocol's own schemas in the corpus."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from sitemap_harvest import Kind
from sitemap_harvest.formats.problem_log import ProblemLog
from sitemap_harvest.formats.protocol.schema import check_structure
from tests.corpus.test_corpus import CORPUS, FILES, WALKED
from tests.documents import HERE, SITEMAPS, noted
from tests.rings import some_quick

pytestmark = pytest.mark.skipif(not FILES, reason="there is no corpus: name its folder in HARVEST_CORPUS")

SCHEMAS = {Kind.SITEMAP: "sitemap.js__sitemap.xsd", Kind.INDEX: "portrino__siteindex.xsd"}


@cache
def schema(kind: Kind) -> etree.XMLSchema:
    # The content of an extension is checked by a schema of its own, which is not in the corpus.
    text = (CORPUS / "schemas" / SCHEMAS[kind]).read_bytes().replace(b'"strict"', b'"lax"')
    return etree.XMLSchema(etree.fromstring(text))


def is_valid(body: bytes, kind: Kind) -> bool:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    return schema(kind).validate(etree.fromstring(body, parser))


def judged(body: bytes, kind: Kind) -> tuple[bool, dict[str, int]]:
    """Return whether *body* is valid, and the problems that only a validation reports."""
    log = ProblemLog(HERE)
    return check_structure(iter([body]), kind, log), noted(log)


def kind_and_utf8(body: bytes) -> tuple[Kind, bytes] | None:
    """Return a corpus document as its kind and UTF-8 bytes; ``None`` if it is malformed or of another kind."""
    try:
        root = etree.fromstring(body, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return None
    name = etree.QName(root).localname.lower()
    kind = {"urlset": Kind.SITEMAP, "sitemapindex": Kind.INDEX}.get(name)
    if kind is None or root.getroottree().docinfo.doctype:
        return None
    return kind, etree.tostring(root)


@pytest.mark.parametrize("path", some_quick(WALKED, every=4, others=pytest.mark.deep))
def test_documents_of_the_web_are_judged_as_by_the_schema(path: str) -> None:
    if found := kind_and_utf8((CORPUS / path).read_bytes()):
        kind, body = found
        agree(body, kind)


def sitemap(inside: str) -> bytes:
    head = f'<urlset xmlns="{SITEMAPS}" xmlns:x="urn:x" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
    return f"{head}{inside}</urlset>".encode()


def entry(value: str, name: str) -> bytes:
    escaped = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    loc = "" if name == "loc" else "<loc>https://a.example/</loc>"
    return sitemap(f"<url>{loc}<{name}>{escaped}</{name}></url>")


def agree(body: bytes, kind: Kind = Kind.SITEMAP) -> None:
    is_correct, problems = judged(body, kind)
    assert is_correct == is_valid(body, kind), problems
    assert not (is_correct and problems), problems


URL_TEXTS = st.lists(
    st.sampled_from([
        *("http", "a", "b1", ":", "//", "/", "?", "#", "@", "[", "]", "%", "%2", "%20", "%zz", "::1", ".", ".."),
        *(":80", ":0", ":2147483647", ":2147483648", ":99999999999", " ", "\n", "\u00a0", "ä", "{", "|", "^", "`"),
        *("\\", '"', "<", "'", "!", "$", "&", "(", "*", "+", ",", ";", "=", "~", "-", "_", "0", "\u200b", "\x7f"),
    ]),
    max_size=12,
).map("".join)  # fmt: skip
DATES = st.from_regex(
    r"\A[ \n\u00a0]?-?(?:[0-9]{3,6}|2024|1900|2000|0000)-(?:[0-9]{2}|0[12]|1[0-3])-(?:[0-9]{2}|2[89]|3[01])"
    r"(?:[Tt ](?:2[345]|[0-9]{2}):(?:[0-9]{2}|00|59|60)(?::(?:00|59|60|[0-9]{2})(?:[.,][0-9]*)?)?)?"
    r"(?:Z|z|[+-](?:1[345]|[0-9]{1,2}):?(?:00|59|60))?[ \u00a0]?\Z"
)
DECIMALS = st.text(alphabet="0123456789.+- \n\u00a0e,", max_size=8) | st.sampled_from(["0.5", "1.0", "1", "0", "-0.0"])


@settings(max_examples=300)
@given(URL_TEXTS.map("http://a.b/".__add__) | URL_TEXTS.map("http://ab.cd".__add__) | URL_TEXTS)
@example("http://" + "a" * 2042)
@example("http://" + "a" * 2041)
@example("http://" + "ä" * 2041)
@example("http://a.b/")
@example("http://a.bc/")
@example("https://a.example:/")
def test_urls_are_judged_as_by_the_schema(text: str) -> None:
    agree(entry(text, "loc"))


@pytest.mark.deep
@settings(max_examples=300)
@given(DATES)
@example("2024-02-29")
@example("1900-02-29")
@example("2024-02-29T24:00:00.000Z")
@example("2024-02-29T24:00:00.001Z")
@example("")
@example("Mon, 09 Mar 2026 14:00:00 GMT")
def test_dates_are_judged_as_by_the_schema(text: str) -> None:
    agree(entry(text, "lastmod"))


@settings(max_examples=500)
@given(DECIMALS)
@example("0.9999999999999999999999")
@example("1.00000000000000000001")
def test_priorities_are_judged_as_by_the_schema(text: str) -> None:
    agree(entry(text, "priority"))


WORDS = ("always", "Daily", " daily", "never\n", "", "hourly", "weekly", "monthly", "yearly", "x")


@pytest.mark.parametrize("text", WORDS)
def test_change_frequencies_are_judged_as_by_the_schema(text: str) -> None:
    agree(entry(text, "changefreq"))


LOC = "<loc>https://a.example/</loc>"
PIECES = st.sampled_from([
    *[LOC] * 6,
    *["<lastmod>2026-01-01</lastmod>", "<changefreq>daily</changefreq>", "<priority>0.5</priority>"] * 3,
    *["<x:a/>", "<x:a><x:b y='1'/>text</x:a>", "<y xmlns='urn:y'><loc/></y>", "<!-- c -->", "<?p i?>", "\n", " "] * 2,
    *("text", "\u00a0", "<Loc/>", "<loc xmlns=''>https://a.example/</loc>", "<loc/>", "<url/>", "<sitemap/>", "<odd/>"),
    *(f"<url>{LOC}</url>", "<loc>https://a.example/<b/></loc>", "<loc a='b'>https://a.example/</loc>"),
    *("<lastmod xsi:schemaLocation='urn:x x.xsd'>2026-01-01</lastmod>", "<loc xml:lang='en'>https://a.example/</loc>"),
    *("<loc><![CDATA[https://a.example/?a&b]]></loc>", "<loc>https://a<!-- c -->.example/</loc>"),
])  # fmt: skip
ENTRIES = st.tuples(
    st.sampled_from(["<url>"] * 8 + ["<url a='b'>", "<url xsi:schemaLocation='urn:x x.xsd'>"]),
    st.lists(PIECES, max_size=5).map("".join),
).map(lambda parts: f"{parts[0]}{parts[1]}</url>")


@pytest.mark.deep
@settings(max_examples=600)
@given(st.lists(ENTRIES | ENTRIES | st.just(f"<url>{LOC}</url>") | PIECES, max_size=4).map("".join))
@example("")
@example(f"<url>{LOC}\u00a0</url>")
def test_structures_are_judged_as_by_the_schema(inside: str) -> None:
    agree(sitemap(inside))


ROOTS = [
    pytest.param(f'<urlset xmlns="{SITEMAPS}">', "urlset", id="right"),
    pytest.param("<urlset>", "urlset", id="no-namespace"),
    pytest.param(f'<urlset xmlns="{SITEMAPS}/">', "urlset", id="slash"),
    pytest.param('<urlset xmlns="http://www.google.com/schemas/sitemap/0.84">', "urlset", id="google"),
    pytest.param(f'<urlSet xmlns="{SITEMAPS}">', "urlSet", id="capital"),
    pytest.param(f'<s:urlset xmlns:s="{SITEMAPS}" xmlns="{SITEMAPS}">', "s:urlset", id="prefix"),
    pytest.param(f'<urlset xmlns="{SITEMAPS}" version="1">', "urlset", id="attribute"),
    pytest.param(f'<sitemapindex xmlns="{SITEMAPS}">', "sitemapindex", id="index"),
]


@pytest.mark.parametrize(("start", "name"), ROOTS)
def test_roots_are_judged_as_by_the_schema(start: str, name: str) -> None:
    agree(f"{start}<url>{LOC}</url></{name}>".encode())


INDEX_PIECES = st.sampled_from([LOC, "<lastmod>2026-01-01</lastmod>", "<lastmod/>", "<changefreq>daily</changefreq>"])


@given(st.lists(INDEX_PIECES, max_size=4).map("".join), st.sampled_from(["", "<url/>", "<a xmlns='urn:x'/>"]))
def test_indexes_are_judged_as_by_the_schema(inside: str, before: str) -> None:
    body = f'<sitemapindex xmlns="{SITEMAPS}">{before}<sitemap>{inside}</sitemap></sitemapindex>'.encode()
    agree(body, Kind.INDEX)
