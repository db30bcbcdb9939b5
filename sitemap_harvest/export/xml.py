"""Columns to XML: one ``<item>`` per row, one child per field. An absent value has no element."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.export.text_columns import concat, joined_values, lists_of_pairs, replaced, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_FORBIDDEN = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"


def without_forbidden(text: str) -> str:
    """Return *text* with U+FFFD for each character that XML cannot contain."""
    return re.sub(_FORBIDDEN, "\ufffd", text)


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
    children = [_elements(column, field, mend) for field, column in columns.items() if column.null_count < rows]
    return concat([f"<{name}>", *children, f"</{name}>{end}"], rows)


def _elements(array: pa.Array, name: str, mend: Callable[[str], str]) -> pa.StringArray:
    """Return each value of *array* as an element, and an empty text for a null."""
    if pa.types.is_list(array.type):
        text = joined_values(array, _elements(array.flatten(), "value", mend), "")
    elif pa.types.is_map(array.type):
        text = _maps(array, mend)
    elif pa.types.is_struct(array.type):
        fields = [_elements(array.field(index), field.name, mend) for index, field in enumerate(array.type)]
        text = concat(fields, len(array)) if fields else pa.repeat("", len(array))
    else:
        text = _escaped(array, mend) if pa.types.is_string(array.type) else text_of(array)
    element = concat([f"<{name}>", pc.fill_null(text, ""), f"</{name}>"], len(array))
    return pc.if_else(array.is_valid(), element, "")


def _maps(array: pa.MapArray, mend: Callable[[str], str]) -> pa.StringArray:
    """Return each map of texts as elements, whose names are field names and so valid in XML."""
    lists, (names, values) = lists_of_pairs(array)
    element = concat(["<", names, ">", _escaped(values, mend), "</", names, ">"], len(values))
    return joined_values(lists, pc.fill_null(element, ""), "")


def _escaped(texts: pa.StringArray, mend: Callable[[str], str]) -> pa.StringArray:
    """Return *texts* as character data; carriage returns are escaped, as they would be read back as line feeds."""
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        texts = pc.replace_substring(texts, character, entity)
    return replaced(texts, _FORBIDDEN, mend)
