"""``TemporaryFile``: a temporary file of record batches, for data that does not fit in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import ipc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class TemporaryFile:
    """A file of record batches with one schema, written once and read any number of times."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        """Create the file at *path*."""
        self.rows = 0
        self._path = path
        self._schema = schema
        self._file = pa.OSFile(str(path), "wb")
        self._writer = ipc.new_stream(self._file, schema, options=ipc.IpcWriteOptions(compression="lz4"))

    def add(self, batch: pa.RecordBatch) -> None:
        """Write *batch*."""
        self._writer.write_batch(batch)
        self.rows += batch.num_rows

    def close(self) -> None:
        """Close the file for writing."""
        self._writer.close()
        self._file.close()

    def remove(self) -> None:
        """Delete the file, which must be closed."""
        self._path.unlink()

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the written batches, even if the file is not closed yet: all columns, or *columns*."""
        chosen = None if columns is None else [self._schema.get_field_index(name) for name in columns]
        with pa.OSFile(str(self._path)) as file:
            yield from ipc.open_stream(file, options=ipc.IpcReadOptions(included_fields=chosen))

    def numbered(self, columns: list[str]) -> pa.RecordBatchReader:
        """Return ``change``, the number of each row from 0, and *columns*."""
        schema = pa.schema([("change", pa.int64()), *(self._schema.field(name) for name in columns)])
        return pa.RecordBatchReader.from_batches(schema, self._numbered(columns, schema))

    def _numbered(self, columns: list[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        start = 0
        for batch in self.batches(columns):
            number = pa.array(np.arange(start, start + batch.num_rows))
            start += batch.num_rows
            yield pa.RecordBatch.from_arrays([number, *(batch[name] for name in columns)], schema=schema)
