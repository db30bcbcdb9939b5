"""One site of a run, or one document that the user named: what is known of it, what to try next, what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sitemap_harvest.model import Cause, Evidence, FoundBy, Kind, Outcome, SiteRecord, SiteResult
from sitemap_harvest.plan.belief import is_confirmation
from sitemap_harvest.plan.discovery import search
from sitemap_harvest.plan.frontier import document_key, host_of
from sitemap_harvest.plan.traces import Trace
from sitemap_harvest.plan.verdict import judge
from sitemap_harvest.urls import site_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.model import SitemapRecord
    from sitemap_harvest.plan.lead import Lead
    from sitemap_harvest.plan.traces import Traces
    from sitemap_harvest.plan.verdict import Verdict

MAX_EVIDENCE = 50  # documents: all that a search tries; the ledger has the rest
_GAVE_ALL = frozenset({Outcome.READ, Outcome.UNCHANGED})
_VAIN = frozenset({Outcome.BLOCKED, Outcome.FAILED})
_NO_ROBOTS = frozenset({Kind.HTML, Kind.SOFT_404, Kind.EMPTY})  # what servers answer that have none
_LISTS = frozenset({Kind.SITEMAP, Kind.LIST, Kind.FEED, Kind.LINKS})


@dataclass(slots=True, kw_only=True)
class Site:
    """What is known of one site in a run. Told by :meth:`note`, asked by :meth:`next_lead` and :meth:`record`."""

    root: str
    """What the user named."""
    first: Lead
    """What its harvest begins with: its robots.txt, or the document that the user named."""
    base: str | None = None
    """The site that answers; ``None`` if none has, or if the user named a document."""
    started_at: float | None = None
    """When its first document was asked for, in seconds of the clock of the run."""
    ended_at: float | None = None
    waiting: int = 0
    """Documents that wait or are on their way."""
    documents: int = 0
    read: int = 0
    urls: int = 0
    bytes_downloaded: int = 0
    found_by: FoundBy | None = None
    lists: int = 0
    """How many documents that list URLs were read for it."""
    passes_over: bool = False
    """Whether a document that it names was passed over because the user asked for that (``skip``, ``prune_index``)."""
    shared: dict[str, str] = field(default_factory=dict)
    """Documents that it names and that were taken up for another root before: their keys, and that root."""
    shared_keys: set[str] = field(default_factory=set)
    """The keys of all such documents; ``shared`` has those whose outcome is not known yet."""
    loans: list[tuple[Lead, str]] = field(default_factory=list)
    """The leads by which it names them, each with the address that the document was read at."""
    lender: str | None = None
    """The root for which a document of this site was read that lists URLs, or has led to some."""
    evidence: list[Evidence] = field(default_factory=list)
    limits: dict[str, None] = field(default_factory=dict)
    is_whole: bool = True
    """Whether every document that was named has been read whole so far."""
    unknown_hosts: set[str] = field(default_factory=set)
    """Host names that cannot be looked up."""
    vain_in_a_row: int = 0
    """Guesses, one after the other, at which the server kept us out or failed."""
    has_robots: bool = False
    """Whether it has a robots.txt."""
    hindrance: str | None = None
    """Why it is not harvested at all, in words."""
    verdict: Verdict | None = None
    """What came of it, once that has been told."""
    _search: Iterator[Lead] = field(init=False)

    def __post_init__(self) -> None:
        """Begin the search, where there is something to search."""
        self._search = search(self) if self.is_site else iter([self.first])

    @classmethod
    def of(cls, lead: Lead) -> Site:
        """Return what is known of a site before *lead*, with which its harvest begins, is asked for: nothing."""
        return cls(root=lead.root, first=lead)

    @property
    def is_site(self) -> bool:
        """Whether the user named a site, and no document."""
        return self.first.site_root

    def next_lead(self) -> Lead | None:
        """Return what to try when all that was known has led to nothing; ``None`` if that is the end of it."""
        if self.lists or self.passes_over or self.lender or self.limits.keys() - {"limit/depth"}:
            return None
        return next(self._search, None)

    def share(self, lead: Lead, url: str, owner: str | None) -> None:
        """Note that the document of *lead*, found at *url*, was taken up for *owner* before."""
        if owner is not None and owner != self.root:
            key = document_key(url)
            self.shared[key] = owner
            self.shared_keys.add(key)
            self.loans.append((lead, url))

    def borrow(self, traces: Traces, key: str, owner: str) -> None:
        """Take in what came of the document at *key*, which was read for *owner*."""
        if traces.lists(key):
            self.lender = owner
        elif (evidence := traces.evidence(key)) and len(self.evidence) < MAX_EVIDENCE:
            self.evidence.append(evidence)
        self.is_whole &= not traces.is_flawed(key)

    def note(self, lead: Lead, record: SitemapRecord, *, urls: int, has_twin: bool = False) -> Trace:
        """Take in what became of *lead*, which listed *urls* URLs; *has_twin*: it is tried by another scheme too."""
        self.bytes_downloaded += record.bytes_downloaded or 0
        self.urls += urls
        self.read += record.outcome.has_rows or record.outcome is Outcome.UNCHANGED
        is_read = record.outcome.has_rows or is_confirmation(record)
        if record.cause in {None, Cause.SERVER_ERROR} and record.outcome is not Outcome.OVER_LIMIT:
            self._answered(lead, record)
        lists = is_read and record.kind in _LISTS and bool(record.complete or record.entries)
        if lists:
            self.lists += 1
            self.found_by = self.found_by or lead.found_by
        self.passes_over |= (
            record.outcome is Outcome.SKIPPED and not is_read and not lead.found_by.is_guess and not record.final_url
        )
        self.has_robots |= lead.site_root and record.kind is Kind.ROBOTS
        is_whole = record.complete or has_twin or _misses_nothing(lead, record)
        self.is_whole &= is_whole
        return Trace(lists, is_whole, self._note_flaws(lead, record))

    def _answered(self, lead: Lead, record: SitemapRecord) -> None:
        """Learn from a robots.txt that came which of its variants is the site."""
        if not (lead.site_root and self.base is None):
            return
        self.base = site_of(lead.url)
        final = record.final_url or lead.url
        if urlsplit(final).path == "/robots.txt" and _bare(final) == _bare(lead.url):
            self.base = site_of(final)  # moved to https, or to www.

    def _note_flaws(self, lead: Lead, record: SitemapRecord) -> Evidence | None:
        """Return why *lead* did not give all that it may have; ``None`` if it did."""
        self.limits |= dict.fromkeys(problem.code for problem in record.problems if problem.code.startswith("limit/"))
        is_vain = record.outcome in _VAIN
        self.vain_in_a_row = self.vain_in_a_row + 1 if is_vain else 0
        if record.outcome in _GAVE_ALL:
            return None
        if record.cause is Cause.DNS:
            self.unknown_hosts.add(host_of(lead.url))
        evidence = Evidence(
            url=lead.url, found_by=lead.found_by, outcome=record.outcome, reason=record.reason, cause=record.cause
        )
        if len(self.evidence) < MAX_EVIDENCE:
            self.evidence.append(evidence)
        return evidence

    @property
    def is_over(self) -> bool:
        """Whether it has been told what came of it."""
        return self.verdict is not None

    def close(self) -> None:
        """Let go of what is not needed once it has been told what came of it."""
        self.evidence = []
        self.loans = []
        self.shared_keys = set()
        self._search = iter(())

    def record(self, *, is_over: bool, epoch: float) -> SiteRecord:
        """Return what came of it; *is_over* is ``False`` where the run ended before.

        *epoch* is how many seconds the clock of the run is behind the seconds since 1970.
        """
        self.verdict = verdict = judge(self, is_over=is_over)
        seconds = None
        if self.started_at is not None and self.ended_at is not None:
            seconds = round(max(0.0, self.ended_at - self.started_at), 3)
        return SiteRecord(
            root=self.root,
            base=self.base,
            result=verdict.result,
            cause=verdict.cause,
            reason=verdict.reason,
            found_by=self.found_by,
            evidence=tuple(self.evidence),
            documents=self.documents,
            read=self.read,
            urls=self.urls,
            bytes_downloaded=self.bytes_downloaded,
            limits=tuple(self.limits),
            complete=is_over and verdict.result is SiteResult.FOUND and self.is_whole and not self.limits,
            started_at=None if self.started_at is None else datetime.fromtimestamp(self.started_at + epoch, UTC),
            seconds=seconds,
        )


def _misses_nothing(lead: Lead, record: SitemapRecord) -> bool:
    """Whether no URL is missing though this document was not read whole."""
    if record.outcome is Outcome.SKIPPED and record.final_url is not None:
        return True  # a redirect to what is read by itself
    if lead.site_root:
        return record.outcome is Outcome.ABSENT or lead.found_by is FoundBy.VARIANT or record.kind in _NO_ROBOTS
    is_second_chance = lead.found_by is FoundBy.VARIANT
    return lead.found_by.is_guess and not is_second_chance and not record.entries


def _bare(url: str) -> str:
    """Return the host of *url* without ``www.``."""
    return (urlsplit(url).hostname or "").removeprefix("www.")
