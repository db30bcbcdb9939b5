"""URLs that a document lists more than once, found in 8 bytes an entry.

All keys of a million entries would take 150 MB. So their hashes are counted,
and the document is read again for a few samples, only if one occurs twice. Two
URLs of one hash are no duplicates: that happens once in 30 million documents
of a million entries, and then the count is one too high.
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

_CODE = "protocol/duplicate"


def note_repeats(document: Document, hashes: array[int], log: ProblemLog) -> None:
    """Note each entry of *document* whose URL came before; *hashes* are those of all keys."""
    counted = pc.value_counts(pa.array(hashes, pa.int64()))
    repeated = counted.filter(pc.greater(counted.field("counts"), 1))
    if not len(repeated):
        return
    count = pc.sum(repeated.field("counts")).as_py() - len(repeated)
    wanted = set(repeated.field("values").slice(0, MAX_SAMPLES).to_pylist())
    for number, (position, loc, earlier) in enumerate(samples := list(_repeats(document, wanted))):
        detail = f"{count:,} entries repeat an earlier one: entry {position} repeats entry {earlier}"
        log.add(_CODE, detail, entry=position, excerpt=loc, count=1 if number else count - len(samples) + 1)


def _repeats(document: Document, wanted: set[int]) -> Iterator[tuple[int, str, int]]:
    """Yield position and URL of the first few entries that repeat one of the *wanted*, and which entry they repeat."""
    first: dict[str, int] = {}
    found = 0
    for position, loc, key in _entries(document):
        if key is None or hash(key) not in wanted:
            continue
        if first.setdefault(key, position) != position:
            yield position, loc, first[key]
            found += 1
        if found == MAX_SAMPLES:
            return


def _entries(document: Document) -> Iterator[tuple[int, str, str | None]]:
    if document.kind is Kind.INDEX:
        for ref in document.sitemaps():
            yield ref.position, ref.loc, url_key(ref.loc)
        return
    for batch in document.urls():
        yield from zip(*(batch[name].to_pylist() for name in ("position", "loc", "key")), strict=True)
