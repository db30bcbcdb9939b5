"""The references of a document, up to a million, in little memory: all but the last few as packed columns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa

from sitemap_harvest.model import SitemapRef

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_LOOSE = 1_000  # references that are kept as objects, at some 300 bytes each
_MAX_LOOSE_CHARS = 1024 * 1024  # of their texts
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SCHEMA = pa.schema({"loc": pa.string(), "position": pa.int64(), "lastmod": pa.int64(), "lastmod_text": pa.string()})
_PACKED = pa.ipc.IpcWriteOptions(compression="zstd")


class References:
    """References to other documents, in document order. Without :attr:`SitemapRef.found_by`."""

    def __init__(self) -> None:
        self.packed_bytes = 0
        """Size of the columns."""
        self.last_position = 0
        """Position of the reference that was added last."""
        self._count = 0
        self._packed: list[pa.Buffer] = []
        self._loose: list[SitemapRef] = []
        self._loose_chars = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[SitemapRef]:
        for packed in self._packed:
            yield from _unpacked(packed)
        yield from self._loose

    def add(self, reference: SitemapRef) -> None:
        """Add *reference* behind all others."""
        self._count += 1
        self.last_position = reference.position
        self._loose.append(reference)
        self._loose_chars += len(reference.loc) + len(reference.lastmod_text or "")
        if len(self._loose) >= _MAX_LOOSE or self._loose_chars >= _MAX_LOOSE_CHARS:
            self._pack()

    def _pack(self) -> None:
        columns = [
            pa.array([reference.loc for reference in self._loose], pa.string()),
            pa.array([reference.position for reference in self._loose], pa.int64()),
            pa.array([_microseconds(reference.lastmod) for reference in self._loose], pa.int64()),
            pa.array([reference.lastmod_text for reference in self._loose], pa.string()),
        ]
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, _SCHEMA, options=_PACKED) as stream:
            stream.write_batch(pa.RecordBatch.from_arrays(columns, schema=_SCHEMA))
        self._packed.append(sink.getvalue())
        self.packed_bytes += self._packed[-1].size
        self._loose, self._loose_chars = [], 0


def _unpacked(packed: pa.Buffer) -> Iterator[SitemapRef]:
    with pa.ipc.open_stream(packed) as stream:
        columns = [column.to_pylist() for column in stream.read_next_batch().columns]
    for loc, position, lastmod, text in zip(*columns, strict=True):
        instant = None if lastmod is None else _EPOCH + lastmod * _MICROSECOND
        yield SitemapRef(loc=loc, position=position, lastmod=instant, lastmod_text=text)


def _microseconds(instant: datetime | None) -> int | None:
    return None if instant is None else (instant - _EPOCH) // _MICROSECOND
