"""The cost of reading is bounded by the size of a document: processor time and memory."""

from __future__ import annotations

import gc
import sys
from itertools import islice

import pytest

from sitemap_harvest import read
from tests.formats.hostile import DOCUMENTS, MB, Cost, cost
from tests.machine import processor_seconds

MOST_SECONDS = 2  # of processor time per megabyte
MOST_MB = 150
SIZES = (50_000, 200_000, 800_000)
FAST = 0.01  # seconds: a document that takes less time is measured at the next size
GROWTH = 7  # the limit for the growth of time at four times the size: 4 is linear, 16 is quadratic
FEW = frozenset({"page-whitespace-before-body", "json-brackets", "gzip-20-line", "sitemap-text-tags"})


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    [
        *("page-whitespace-after-html", "page-base", "page-base-2k", "atom-base", "list-relative", "list-one-line"),
        *("gzip-20-line", "gzip-1000-line", "zstd-20-line", "zstd-1000-line", "iso-2022-jp-in-members-line"),
        *("list-sniff-whitespace", "robots-long-base", "robots-short", "list-long-base", "gzip-1-list", "zstd-empty"),
        *("sitemap-text-pieces", "sitemap-text-tags", "sitemap-namespace-250-many", "feed-unclosed"),
    ],
)
def test_reading_costs_no_more_than_its_size_allows(name: str) -> None:
    # Other programs may slow down one measurement, but hardly three in a row.
    assert any(_is_within_bounds(cost(DOCUMENTS[name], MB)) for _ in range(3))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "size"), [("page-comment", 100 * MB), ("page-attribute", 50 * MB), ("zip-in-gzip", 190 * MB)]
)
def test_memory_stays_flat_in_a_large_document(name: str, size: int) -> None:
    found = cost(DOCUMENTS[name], size, cpu_seconds=60)
    assert found is not None
    assert found.mb <= MOST_MB


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[] if one in FEW else pytest.mark.thorough) for one in DOCUMENTS]
)
def test_time_grows_no_faster_than_the_size(name: str) -> None:
    for size in SIZES:
        if (larger := _seconds(name, 4 * size)) >= FAST:
            break
    if larger < FAST or larger < GROWTH * _seconds(name, size):
        return
    # Other processes may disturb one measurement; and above a limit of one reader, another reader may take over.
    assert any(_grows_with_size(name, size << doublings) for doublings in (1, 0, 2, 3, 4))


@pytest.mark.parametrize(
    "name",
    [
        *("sitemap", "sitemap-text-tags", "index", "feed", "json", "list", "robots-sitemaps"),
        *("page-links", "page-hints", "gzip-1000-line", "iso-2022-jp-in-members-line"),
    ],
)
@pytest.mark.parametrize("batches", [0, 1, None])
def test_a_body_is_freed_with_its_document_without_garbage_collection(name: str, batches: int | None) -> None:
    body = DOCUMENTS[name].make(50_000)
    references = sys.getrefcount(body)
    gc.disable()
    try:
        document = read(body, url=DOCUMENTS[name].url)
        _ = document.kind
        for _ in islice(document.urls(), batches):
            pass
        del document, _
        assert sys.getrefcount(body) == references
    finally:
        gc.enable()


def _grows_with_size(name: str, size: int) -> bool:
    larger = _seconds(name, 4 * size)
    return larger < FAST or larger < GROWTH * _seconds(name, size)


def _seconds(name: str, size: int) -> float:
    body = DOCUMENTS[name].make(size)
    return processor_seconds(lambda: [None for _ in read(body, url=DOCUMENTS[name].url).urls()])


def _is_within_bounds(found: Cost | None) -> bool:
    return found is not None and found.seconds_per_mb <= MOST_SECONDS and found.mb <= MOST_MB
