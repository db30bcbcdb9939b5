"""``merge_snapshot``: the next snapshot of a site, from the last one and the outcome of each document in a run.

Absence is never taken for removal, and an unread document never causes additions:
``docs/explain/snapshots.md`` explains the rules and the reasons.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.model import FoundBy, Outcome, SitemapRecord
from sitemap_harvest.snapshots.merge.document_removal import ListedDocument, unlisted
from sitemap_harvest.snapshots.merge.merge_policy import MergePolicy, final_key, has_rows, merge_decision
from sitemap_harvest.snapshots.merge.merge_record import MergeRun, Visited, merge_record, not_visited
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime

_WEIGHTS = {MergePolicy.KEEP: 0, MergePolicy.ADD: 1, MergePolicy.CONFIRM: 2, MergePolicy.REPLACE: 3}


class MergedSnapshot(NamedTuple):
    """One document after a run."""

    row: SitemapRecord
    """Its new record. If ``left`` is set, the document is not part of the snapshot and has no rows in it."""
    policy: MergePolicy
    """Where its rows come from; meaningless if ``rows_from`` is ``None``: it has no rows."""


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
) -> dict[str, MergedSnapshot]:
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
    this = MergeRun(run, now, absent_runs)
    visited = _visited(before, records, absent_runs)
    elsewhere = _read_elsewhere(visited)
    documents: dict[str, MergedSnapshot] = {}
    for key in dict.fromkeys((*before, *visited)):
        known = before.get(key)
        if key in visited:
            documents[key] = _after(key, known, visited, this)
            if (known is None or known.left is not None) and not documents[key].policy.is_whole:
                documents[key] = _new(key, documents[key], visited, before, references_before)
        elif known is not None and known.left is None:
            left = f"it was read as {elsewhere[key]}, which redirects to it" if key in elsewhere else None
            documents[key] = MergedSnapshot(_leave(not_visited(known), left), MergePolicy.KEEP)
        elif known is not None and key in pending:
            documents[key] = MergedSnapshot(known, MergePolicy.KEEP)
    _leave_unlisted(documents, visited, before, references, references_before, absent_runs)
    _leave_absent(documents, visited, absent_runs)
    return documents


def _visited(
    before: Mapping[str, SitemapRecord], records: Iterable[SitemapRecord], absent_runs: int
) -> dict[str, Visited]:
    """Return the information of the run about each document: of several records, the most informative one."""
    visited: dict[str, Visited] = {}
    for record in records:
        key = document_key(record.url)
        found = Visited(record, merge_decision(key, before, record, absent_runs=absent_runs))
        if key not in visited or _weight(found) > _weight(visited[key]):
            visited[key] = found
    return visited


def _weight(found: Visited) -> tuple[int, bool]:
    return _WEIGHTS[found.decision.policy], found.record.fetched_at is not None


def _read_elsewhere(visited: Mapping[str, Visited]) -> dict[str, str]:
    """Return the keys of documents read completely through another URL that redirects to them, and that URL."""
    return {
        final: found.record.url
        for key, found in visited.items()
        if found.decision.policy.is_whole and (final := final_key(found.record, key)) != key
    }


def _after(key: str, known: SitemapRecord | None, visited: Mapping[str, Visited], run: MergeRun) -> MergedSnapshot:
    """Return the document *key*, which the run visited. It may be removed here, but not yet for being unlisted."""
    found = visited[key]
    is_passed_on = _is_passed_on(key, found, visited)
    is_gone = is_passed_on or found.decision.is_absent
    row = merge_record(found, known, run, is_gone=is_gone)
    left = None
    was_there = known is not None and has_rows(known) and final_key(known, key) == final_key(found.record, key)
    if is_passed_on and was_there:  # its rows belong to the target, which was read separately
        left = f"it redirects to {found.record.final_url}, which was read separately"
    return MergedSnapshot(_leave(row, left), found.decision.policy)


def _new(
    key: str,
    document: MergedSnapshot,
    visited: Mapping[str, Visited],
    before: Mapping[str, SitemapRecord],
    references_before: Mapping[str, Collection[str]],
) -> MergedSnapshot:
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


def _is_passed_on(key: str, found: Visited, visited: Mapping[str, Visited]) -> bool:
    """Whether the document *key* redirects to a document that was read completely by itself."""
    record = found.record
    if record.outcome is not Outcome.SKIPPED or found.decision.policy is not MergePolicy.KEEP:
        return False
    target = visited.get(final_key(record, key))
    return target is not None and target.decision.policy.is_whole


def _leave_unlisted(
    documents: dict[str, MergedSnapshot],
    visited: Mapping[str, Visited],
    before: Mapping[str, SitemapRecord],
    references: Mapping[str, Collection[str]],
    references_before: Mapping[str, Collection[str]],
    absent_runs: int,
) -> None:
    """Mark the unlisted documents in *documents* as removed; if that is not certain, count the runs instead.

    If a document that may list them was not visited, they may have moved there. Then
    they count as absent in this run, whatever their response was.
    """
    present = {
        key: ListedDocument(
            one.row, one.policy, key in visited and visited[key].record.found_by is not FoundBy.SNAPSHOT
        )
        for key, one in documents.items()
        if one.row.left is None
    }
    gone = unlisted(
        present,
        references=references,
        references_before=references_before,
        redirects={key: final for key, one in visited.items() if (final := final_key(one.record, key)) != key},
        left=documents.keys() - present.keys(),
        absent_runs=absent_runs,
    )
    for key, words in gone.dropped.items():
        documents[key] = documents[key]._replace(row=_leave(documents[key].row, words))
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


def _leave_absent(documents: dict[str, MergedSnapshot], visited: Mapping[str, Visited], absent_runs: int) -> None:
    """Mark documents in *documents* as removed after enough consecutive runs of absence.

    This runs last, so that the removal of an unlisted index also removes the documents
    that only it listed.
    """
    for key, found in visited.items():
        row = documents[key].row
        if row.rows_from is None or row.absent_runs < absent_runs:
            continue
        if found.decision.is_absent or _is_passed_on(key, found, visited):
            words = f"it was absent in {row.absent_runs} consecutive runs"
            documents[key] = documents[key]._replace(row=_leave(row, words))


def _leave(row: SitemapRecord, left: str | None) -> SitemapRecord:
    return row if left is None else replace(row, left=left, rows_from=None)
