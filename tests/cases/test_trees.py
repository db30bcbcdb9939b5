from __future__ import annotations

import pytest

from sitemap_harvest import Kind, read
from tests.cases.served import Case, cases
from tests.documents import HERE, index


@pytest.mark.parametrize("case", cases("trees"))
def test_documents_match_their_expectations(case: Case) -> None:
    for found in case.found():
        assert found == case.expected


@pytest.mark.case(128)
def test_index_of_50_000_children_is_read_to_the_end() -> None:
    children = [f"https://example.com/sitemap-{number}.xml" for number in range(50_000)]
    document = read(index("".join(f"<sitemap><loc>{loc}</loc></sitemap>" for loc in children)), url=HERE)
    assert document.kind is Kind.INDEX
    assert [ref.loc for ref in document.sitemaps()] == children
    assert document.problems == ()
    assert document.complete
