"""The temporary format of changes, used until it is known which of them belong to a mass change or a rename."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.diff.classify import CHANGED, EXPIRED, LASTMOD, REMOVED
from sitemap_harvest.diff.document_pairs import LEFT_FEED, LEFT_NEWS
from sitemap_harvest.diff.fields import FIELDS, as_text
from sitemap_harvest.model import Change, arrow_schema

if TYPE_CHECKING:
    from sitemap_harvest.diff.classify import Block, Found
    from sitemap_harvest.diff.document_pairs import DocumentPairs

_MAP = arrow_schema(Change).field("before").type
FOUND = pa.schema(
    {
        "kind": pa.int8(),
        "loc": pa.string(),
        "key": pa.string(),
        "title": pa.string(),
        "document": pa.int32(),
        "document_before": pa.int32(),
        "fields": arrow_schema(Change).field("fields").type,
        "before": _MAP,
        "after": _MAP,
        "reason": pa.string(),
        "later": pa.bool_(),
    }
)
"""Columns of the file. Kinds and documents are numbers; ``later``: ``lastmod`` is later than before."""


def written(block: Block, found: Found, documents: DocumentPairs) -> pa.RecordBatch:
    """Return the changes *found* in *block* in this format."""
    rows, document = pa.array(found.row), block.document[found.row]
    key = block.columns["key"].take(rows)
    before = block.document[found.row_before]
    changes = {
        "kind": pa.array(found.kind, pa.int8()),
        "loc": as_text(block.columns, "loc", found.row),
        "key": _keys(block, rows, key),
        "title": as_text(block.columns, "title", found.row),
        "document": pa.array(document, pa.int32()),
        "document_before": pa.array(before, pa.int32(), mask=before == document),
        **_differences(block, found),
        "reason": _reasons(found, document, documents),
        "later": _is_later(block, found),
    }
    return pa.RecordBatch.from_pydict(changes, schema=FOUND)


def _keys(block: Block, rows: pa.Array, key: pa.StringArray) -> pa.StringArray:
    if "keyless" not in block.columns:
        return key
    return pc.if_else(block.columns["keyless"].take(rows).is_valid(), pa.scalar(None, pa.string()), key)


def _differences(block: Block, found: Found) -> dict[str, pa.Array]:
    """Return ``fields``, ``before`` and ``after``: a list and two maps for each change."""
    has = found.fields[:, None] & (1 << np.arange(len(FIELDS)))[None, :] != 0
    change, field = np.nonzero(has)  # by change, then in the order of the fields
    names = pa.array(FIELDS, pa.string()).take(pa.array(field))
    ends = np.concatenate([[0], np.cumsum(has.sum(axis=1))]).astype(np.int32)
    is_changed = found.kind == CHANGED
    offsets = pa.array(ends, mask=np.concatenate([~is_changed, [False]]))
    maps = {}
    for name, rows in (("before", found.row_before), ("after", found.row)):
        texts = _texts(block, field, rows[change])
        maps[name] = pa.MapArray.from_arrays(offsets, names, texts, _MAP)
    lists = pa.ListArray.from_arrays(pa.array(ends), names, type=FOUND.field("fields").type)
    return {"fields": lists, **maps}


def _texts(block: Block, field: np.ndarray, rows: np.ndarray) -> pa.StringArray:
    """Return the text of each of *field* (field numbers) in the corresponding row."""
    parts, places = [pa.array([], pa.string())], [np.array([], dtype=np.int64)]
    for number in np.unique(field).tolist():
        place = np.flatnonzero(field == number)
        parts.append(as_text(block.columns, FIELDS[number], rows[place]))
        places.append(place)
    return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(places))))


def _reasons(found: Found, document: np.ndarray, documents: DocumentPairs) -> pa.StringArray:
    """Return the reason of each removal; null for other changes."""
    words = [*documents.reasons, LEFT_FEED, LEFT_NEWS]
    at = np.where(
        found.kind == EXPIRED, np.where(documents.is_feed[document], len(words) - 2, len(words) - 1), document
    )
    is_gone = np.isin(found.kind, (REMOVED, EXPIRED))
    return pa.array(words, pa.string()).take(pa.array(at, mask=~is_gone))


def _is_later(block: Block, found: Found) -> pa.BooleanArray:
    """Return which changes have a later ``lastmod``."""
    if "lastmod" not in block.columns:
        return pa.repeat(pa.scalar(value=False), len(found.kind))
    lastmod = block.columns["lastmod"]
    one, other = lastmod.take(pa.array(found.row_before)), lastmod.take(pa.array(found.row))
    differs = pa.array(found.fields & LASTMOD != 0)
    return pc.fill_null(pc.and_(differs, pc.greater(other, one)), fill_value=False)
