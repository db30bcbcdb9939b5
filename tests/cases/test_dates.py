from __future__ import annotations

import pytest

from tests.cases.served import Case, cases


@pytest.mark.parametrize("case", cases("dates"))
def test_what_is_there_is_found(case: Case) -> None:
    for found in case.found():
        assert found == case.expected
