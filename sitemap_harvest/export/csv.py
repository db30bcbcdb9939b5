"""Columns to CSV. Lists and structures are JSON in their cell; an absent value is an empty cell.

Spec: https://www.rfc-editor.org/rfc/rfc4180
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.export.json import json_values
from sitemap_harvest.export.text_columns import concat, replaced, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LINE_END = "\r\n"


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
    return concat([*parts, _LINE_END], rows)


def _cells(array: pa.Array, delimiter: str) -> pa.StringArray:
    if pa.types.is_nested(array.type):
        text = pc.if_else(array.is_valid(), json_values(array), None)
    elif pa.types.is_string(array.type):
        text = array
    else:
        return pc.fill_null(text_of(array), "")
    special = '["\r\n' + ("\\" if delimiter in r"\]^-" else "") + delimiter + "]|^$"
    return pc.fill_null(replaced(text, special, _quoted), "")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
