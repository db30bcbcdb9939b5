"""Classification of each URL in a block of rows: added, removed, expired, moved or changed. Columns only, no I/O.

A block has all rows of its URLs, so it is enough to classify them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.diff.fields import FIELDS, differing, values
from sitemap_harvest.model import ChangeKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sitemap_harvest.diff.documents import DocumentPairs

    Positions = Callable[[np.ndarray], np.ndarray]

KEPT, GONE, NEW = 0, 1, 2
"""Side of a row: in both snapshots, only in the earlier one, only in the later one."""
KINDS = tuple(ChangeKind)
ADDED, REMOVED, CHANGED, MOVED, EXPIRED = range(len(KINDS))
LASTMOD = 1 << FIELDS.index("lastmod")


@dataclass(frozen=True, slots=True)
class Block:
    """All rows of some URLs, URL by URL. Arrays have one value for each row."""

    columns: Mapping[str, pa.Array]
    """The fields in flat form (see :mod:`~sitemap_harvest.diff.fields`)."""
    side: np.ndarray
    document: np.ndarray
    """Number of the document that lists it."""
    row: np.ndarray
    """Its id."""


class ChangeCounts(NamedTuple):
    """Numbers of URLs by result."""

    before: int = 0
    after: int = 0
    unchanged: int = 0
    newly_known: int = 0
    retracted: int = 0
    stay: int = 0
    """In both snapshots."""

    def plus(self, other: ChangeCounts) -> ChangeCounts:
        """Return the sums of both."""
        return ChangeCounts(*(one + two for one, two in zip(self, other, strict=True)))


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


def classified(
    block: Block, documents: DocumentPairs, positions_before: Positions, positions_after: Positions
) -> tuple[Found, ChangeCounts]:
    """Return the changes of the URLs in *block*, by URL, then in the order of :data:`KINDS`.

    The functions return the first position of each of some row ids in its document, for
    documents that list a URL in several rows.
    """
    url = url_numbers(block.columns["key"])
    before = _EntrySide(block, url, block.side != NEW, positions_before)
    after = _EntrySide(block, url, block.side != GONE, positions_after)
    was, stays_or_came = before.has(), after.has()
    believed = after.has(documents.believable[after.document])
    came = stays_or_came & ~was
    same, at_before, at_after = np.intersect1d(before.code, after.code, assume_unique=True, return_indices=True)
    kept = before.has_codes(same)
    moved = was & stays_or_came & ~kept

    sound = documents.was_whole[before.document[at_before]]
    pairs = _unlike(block, before, after, at_before[sound], at_after[sound])
    gone = was & ~stays_or_came
    known_gone = gone & before.has(documents.was_whole[before.document])
    both = [
        np.concatenate([one, two[moved]])
        for one, two in zip(pairs, (np.arange(len(moved)), before.first_row(), after.first_row()), strict=True)
    ]
    changed = _changed(block, *both)
    found = [
        _alike(ADDED, np.flatnonzero(came & believed), after.first_row()),
        *_gone(block, documents, before, known_gone),
        _alike(MOVED, np.flatnonzero(moved), after.first_row(), before.first_row()),
        changed,
    ]
    stay = was & stays_or_came
    stay_as_they_are = stay & ~moved
    stay_as_they_are[changed.url] = False
    counts = ChangeCounts(
        before=int(was.sum()),
        after=int(stays_or_came.sum()),
        unchanged=int(stay_as_they_are.sum()),
        newly_known=int((came & ~believed).sum()),
        retracted=int((gone & ~known_gone).sum()),
        stay=int(stay.sum()),
    )
    joined = Found(*(np.concatenate(column) for column in zip(*found, strict=True)))
    order = np.lexsort((joined.kind, joined.url))
    return Found(*(column[order] for column in joined)), counts


def url_numbers(key: pa.StringArray) -> np.ndarray:
    """Return the number of the URL of each row: from 0, incremented where the key differs from the previous one."""
    is_other = pc.not_equal(key.slice(1), key.slice(0, len(key) - 1))
    return np.concatenate([[0], np.cumsum(is_other.to_numpy(zero_copy_only=False))])


class _EntrySide:
    """The entries of one snapshot: each URL once for each document that lists it, by URL and document."""

    def __init__(self, block: Block, url: np.ndarray, mask: np.ndarray, positions: Positions) -> None:
        rows = np.flatnonzero(mask)
        self._scale = int(block.document.max()) + 1
        self._urls = int(url[-1]) + 1
        code = url[rows] * self._scale + block.document[rows]
        rows, code = _in_documents(rows, code, block.row, positions)
        starts = np.flatnonzero(np.diff(code, prepend=-1))
        self.rows, self.codes = rows, code  # all rows, and the code of each
        self.code = code[starts]  # URL number times a scale, plus the document
        self.row = rows[starts]  # the first row
        self.is_many = np.diff(starts, append=len(rows)) > 1  # in several rows
        self.url, self.document = np.divmod(self.code, self._scale)

    def has(self, mask: np.ndarray | None = None) -> np.ndarray:
        """Return for each URL whether it has an entry (one for which *mask* is true)."""
        found = np.zeros(self._urls, dtype=bool)
        found[self.url if mask is None else self.url[mask]] = True
        return found

    def has_codes(self, codes: np.ndarray) -> np.ndarray:
        """Return for each URL whether one of *codes* belongs to it."""
        found = np.zeros(self._urls, dtype=bool)
        found[codes // self._scale] = True
        return found

    def first_row(self, mask: np.ndarray | None = None) -> np.ndarray:
        """Return for each URL the row of its first entry (for which *mask* is true); undefined if it has none."""
        chosen = slice(None) if mask is None else mask
        first = np.zeros(self._urls, dtype=np.int64)
        first[self.url[chosen][::-1]] = self.row[chosen][::-1]
        return first


def _in_documents(
    rows: np.ndarray, code: np.ndarray, ids: np.ndarray, positions: Positions
) -> tuple[np.ndarray, np.ndarray]:
    """Return *rows* and *code* sorted by code, then by position."""
    order = np.argsort(code, kind="stable")
    rows, code = rows[order], code[order]
    is_same = code[1:] == code[:-1]
    if not is_same.any():
        return rows, code
    several = np.concatenate([is_same, [False]]) | np.concatenate([[False], is_same])
    position = np.zeros(len(rows), dtype=np.int64)
    position[several] = positions(ids[rows[several]])
    order = np.lexsort((position, code))
    return rows[order], code[order]


def _gone(block: Block, documents: DocumentPairs, before: _EntrySide, gone: np.ndarray) -> tuple[Found, Found]:
    """Return the URLs that were removed, and those that expired: only feeds or news entries listed them."""
    expires = documents.is_feed[before.document]
    if "news" in block.columns:
        expires |= block.columns["news"].is_valid().to_numpy(zero_copy_only=False)[before.row]
    lasted = before.has(~expires)
    return (
        _alike(REMOVED, np.flatnonzero(gone & lasted), before.first_row(~expires)),
        _alike(EXPIRED, np.flatnonzero(gone & ~lasted), before.first_row()),
    )


def _alike(kind: int, urls: np.ndarray, rows: np.ndarray, before: np.ndarray | None = None) -> Found:
    """Return a change of *kind* for each of *urls*; *rows* holds the row of each URL, *before* its earlier one."""
    row_before = rows[urls] if before is None else before[urls]
    return Found(np.full(len(urls), kind), urls, rows[urls], row_before, np.zeros(len(urls), dtype=np.int32))


def _unlike(
    block: Block, before: _EntrySide, after: _EntrySide, at_before: np.ndarray, at_after: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return URL, row before and row after of entries in both snapshots that may differ.

    An entry with the same first row does not differ. An entry with several rows does
    not differ either if both snapshots have the same set of values, in any order.
    """
    differ = before.row[at_before] != after.row[at_after]
    at_before, at_after = at_before[differ], at_after[differ]
    many = before.is_many[at_before] | after.is_many[at_after]
    if many.any():
        wanted = before.code[at_before[many]]
        like = ~np.isin(wanted, _codes_that_differ(block, before, after, wanted))
        many[many] = like
        at_before, at_after = at_before[~many], at_after[~many]
    return before.url[at_before], before.row[at_before], after.row[at_after]


def _codes_that_differ(block: Block, before: _EntrySide, after: _EntrySide, wanted: np.ndarray) -> np.ndarray:
    """Return those of the codes *wanted* whose sets of values differ between the snapshots."""
    sides = []
    for entries in (before, after):
        is_wanted = np.isin(entries.codes, wanted)
        sides.append((entries.rows[is_wanted], entries.codes[is_wanted]))
    numbers = values(block.columns, np.concatenate([rows for rows, _ in sides]))
    scale = int(numbers.max()) + 1
    split = len(sides[0][0])
    one, other = sides[0][1] * scale + numbers[:split], sides[1][1] * scale + numbers[split:]
    return np.unique(np.setxor1d(one, other) // scale)


def _changed(block: Block, url: np.ndarray, before: np.ndarray, after: np.ndarray) -> Found:
    """Return the URLs whose values changed, each once: for its first document with a difference."""
    fields = differing(block.columns, before, after)
    unlike = np.flatnonzero(fields)
    url, first = np.unique(url[unlike], return_index=True)
    chosen = unlike[first]
    return Found(np.full(len(url), CHANGED), url, after[chosen], before[chosen], fields[chosen])
