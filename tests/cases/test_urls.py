from __future__ import annotations

import pytest

from tests.cases.served import Case, cases

WRONG = {
    "105-two-in-one-loc.xml": "two addresses in one loc become one that nobody published",
    "109-nothing-but-slashes.xml": "// is joined to the address of the document itself",
    "110-host-without-a-scheme.xml": "an address that begins with the document's own host is joined to it",
    "111-further-slips-in-the-scheme.xml": "an absolute address with a slip is joined to the document's address",
    "111-something-around.xml": "an absolute address in quotes or brackets is joined to the document's address",
    "112-hosts-that-are-none.xml": "what is no host or port is told only of relative addresses",
    "115-telephone-and-mail.xml": "a telephone number is read as a host and a port",
    "108-escaped-too-much-or-too-little.xml": "http%3A//host is joined to the document's address, to a URL of nobody",
}


@pytest.mark.parametrize("case", cases("urls", WRONG))
def test_what_is_there_is_found(case: Case) -> None:
    for found in case.found():
        assert found == case.expected
