"""``DiskQueue``: entries waiting for a page visit, in a temporary file, so that their number does not matter."""

from __future__ import annotations

import sqlite3

import pyarrow as pa

from sitemap_harvest.model import UrlBatch

_PIECE_ROWS = 256  # some 70 KB: each site in turn has one piece in memory


class DiskQueue:
    """Batches of URLs in a temporary database of SQLite, which has no name and ends with the process.

    Its file is in the folder ``TMPDIR``, by default ``/var/tmp``, and takes some 300 bytes
    per entry.
    """

    def __init__(self) -> None:
        self._database = sqlite3.connect("")
        self._database.execute("PRAGMA journal_mode = MEMORY")
        self._database.execute("CREATE TABLE piece (number INTEGER PRIMARY KEY, rows BLOB)")

    def put(self, batch: UrlBatch) -> list[int]:
        """Write *batch* in pieces, and return their numbers.

        Raises :exc:`sqlite3.Error` if writing fails; then none of *batch* is written.
        """
        insert = "INSERT INTO piece (rows) VALUES (?) RETURNING number"
        with self._database:
            return [
                self._database.execute(insert, (batch.slice(first, _PIECE_ROWS).arrow.serialize(),)).fetchone()[0]
                for first in range(0, len(batch), _PIECE_ROWS)
            ]

    def pop(self, number: int) -> UrlBatch:
        """Return the rows of a piece, and remove it. Raises :exc:`sqlite3.Error` if reading fails."""
        with self._database:
            (rows,) = self._database.execute("DELETE FROM piece WHERE number = ? RETURNING rows", (number,)).fetchone()
        return UrlBatch(pa.ipc.read_record_batch(pa.py_buffer(rows), UrlBatch.schema()))

    def close(self) -> None:
        """Delete the file."""
        self._database.close()
