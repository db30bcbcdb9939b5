"""Which documents are removed from a snapshot because nothing lists them, and when the removal of a URL is certain."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.model import Kind, Outcome, SitemapRecord
from sitemap_harvest.model.run import moment_of
from sitemap_harvest.snapshots.merge_policy import final_key
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

_CONTAINERS = frozenset({Kind.INDEX, Kind.ROBOTS, Kind.LINKS})


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
    unread: list[str]
    """Keys of the other documents that nothing lists and that have no rows."""
    is_certain: bool
    """Whether all documents that might list them were visited."""


def unlisted(
    present: Mapping[str, SitemapRecord],
    *,
    references: Mapping[str, Collection[str]],
    references_before: Mapping[str, Collection[str]],
    redirects: Mapping[str, str],
    whole: Collection[str],
    left: Collection[str],
    absent_runs: int,
) -> Unlisted:
    """Return the documents in *present* (records by key) that nothing in the snapshot leads to any more.

    *references* are those known after this run, *references_before* those after the
    last run; both by key. *redirects*: which documents redirect to another, which
    counts as listing it. *whole*: keys of documents whose rows this run knows
    completely. *left*: keys of documents that were removed for another reason.
    Documents that the user named, or that were probed, need no lister.
    """
    lists = {key: frozenset(references[key]) - {key} for key in present.keys() & references.keys()}
    counts = Counter(target for key, target in redirects.items() if key not in present)
    lists |= {key: lists.get(key, frozenset()) | {redirects[key]} for key in redirects.keys() & present.keys()}
    for listed in lists.values():
        counts.update(listed)
    leaving: dict[str, Removal] = {}
    if waiting := [key for key, row in present.items() if not counts[key] and needs_lister(row)]:
        listers = _listers(present, references_before)
        listed_by = _reversed(listers)
        while waiting:
            key = waiting.pop()
            if key in leaving or counts[key] or not needs_lister(present[key]):
                continue
            current = (one if one in present else redirects.get(one, one) for one in listers.get(key, ()))
            if (removal := _removal(present, current, whole, leaving)) is None:
                continue
            leaving[key] = removal
            counts.subtract(lists.get(key, ()))
            waiting += [one for one in (*lists.get(key, ()), *listed_by.get(key, ())) if one in present]
    unmet = counts.keys() - present.keys() - set(left) - set(redirects.values())  # read under another URL
    is_certain = not any(counts[key] for key in unmet) and not any(
        _may_list_more(row, bool(references.get(key)))
        for key, row in present.items()
        if key not in leaving and key not in whole and row.absent_runs < absent_runs
    )
    unread = [key for key, row in present.items() if row.rows_from is None and not counts[key] and key not in leaving]
    return Unlisted(leaving, unread, is_certain)


def _removal(
    present: Mapping[str, SitemapRecord],
    listers: Iterable[str],
    whole: Collection[str],
    leaving: Mapping[str, Removal],
) -> Removal | None:
    """Return the evidence that a document, which nothing lists now, is no longer listed by its *listers*."""
    for lister in listers:
        if lister in leaving:
            return Removal(f"{present[lister].url}, which listed the document, is no longer listed", lister)
        if lister in present and lister in whole:
            return Removal(f"{present[lister].url} was read completely and no longer lists the document", lister)
    return None


def _may_list_more(row: SitemapRecord, lists_something: bool) -> bool:  # noqa: FBT001 - a fact of the document
    """Whether the document of *row*, not read completely, may list documents that are unknown to this run."""
    return lists_something or row.kind in _CONTAINERS if row.rows_from is not None else may_list(row)


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


def _listers(present: Mapping[str, SitemapRecord], references: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """Return the documents known to have listed each one: from *references*, and from its own record."""
    listers = _reversed(references)
    keys: dict[str, str] = {}  # of the parents, which are few
    for key, row in present.items():
        if (parent := row.parent) is not None and needs_lister(row):
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
