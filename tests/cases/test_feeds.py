from __future__ import annotations

import pytest

from sitemap_harvest import Kind, read
from tests.cases.served import Case, cases
from tests.documents import locs

LIST = "https://example.com/sitemap.txt"


@pytest.mark.parametrize("case", cases("feeds"))
def test_what_is_there_is_found(case: Case) -> None:
    for found in case.found():
        assert found == case.expected


@pytest.mark.case(150)
def test_a_list_of_more_lines_than_allowed_is_read_whole() -> None:
    urls = [f"https://example.com/{number}" for number in range(60_000)]
    document = read("\r\n".join(urls).encode(), url=LIST)
    assert document.kind is Kind.LIST
    assert locs(document) == urls
    assert document.problems == ()
    assert document.complete
