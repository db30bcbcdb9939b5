"""Converts the texts of a batch of entries to typed columns: dates, priorities, trimmed strings."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.dates import read_date
from sitemap_harvest.urls import WHITESPACE

if TYPE_CHECKING:
    import numpy.typing as npt

INSTANT = pa.timestamp("us", tz="UTC")

_PRECISIONS = pa.array(["day", "second", "fraction"])
_DAY, _SECOND, _FRACTION = range(3)  # indexes of these
_NOT_READ = -1
_TRUE = pa.scalar(True, pa.bool_())  # noqa: FBT003 - a value of a column
_DATE_CHARS, _LEAST_TIME_CHARS = len("2025-03-09"), len("2025-03-09T14:30:00Z")
_AT_T, _AT_COLON, _AT_POINT = 10, 16, 19  # columns
_POINT = b"."[0]
_READABLE = (  # what is read of these forms; a day that a month lacks, or may lack, is left
    r"^[12]\d{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))"
    r"(?:T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$"
)
_MAX_LENGTHS = 8  # of the texts of a column: generators write one or two


class DateColumns(NamedTuple):
    """The columns parsed from a column of dates."""

    instant: pa.TimestampArray
    precision: pa.StringArray
    zoned: pa.BooleanArray
    is_w3c: pa.BooleanArray


def trimmed(texts: pa.StringArray) -> pa.StringArray:
    """Return *texts* without surrounding whitespace."""
    return pc.utf8_trim(texts, characters=WHITESPACE)


def dates(texts: pa.StringArray) -> DateColumns:
    """Return the instants of *texts*; null if there is no text, or it cannot be parsed."""
    micros, precisions = _usual_dates(texts)
    rows = len(texts)
    if rows and precisions[0] != _NOT_READ and (precisions == precisions[0]).all():
        instants = pa.TimestampArray.from_buffers(INSTANT, rows, [None, pa.py_buffer(micros)])
        zoned = pa.nulls(rows, pa.bool_()) if precisions[0] == _DAY else pa.repeat(_TRUE, rows)
        return DateColumns(instants, pa.repeat(_PRECISIONS[precisions[0]], rows), zoned, pa.repeat(_TRUE, rows))
    is_read, is_zoned = precisions != _NOT_READ, precisions > _DAY
    is_null = ~is_read
    read = DateColumns(
        pa.array(micros, pa.int64(), mask=is_null).cast(INSTANT),
        _PRECISIONS.take(pa.array(precisions, mask=is_null)),
        pa.array(is_zoned, mask=~is_zoned),
        pa.array(is_read, mask=is_null),
    )
    unread = pc.and_(texts.is_valid(), pa.array(is_null))
    return _one_by_one(texts, unread, read) if unread.true_count else read


def _usual_dates(texts: pa.StringArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int8]]:
    """Return the instants of *texts* in microseconds, and the index of the precision of each; -1 if it was not read.

    Reads what almost all generators write: a day, or a time to the second or with up to
    six decimals, with its zone.
    """
    micros, precisions = np.zeros(len(texts), np.int64), np.full(len(texts), _NOT_READ, np.int8)
    lengths = np.diff(np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1])
    if texts.null_count:
        lengths[texts.is_null().to_numpy(zero_copy_only=False)] = 0
    used = np.flatnonzero(np.bincount(lengths))
    if len(used) > _MAX_LENGTHS:
        return micros, precisions
    for length in used.tolist():
        if length < _LEAST_TIME_CHARS and length != _DATE_CHARS:
            continue
        if len(used) == 1:
            return _dates_of_length(texts, length)
        rows = np.flatnonzero(lengths == length)
        micros[rows], precisions[rows] = _dates_of_length(texts.take(pa.array(rows)), length)
    return micros, precisions


def _dates_of_length(texts: pa.StringArray, length: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int8]]:
    """Return the same of *texts* that have *length* bytes each. Arrow reads them, and several other forms."""
    rows, start = len(texts), int(np.frombuffer(texts.buffers()[1], np.int32)[texts.offset])
    data = bytes(memoryview(texts.buffers()[2])[start : start + rows * length])
    is_usual = not data[::length].strip(b"12")  # other years could exceed the range of Python
    kind, precisions = pa.timestamp("us"), np.full(rows, _DAY, np.int8)
    if length >= _LEAST_TIME_CHARS:
        kind, colons = INSTANT, b":" * rows
        is_usual &= data[_AT_T::length] == b"T" * rows and data[_AT_COLON::length] == colons
        is_usual &= data[length - 1 :: length] == b"Z" * rows or data[length - 3 :: length] == colons
        precisions[:] = np.where(np.frombuffer(data[_AT_POINT::length], np.uint8) == _POINT, _FRACTION, _SECOND)
    if is_usual:
        with suppress(pa.ArrowInvalid):
            return texts.cast(kind).view(pa.int64()).to_numpy(), precisions
    is_readable = pc.match_substring_regex(texts, _READABLE)
    is_read = is_readable.to_numpy(zero_copy_only=False)
    micros = np.zeros(rows, np.int64)
    micros[is_read] = texts.filter(is_readable).cast(kind).view(pa.int64()).to_numpy()
    precisions[~is_read] = _NOT_READ
    return micros, precisions


def _one_by_one(texts: pa.StringArray, mask: pa.BooleanArray, read: DateColumns) -> DateColumns:
    encoded = texts.filter(mask).dictionary_encode()
    found = [read_date(text) for text in encoded.dictionary.to_pylist()]
    columns = (
        pa.array([one and one.value for one in found], INSTANT),
        pa.array([one and one.precision for one in found], pa.string()),
        pa.array([one and one.zoned for one in found], pa.bool_()),
        pa.array([one and one.is_w3c for one in found], pa.bool_()),
    )
    pairs = zip(read, columns, strict=True)
    return DateColumns(*(pc.replace_with_mask(old, mask, new.take(encoded.indices)) for old, new in pairs))


def priorities(texts: pa.StringArray) -> tuple[pa.DoubleArray, pa.StringArray]:
    """Return the priorities in *texts*, and the texts that are not a priority; null for the others."""
    if texts.null_count == len(texts):
        return pa.nulls(len(texts), pa.float64()), texts
    encoded = texts.dictionary_encode()
    values = [read_priority(text) for text in encoded.dictionary.to_pylist()]
    numbers = pa.array(values, pa.float64()).take(encoded.indices)
    if numbers.null_count == texts.null_count:
        return numbers, pa.nulls(len(texts), pa.string())
    unreadable = pc.and_(numbers.is_null(), texts.is_valid())
    return numbers, pc.if_else(unreadable, texts, pa.scalar(None, pa.string()))


def read_priority(text: str) -> float | None:
    """Return *text* as a number from 0 to 1, or ``None``."""
    if not text.isascii() or text.strip("+-.0123456789"):
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0.0 <= number <= 1.0 else None
