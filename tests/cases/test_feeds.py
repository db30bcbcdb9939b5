from __future__ import annotations

import pytest

from sitemap_harvest import Kind, read
from tests.cases.served import Case, cases
from tests.documents import locs

LIST = "https://example.com/sitemap.txt"

WRONG = {
    "150-breaks-of-html.txt": "a list with line breaks of HTML is taken for a page",
    "142-blanks-around-links.xml": "loc_raw is lost in feeds: blanks are trimmed before",
    "144-links-in-languages.xml": "further links with a language are lost",
    "144-links-of-atom.xml": "a relation by its full name is not known",
    "145-atom-10.xml": "a title that is HTML is kept with its markup",
    "145-json-feed-10.json": "JSON Feed is not read",
    "145-json-feed-11.json": "JSON Feed is not read",
    "146-feedburner.xml": "origLink is read only where there is no other link",
    "147-broken-attribute.xml": "an address whose end cannot be told is read as far as to its quote",
    "148-dates.xml": "a date of Atom in an item of RSS is not read",
    "149-base.xml": "loc_raw is lost in feeds: a link is joined to its base before",
}


@pytest.mark.parametrize("case", cases("feeds", WRONG))
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
