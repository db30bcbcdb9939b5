from __future__ import annotations

import pytest

from tests.cases.served import Case, cases

WRONG = {
    "132-zones-of-other-forms.xml": "an offset with the name of its zone is not read, and other forms are no problem",
    "134-blank-for-t.xml": "a date in another form than the protocol's is no problem",
    "135-rfc-822.xml": "dates of JavaScript are not read, and other forms are no problem",
    "136-forms-that-mean-one-thing.xml": "dates with slashes, without marks, in words and in seconds are not read",
    "137-hour-24.xml": "24:00:00 is not read",
}


@pytest.mark.parametrize("case", cases("dates", WRONG))
def test_what_is_there_is_found(case: Case) -> None:
    for found in case.found():
        assert found == case.expected
