"""``DocumentWriter``: writes the rows of one document as they are read, and returns the row ranges it lists."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sitemap_harvest.snapshots.store.row_hashes import KnownRows
from sitemap_harvest.snapshots.store.row_ranges import RowRanges

if TYPE_CHECKING:
    from sitemap_harvest.model import UrlBatch
    from sitemap_harvest.snapshots.store.writer import SiteWriter


@dataclass(slots=True)
class DocumentWriter:
    """Takes the rows of one document as they are read."""

    _site: SiteWriter
    url: str
    _old: KnownRows | None = None
    _ids: list[np.ndarray] = field(default_factory=list)
    _positions: list[np.ndarray] = field(default_factory=list)
    _is_new_url: list[np.ndarray] = field(default_factory=list)

    def add(self, batch: UrlBatch) -> None:
        """Add *batch*: unchanged rows keep their id, all others get a new one."""
        rows = batch.arrow
        if self._old is None:
            self._old = KnownRows(self._site.old_rows(self.url))
        ids = self._old.find(rows)
        is_fresh = ids < 0
        is_new_url = is_fresh.copy()
        if is_fresh.any():
            fresh = rows if is_fresh.all() else rows.filter(pa.array(is_fresh))
            is_new_url[is_fresh] = ~self._old.knows(fresh)
            ids[is_fresh] = self._site.keep_rows(fresh)
        self._ids.append(ids)
        self._positions.append(rows.column("position").to_numpy())
        self._is_new_url.append(is_new_url)

    def all(self) -> RowRanges:
        """Return the rows that the document lists if it was read completely."""
        return RowRanges.of(0, _joined(self._positions), _joined(self._ids))

    def added(self, before: RowRanges, *, sound: int | None) -> RowRanges:
        """Return the rows that the document lists if it was read partly: those of *before*, plus the new ones.

        *sound*: the last position that was read reliably (``None``: all were).
        """
        ids, positions = _joined(self._ids), _joined(self._positions)
        is_new = _joined(self._is_new_url).astype(bool)
        if sound is not None:
            is_new &= positions <= sound
        old_rows, old_positions = before.rows(), before.positions()
        rows = np.concatenate([old_rows, ids[is_new]])
        last = int(old_positions.max(initial=0))
        places = np.concatenate([old_positions, last + np.arange(1, int(is_new.sum()) + 1)])
        return RowRanges.of(0, places, rows)


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.array([], dtype=np.int64)
