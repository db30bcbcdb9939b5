"""Temporary files of record batches, for data that does not fit in memory, and an external sort by ``key``."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PART_ROWS = 100_000  # some 50 MB while they are sorted and compared
MAX_PARTS = 250  # files that are open at a time
_TOGETHER_ROWS = 200_000  # that are partitioned at a time: each part gets a piece of them
_SAMPLED = 100  # keys sampled for each part, to choose its limit


def temporary_folder(parent: Path | None) -> Path:
    """Return an unused path in *parent* (``None``: the system's folder for temporary files); its first file creates it.

    Most comparisons need none: most sites have not changed.
    """
    return Path(parent or tempfile.gettempdir(), f"sitemap-harvest-{secrets.token_hex(8)}")


class TemporaryFile:
    """A file of record batches with one schema, written once, then read any number of times.

    It exists from the first batch on, and so does its folder.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        """Write to *path*."""
        self.rows = 0
        self.path = path
        self.filled: set[str] = set()
        """Columns that are not null in all rows."""
        self.schema = schema
        self._file: pa.NativeFile | None = None
        self._writer: ipc.RecordBatchStreamWriter | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Write *batch*."""
        if self._writer is None:
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
            self._file = pa.OSFile(str(self.path), "wb")
            self._writer = ipc.new_stream(self._file, self.schema, options=ipc.IpcWriteOptions(compression="lz4"))
        self._writer.write_batch(batch)
        self.rows += batch.num_rows
        self.filled |= {name for name in self.schema.names if batch[name].null_count < batch.num_rows}

    def close(self) -> None:
        """Close the file for writing. May be called again."""
        if self._writer is not None and self._file is not None and not self._file.closed:
            self._writer.close()
            self._file.close()

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the written batches, even if the file is not closed yet: all columns, or *columns*."""
        if self._writer is None:
            return
        chosen = None if columns is None else [self.schema.get_field_index(name) for name in columns]
        with pa.OSFile(str(self.path)) as file:
            yield from ipc.open_stream(file, options=ipc.IpcReadOptions(included_fields=chosen))

    def reader(self, columns: list[str]) -> pa.RecordBatchReader:
        """Return a reader of *columns*."""
        schema = pa.schema([self.schema.field(name) for name in columns])
        return pa.RecordBatchReader.from_batches(schema, (batch.select(columns) for batch in self.batches(columns)))

    def remove(self) -> None:
        """Delete the file, which must be closed."""
        self.path.unlink(missing_ok=True)


def sorted_by_key(rows: TemporaryFile) -> Iterator[pa.RecordBatch]:
    """Yield *rows*, and delete the file, in the order of ``key`` (bytewise), without columns that are null in all rows.

    Rows with one key are in one batch. Many rows are partitioned by ranges of keys into
    files in the same folder, and each file is sorted alone.
    """
    rows.close()
    parts = min(-(-rows.rows // PART_ROWS), MAX_PARTS)
    for part in _parted(rows, parts) if parts > 1 else [rows]:
        if part.rows:
            columns = [name for name in part.schema.names if name in rows.filled]
            batch = pa.concat_batches(list(part.batches(columns)))
            yield batch.take(pc.sort_indices(batch["key"]))
        part.remove()


def _parted(rows: TemporaryFile, parts: int) -> list[TemporaryFile]:
    """Partition *rows* by ranges of keys into files, and delete the file."""
    step = max(1, rows.rows // (parts * _SAMPLED))
    sample, seen = [], 0
    for batch in rows.batches(["key"]):
        sample.append(batch["key"].take(pa.array(np.arange(-seen % step, batch.num_rows, step))))
        seen += batch.num_rows
    ordered = pa.concat_arrays(sample)
    ordered = ordered.take(pc.sort_indices(ordered))
    limits = ordered.take(pa.array(np.linspace(0, len(ordered), parts, endpoint=False)[1:].astype(np.int64)))
    schema = pa.schema([field for field in rows.schema if field.name in rows.filled])
    files = [TemporaryFile(rows.path.with_stem(f"part-{number}"), schema) for number in range(parts)]
    for batch in _together(rows.batches(schema.names), _TOGETHER_ROWS):
        number = pc.search_sorted(limits, batch["key"], side="right").to_numpy().astype(np.int64)
        by_part = batch.take(pa.array(np.argsort(number, kind="stable")))
        ends = np.cumsum(np.bincount(number, minlength=parts)).tolist()
        for file, start, end in zip(files, [0, *ends], ends, strict=False):
            if end > start:
                file.add(by_part.slice(start, end - start))
    rows.remove()
    for file in files:
        file.close()
    return files


def _together(batches: Iterable[pa.RecordBatch], fewest: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of *batches* in batches of at least *fewest* rows, the last one excepted."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= fewest:
            yield pa.concat_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.concat_batches(waiting)
