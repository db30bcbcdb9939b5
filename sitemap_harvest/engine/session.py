"""The store of a run, as its documents use it. The classes here store nothing: for a run without a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sitemap_harvest.diff import Changes
    from sitemap_harvest.discovery.candidate import Candidate
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


class DocumentSession:
    """One document while it is read."""

    def passing(self, batches: Iterable[UrlBatch]) -> Iterable[UrlBatch]:
        """Return *batches*, each of which is stored first."""
        return batches

    def finish(self, record: SitemapRecord, references: Sequence[SitemapRef], *, sound: int | None) -> None:
        """Store what was read: its *record*, its *references*, and its URLs up to the position *sound*."""


class SiteSession:
    """One site, with its last snapshot."""

    def of(self, candidate: Candidate) -> KnownDocument | None:
        """Return the stored data of the document of *candidate*."""
        return None

    def own_document(self, candidate: Candidate, url: str) -> Candidate | None:
        """Return a candidate for *url*, the final URL of *candidate*, if the last snapshot has that document."""
        return None

    def recall(self, is_visited: Callable[[str], bool]) -> list[Candidate]:
        """Return candidates for known documents that the run has not visited (*is_visited*)."""
        return []

    def document(self, candidate: Candidate) -> DocumentSession:
        """Start storing the document of *candidate*."""
        return DocumentSession()

    def confirm(self, record: SitemapRecord, known: KnownDocument, *, was_downloaded: bool) -> None:
        """Copy the stored facts of the unchanged document *known* into *record*."""


class Session:
    """All sites of a run."""

    _nothing = SiteSession()

    def begin(self, root: str) -> SiteUnavailable | None:
        """Lock and open the site *root*, unless it is open; return the obstacle, if there is one."""
        return None

    def site(self, root: str) -> SiteSession:
        """Return the site *root*."""
        return self._nothing

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
