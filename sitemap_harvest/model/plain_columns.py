"""Columns of the types that outputs have: a pipeline may have added some of any Arrow type."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import types

from sitemap_harvest.model.batch import JSON, converted

if TYPE_CHECKING:
    from collections.abc import Callable

_INSTANT = pa.timestamp("us", tz="UTC")
_PLAIN = frozenset({pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.null(), _INSTANT, JSON})
_NUMBERS = (types.is_integer, types.is_floating, types.is_decimal, types.is_duration)
_CONVERSIONS: tuple[tuple[Callable[[pa.DataType], bool], pa.DataType], ...] = (
    (types.is_uint64, JSON),  # a half of its numbers is too large for the others
    (types.is_integer, pa.int64()),
    (types.is_floating, pa.float64()),
    (types.is_timestamp, _INSTANT),
    (types.is_date, pa.date32()),
    (types.is_large_string, pa.string()),
    (types.is_string_view, pa.string()),
)


def for_database(column: pa.Array) -> pa.Array:
    """Return *column* with a type that each database has, or as JSON."""
    return _as(column, _plain_type(column.type, any_number=False))


def for_text(column: pa.Array) -> pa.Array:
    """Return *column* with a type that each text format has, or as JSON."""
    return _as(column, _plain_type(column.type, any_number=True))


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == kind:
        return column
    return converted(column, JSON) if kind == JSON else column.cast(kind, safe=False)  # without nanoseconds


@cache
def _plain_type(kind: pa.DataType, *, any_number: bool) -> pa.DataType:
    if _is_plain(kind, any_number=any_number):
        return kind
    if types.is_dictionary(kind):
        return _plain_type(kind.value_type, any_number=any_number)
    if types.is_timestamp(kind) and kind.tz is None and any_number:
        return pa.timestamp("us")
    return next((to for has_type, to in _CONVERSIONS if has_type(kind)), JSON)


def _is_plain(kind: pa.DataType, *, any_number: bool) -> bool:
    """Whether *kind* is a plain type, or has only plain types in lists, maps and structures."""
    if types.is_list(kind) or types.is_map(kind) or types.is_struct(kind):
        parts = (kind.field(number).type for number in range(kind.num_fields))
        return all(_is_plain(part, any_number=any_number) for part in parts)
    return kind in _PLAIN or (any_number and any(is_number(kind) for is_number in _NUMBERS))
