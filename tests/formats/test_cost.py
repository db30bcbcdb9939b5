"""What reading costs is bounded by the size of a document: processor time and memory."""

from __future__ import annotations

import pytest

from tests.formats.hostile import DOCUMENTS, MB, Cost, cost

MOST_SECONDS = 2  # of processor time a megabyte
MOST_MB = 150


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    [
        *("page-blanks-after-html", "page-base", "page-base-2k", "atom-base", "list-relative", "list-one-line"),
        *("gzip-20-line", "gzip-1000-line", "zstd-20-line", "zstd-1000-line", "iso-2022-jp-in-members-line"),
        *("list-sniff-blanks", "robots-long-base", "robots-short", "list-long-base", "gzip-1-list", "zstd-empty"),
        *("sitemap-text-pieces", "sitemap-text-tags", "sitemap-namespace-250-many"),
    ],
)
def test_reading_costs_no_more_than_its_size_allows(name: str) -> None:
    # What else this machine does may slow down one measurement, and hardly three in a row.
    assert any(_is_within_bounds(cost(DOCUMENTS[name], MB)) for _ in range(3))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "size"), [("page-comment", 100 * MB), ("page-attribute", 50 * MB), ("zip-in-gzip", 190 * MB)]
)
def test_memory_stays_flat_in_a_large_document(name: str, size: int) -> None:
    found = cost(DOCUMENTS[name], size, cpu_seconds=60)
    assert found is not None
    assert found.mb <= MOST_MB


def _is_within_bounds(found: Cost | None) -> bool:
    return found is not None and found.seconds_per_mb <= MOST_SECONDS and found.mb <= MOST_MB
