"""What two ledgers say of the documents: whom to believe, what became of each, and why a URL is gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sitemap_harvest.model import Kind

if TYPE_CHECKING:
    import pyarrow as pa

    from sitemap_harvest.diff.snapshot import Snapshot
    from sitemap_harvest.store.extents import Extents

_COLUMNS = ("url", "parent", "kind", "outcome", "reason", "fresh_at", "left")
LISTS_IT_NO_MORE = "its sitemap was read whole and no longer lists it"
EMPTIED = "its sitemap was read whole and lists nothing any more"
GONE_SINCE = "its sitemap has left since"
LEFT_FEED = "it has left a feed, which shows what is recent only"
LEFT_NEWS = "it has left a news sitemap, which shows what is recent only"

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ledger:
    """One snapshot's documents, by address."""

    records: dict[str, Record]
    """The ledger row of each, reduced to what is needed here."""
    entries: dict[str, int]
    """How many entries each lists; only those with some."""

    @classmethod
    def of(cls, snapshot: Snapshot) -> Ledger:
        """Read the ledger of *snapshot*."""
        table = snapshot.sitemaps()
        urls = table["url"].to_pylist()
        extents = snapshot.listed
        counts = np.bincount(extents.document, weights=extents.count, minlength=len(urls)).astype(np.int64)
        entries: dict[str, int] = {}
        for document in np.flatnonzero(counts).tolist():
            entries[urls[document]] = entries.get(urls[document], 0) + int(counts[document])
        return cls(_records(table), entries)


def _records(table: pa.Table) -> dict[str, Record]:
    """Return the records by address. Of several, that which knows most: present, and fresh the latest."""
    found: dict[str, Record] = {}
    for record in table.select(_COLUMNS).to_pylist():
        other = found.get(record["url"])
        if other is None or _rank(record) > _rank(other):
            found[record["url"]] = record
    return found


def _rank(record: Record) -> tuple[bool, bool, float]:
    fresh_at = record["fresh_at"]
    return record["left"] is None, fresh_at is not None, fresh_at.timestamp() if fresh_at else 0.0


@dataclass(frozen=True, slots=True)
class Documents:
    """All documents of two snapshots by number: in the order of their addresses. Arrays have one value for each."""

    urls: list[str]
    believable: np.ndarray
    """Whether a URL that it lists now, and none listed before, was added: not only read for the first time."""
    was_whole: np.ndarray
    """Whether all that it listed before was from a whole reading: else a flaw may have made what it listed."""
    is_feed: np.ndarray
    """Whether it was a feed before."""
    reasons: list[str]
    """Why a URL that it listed is gone."""

    @classmethod
    def of(cls, before: Ledger, after: Ledger) -> Documents:
        """Return the documents of both, and what is to be thought of each."""
        urls = sorted(before.records.keys() | after.records.keys())
        return cls(
            urls,
            np.array([_is_believable(url, before.records, after.records) for url in urls], dtype=bool),
            np.array([_was_whole(before.records.get(url)) for url in urls], dtype=bool),
            np.array([_kind(before.records.get(url)) == Kind.FEED for url in urls], dtype=bool),
            [_reason(url, after) for url in urls],
        )

    def numbers(self, table: pa.Table) -> np.ndarray:
        """Return the number of each row of a ledger."""
        numbers = {url: number for number, url in enumerate(self.urls)}
        return np.array([numbers[url] for url in table["url"].to_pylist()], dtype=np.int32)


def _kind(record: Record | None) -> str | None:
    return record["kind"] if record else None


def _was_whole(record: Record | None) -> bool:
    return record is not None and record["fresh_at"] is not None


def _is_believable(url: str, before: dict[str, Record], after: dict[str, Record]) -> bool:
    """Whether it was read whole before; or was not there, while what leads to it was read whole and did not name it.

    What leads to it is the nearest document above that was known: below it, all
    is new.
    """
    seen = set()
    while url not in seen:
        seen.add(url)
        known = before.get(url)
        if known and (known["fresh_at"] is not None or known["left"] is None):
            return known["fresh_at"] is not None
        parent = after[url]["parent"] if url in after else None
        if parent is None:
            return False
        url = parent
    return False


def _reason(url: str, after: Ledger) -> str:
    record = after.records.get(url)
    if record is None:
        return GONE_SINCE
    if record["left"] is not None:
        return f"its sitemap has left: {record['left']}"
    return LISTS_IT_NO_MORE if url in after.entries else EMPTIED


class Places:
    """Where rows stand, by the extents of a snapshot."""

    def __init__(self, extents: Extents, numbers: np.ndarray) -> None:
        """Take *extents*, whose documents have the *numbers*."""
        order = np.argsort(extents.row, kind="stable")
        self._row = extents.row[order]
        self._count = extents.count[order]
        self._position = extents.position[order]
        self._document = numbers[extents.document[order]]

    def documents(self, rows: np.ndarray) -> np.ndarray:
        """Return the number of the document of each of *rows*.

        The extent that begins last before a row may have ended before it, but
        then the row is in one that covers that one too, of the same document.
        """
        return np.asarray(self._document[np.searchsorted(self._row, rows, side="right") - 1])

    def positions(self, rows: np.ndarray) -> np.ndarray:
        """Return the first position at which each of *rows* stands."""
        wanted, where = np.unique(rows, return_inverse=True)
        low = np.searchsorted(wanted, self._row)
        found = np.searchsorted(wanted, self._row + self._count) - low
        extent = np.repeat(np.arange(len(found)), found)
        index = np.arange(len(extent)) + np.repeat(low - (np.cumsum(found) - found), found)
        first = np.full(len(wanted), np.iinfo(np.int64).max)
        np.minimum.at(first, index, self._position[extent] + wanted[index] - self._row[extent])
        return first[where]
