"""Columns to Apache Parquet, compressed with zstd.

Spec: https://parquet.apache.org/docs/file-format/
"""

from __future__ import annotations

from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

_GROUP_ROWS = 20_000  # one row group: large enough to compress well, some 10 MB in memory
_FEW_VALUES = (
    "site", "sitemap", "lastmod_precision", "changefreq", "priority", "priority_text", "found_by", "outcome",
    "kind", "sitemap_before", "reason", "pattern", "run", "baseline",
)  # fmt: skip


class ParquetFile:
    """One file. Its row groups span batches and sitemaps."""

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        self.schema = schema
        few = [name for name in _FEW_VALUES if name in schema.names and not pa.types.is_nested(schema.field(name).type)]
        self._writer = pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=few or False)
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Write *batch*, which has the schema of the file, possibly later."""
        self._waiting.append(batch)
        self._waiting_rows += batch.num_rows
        if self._waiting_rows >= _GROUP_ROWS:
            self._write_group()

    def close(self) -> None:
        """Write the last row group and the footer. Without it the file cannot be read."""
        if self._waiting:
            self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        waiting, self._waiting, self._waiting_rows = self._waiting, [], 0
        self._writer.write_table(pa.Table.from_batches(waiting, self.schema))
