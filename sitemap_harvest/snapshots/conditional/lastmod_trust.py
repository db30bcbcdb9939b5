"""Whether the ``lastmod`` dates of an index are reliable enough to skip its sitemaps, from the runs so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from sitemap_harvest.model import Outcome, SitemapRecord
from sitemap_harvest.snapshots.conditional.conditional_requests import says_unchanged
from sitemap_harvest.snapshots.merge.merge_policy import is_exact
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Mapping

MIN_CORRECT = 20
"""Minimum number of changes that the dates reported. If the dates missed one change in seven, twenty reported changes
in a row would occur in one case of twenty; so with 95 % certainty they miss fewer."""
MIN_RUNS = 3
"""Minimum number of runs with reported changes: all sitemaps that a new program writes in one night are one
observation."""
MOST_MISSED = 0.01
"""Maximum share of missed changes: none until a hundred were reported."""
_MEMORY = 1000  # changes, after which counts are halved: a site may change its software


class LastmodStats(NamedTuple):
    """How well the ``lastmod`` dates of one index matched the changes of its sitemaps, over runs."""

    correct: int = 0
    """The sitemap changed, and so did its date."""
    missed: int = 0
    """The sitemap changed, but its date said that it had not."""
    spurious: int = 0
    """The sitemap did not change, but its date did."""
    runs: int = 0
    """Runs in which a change was reported."""

    def plus(self, other: LastmodStats) -> Self:
        """Return the sum of these counts and *other*, those of a later run."""
        correct, missed, spurious, runs = (mine + new for mine, new in zip(self, other, strict=True))
        if correct + missed > _MEMORY or spurious > _MEMORY:
            correct, missed, spurious = correct // 2, (missed + 1) // 2, spurious // 2
        return type(self)(correct, missed, spurious, runs)


def is_trusted(observed: LastmodStats) -> bool:
    """Whether a sitemap may be skipped if its date in the index has not changed.

    Dates that change more often without a content change than with one are generation
    timestamps: that they reported every change is chance.
    """
    correct, missed, spurious, runs = observed
    return correct >= MIN_CORRECT and runs >= MIN_RUNS and missed <= MOST_MISSED * correct and spurious <= correct


def observe(before: Mapping[str, SitemapRecord], after: Mapping[str, SitemapRecord]) -> dict[str, LastmodStats]:
    """Return the counts of one run for each index, by :func:`document_key` of the index.

    *before* and *after* are the document records of two consecutive snapshots, by key.
    Only sitemaps that were checked in the run, and have a date in both, count.
    """
    seen: dict[str, list[int]] = {}
    keys: dict[str, str] = {}
    for key, row in after.items():
        known = before.get(key)
        if known is None or row.parent is None or row.parent != known.parent:
            continue
        if (what := _seen(known, row)) is not None:
            if row.parent not in keys:
                keys[row.parent] = document_key(row.parent)
            seen.setdefault(keys[row.parent], [0, 0, 0])[what] += 1
    return {
        parent: LastmodStats(correct, missed, spurious, runs=min(1, correct))
        for parent, (correct, missed, spurious) in seen.items()
    }


def _seen(known: SitemapRecord, row: SitemapRecord) -> int | None:
    """Return the index of the :class:`LastmodStats` field to increment; ``None`` if nothing can be concluded."""
    was_looked_at = row.outcome in {Outcome.READ, Outcome.UNCHANGED} and row.complete
    if not was_looked_at or not is_exact(known) or not is_exact(row):
        return None
    if known.lastmod_text is None or row.lastmod_text is None:
        return None
    has_changed = known.sha256 != row.sha256
    if known.lastmod_text != row.lastmod_text:
        return 0 if has_changed else 2
    return 1 if has_changed and says_unchanged(known, row.lastmod, row.lastmod_text) else None
