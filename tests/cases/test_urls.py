from __future__ import annotations

import pytest

from tests.cases.served import Case, cases

WRONG = {
    "108-escaped-too-much-or-too-little.xml": "http%3A//host is joined to the document's address, to a URL of nobody",
}


@pytest.mark.parametrize("case", cases("urls", WRONG))
def test_what_is_there_is_found(case: Case) -> None:
    for found in case.found():
        assert found == case.expected
