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
    belief: MergePolicy
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
    heard = _hear(before, records, absent_runs)
    elsewhere = _read_elsewhere(heard)
    documents: dict[str, MergedSnapshot] = {}
    for key in dict.fromkeys((*before, *heard)):
        known = before.get(key)
        if key in heard:
            documents[key] = _after(key, known, heard, this)
            if (known is None or known.left is not None) and not documents[key].belief.is_whole:
                documents[key] = _new(key, documents[key], heard, before, references_before)
        elif known is not None and known.left is None:
            left = f"it was read as {elsewhere[key]}, which redirects to it" if key in elsewhere else None
            documents[key] = MergedSnapshot(_leave(not_visited(known), left), MergePolicy.KEEP)
        elif known is not None and key in pending:
            documents[key] = MergedSnapshot(known, MergePolicy.KEEP)
    _leave_unlisted(documents, heard, before, references, references_before, absent_runs)
    _leave_absent(documents, heard, absent_runs)
    return documents


def _hear(
    before: Mapping[str, SitemapRecord], records: Iterable[SitemapRecord], absent_runs: int
) -> dict[str, Visited]:
    """Return the information of the run about each document: of several records, the most informative one."""
    heard: dict[str, Visited] = {}
    for record in records:
        key = document_key(record.url)
        found = Visited(record, merge_decision(key, before, record, absent_runs=absent_runs))
        if key not in heard or _weight(found) > _weight(heard[key]):
            heard[key] = found
    return heard


def _weight(found: Visited) -> tuple[int, bool]:
    return _WEIGHTS[found.judgement.belief], found.record.fetched_at is not None


def _read_elsewhere(heard: Mapping[str, Visited]) -> dict[str, str]:
    """Return the keys of documents read completely through another URL that redirects to them, and that URL."""
    return {
        final: found.record.url
        for key, found in heard.items()
        if found.judgement.belief.is_whole and (final := final_key(found.record, key)) != key
    }


def _after(key: str, known: SitemapRecord | None, heard: Mapping[str, Visited], run: MergeRun) -> MergedSnapshot:
    """Return the document *key*, which the run visited. It may be removed here, but not yet for being unlisted."""
    found = heard[key]
    is_passed_on = _is_passed_on(key, found, heard)
    is_gone = is_passed_on or found.judgement.is_absent
    row = merge_record(found, known, run, is_gone=is_gone)
    left = None
    was_there = known is not None and has_rows(known) and final_key(known, key) == final_key(found.record, key)
    if is_passed_on and was_there:  # its rows belong to the target, which was read separately
        left = f"it redirects to {found.record.final_url}, which was read separately"
    return MergedSnapshot(_leave(row, left), found.judgement.belief)


def _new(
    key: str,
    document: MergedSnapshot,
    heard: Mapping[str, Visited],
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
        above = heard[lister].record.parent if lister in heard else None
    return document


def _is_passed_on(key: str, found: Visited, heard: Mapping[str, Visited]) -> bool:
    """Whether the document *key* redirects to a document that was read completely by itself."""
    record = found.record
    if record.outcome is not Outcome.SKIPPED or found.judgement.belief is not MergePolicy.KEEP:
        return False
    target = heard.get(final_key(record, key))
    return target is not None and target.judgement.belief.is_whole


def _leave_unlisted(
    documents: dict[str, MergedSnapshot],
    heard: Mapping[str, Visited],
    before: Mapping[str, SitemapRecord],
    references: Mapping[str, Collection[str]],
    references_before: Mapping[str, Collection[str]],
    absent_runs: int,
) -> None:
    """Mark the unlisted documents in *documents* as removed; if that is not certain, count the runs instead.

    If a document that may list them was not visited, they may have moved there. Then
    they count as absent in this run, whatever their response was.
    """
    standing = {
        key: ListedDocument(one.row, one.belief, key in heard and heard[key].record.found_by is not FoundBy.SNAPSHOT)
        for key, one in documents.items()
        if one.row.left is None
    }
    gone = unlisted(
        standing,
        references=references,
        references_before=references_before,
        redirects={key: final for key, one in heard.items() if (final := final_key(one.record, key)) != key},
        left=documents.keys() - standing.keys(),
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
            row = replace(row, absent_runs=runs, parent=standing[lister].row.url)
        documents[key] = documents[key]._replace(row=row)


def _leave_absent(documents: dict[str, MergedSnapshot], heard: Mapping[str, Visited], absent_runs: int) -> None:
    """Mark documents in *documents* as removed after enough consecutive runs of absence.

    This runs last, so that the removal of an unlisted index also removes the documents
    that only it listed.
    """
    for key, found in heard.items():
        row = documents[key].row
        if row.rows_from is None or row.absent_runs < absent_runs:
            continue
        if found.judgement.is_absent or _is_passed_on(key, found, heard):
            words = f"it was absent in {row.absent_runs} consecutive runs"
            documents[key] = documents[key]._replace(row=_leave(row, words))


def _leave(row: SitemapRecord, left: str | None) -> SitemapRecord:
    return row if left is None else replace(row, left=left, rows_from=None)
