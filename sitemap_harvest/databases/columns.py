"""Columns for databases that have no nested types, or no NUL characters."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.export import json_values

_REFUSED_IN_JSON = r"\\u(?:0000|[dD][89a-fA-F])"  # or a backslash, which is escaped itself, before such letters
_JSON_ESCAPE = re.compile(  # in the group those that stay: all but NUL, and of surrogates only pairs
    r"(\\[^u]|\\u(?!0000|[dD][89a-fA-F])|\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u...."
)


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
