"""``TemporaryDatabase``: a DuckDB database with bounded memory, and a folder for its files."""

from __future__ import annotations

import tempfile
from typing import Any, Self

import duckdb

_MEMORY = "400MB"  # of DuckDB; what does not fit goes to temporary files
_THREADS = 2  # each needs a part of the memory


class TemporaryDatabase:
    """Base of what is loaded into a database for one audit. A context manager, which deletes it."""

    def __init__(self, *, in_memory: bool = True) -> None:
        self._files = tempfile.TemporaryDirectory(prefix="sitemap-harvest-")
        config: dict[str, Any] = {
            "temp_directory": self._files.name,
            "memory_limit": _MEMORY,
            "threads": _THREADS,
            "preserve_insertion_order": "false",
        }
        place = ":memory:" if in_memory else f"{self._files.name}/audit.duckdb"  # where tables are compressed
        self._connection = duckdb.connect(place, config=config)
        self._connection.execute("set TimeZone = 'UTC'")
        self._connection.execute("set enable_progress_bar = false")  # a spawned process would print it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection and delete the temporary files."""
        self._connection.close()
        self._files.cleanup()
