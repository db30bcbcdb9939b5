"""Compared fields in flat form: one column for each field, in which equal values mean the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.export import json_values, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

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
