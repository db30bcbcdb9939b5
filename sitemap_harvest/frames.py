"""Arrow tables in the form of other libraries: pandas and polars, which are optional, and DuckDB."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sitemap_harvest.errors import MissingPackageError

if TYPE_CHECKING:
    import pyarrow as pa


def to_pandas(table: pa.Table) -> Any:
    """Return *table* as a pandas data frame. Raises :exc:`MissingPackageError` without pandas."""
    _needed("pandas")
    return table.to_pandas()


def to_polars(table: pa.Table) -> Any:
    """Return *table* as a polars data frame. Raises :exc:`MissingPackageError` without polars."""
    return _needed("polars").from_arrow(table)


def relation(table: pa.Table) -> Any:
    """Return *table* as a DuckDB relation with its own connection."""
    import duckdb  # takes 0.1 seconds, and few need it

    return duckdb.connect().from_arrow(table)


def _needed(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackageError(f"{name} is not installed: pip install {name}") from error
