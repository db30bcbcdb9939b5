"""The state of one site of a run (or of one named document), and the links between the documents of all sites."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from sitemap_harvest.discovery.rules import bare_host
from sitemap_harvest.discovery.site_result import MAX_EVIDENCE, search_outcome
from sitemap_harvest.discovery.well_known import search
from sitemap_harvest.model import Cause, Evidence, FoundBy, Kind, Outcome, SiteRecord
from sitemap_harvest.urls import document_key, host_of, site_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.discovery.candidate import Candidate, NotFetched
    from sitemap_harvest.discovery.past_search import PostponedSearch
    from sitemap_harvest.model import SitemapRecord


_GAVE_ALL = frozenset({Outcome.READ, Outcome.UNCHANGED})
_RESPONDED = frozenset({None, Cause.SERVER_ERROR})
_VAIN = frozenset({Outcome.BLOCKED, Outcome.FAILED})
_LOOKED_AT = frozenset({Outcome.ABSENT, Outcome.NOT_A_SITEMAP})
_UNCERTAIN = _VAIN | {Outcome.PARTIAL, Outcome.TOO_LARGE, Outcome.OVER_LIMIT}
_NO_ROBOTS = frozenset({Kind.HTML, Kind.SOFT_404, Kind.EMPTY})  # responses of servers without a robots.txt
_LISTS = frozenset({Kind.SITEMAP, Kind.LIST, Kind.FEED, Kind.LINKS})
_Value = TypeVar("_Value")


@dataclass(slots=True)
class Provenance:
    """Links between documents, by document key, and their results, passed up to all documents above."""

    listing: dict[str, None] = field(default_factory=dict)
    """The documents that list URLs, or led to one that does."""
    flawed: dict[str, Evidence | None] = field(default_factory=dict)
    """The documents that, or below which others, may lack URLs; with the first failure."""
    _above: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _one: tuple[str, ...] = ()  # shared by all children of the last parent

    def link(self, key: str, above: str) -> None:
        """Record that the document *above* names the document *key*, or redirects to it."""
        known = self._above.get(key, ())
        if above in known:
            return
        if self._one != (above,):
            self._one = (above,)
        self._above[key] = (*known, above) if known else self._one
        if key in self.listing:
            self.mark(self.listing, above, None)
        if key in self.flawed:
            self.mark(self.flawed, above, self.flawed[key])

    def mark(self, marked: dict[str, _Value], key: str, value: _Value) -> None:
        """Add the document *key*, and all above it, to *marked* (:attr:`listing` or :attr:`flawed`), with *value*."""
        todo = [key]
        while todo:
            if (one := todo.pop()) not in marked:
                marked[one] = value
                todo += self._above.get(one, ())


@dataclass(slots=True, kw_only=True)
class SiteState:
    """The state of one site in a run: updated by :meth:`note`, read by :meth:`next_candidate` and :meth:`conclude`."""

    root: str = field(init=False)
    """The site or document that the user named."""
    first: Candidate
    """The first candidate: the robots.txt of the site, or the document that the user named."""
    provenance: Provenance = field(default_factory=Provenance)
    """That of all sites of the run."""
    base: str | None = None
    """The site that responds; ``None`` if none did, or if the user named a document."""
    is_silent: bool = False
    """Whether the robots.txt of the root has no response."""
    was_read: bool = False
    """Whether an earlier run read the robots.txt of the root."""
    has_other_robots: bool = False
    """Whether another variant of robots.txt was read, or does not exist."""
    started_at: float | None = None
    """When its first document was requested, in seconds of the clock of the run."""
    ended_at: float | None = None
    waiting: int = 0
    """Documents queued or in flight."""
    documents: int = 0
    read: int = 0
    urls: int = 0
    bytes_downloaded: int = 0
    found_by: FoundBy | None = None
    lists: int = 0
    """Number of documents read for it that list URLs."""
    skips: bool = False
    """Whether a document that it names was skipped at the user's request (``skip``, ``prune_index``)."""
    shared: dict[str, str] = field(default_factory=dict)
    """Documents that it names but that another root claimed first: their keys, and that root."""
    shared_keys: set[str] = field(default_factory=set)
    """Keys of all such documents; ``shared`` has only those whose outcome is not known yet."""
    shared_documents: list[tuple[Candidate, str]] = field(default_factory=list)
    """Its candidates for these documents, each with the URL that the document was read from."""
    shared_from: str | None = None
    """The root that read a document for this site which lists URLs, or led to some."""
    evidence: list[Evidence] = field(default_factory=list)
    limits: dict[str, None] = field(default_factory=dict)
    is_whole: bool = True
    """Whether every named document has been read completely so far."""
    unknown_hosts: set[str] = field(default_factory=set)
    """Host names that cannot be resolved."""
    unanswered_hosts: int = 0
    """Consecutive hosts of its documents without a response."""
    shut: NotFetched | None = None
    """Why nothing more is requested for it from hosts that have not responded."""
    consecutive_failures: int = 0
    """Consecutive requests that were blocked or failed."""
    has_robots: bool = False
    is_declared: bool = False
    """Whether its robots.txt lists a sitemap."""
    robots_digest: str | None = None
    """Digest of its robots.txt; empty if there is none, ``None`` if that is not known."""
    has_home: bool = True
    """Whether it has a home page, as far as known."""
    has_looked: bool = False
    """Whether a well-known path has a usable response so far."""
    is_conclusive: bool = True
    """Whether no probe was blocked or failed so far: there may be a sitemap behind a failure."""
    is_searched: bool = False
    """Whether the search has tried everything, and its result is certain."""
    postponed: PostponedSearch | None = None
    """The search, if this run does not repeat it."""
    unavailable: str | None = None
    """Why it is not harvested at all, as text; ``None`` if it is."""
    is_over: bool = False
    """Whether its result is known."""
    _search: Iterator[Candidate] = field(init=False)

    def __post_init__(self) -> None:
        """Start the search if the root is a site."""
        self.root = self.first.root
        self._search = search(self) if self.first.site_root else iter([self.first])

    @property
    def has_found(self) -> bool:
        """Whether a document that lists URLs was found, also one that the user does not want."""
        return bool(self.lists or self.skips or self.shared_from)

    @property
    def is_elsewhere(self) -> bool:
        """Whether the root was only a guess: it never responded, and another variant of its robots.txt did."""
        return self.is_silent and self.has_other_robots and not self.was_read

    def next_candidate(self) -> Candidate | None:
        """Return the next candidate to try; ``None`` if the search is over.

        It goes on until something is found. After documents of the last snapshot were
        found, it still looks for the variant of robots.txt that responds.
        """
        is_found = self.has_found and not (self.first.site_root and self.base is None)
        if is_found or self.limits.keys() - {"limit/depth"}:
            return None
        return next(self._search, None)

    def postpone(self, search: PostponedSearch) -> None:
        """Take the result of the well-known paths and the home page from the last *search*."""
        self.postponed, self.has_home = search, search.has_home

    def share(self, candidate: Candidate, url: str, owner: str) -> None:
        """Record that the document of *candidate*, found at *url*, was already claimed for *owner*."""
        if owner != self.root:
            key = document_key(url)
            self.shared[key] = owner
            self.shared_keys.add(key)
            self.shared_documents.append((candidate, url))

    def copy_shared(self) -> None:
        """Copy the results of the documents that were read for other roots."""
        robots = {document_key(url): url for candidate, url in self.shared_documents if candidate.site_root}
        for key, owner in self.shared.items():
            evidence = self.provenance.flawed.get(key)
            is_missing = evidence is not None and evidence.outcome in _LOOKED_AT
            if key in robots and (is_missing or key not in self.provenance.flawed):
                self.has_other_robots, self.base = True, self.base or site_of(robots[key])
                if is_missing:
                    continue  # without a robots.txt, no document is missing
            if key in self.provenance.listing:
                self.shared_from = owner
            elif evidence is not None:
                self.evidence += [evidence] if len(self.evidence) < MAX_EVIDENCE else []
                self.is_conclusive &= evidence.outcome not in _UNCERTAIN
            self.is_whole &= key not in self.provenance.flawed
        self.shared.clear()

    def note(self, candidate: Candidate, record: SitemapRecord, *, urls: int, has_twin: bool = False) -> None:
        """Record the outcome of *candidate*, which listed *urls* URLs.

        *has_twin*: whether the other scheme is tried too.
        """
        self.bytes_downloaded += record.bytes_downloaded or 0
        self.urls += urls
        self.read += record.outcome.has_rows or record.outcome is Outcome.UNCHANGED
        is_read = record.outcome.has_rows or record.is_confirmation
        has_answer = record.cause in _RESPONDED and record.outcome is not Outcome.OVER_LIMIT
        if has_answer and candidate.site_root and self.base is None:
            final = record.final_url or candidate.url
            has_moved = urlsplit(final).path == "/robots.txt" and bare_host(final) == bare_host(candidate.url)
            self.base = site_of(final if has_moved else candidate.url)  # moved to https or to www.
        key = document_key(candidate.url)
        if is_read and record.kind in _LISTS and (record.complete or record.entries):
            self.lists += 1
            self.found_by = self.found_by or candidate.found_by
            self.provenance.mark(self.provenance.listing, key, None)
        self.skips |= (
            record.outcome is Outcome.SKIPPED
            and not is_read
            and not candidate.found_by.is_guess
            and not record.final_url
        )
        self.has_robots |= candidate.site_root and record.kind is Kind.ROBOTS
        self.is_declared |= candidate.found_by is FoundBy.ROBOTS
        if (candidate.site_root or candidate.found_by.is_guess) and self.base is not None:
            self._note_probe(candidate, record)
        is_whole = record.complete or has_twin or _misses_nothing(candidate, record)
        if candidate.site_root and candidate.url == self.first.url:
            self.is_silent = record.outcome is Outcome.FAILED and record.cause not in _RESPONDED
        elif candidate.site_root:
            self.has_other_robots |= record.complete or record.outcome in _LOOKED_AT or _is_missing(record)
        is_guess = self.is_silent and candidate.url == self.first.url  # so it counts at the end
        self.is_whole &= is_whole or is_guess
        evidence = self._note_flaws(candidate, record)
        if not is_whole or evidence is not None:
            self.provenance.mark(self.provenance.flawed, key, evidence)

    def _note_probe(self, candidate: Candidate, record: SitemapRecord) -> None:
        """Record what *candidate*, a robots.txt or a guess on the host that responds, means for the search."""
        if candidate.found_by is FoundBy.HOME:
            self.has_home = record.outcome is not Outcome.ABSENT
        self.has_looked |= candidate.found_by is FoundBy.WELL_KNOWN and record.outcome in _LOOKED_AT
        is_certain = (candidate.site_root and _is_missing(record)) or record.outcome not in _UNCERTAIN
        self.is_conclusive &= is_certain
        if candidate.site_root and is_certain and self.robots_digest is None:
            self.robots_digest = (record.sha256 or "") if record.kind is Kind.ROBOTS else ""

    def _note_flaws(self, candidate: Candidate, record: SitemapRecord) -> Evidence | None:
        """Return why *candidate* may be incomplete; ``None`` if it is complete."""
        self.limits |= dict.fromkeys(problem.code for problem in record.problems if problem.code.startswith("limit/"))
        is_vain = record.outcome in _VAIN
        self.consecutive_failures = self.consecutive_failures + 1 if is_vain else 0
        if record.outcome in _GAVE_ALL:
            return None
        if record.cause is Cause.DNS:
            self.unknown_hosts.add(host_of(candidate.url))
        if record.outcome is Outcome.SKIPPED and len(self.evidence) >= MAX_EVIDENCE:
            return None  # an index may have 100,000 children that the user does not want
        evidence = Evidence(
            url=candidate.url,
            found_by=candidate.found_by,
            outcome=record.outcome,
            reason=record.reason,
            cause=record.cause,
        )
        if len(self.evidence) < MAX_EVIDENCE:
            self.evidence.append(evidence)
        return evidence

    def conclude(self, *, is_over: bool, epoch: float) -> SiteRecord:
        """Return the record of the site, and free the data that is not needed any more.

        *is_over*: ``False`` if the run ended before the site was finished. *epoch*: seconds
        to add to the clock of the run to get seconds since 1970.
        """
        if self.is_elsewhere:
            self.evidence = [
                replace(one, found_by=FoundBy.VARIANT) if one.url == self.first.url else one for one in self.evidence
            ]
        result, reason, cause = search_outcome(self, is_over=is_over)
        self.is_over = True
        if self.postponed is not None and not self.has_found:
            home, why = f"{self.base}/", self.postponed.reason
            self.evidence.append(Evidence(url=home, found_by=FoundBy.HOME, outcome=Outcome.SKIPPED, reason=why))
        began, ended = self.started_at, self.ended_at
        record = SiteRecord(
            root=self.root,
            base=self.base,
            result=result,
            cause=cause,
            reason=reason,
            found_by=self.found_by,
            evidence=tuple(self.evidence),
            documents=self.documents,
            read=self.read,
            urls=self.urls,
            bytes_downloaded=self.bytes_downloaded,
            limits=tuple(self.limits),
            complete=is_over
            and result.is_conclusive
            and self.is_whole
            and (self.is_elsewhere or not self.is_silent)
            and not self.limits,
            started_at=None if began is None else datetime.fromtimestamp(began + epoch, UTC),
            seconds=None if began is None or ended is None else round(max(0.0, ended - began), 3),
        )
        self.evidence, self.shared_documents, self.shared_keys = [], [], set()
        self._search = iter(())
        return record


def _is_missing(record: SitemapRecord) -> bool:
    """Whether *record* of a robots.txt means that there is none, by RFC 9309: a status of 4xx."""
    return record.outcome is Outcome.FAILED and record.cause is None


def _misses_nothing(candidate: Candidate, record: SitemapRecord) -> bool:
    """Whether no URL is missing although this document was not read completely."""
    if record.outcome is Outcome.SKIPPED and record.final_url is not None:
        return True  # redirects to a document that is read separately
    if candidate.site_root:
        return record.outcome is Outcome.ABSENT or candidate.found_by is FoundBy.VARIANT or record.kind in _NO_ROBOTS
    is_second_chance = candidate.found_by is FoundBy.VARIANT
    return candidate.found_by.is_guess and not is_second_chance and not record.entries
