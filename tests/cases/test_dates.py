from __future__ import annotations

import pytest

from tests.cases.served import Case, cases


@pytest.mark.parametrize("case", cases("dates"))
def test_documents_match_their_expectations(case: Case) -> None:
    for found in case.found():
        assert found == case.expected
