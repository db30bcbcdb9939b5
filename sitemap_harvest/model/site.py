"""What became of each site, or document, that a run was asked to harvest."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003 - the schema is made from these annotations at run time
from enum import StrEnum

from sitemap_harvest.model.entry import INSTANT
from sitemap_harvest.model.ledger import Cause, FoundBy, Outcome  # noqa: TC001 - the same


class SiteResult(StrEnum):
    """What the search for the sitemaps of a site has come to."""

    FOUND = "found"
    """A document that lists URLs was read, or all that were named were passed over because that was asked for."""
    ABSENT = "absent"
    """The site answers, and publishes no sitemap that can be found."""
    BLOCKED = "blocked"
    """The server keeps us out: there may be sitemaps."""
    FORBIDDEN = "forbidden"
    """robots.txt forbids to look: there may be sitemaps."""
    UNREACHABLE = "unreachable"
    """No answer that can be used; ``cause`` says why."""
    NOT_A_SITE = "not-a-site"
    """What was named is no address of a site, or nothing is served there that is one."""
    UNFINISHED = "unfinished"
    """The run ended, or reached a limit, before it could be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One thing that was tried, and what came of it."""

    url: str
    """The address that was asked for."""
    found_by: FoundBy
    """Why it was asked for."""
    outcome: Outcome
    """What became of it."""
    reason: str | None = None
    """The same in words; ``None`` if it was read."""
    cause: Cause | None = None
    """Why there was no answer; ``None`` if there was one."""


@dataclass(slots=True, kw_only=True)
class SiteRecord:
    """One site of a run, or one document that the user named: a row of the table ``sites``, and a Scrapy item."""

    root: str
    """What the user named; the ``root`` of its documents in the ledger."""
    base: str | None = None
    """The site that answered: another scheme, or with or without ``www.``, where the one named did not.
    ``None`` if none did, or if a document was named."""
    result: SiteResult
    """What came of it, in one word."""
    cause: Cause | None = None
    """Why it is ``unreachable``. ``None`` if an answer came that cannot be read, such as a file that cannot be
    unpacked, and for every other result."""
    reason: str
    """What came of it, in words."""
    found_by: FoundBy | None = None
    """How the first document that lists URLs was found; ``None`` if none was."""
    evidence: tuple[Evidence, ...] = ()
    """What was tried, in order: the first 50 documents that gave nothing. Empty if all gave something."""
    documents: int = 0
    """Documents that were asked for."""
    read: int = 0
    """Documents that were read, whole or in part."""
    urls: int = 0
    """URLs that they list, before filters and ``limit``."""
    bytes_downloaded: int = 0
    """Size of all bodies in bytes, as they were sent."""
    limits: tuple[str, ...] = ()
    """Codes of the limits that were reached, such as ``limit/documents``; the harvest of the site is not whole then."""
    complete: bool = False
    """Whether every document that was named was read whole: only then may a URL that is missing be called removed."""
    started_at: datetime | None = field(default=None, metadata=INSTANT)
    """When its first document was asked for, in UTC; ``None`` if none was."""
    seconds: float | None = None
    """From then to the end of its last document."""

    def in_words(self) -> str:
        """Return what came of it in one line."""
        return f"{self.result}{f' ({self.cause})' if self.cause else ''}: {self.reason}"
