"""Documents that fuzzing found something with: it stays mended."""

from __future__ import annotations

import pytest

from tests.documents import FIXTURES
from tests.fuzz.reading import URLS, check, found

FINDS = sorted((FIXTURES / "finds").glob("*"))


@pytest.mark.parametrize("find", FINDS, ids=lambda path: path.name)
def test_what_fuzzing_found_is_mended(find) -> None:
    check(find.read_bytes())


DOCUMENTS = sorted(path for path in FIXTURES.rglob("*") if path.is_file() and path.suffix != ".jsonl")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_how_the_bytes_are_cut_does_not_matter(path) -> None:
    body, url = path.read_bytes()[:20_000], URLS[0]
    assert found(body, url, block=61) == found(body, url, block=7) == found(body, url)
