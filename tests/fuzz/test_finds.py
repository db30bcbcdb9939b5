"""Documents that fuzzing found something with: it stays mended."""

from __future__ import annotations

import pytest

from tests.documents import FIXTURES
from tests.fuzz.reading import check

FINDS = sorted((FIXTURES / "finds").glob("*"))


@pytest.mark.parametrize("find", FINDS, ids=lambda path: path.name)
def test_what_fuzzing_found_is_mended(find) -> None:
    check(find.read_bytes())
