from __future__ import annotations

import hashlib
from io import BytesIO, StringIO
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from sitemap_harvest import ArgumentError, Document, Kind, Limits, read
from sitemap_harvest.model import MAX_ROWS
from tests.documents import FIXTURES, HERE, codes, expected, fixture_bytes, found, index, locs, urlset
from tests.rings import some_quick

DOCUMENTS = sorted(
    str(path.relative_to(FIXTURES)).removesuffix(".expected.jsonl")
    for path in FIXTURES.rglob("*.expected.jsonl")
    if "cases" not in path.parts
)
KINDS = (
    "xml/full.xml",
    "xml/index.xml",
    "xml/flawed.xml",
    "robots/shop.txt",
    "text/list.txt",
    "feeds/rss.xml",
    "html/viewer.xml",
)
LINKS = "html/site-map.html"
_NO_BASE = {"loc/no-base": 1}
RELATIVE = b"<urlset><url><loc>https://a.example/1</loc></url><url><loc>/2</loc></url></urlset>"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_read_as_expected(name: str) -> None:
    assert found(read(fixture_bytes(name), url=f"https://example.com/{name.rpartition('/')[2]}")) == expected(name)


@pytest.mark.parametrize(
    "order", some_quick(permutations(("urls", "sitemaps", "problems", "complete")), every=5), ids="-".join
)
@pytest.mark.parametrize("name", [*KINDS, LINKS, "html/page.html", "html/challenge.html"])
def test_the_order_of_accesses_does_not_matter(name: str, order: tuple[str, ...]) -> None:
    document = read(fixture_bytes(name), url=HERE)
    answers = {question: _ask(document, question) for question in order}
    again = {question: _ask(document, question) for question in order}
    fresh = {question: _ask(read(fixture_bytes(name), url=HERE), question) for question in order}
    assert answers == again == fresh


def _ask(document: Document, question: str) -> Any:
    if question == "urls":
        return list(document.rows())
    return list(document.sitemaps()) if question == "sitemaps" else getattr(document, question)


def test_urls_taken_in_turns_with_other_accesses_are_the_same() -> None:
    body = urlset("".join(f"<url><loc>https://example.com/{n}</loc></url>" for n in range(25_000)))
    document = read(body, url=HERE)
    batches = document.urls()
    first = next(batches)
    assert document.complete
    second = list(document.rows())
    assert [*first.rows(), *(row for batch in batches for row in batch.rows())] == second
    assert len(second) == document.entries == 25_000


def test_references_are_made_once() -> None:
    document = read(index("".join(f"<sitemap><loc>/{number}.xml</loc></sitemap>" for number in range(2_000))), url=HERE)
    first, second = list(document.sitemaps()), list(document.sitemaps())
    assert len(first) == 2_000
    assert all(one is other for one, other in zip(first, second, strict=True))


def test_batches_are_never_larger_than_allowed() -> None:
    body = b"".join(b"https://example.com/%d\n" % number for number in range(25_000))
    rows = [len(batch) for batch in read(body, url=HERE).urls()]
    assert (max(rows), sum(rows)) == (MAX_ROWS, 25_000)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(index("<sitemap><loc>/1.xml</loc></sitemap>" * 15_000), id="index"),
        pytest.param(b"Sitemap: /1.xml\n" * 35_000, id="sitemaps-of-a-robots.txt"),
        pytest.param(b"User-agent: *\n" + b"Disallow: /some/long/path\n" * 200_000, id="rules-of-a-robots.txt"),
    ],
)
def test_a_large_document_without_urls_is_read_in_steps(body: bytes) -> None:
    document = read(body, url=HERE)
    assert [len(batch) for batch in document.steps()] == [0]
    assert list(document.urls()) == []
    assert document.complete


@pytest.mark.parametrize(
    ("body", "kind", "problems", "complete"),
    [
        pytest.param(b"", Kind.EMPTY, {"document/empty": 1}, False, id="empty"),
        pytest.param(b"<!doctype html>", Kind.HTML, {"document/not-a-sitemap": 1}, False, id="html"),
        pytest.param(b"\x89PNG\x01\x02", Kind.BINARY, {"document/binary": 1}, False, id="picture"),
        pytest.param(urlset(""), Kind.SITEMAP, {"document/no-entries": 1}, True, id="no-urls"),
        pytest.param(index(""), Kind.INDEX, {"document/no-entries": 1}, True, id="no-sitemaps"),
        pytest.param(b"User-agent: *", Kind.ROBOTS, {}, True, id="robots-without-sitemaps"),
    ],
)
def test_documents_without_urls(body: bytes, kind: Kind, problems: dict[str, int], complete: bool) -> None:
    document = read(body, url=HERE)
    assert (document.kind, codes(document), document.complete) == (kind, problems, complete)
    assert list(document.urls()) == []


def test_facts() -> None:
    body = fixture_bytes("xml/plain.xml")
    document = read(fixture_bytes("gzip/members.xml.gz"), url=HERE)
    assert document.layers == ("gzip",)
    assert document.encoding == "utf-8"
    assert document.bytes_unpacked == len(body)
    assert document.sha256 == hashlib.sha256(body).hexdigest()
    assert document.entries == 3
    assert repr(document) == f"<Document sitemap {HERE}>"


@pytest.mark.parametrize("name", [*KINDS, "xml/plain.xml"])
def test_the_url_limit_ends_the_reading(name: str) -> None:
    whole = found(read(fixture_bytes(name), url=HERE))
    document = read(fixture_bytes(name), url=HERE, limits=Limits(urls=1))
    listed = [*document.rows(), *document.sitemaps()]
    assert len(listed) == document.entries == 1
    assert listed[0].loc in {record.get("loc") for record in whole}
    assert codes(document)["document/too-many-urls"] == 1
    assert not document.complete


def test_reaching_the_url_limit_exactly_is_no_problem() -> None:
    document = read(fixture_bytes("xml/full.xml"), url=HERE, limits=Limits(urls=4))
    assert len(locs(document)) == 4
    assert document.complete


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(b"<urlset>", id="bytes-like"),
        pytest.param(FIXTURES / "xml" / "plain.xml", id="path"),
    ],
)
def test_a_body_needs_no_url(source: Any) -> None:
    assert read(source).kind is Kind.SITEMAP


def test_a_file_is_read_by_its_path_or_open_with_its_own_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a b.xml").write_bytes(RELATIVE)
    url = (tmp_path / "a b.xml").as_uri()
    with Path("a b.xml").open("rb") as file:
        documents = [read("a b.xml"), read(Path("a b.xml")), read(url), read(file)]
    for document in documents:
        assert (document.url, locs(document), codes(document)) == (url, ["https://a.example/1", "/2"], _NO_BASE)
    assert locs(read("a b.xml", url="https://a.example/s.xml")) == ["https://a.example/1", "https://a.example/2"]


def test_relative_urls_without_a_base_are_reported() -> None:
    for document in (read(RELATIVE), read(BytesIO(RELATIVE))):
        assert (document.url, locs(document), codes(document)) == ("", ["https://a.example/1", "/2"], _NO_BASE)


@pytest.mark.parametrize(
    "url", ["pages.xml", "/pages.xml", "www.a.example/s.xml", "https:///s.xml", "", 5, b"https://a.example/s.xml"]
)
def test_a_url_that_is_not_absolute_is_an_error(url: Any) -> None:
    with pytest.raises(ArgumentError) as raised:
        read(RELATIVE, url=url)
    assert str(raised.value).startswith(f"argument url={url!r}: it must be the absolute URL of the document")


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        pytest.param("https://a.example/s.xml", ArgumentError, "use sitemap_harvest.harvest()", id="address"),
        pytest.param(".", IsADirectoryError, "harvest(site, root=folder)", id="folder"),
        pytest.param("a.example/s.xml", FileNotFoundError, "for an address, use sitemap_harvest.harvest()", id="host"),
        pytest.param("<urlset/>", TypeError, "takes the bytes of a document, not its text", id="text"),
        pytest.param(StringIO("<urlset/>"), TypeError, "open it with 'rb'", id="text-file"),
        pytest.param(None, TypeError, "not NoneType", id="none"),
        pytest.param(["a.xml"], TypeError, "not list", id="list"),
        pytest.param(FIXTURES, IsADirectoryError, "", id="folder"),
        pytest.param("", IsADirectoryError, "", id="empty"),
    ],
)
def test_what_is_no_body_is_rejected(source: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        read(source)
    assert message in str(raised.value)


def test_any_buffer_is_accepted() -> None:
    assert locs(read(memoryview(bytearray(b"https://example.com/a")), url=HERE)) == ["https://example.com/a"]  # type: ignore[arg-type]
