"""The record of one document after a run: values of this run, combined with those of the last snapshot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sitemap_harvest.model import FoundBy, Outcome, SitemapRecord
from sitemap_harvest.snapshots.merge.merge_policy import MergeDecision, MergePolicy, has_rows

if TYPE_CHECKING:
    from datetime import datetime

NOT_ASKED_FOR = "not requested in this run"
"""The reason of a document in the last snapshot that the run did not request."""

_OF_THE_READING = (
    *("final_url", "kind", "content_type", "etag", "last_modified", "bytes_unpacked", "layers", "encoding"),
    *("entries", "out_of_scope", "problems", "sha256", "lastmod", "lastmod_text"),
)  # fields about the reading that its rows come from, not about the last attempt
_OF_THE_DOWNLOAD = ("final_url", "content_type", "etag", "last_modified")
_FRESHNESS = ("fresh_at", "fresh_run")
_OF_THE_PROVENANCE = ("parent", "depth", "found_by")


class Visited(NamedTuple):
    """The information of a run about one document."""

    record: SitemapRecord
    decision: MergeDecision


class MergeRun(NamedTuple):
    """Values shared by all documents of a run."""

    name: str
    now: datetime
    absent_runs: int


def not_visited(known: SitemapRecord) -> SitemapRecord:
    """Return the record of a document that the run did not visit; *known* is its record in the last snapshot."""
    return replace(
        known,
        outcome=Outcome.SKIPPED,
        reason=NOT_ASKED_FOR,
        cause=None,
        status=None,
        bytes_downloaded=None,
        fetched_at=None,
        seconds=None,
        complete=False,
    )


def merge_record(found: Visited, known: SitemapRecord | None, run: MergeRun, *, is_gone: bool) -> SitemapRecord:
    """Return the record of a document with the result *found*, assuming that it is not removed.

    *known*: its record in the last snapshot. *is_gone*: whether it counts as absent in
    this run.
    """
    record, policy = found.record, found.decision.policy
    kept = known if known is not None and has_rows(known) else None
    moment = record.fetched_at or run.now
    fresh = {"fresh_at": moment, "fresh_run": run.name}
    values = _provenance(record, known)
    if policy is MergePolicy.REPLACE:
        values |= fresh | {"rows_from": run.name, "read_at": moment, "absent_runs": 0}
    elif policy is MergePolicy.ADD:
        values |= _added(kept, run)
        if known is not None and known.left is None:
            values |= _of(known, _FRESHNESS)  # also for a new document that could not be read so far
    elif policy is MergePolicy.CONFIRM and kept is not None:
        values |= _confirmed(record, kept, moment) | fresh
    else:
        values |= _kept(found, kept) | {"absent_runs": (known.absent_runs if known else 0) + is_gone}
        if kept is None and values["absent_runs"] >= run.absent_runs:
            values |= fresh  # absent for enough runs: it lists nothing
    if all(getattr(record, name) == value for name, value in values.items()):
        return record  # unchanged, as for 100,000 documents that the user does not want
    return replace(record, **values)


def _provenance(record: SitemapRecord, known: SitemapRecord | None) -> dict[str, Any]:
    """Return how the document was found: as before if only the last snapshot or a probe led to it."""
    if known is None or not (record.found_by is FoundBy.SNAPSHOT or record.found_by.is_guess):
        return {}
    return _of(known, _OF_THE_PROVENANCE)


def _added(kept: SitemapRecord | None, run: MergeRun) -> dict[str, Any]:
    """Return the changes to the record of a partly read document: no digest covers its rows."""
    values = _of(kept, ("kind", "encoding", "read_at")) if kept is not None else {}
    unspoken = {"etag": None, "last_modified": None, "sha256": None}
    return {**values, **unspoken, "rows_from": run.name, "absent_runs": 0, "complete": False}


def _confirmed(record: SitemapRecord, kept: SitemapRecord, moment: datetime) -> dict[str, Any]:
    """Return the values that an unchanged document takes from its last reading."""
    values = _of(kept, (*_OF_THE_READING, "rows_from", "read_at"))
    if record.lastmod_text is not None:
        values |= _of(record, ("lastmod", "lastmod_text"))
    if record.outcome is Outcome.UNCHANGED and record.status != 304:  # it was downloaded, and has the same digest
        values |= _of(record, _OF_THE_DOWNLOAD) | {"read_at": moment}
    return values | {"complete": True, "absent_runs": 0}


def _kept(found: Visited, kept: SitemapRecord | None) -> dict[str, Any]:
    """Return the values that a document without new information takes from its last reading."""
    values: dict[str, Any] = {"complete": False}
    if found.decision.doubt is not None:
        values["reason"] = f"{found.decision.doubt}: not accepted yet"
    if kept is not None:
        values |= _of(kept, (*_OF_THE_READING, "rows_from", *_FRESHNESS, "read_at"))
    return values


def _of(row: SitemapRecord, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}
