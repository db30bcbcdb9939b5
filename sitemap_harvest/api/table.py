"""``ResultTable``: the records of one kind that a run has emitted, as a table on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sitemap_harvest import frames
from sitemap_harvest.api import display
from sitemap_harvest.errors import HarvestError
from sitemap_harvest.model.item import ItemRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from sitemap_harvest.model import Batch

_Row = TypeVar("_Row")


class ResultTable(Generic[_Row]):
    """The records of one kind, in a file that is mapped into memory: only what is used is loaded.

    ``len(table)`` is the number of records, ``table["loc"]`` a column, and iterating yields records. Other libraries
    read the table through the Arrow PyCapsule interface, such as ``polars.DataFrame(table)``.
    """

    def __init__(self, name: str, batch_type: type[Batch[_Row]], read: Callable[[], pa.Table]) -> None:
        """Hold the records of the kind *name*; *read* returns them on first use."""
        self._loaded: pa.Table | None = None  # comes first, so that it goes first: Windows removes no file in use
        self.name = name
        """The kind of the records, such as ``urls``."""
        self._batch_type = batch_type
        self._read = read

    @property
    def _table(self) -> pa.Table:
        if self._loaded is None:
            self._loaded = self._read()
        return self._loaded

    def unload(self) -> None:
        """Forget the records until they are used again."""
        self._loaded = None

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        return self._table.schema

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __getitem__(self, column: str) -> pa.ChunkedArray:
        """Return the column of that name. Raises :exc:`KeyError` if there is none."""
        if not isinstance(column, str):
            raise TypeError(f"columns have names, such as table['{self.schema.names[0]}']; rows() yields the records")
        if column not in self._table.column_names:
            raise KeyError(self._no_column(column))
        return self._table.column(column)

    def __iter__(self) -> Iterator[_Row]:
        return self.rows()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export the table to other libraries, without copying it."""
        return self._table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return display.table_as_text(self.name, self._table)

    def _repr_html_(self) -> str:
        return display.table_as_html(self.name, self._table)

    def rows(self) -> Iterator[_Row]:
        """Yield the records, one by one, with flat memory."""
        for batch in self.batches():
            yield from batch.rows()

    def batches(self) -> Iterator[Batch[_Row]]:
        """Yield the records as columns, up to 10,000 or so at a time, with flat memory."""
        row_type, known = self._batch_type.row_type, self._batch_type.schema()
        names = (
            self._table.column_names if issubclass(row_type, ItemRecord) else known.names
        )  # others cannot add fields
        for batch in self._table.to_batches():
            yield self._batch_type(batch.select(names))

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the records, or *columns* of them, as an Arrow table, which is not loaded into memory."""
        if columns is None:
            return self._table
        if missing := [name for name in columns if name not in self._table.column_names]:
            raise HarvestError(self._no_column(missing[0]))
        return self._table.select(list(columns))

    def _no_column(self, name: str) -> str:
        return f"{self.name} has no column {name!r}: {', '.join(self._table.column_names)}"

    def to_pandas(self, columns: Sequence[str] | None = None) -> Any:
        """Return the records, or *columns* of them, as a pandas data frame.

        Raises :exc:`MissingPackageError` without pandas.
        """
        return frames.to_pandas(self.to_arrow(columns))

    def to_polars(self, columns: Sequence[str] | None = None) -> Any:
        """Return the records, or *columns* of them, as a polars data frame.

        Raises :exc:`MissingPackageError` without polars.
        """
        return frames.to_polars(self.to_arrow(columns))

    def relation(self, columns: Sequence[str] | None = None) -> Any:
        """Return the records, or *columns* of them, as a DuckDB relation with its own connection."""
        return frames.relation(self.to_arrow(columns))
