"""Which documents are removed from a snapshot because nothing lists them, and when the removal of a URL is certain."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.model import Kind, Outcome, SitemapRecord
from sitemap_harvest.model.run import moment_of
from sitemap_harvest.snapshots.merge.merge_policy import final_key
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from sitemap_harvest.snapshots.merge.merge_policy import MergePolicy

_CONTAINERS = frozenset({Kind.INDEX, Kind.ROBOTS, Kind.LINKS})
NEVER_READ = "no document lists it any more, and it was never read"


class MergedDocument(NamedTuple):
    """One document after a run."""

    row: SitemapRecord
    """Its new record. If ``left`` is set, the document is not part of the snapshot and has no rows in it."""
    policy: MergePolicy
    """Where its rows come from; meaningless if ``rows_from`` is ``None``: it has no rows."""


class Removal(NamedTuple):
    """Why nothing leads to a document any more."""

    words: str
    """The reason, for its record."""
    lister: str
    """Key of the document that was read completely and does not list it any more, or that is removed too."""


class Unlisted(NamedTuple):
    """The documents that nothing leads to any more."""

    leaving: dict[str, Removal]
    """Documents with evidence, by key: a lister was read completely and no longer lists it, or is removed itself."""
    dropped: list[str]
    """Keys of documents that never had rows and were not found in this run: nothing is lost."""
    is_certain: bool
    """Whether all documents that might list them were visited."""


def unlisted(
    present: Mapping[str, MergedDocument],
    *,
    references: Mapping[str, Collection[str]],
    references_before: Mapping[str, Collection[str]],
    redirects: Mapping[str, str],
    left: Collection[str],
    met: Collection[str],
    absent_runs: int,
) -> Unlisted:
    """Return the documents in *present* (by key) that nothing in the snapshot leads to any more.

    *references* are those known after this run, *references_before* those after the
    last run; both by key. *redirects*: which documents redirect to another, which
    counts as listing it. *left*: keys of documents that were removed for another
    reason. *met*: keys of documents that something other than the last snapshot led to in
    this run. Documents that the user named, or that were probed, need no lister.
    """
    lists = {key: frozenset(references[key]) - {key} for key in present.keys() & references.keys()}
    counts = Counter(target for key, target in redirects.items() if key not in present)
    lists |= {key: lists.get(key, frozenset()) | {redirects[key]} for key in redirects.keys() & present.keys()}
    for listed in lists.values():
        counts.update(listed)
    leaving = _leaving(present, lists, counts, references_before, redirects)
    staying = ((key, one) for key, one in present.items() if key not in leaving)
    unmet = counts.keys() - present.keys() - set(left) - set(redirects.values())  # read under another URL
    is_certain = not any(counts[key] for key in unmet) and not any(
        _may_list_more(one, bool(references.get(key)), absent_runs) for key, one in staying
    )
    idle = [
        key
        for key, one in present.items()
        if is_certain and one.row.rows_from is None and key not in met and not counts[key] and key not in leaving
    ]
    return Unlisted(leaving, idle, is_certain)


def _leaving(
    present: Mapping[str, MergedDocument],
    lists: Mapping[str, frozenset[str]],
    counts: Counter[str],
    references_before: Mapping[str, Collection[str]],
    redirects: Mapping[str, str],
) -> dict[str, Removal]:
    """Return the documents that no lister lists any more, and those that only such documents list."""
    waiting = [key for key, one in present.items() if not counts[key] and needs_lister(one.row)]
    leaving: dict[str, Removal] = {}
    if not waiting:
        return leaving
    listers = _listers(present, references_before)
    listed_by = _reversed(listers)
    while waiting:
        key = waiting.pop()
        if key in leaving or counts[key] or not needs_lister(present[key].row):
            continue
        current = (one if one in present else redirects.get(one, one) for one in listers.get(key, ()))
        removal = _evidence(present, current, leaving)
        if removal is None:
            continue
        leaving[key] = removal
        counts.subtract(lists.get(key, ()))
        waiting += [one for one in (*lists.get(key, ()), *listed_by.get(key, ())) if one in present]
    return leaving


def _evidence(
    present: Mapping[str, MergedDocument], listers: Iterable[str], leaving: Mapping[str, Removal]
) -> Removal | None:
    """Return the evidence that a document, which nothing lists now, is no longer listed by its *listers*."""
    for lister in listers:
        if lister in leaving:
            return Removal(f"{present[lister].row.url}, which listed it, is no longer listed", lister)
        if lister in present and present[lister].policy.is_whole:
            return Removal(f"{present[lister].row.url} was read completely and no longer lists it", lister)
    return None


def _may_list_more(one: MergedDocument, lists_something: bool, absent_runs: int) -> bool:  # noqa: FBT001 - a fact of *one*
    """Whether *one* may list documents that are unknown to this run."""
    row = one.row
    if one.policy.is_whole or row.absent_runs >= absent_runs:
        return False
    if row.rows_from is not None:
        return lists_something or row.kind in _CONTAINERS
    return may_list(row)


def may_list(row: SitemapRecord) -> bool:
    """Return whether the document of *row*, which could not be read completely, may list something."""
    if row.rows_from is not None:
        return True
    is_passed_over = row.outcome is Outcome.SKIPPED and row.final_url is None
    is_silent = is_passed_over or row.outcome is Outcome.OUT_OF_SCOPE  # it was not fetched on purpose
    is_missing = row.outcome is Outcome.ABSENT and row.depth == 0  # only the user named it
    return not (is_silent or is_missing or row.found_by.is_guess)


def needs_lister(row: SitemapRecord) -> bool:
    """Return whether the document of *row* belongs to the site only while another document lists it."""
    return row.parent is not None and row.depth > 0 and not row.found_by.is_guess


def _listers(present: Mapping[str, MergedDocument], references: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """Return the documents known to have listed each one: from *references*, and from its own record."""
    listers = _reversed(references)
    keys: dict[str, str] = {}  # of the parents, which are few
    for key, one in present.items():
        if (parent := one.row.parent) is not None and needs_lister(one.row):
            if parent not in keys:
                keys[parent] = document_key(parent)
            listers.setdefault(key, []).append(keys[parent])
    return listers


def _reversed(lists: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    listers: dict[str, list[str]] = {}
    for lister, listed in lists.items():
        for key in listed:
            if key != lister:
                listers.setdefault(key, []).append(lister)
    return listers


def is_settled(run: str, ledger: Mapping[str, SitemapRecord], references: Mapping[str, Collection[str]]) -> bool:
    """Return whether no document of a site can list a URL that this *run* did not find.

    *ledger* has the documents of the new snapshot, and *references* what each of them
    lists, both by :func:`document_key`. This one run must have read each of them whole
    or found it unchanged: between two runs a URL may have moved from a document that
    only the second run read to one that only the first run read.
    """
    present = {key: row for key, row in ledger.items() if row.left is None}
    if any(row.fresh_run != run and may_list(row) for row in present.values()):
        return False
    met = ledger.keys() | {final_key(row, key) for key, row in ledger.items()}
    return all(met.issuperset(references.get(key, ())) for key in present)


def is_overdue(since: str, run: str, *, runs: int, most_runs: int, most_days: int) -> bool:
    """Return whether a removal has been pending for too long: it is reported once both limits are reached.

    *since* is the first run that did not find the URL, *run* this one, and *runs*
    in how many runs the removal has been pending so far.
    """
    return runs >= most_runs and (moment_of(run) - moment_of(since)).days >= most_days
