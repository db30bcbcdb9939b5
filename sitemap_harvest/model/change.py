"""``Change`` and ``ChangeSummary``: the differences between two snapshots of a site."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003 - the schema is built from these annotations at run time
from enum import StrEnum
from typing import TYPE_CHECKING

from sitemap_harvest.display import counted
from sitemap_harvest.model.entry import INSTANT
from sitemap_harvest.model.item import ItemRecord
from sitemap_harvest.model.records import Outcome  # noqa: TC001 - the same

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOTES = {
    "newly known": " (from documents never read completely before, so perhaps not new)",
    "retracted": " (from documents read only in part before, so perhaps never there)",
}
"""Explanations of counts that are no changes."""

WAS_ABSENT = "the document was absent in "
"""How the reason of each document begins that left because it was absent."""
REDIRECTS_TO = "the URL redirects to "
"""How the reason of each document begins that left because it redirects to another one."""


class ChangeKind(StrEnum):
    """The kinds of change of a URL."""

    ADDED = "added"
    """A document that was read completely before, or did not exist, lists it now, and no document listed it before."""
    REMOVED = "removed"
    """No document lists it any more, and each one that did was read completely since, or was removed."""
    CHANGED = "changed"
    """Its values differ: ``fields`` has the names of the fields."""
    MOVED = "moved"
    """Another document lists it, and none of those that listed it before."""
    EXPIRED = "expired"
    """It disappeared from a feed or a news sitemap, which list only recent entries. The page may exist."""


@dataclass(kw_only=True, eq=False, repr=False)
class Change(ItemRecord):
    """The change of one URL between two snapshots: a row of the table ``changes``, and a Scrapy item.

    A URL that has moved and changed has two.
    """

    kind: ChangeKind
    loc: str
    """The URL as published in the later snapshot, or in the earlier one if it is gone."""
    key: str | None = None
    """Its canonical key, which identifies the URL; ``None`` if ``loc`` cannot be parsed."""
    site: str
    """The site of the snapshots, as named by the user."""
    sitemap: str
    """The document that lists it, or listed it if it is gone."""
    sitemap_before: str | None = None
    """The document that listed it before, if that is another one; else ``None``."""
    fields: tuple[str, ...] = ()
    """Names of the fields that differ, if it is ``changed``."""
    before: dict[str, str | None] | None = None
    """The earlier values of these fields as text: instants in ISO 8601, lists as JSON, ``None`` if absent. ``None``
    unless it is ``changed``."""
    after: dict[str, str | None] | None = None
    """Their values now."""
    reason: str | None = None
    """Why it is gone, as text, if it is ``removed`` or ``expired``; else ``None``."""
    pattern: str | None = None
    """The mass change that it is part of, such as ``http-to-https``; ``None`` for a single change."""
    counterpart: str | None = None
    """``loc`` of the former or the new URL, if a rename is likely; else ``None``."""
    score: float | None = None
    """Likelihood of the rename, from 0 to 1."""
    run: str
    """The run of the later snapshot."""
    baseline: str
    """The run of the earlier one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleSitemap:
    """A document whose URLs are from an earlier run, or unknown."""

    url: str
    outcome: Outcome
    """Its outcome in this run."""
    reason: str | None = None
    """The reason of the outcome as text."""
    fresh_at: datetime | None = field(default=None, metadata=INSTANT)
    """When the complete list of its URLs was last known; ``None``: never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftSitemap:
    """A document that was removed from the snapshot."""

    url: str
    reason: str
    """Why it was removed, as text."""

    @property
    def is_robots(self) -> bool:
        """Whether it is a robots.txt that is gone: the site counts as one without it."""
        return self.url.endswith("/robots.txt") and self.reason.startswith(WAS_ABSENT)

    def in_words(self) -> str:
        """Return the removal in one line."""
        if self.is_robots:
            runs = self.reason.removeprefix(WAS_ABSENT)
            return f"{self.url} is gone: it was absent in {runs}, so the site counts as one without a robots.txt"
        return f"Removed sitemap: {self.url}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MassChange:
    """Many changes that follow the same rule."""

    name: str
    """Name of the rule, such as ``http-to-https``; the ``pattern`` of each change."""
    count: int
    """Number of removed, expired or changed URLs with this ``pattern``. Unless they are changed, as many added URLs
    have it too."""
    share: float
    """Share of the URLs that the rule could apply to, 0 to 1: remaining URLs for ``lastmods-bumped``, else removed
    URLs."""
    detail: str
    """A description with an example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rename:
    """A removed and an added URL that are likely the same page."""

    removed: str
    """``loc`` of the removed URL."""
    added: str
    """``loc`` of the added URL."""
    score: float
    """Likelihood, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An argument or a limit that differs between the runs."""

    name: str
    before: str | None = None
    """Its value in the earlier run; ``None`` if it was not given."""
    after: str | None = None
    """Its value in the later run; ``None`` if it was not given."""


@dataclass(kw_only=True, eq=False, repr=False)
class ChangeSummary(ItemRecord):
    """The differences between two snapshots of a site: a row of the table ``summaries``, and a Scrapy item.

    Counts are of distinct URLs, however often they are listed.
    """

    site: str
    """The site of the snapshots, as named by the user."""
    run: str
    """The run of the later snapshot."""
    baseline: str | None = None
    """The run of the earlier snapshot. ``None``: there is none, so nothing was compared."""
    added: int = 0
    removed: int = 0
    changed: int = 0
    """URLs whose values differ."""
    moved: int = 0
    """URLs that other documents list now; some of them may also be ``changed``."""
    expired: int = 0
    """URLs that disappeared from a feed or a news sitemap."""
    unchanged: int = 0
    """URLs that neither changed nor moved; also those that are ``pending`` and were in the earlier snapshot."""
    newly_known: int = 0
    """URLs that are new to the store but perhaps not to the site: from documents that were never read completely
    before. They are not changes."""
    retracted: int = 0
    """URLs that only incompletely read documents listed, and that are not listed now that these were read completely:
    they may have been artifacts of a flaw, so they do not count as removed."""
    pending: int = 0
    """URLs that no document lists any more, but that are not reported as removed yet, because a document that failed,
    was skipped or was read in part may list them. They are part of the later snapshot, and not changes."""
    urls_before: int = 0
    """URLs of the earlier snapshot, including those that were pending."""
    urls_after: int = 0
    """URLs of the later snapshot, including those that are pending."""
    stale: int = 0
    """Entries that the documents of the later snapshot list, without pending ones, and that were not confirmed in its
    run: their document was neither read completely nor found unchanged, and the part that was read, if any, does not
    list them."""
    stale_share: float = 0.0
    """Their share of all entries that these documents list, without pending ones, 0 to 1; 1 only if it is all. If the
    documents list none, 1 unless the result of the site is ``found`` or ``absent``."""
    stale_sitemaps: tuple[StaleSitemap, ...] = ()
    """Documents that were neither read completely nor confirmed: the first 50 by URL. Those that were skipped on
    purpose, such as by a filter, are among them only if they list known URLs. Documents that are listed and absent are
    among them in every run."""
    unread: int = 0
    """Number of such documents, without those that were skipped on purpose. One that redirects to another document
    counts while the snapshot has its URLs."""
    sitemaps_came: tuple[str, ...] = ()
    """Documents with URLs that the baseline did not have: the first 50 by URL."""
    sitemaps_left: tuple[LeftSitemap, ...] = ()
    """Documents that were removed from the snapshot, without those that never existed: the first 50 by URL."""
    sitemaps_emptied: tuple[str, ...] = ()
    """Documents that listed URLs and list none any more: the first 50 by URL."""
    patterns: tuple[MassChange, ...] = ()
    """Mass changes, largest first."""
    renames: tuple[Rename, ...] = ()
    """Likely renames: the 50 with the best scores."""
    differences: tuple[Difference, ...] = ()
    """Arguments and limits that differ between the runs, by name. They never cause changes."""

    @property
    def counts(self) -> dict[str, int]:
        """Number of URLs of each kind of change, and of those without a change."""
        names = ("added", "removed", "changed", "moved", "expired", "newly_known", "retracted", "pending")
        return {name.replace("_", " "): getattr(self, name) for name in names}

    def in_words(self) -> str:
        """Return the changes in one line."""
        if self.baseline is None:
            return f"first snapshot of {self.site}: {counted(self.urls_after, 'URL')}, nothing to compare with"
        where = " in the documents that were read" if self.stale or self.unread else ""
        nothing = (
            "unknown, because no document that lists URLs was read" if self.stale_share == 1 else f"no change{where}"
        )
        unread = [unread_in_words(self.unread)] if self.unread else []
        words = "; ".join([", ".join(counts_in_words(self.counts)) or nothing, *unread])
        return f"{self.site} since {self.baseline}: {words}"


def counts_in_words(counts: Mapping[str, int]) -> list[str]:
    """Return the number of URLs of each kind in *counts*, those of :attr:`ChangeSummary.counts`, as text."""
    return [f"{count:,} {name}{_NOTES.get(name, '')}" for name, count in counts.items() if count]


def unread_in_words(documents: int) -> str:
    """Return that so many *documents* were not read completely, as text."""
    return f"{documents:,} document{' was' if documents == 1 else 's were'} not read completely"
