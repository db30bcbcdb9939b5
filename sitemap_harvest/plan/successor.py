"""The ledger row of one document after a run: what the run tells, and what it has from the last snapshot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sitemap_harvest.model import FoundBy, Outcome, SitemapRecord
from sitemap_harvest.plan.belief import Belief, Judgement, has_rows

if TYPE_CHECKING:
    from datetime import datetime

NOT_ASKED_FOR = "not asked for in this run"
"""The reason of a document that is known from the last snapshot, and that the run did not come to."""

_OF_THE_READING = (
    *("final_url", "kind", "content_type", "etag", "last_modified", "bytes_unpacked", "layers", "encoding"),
    *("entries", "out_of_scope", "problems", "sha256", "lastmod", "lastmod_text"),
)  # what a row says of the reading that its rows are from, and not of the last attempt
_OF_THE_DOWNLOAD = ("final_url", "content_type", "etag", "last_modified")
_FRESHNESS = ("fresh_at", "fresh_run")
_OF_THE_PROVENANCE = ("parent", "depth", "found_by")


class Heard(NamedTuple):
    """What a run tells of one document."""

    record: SitemapRecord
    judgement: Judgement


class Run(NamedTuple):
    """What holds for all documents of a run."""

    name: str
    now: datetime
    absent_runs: int


def unheard_of(known: SitemapRecord) -> SitemapRecord:
    """Return the row of a document that the run did not come to, *known* from the last snapshot."""
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


def successor(found: Heard, known: SitemapRecord | None, run: Run, *, is_gone: bool) -> SitemapRecord:
    """Return the row of a document of which *found* is told, as if it did not leave.

    *known* is its row of the last snapshot; *is_gone* tells that this run counts
    as one in which it was absent.
    """
    record, belief = found.record, found.judgement.belief
    kept = known if known is not None and has_rows(known) else None
    moment = record.fetched_at or run.now
    fresh = {"fresh_at": moment, "fresh_run": run.name}
    values = _provenance(record, known)
    if belief is Belief.REPLACE:
        values |= fresh | {"rows_from": run.name, "read_at": moment, "absent_runs": 0}
    elif belief is Belief.ADD:
        values |= _added(kept, run)
        if known is not None and known.left is None:
            values |= _of(known, _FRESHNESS)  # also of a document that is new and could not be read so far
    elif belief is Belief.CONFIRM and kept is not None:
        values |= _confirmed(record, kept, moment) | fresh
    else:
        values |= _kept(found, kept) | {"absent_runs": (known.absent_runs if known else 0) + is_gone}
        if kept is None and values["absent_runs"] >= run.absent_runs:
            values |= fresh  # absent for so long, it is believed: it lists nothing
    return replace(record, **values)


def _provenance(record: SitemapRecord, known: SitemapRecord | None) -> dict[str, Any]:
    """Return how the document was found: as before where only the last snapshot, or a guess, has led to it."""
    if known is None or not (record.found_by is FoundBy.SNAPSHOT or record.found_by.is_guess):
        return {}
    return _of(known, _OF_THE_PROVENANCE)


def _added(kept: SitemapRecord | None, run: Run) -> dict[str, Any]:
    """Return what changes in the row of a document of which a part was read: no digest speaks of its rows."""
    values = _of(kept, ("kind", "encoding", "read_at")) if kept is not None else {}
    unspoken = {"etag": None, "last_modified": None, "sha256": None}
    return {**values, **unspoken, "rows_from": run.name, "absent_runs": 0, "complete": False}


def _confirmed(record: SitemapRecord, kept: SitemapRecord, moment: datetime) -> dict[str, Any]:
    """Return what the row of a document that is as it was has from the reading before."""
    values = _of(kept, (*_OF_THE_READING, "rows_from", "read_at"))
    if record.lastmod_text is not None:
        values |= _of(record, ("lastmod", "lastmod_text"))
    if record.outcome is Outcome.UNCHANGED and record.status != 304:  # it was downloaded, and has the same digest
        values |= _of(record, _OF_THE_DOWNLOAD) | {"read_at": moment}
    return values | {"complete": True, "absent_runs": 0}


def _kept(found: Heard, kept: SitemapRecord | None) -> dict[str, Any]:
    """Return what the row of a document that tells nothing has from the reading before."""
    values: dict[str, Any] = {"complete": False}
    if found.judgement.doubt is not None:
        values["reason"] = f"{found.judgement.doubt}: not believed yet"
    if kept is not None:
        values |= _of(kept, (*_OF_THE_READING, "rows_from", *_FRESHNESS, "read_at"))
    return values


def _of(row: SitemapRecord, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}
