"""``Candidate``, a document worth fetching, and ``NotFetched``, the reason why a document is not fetched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sitemap_harvest.model import Cause, FoundBy, Outcome, SitemapRef
from sitemap_harvest.urls import without_user

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A document worth fetching. Can be pickled, so that a paused crawl can store it."""

    url: str
    root: str
    """The site or document that the user named and that led to this candidate."""
    found_by: FoundBy = FoundBy.ARGUMENT
    parent: str | None = None
    """URL of the document that names it; ``None`` for a start of the run, and for a probed URL."""
    depth: int = 0
    site_root: bool = False
    """Whether this is the robots.txt that starts the harvest of a site, or a variant of it."""
    is_bare: bool = False
    """Whether the user named the site without a scheme."""
    lastmod: datetime | None = None
    lastmod_text: str | None = None
    attempt: int = 0
    """How often it was requeued because the server sent a ``Retry-After`` or 429."""
    status: int | None = None
    """The HTTP status after which it was requeued last; ``None`` if it was not requeued."""
    authorized: frozenset[str] = frozenset()
    """Sites whose robots.txt names this document, or a document that led to it."""
    last_run: str = ""
    """The run that last got to it and all documents below it; empty if none did, or the order is that of the lists."""

    def child(self, ref: SitemapRef, found_by: FoundBy, authorized: frozenset[str] = frozenset()) -> Candidate:
        """Return the candidate for *ref*, a reference in this document.

        *authorized*: the sites whose robots.txt this document is. A user name in the
        reference is removed: credentials published by somebody else are never used,
        because a hostile index could try passwords on other hosts.
        """
        return Candidate(
            url=without_user(ref.loc),
            root=self.root,
            found_by=found_by,
            parent=self.url,
            depth=self.depth + 1,
            lastmod=ref.lastmod,
            lastmod_text=ref.lastmod_text,
            # one set for all children of an index
            authorized=self.authorized | authorized if authorized else self.authorized,
        )


@dataclass(frozen=True, slots=True)
class NotFetched:
    """Why a candidate was not fetched, or why fetching it failed."""

    outcome: Outcome
    reason: str
    cause: Cause | None = None
    """Why there was no response; ``None`` if there was one."""
    problem: str | None = None
    """Code of the limit that was reached, such as ``limit/depth``; ``None`` if there was none."""
    is_pruned: bool = False
    """Whether it was skipped because of the ``lastmod`` in its index (``prune_index``)."""
