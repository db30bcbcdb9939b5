"""``Batch``: many records of one kind as one Arrow record batch, with the schema of their dataclass."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from datetime import date, datetime, time
from enum import StrEnum
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

import pyarrow as pa

from sitemap_harvest.display import table_as_html
from sitemap_harvest.errors import SchemaError
from sitemap_harvest.frames import ArrowData, chosen
from sitemap_harvest.model.change import Change, ChangeSummary
from sitemap_harvest.model.entry import UrlEntry
from sitemap_harvest.model.finding import AuditSummary, Finding, LastmodTrust, Occurrence
from sitemap_harvest.model.item import ItemRecord
from sitemap_harvest.model.page import PageRecord
from sitemap_harvest.model.records import SitemapRecord, SitemapRef, SiteRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

SCHEMA_VERSION = 6
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
_ADDED = frozenset({*_PLAIN.values(), pa.null()})
JSON = pa.json_(pa.string())
"""The type of an added column with values of several types, or of types without a column type: each value is JSON."""
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


class Batch(ArrowData, Generic[Row]):
    """An immutable batch of records of one kind: a Scrapy item that represents ``len(batch)`` items.

    Wraps a :class:`pyarrow.RecordBatch` (:attr:`arrow`) with the schema of
    :attr:`row_type`. Pipelines may add columns, which come after those of the schema.
    Rows are created only by :meth:`rows`.
    """

    row_type: ClassVar[type]
    """The dataclass of one row."""

    def __init__(self, arrow: pa.RecordBatch) -> None:
        """Wrap *arrow*. Raises :exc:`SchemaError` if its first columns do not match the row type."""
        if arrow.schema != (wanted := self.schema()):
            names = arrow.schema.names
            if list(arrow.schema)[: len(wanted)] != list(wanted) or len(set(names)) < len(names):
                raise SchemaError(
                    f"{type(self).__name__} requires the columns\n{wanted}\nfollowed by others with different names, "
                    f"but got\n{arrow.schema}"
                )
        self._arrow = arrow

    @property
    def arrow(self) -> pa.RecordBatch:
        """The columns."""
        return self._arrow

    @classmethod
    def schema(cls) -> pa.Schema:
        """Return the Arrow schema of a batch of this kind, without added columns."""
        return arrow_schema(cls.row_type)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Self:
        """Create a batch of *rows*. Fields that were added to them become columns.

        Raises an exception of Arrow, :exc:`TypeError`, :exc:`ValueError` or :exc:`AttributeError` if a value does not
        fit its column.
        """
        schema = cls.schema()
        records = list(rows)
        columns = []
        for field in schema:
            name = field.name  # once: Arrow makes a new string each time
            column = column_of([getattr(row, name, None) for row in records], field.type)
            if column.null_count and not field.nullable:
                raise ValueError(f"{name} is None")
            columns.append(column)
        return cls(_with_added(pa.RecordBatch.from_arrays(columns, schema=schema), records))

    @classmethod
    def of_changed(cls, rows: Iterable[Row]) -> Self:
        """Create a batch of *rows* for an output, where pipelines have given fields values of other types.

        A column that these do not fit has the type that an added column would have.
        """
        records = list(rows)
        columns, kinds = [], []
        for field in cls.schema():
            values = [getattr(row, field.name, None) for row in records]
            try:
                column = column_of(values, field.type)
            except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
                column = added_column(values)
            columns.append(column)
            is_nullable = field.nullable or column.null_count > 0 or column.type != field.type
            kinds.append(field.with_type(column.type).with_nullable(is_nullable))
        schema = pa.schema(kinds, metadata=cls.schema().metadata)
        batch = cls.__new__(cls)
        batch._arrow = _with_added(  # noqa: SLF001 - of the same class
            pa.RecordBatch.from_arrays(columns, schema=schema), records
        )
        return batch

    @classmethod
    def joined(cls, batches: Sequence[Self]) -> Self:
        """Return the rows of *batches*, at least one, as one batch. An added column is null where it is missing."""
        if len(batches) == 1:
            return batches[0]
        parts = [batch.arrow for batch in batches]
        if any(part.schema != parts[0].schema for part in parts):
            types: dict[str, set[pa.DataType]] = {}
            for name, kind in ((field.name, field.type) for part in parts for field in part.schema):
                types.setdefault(name, set()).add(kind)
            schema = pa.schema(
                [*cls.schema(), *(pa.field(name, _common(types[name])) for name in [*types][len(cls.schema()) :])],
                metadata=cls.schema().metadata,
            )
            parts = [conformed(part, schema) for part in parts]
        return cls(pa.concat_batches(parts))

    @classmethod
    def table(cls, batches: Iterable[Self], columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows of *batches*, or *columns* of them, as an Arrow table, without added columns."""
        names = chosen(columns, cls.schema().names)
        schema = pa.schema([cls.schema().field(name) for name in names], cls.schema().metadata)
        return pa.Table.from_batches([batch.arrow.select(names) for batch in batches], schema)

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __getitem__(self, column: str) -> pa.Array:
        """Return the column of that name."""
        return self.arrow.column(column)

    def __iter__(self) -> Iterator[Row]:
        return self.rows()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} rows>"

    def _repr_html_(self) -> str:
        return table_as_html(type(self).__name__, self.arrow)

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows, with all columns or with *columns* in that order, as an Arrow table."""
        return pa.Table.from_batches([self.arrow.select(chosen(columns, self.arrow.schema.names))])

    def filter(self, mask: pa.BooleanArray) -> Self:
        """Return the rows for which *mask* is true (a null is not)."""
        return type(self)(self.arrow.filter(mask))

    def slice(self, start: int, length: int | None = None) -> Self:
        """Return *length* rows from *start* on (all, if ``None``), without copying."""
        return type(self)(self.arrow.slice(start, length))

    def with_columns(self, **columns: pa.Array) -> Self:
        """Return the rows with *columns* replacing those of the same names, or added.

        Raises :exc:`SchemaError` if a column of :attr:`row_type` would get another type.
        """
        arrow = self.arrow
        for name, column in columns.items():
            at = arrow.schema.get_field_index(name)
            if at < 0:
                arrow = arrow.append_column(name, column)
            else:
                field = arrow.schema.field(at) if at < len(self.schema()) else name
                try:
                    arrow = arrow.set_column(at, field, column)
                except (pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
                    kind = getattr(column, "type", type(column).__name__)
                    raise SchemaError(
                        f"the column {name!r} of {type(self).__name__} has the type {arrow.schema.field(at).type}, and "
                        f"cannot be replaced by one of type {kind}: cast it, or add it under another name"
                    ) from error
        return type(self)(arrow)

    def rows(self) -> Iterator[Row]:
        """Yield each row as a :attr:`row_type`."""
        encoded = [field.name for field in self.arrow.schema if field.type == JSON]
        for start in range(0, len(self), _ROWS_AT_ONCE):
            for values in self.arrow.slice(start, _ROWS_AT_ONCE).to_pylist():
                for name in encoded:
                    values[name] = None if values[name] is None else json.loads(values[name])
                yield self.row_of(values)

    @classmethod
    def row_of(cls, values: dict[str, Any]) -> Row:
        """Return the row with *values* by column, as Arrow or JSON has them: a dictionary that becomes the row's."""
        return cast("Callable[[dict[str, Any]], Row]", _reader(cls.row_type))(values)


def _with_added(arrow: pa.RecordBatch, records: Sequence[Any]) -> pa.RecordBatch:
    """Return *arrow* with the fields that were added to *records*, its rows, as columns."""
    known = set(arrow.schema.names)
    if not records or not isinstance(records[0], ItemRecord) or set().union(*map(vars, records)) <= known:
        return arrow
    for name in dict.fromkeys(chain.from_iterable(vars(row) for row in records)):
        if name not in known:
            arrow = arrow.append_column(name, added_column([vars(row).get(name) for row in records]))
    return arrow


def conformed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return *batch* with the columns of *schema*: a missing one is null, others are left out.

    Raises :exc:`pyarrow.ArrowException` if a column cannot be converted.
    """
    names = set(batch.schema.names)
    columns = [
        converted(batch[field.name], field.type) if field.name in names else pa.nulls(len(batch), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def converted(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return *column* as type *kind*. Raises :exc:`pyarrow.ArrowException` if a value does not fit."""
    if column.type == kind:
        return column
    if column.type == JSON and kind == pa.string():
        return column.storage
    if column.type == JSON:
        return column_of([None if text is None else json.loads(text) for text in column.to_pylist()], kind)
    if kind == JSON or (kind == pa.string() and pa.types.is_nested(column.type)):
        column = _json_column(column.to_pylist())
        return column if kind == JSON else column.storage
    if kind == pa.string() and pa.types.is_timestamp(column.type):
        return pa.array([None if one is None else one.isoformat() for one in column.to_pylist()], kind)
    return column.cast(kind)


def _common(types: set[pa.DataType]) -> pa.DataType:
    """Return a type that holds the values of all *types* of an added column."""
    types = {kind for kind in types if not pa.types.is_null(kind)} or {pa.null()}
    if len(types) > 1 and types <= {pa.int64(), pa.float64()}:
        return pa.float64()
    return types.pop() if len(types) == 1 else JSON


def added_column(values: Sequence[Any]) -> pa.Array:
    """Return *values* of a field that a pipeline added as a column: of one plain type, lists of it, or JSON."""
    try:
        column = pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return _json_column(values)
    if pa.types.is_timestamp(column.type) and column.type.tz:
        return column.cast(_PLAIN[datetime])
    kind = column.type.value_type if pa.types.is_list(column.type) else column.type
    return column if kind in _ADDED else _json_column(values)


def _json_column(values: Sequence[Any]) -> pa.Array:
    texts = pa.array([None if value is None else _json_text(value) for value in values], pa.string())
    return pa.ExtensionArray.from_storage(JSON, texts)


def _json_text(value: Any) -> str:
    """Return *value* as JSON; what has no JSON type as text."""
    try:
        text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, default=_json_default)
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(_plain(value), default=_json_default)
    except (TypeError, ValueError, RecursionError):  # it contains itself, NaN, or keys of another type
        return json.dumps(str(value))
    return text


def _json_default(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, (date, time)):  # and instants
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")  # nothing is lost: \xff
    if isinstance(value, (Mapping, ItemRecord)):
        return dict(value.items())
    return _plain(value) if dataclasses.is_dataclass(value) else str(value)


class UrlBatch(Batch[UrlEntry]):
    """Up to 10,000 :class:`UrlEntry` rows as columns."""

    row_type = UrlEntry


class ReferenceBatch(Batch[SitemapRef]):
    """References to documents as columns."""

    row_type = SitemapRef


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


def column_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return *values* as a column of type *kind*.

    Raises an exception of Arrow, :exc:`TypeError`, :exc:`ValueError` or :exc:`OverflowError` if one does not fit.
    """
    return pa.array(plain_values(values, kind), kind)


def plain_values(values: Sequence[Any], kind: pa.DataType) -> Sequence[Any]:
    """Return *values* of a column of type *kind* with dataclasses as dictionaries."""
    return list(map(_writer(kind), values)) if pa.types.is_nested(kind) else values


def _writer(kind: pa.DataType) -> Callable[[Any], Any]:
    """Return a function that returns a value with dataclasses as dictionaries, as Arrow requires for type *kind*.

    It raises :exc:`ValueError` if a dictionary has a key that *kind* has no place for, which Arrow would ignore.
    """
    if pa.types.is_list(kind):
        write_one = _writer(kind.value_type)
        return lambda value: list(map(write_one, value)) if isinstance(value, (list, tuple)) else value
    if pa.types.is_timestamp(kind):  # inside a record; as text if it was a dictionary of JSON values
        return lambda value: datetime.fromisoformat(value) if isinstance(value, str) else value
    if not pa.types.is_struct(kind):
        return lambda value: value
    parts = {field.name: _writer(field.type) for field in kind}

    def write(value: Any) -> Any:
        if isinstance(value, dict):
            if unknown := value.keys() - parts.keys():
                raise ValueError(f"there is no place for {', '.join(map(str, unknown))}")
            return {name: parts[name](one) for name, one in value.items()}
        if dataclasses.is_dataclass(value):
            return {name: part(getattr(value, name)) for name, part in parts.items()}
        return value

    return write


def _plain(value: Any) -> Any:
    """Return *value* with dataclasses as dictionaries."""
    if isinstance(value, (list, tuple)):
        return list(map(_plain, value))
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
        read = {name: inner(values[name]) for name, inner in nested.items() if values[name] is not None}
        if not issubclass(record, ItemRecord):
            return record(**(values | read))
        values.update(read)
        return record.of_values(values)

    return make
