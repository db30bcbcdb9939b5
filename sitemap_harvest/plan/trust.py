"""Whether the dates that an index gives its sitemaps have earned trust: told by what was seen of them so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from sitemap_harvest.model import Outcome, SitemapRecord
from sitemap_harvest.plan.belief import is_exact
from sitemap_harvest.plan.freshness import says_unchanged
from sitemap_harvest.plan.frontier import document_key

if TYPE_CHECKING:
    from collections.abc import Mapping

MIN_TOLD = 20
"""Changes that the dates have told. If one in seven went untold, twenty in a row would be told in one case of twenty:
so with 95 % certainty fewer do."""
MIN_RUNS = 3
"""Runs in which they told changes: all sitemaps that a new program writes in one night are one observation."""
MOST_SILENT = 0.01
"""Share of changes that may go untold: none until a hundred were told."""
_MEMORY = 1000  # changes, after which older ones count half: a site may change its program


class Observed(NamedTuple):
    """What was seen of the sitemaps of one index, over runs."""

    told: int = 0
    """Changed, and the date had moved."""
    silent: int = 0
    """Changed, though the date said that nothing had."""
    idle: int = 0
    """Not changed, and the date had moved."""
    runs: int = 0
    """Runs in which a change was told."""

    def plus(self, other: Observed) -> Self:
        """Return this and *other*, what was seen in a later run."""
        told, silent, idle, runs = (mine + new for mine, new in zip(self, other, strict=True))
        if told + silent > _MEMORY or idle > _MEMORY:
            told, silent, idle = told // 2, (silent + 1) // 2, idle // 2
        return type(self)(told, silent, idle, runs)


def is_trusted(observed: Observed) -> bool:
    """Whether a sitemap may be skipped where the date in its index has not moved.

    Dates that move more often without a change than with one are those of the run
    of a program, and not of the content: that they told each change is chance.
    """
    told, silent, idle, runs = observed
    return told >= MIN_TOLD and runs >= MIN_RUNS and silent <= MOST_SILENT * told and idle <= told


def observe(before: Mapping[str, SitemapRecord], after: Mapping[str, SitemapRecord]) -> dict[str, Observed]:
    """Return what a run has shown of the dates of each index, by :func:`document_key` of the index.

    *before* and *after* are the ledgers of two snapshots, one after the other, by
    key. Only sitemaps that were looked at in the run count, with a date both times.
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
    return {parent: Observed(told, silent, idle, runs=min(1, told)) for parent, (told, silent, idle) in seen.items()}


def _seen(known: SitemapRecord, row: SitemapRecord) -> int | None:
    """Return which count of :class:`Observed` goes up; ``None`` if nothing can be told."""
    was_looked_at = row.outcome in {Outcome.READ, Outcome.UNCHANGED} and row.complete
    if not was_looked_at or not is_exact(known) or not is_exact(row):
        return None
    if known.lastmod_text is None or row.lastmod_text is None:
        return None
    has_changed = known.sha256 != row.sha256
    if known.lastmod_text != row.lastmod_text:
        return 0 if has_changed else 2
    return 1 if has_changed and says_unchanged(known, row.lastmod, row.lastmod_text) else None
