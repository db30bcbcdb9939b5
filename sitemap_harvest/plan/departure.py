"""Which documents are no part of a snapshot any more, and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.model import Kind, Outcome, SitemapRecord
from sitemap_harvest.plan.frontier import document_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from sitemap_harvest.plan.belief import Belief

_CONTAINERS = frozenset({Kind.INDEX, Kind.ROBOTS, Kind.LINKS})
_NEVER_READ = "nothing that was read names it any more, and it was never read itself"


class Standing(NamedTuple):
    """A document of the new snapshot, before it is known whether it stays."""

    row: SitemapRecord
    belief: Belief
    is_met: bool
    """Whether something other than the last snapshot led to it in this run."""

    @property
    def has_rows(self) -> bool:
        """Whether there are rows, or references, that it would leave with."""
        return self.row.rows_from is not None


class Departure(NamedTuple):
    """That nothing leads to a document any more."""

    words: str
    """Why, for the ledger."""
    lister: str
    """Key of the document that was read whole and does not list it any more, or that leaves too."""


class Unlisted(NamedTuple):
    """What nothing leads to any more."""

    leaving: dict[str, Departure]
    """By key, with evidence: who listed it was read whole and no longer does, or leaves itself."""
    dropped: dict[str, str]
    """Those that never had rows and were not met, by key, with the reason in words: there is nothing to keep."""
    is_certain: bool
    """Whether all documents that might list them were heard."""


def unlisted(
    standing: Mapping[str, Standing],
    *,
    references: Mapping[str, Collection[str]],
    references_before: Mapping[str, Collection[str]],
    redirects: Mapping[str, str],
    left: Collection[str],
    absent_runs: int,
) -> Unlisted:
    """Return what nothing in the snapshot leads to any more, of the documents *standing* (by key).

    *references* are the best that is known after this run, *references_before*
    after the last; both by key. *redirects* tells which documents lead to another:
    that counts as listing it. *left* are the keys of what has left for another
    reason. What the user named, or was tried by guess, needs nobody to list it.
    """
    lists = {key: frozenset(references[key]) - {key} for key in standing.keys() & references.keys()}
    counts = Counter(target for key, target in redirects.items() if key not in standing)
    lists |= {key: lists.get(key, frozenset()) | {redirects[key]} for key in redirects.keys() & standing.keys()}
    for listed in lists.values():
        counts.update(listed)
    leaving = _leaving(standing, lists, counts, references_before, redirects)
    staying = ((key, one) for key, one in standing.items() if key not in leaving)
    unmet = counts.keys() - standing.keys() - set(left) - set(redirects.values())  # read under another name
    is_certain = not any(counts[key] for key in unmet) and not any(
        _is_unheard(one, bool(references.get(key)), absent_runs) for key, one in staying
    )
    idle = {
        key: _NEVER_READ
        for key, one in standing.items()
        if is_certain and not one.has_rows and not one.is_met and not counts[key] and key not in leaving
    }
    return Unlisted(leaving, idle, is_certain)


def _leaving(
    standing: Mapping[str, Standing],
    lists: Mapping[str, frozenset[str]],
    counts: Counter[str],
    references_before: Mapping[str, Collection[str]],
    redirects: Mapping[str, str],
) -> dict[str, Departure]:
    """Return the documents that are left as their listers no longer list them, and what only those list."""
    waiting = [key for key, one in standing.items() if not counts[key] and needs_lister(one.row)]
    leaving: dict[str, Departure] = {}
    if not waiting:
        return leaving
    listers = _listers(standing, references_before)
    listed_by = _reversed(listers)
    while waiting:
        key = waiting.pop()
        if key in leaving or counts[key] or not needs_lister(standing[key].row):
            continue
        current = (one if one in standing else redirects.get(one, one) for one in listers.get(key, ()))
        departure = _evidence(standing, current, leaving)
        if departure is None:
            continue
        leaving[key] = departure
        counts.subtract(lists.get(key, ()))
        waiting += [one for one in (*lists.get(key, ()), *listed_by.get(key, ())) if one in standing]
    return leaving


def _evidence(
    standing: Mapping[str, Standing], listers: Iterable[str], leaving: Mapping[str, Departure]
) -> Departure | None:
    """Return how it is known that a document, which nobody lists now, is not listed by its *listers* any more."""
    for lister in listers:
        if lister in leaving:
            return Departure(f"{standing[lister].row.url}, which listed it, is not listed any more", lister)
        if lister in standing and standing[lister].belief.is_whole:
            return Departure(f"{standing[lister].row.url} was read whole and no longer lists it", lister)
    return None


def _is_unheard(one: Standing, lists_something: bool, absent_runs: int) -> bool:  # noqa: FBT001 - a fact of *one*
    """Whether *one* may list documents that this run could not learn of."""
    row = one.row
    if one.belief.is_whole or row.absent_runs >= absent_runs:
        return False
    if one.has_rows:
        return lists_something or row.kind in _CONTAINERS
    return may_list(row)


def may_list(row: SitemapRecord) -> bool:
    """Return whether the document of *row*, which could not be read whole, may list something."""
    if row.rows_from is not None:
        return True
    is_passed_over = row.outcome is Outcome.SKIPPED and row.final_url is None
    is_silent = is_passed_over or row.outcome is Outcome.OUT_OF_SCOPE  # nothing would have been found by it
    is_missing = row.outcome is Outcome.ABSENT and row.depth == 0  # nobody but the user says that it is there
    return not (is_silent or is_missing or row.found_by.is_guess)


def needs_lister(row: SitemapRecord) -> bool:
    """Return whether the document of *row* is part of the site only as long as another one lists it."""
    return row.parent is not None and row.depth > 0 and not row.found_by.is_guess


def _listers(standing: Mapping[str, Standing], references: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """Return which documents are known to have listed each: by *references*, and by its own row."""
    listers = _reversed(references)
    keys: dict[str, str] = {}  # of the parents, which are few
    for key, one in standing.items():
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
