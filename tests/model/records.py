"""Random rows with every field of a row."""

from __future__ import annotations

import dataclasses
import types
import typing
from datetime import UTC, datetime
from enum import StrEnum

from hypothesis import strategies as st

texts = st.text(st.characters(codec="utf-8") | st.sampled_from('"\\\r\n\t,;<>&\x7f\x00\u2028\ufffe é'), max_size=8)
names = st.from_regex("[a-z_]{1,6}", fullmatch=True)
_PLAIN: dict[type, st.SearchStrategy[typing.Any]] = {
    str: texts,
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, 1.0, 0.5, 1e-05, 0.1]),
    bool: st.booleans(),
    datetime: st.datetimes(timezones=st.just(UTC)) | st.just(datetime(2025, 3, 9, tzinfo=UTC)),
}


def records_of(record: type) -> st.SearchStrategy[typing.Any]:
    """Return a strategy of instances of the dataclass *record*, each field of which is sometimes absent."""
    hints = typing.get_type_hints(record)
    return st.builds(record, **{field.name: _values(hints[field.name]) for field in dataclasses.fields(record)})


def _values(hint: typing.Any) -> st.SearchStrategy[typing.Any]:
    if isinstance(hint, types.UnionType):
        return st.none() | st.one_of(*(_values(part) for part in hint.__args__ if part is not types.NoneType))
    if typing.get_origin(hint) is tuple:
        return st.lists(_values(typing.get_args(hint)[0]), max_size=2).map(tuple)
    if typing.get_origin(hint) is dict:
        return st.dictionaries(names, _values(typing.get_args(hint)[1]), max_size=3)
    if dataclasses.is_dataclass(hint):
        return records_of(typing.cast("type", hint))
    if issubclass(hint, StrEnum):
        return st.sampled_from(hint)
    return _PLAIN[hint]
