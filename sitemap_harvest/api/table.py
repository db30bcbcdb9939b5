"""``ResultTable``: the records of one kind that a run has emitted, as a table on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from sitemap_harvest import display
from sitemap_harvest.frames import ArrowData, chosen, no_column
from sitemap_harvest.model.item import ItemRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from sitemap_harvest.model import Batch

_Row = TypeVar("_Row")


class ResultTable(ArrowData, Generic[_Row]):
    """The records of one kind, in a file that is mapped into memory: only what is used is loaded.

    ``len(table)`` is the number of records, ``table["loc"]`` a column, and iterating yields records.
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
            raise KeyError(no_column(column, self._table.column_names))
        return self._table.column(column)

    def __iter__(self) -> Iterator[_Row]:
        return self.rows()

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
        return self._table if columns is None else self._table.select(chosen(columns, self._table.column_names))
