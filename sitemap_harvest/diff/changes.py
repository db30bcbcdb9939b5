"""``Changes``: the result of a comparison, read in batches."""

from __future__ import annotations

import shutil
import weakref
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.diff.classify import KINDS
from sitemap_harvest.diff.patterns import BUMPED
from sitemap_harvest.model import MAX_ROWS, ChangeBatch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sitemap_harvest.diff.temporary_file import TemporaryFile
    from sitemap_harvest.model import ChangeSummary


class Changes:
    """The changes between two snapshots. A context manager: closing it removes its temporary files."""

    def __init__(
        self, summary: ChangeSummary, urls: list[str], changes: TemporaryFile, pairs: TemporaryFile, folder: Path
    ) -> None:
        """Take the results. *folder* is removed by :meth:`close`."""
        self.summary = summary
        """Summary for the site as a whole."""
        self._urls = pa.array(urls, pa.string())
        self._changes = changes
        self._pairs = pairs
        self._is_mass_bump = any(pattern.name == BUMPED for pattern in summary.patterns)
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self._changes.rows

    def close(self) -> None:
        """Remove the temporary files. The summary stays available."""
        self._remove()

    def batches(self) -> Iterator[ChangeBatch]:
        """Yield the changes sorted by ``key`` (``loc`` if there is none; by bytes), those of one URL by kind.

        The order depends on nothing else, not even on the order in which documents were
        read. Can be called repeatedly until :meth:`close`.
        """
        pairs = _Cut(self._pairs.batches())
        start = 0
        for batch in self._changes.batches():
            for offset in range(0, batch.num_rows, MAX_ROWS):
                part = batch.slice(offset, MAX_ROWS)
                yield self._batch(part, pairs.until(start + part.num_rows), start)
                start += part.num_rows

    def _batch(self, part: pa.RecordBatch, pairs: pa.Table | None, start: int) -> ChangeBatch:
        """Return *part* of the stored changes, the first of which has the number *start*, as a public batch."""
        columns = {
            **{name: part[name] for name in ("loc", "key", "fields", "before", "after", "reason")},
            "kind": pa.array(KINDS, pa.string()).take(part["kind"]),
            "sitemap": self._urls.take(part["document"]),
            "sitemap_before": self._urls.take(part["document_before"]),
            "site": self._repeated(self.summary.site, part),
            "run": self._repeated(self.summary.run, part),
            "baseline": self._repeated(self.summary.baseline, part),
            **_paired(pairs, start, part.num_rows),
        }
        if self._is_mass_bump:
            is_alone = pc.and_(part["later"], pc.equal(pc.list_value_length(part["fields"]), 1))
            columns["pattern"] = pc.if_else(is_alone, BUMPED, columns["pattern"])
        schema = ChangeBatch.schema()
        return ChangeBatch(pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema))

    @staticmethod
    def _repeated(text: str | None, part: pa.RecordBatch) -> pa.StringArray:
        return pa.repeat(pa.scalar(text, pa.string()), part.num_rows)


def _paired(pairs: pa.Table | None, start: int, rows: int) -> dict[str, pa.Array]:
    """Return ``pattern``, ``counterpart`` and ``score`` of *rows* changes from number *start* on."""
    names = {"pattern": pa.string(), "counterpart": pa.string(), "score": pa.float64()}
    if pairs is None or not pairs.num_rows:
        return {name: pa.nulls(rows, kind) for name, kind in names.items()}
    where = np.full(rows, -1, dtype=np.int64)
    where[pairs["change"].to_numpy() - start] = np.arange(pairs.num_rows)
    indices = pa.array(where, mask=where < 0)
    return {name: pairs[name].combine_chunks().take(indices) for name in names}


class _Cut:
    """Batches sorted by ``change``, cut at given numbers."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._rest: pa.RecordBatch | None = None

    def until(self, change: int) -> pa.Table | None:
        """Return the next rows, those with numbers below *change*; ``None`` if there are none."""
        found = []
        while self._fill():
            assert self._rest is not None  # noqa: S101 - for mypy: _fill() guarantees it
            rows = int(np.searchsorted(self._rest["change"].to_numpy(), change))
            found.append(self._rest.slice(0, rows))
            if rows < self._rest.num_rows:
                self._rest = self._rest.slice(rows)
                break
            self._rest = None
        return pa.Table.from_batches(found) if found else None

    def _fill(self) -> bool:
        if self._rest is None:
            self._rest = next(self._batches, None)
        return self._rest is not None
