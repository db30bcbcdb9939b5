"""Finds duplicate URLs in a document, with some 40 bytes per entry.

All keys of a million entries would take 150 MB. So their hashes are sorted, and the
document is read again for a few samples, only if a hash occurs twice. Different URLs
with the same hash count as duplicates by mistake: this happens in one of 30 million
documents with a million entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.model import Kind
from sitemap_harvest.model.problem import MAX_SAMPLES
from sitemap_harvest.urls import url_key

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator

    from sitemap_harvest.formats.document import Document
    from sitemap_harvest.formats.problems import ProblemLog


def note_repeats(document: Document, hashes: array[int], log: ProblemLog) -> None:
    """Record each entry of *document* whose URL came before; *hashes* are those of all keys, in document order."""
    found = pa.array(hashes, pa.int64())
    order = pc.array_sort_indices(found)  # a stable sort: equal hashes stay in document order
    ordered = found.take(order)
    is_repeat = pc.equal(ordered.slice(1), ordered.slice(0, max(0, len(ordered) - 1)))
    repeats = order.slice(1).filter(is_repeat)
    first_few = repeats.take(pc.array_sort_indices(repeats)).slice(0, MAX_SAMPLES).to_pylist()
    earlier = {number: pc.index(found, found[number]).as_py() for number in first_few}
    places = _places(document, {*earlier, *earlier.values()})
    for number, first in earlier.items():
        position, loc = places[number]
        count = 1 if number != first_few[0] else len(repeats) - len(first_few) + 1
        detail = f"entry {position} repeats entry {places[first][0]}"
        log.add("protocol/duplicate", detail, entry=position, excerpt=loc, count=count)


def _places(document: Document, wanted: set[int]) -> dict[int, tuple[int, str]]:
    """Return position and URL of each of the *wanted* entries: their numbers, from 0, only count entries with a key."""
    places: dict[int, tuple[int, str]] = {}
    if wanted:
        for number, place in enumerate(_entries(document)):
            if number in wanted:
                places[number] = place
            if len(places) == len(wanted):
                break
    return places


def _entries(document: Document) -> Iterator[tuple[int, str]]:
    if document.kind is Kind.INDEX:
        yield from ((ref.position, ref.loc) for ref in document.sitemaps() if url_key(ref.loc) is not None)
        return
    for batch in document.urls():
        columns = (batch[name].to_pylist() for name in ("position", "loc", "key"))
        yield from ((position, loc) for position, loc, key in zip(*columns, strict=True) if key is not None)
