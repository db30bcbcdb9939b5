from __future__ import annotations

import pytest

from sitemap_harvest import Kind, read
from tests.cases.served import Case, cases
from tests.documents import locs

LIST = "https://example.com/sitemap.txt"


@pytest.mark.parametrize("case", cases("feeds"))
def test_documents_match_their_expectations(case: Case) -> None:
    for found in case.found():
        assert found == case.expected


@pytest.mark.case(150)
def test_lists_above_the_allowed_number_of_lines_are_read_to_the_end() -> None:
    urls = [f"https://example.com/{number}" for number in range(60_000)]
    document = read("\r\n".join(urls).encode(), url=LIST)
    assert document.kind is Kind.LIST
    assert locs(document) == urls
    assert document.problems == ()
    assert document.complete
