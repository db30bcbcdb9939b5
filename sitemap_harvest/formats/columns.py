"""Converts the texts of a batch of entries to typed columns: dates, priorities, trimmed strings."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.dates import read_date
from sitemap_harvest.urls import WHITESPACE

INSTANT = pa.timestamp("us", tz="UTC")

_UNIFORM_DATES = (  # the output of almost all generators; each is parsed by one cast of the column
    (r"^[12]\d{3}-\d\d-\d\d$", "day", None),  # other years could exceed Python's range
    (r"^[12]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)$", "second", True),
    (r"^[12]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}(?:Z|[+-]\d\d:\d\d)$", "fraction", True),
)


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
    rows = len(texts)
    instant, precision, zoned = pa.nulls(rows, INSTANT), pa.nulls(rows, pa.string()), pa.nulls(rows, pa.bool_())
    is_w3c = zoned
    unread = texts.is_valid()
    for pattern, word, zone in _UNIFORM_DATES:
        if not unread.true_count:
            break
        mask = pc.and_(unread, pc.fill_null(pc.match_substring_regex(texts, pattern), fill_value=False))
        if not mask.true_count:
            continue
        try:
            values = texts.filter(mask)  # a date is cast by itself: a cast to an instant requires a time
            values = (values.cast(pa.date32()).cast(pa.timestamp("us")) if word == "day" else values).cast(INSTANT)
        except pa.ArrowInvalid:
            continue  # there is an invalid date such as February 30: parsed one by one below
        if mask.true_count == rows:
            zoned = pa.repeat(pa.scalar(zone, pa.bool_()), rows)
            return DateColumns(values, pa.repeat(word, rows), zoned, pa.repeat(pa.scalar(True), rows))  # noqa: FBT003 - a value of the column
        instant = pc.replace_with_mask(instant, mask, values)
        precision = pc.if_else(mask, word, precision)
        zoned = pc.if_else(mask, pa.scalar(zone, pa.bool_()), zoned)
        is_w3c = pc.or_kleene(mask, is_w3c)
        unread = pc.and_not(unread, mask)
    read = DateColumns(instant, precision, zoned, is_w3c)
    return _one_by_one(texts, unread, read) if unread.true_count else read


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
