"""Columns to JSON, byte for byte as Python's ``json`` writes the same rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.export.text_columns import concat, holds_byte, joined_values, lists_of_pairs, replaced, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_ESCAPED = r'["\\\x00-\x1f]'
_ESCAPED_IN_ASCII = r'["\\\x00-\x1f]|[^\x00-\x7e]'


def json_objects(
    columns: Mapping[str, pa.Array], rows: int, *, ascii_only: bool = False, end: str = ""
) -> pa.StringArray:
    """Return one JSON object per row, with the names and values of *columns*, followed by *end*; nulls are ``null``."""
    parts: list[pa.Array | str] = ["{"]
    written: list[tuple[pa.Array, pa.Array | str]] = []
    for number, (name, column) in enumerate(columns.items()):
        parts.append(f"{', ' if number else ''}{json.dumps(name)}: ")
        text = next((text for other, text in written if _is_same(other, column)), None)
        if text is None:
            text = _value(column, rows, ascii_only=ascii_only)
            written.append((column, text))
        parts.append(text)
    return concat([*parts, "}" + end], rows)


def _is_same(one: pa.Array, other: pa.Array) -> bool:
    """Whether two columns share the same memory, as loc and key of canonical URLs do."""
    if one.type != other.type or one.offset != other.offset:
        return False
    pairs = zip(one.buffers(), other.buffers(), strict=True)
    return all((a and a.address) == (b and b.address) for a, b in pairs)


def _value(column: pa.Array, rows: int, *, ascii_only: bool) -> pa.Array | str:
    """Return the values of *column* as JSON; a single string if all rows have the same value."""
    if column.null_count == rows:
        return "null"
    is_flat = not pa.types.is_nested(column.type) and not column.null_count
    if is_flat and pc.all(pc.equal(column, column[0])).as_py():
        column = column.slice(0, 1)
        return str(json_values(column, ascii_only=ascii_only)[0].as_py())
    return json_values(column, ascii_only=ascii_only)


def json_values(array: pa.Array, *, ascii_only: bool = False) -> pa.StringArray:
    """Return each value of *array* as JSON."""
    if pa.types.is_list(array.type):
        joined = joined_values(array, json_values(array.flatten(), ascii_only=ascii_only), ", ")
        text = pc.if_else(array.is_valid(), concat(["[", joined, "]"], len(array)), None)
    elif pa.types.is_map(array.type):
        text = _maps(array, ascii_only=ascii_only)
    elif pa.types.is_struct(array.type):
        fields = {field.name: array.field(index) for index, field in enumerate(array.type)}
        text = pc.if_else(array.is_valid(), json_objects(fields, len(array), ascii_only=ascii_only), None)
    elif pa.types.is_string(array.type):
        if holds_byte(array, below=0x20, among=b'"\\', above=0x7E if ascii_only else 0xFF):
            pattern = _ESCAPED_IN_ASCII if ascii_only else _ESCAPED
            array = replaced(array, pattern, lambda text: json.dumps(text, ensure_ascii=ascii_only)[1:-1])
        text = concat(['"', array, '"'], len(array))
    elif pa.types.is_timestamp(array.type):
        text = concat(['"', text_of(array), '"'], len(array))
    else:
        text = text_of(array)
    return pc.fill_null(text, "null") if text.null_count else text


def _maps(array: pa.MapArray, *, ascii_only: bool) -> pa.StringArray:
    """Return each map of texts as an object."""
    lists, pairs = lists_of_pairs(array)
    names, values = (json_values(part, ascii_only=ascii_only) for part in pairs)
    joined = joined_values(lists, concat([names, ": ", values], len(values)), ", ")
    return pc.if_else(array.is_valid(), concat(["{", joined, "}"], len(array)), None)
