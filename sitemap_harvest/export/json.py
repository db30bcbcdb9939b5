"""Columns to JSON, byte for byte as Python's ``json`` writes the same rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.export.text import concat, replaced, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_ESCAPED = r'["\\\x00-\x1f]'
_ESCAPED_IN_ASCII = r'["\\\x00-\x1f]|[^\x00-\x7f]'


def json_objects(
    columns: Mapping[str, pa.Array], rows: int, *, ascii_only: bool = False, end: str = ""
) -> pa.StringArray:
    """Return one JSON object a row, with the names and values of *columns*, and *end* behind it; nulls are ``null``."""
    parts: list[pa.Array | str] = ["{"]
    for number, (name, column) in enumerate(columns.items()):
        parts.append(f'{", " if number else ""}{json.dumps(name)}: ')
        parts.append("null" if column.null_count == rows else json_values(column, ascii_only=ascii_only))
    return concat([*parts, "}" + end], rows)


def json_values(array: pa.Array, *, ascii_only: bool = False) -> pa.StringArray:
    """Return each value of *array* as JSON."""
    if pa.types.is_list(array.type):
        text = _lists(array, ascii_only=ascii_only)
    elif pa.types.is_struct(array.type):
        fields = {field.name: array.field(index) for index, field in enumerate(array.type)}
        text = pc.if_else(array.is_valid(), json_objects(fields, len(array), ascii_only=ascii_only), None)
    elif pa.types.is_string(array.type):
        escaped = replaced(array, _ESCAPED_IN_ASCII if ascii_only else _ESCAPED, lambda text: _inner(text, ascii_only))
        text = concat(['"', escaped, '"'], len(array))
    elif pa.types.is_timestamp(array.type):
        text = concat(['"', text_of(array), '"'], len(array))
    else:
        text = text_of(array)
    return pc.fill_null(text, "null") if text.null_count else text


def _inner(text: str, ascii_only: bool) -> str:  # noqa: FBT001 - private
    return json.dumps(text, ensure_ascii=ascii_only)[1:-1]


def _lists(array: pa.ListArray, *, ascii_only: bool) -> pa.StringArray:
    values = json_values(array.flatten(), ascii_only=ascii_only)
    lengths = pc.fill_null(pc.list_value_length(array), 0).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, values), ", ")
    return pc.if_else(array.is_valid(), concat(["[", joined, "]"], len(array)), None)
