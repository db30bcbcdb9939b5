"""Rows in the form of other libraries: Arrow and DuckDB, and pandas and polars, which are optional."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sitemap_harvest.errors import HarvestError, MissingPackageError, there_is_no

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa


class ArrowData:
    """Rows that convert to the tables and data frames of other libraries.

    Other libraries read the rows through the Arrow PyCapsule interface, such as ``polars.DataFrame(data)``, and
    DuckDB in SQL, such as ``duckdb.sql("from data")``.
    """

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows, with all columns or with *columns* in that order, as an Arrow table."""
        raise NotImplementedError

    @property
    def arrow(self) -> pa.Table:
        """The rows, with all columns, as an Arrow table."""
        return self.to_arrow()

    def to_pandas(self, columns: Sequence[str] | None = None) -> Any:
        """Return the rows, or *columns* of them, as a pandas data frame.

        Raises :exc:`MissingPackageError`, an :exc:`ImportError`, without pandas.
        """
        _needed("pandas")
        return self.to_arrow(columns).to_pandas()

    def to_polars(self, columns: Sequence[str] | None = None) -> Any:
        """Return the rows, or *columns* of them, as a polars data frame.

        Raises :exc:`MissingPackageError`, an :exc:`ImportError`, without polars.
        """
        return _needed("polars").from_arrow(self.to_arrow(columns))

    def relation(self, columns: Sequence[str] | None = None, *, connection: Any = None) -> Any:
        """Return the rows, or *columns* of them, as a DuckDB relation.

        *connection*: that of the relation; a new one if it is ``None``. Only relations of one connection can be joined.
        """
        if connection is None:
            import duckdb  # takes 0.1 seconds, and few need it

            connection = duckdb.connect()
        return connection.from_arrow(self.to_arrow(columns))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export the rows to other libraries, without copying them."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def chosen(columns: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """Return *columns*, or all *known* ones if it is ``None``. Raises :exc:`HarvestError` if one is not known."""
    names = list(known) if columns is None else [columns] if isinstance(columns, str) else list(columns)
    if unknown := [name for name in names if name not in known]:
        raise HarvestError(no_column(unknown[0], known))
    return names


def no_column(name: str, known: Sequence[str]) -> str:
    """Return a message that no column is called *name*, with the *known* ones."""
    return f"column {name!r}: {there_is_no('column', name, known)}"


def _needed(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackageError(f"{name} is not installed: pip install {name}") from error
