"""Classification of each URL in a block of rows: added, removed, expired, moved or changed. Columns only, no I/O.

A block has all rows of its URLs, so it is enough to classify them. Its fields are in flat
form: one column for each, in which equal values mean the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.export import json_values, text_of
from sitemap_harvest.model import ChangeKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemap_harvest.diff.documents import DocumentPairs

KINDS = tuple(ChangeKind)
ADDED, REMOVED, CHANGED, MOVED, EXPIRED = range(len(KINDS))
_NESTED = ("alternates", "images", "videos", "news", "pagemap", "extra")
FIELDS = ("loc", "lastmod", "changefreq", "priority", "title", "alternates", "images", "videos", "news", "mobile",
          "pagemap", "extra")  # fmt: skip
"""The compared fields, by the names used in changes, in their order."""
READ = ("loc", "key", "lastmod", "lastmod_text", "priority_text", *FIELDS[2:])
"""The columns of a row that the flat form needs."""
_TEXTS = {"lastmod": "lastmod_text", "priority": "priority_text"}
"""Fields with a second column for the text, used if the value cannot be read."""

FLAT = pa.schema(
    {
        "key": pa.string(),
        "keyless": pa.bool_(),
        "loc": pa.string(),
        "lastmod": pa.int64(),
        "lastmod_text": pa.string(),
        "changefreq": pa.string(),
        "priority": pa.float64(),
        "priority_text": pa.string(),
        "title": pa.string(),
        **dict.fromkeys(_NESTED, pa.string()),
        "mobile": pa.bool_(),
    }
)
"""The flat form. ``key`` is ``loc`` if there is no key (``keyless`` is true, else null); ``loc`` is null if it equals
the key. ``lastmod`` is in microseconds since 1970; ``lastmod_text`` is null if ``lastmod`` is not. Nested values are
JSON."""
LASTMOD = 1 << FIELDS.index("lastmod")


@dataclass(frozen=True, slots=True)
class Block:
    """All rows of some URLs, URL by URL. Arrays have one value for each row; a row in both snapshots is there twice."""

    columns: Mapping[str, pa.Array]
    """The fields in flat form (see :data:`FLAT`), except those that are null in all rows."""
    url: np.ndarray
    """Number of its URL in the block."""
    is_after: np.ndarray
    """Whether it is a row of the later snapshot."""
    document: np.ndarray
    """Number of the document that lists it."""
    row: np.ndarray
    """Its id."""
    position: np.ndarray
    """Its first position in the document."""


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
    """Which fields differ, as a bit set of :func:`differing`."""


def classified(block: Block, documents: DocumentPairs) -> tuple[Found, dict[str, int]]:
    """Return the changes of the URLs in *block*, by URL, then in the order of :data:`KINDS`.

    And the numbers of URLs: ``before``, ``after``, ``stay`` (in both snapshots), and by
    the names of :class:`~sitemap_harvest.model.ChangeSummary`.
    """
    entries = _BlockEntries(block)
    is_before, document = ~entries.is_after, entries.document
    was, is_ = entries.urls_with(is_before), entries.urls_with(entries.is_after)
    believed = entries.urls_with(entries.is_after & documents.believable[document])
    is_partial = np.isin(block.row[entries.row], documents.partial_rows)
    whole = is_before & documents.was_whole[document] & ~is_partial
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


def flat(rows: pa.RecordBatch) -> dict[str, pa.Array]:
    """Return *rows*, which have the columns :data:`READ`, in flat form."""
    key, loc, lastmod = rows["key"], rows["loc"], rows["lastmod"]
    identity = pc.coalesce(key, loc) if key.null_count else key
    columns = {
        "key": identity,
        "keyless": _where(key.is_null(), pa.scalar(value=True)),
        "loc": _where(pc.not_equal(loc, identity), loc),
        "lastmod": lastmod.cast(pa.timestamp("us", "UTC")).cast(pa.int64()),
        "lastmod_text": _where(lastmod.is_null(), rows["lastmod_text"]),
    }
    for name in FLAT.names[len(columns) :]:
        columns[name] = _json(rows[name]) if name in _NESTED else rows[name]
    return columns


def _where(mask: pa.BooleanArray, values: pa.Array | pa.Scalar) -> pa.Array:
    if not mask.true_count:
        return pa.nulls(len(mask), values.type)
    return pc.if_else(mask, values, pa.scalar(None, values.type))


def _json(column: pa.Array) -> pa.StringArray:
    if column.null_count == len(column):
        return pa.nulls(len(column), pa.string())
    return _where(column.is_valid(), json_values(column))


def differing(columns: Mapping[str, pa.Array], before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return for each pair of rows which of :data:`FIELDS` differ: bit *n* for field number *n*.

    *before* and *after* are indices into *columns*. Columns that are null in all rows
    may be missing.
    """
    bits = np.zeros(len(before), dtype=np.int32)
    for number, name in enumerate(FIELDS):
        for part in columns.keys() & {name, _TEXTS.get(name, name)}:
            bits[_unequal(columns[part], before, after)] |= 1 << number
    return bits


def _unequal(column: pa.Array, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return which pairs differ; two nulls are equal."""
    one, other = column.take(pa.array(before)), column.take(pa.array(after))
    unequal = pc.fill_null(pc.not_equal(one, other), fill_value=False)
    if column.null_count:
        unequal = pc.or_(unequal, pc.xor(one.is_null(), other.is_null()))
    return np.asarray(unequal.to_numpy(zero_copy_only=False))


def as_text(columns: Mapping[str, pa.Array], name: str, rows: np.ndarray) -> pa.StringArray:
    """Return the field *name* of *rows* as text; null where it is absent."""
    indices = pa.array(rows)
    taken = columns[name].take(indices) if name in columns else pa.nulls(len(rows), FLAT.field(name).type)
    if name == "loc":
        return pc.coalesce(taken, columns["key"].take(indices))
    if name == "lastmod":
        taken = taken.cast(pa.timestamp("us", "UTC"))
    text = taken if pa.types.is_string(taken.type) else text_of(taken)
    other = _TEXTS.get(name, "")
    return pc.coalesce(text, columns[other].take(indices)) if other in columns else text


def values(columns: Mapping[str, pa.Array], rows: np.ndarray) -> np.ndarray:
    """Return a number for each of *rows*, equal for two rows only if all compared values are equal."""
    numbers = np.zeros(len(rows), dtype=np.int64)
    for name in FLAT.names:
        if name in columns and name != "key":
            encoded = columns[name].take(pa.array(rows)).dictionary_encode(null_encoding="encode")
            codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
            numbers = np.unique(numbers * (len(encoded.dictionary) + 1) + codes, return_inverse=True)[1]
    return numbers
