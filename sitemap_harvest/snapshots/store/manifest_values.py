"""Data of small tables in the manifest: columns of values for JSON, as tables and as document records.

Most sites have few documents and rarely change. Values that are in the manifest anyway take a fraction of the time of
a file for each table, and document records need not become columns and rows again.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from sitemap_harvest.model import LedgerBatch, SitemapRecord, plain_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Values = dict[str, list[Any]]
"""The values of each column, instants as microseconds since 1970. Columns without values are left out."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def values_of(table: pa.Table) -> Values:
    """Return the values of *table*, which has no nested instants."""
    return {
        field.name: (column.cast(pa.int64()) if pa.types.is_timestamp(field.type) else column).to_pylist()
        for field, column in zip(table.schema, table.columns, strict=True)
    }


def table_of(values: Mapping[str, list[Any]], schema: pa.Schema, rows: int) -> pa.Table:
    """Return *values* as a table of *rows* rows with *schema*. Raises an exception of Arrow if they do not fit."""
    columns = [
        pa.array(values[field.name], field.type) if field.name in values else empty_column(field, rows)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def empty_column(column: pa.Field, rows: int) -> pa.Array:
    """Return *rows* values of a *column* that was left out when it was stored, or did not exist then."""
    return pa.nulls(rows, column.type) if column.nullable else pa.array([_nothing(column)] * rows, column.type)


def values_of_records(records: Sequence[SitemapRecord]) -> Values:
    """Return the values of the fields of *records*."""
    found: Values = {}
    for column in _record_columns():
        values = [getattr(record, column.name) for record in records]
        if any(values) or (column.nothing is None and values.count(None) < len(values)):
            found[column.name] = column.for_json(values)
    return found


def records_of(values: Mapping[str, list[Any]], rows: int) -> Iterator[SitemapRecord]:
    """Yield *values* as document records."""
    columns = _record_columns()
    nothing = {column.name: column.nothing for column in columns}
    found = [(column.name, column.of_json(values[column.name])) for column in columns if column.name in values]
    for row in range(rows):
        yield LedgerBatch.row_of(nothing | {name: column[row] for name, column in found})


def record_values(values: Mapping[str, list[Any]], name: str, rows: int) -> list[Any]:
    """Return the *rows* values of the field *name* of document records."""
    column = _record_columns()[LedgerBatch.schema().get_field_index(name)]
    return [column.nothing] * rows if name not in values else column.of_json(values[name])


class _Column(NamedTuple):
    """A field of document records."""

    name: str
    kind: pa.DataType
    is_instant: bool
    nothing: Any
    """Its value in a column that is left out."""

    def for_json(self, values: list[Any]) -> list[Any]:
        if self.is_instant:
            return [None if one is None else (one - _EPOCH) // _MICROSECOND for one in values]
        return list(plain_values(values, self.kind))

    def of_json(self, values: list[Any]) -> list[Any]:
        return [None if one is None else _EPOCH + one * _MICROSECOND for one in values] if self.is_instant else values


@cache
def _record_columns() -> list[_Column]:
    return [
        _Column(field.name, field.type, pa.types.is_timestamp(field.type), _nothing(field))
        for field in LedgerBatch.schema()
    ]


def _nothing(column: pa.Field) -> Any:
    if column.nullable:
        return None
    if pa.types.is_boolean(column.type):
        return False
    return [] if pa.types.is_list(column.type) else "" if pa.types.is_string(column.type) else 0
