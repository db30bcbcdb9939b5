"""Arrow IPC streams as outputs, which are readable up to the last batch if the process is killed.

Format: https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from scrapy.extensions.feedexport import FileFeedStorage

from sitemap_harvest.integration.items.exporters import TypedExporter, typed

if TYPE_CHECKING:
    from sitemap_harvest.model import Batch


class StreamStorage(FileFeedStorage):
    """A local file, whose URI begins with ``stream:`` in place of ``file:``, and that is written in its place."""

    def __init__(self, uri: str, **options: Any) -> None:
        super().__init__(uri.replace("stream:", "file:", 1), **options)


class ArrowExporter(TypedExporter):
    """The columns of one kind of items, uncompressed, so that the file can be mapped into memory."""

    _writer: Any = None

    def finish_exporting(self) -> None:
        """Write the buffered rows, and the end of the stream."""
        super().finish_exporting()
        if self._writer is not None:
            self._writer.close()

    def _write(self, batch: Batch[Any]) -> None:
        if self._writer is None:
            self._schema = typed(batch.arrow.schema)
            self._writer = pa.ipc.new_stream(self._file, self._schema)
        columns = {name: batch[name] for name in batch.arrow.schema.names}
        self._writer.write_batch(self._fitted(columns, self._schema))
        self._file.flush()  # so that the batch is whole if the process is killed
