"""The interface that a comparison needs from a snapshot (protocols)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    import pyarrow as pa

    from sitemap_harvest.snapshots.store.row_ranges import Intervals, RowRanges


class ComparedRun(Protocol):
    """The run of a snapshot."""

    @property
    def id(self) -> str:
        """Its id, which sorts by time."""

    @property
    def started_at(self) -> datetime:
        """When it began."""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """Its arguments and limits."""

    @property
    def urls(self) -> int | None:
        """Number of distinct URLs in the snapshot; ``None`` if they were not counted."""


class ComparedSnapshot(Protocol):
    """The state of one site at the end of a run. Snapshots of one site share row ids: same id, same row."""

    @property
    def site(self) -> str:
        """The site or document that the user named."""

    @property
    def run(self) -> ComparedRun:
        """The run."""

    @property
    def listed(self) -> RowRanges:
        """The rows that each document lists."""

    def sitemaps(self) -> pa.Table:
        """Return the document records. Records with ``left`` are not part of the snapshot."""

    def named_documents(self) -> frozenset[str]:
        """Return the keys (:func:`document_key`) of the documents that documents of the snapshot name."""

    def row_ranges(self) -> RowRanges:
        """Return the rows that each document lists, including those whose removal is pending."""

    def pending_rows(self) -> Intervals:
        """Return the ids of the rows whose removal is pending."""

    def rows(self, wanted: Intervals, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield ``row`` and *columns* of the rows *wanted*, ascending by id."""
