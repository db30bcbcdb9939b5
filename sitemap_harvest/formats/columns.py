"""Converts the texts of a batch of entries to typed columns: dates, priorities, trimmed strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

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
_DATE_CHARS, _TIME_CHARS, _ZONE_CHARS, _MAX_DECIMALS = len("2025-03-09"), len("2025-03-09T14:30:00"), len("+01:00"), 6
_DATE_DIGITS, _TIME_DIGITS = (0, 1, 2, 3, 5, 6, 8, 9), (11, 12, 14, 15, 17, 18)  # columns
_ZERO, _DASH, _T, _COLON, _POINT, _PLUS, _UTC = b"0-T:.+Z"
_FIRST_YEAR, _LAST_YEAR = 1000, 2999  # others could exceed the range of Python
_MONTHS = np.arange(f"{_FIRST_YEAR}-01", f"{_LAST_YEAR + 1}-02", dtype="M8[M]").astype("M8[D]").astype(np.int64)
_MONTH_DAYS = np.diff(_MONTHS)
_MAX_LENGTHS = 8  # of the texts of a column: generators write one or two
_MICROSECONDS = 1_000_000
_MICROSECONDS_PER_MINUTE, _MICROSECONDS_PER_DAY = 60 * _MICROSECONDS, 86_400 * _MICROSECONDS


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
    lengths = pc.fill_null(pc.binary_length(texts), 0).to_numpy()
    used = np.flatnonzero(np.bincount(lengths))
    if len(used) > _MAX_LENGTHS:
        return micros, precisions
    for length in used[used >= _DATE_CHARS].tolist():
        rows = slice(None) if len(used) == 1 else np.flatnonzero(lengths == length)
        read = _dates_of_length(_characters(texts, rows, length))
        micros[rows], precisions[rows] = read.micros, np.where(read.is_valid, read.precision, _NOT_READ)
    return micros, precisions


def _characters(texts: pa.StringArray, rows: Any, length: int) -> npt.NDArray[np.uint8]:
    """Return the bytes of those *texts* that have *length* bytes: a row for each of *rows*."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts)]
    data = texts.buffers()[2]
    view = np.ndarray((data.size - length + 1,), f"V{length}", data, 0, (1,))
    return np.asarray(view[offsets[rows]].view(np.uint8).reshape(-1, length))


class _Read(NamedTuple):
    """The instants of texts of one form."""

    is_valid: npt.NDArray[np.bool_]
    micros: npt.NDArray[np.int64]
    precision: int


def _dates_of_length(texts: npt.NDArray[np.uint8]) -> _Read:
    """Read *texts* of one length, a row of bytes each."""
    digits = texts - _ZERO  # those of other characters are more than 9
    is_valid = (texts[:, (4, 7)] == _DASH).all(axis=1) & (digits[:, _DATE_DIGITS] < 10).all(axis=1)
    year, month, day = _pair(digits, 0) * 100 + _pair(digits, 2), _pair(digits, 5), _pair(digits, 8)
    is_valid &= (year >= _FIRST_YEAR) & (year <= _LAST_YEAR) & (month >= 1) & (month <= 12)
    number = np.where(is_valid, (year - _FIRST_YEAR) * 12 + month - 1, 0)
    is_valid &= (day >= 1) & (day <= _MONTH_DAYS[number])
    days = _MONTHS[number] + day - 1
    if texts.shape[1] == _DATE_CHARS:
        return _Read(is_valid, days * _MICROSECONDS_PER_DAY, _DAY)
    return _with_time(texts, digits, is_valid, days * _MICROSECONDS_PER_DAY)


def _with_time(
    texts: npt.NDArray[np.uint8],
    digits: npt.NDArray[np.uint8],
    is_valid: npt.NDArray[np.bool_],
    micros: npt.NDArray[np.int64],
) -> _Read:
    """Return *micros*, the instants of the days of *texts*, with their times; all need to have the same form."""
    is_utc = bool(texts[0, -1] == _UTC)
    zone = texts.shape[1] - (1 if is_utc else _ZONE_CHARS)
    decimals = zone - _TIME_CHARS - 1
    if decimals not in {-1, *range(1, _MAX_DECIMALS + 1)}:
        return _Read(np.zeros(len(texts), np.bool_), micros, _SECOND)
    columns = [*_TIME_DIGITS, *range(_TIME_CHARS + 1, zone)]
    is_valid &= (texts[:, 10] == _T) & (texts[:, (13, 16)] == _COLON).all(axis=1)
    hour, minute, second = _pair(digits, 11), _pair(digits, 14), _pair(digits, 17)
    if is_utc:
        is_valid &= texts[:, zone] == _UTC
    else:
        columns += [zone + 1, zone + 2, zone + 4, zone + 5]
        is_west, hours, minutes = texts[:, zone] == _DASH, _pair(digits, zone + 1), _pair(digits, zone + 4)
        is_valid &= (is_west | (texts[:, zone] == _PLUS)) & (texts[:, zone + 3] == _COLON)
        is_valid &= (hours < 24) & (minutes < 60)
        micros = micros - np.where(is_west, -1, 1) * (hours * 60 + minutes) * _MICROSECONDS_PER_MINUTE
    is_valid &= (digits[:, columns] < 10).all(axis=1) & (hour < 24) & (minute < 60) & (second < 60)
    micros = micros + ((hour * 60 + minute) * 60 + second) * _MICROSECONDS
    for place, column in enumerate(range(_TIME_CHARS + 1, zone), start=1):
        micros += digits[:, column].astype(np.int64) * 10 ** (_MAX_DECIMALS - place)
    if decimals > 0:
        is_valid &= texts[:, _TIME_CHARS] == _POINT
    return _Read(is_valid, micros, _FRACTION if decimals > 0 else _SECOND)


def _pair(digits: npt.NDArray[np.uint8], column: int) -> npt.NDArray[np.int64]:
    """Return the number of two digits that begins in *column*."""
    return digits[:, column].astype(np.int64) * 10 + digits[:, column + 1]


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
