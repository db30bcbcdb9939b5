"""Types of items in pipelines: records for ``itemadapter``, and records as plain dictionaries and back."""

from __future__ import annotations

import json
from collections import deque
from contextlib import suppress
from dataclasses import fields
from datetime import datetime
from functools import cache
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from itemadapter import ItemAdapter
from itemadapter.adapter import DataclassAdapter

from sitemap_harvest.export import json_objects
from sitemap_harvest.model import Batch, ItemRecord
from sitemap_harvest.model.plain_columns import for_text

if TYPE_CHECKING:
    from collections.abc import Iterator, KeysView, Sequence


class RecordAdapter(DataclassAdapter):
    """Lets ``ItemAdapter`` add fields to the package's records, and delete them, as those of a dictionary."""

    def __init__(self, item: ItemRecord) -> None:
        self.item = item

    @classmethod
    def is_item(cls, item: Any) -> bool:
        """Whether *item* is a record of the package."""
        return isinstance(item, ItemRecord)

    @classmethod
    def is_item_class(cls, item_class: type) -> bool:
        """Whether *item_class* is that of a record of the package."""
        return issubclass(item_class, ItemRecord)

    def get_field_meta(self, field_name: str) -> MappingProxyType[Any, Any]:
        """Return the metadata of a field; an added one has none."""
        known = type(self.item).__dataclass_fields__
        return known[field_name].metadata if field_name in known else MappingProxyType({})

    def field_names(self) -> KeysView[str]:
        """Return the names of the fields that the item has."""
        return self.item.keys()  # type: ignore[no-any-return]

    def __getitem__(self, field_name: str) -> Any:
        return self.item[field_name]

    def __setitem__(self, field_name: str, value: Any) -> None:
        self.item[field_name] = value

    def __delitem__(self, field_name: str) -> None:
        del self.item[field_name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.item.keys())

    def __len__(self) -> int:
        return len(self.item)


ItemAdapter.ADAPTER_CLASSES = deque([RecordAdapter, *ItemAdapter.ADAPTER_CLASSES])


class RowList:
    """Items that were rows of a batch, after a pipeline replaced them."""

    def __init__(self, items: list[Any]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def rows(self) -> Iterator[Any]:
        """Yield the items one by one."""
        return iter(self._items)


def json_dicts(batch: Batch[Any]) -> Iterator[dict[str, Any]]:
    """Yield each row of *batch* as a dictionary of JSON values, the same as in a JSON Lines file."""
    names = batch.arrow.schema.names
    columns = {name: for_text(batch[name]) for name in names}  # a pipeline may have added some of any type
    yield from map(json.loads, json_objects(columns, len(batch)).to_pylist())


def gathered(kind: type[Batch[Any]], rows: Sequence[Any]) -> list[Batch[Any] | RowList]:
    """Return *rows*, which pipelines returned for rows of *kind*, as batches of it, and the others in their order.

    A dictionary that has all fields of a row is one.
    """
    made: list[Batch[Any] | RowList] = []
    read = [_record(kind, row) for row in rows]
    if all(row is not None for row in read):
        with suppress(pa.ArrowException, TypeError, ValueError, AttributeError):
            return [kind.of(read)]
    if len(rows) == 1:  # a record whose value has another type stays one
        return [RowList([rows[0] if read[0] is None else read[0]])]
    for are_records, group in groupby(zip(rows, read, strict=True), key=lambda pair: pair[1] is not None):
        some = [row for row, _ in group]
        if not are_records:
            made.append(RowList(some))
        else:
            middle = (len(some) + 1) // 2
            for part in (some[:middle], some[middle:]):
                made += gathered(kind, part) if part else ()
    return made


def _record(kind: type[Batch[Any]], row: Any) -> ItemRecord | None:
    """Return *row* as a record of *kind*; ``None`` if it is none."""
    if isinstance(row, ItemRecord):
        return row if type(row) is kind.row_type else None
    names, instants = _field_names(kind.row_type)
    if not isinstance(row, dict) or not row.keys() >= names or not all(isinstance(name, str) for name in row):
        return None
    values = dict(row)
    for name in instants:
        with suppress(ValueError):  # another text
            values[name] = datetime.fromisoformat(row[name]) if isinstance(row[name], str) else row[name]
    return kind.row_type.of_values(values)  # type: ignore[no-any-return,attr-defined]  # a record


@cache
def _field_names(record: type) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the names of the fields of *record*, and of those that are instants."""
    names = [field.name for field in fields(record)]
    schema = next(kind for kind in Batch.__subclasses__() if kind.row_type is record).schema()
    return frozenset(names), tuple(name for name in names if pa.types.is_timestamp(schema.field(name).type))
