"""Temporary files of record batches, for data that does not fit in memory, and an external sort by ``key``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PART_ROWS = 100_000  # some 50 MB while they are sorted and compared
MAX_PARTS = 250  # files that are open at a time
_TOGETHER_ROWS = 200_000
_SAMPLED = 100  # keys sampled for each part, to choose its limit


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


class Sorted:
    """Rows with a column ``key``, added in any order and read in the order of the keys (bytewise).

    They are partitioned by ranges of keys into files, and each file is sorted alone.
    """

    def __init__(self, folder: Path, schema: pa.Schema, expected: int) -> None:
        """Store the rows in files in *folder*; about *expected* rows will be added."""
        self._folder = folder
        self._all = TemporaryFile(folder / "rows.arrow", schema)
        self._parts = min(-(-expected // PART_ROWS), MAX_PARTS)
        self._step = max(1, expected // (self._parts * _SAMPLED))
        self._sample: list[pa.StringArray] = []
        self._schema = schema

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the rows of *batch*."""
        first = -self._all.rows % self._step
        self._sample.append(batch["key"].take(pa.array(np.arange(first, batch.num_rows, self._step))))
        self._all.add(batch)

    def keys(self) -> pa.RecordBatchReader:
        """Return the key of each row, in any order."""
        return pa.RecordBatchReader.from_batches(pa.schema({"key": pa.string()}), self._all.batches(["key"]))

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield *columns* of all rows, by key; rows with one key are in one batch. Can be called once."""
        self._all.close()
        parts = self._parted(columns) if self._parts > 1 else [self._all]
        for part in parts:
            if part.rows:
                batch = pa.concat_batches(list(part.batches(columns)))
                yield batch.take(pc.sort_indices(batch["key"]))
            part.remove()

    def _parted(self, columns: list[str]) -> list[TemporaryFile]:
        """Partition the rows by ranges of keys into files."""
        limits = self._limits()
        schema = pa.schema([field for field in self._schema if field.name in columns])
        parts = [TemporaryFile(self._folder / f"rows-{number}.arrow", schema) for number in range(len(limits) + 1)]
        for rows in _together(self._all.batches(columns)):
            number = pc.search_sorted(limits, rows["key"], side="right").to_numpy().astype(np.int64)
            ordered = rows.take(pa.array(np.argsort(number, kind="stable")))
            ends = np.cumsum(np.bincount(number, minlength=len(parts))).tolist()
            for part, start, end in zip(parts, [0, *ends], ends, strict=False):
                if end > start:
                    part.add(ordered.slice(start, end - start))
        for part in parts:
            part.close()
        self._all.remove()
        return parts

    def _limits(self) -> pa.StringArray:
        """Return the first keys of the parts, except of the first part."""
        sample = pa.concat_arrays(self._sample)
        ordered = sample.take(pc.sort_indices(sample))
        return ordered.take(pa.array(np.linspace(0, len(ordered), self._parts, endpoint=False)[1:].astype(np.int64)))


def _together(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of *batches* in larger batches, because each is split into as many pieces as there are parts."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= _TOGETHER_ROWS:
            yield pa.concat_batches(waiting)
            waiting = []
    if waiting:
        yield pa.concat_batches(waiting)
