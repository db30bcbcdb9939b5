"""``merge_snapshot``: the next snapshot of a site, from the last one and the outcome of each document in a run. Pure.

Absence is never taken for removal, and an unread document never causes additions:
``docs/explain/snapshots.md`` explains the rules and the reasons.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sitemap_harvest.model import REDIRECTS_TO, WAS_ABSENT, FoundBy, Outcome, SitemapRecord
from sitemap_harvest.snapshots.merge_policy import MergeDecision, MergePolicy, final_key, has_rows, merge_decision
from sitemap_harvest.snapshots.removal import unlisted
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime

NEVER_READ = "the document is no longer listed, and was never read"
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

    def weight(self) -> tuple[int, bool]:
        """Return how informative it is."""
        return _WEIGHTS[self.decision.policy], self.record.fetched_at is not None


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
) -> dict[str, SitemapRecord]:
    """Return the record of each document after the run, by :func:`document_key`: those of *before* first, in its order.

    A document whose record has ``left`` is not part of the new snapshot, and has no rows in it.

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
    visited: dict[str, _Visited] = {}
    for record in records:
        key = document_key(record.url)
        found = _Visited(record, merge_decision(key, before, record, absent_runs=absent_runs))
        if key not in visited or found.weight() > visited[key].weight():
            visited[key] = found
    merge = _Merge(before, visited, references, references_before, run, now, absent_runs)
    elsewhere = {
        final: found.record.url  # which redirects to it, and was read completely
        for key, found in visited.items()
        if found.decision.policy.is_whole and (final := final_key(found.record, key)) != key
    }
    for key in dict.fromkeys((*before, *visited)):
        if key in visited:
            merge.rows[key] = merge.row_of_visited(key)
        elif (known := before[key]).left is None:
            left = f"the document was read as {elsewhere[key]}, which redirects to it" if key in elsewhere else None
            merge.rows[key] = _leave(_not_visited(known), left)
        elif key in pending:
            merge.rows[key] = known
    merge.leave_unlisted()
    merge.leave_absent()
    return merge.rows


@dataclass(frozen=True, slots=True)
class _Merge:
    """The arguments of :func:`merge_snapshot`, and the records of the new snapshot so far."""

    before: Mapping[str, SitemapRecord]
    visited: Mapping[str, _Visited]
    references: Mapping[str, Collection[str]]
    references_before: Mapping[str, Collection[str]]
    run: str
    now: datetime
    absent_runs: int
    rows: dict[str, SitemapRecord] = field(default_factory=dict)

    def is_whole(self, key: str) -> bool:
        """Whether the run knows all rows of the document."""
        return key in self.visited and self.visited[key].decision.policy.is_whole

    def row_of_visited(self, key: str) -> SitemapRecord:
        """Return the record of a document that the run visited. It may be removed here, but not for being unlisted."""
        found, known = self.visited[key], self.before.get(key)
        row = self._merged(key, found, known)
        if (known is None or known.left is not None) and not found.decision.policy.is_whole:
            return self._as_new(key, row)
        left = None
        was_there = known is not None and has_rows(known) and final_key(known, key) == final_key(found.record, key)
        if was_there and self._is_passed_on(key):  # its rows belong to the target, which was read separately
            left = f"{REDIRECTS_TO}{found.record.final_url}, which was read separately"
        return _leave(row, left)

    def _is_passed_on(self, key: str) -> bool:
        """Whether the document redirects to one that was read completely by itself."""
        record, decision = self.visited[key]
        is_passed_over = record.outcome is Outcome.SKIPPED and decision.policy is MergePolicy.KEEP
        return is_passed_over and self.is_whole(final_key(record, key))

    def _is_gone(self, key: str) -> bool:
        """Whether the document counts as absent in this run."""
        return self.visited[key].decision.is_absent or self._is_passed_on(key)

    def _merged(self, key: str, found: _Visited, known: SitemapRecord | None) -> SitemapRecord:
        """Return the record of a document with the result *found*, assuming that it is not removed."""
        record, policy = found.record, found.decision.policy
        kept = known if known is not None and has_rows(known) else None
        moment = record.fetched_at or self.now
        fresh = {"fresh_at": moment, "fresh_run": self.run}
        values = {}
        if known is not None and (record.found_by is FoundBy.SNAPSHOT or record.found_by.is_guess):
            values = _of(known, _OF_THE_PROVENANCE)  # only the last snapshot or a probe led to it
        if policy is MergePolicy.REPLACE:
            values |= fresh | {"rows_from": self.run, "read_at": moment, "absent_runs": 0}
        elif policy is MergePolicy.ADD:
            values |= _added(kept) | {"rows_from": self.run}
            if known is not None and known.left is None:
                values |= _of(known, _FRESHNESS)  # also for a new document that could not be read so far
        elif policy is MergePolicy.CONFIRM and kept is not None:
            values |= _confirmed(record, kept, moment) | fresh
        else:
            values |= _kept(found, kept) | {"absent_runs": (known.absent_runs if known else 0) + self._is_gone(key)}
            if kept is None and self._is_gone(key) and values["absent_runs"] >= self.absent_runs:
                values |= fresh  # absent for enough runs: it lists nothing
        if all(getattr(record, name) == value for name, value in values.items()):
            return record  # unchanged, as for 100,000 documents that the user does not want
        return replace(record, **values)

    def _as_new(self, key: str, row: SitemapRecord) -> SitemapRecord:
        """Return *row*, of a document that is new or listed again and was not read completely, with its URLs as new.

        It is known to have listed nothing before if it was removed, or if a completely read
        document did not list it. So every URL that it lists is new, even in a later
        reading.
        """
        left = self.before.get(key)
        if row.fresh_run == self.run and any(key in listed for listed in self.references_before.values()):
            return row  # it left because it was absent, and still is, although it is listed: it has no URLs
        if left is not None and left.fresh_at is not None:
            return replace(row, fresh_at=left.fresh_at, fresh_run=left.fresh_run)
        above, seen = row.parent, {key}
        while row.fresh_at is None and above is not None and (lister := document_key(above)) not in seen:
            seen.add(lister)
            if (known := self.before.get(lister)) is not None and known.left is None:
                if key in self.references_before.get(lister, ()):
                    return row
                return replace(row, fresh_at=known.fresh_at, fresh_run=known.fresh_run)
            above = self.visited[lister].record.parent if lister in self.visited else None
        return row

    def leave_unlisted(self) -> None:
        """Mark the unlisted documents as removed; if that is not certain, count the runs instead.

        If a document that may list them was not visited, they may have moved there. Then
        they count as absent in this run, whatever their response was.
        """
        present = {key: row for key, row in self.rows.items() if row.left is None}
        redirects = {key: final for key, one in self.visited.items() if (final := final_key(one.record, key)) != key}
        gone = unlisted(
            present,
            references=self.references,
            references_before=self.references_before,
            redirects=redirects,
            whole={key for key in present if self.is_whole(key)},
            left=self.rows.keys() - present.keys(),
            absent_runs=self.absent_runs,
        )
        for key, (words, lister) in gone.leaving.items():
            row = present[key]
            runs = 1 + (self.before[key].absent_runs if key in self.before else 0)
            if gone.is_certain or runs >= self.absent_runs:
                self.rows[key] = _leave(row, words)
                continue
            while lister in gone.leaving:  # up to the document that stays, and will be requested again
                lister = gone.leaving[lister].lister  # noqa: PLW2901 - up the chain
            self.rows[key] = replace(row, absent_runs=runs, parent=present[lister].url)
        for key in gone.unread if gone.is_certain else ():
            if key not in self.visited or self.visited[key].record.found_by is FoundBy.SNAPSHOT:
                self.rows[key] = _leave(present[key], NEVER_READ)

    def leave_absent(self) -> None:
        """Mark documents as removed after enough runs of absence.

        This runs last, so that the removal of an unlisted index also removes the documents
        that only it listed.
        """
        for key in self.visited:
            row = self.rows[key]
            if row.rows_from is not None and row.absent_runs >= self.absent_runs and self._is_gone(key):
                self.rows[key] = _leave(row, f"{WAS_ABSENT}{row.absent_runs} runs")


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


def _added(kept: SitemapRecord | None) -> dict[str, Any]:
    """Return the changes to the record of a partly read document: no digest covers its rows."""
    values = _of(kept, ("kind", "encoding", "read_at")) if kept is not None else {}
    return {**values, "etag": None, "last_modified": None, "sha256": None, "absent_runs": 0, "complete": False}


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
        values["reason"] = f"{found.decision.doubt}; the reading is not accepted yet"
    if kept is not None:
        values |= _of(kept, (*_OF_THE_READING, "rows_from", *_FRESHNESS, "read_at"))
    return values


def _of(row: SitemapRecord, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}
