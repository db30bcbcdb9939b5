"""The URLs of a snapshot that the next one does not list, before it is decided whether they were removed."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sitemap_harvest.diff.classify import GONE, url_numbers
from sitemap_harvest.diff.document_pairs import Places
from sitemap_harvest.diff.touched_rows import Work, touched

if TYPE_CHECKING:
    from sitemap_harvest.snapshots.store import Snapshot


class Missing(NamedTuple):
    """Rows of the earlier snapshot whose URL is not in the later one."""

    documents: list[str]
    """URLs of the documents; ``document`` is an index into this list."""
    document: np.ndarray
    row: np.ndarray
    """Ids of the rows, ascending."""
    position: np.ndarray
    """The first position of each in its document."""


def missing(before: Snapshot, after: Snapshot, *, folder: Path | None = None) -> Missing:
    """Return the rows of *before* whose URL *after*, a later snapshot of the same site, does not list.

    Data that does not fit in memory is written below *folder* (default: the system's
    folder for temporary files).
    """
    ledgers = [one.sitemaps()["url"].to_pylist() for one in (before, after)]
    documents = sorted({*ledgers[0], *ledgers[1]})
    numbers = {url: number for number, url in enumerate(documents)}
    was, is_ = (
        Places(one.row_ranges(), np.array([numbers[url] for url in ledger], dtype=np.int32))
        for one, ledger in zip((before, after), ledgers, strict=True)
    )
    place = Path(tempfile.mkdtemp(prefix="sitemap-harvest-", dir=folder))
    work = Work(place)
    found = [np.array([], dtype=np.int64)]
    try:
        for block in touched(before, after, (was, is_), work):
            url = url_numbers(block.columns["key"])
            is_listed = np.zeros(int(url[-1]) + 1, dtype=bool)
            is_listed[url[block.side != GONE]] = True
            found.append(block.row[~is_listed[url]])
    finally:
        work.close()
        shutil.rmtree(place, ignore_errors=True)
    rows = np.sort(np.concatenate(found))
    return Missing(documents, was.documents(rows), rows, was.positions(rows))
