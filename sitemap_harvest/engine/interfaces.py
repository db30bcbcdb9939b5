"""Interfaces of the engine to the outside: responses, requests, page visits, the store and the delivery of changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sitemap_harvest.diff import Changes
    from sitemap_harvest.discovery.candidate import Candidate
    from sitemap_harvest.model import SitemapRecord, SitemapRef, UrlBatch
    from sitemap_harvest.snapshots.store import History


PAUSE = object()
"""Yielded while a large document is processed: the caller may do something else before it goes on."""


class Transfer(NamedTuple):
    """The transfer of a document: the request that was sent last for it, and its response or error."""

    sent_at: float
    """When the request was sent, in seconds since 1970; if a cache responded instead, when that was."""
    seconds: float | None
    """Its duration up to the end of the body; ``None`` if a cache responded instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentResponse:
    """The response to the request for a document."""

    url: str
    """The URL of the document, after redirects."""
    status: int = 200
    headers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The values of each header, by its name in lower case."""
    body: bytes = b""
    content_encodings: tuple[str, ...] = ()
    """The values of ``Content-Encoding``, which the body still has, in the order in which they were applied."""
    redirect_urls: tuple[str, ...] = ()
    """The URLs that redirected to it."""
    is_conditional: bool = False
    """Whether its request had conditional headers."""
    was_cut: bool = False
    """Whether the connection ended before the body did."""
    is_outside: bool = False
    """Whether it refers to a file outside the local folder that replaces the site."""
    via: str | None = None
    """How it was downloaded, as in :attr:`~sitemap_harvest.SitemapRecord.via`."""
    transfer: Transfer | None = None
    """``None`` if it is not known."""
    challenge: str | None = None
    """If it remains a challenge: what a browser could do, as text."""

    def header(self, name: str) -> str | None:
        """Return the last value of the header *name*, which is in lower case; ``None`` if it is absent."""
        values = self.headers.get(name)
        return values[-1] if values else None


class PageVisits(Protocol):
    """The visits to pages that the entries of documents request."""

    def __bool__(self) -> bool:
        """Whether pages are queued."""

    def add(self, batch: UrlBatch, candidate: Candidate) -> None:
        """Queue visits for the entries of *batch*, which the document of *candidate* lists."""

    def note_answer(self, candidate: Candidate, response: DocumentResponse) -> None:
        """Record that *response* is the document of *candidate*, which is read now."""

    def release(self, candidate: Candidate) -> None:
        """Release the pages of the document of *candidate*, which lists no more of them."""

    def next(self) -> Any:
        """Return the request for the next page; ``None`` if no page is due."""


class Archiver(Protocol):
    """Writes what the run downloads into an archive."""

    def archive_downloads(self) -> None:
        """Write all that is downloaded from now on."""

    async def write(self, request: Any, response: Any, *, is_sent: bool = True) -> None:
        """Write *response*. *is_sent*: whether *request* is what was sent."""

    def close(self) -> None:
        """Close the archive."""


class ChangeDelivery(Protocol):
    """The delivery of changes to a named consumer."""

    def begin(self, history: History) -> None:
        """Load the cursor of a site. Raises :exc:`StoreError`."""

    def missed(self, history: History, run: str) -> list[Changes]:
        """Return the undelivered changes up to the last snapshot of *history*, which *run* has just published."""

    def mark_delivered(self, site: str) -> None:
        """Record that the spider yielded all changes of *site*."""


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """The stored data of a document, available without a request."""

    record: SitemapRecord
    """Its record."""
    references: Sequence[SitemapRef]
    """The documents that it names."""
    urls: Callable[[], Iterator[UrlBatch]]
    """Yields the URLs that it lists."""


class SiteUnavailable(NamedTuple):
    """Why a site is not harvested."""

    reason: str
    is_temporary: bool = False
    """Whether it ends when another run ends."""
