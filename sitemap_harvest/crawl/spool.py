"""Entries that wait for the visit to their pages: on disk, so that it does not matter how many they are."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import pyarrow as pa

from sitemap_harvest.model import UrlBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE_ROWS = 256  # some 70 KB: of each site whose turn it is, one piece is in memory


@dataclass(frozen=True, slots=True)
class Piece:
    """Where some rows lie in a spool."""

    start: int
    """Their first byte."""
    length: int
    """How many bytes they are."""
    rows: int
    """How many they are, 1 to 256."""


class Spool:
    """Batches of URLs in a temporary file, which is there as long as this process and has no name.

    It lies in the folder that ``TMPDIR`` names, and takes some 300 bytes for
    each entry. Nothing is opened before the first rows come.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._end = 0

    def put(self, batch: UrlBatch) -> Iterator[Piece]:
        """Write *batch* in pieces, and yield where each lies. Raises :exc:`OSError` if it cannot be kept."""
        for first in range(0, len(batch), _PIECE_ROWS):
            rows = batch.slice(first, _PIECE_ROWS)
            start = self._end
            self._write(memoryview(rows.arrow.serialize()))
            yield Piece(start, self._end - start, len(rows))

    def get(self, piece: Piece) -> UrlBatch:
        """Return the rows that lie at *piece*. Raises :exc:`OSError` if they cannot be read."""
        assert self._file is not None  # noqa: S101 - what has a piece has a file; this tells mypy
        data = os.pread(self._file.fileno(), piece.length, piece.start)
        if len(data) != piece.length:
            raise OSError(f"the temporary file was cut: {len(data)} bytes of {piece.length} are left")
        return UrlBatch(pa.ipc.read_record_batch(pa.py_buffer(data), UrlBatch.schema()))

    def clear(self) -> None:
        """Forget all pieces, and give their place on the disk back."""
        if self._file is not None and self._end:
            self._end = 0
            os.ftruncate(self._file.fileno(), 0)

    def close(self) -> None:
        """Remove the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, data: memoryview) -> None:
        """Write *data* to the end. What was written in part is written over by the next piece, and never read."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - close() closes it
        end = self._end
        while data:
            written = os.pwrite(self._file.fileno(), data, end)
            data, end = data[written:], end + written
        self._end = end
