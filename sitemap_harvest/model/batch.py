"""``Batch``: many records of one kind as one Arrow record batch, with the schema of their dataclass."""

from __future__ import annotations

import dataclasses
import types
import typing
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

import pyarrow as pa

from sitemap_harvest.errors import SchemaError
from sitemap_harvest.model.change import Change, ChangeSummary
from sitemap_harvest.model.entry import UrlEntry
from sitemap_harvest.model.finding import AuditSummary, Finding, LastmodTrust, Occurrence
from sitemap_harvest.model.page import PageRecord
from sitemap_harvest.model.records import SitemapRecord, SiteRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

SCHEMA_VERSION = 5
"""Incremented whenever a column is added, renamed or changes its type."""

MAX_ROWS = 10_000  # some 4 MB of typical rows: large enough for vectorized code, small enough for flat memory
_ROWS_AT_ONCE = 500  # as Python objects they take a megabyte, and several documents may be read concurrently
_PLAIN: dict[type, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    datetime: pa.timestamp("us", tz="UTC"),
}
Row = TypeVar("Row")


@cache
def arrow_schema(record: type) -> pa.Schema:
    """Return the Arrow schema of the dataclass *record*: one field each, in order.

    ``X | None`` is a nullable field, ``tuple[X, ...]`` a list, ``dict[X, Y]`` a
    map, a dataclass a struct, an instant a timestamp of microseconds in UTC.
    """
    hints = typing.get_type_hints(record)
    columns = [_field(field.name, hints[field.name]) for field in dataclasses.fields(record)]
    return pa.schema(columns, metadata={"sitemap_harvest.schema": str(SCHEMA_VERSION)})


def _field(name: str, hint: Any) -> pa.Field:
    is_nullable = isinstance(hint, types.UnionType)
    return pa.field(name, _type(hint.__args__[0] if is_nullable else hint), nullable=is_nullable)


def _type(hint: Any) -> pa.DataType:
    if typing.get_origin(hint) is tuple:
        return pa.list_(pa.field("item", _type(typing.get_args(hint)[0]), nullable=False))
    if typing.get_origin(hint) is dict:
        keys, values = typing.get_args(hint)
        return pa.map_(_type(keys), _field("value", values))
    if not isinstance(hint, type):
        raise TypeError(f"no Arrow type for {hint!r}")
    if dataclasses.is_dataclass(hint):
        return pa.struct(list(arrow_schema(hint)))
    if issubclass(hint, StrEnum):
        return pa.string()
    return _PLAIN[hint]


class Batch(Generic[Row]):
    """An immutable batch of records of one kind: a Scrapy item that represents ``len(batch)`` items.

    Wraps a :class:`pyarrow.RecordBatch` (:attr:`arrow`) with the schema of
    :attr:`row_type`. Rows are created only by :meth:`rows`.
    """

    row_type: ClassVar[type]
    """The dataclass of one row."""

    arrow: pa.RecordBatch
    """The columns."""

    def __init__(self, arrow: pa.RecordBatch) -> None:
        """Wrap *arrow*. Raises :exc:`SchemaError` if its columns do not match the row type."""
        if arrow.schema != (wanted := self.schema()):
            raise SchemaError(f"{type(self).__name__} requires the columns\n{wanted}\nbut got\n{arrow.schema}")
        self.arrow = arrow

    @classmethod
    def schema(cls) -> pa.Schema:
        """Return the Arrow schema of a batch of this kind."""
        return arrow_schema(cls.row_type)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Self:
        """Create a batch of *rows*."""
        schema = cls.schema()
        records = list(rows)
        columns = []
        for field in schema:
            values = [getattr(row, field.name) for row in records]
            columns.append(pa.array(_plain(values) if pa.types.is_nested(field.type) else values, field.type))
        return cls(pa.RecordBatch.from_arrays(columns, schema=schema))

    @classmethod
    def joined(cls, batches: Sequence[Self]) -> Self:
        """Return the rows of *batches*, at least one, as one batch."""
        if len(batches) == 1:
            return batches[0]
        return cls(pa.concat_batches([batch.arrow for batch in batches]))

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __getitem__(self, column: str) -> pa.Array:
        """Return the column of that name."""
        return self.arrow.column(column)

    def __iter__(self) -> Iterator[Row]:
        return self.rows()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} rows>"

    def filter(self, mask: pa.BooleanArray) -> Self:
        """Return the rows for which *mask* is true (a null is not)."""
        return type(self)(self.arrow.filter(mask))

    def slice(self, start: int, length: int | None = None) -> Self:
        """Return *length* rows from *start* on (all, if ``None``), without copying."""
        return type(self)(self.arrow.slice(start, length))

    def with_columns(self, **columns: pa.Array) -> Self:
        """Return the rows with *columns* replacing those of the same names."""
        arrays = [columns.get(field.name, column) for field, column in zip(self.schema(), self.arrow, strict=True)]
        return type(self)(pa.RecordBatch.from_arrays(arrays, schema=self.schema()))

    def rows(self) -> Iterator[Row]:
        """Yield each row as a :attr:`row_type`."""
        make = cast("Callable[[dict[str, Any]], Row]", _reader(self.row_type))
        for start in range(0, len(self), _ROWS_AT_ONCE):
            for values in self.arrow.slice(start, _ROWS_AT_ONCE).to_pylist():
                yield make(values)


class UrlBatch(Batch[UrlEntry]):
    """Up to 10,000 :class:`UrlEntry` rows as columns."""

    row_type = UrlEntry


class LedgerBatch(Batch[SitemapRecord]):
    """Document records as columns."""

    row_type = SitemapRecord


class SiteBatch(Batch[SiteRecord]):
    """Site records as columns."""

    row_type = SiteRecord


class ChangeBatch(Batch[Change]):
    """Changes as columns."""

    row_type = Change


class SummaryBatch(Batch[ChangeSummary]):
    """Summaries of changes as columns."""

    row_type = ChangeSummary


class FindingBatch(Batch[Finding]):
    """Findings of an audit as columns."""

    row_type = Finding


class OccurrenceBatch(Batch[Occurrence]):
    """Occurrences of what rules of an audit find, as columns."""

    row_type = Occurrence


class AuditBatch(Batch[AuditSummary]):
    """Summaries of audits as columns."""

    row_type = AuditSummary


class TrustBatch(Batch[LastmodTrust]):
    """Scores of the dates of documents as columns."""

    row_type = LastmodTrust


class PageBatch(Batch[PageRecord]):
    """Responses of pages as columns."""

    row_type = PageRecord


def _plain(value: Any) -> Any:
    """Return *value* with dataclasses as dictionaries, as Arrow requires."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value


@cache
def _reader(hint: Any) -> Callable[[Any], Any] | None:
    """Return a function that creates a value of type *hint* from Arrow's; ``None`` if Arrow's is one."""
    if isinstance(hint, types.UnionType):
        return _reader(hint.__args__[0])
    if typing.get_origin(hint) is dict:
        return dict
    if typing.get_origin(hint) is tuple:
        inner = _reader(typing.get_args(hint)[0])
        return (lambda values: tuple(map(inner, values))) if inner else tuple
    record: type = hint
    if not dataclasses.is_dataclass(record):
        return record if issubclass(record, StrEnum) else None
    hints = typing.get_type_hints(record)
    nested = {name: inner for name, part in hints.items() if (inner := _reader(part))}

    def make(values: dict[str, Any]) -> Any:
        for name, inner in nested.items():
            if values[name] is not None:
                values[name] = inner(values[name])
        return record(**values)

    return make
