from __future__ import annotations

import pytest

from sitemap_harvest import Kind, read
from tests.cases.served import Case, cases

ROBOTS = "https://example.com/robots.txt"

WRONG = {
    "4-two-colons.txt": "the second colon is read as a relative address",
    "6-further-spellings.txt": "lines that plainly name a sitemap are passed over in silence",
    "9-host-without-a-scheme.txt": "an address that begins with the document's own host is joined to it",
    "12-line-ends-written-out.txt": "a line end that is written out as characters is read as part of the address",
    "14-commas-without-blanks.txt": "addresses with nothing but a comma between are read as one",
    "14-two-relative-on-a-line.txt": "two relative addresses on a line are read as one",
    "15-quotes-and-brackets-of-other-sorts.txt": "what stands around the address is read as part of a relative one",
    "15-link-of-html.txt": "a link of HTML is read as a relative address",
    "16-two-without-the-directive.txt": "two addresses on a line without the directive are read as one",
    "17-line-breaks-of-html.txt": "a line break of HTML is read as part of the address",
    "27-address-on-the-next-line.txt": "an address on the line behind its directive is passed over",
    "28-words-for-nothing.txt": "a telephone number is read as a host and a port",
}


@pytest.mark.parametrize("case", cases("robots", WRONG))
def test_what_is_there_is_found(case: Case) -> None:
    for found in case.found():
        assert found == case.expected


@pytest.mark.case(24)
@pytest.mark.parametrize("size", [11_000, 600 * 1024, 5_000_000], ids=["10-kb", "500-kib", "5-mb"])
def test_a_large_one_is_read_to_its_end(size: int) -> None:
    body = b"User-agent: *\n" + b"Disallow: /private/\n" * (size // 20) + b"Sitemap: https://example.com/a.xml\n"
    document = read(body, url=ROBOTS)
    assert document.kind is Kind.ROBOTS
    assert [ref.loc for ref in document.sitemaps()] == ["https://example.com/a.xml"]
    assert document.problems == ()
    assert document.complete
