"""Classification of each URL in a block of rows: added, removed, expired, moved or changed. Columns only, no I/O.

A block has all rows of its URLs, so it is enough to classify them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sitemap_harvest.diff.fields import FIELDS, differing, values
from sitemap_harvest.model import ChangeKind

if TYPE_CHECKING:
    from sitemap_harvest.diff.documents import DocumentPairs
    from sitemap_harvest.diff.touched_rows import Block

KINDS = tuple(ChangeKind)
ADDED, REMOVED, CHANGED, MOVED, EXPIRED = range(len(KINDS))
LASTMOD = 1 << FIELDS.index("lastmod")


class Found(NamedTuple):
    """Changes in a block. Arrays have one value for each change; indices refer to rows of the block."""

    kind: np.ndarray
    """Index into :data:`KINDS`."""
    url: np.ndarray
    """Number of the URL in the block."""
    row: np.ndarray
    """The row that shows the change."""
    row_before: np.ndarray
    """The row that it is compared with; the same row if there is none."""
    fields: np.ndarray
    """Which fields differ, as a bit set of :func:`~sitemap_harvest.diff.fields.differing`."""


def classified(block: Block, documents: DocumentPairs) -> tuple[Found, dict[str, int]]:
    """Return the changes of the URLs in *block*, by URL, then in the order of :data:`KINDS`.

    And the numbers of URLs: ``before``, ``after``, ``stay`` (in both snapshots), and by
    the names of :class:`~sitemap_harvest.model.ChangeSummary`.
    """
    entries = _BlockEntries(block)
    is_before, document = ~entries.is_after, entries.document
    was, is_ = entries.urls_with(is_before), entries.urls_with(entries.is_after)
    believed = entries.urls_with(entries.is_after & documents.believable[document])
    whole = is_before & documents.was_whole[document]
    came, gone, stay = is_ & ~was, was & ~is_, was & is_
    known_gone = gone & entries.urls_with(whole)
    lasting = is_before & ~_expires(block, documents, entries)
    lasts = entries.urls_with(lasting)
    moved = stay & ~entries.urls_with(entries.is_pair)
    first_before, first_after = entries.first_rows(is_before), entries.first_rows(entries.is_after)
    found = [
        _alike(ADDED, came & believed, first_after, first_after),
        _alike(REMOVED, known_gone & lasts, *[entries.first_rows(lasting)] * 2),
        _alike(EXPIRED, known_gone & ~lasts, first_before, first_before),
        _alike(MOVED, moved, first_after, first_before),
    ]
    pairs = entries.unlike(whole & entries.is_pair)
    compared = [
        np.concatenate(parts)
        for parts in (
            (entries.url[pairs], np.flatnonzero(moved)),
            (entries.row[pairs], first_before[moved]),
            (entries.row[pairs + 1], first_after[moved]),
        )
    ]
    found.append(changed := _changed(block, *compared))
    same = stay & ~moved
    same[changed.url] = False
    joined = Found(*(np.concatenate(column) for column in zip(*found, strict=True)))
    order = np.lexsort((joined.kind, joined.url))
    counts = {
        **dict(zip(KINDS, np.bincount(joined.kind, minlength=len(KINDS)).tolist(), strict=True)),
        "before": was,
        "after": is_,
        "stay": stay,
        "unchanged": same,
        "newly_known": came & ~believed,
        "retracted": gone & ~known_gone,
    }
    return Found(*(column[order] for column in joined)), {name: int(np.sum(mask)) for name, mask in counts.items()}


class _BlockEntries:
    """The entries of both snapshots: each URL once for each document that lists it, by URL, document and snapshot.

    All arrays have one value for each entry.
    """

    def __init__(self, block: Block) -> None:
        documents = int(block.document.max()) + 1
        code = (block.url * documents + block.document) * 2 + block.is_after
        order = np.lexsort((block.position, code))
        code = code[order]
        start = np.flatnonzero(np.diff(code, prepend=-1))
        self._block = block
        self._urls = int(block.url[-1]) + 1
        self._rows = order
        self._count = np.diff(start, append=len(order))
        code = code[start]
        self.row = order[start]  # the first
        self.is_after = code % 2 == 1
        self.url, self.document = np.divmod(code // 2, documents)
        self.is_pair = ~self.is_after & (np.append(code[1:], 0) == code + 1)  # the next one is the same entry now

    def urls_with(self, mask: np.ndarray) -> np.ndarray:
        """Return for each URL whether it has an entry for which *mask* is true."""
        found = np.zeros(self._urls, dtype=bool)
        found[self.url[mask]] = True
        return found

    def first_rows(self, mask: np.ndarray) -> np.ndarray:
        """Return for each URL the row of its first entry for which *mask* is true; undefined if it has none."""
        first = np.zeros(self._urls, dtype=np.int64)
        first[self.url[mask][::-1]] = self.row[mask][::-1]
        return first

    def unlike(self, mask: np.ndarray) -> np.ndarray:
        """Return the indices of those pairs, of which *mask* marks the earlier entry, that may differ.

        A pair with the same first row does not differ. A pair with several rows does not
        differ either if both entries have the same set of values, in any order.
        """
        pairs = np.flatnonzero(mask)
        pairs = pairs[self._block.row[self.row[pairs]] != self._block.row[self.row[pairs + 1]]]
        is_many = (self._count[pairs] > 1) | (self._count[pairs + 1] > 1)
        if is_many.any():
            is_many[is_many] = ~self._values_differ(pairs[is_many])
        return np.asarray(pairs[~is_many])

    def _values_differ(self, pairs: np.ndarray) -> np.ndarray:
        """Return for each of *pairs* whether its two sets of values differ."""
        pair = np.full(len(self.row), -1)
        pair[pairs] = pair[pairs + 1] = np.arange(len(pairs))
        pair, is_after = np.repeat(pair, self._count), np.repeat(self.is_after, self._count)
        wanted = pair >= 0
        number = values(self._block.columns, self._rows[wanted])
        scale = int(number.max()) + 1
        code, is_after = pair[wanted] * scale + number, is_after[wanted]
        differ = np.zeros(len(pairs), dtype=bool)
        differ[np.setxor1d(code[~is_after], code[is_after]) // scale] = True
        return differ


def _expires(block: Block, documents: DocumentPairs, entries: _BlockEntries) -> np.ndarray:
    """Return which entries are expected to disappear: those of feeds, and news."""
    is_feed = documents.is_feed[entries.document]
    if "news" not in block.columns:
        return is_feed
    return np.asarray(is_feed | block.columns["news"].is_valid().to_numpy(zero_copy_only=False)[entries.row])


def _alike(kind: int, urls: np.ndarray, row: np.ndarray, row_before: np.ndarray) -> Found:
    """Return a change of *kind* for each URL for which the mask *urls* is true; the others have a row for each URL."""
    url = np.flatnonzero(urls)
    return Found(np.full(len(url), kind), url, row[url], row_before[url], np.zeros(len(url), dtype=np.int32))


def _changed(block: Block, url: np.ndarray, before: np.ndarray, after: np.ndarray) -> Found:
    """Return the URLs whose values changed, each once: for its first document with a difference."""
    fields = differing(block.columns, before, after)
    unlike = np.flatnonzero(fields)
    url, first = np.unique(url[unlike], return_index=True)
    chosen = unlike[first]
    return Found(np.full(len(url), CHANGED), url, after[chosen], before[chosen], fields[chosen])
