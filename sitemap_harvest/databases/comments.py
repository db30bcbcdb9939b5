"""Comments on tables and columns: the docstrings of the fields of records, which only their source has."""

from __future__ import annotations

import ast
import inspect
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from sitemap_harvest.databases.database import COMMENT

if TYPE_CHECKING:
    from collections.abc import Mapping

_MARKUP = re.compile(r":\w+:`~?(?:[^`]*\.)?([^`.]+)`|``(.+?)``", re.DOTALL)


def commented(schema: pa.Schema, table: str, record: type, columns: Mapping[str, str]) -> pa.Schema:
    """Return *schema* with the comment *table*, and comments of its columns.

    These are the docstrings of the fields of *record*, and those in *columns*, which take precedence.
    """
    found = {**field_docstrings(record), **columns}
    fields = [field.with_metadata({COMMENT: found[field.name]}) if field.name in found else field for field in schema]
    return pa.schema(fields, {COMMENT: table})


def field_docstrings(record: type) -> dict[str, str]:
    """Return the docstrings of the fields of *record*, in one line each; none if its source is not installed."""
    try:
        (definition,) = ast.parse(inspect.getsource(record)).body
    except (OSError, SyntaxError):
        return {}
    assert isinstance(definition, ast.ClassDef)  # noqa: S101 - for mypy
    return {
        field.target.id: _plain(text.value.value)
        for field, text in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


def _plain(docstring: str) -> str:
    text = _MARKUP.sub(lambda found: found[1] or found[2], " ".join(docstring.split()))
    return re.sub(r"\bNone\b", "null", text)
