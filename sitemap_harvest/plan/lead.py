"""A document worth fetching, and why one is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sitemap_harvest.model import Cause, FoundBy, Outcome, SitemapRef
from sitemap_harvest.urls import without_user

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """A document worth fetching. Pickles, so that a paused crawl can keep it."""

    url: str
    root: str
    """What the user named and this was found from."""
    found_by: FoundBy = FoundBy.ARGUMENT
    parent: str | None = None
    """Address of the document that names it; ``None`` for what a run starts with, and for what is tried by guess."""
    depth: int = 0
    site_root: bool = False
    """Whether this is the robots.txt that the harvest of a site begins with, or a variant of it."""
    lastmod: datetime | None = None
    lastmod_text: str | None = None
    attempt: int = 0
    """How often it was put back because the server asked for patience."""
    vouched: frozenset[str] = frozenset()
    """Sites whose robots.txt names this document, or one that led to it."""

    def child(self, ref: SitemapRef, found_by: FoundBy, vouched: frozenset[str] = frozenset()) -> Lead:
        """Return the lead that *ref*, a reference of this document, opens.

        *vouched* are the sites that this document is the robots.txt of. A user
        name in the reference is left out: who publishes one does not log us in,
        and a hostile index could try passwords at the hosts of others.
        """
        return Lead(
            url=without_user(ref.loc),
            root=self.root,
            found_by=found_by,
            parent=self.url,
            depth=self.depth + 1,
            lastmod=ref.lastmod,
            lastmod_text=ref.lastmod_text,
            vouched=self.vouched | vouched if vouched else self.vouched,  # one set for all children of an index
        )


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a lead is not fetched, or what came of fetching it."""

    outcome: Outcome
    reason: str
    cause: Cause | None = None
    """Why there was no answer; ``None`` if there was one."""
    problem: str | None = None
    """Code of the limit that was reached, such as ``limit/depth``; ``None`` if none was."""
    is_pruned: bool = False
    """Whether it is for what an index says of when it changed (``prune_index``)."""
