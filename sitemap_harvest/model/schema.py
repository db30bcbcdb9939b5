"""``arrow_schema``: the Arrow schema of a record, derived from its dataclass."""

from __future__ import annotations

import dataclasses
import types
import typing
from datetime import datetime
from enum import StrEnum
from functools import cache

import pyarrow as pa

SCHEMA_VERSION = 5
"""Incremented whenever a column is added, renamed or changes its type."""

_PLAIN: dict[type, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    datetime: pa.timestamp("us", tz="UTC"),
}


@cache
def arrow_schema(record: type) -> pa.Schema:
    """Return the Arrow schema of the dataclass *record*: one field each, in order.

    ``X | None`` is a nullable field, ``tuple[X, ...]`` a list, ``dict[X, Y]`` a
    map, a dataclass a struct, an instant a timestamp of microseconds in UTC.
    """
    return pa.schema(_fields(record), metadata={"sitemap_harvest.schema": str(SCHEMA_VERSION)})


def _fields(record: type) -> list[pa.Field]:
    hints = typing.get_type_hints(record)
    return [_field(field.name, hints[field.name]) for field in dataclasses.fields(record)]


def _field(name: str, hint: object) -> pa.Field:
    present, nullable = _unwrap_optional(hint)
    return pa.field(name, _type(present), nullable=nullable)


def _unwrap_optional(hint: object) -> tuple[object, bool]:
    if isinstance(hint, types.UnionType):
        present = [part for part in hint.__args__ if part is not type(None)]
        return present[0], len(present) < len(hint.__args__)
    return hint, False


def _type(hint: object) -> pa.DataType:
    if typing.get_origin(hint) is tuple:
        return pa.list_(pa.field("item", _type(typing.get_args(hint)[0]), nullable=False))
    if typing.get_origin(hint) is dict:
        keys, values = typing.get_args(hint)
        return pa.map_(_type(keys), _field("value", values))
    if not isinstance(hint, type):
        raise TypeError(f"no Arrow type for {hint!r}")
    if dataclasses.is_dataclass(hint):
        return pa.struct(_fields(hint))
    if issubclass(hint, StrEnum):
        return pa.string()
    return _PLAIN[hint]
