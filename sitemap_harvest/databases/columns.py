"""Columns for databases that have no nested types, or no NUL characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.export import json_values, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

_NUL_IN_JSON = r"\u0000"


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


def instants_as_text(column: pa.Array) -> pa.StringArray:
    """Return instants in ISO 8601, in UTC."""
    return text_of(column)


def without_nul(texts: pa.StringArray, *, is_json: bool = False) -> tuple[pa.StringArray, int]:
    """Return *texts* with U+FFFD in place of each NUL character, and how many texts had one."""
    nul = _NUL_IN_JSON if is_json else "\0"
    mask = pc.fill_null(pc.match_substring(texts, nul), fill_value=False)
    if not mask.true_count:
        return texts, 0
    return pc.replace_substring(texts, nul, "\ufffd"), mask.true_count


def converted(batch: pa.RecordBatch, convert: Callable[[pa.Array], pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """Return *batch* with *convert* applied to each column, and the *schema* of the result."""
    return pa.RecordBatch.from_arrays([convert(column) for column in batch.columns], schema=schema)
