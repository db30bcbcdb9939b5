"""The summary of a comparison apart from the changes: staleness, changed documents, different arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemap_harvest.diff.document_pairs import GONE_SINCE
from sitemap_harvest.model import Difference, LeftSitemap, Outcome, StaleSitemap

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sitemap_harvest.diff.document_pairs import Record, SnapshotDocuments

MAX_TOLD = 50
_UNKNOWN = frozenset(
    {Outcome.PARTIAL, Outcome.BLOCKED, Outcome.FORBIDDEN, Outcome.FAILED, Outcome.TOO_LARGE, Outcome.OVER_LIMIT}
)
"""Outcomes of documents that may list unknown URLs."""


def staleness(ledger: SnapshotDocuments, started_at: datetime) -> dict[str, Any]:
    """Return how much of the snapshot was neither read completely nor confirmed since *started_at*."""
    old = [record for record in ledger.records.values() if not _is_fresh(record, started_at)]
    stale = sum(ledger.entries.get(record.url, 0) for record in old)
    told = sorted((record for record in old if _matters(record, ledger)), key=lambda record: record.url)
    return {
        "stale": stale,
        "stale_share": round(stale / max(1, sum(ledger.entries.values())), 4),
        "stale_sitemaps": tuple(
            StaleSitemap(
                url=record.url, outcome=Outcome(record.outcome), reason=record.reason, fresh_at=record.fresh_at
            )
            for record in told[:MAX_TOLD]
        ),
    }


def _is_fresh(record: Record, started_at: datetime) -> bool:
    return record.fresh_at is not None and record.fresh_at >= started_at


def _matters(record: Record, ledger: SnapshotDocuments) -> bool:
    return record.left is None and (record.url in ledger.entries or record.outcome in _UNKNOWN)


def documents(before: SnapshotDocuments, after: SnapshotDocuments) -> dict[str, Any]:
    """Return the documents that are new, removed, or empty now."""
    there = {url for url, record in before.records.items() if record.left is None}
    here = {url for url, record in after.records.items() if record.left is None}
    left = [LeftSitemap(url=url, reason=_why(after.records.get(url))) for url in sorted(there - here)[:MAX_TOLD]]
    return {
        "sitemaps_came": tuple(sorted(url for url in after.entries.keys() - there if not before.names(url))[:MAX_TOLD]),
        "sitemaps_left": tuple(left),
        "sitemaps_emptied": tuple(sorted((before.entries.keys() & here) - after.entries.keys())[:MAX_TOLD]),
    }


def _why(record: Record | None) -> str:
    return (record and record.left) or GONE_SINCE


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Return the arguments and limits that differ, by name."""
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    return tuple(Difference(name=name, before=_text(before.get(name)), after=_text(after.get(name))) for name in names)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
