r"""Converts columns to the text of JSON, CSV, TSV and XML files. Knows neither files nor Scrapy.

JSON is byte for byte as Python's ``json`` writes the same rows, but has ``null`` for NaN
and infinity. In CSV and TSV, lists and structures are JSON in their cell. An absent value
is an empty cell in CSV, and ``\N`` in TSV. In XML, each row is an element with one child
per field, and an absent value has no element. A column of Arrow's type JSON holds values
as JSON already.

Specs: https://www.rfc-editor.org/rfc/rfc4180 (CSV),
https://www.postgresql.org/docs/current/sql-copy.html (TSV: its text format)
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_EMPTY = pa.scalar("", pa.string())  # a scalar without a type takes 50 microseconds to infer it
TSV_NULL = r"\N"
"""An absent value in TSV."""
_ESCAPED_IN_JSON = r'["\\\x00-\x1f]'
_ESCAPED_IN_ASCII = r'["\\\x00-\x1f]|[^\x00-\x7e]'
_FORBIDDEN_IN_XML = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
_NOT_IN_NAMES = re.compile(
    "[^A-Za-z_0-9.\u00b7\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff-]|^[-0-9.\u00b7\u0300-\u036f]|^$"
)
_LINE_END = "\r\n"  # of CSV
_ESCAPED_IN_TSV = {"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"}  # the backslash first
_TSV_ESCAPES = {ord(character): escape for character, escape in _ESCAPED_IN_TSV.items()}


def json_objects(
    columns: Mapping[str, pa.Array], rows: int, *, ascii_only: bool = False, end: str = ""
) -> pa.StringArray:
    """Return one JSON object per row, with the names and values of *columns*, followed by *end*; nulls are ``null``."""
    parts: list[pa.Array | str] = ["{"]
    written: list[tuple[pa.Array, list[pa.Array | str]]] = []
    for number, (name, column) in enumerate(columns.items()):
        parts.append(f"{', ' if number else ''}{json.dumps(name)}: ")
        value = next((value for other, value in written if _is_same(other, column)), None)
        if value is None:
            value = _json_column(column, rows, ascii_only=ascii_only)
            written.append((column, value))
        parts += value
    return _concat([*parts, "}" + end], rows)


def _is_same(one: pa.Array, other: pa.Array) -> bool:
    """Whether two columns share the same memory, as loc and key of canonical URLs do."""
    return one.type == other.type and one.offset == other.offset and _addresses(one) == _addresses(other)


def _addresses(column: pa.Array) -> list[int | None]:
    return [None if buffer is None else buffer.address for buffer in column.buffers()]


def _json_column(column: pa.Array, rows: int, *, ascii_only: bool) -> list[pa.Array | str]:
    """Return the parts of the values of *column* as JSON; a single string if all rows have the same value."""
    if column.null_count == rows:
        return ["null"]
    if _has_one_value(column):
        return [str(json_values(column.slice(0, 1), ascii_only=ascii_only)[0].as_py())]
    return _json_parts(column, ascii_only=ascii_only)


def _has_one_value(column: pa.Array) -> bool:
    if column.null_count or pa.types.is_nested(column.type) or _is_json(column) or column[0] != column[-1]:
        return False
    return bool(pc.all(pc.equal(column, column[0])).as_py())


def json_values(array: pa.Array, *, ascii_only: bool = False) -> pa.StringArray:
    """Return each value of *array* as JSON."""
    return _concat(_json_parts(array, ascii_only=ascii_only), len(array))


def _json_parts(array: pa.Array, *, ascii_only: bool) -> list[pa.Array | str]:
    """Return the parts of each value of *array* as JSON, without nulls: joining them once takes less time."""
    if not _is_json(array) and (pa.types.is_string(array.type) or pa.types.is_temporal(array.type)):
        text = _escaped_in_json(array, ascii_only=ascii_only) if pa.types.is_string(array.type) else text_of(array)
        if not array.null_count:
            return ['"', text, '"']
        text = _concat(['"', text, '"'], len(array))
    elif _is_json(array):
        text = _replaced(array.storage, "[^\x00-\x7f]", _ascii) if ascii_only else array.storage
    elif pa.types.is_list(array.type):
        joined = _joined_values(array, json_values(array.flatten(), ascii_only=ascii_only), ", ")
        if not array.null_count:
            return ["[", joined, "]"]
        text = pc.if_else(array.is_valid(), _concat(["[", joined, "]"], len(array)), None)
    elif pa.types.is_map(array.type):
        text = _json_maps(array, ascii_only=ascii_only)
    elif pa.types.is_struct(array.type):
        fields = {field.name: array.field(index) for index, field in enumerate(array.type)}
        text = json_objects(fields, len(array), ascii_only=ascii_only)
        text = pc.if_else(array.is_valid(), text, None) if array.null_count else text
    else:
        text = text_of(array)
        if pa.types.is_floating(array.type):
            text = pc.if_else(pc.is_finite(array), text, None)
    return [pc.fill_null(text, "null") if text.null_count else text]


def _escaped_in_json(texts: pa.StringArray, *, ascii_only: bool) -> pa.StringArray:
    if not _needs_escape(texts, ascii_only=ascii_only):
        return texts
    pattern = _ESCAPED_IN_ASCII if ascii_only else _ESCAPED_IN_JSON
    return _replaced(texts, pattern, lambda text: json.dumps(text, ensure_ascii=ascii_only)[1:-1])


def _is_json(array: pa.Array) -> bool:
    return isinstance(array.type, pa.JsonType)


def _ascii(text: str) -> str:
    return json.dumps(json.loads(text))


def _plain_texts(array: pa.Array) -> pa.StringArray:
    """Return JSON values as they are shown in a cell: texts without quotes and escapes."""
    return _replaced(array.storage, '^"', lambda text: str(json.loads(text)).encode(errors="replace").decode())


def _json_maps(array: pa.MapArray, *, ascii_only: bool) -> pa.StringArray:
    """Return each map of texts as an object."""
    lists, pairs = _lists_of_pairs(array)
    names, values = (json_values(part, ascii_only=ascii_only) for part in pairs)
    joined = _joined_values(lists, _concat([names, ": ", values], len(values)), ", ")
    return pc.if_else(array.is_valid(), _concat(["{", joined, "}"], len(array)), None)


def csv_header(names: Iterable[str], *, delimiter: str = ",") -> str:
    """Return the header line."""
    special = set(f'"\r\n{delimiter}')
    return delimiter.join(_quoted(name) if not name or special & set(name) else name for name in names) + _LINE_END


def csv_lines(columns: Mapping[str, pa.Array], rows: int, *, delimiter: str = ",") -> pa.StringArray:
    """Return one line per row, with its line end."""
    parts: list[pa.Array | str] = []
    for number, column in enumerate(columns.values()):
        parts.append(delimiter if number else "")
        parts.append("" if column.null_count == rows else _cells(column, delimiter))
    return _concat([*parts, _LINE_END], rows)


def _cells(array: pa.Array, delimiter: str) -> pa.StringArray:
    if _is_json(array):
        text = _plain_texts(array)
    elif pa.types.is_nested(array.type):
        text = pc.if_else(array.is_valid(), json_values(array), None)
    elif pa.types.is_string(array.type):
        text = array
    else:
        return pc.fill_null(text_of(array), "")
    if _has_byte(text, f'"\r\n{delimiter}') or pc.any(pc.equal(pc.binary_length(text), 0)).as_py():
        special = '["\r\n' + ("\\" if delimiter in r"\]^-" else "") + delimiter + "]|^$"
        is_special = pc.fill_null(pc.match_substring_regex(text, special), fill_value=False)
        some = pc.replace_substring(text.filter(is_special), '"', '""')
        text = pc.replace_with_mask(text, is_special, _concat(['"', some, '"'], len(some)))
    return pc.fill_null(text, "") if text.null_count else text


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def tsv_header(names: Iterable[str]) -> str:
    """Return the header line of a TSV file."""
    return "\t".join(map(tsv_escaped, names)) + "\n"


def tsv_escaped(text: str) -> str:
    r"""Return *text* with ``\t``, ``\n``, ``\r`` and ``\\`` for the characters that have a meaning in TSV."""
    return text.translate(_TSV_ESCAPES)


def tsv_lines(columns: Mapping[str, pa.Array], rows: int) -> pa.StringArray:
    """Return one line per row, with its line end."""
    parts: list[pa.Array | str] = []
    for number, column in enumerate(columns.values()):
        parts.append("\t" if number else "")
        parts.append(TSV_NULL if column.null_count == rows else pc.fill_null(_tsv_cells(column), TSV_NULL))
    return _concat([*parts, "\n"], rows)


def _tsv_cells(array: pa.Array) -> pa.StringArray:
    if _is_json(array):
        array = _plain_texts(array)
    if pa.types.is_nested(array.type):
        array = pc.if_else(array.is_valid(), json_values(array), None)
    elif not pa.types.is_string(array.type):
        return text_of(array)
    for character, escape in _ESCAPED_IN_TSV.items():
        array = pc.replace_substring(array, character, escape)
    return array


def without_forbidden(text: str) -> str:
    """Return *text* with U+FFFD for each character that XML cannot contain."""
    return re.sub(_FORBIDDEN_IN_XML, "\ufffd", text)


def xml_elements(
    columns: Mapping[str, pa.Array],
    rows: int,
    *,
    name: str,
    end: str = "",
    mend: Callable[[str], str] = without_forbidden,
) -> pa.StringArray:
    """Return one element *name* per row, followed by *end*.

    *mend* replaces the characters in a text that XML cannot contain.
    """
    children = [
        _elements(column, _NOT_IN_NAMES.sub(_escape_in_name, field), mend)
        for field, column in columns.items()
        if column.null_count < rows
    ]
    return _concat([f"<{name}>", *children, f"</{name}>{end}"], rows)


def _escape_in_name(character: re.Match[str]) -> str:
    """Return a character that names of elements cannot contain as SQL/XML writes it, such as ``_x0020_``."""
    return f"_x{ord(character[0]):04X}_" if character[0] else "_"


def _elements(array: pa.Array, name: str, mend: Callable[[str], str]) -> pa.StringArray:
    """Return each value of *array* as an element, and an empty text for a null."""
    if _is_json(array):
        array = _plain_texts(array)
    if pa.types.is_list(array.type):
        text = _joined_values(array, _elements(array.flatten(), "value", mend), "")
    elif pa.types.is_map(array.type):
        text = _xml_maps(array, mend)
    elif pa.types.is_struct(array.type):
        fields = [_elements(array.field(index), field.name, mend) for index, field in enumerate(array.type)]
        text = _concat(fields, len(array)) if fields else pa.repeat("", len(array))
    else:
        text = _escaped(array, mend) if pa.types.is_string(array.type) else text_of(array)
    element = _concat([f"<{name}>", pc.fill_null(text, ""), f"</{name}>"], len(array))
    return pc.if_else(array.is_valid(), element, "")


def _xml_maps(array: pa.MapArray, mend: Callable[[str], str]) -> pa.StringArray:
    """Return each map of texts as elements, whose names are field names and so valid in XML."""
    lists, (names, values) = _lists_of_pairs(array)
    element = _concat(["<", names, ">", _escaped(values, mend), "</", names, ">"], len(values))
    return _joined_values(lists, pc.fill_null(element, ""), "")


def _escaped(texts: pa.StringArray, mend: Callable[[str], str]) -> pa.StringArray:
    """Return *texts* as character data; carriage returns are escaped, as they would be read back as line feeds."""
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        texts = pc.replace_substring(texts, character, entity)
    return _replaced(texts, _FORBIDDEN_IN_XML, mend)


def _concat(parts: Iterable[pa.Array | str], rows: int) -> pa.StringArray:
    """Return the concatenation of *parts* for each of *rows*; strings are repeated; null if a part is null."""
    merged: list[pa.Array | str] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        else:
            merged.append(part)
    if all(isinstance(part, str) for part in merged):
        return pa.repeat(pa.scalar("".join(merged), pa.string()), rows)
    texts = (pa.scalar(part, pa.string()) if isinstance(part, str) else part for part in merged)
    return pc.binary_join_element_wise(*texts, _EMPTY)


def _joined_values(lists: pa.ListArray, values: pa.StringArray, separator: str) -> pa.StringArray:
    """Return for each of *lists* the *values* of its items, joined; an empty text for a null."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    return pc.binary_join(pa.ListArray.from_arrays(offsets, values), separator)


def _lists_of_pairs(array: pa.MapArray) -> tuple[pa.ListArray, list[pa.Array]]:
    """Return maps as lists of structures, with the names and the values of all of them."""
    kind = array.type
    pair = pa.struct([pa.field("key", kind.key_type, nullable=False), pa.field("value", kind.item_type)])
    lists = array.cast(pa.list_(pair))
    return lists, lists.flatten().flatten()


def text_of(array: pa.Array) -> pa.StringArray:
    """Return numbers, booleans and instants as text, in the form of Python and JSON.

    An instant has microseconds only if they are not zero.
    """
    if pa.types.is_floating(array.type):  # Arrow writes 0.00001 for 1e-05. A column has few distinct numbers.
        encoded = array.dictionary_encode()
        return pa.array(map(repr, encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)
    if not pa.types.is_timestamp(array.type):
        return array.cast(pa.string())
    naive = array.cast(pa.timestamp("us"))
    try:
        text = naive.cast(pa.timestamp("s")).cast(pa.string())
    except pa.ArrowInvalid:  # some have a fraction, which this cast would drop
        seconds = pc.floor_temporal(naive, unit="second")
        whole = seconds.cast(pa.timestamp("s")).cast(pa.string())
        text = pc.if_else(pc.equal(naive, seconds), whole, naive.cast(pa.string()))
    return _concat([pc.replace_substring(text, " ", "T"), "+00:00"], len(array))


def _replaced(texts: pa.StringArray, pattern: str, replace: Callable[[str], str]) -> pa.StringArray:
    """Return *texts*, with *replace* applied to those that match *pattern* (RE2)."""
    mask = pc.fill_null(pc.match_substring_regex(texts, pattern), fill_value=False)
    if not mask.true_count:
        return texts
    values = [replace(text) for text in texts.filter(mask).to_pylist()]
    return pc.replace_with_mask(texts, mask, pa.array(values, pa.string()))


def _needs_escape(texts: pa.StringArray, *, ascii_only: bool) -> bool:
    """Whether JSON escapes any byte of *texts*: these passes cost a tenth of a regular expression on the column."""
    codes = np.frombuffer(utf8_bytes(texts), np.uint8)
    space, tilde = b" ~"
    if len(codes) and (codes.min() < space or (ascii_only and codes.max() > tilde)):
        return True
    return _has_byte(texts, '"\\')


def _has_byte(texts: pa.StringArray, characters: str) -> bool:
    """Whether *texts* have one of *characters* (ASCII)."""
    codes = np.frombuffer(utf8_bytes(texts), np.uint8)
    return any((codes == code).any() for code in characters.encode())


def utf8_bytes(texts: pa.StringArray) -> memoryview:
    """Return the concatenated bytes of *texts*, without copying."""
    _, offsets, data = texts.buffers()
    if data is None:
        return memoryview(b"")
    bounds = pa.Array.from_buffers(pa.int32(), len(texts) + 1, [None, offsets], offset=texts.offset)
    return memoryview(data)[bounds[0].as_py() : bounds[len(texts)].as_py()]
