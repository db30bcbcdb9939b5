from __future__ import annotations

import pytest

from sitemap_harvest import Kind, read
from tests.cases.served import Case, cases

ROBOTS = "https://example.com/robots.txt"


@pytest.mark.parametrize("case", cases("robots"))
def test_documents_match_their_expectations(case: Case) -> None:
    for found in case.found():
        assert found == case.expected


@pytest.mark.case(24)
@pytest.mark.parametrize(
    "size",
    [
        pytest.param(11_000, id="10-kb"),
        pytest.param(600 * 1024, id="500-kib"),
        pytest.param(5_000_000, id="5-mb", marks=pytest.mark.deep),
    ],
)
def test_large_robots_txt_is_read_to_the_end(size: int) -> None:
    body = b"User-agent: *\n" + b"Disallow: /private/\n" * (size // 20) + b"Sitemap: https://example.com/a.xml\n"
    document = read(body, url=ROBOTS)
    assert document.kind is Kind.ROBOTS
    assert [ref.loc for ref in document.sitemaps()] == ["https://example.com/a.xml"]
    assert document.problems == ()
    assert document.complete
