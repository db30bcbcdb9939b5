"""From the last snapshot of a site, and what became of each document in this run, to the next snapshot.

Absence is never taken for removal, and what was never read is never taken for
added: ``docs/explain/snapshots.md`` tells the rules, and why they are so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.model import FoundBy, Outcome, SitemapRecord
from sitemap_harvest.plan.belief import Belief, final_key, has_rows, judge
from sitemap_harvest.plan.departure import Standing, unlisted
from sitemap_harvest.plan.frontier import document_key
from sitemap_harvest.plan.successor import Heard, Run, successor, unheard_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime

_WEIGHTS = {Belief.KEEP: 0, Belief.ADD: 1, Belief.CONFIRM: 2, Belief.REPLACE: 3}


class Succeeded(NamedTuple):
    """One document after a run."""

    row: SitemapRecord
    """Its row of the new ledger. Where ``left`` is set it is no part of the snapshot, and has no rows in it."""
    belief: Belief
    """Where its rows come from; without meaning where ``rows_from`` is ``None``: there are none."""


def succeed(
    before: Mapping[str, SitemapRecord],
    records: Iterable[SitemapRecord],
    *,
    references: Mapping[str, Collection[str]],
    references_before: Mapping[str, Collection[str]],
    run: str,
    now: datetime,
    absent_runs: int = 3,
    pending: Collection[str] = (),
) -> dict[str, Succeeded]:
    """Return each document of the new ledger, by :func:`document_key`: those of *before* first, in its order.

    *before* is the ledger of the last snapshot by key, with the rows of what left
    in it; empty for a first run. *records* are the ledger rows of this run for
    the site; where a document has several, the one that tells most counts.
    *references* are the keys that each document lists, the best known after this
    run (as read where :func:`believe` says ``REPLACE``, with those of before where
    it says ``ADD``, else those of before), and *references_before* the same after
    the last run. Both hold every reference that was made a lead of: hints of pages
    and headers too, for what its parent does not list leaves. *run* is the id of
    this run, *now* its end. *pending* are the keys of documents whose rows include
    pending removals: one that left keeps its row. Nothing that is handed in is changed.
    """
    this = Run(run, now, absent_runs)
    heard = _hear(before, records, absent_runs)
    elsewhere = _read_elsewhere(heard)
    documents: dict[str, Succeeded] = {}
    for key in dict.fromkeys((*before, *heard)):
        known = before.get(key)
        if key in heard:
            documents[key] = _after(key, known, heard, this)
            if (known is None or known.left is not None) and not documents[key].belief.is_whole:
                documents[key] = _new(key, documents[key], heard, before, references_before)
        elif known is not None and known.left is None:
            left = f"it was read as {elsewhere[key]}, which redirects to it" if key in elsewhere else None
            documents[key] = Succeeded(_leave(unheard_of(known), left), Belief.KEEP)
        elif known is not None and key in pending:
            documents[key] = Succeeded(known, Belief.KEEP)
    _leave_unlisted(documents, heard, before, references, references_before, absent_runs)
    _leave_absent(documents, heard, absent_runs)
    return documents


def _hear(before: Mapping[str, SitemapRecord], records: Iterable[SitemapRecord], absent_runs: int) -> dict[str, Heard]:
    """Return what the run tells of each document: of several rows, the one that tells most."""
    heard: dict[str, Heard] = {}
    for record in records:
        key = document_key(record.url)
        found = Heard(record, judge(key, before, record, absent_runs=absent_runs))
        if key not in heard or _weight(found) > _weight(heard[key]):
            heard[key] = found
    return heard


def _weight(found: Heard) -> tuple[int, bool]:
    return _WEIGHTS[found.judgement.belief], found.record.fetched_at is not None


def _read_elsewhere(heard: Mapping[str, Heard]) -> dict[str, str]:
    """Return the keys of what was read whole under the address of another document, which redirects there."""
    return {
        final: found.record.url
        for key, found in heard.items()
        if found.judgement.belief.is_whole and (final := final_key(found.record, key)) != key
    }


def _after(key: str, known: SitemapRecord | None, heard: Mapping[str, Heard], run: Run) -> Succeeded:
    """Return the document *key*, which the run met; it may leave, but not yet because nothing lists it."""
    found = heard[key]
    is_passed_on = _is_passed_on(key, found, heard)
    is_gone = is_passed_on or found.judgement.is_absent
    row = successor(found, known, run, is_gone=is_gone)
    left = None
    was_there = known is not None and has_rows(known) and final_key(known, key) == final_key(found.record, key)
    if is_passed_on and was_there:  # its rows are of the address that was read by itself now
        left = f"it redirects to {found.record.final_url}, which was read by itself"
    return Succeeded(_leave(row, left), found.judgement.belief)


def _new(
    key: str,
    document: Succeeded,
    heard: Mapping[str, Heard],
    before: Mapping[str, SitemapRecord],
    references_before: Mapping[str, Collection[str]],
) -> Succeeded:
    """Return *document*, which is new or listed again and was not read whole, as one that listed nothing before.

    That is known of one that left, and of one that no document listed which was
    read whole. So every URL that it lists is new, also those of a later reading.
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


def _is_passed_on(key: str, found: Heard, heard: Mapping[str, Heard]) -> bool:
    """Whether the document *key* redirects to one that was read whole by itself."""
    record = found.record
    if record.outcome is not Outcome.SKIPPED or found.judgement.belief is not Belief.KEEP:
        return False
    target = heard.get(final_key(record, key))
    return target is not None and target.judgement.belief.is_whole


def _leave_unlisted(
    documents: dict[str, Succeeded],
    heard: Mapping[str, Heard],
    before: Mapping[str, SitemapRecord],
    references: Mapping[str, Collection[str]],
    references_before: Mapping[str, Collection[str]],
    absent_runs: int,
) -> None:
    """Mark in *documents* those that nothing leads to any more; or count the runs for as long as that is not certain.

    Where a document that may list them was not heard, they count as absent in
    this run, whatever they answered: it may be that they moved there.
    """
    standing = {
        key: Standing(one.row, one.belief, key in heard and heard[key].record.found_by is not FoundBy.SNAPSHOT)
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
            while lister in gone.leaving:  # to the one that stays, and will be asked again
                lister = gone.leaving[lister].lister  # noqa: PLW2901 - up the chain
            row = replace(row, absent_runs=runs, parent=standing[lister].row.url)
        documents[key] = documents[key]._replace(row=row)


def _leave_absent(documents: dict[str, Succeeded], heard: Mapping[str, Heard], absent_runs: int) -> None:
    """Mark in *documents* those that have been absent for so long that it is believed.

    Last, so that an index that is not listed any more takes what only it listed along.
    """
    for key, found in heard.items():
        row = documents[key].row
        if row.rows_from is None or row.absent_runs < absent_runs:
            continue
        if found.judgement.is_absent or _is_passed_on(key, found, heard):
            words = f"it was absent in {row.absent_runs} runs, one after the other"
            documents[key] = documents[key]._replace(row=_leave(row, words))


def _leave(row: SitemapRecord, left: str | None) -> SitemapRecord:
    return row if left is None else replace(row, left=left, rows_from=None)
