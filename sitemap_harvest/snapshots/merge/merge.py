"""``merge_snapshot``: the next snapshot of a site, from the last one and the outcome of each document in a run.

Absence is never taken for removal, and an unread document never causes additions:
``docs/explain/snapshots.md`` explains the rules and the reasons.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sitemap_harvest.model import FoundBy, Outcome, SitemapRecord
from sitemap_harvest.snapshots.merge.merge_policy import MergeDecision, MergePolicy, final_key, has_rows, merge_decision
from sitemap_harvest.snapshots.merge.removal import NEVER_READ, MergedDocument, unlisted
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
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
_WEIGHTS = {MergePolicy.KEEP: 0, MergePolicy.ADD: 1, MergePolicy.CONFIRM: 2, MergePolicy.REPLACE: 3}


class _Visited(NamedTuple):
    """The information of a run about one document."""

    record: SitemapRecord
    decision: MergeDecision


class _MergeRun(NamedTuple):
    """Values shared by all documents of a run."""

    name: str
    now: datetime
    absent_runs: int


def merge_snapshot(
    before: Mapping[str, SitemapRecord],
    records: Iterable[SitemapRecord],
    *,
    references: Mapping[str, Collection[str]],
    references_before: Mapping[str, Collection[str]],
    run: str,
    now: datetime,
    absent_runs: int = 3,
    pending: Collection[str] = (),
) -> dict[str, MergedDocument]:
    """Return each document of the new snapshot, by :func:`document_key`: those of *before* first, in its order.

    *before*: the records of the last snapshot by key, including those that were removed
    in it; empty for a first run. *records*: the records of this run for the site; if a
    document has several, the most informative one counts. *references*: the keys that
    each document lists, as known after this run (as read for the policy ``REPLACE``,
    plus those of before for ``ADD``, else those of before). *references_before*: the
    same after the last run. Both include every reference that became a candidate, also
    hints of pages and headers, because a document that its parent does not list is
    removed. *run*: the id of this run; *now*: its end. *pending*: keys of documents
    whose rows include pending removals; a removed document among them keeps its record.
    No argument is modified.
    """
    this = _MergeRun(run, now, absent_runs)
    visited = _visited(before, records, absent_runs)
    elsewhere = {
        final: found.record.url  # which redirects to it, and was read completely
        for key, found in visited.items()
        if found.decision.policy.is_whole and (final := final_key(found.record, key)) != key
    }
    documents: dict[str, MergedDocument] = {}
    for key in dict.fromkeys((*before, *visited)):
        known = before.get(key)
        if key in visited:
            documents[key] = _after(key, known, visited, this)
            if (known is None or known.left is not None) and not documents[key].policy.is_whole:
                documents[key] = _new(key, documents[key], visited, before, references_before)
        elif known is not None and known.left is None:
            left = f"it was read as {elsewhere[key]}, which redirects to it" if key in elsewhere else None
            documents[key] = MergedDocument(_leave(_not_visited(known), left), MergePolicy.KEEP)
        elif known is not None and key in pending:
            documents[key] = MergedDocument(known, MergePolicy.KEEP)
    _leave_unlisted(documents, visited, before, references, references_before, absent_runs)
    _leave_absent(documents, visited, absent_runs)
    return documents


def _visited(
    before: Mapping[str, SitemapRecord], records: Iterable[SitemapRecord], absent_runs: int
) -> dict[str, _Visited]:
    """Return the information of the run about each document: of several records, the most informative one."""
    visited: dict[str, _Visited] = {}
    for record in records:
        key = document_key(record.url)
        found = _Visited(record, merge_decision(key, before, record, absent_runs=absent_runs))
        if key not in visited or _weight(found) > _weight(visited[key]):
            visited[key] = found
    return visited


def _weight(found: _Visited) -> tuple[int, bool]:
    return _WEIGHTS[found.decision.policy], found.record.fetched_at is not None


def _after(key: str, known: SitemapRecord | None, visited: Mapping[str, _Visited], run: _MergeRun) -> MergedDocument:
    """Return the document *key*, which the run visited. It may be removed here, but not yet for being unlisted."""
    found = visited[key]
    is_passed_on = _is_passed_on(key, found, visited)
    is_gone = is_passed_on or found.decision.is_absent
    row = _merge_record(found, known, run, is_gone=is_gone)
    left = None
    was_there = known is not None and has_rows(known) and final_key(known, key) == final_key(found.record, key)
    if is_passed_on and was_there:  # its rows belong to the target, which was read separately
        left = f"it redirects to {found.record.final_url}, which was read separately"
    return MergedDocument(_leave(row, left), found.decision.policy)


def _new(
    key: str,
    document: MergedDocument,
    visited: Mapping[str, _Visited],
    before: Mapping[str, SitemapRecord],
    references_before: Mapping[str, Collection[str]],
) -> MergedDocument:
    """Return *document*, which is new or listed again and was not read completely, with the URLs that it lists as new.

    It is known to have listed nothing before if it was removed, or if a completely read
    document did not list it. So every URL that it lists is new, even in a later
    reading.
    """
    row = document.row
    if (left := before.get(key)) is not None and left.fresh_at is not None:
        return document._replace(row=replace(row, fresh_at=left.fresh_at, fresh_run=left.fresh_run))
    above, seen = row.parent, {key}
    while row.fresh_at is None and above is not None and (lister := document_key(above)) not in seen:
        seen.add(lister)
        if (known := before.get(lister)) is not None and known.left is None:
            did_not_list = key not in references_before.get(lister, ())
            if did_not_list:
                row = replace(row, fresh_at=known.fresh_at, fresh_run=known.fresh_run)
            return document._replace(row=row)
        above = visited[lister].record.parent if lister in visited else None
    return document


def _is_passed_on(key: str, found: _Visited, visited: Mapping[str, _Visited]) -> bool:
    """Whether the document *key* redirects to a document that was read completely by itself."""
    record = found.record
    if record.outcome is not Outcome.SKIPPED or found.decision.policy is not MergePolicy.KEEP:
        return False
    target = visited.get(final_key(record, key))
    return target is not None and target.decision.policy.is_whole


def _leave_unlisted(
    documents: dict[str, MergedDocument],
    visited: Mapping[str, _Visited],
    before: Mapping[str, SitemapRecord],
    references: Mapping[str, Collection[str]],
    references_before: Mapping[str, Collection[str]],
    absent_runs: int,
) -> None:
    """Mark the unlisted documents in *documents* as removed; if that is not certain, count the runs instead.

    If a document that may list them was not visited, they may have moved there. Then
    they count as absent in this run, whatever their response was.
    """
    present = {key: one for key, one in documents.items() if one.row.left is None}
    gone = unlisted(
        present,
        references=references,
        references_before=references_before,
        redirects={key: final for key, one in visited.items() if (final := final_key(one.record, key)) != key},
        left=documents.keys() - present.keys(),
        met={key for key, one in visited.items() if one.record.found_by is not FoundBy.SNAPSHOT},
        absent_runs=absent_runs,
    )
    for key in gone.dropped:
        documents[key] = documents[key]._replace(row=_leave(documents[key].row, NEVER_READ))
    for key, (words, lister) in gone.leaving.items():
        row = documents[key].row
        runs = 1 + (before[key].absent_runs if key in before else 0)
        if gone.is_certain or runs >= absent_runs:
            row = _leave(row, words)
        else:
            while lister in gone.leaving:  # up to the document that stays, and will be requested again
                lister = gone.leaving[lister].lister  # noqa: PLW2901 - up the chain
            row = replace(row, absent_runs=runs, parent=present[lister].row.url)
        documents[key] = documents[key]._replace(row=row)


def _leave_absent(documents: dict[str, MergedDocument], visited: Mapping[str, _Visited], absent_runs: int) -> None:
    """Mark documents in *documents* as removed after enough runs of absence.

    This runs last, so that the removal of an unlisted index also removes the documents
    that only it listed.
    """
    for key, found in visited.items():
        row = documents[key].row
        if row.rows_from is None or row.absent_runs < absent_runs:
            continue
        if found.decision.is_absent or _is_passed_on(key, found, visited):
            words = f"it was absent in {row.absent_runs} runs"
            documents[key] = documents[key]._replace(row=_leave(row, words))


def _leave(row: SitemapRecord, left: str | None) -> SitemapRecord:
    return row if left is None else replace(row, left=left, rows_from=None)


def _not_visited(known: SitemapRecord) -> SitemapRecord:
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


def _merge_record(found: _Visited, known: SitemapRecord | None, run: _MergeRun, *, is_gone: bool) -> SitemapRecord:
    """Return the record of a document with the result *found*, assuming that it is not removed.

    *known*: its record in the last snapshot. *is_gone*: whether it counts as absent in
    this run.
    """
    record, policy = found.record, found.decision.policy
    kept = known if known is not None and has_rows(known) else None
    moment = record.fetched_at or run.now
    fresh = {"fresh_at": moment, "fresh_run": run.name}
    values = {}
    if known is not None and (record.found_by is FoundBy.SNAPSHOT or record.found_by.is_guess):
        values = _of(known, _OF_THE_PROVENANCE)  # only the last snapshot or a probe led to it
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


def _added(kept: SitemapRecord | None, run: _MergeRun) -> dict[str, Any]:
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


def _kept(found: _Visited, kept: SitemapRecord | None) -> dict[str, Any]:
    """Return the values that a document without new information takes from its last reading."""
    values: dict[str, Any] = {"complete": False}
    if found.decision.doubt is not None:
        values["reason"] = f"{found.decision.doubt}: not accepted yet"
    if kept is not None:
        values |= _of(kept, (*_OF_THE_READING, "rows_from", *_FRESHNESS, "read_at"))
    return values


def _of(row: SitemapRecord, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}
