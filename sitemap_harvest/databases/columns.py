"""Columns for databases: of types that each of them has; without nested types, or NUL characters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.export import json_values
from sitemap_harvest.model.batch import JSON, converted

if TYPE_CHECKING:
    from collections.abc import Callable

_REFUSED_IN_JSON = r"\\u(?:0000|[dD][89a-fA-F])"  # or a backslash, which is escaped itself, before such letters
_JSON_ESCAPE = re.compile(  # in the group those that stay: all but NUL, and of surrogates only pairs
    r"(\\[^u]|\\u(?!0000|[dD][89a-fA-F])|\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u...."
)
_INSTANT = pa.timestamp("us", tz="UTC")
_PLAIN = frozenset({pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.null(), _INSTANT, JSON})
_CONVERSIONS: tuple[tuple[Callable[[pa.DataType], bool], pa.DataType], ...] = (
    (pa.types.is_uint64, JSON),  # a half of its numbers is too large for the others
    (pa.types.is_integer, pa.int64()),
    (pa.types.is_floating, pa.float64()),
    (pa.types.is_timestamp, _INSTANT),
    (pa.types.is_date, pa.date32()),
    (pa.types.is_large_string, pa.string()),
    (pa.types.is_string_view, pa.string()),
)


def storable(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return *rows*, whose columns a pipeline may have added, with types that each database has, or JSON."""
    for at, field in enumerate(rows.schema):
        if (kind := _storable_type(field.type)) != field.type:
            column = rows.column(at)
            column = converted(column, JSON) if kind == JSON else column.cast(kind, safe=False)  # some nanoseconds
            rows = rows.set_column(at, field.with_type(kind), column)
    return rows


def _storable_type(kind: pa.DataType) -> pa.DataType:
    if kind in _PLAIN or (pa.types.is_nested(kind) and _is_plain(kind)):
        return kind
    if pa.types.is_dictionary(kind):
        return _storable_type(kind.value_type)
    return next((to for has_type, to in _CONVERSIONS if has_type(kind)), JSON)


def _is_plain(kind: pa.DataType) -> bool:
    """Whether *kind* has only plain types in lists, maps and structures."""
    if pa.types.is_list(kind) or pa.types.is_map(kind) or pa.types.is_struct(kind):
        return all(_is_plain(kind.field(number).type) for number in range(kind.num_fields))
    return kind in _PLAIN


def is_json(kind: pa.DataType) -> bool:
    """Whether values of the type *kind* become JSON: they are nested, or JSON already."""
    return pa.types.is_nested(kind) or isinstance(kind, pa.JsonType)


def json_text(column: pa.Array) -> pa.StringArray:
    """Return each value as JSON, and null for null."""
    if column.null_count == len(column):
        return pa.nulls(len(column), pa.string())
    if isinstance(column.type, pa.JsonType):
        return column.storage
    return pc.if_else(column.is_valid(), json_values(column), None)


def without_refused(texts: pa.StringArray, *, is_json: bool = False) -> tuple[pa.StringArray, int]:
    """Return *texts* with U+FFFD in place of NUL and of halves of surrogate pairs, and how many texts had one.

    Only JSON can have halves of surrogate pairs.
    """
    refused = pc.match_substring_regex(texts, _REFUSED_IN_JSON) if is_json else pc.match_substring(texts, "\0")
    mask = pc.fill_null(refused, fill_value=False)
    if not mask.true_count:
        return texts, 0
    if not is_json:
        return pc.replace_substring(texts, "\0", "\ufffd"), mask.true_count
    old = texts.filter(mask).to_pylist()
    new = [_JSON_ESCAPE.sub(lambda found: found[1] or "\ufffd", text) for text in old]
    count = sum(one != other for one, other in zip(old, new, strict=True))
    return pc.replace_with_mask(texts, mask, pa.array(new, pa.string())), count
