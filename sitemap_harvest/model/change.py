"""What became of a site between two snapshots: one record for each URL that changed, one that sums them up."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003 - the schema is made from these annotations at run time
from enum import StrEnum

from sitemap_harvest.model.entry import INSTANT
from sitemap_harvest.model.ledger import Outcome  # noqa: TC001 - the same


class ChangeKind(StrEnum):
    """What became of a URL."""

    ADDED = "added"
    """A document that was read whole before, or that was not there, lists it now, and none did."""
    REMOVED = "removed"
    """No document lists it any more, and each that did was read whole since, or has left."""
    CHANGED = "changed"
    """What is said of it is another: ``fields`` has the names."""
    MOVED = "moved"
    """Another document lists it, and no document that did."""
    EXPIRED = "expired"
    """It has left a feed or a news sitemap, which show what is recent only: nothing says that it is gone."""


@dataclass(slots=True, kw_only=True)
class Change:
    """What became of one URL between two snapshots: a row of the table ``changes``, and a Scrapy item.

    A URL that has moved, and of which another thing is said too, has two.
    """

    kind: ChangeKind
    """What became of it, in one word."""
    loc: str
    """The URL as published: now, or last where it is gone."""
    key: str | None = None
    """Its canonical form, which tells that it is the same URL; ``None`` where ``loc`` cannot be taken apart."""
    site: str
    """The site of the snapshots: what the user named."""
    sitemap: str
    """The document that lists it; the one that did, where it is gone."""
    sitemap_before: str | None = None
    """The document that listed it before, where that is another one; else ``None``."""
    fields: tuple[str, ...] = ()
    """Names of the fields that differ, where it is ``changed``."""
    before: dict[str, str | None] | None = None
    """What those fields were, as text: instants in ISO 8601, lists as JSON, ``None`` where it was absent.
    ``None`` unless it is ``changed``."""
    after: dict[str, str | None] | None = None
    """What they are now."""
    reason: str | None = None
    """Why it is gone, in words, where it is ``removed`` or ``expired``; else ``None``."""
    pattern: str | None = None
    """The mass change that this is a part of, such as ``http-to-https``; ``None`` if it stands alone.
    The summary tells how many there are."""
    counterpart: str | None = None
    """``loc`` of what this URL was, or has become, where a rename is likely; else ``None``."""
    score: float | None = None
    """How likely that is, from 0 to 1."""
    run: str
    """The run of the later snapshot."""
    baseline: str
    """The run of the earlier one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleSitemap:
    """A document whose URLs are those of an earlier run, or not known at all."""

    url: str
    """Its address."""
    outcome: Outcome
    """What became of it in this run."""
    reason: str | None = None
    """The same in words."""
    fresh_at: datetime | None = field(default=None, metadata=INSTANT)
    """When its URLs were last known to be all that it lists; ``None``: never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftSitemap:
    """A document that is no part of the snapshot any more."""

    url: str
    """Its address."""
    reason: str
    """Why it left, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MassChange:
    """Many changes that are one."""

    name: str
    """What they have in common, such as ``http-to-https``; the ``pattern`` of each."""
    count: int
    """How many URLs it befell."""
    share: float
    """The same as a share of all that it could have befallen, 0 to 1: URLs that stay for ``lastmods-bumped``, else
    URLs that are gone."""
    detail: str
    """The same in words, with an example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rename:
    """A URL that is gone and one that was added, which are likely the same page."""

    removed: str
    """``loc`` of the one that is gone."""
    added: str
    """``loc`` of the one that was added."""
    score: float
    """How likely that is, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An argument or a limit that was not the same in both runs."""

    name: str
    """Its name."""
    before: str | None = None
    """What it was in the earlier run; ``None`` if it was not given."""
    after: str | None = None
    """What it was in the later run; ``None`` if it was not given."""


@dataclass(slots=True, kw_only=True)
class ChangeSummary:
    """What became of a site between two snapshots: a row of the table ``summaries``, and a Scrapy item.

    Counts are of different URLs, however often they are listed.
    """

    site: str
    """The site of the snapshots: what the user named."""
    run: str
    """The run of the later snapshot."""
    baseline: str | None = None
    """The run of the earlier one. ``None``: there is none, so nothing was compared."""
    added: int = 0
    """URLs that were added."""
    removed: int = 0
    """URLs that were removed."""
    changed: int = 0
    """URLs of which another thing is said."""
    moved: int = 0
    """URLs that another document lists; some of them may be among those ``changed`` too."""
    expired: int = 0
    """URLs that have left a feed or a news sitemap."""
    unchanged: int = 0
    """URLs that have neither changed nor moved."""
    newly_known: int = 0
    """URLs that are new to us and perhaps not to the site: of documents that the baseline had never read whole. They
    are no changes."""
    retracted: int = 0
    """URLs that only documents listed which were never read whole, and that are not listed now that they were: a flaw
    may have made them, so nothing says that they were removed."""
    pending: int = 0
    """URLs that no document lists any more, and that are not reported as gone: a document that could not be read may
    list them. They are part of the later snapshot, and no changes."""
    urls_before: int = 0
    """URLs of the earlier snapshot."""
    urls_after: int = 0
    """URLs of the later one."""
    stale: int = 0
    """Entries of the later snapshot whose document was neither read whole nor confirmed in its run."""
    stale_share: float = 0.0
    """The same as a share of all its entries, 0 to 1."""
    stale_sitemaps: tuple[StaleSitemap, ...] = ()
    """Documents that were neither read whole nor confirmed: the first 50 by address."""
    sitemaps_came: tuple[str, ...] = ()
    """Documents with URLs that the baseline did not know: the first 50 by address."""
    sitemaps_left: tuple[LeftSitemap, ...] = ()
    """Documents that are no part of the snapshot any more: the first 50 by address."""
    sitemaps_emptied: tuple[str, ...] = ()
    """Documents that listed URLs and list none any more: the first 50 by address."""
    patterns: tuple[MassChange, ...] = ()
    """Mass changes, each named as one; the largest comes first."""
    renames: tuple[Rename, ...] = ()
    """Likely renames: the 50 with the best scores."""
    differences: tuple[Difference, ...] = ()
    """Arguments and limits that differ between the runs, by name. They never make changes."""

    @property
    def counts(self) -> dict[str, int]:
        """How many URLs there are of each sort, by a word for it: the kinds of change, and what is none."""
        return {
            "added": self.added,
            "removed": self.removed,
            "changed": self.changed,
            "moved": self.moved,
            "expired": self.expired,
            "newly known": self.newly_known,
            "retracted": self.retracted,
            "pending": self.pending,
        }

    def in_words(self) -> str:
        """Return what changed in one line."""
        if self.baseline is None:
            return f"first snapshot of {self.site}: {self.urls_after} URLs, nothing to compare them with"
        told = [f"{count} {name}" for name, count in self.counts.items() if count]
        return f"{self.site} since {self.baseline}: {', '.join(told) or 'no change'}"
