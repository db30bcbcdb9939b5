"""``SiteRecord``: the result of each site or document that a run was started for."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003 - the schema is built from these annotations at run time
from enum import StrEnum

from sitemap_harvest.model.document_record import Cause, FoundBy, Outcome  # noqa: TC001 - the same
from sitemap_harvest.model.entry import INSTANT


class SiteResult(StrEnum):
    """The result of the sitemap search of a site."""

    FOUND = "found"
    """A document that lists URLs was read, or all named documents were skipped at the user's request."""
    ABSENT = "absent"
    """The site responds, but no sitemap was found."""
    BLOCKED = "blocked"
    """The server refuses access: there may be sitemaps."""
    FORBIDDEN = "forbidden"
    """robots.txt disallows access: there may be sitemaps."""
    UNREACHABLE = "unreachable"
    """No usable response; ``cause`` says why."""
    NOT_A_SITE = "not-a-site"
    """The target is not the URL of a site, or no site is served there."""
    UNFINISHED = "unfinished"
    """The run ended, or reached a limit, before the result was certain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One document that was tried, and its outcome."""

    url: str
    """The requested URL."""
    found_by: FoundBy
    """How it was found."""
    outcome: Outcome
    """Its outcome."""
    reason: str | None = None
    """The reason of the outcome, as text; ``None`` if it was read."""
    cause: Cause | None = None
    """Why there was no response; ``None`` if there was one."""


@dataclass(slots=True, kw_only=True)
class SiteRecord:
    """One site of a run, or one document that the user named: a row of the table ``sites``, and a Scrapy item."""

    root: str
    """The target as named by the user; the ``root`` of its documents in the ledger."""
    base: str | None = None
    """The site that responded: with another scheme, or with or without ``www.``, if the named one did not. ``None`` if
    none did, or if a document was named."""
    result: SiteResult
    """The result."""
    cause: Cause | None = None
    """Why it is ``unreachable``. ``None`` if a response was unreadable, such as a file that cannot be decompressed, and
    for every other result."""
    reason: str
    """The reason, as text."""
    found_by: FoundBy | None = None
    """How the first document that lists URLs was found; ``None`` if none was."""
    evidence: tuple[Evidence, ...] = ()
    """What was tried, in order: the first 50 documents that failed. Empty if all succeeded."""
    documents: int = 0
    """Documents requested."""
    read: int = 0
    """Documents read, completely or partly."""
    urls: int = 0
    """URLs that they list, before filters and ``limit``."""
    bytes_downloaded: int = 0
    """Size of all bodies in bytes, as sent."""
    limits: tuple[str, ...] = ()
    """Codes of the limits that were reached, such as ``limit/documents``; the harvest of the site is then incomplete.
    """
    complete: bool = False
    """Whether every named document was read completely: only then can a missing URL count as removed."""
    started_at: datetime | None = field(default=None, metadata=INSTANT)
    """When its first document was requested, in UTC; ``None`` if none was."""
    seconds: float | None = None
    """Seconds from then to the end of its last document."""

    def in_words(self) -> str:
        """Return the result in one line."""
        return f"{self.result}{f' ({self.cause})' if self.cause else ''}: {self.reason}"
