"""Columns of any types as types that every format can write: the result of a query may have types that JSON lacks.

Numbers, booleans, texts, instants in UTC, lists, structures, and maps from texts stay what
they are. Other values become text: dates and times in ISO 8601, bytes as UTF-8.
"""

from __future__ import annotations

from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_INSTANT = pa.timestamp("us", "UTC")


def plain(batch: pa.RecordBatch, *, keeps_dates: bool = False) -> pa.RecordBatch:
    """Return *batch* with plain types. *keeps_dates*: columns of dates and of local times keep their types."""
    columns = [column if keeps_dates and _is_date(column.type) else _plain_column(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _is_date(kind: pa.DataType) -> bool:
    return bool(kinds.is_date32(kind) or kind == pa.timestamp("us"))


def distinct(names: Sequence[str]) -> Iterator[str]:
    """Yield *names* with ``_2``, ``_3`` ... added to the second, the third ... of the same name."""
    used: set[str] = set()
    for name in names:
        new, number = name, 1
        while new in used or (number > 1 and new in names):
            number += 1
            new = f"{name}_{number}"
        used.add(new)
        yield new


def _plain_column(column: pa.Array) -> pa.Array:
    wanted = _plain_type(column.type)
    if wanted == column.type:
        return column
    if kinds.is_dictionary(column.type) or (not kinds.is_nested(column.type) and wanted != pa.string()):
        return column.cast(wanted)
    if kinds.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us"), safe=False)  # Python has no nanoseconds
    return pa.array([_plain_value(value, wanted) for value in column.to_pylist()], wanted)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the plain type for values of type *kind*."""
    if kinds.is_map(kind):
        return pa.map_(pa.string(), _plain_type(kind.item_type))
    if kinds.is_struct(kind):
        return pa.struct([field.with_type(_plain_type(field.type)) for field in kind])
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    if kinds.is_boolean(kind) or kinds.is_integer(kind) or kinds.is_decimal(kind):
        return kind
    if kinds.is_floating(kind):
        return pa.float64()
    return _INSTANT if kinds.is_timestamp(kind) and kind.tz is not None else pa.string()


def _plain_value(value: Any, wanted: pa.DataType) -> Any:
    """Return the value of a column, as Python has it, for a column of the plain type *wanted*."""
    if value is None:
        return None
    if kinds.is_map(wanted):
        return [(_text(key), _plain_value(one, wanted.item_type)) for key, one in value]
    if kinds.is_struct(wanted):
        return {field.name: _plain_value(value[field.name], field.type) for field in wanted}
    if kinds.is_list(wanted):
        return [_plain_value(one, wanted.value_type) for one in value]
    return _text(value) if kinds.is_string(wanted) else value


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, pa.MonthDayNano):
        return f"P{value.months}M{value.days}DT{value.nanoseconds / 1e9:.9g}S"
    return value.isoformat() if isinstance(value, (date, time, datetime)) else str(value)
