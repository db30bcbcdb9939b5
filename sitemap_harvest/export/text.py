"""What the text formats have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SECOND = 1_000_000  # microseconds


def concat(parts: Iterable[pa.Array | str], rows: int) -> pa.StringArray:
    """Return the texts of *parts* side by side, a string standing for itself in each of *rows*; null where one is."""
    merged: list[pa.Array | str] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        else:
            merged.append(part)
    if all(isinstance(part, str) for part in merged):
        return pa.repeat("".join(merged), rows)  # type: ignore[arg-type]  # all of them are strings
    return pc.binary_join_element_wise(*merged, "")


def text_of(array: pa.Array) -> pa.StringArray:
    """Return numbers, truth values and instants as text, in the form that Python and JSON give them."""
    if pa.types.is_timestamp(array.type):
        return _iso(array)
    text = array.cast(pa.string())
    if pa.types.is_floating(array.type):
        return pc.replace_substring_regex(text, r"^(-?\d+)$", r"\1.0")
    return text


def _iso(instants: pa.TimestampArray) -> pa.StringArray:
    """Return instants in ISO 8601, with microseconds only where there are some, as Python writes them."""
    naive = instants.cast(pa.timestamp("us"))
    fraction = pc.subtract(naive, pc.floor_temporal(naive, unit="second")).cast(pa.int64())
    seconds = pc.floor_temporal(naive, unit="second").cast(pa.timestamp("s"))
    text = seconds.cast(pa.string())
    if pc.any(pc.greater(fraction, 0)).as_py():
        text = pc.if_else(pc.greater(fraction, 0), naive.cast(pa.string()), text)
    return concat([pc.replace_substring(text, " ", "T"), "+00:00"], len(instants))


def replaced(texts: pa.StringArray, pattern: str, replace: Callable[[str], str]) -> pa.StringArray:
    """Return *texts* with *replace* done to those in which *pattern* (RE2) is found."""
    mask = pc.fill_null(pc.match_substring_regex(texts, pattern), False)
    if not mask.true_count:
        return texts
    values = [replace(text) for text in texts.filter(mask).to_pylist()]
    return pc.replace_with_mask(texts, mask, pa.array(values, pa.string()))


def utf8_bytes(texts: pa.StringArray) -> memoryview:
    """Return all of *texts*, none of which is null, one behind the other, without copying."""
    _, offsets, data = texts.buffers()
    bounds = pa.Array.from_buffers(pa.int32(), len(texts) + 1, [None, offsets], offset=texts.offset)
    return memoryview(data)[bounds[0].as_py() : bounds[len(texts)].as_py()]
