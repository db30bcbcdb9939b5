"""``Session``: the store of a run, as the engine uses it. This one stores nothing: for a run without a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sitemap_harvest.diff import Changes
    from sitemap_harvest.discovery.candidate import Candidate
    from sitemap_harvest.engine.site_snapshot import SiteSnapshot
    from sitemap_harvest.model import SitemapRecord, SitemapRef, UrlBatch


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """The stored data of a document, available without a request."""

    record: SitemapRecord
    """Its record."""
    references: Sequence[SitemapRef]
    """The documents that it names."""
    urls: Callable[[], Iterator[UrlBatch]]
    """Yields the URLs that it lists."""


class DocumentRequest(NamedTuple):
    """How to request a document."""

    headers: Mapping[str, str] = {}
    """Conditional headers."""
    known: KnownDocument | None = None
    """Its stored data if it need not be requested; ``None`` if it must be."""
    reason: str | None = None
    """Why it need not be requested; ``None``: an interrupted run has read it, and this run resumes that."""


class SiteUnavailable(NamedTuple):
    """Why a site is not harvested."""

    reason: str
    is_temporary: bool = False
    """Whether it ends when another run ends."""


# ruff: noqa: ARG002 - methods that do nothing use no arguments


class Session:
    """The store of a run without a store."""

    def begin(self, root: str) -> SiteUnavailable | None:
        """Lock and open the site *root*, unless it is open; return the obstacle, if there is one."""
        return None

    def site(self, root: str) -> SiteSnapshot | None:
        """Return the site *root*; ``None`` if it is not stored."""
        return None

    def ask(self, candidate: Candidate) -> DocumentRequest:
        """Return how to request the document of *candidate*."""
        return DocumentRequest()

    def note(self, record: SitemapRecord) -> None:
        """Store *record*."""

    def checkpoint(self) -> None:
        """Write a checkpoint of sites with much new data."""

    def commit(
        self,
        root: str,
        shared: Sequence[tuple[Candidate, str]],
        owner_of: Callable[[str], str | None],
        *,
        is_over: bool,
    ) -> list[Changes]:
        """Publish the snapshot of the site *root*; return its changes since the baseline."""
        return []

    def mark_delivered(self, root: str) -> None:
        """Record that the spider has yielded all changes of the site *root*."""

    def give_up(self, error: Exception) -> None:
        """Store nothing more because of *error*."""

    def close(self) -> None:
        """Release the locks of the run."""
