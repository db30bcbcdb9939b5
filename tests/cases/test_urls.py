from __future__ import annotations

import pytest

from tests.cases.served import Case, cases

WRONG = {
    "105-two-in-one-loc.xml": "two addresses in one loc become one that nobody published",
}


@pytest.mark.parametrize("case", cases("urls", WRONG))
def test_what_is_there_is_found(case: Case) -> None:
    for found in case.found():
        assert found == case.expected
