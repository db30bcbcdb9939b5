from __future__ import annotations

import socket

import pytest

from sitemap_harvest import read
from tests.cases.served import Case, cases
from tests.documents import HERE, SITEMAPS, codes, locs, urlset

A, B = "https://example.com/a", "https://example.com/b"
ENTRY_A, ENTRY_B = (f"<url><loc>{loc}</loc></url>" for loc in (A, B))


@pytest.mark.parametrize("case", cases("xml"))
def test_documents_match_their_expectations(case: Case) -> None:
    for found in case.found():
        assert found == case.expected


@pytest.mark.case(81)
def test_entities_of_quadratic_size_are_not_expanded() -> None:
    doctype = f'<!DOCTYPE urlset [<!ENTITY a "{"a" * 50_000}">]>'
    body = doctype.encode() + urlset(ENTRY_A + f"<url><loc>https://example.com/{'&a;' * 20_000}</loc></url>" + ENTRY_B)
    document = read(body, url=HERE)
    assert locs(document) == [A, B]
    assert codes(document)["xml/entity-not-expanded"] > 0
    assert not document.complete


@pytest.mark.case(80)
@pytest.mark.parametrize(
    "doctype",
    [
        pytest.param('<!DOCTYPE urlset SYSTEM "{}">', id="dtd"),
        pytest.param('<!DOCTYPE urlset [<!ENTITY a SYSTEM "{}">]>', id="entity"),
        pytest.param('<!DOCTYPE urlset [<!ENTITY % a SYSTEM "{}"> %a;]>', id="parameter-entity"),
    ],
)
@pytest.mark.parametrize("flaw", ["", "&"], ids=["well-formed", "to-be-mended"])
def test_external_references_of_a_document_are_not_fetched(doctype: str, flaw: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/evil"
        include = f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{address}"/>'
        body = doctype.format(address).encode() + urlset(f"<url><loc>{A}&a;</loc></url>{ENTRY_B}{include}{flaw}")
        assert B in locs(read(body, url=HERE))
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.case(97)
@pytest.mark.parametrize(("size", "complete"), [(900_000, True), (11_000_000, False)], ids=["allowed", "too-long"])
def test_a_huge_attribute_hides_no_entry(size: int, complete: bool) -> None:
    document = read(urlset(ENTRY_A, f' note="{"x" * size}"'), url=HERE)
    assert locs(document) == [A]
    assert document.complete is complete
    assert bool(document.problems) is not complete


@pytest.mark.case(97)
@pytest.mark.parametrize(
    ("deep", "urls"),
    [
        pytest.param(10_000, [A, B], id="10-thousand"),
        pytest.param(1_000_000, [A], id="a-million", marks=pytest.mark.deep),
    ],
)
def test_deep_nesting_hides_an_entry_only_after_the_point_where_reading_stops(deep: int, urls: list[str]) -> None:
    document = read(urlset(ENTRY_A + "<x>" * deep + ENTRY_B), url=HERE)
    assert locs(document) == urls
    assert document.complete is (B in urls)
    assert document.problems


@pytest.mark.deep
@pytest.mark.case(97)
def test_a_text_of_50_mb_hides_no_entry_beside_it() -> None:
    large = f"<url><loc>https://example.com/large</loc><note>{'x' * 50_000_000}</note></url>"
    document = read(urlset(ENTRY_A + large + ENTRY_B), url=HERE)
    assert locs(document) == [A, "https://example.com/large", B]
    assert not document.complete


@pytest.mark.case(101)
def test_a_root_after_a_hundred_kilobytes_is_found() -> None:
    body = f"<!-- {'x' * 100_000} --><urlset xmlns='{SITEMAPS}'>{ENTRY_A}</urlset>".encode()
    document = read(body, url=HERE)
    assert locs(document) == [A]
    assert document.problems == ()
