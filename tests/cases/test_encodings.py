from __future__ import annotations

import pytest

from tests.cases.served import Case, cases

WRONG = {
    "61-ebcdic.xml": "the specification's pattern of EBCDIC is not looked for",
    "61-utf-16-declared-as-utf-8.xml": "what a document declares is not held against its byte order mark",
}


@pytest.mark.parametrize("case", cases("encodings", WRONG))
def test_what_is_there_is_found(case: Case) -> None:
    for found in case.found():
        assert found == case.expected
