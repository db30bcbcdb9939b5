from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

import pytest

from sitemap_harvest import Limits, read
from tests.cases.served import Case, cases
from tests.documents import HERE, codes, locs, urlset

if TYPE_CHECKING:
    from collections.abc import Callable

A = "https://example.com/a"
START = f"<urlset><url><loc>{A}</loc></url>".encode()


@pytest.mark.parametrize("case", cases("transport"))
def test_documents_match_their_expectations(case: Case) -> None:
    for found in case.found():
        assert found == case.expected


def deflated(blocks: int) -> bytes:
    """Return an entry followed by *blocks* MiB of whitespace, as gzip: 1000 to 1."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(START) + b"".join(packer.compress(b" " * 2**20) for _ in range(blocks)) + packer.flush()


@pytest.mark.case(41)
@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(lambda: deflated(64), "unpack/ratio", id="bomb"),
        pytest.param(lambda: gzip.compress(deflated(64)), "unpack/ratio", id="bomb-in-a-bomb"),
    ],
)
def test_decompression_bombs_are_stopped_and_earlier_entries_are_read(body: Callable[[], bytes], code: str) -> None:
    document = read(body(), url=HERE, limits=Limits(ratio=100))
    assert locs(document) == [A]
    assert code in codes(document)
    assert document.bytes_unpacked < 64 * 2**20
    assert not document.complete


@pytest.mark.case(41)
def test_slow_decompression_bombs_cost_time_in_proportion_to_their_size() -> None:
    """Large input, little output: 9,000 members without content."""
    document = read(gzip.compress(b"") * 9_000 + gzip.compress(urlset(f"<url><loc>{A}</loc></url>")), url=HERE)
    assert locs(document) == [A]
    assert document.problems == ()
