"""Data of small tables in the manifest: columns of values for JSON, as tables and as document records.

Most sites have few documents and rarely change. Values that are in the manifest anyway take a fraction of the time of
a file for each table, and document records need not become columns and rows again.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

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
    for field in LedgerBatch.schema():
        values = [getattr(record, field.name) for record in records]
        if any(value is not None for value in values) if field.nullable else any(values):
            found[field.name] = _for_json(values, field.type)
    return found


def records_of(values: Mapping[str, list[Any]], rows: int) -> Iterator[SitemapRecord]:
    """Yield *values* as document records."""
    columns = [values_in(values, field, rows) for field in LedgerBatch.schema()]
    names = LedgerBatch.schema().names
    for row in zip(*columns, strict=True):
        yield LedgerBatch.row_of(dict(zip(names, row, strict=True)))


def values_in(values: Mapping[str, list[Any]], column: pa.Field, rows: int) -> list[Any]:
    """Return the *rows* values of *column*, with instants as such."""
    if (found := values.get(column.name)) is None:
        return [_nothing(column)] * rows
    if pa.types.is_timestamp(column.type):
        return [None if one is None else _EPOCH + one * _MICROSECOND for one in found]
    return found


def _nothing(column: pa.Field) -> Any:
    if column.nullable:
        return None
    if pa.types.is_boolean(column.type):
        return False
    return [] if pa.types.is_list(column.type) else "" if pa.types.is_string(column.type) else 0


def _for_json(values: list[Any], kind: pa.DataType) -> list[Any]:
    if pa.types.is_timestamp(kind):
        return [None if one is None else (one - _EPOCH) // _MICROSECOND for one in values]
    return list(plain_values(values, kind))
