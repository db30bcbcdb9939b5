"""What a comparison asks of a snapshot, whoever keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    import pyarrow as pa

    from sitemap_harvest.store.extents import Extents, Intervals


class Run(Protocol):
    """The run that a snapshot is of."""

    @property
    def id(self) -> str:
        """Its name, which sorts by time."""

    @property
    def started_at(self) -> datetime:
        """When it began."""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments and limits that it had."""

    @property
    def urls(self) -> int | None:
        """How many different URLs the snapshot lists; ``None`` if they were not counted."""


class Snapshot(Protocol):
    """The best knowledge of one site at the end of a run. Two of one site share row ids: same id, same row."""

    @property
    def site(self) -> str:
        """What the user named."""

    @property
    def run(self) -> Run:
        """The run."""

    @property
    def listed(self) -> Extents:
        """The rows that each document lists."""

    def sitemaps(self) -> pa.Table:
        """Return the ledger. Rows with ``left`` are no part of the snapshot."""

    def extents(self) -> Extents:
        """Return which rows each document lists, with those whose removal is pending."""

    def pending_rows(self) -> Intervals:
        """Return the ids of the rows whose removal is pending."""

    def rows(self, wanted: Intervals, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield ``row`` and *columns* of the rows *wanted*, ascending by id."""
