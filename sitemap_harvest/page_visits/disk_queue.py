"""``DiskQueue``: entries waiting for a page visit, in a temporary file, so that their number does not matter."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import pyarrow as pa

from sitemap_harvest.model import UrlBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE_ROWS = 256  # some 70 KB: each site in turn has one piece in memory


@dataclass(frozen=True, slots=True)
class Piece:
    """The location of some rows in the queue's file."""

    start: int
    """Offset of the first byte."""
    length: int
    """Length in bytes."""
    rows: int
    """Number of rows, 1 to 256."""


class DiskQueue:
    """Batches of URLs in an unnamed temporary file that ends with the process.

    The file is in the folder ``TMPDIR``, and takes some 300 bytes per entry. It is
    created with the first rows.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._end = 0

    def put(self, batch: UrlBatch) -> Iterator[Piece]:
        """Write *batch* in pieces, and yield their locations. Raises :exc:`OSError` if writing fails."""
        for first in range(0, len(batch), _PIECE_ROWS):
            rows = batch.slice(first, _PIECE_ROWS)
            start = self._end
            self._write(memoryview(rows.arrow.serialize()))
            yield Piece(start, self._end - start, len(rows))

    def get(self, piece: Piece) -> UrlBatch:
        """Return the rows of *piece*. Raises :exc:`OSError` if reading fails."""
        assert self._file is not None  # noqa: S101 - for mypy: a piece implies a file
        data = os.pread(self._file.fileno(), piece.length, piece.start)
        if len(data) != piece.length:
            raise OSError(f"the temporary file was cut: {len(data)} bytes of {piece.length} are left")
        return UrlBatch(pa.ipc.read_record_batch(pa.py_buffer(data), UrlBatch.schema()))

    def clear(self) -> None:
        """Discard all pieces, and free their disk space."""
        if self._file is not None and self._end:
            self._end = 0
            os.ftruncate(self._file.fileno(), 0)

    def close(self) -> None:
        """Delete the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, data: memoryview) -> None:
        """Write *data* completely. The next piece overwrites a partial write, which is never read."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - close() closes it
        end = self._end
        while data:
            written = os.pwrite(self._file.fileno(), data, end)
            data, end = data[written:], end + written
        self._end = end
