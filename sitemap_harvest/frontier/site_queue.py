"""The sites of a run: which documents may be requested, which is next, and which sites are finished."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from sitemap_harvest.discovery.candidate import Candidate, NotFetched
from sitemap_harvest.discovery.rules import CrossSubmissions, refuse
from sitemap_harvest.discovery.site_state import Provenance, SiteState
from sitemap_harvest.frontier.host_queue import Frontier
from sitemap_harvest.model import READ_SEPARATELY, Cause, FoundBy, Outcome
from sitemap_harvest.urls import document_key, host_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.discovery.rules import Bounds
    from sitemap_harvest.model import SitemapRecord, SiteRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of one site, or of one document that the user named; ``None``: no limit."""

    documents: int | None = None
    """Documents requested."""
    bytes: int | None = None
    """Bytes of bodies, as downloaded. Responses in flight when it is reached are still read."""
    urls: int | None = None
    """URLs listed by its documents."""
    seconds: float | None = None
    """Seconds between its first and its last request."""
    unanswered: int | None = None
    """Consecutive requests without a response after which a host gets no more."""
    unanswered_hosts: int | None = None
    """Consecutive hosts of its documents without a response after which only hosts that have responded get more."""

    def refuse(self, site: SiteState, now: float) -> NotFetched | None:
        """Return which limit the harvest of *site* has reached at *now* (seconds), ``None`` if none."""
        seconds = 0.0 if site.started_at is None else now - site.started_at
        for most, spent, code, name in (
            (self.documents, site.documents, "limit/documents", "SITEMAP_HARVEST_MAX_DOCUMENTS"),
            (self.bytes, site.bytes_downloaded, "limit/bytes", "SITEMAP_HARVEST_MAX_SITE_BYTES"),
            (self.urls, site.urls, "limit/urls", "SITEMAP_HARVEST_MAX_SITE_URLS"),
            (self.seconds, seconds, "limit/seconds", "SITEMAP_HARVEST_MAX_SITE_SECONDS"),
        ):
            if most is not None and spent >= most:
                return NotFetched(Outcome.OVER_LIMIT, f"{name} ({most:,}) was reached", problem=code)
        return None


MOST_OPEN = 5_000  # sites at a time: each takes some kilobytes, and a list may have a million
_MAY_BE_SECURE = frozenset({Cause.REFUSED, Cause.TIMEOUT, Cause.CONNECTION, Cause.NOT_HTTP, Cause.NOT_ARCHIVED})


class SiteQueue:
    """The state of all sites of a run. *now* is in seconds of a monotonic clock."""

    def __init__(self, *, bounds: Bounds, budget: Budget, per_host: int) -> None:
        self.frontier = Frontier(per_host=per_host)
        self.cross_submissions = CrossSubmissions()
        self._bounds = bounds
        self._budget = budget
        self._owners: dict[str, str] = {}  # the root that claimed each document, by its key
        self._refused: set[str] = set()  # keys; such a document can still be claimed
        self._fresh: Iterator[Candidate] = iter(())
        self.by_root: dict[str, SiteState] = {}
        """The sites begun so far."""
        self._open = 0
        self._settled: deque[SiteState] = deque()
        self._sharing: dict[str, SiteState] = {}
        self._waiting = 0
        self._provenance = Provenance()

    def begin(self, candidates: Iterable[Candidate]) -> None:
        """Add *candidates*, one for each site or document that the user named, after those added so far."""
        self._fresh = chain(
            self._fresh,
            ({candidate.root: candidate for candidate in candidates if candidate.root not in self.by_root}).values(),
        )

    def owner(self, url: str) -> str | None:
        """Return the root that claimed the document at *url*, under any spelling; ``None`` if it is not claimed."""
        return self._owners.get(document_key(url))

    def is_visited(self, url: str, root: str) -> bool:
        """Whether the document at *url* was considered for the site *root*, or was refused in this run."""
        key = document_key(url)
        owner = self._owners.get(key)
        return owner == root or (owner is None and key in self._refused) or key in self.by_root[root].shared_keys

    def consider(
        self, candidate: Candidate, now: float, unwanted: NotFetched | None = None, *, remembers: bool = True
    ) -> NotFetched | None:
        """Queue *candidate* if it is new; return why it is not fetched, once for each document.

        *unwanted*: why the user does not want it, if so. *remembers*: whether to
        remember a refusal, which takes some memory; if not, it is returned each time.
        """
        site, key = self.by_root[candidate.root], document_key(candidate.url)
        owner, not_fetched = self._owners.get(key), None
        if owner is None:
            not_fetched = unwanted or refuse(candidate, self._bounds) or self._budget.refuse(site, now)
            if not_fetched is not None and not remembers:
                return None if key in self._refused else not_fetched
        if candidate.parent is not None:
            self._provenance.link(key, document_key(candidate.parent))
        if owner is None and not_fetched is None:
            self._owners[key] = site.root
            site.documents += 1
            self._queue(candidate)
            return None
        self.cross_submissions.note(candidate)
        if owner is not None:
            site.share(candidate, candidate.url, owner)
        elif key not in self._refused:
            self._refused.add(key)
            return not_fetched
        return None

    def claim(self, candidate: Candidate) -> None:
        """Record that another run reads the document of *candidate* for its site."""
        self._owners.setdefault(document_key(candidate.url), candidate.root)

    def redirect(self, candidate: Candidate, url: str, *, has_document: bool) -> NotFetched | None:
        """Return why the document of *candidate* is not read from *url*, its final URL; ``None`` if it is read.

        *has_document*: whether the response may be a document. Others, such as a 404, are
        the outcome of each document that redirects there.
        """
        key, target = document_key(candidate.url), document_key(url)
        if target == key:
            return None  # not a redirect, though Scrapy may have escaped the URL
        if not_fetched := refuse(replace(candidate, url=url), self._bounds):
            return NotFetched(not_fetched.outcome, f"the URL redirects to {url}: {not_fetched.reason}")
        if not has_document:
            return None
        self._provenance.link(key, target)
        if (owner := self._owners.get(target)) is None:
            self._owners[target] = candidate.root
            return None
        self._provenance.link(target, key)
        self.cross_submissions.note(replace(candidate, url=url))
        self.by_root[candidate.root].share(candidate, url, owner)
        return NotFetched(Outcome.SKIPPED, f"the URL redirects to {url}, {READ_SEPARATELY}")

    def release(self, candidate: Candidate, url: str) -> None:
        """Allow another candidate to fetch *url*, where the document of *candidate* was found but could not be used."""
        if (target := document_key(url)) != document_key(candidate.url):
            self._owners.pop(target, None)

    def _queue(self, candidate: Candidate, until: float | None = None) -> None:
        self.by_root[candidate.root].waiting += 1
        self._waiting += 1
        self.frontier.add(candidate, until)

    def take(self, now: float) -> tuple[Candidate, NotFetched | None] | None:
        """Return the next candidate, and why it may not be requested after all; ``None`` if all have to wait."""
        if (candidate := self.frontier.take(now)) is None:
            return None
        site = self.by_root[candidate.root]
        site.documents -= 1  # it was counted when queued, but the budget counts only requested documents
        not_fetched = self._budget.refuse(site, now) or self.shut(candidate)
        site.documents += not_fetched is None
        if not_fetched is not None:
            self.spare(candidate)
        elif site.started_at is None:
            site.started_at = now
        return candidate, not_fetched

    def spare(self, candidate: Candidate) -> None:
        """Record that *candidate*, which was just taken, is not requested, so its host does not need the delay."""
        self.frontier.host(candidate.url).skip_turn()

    def shut(self, candidate: Candidate) -> NotFetched | None:
        """Return why the host of *candidate* gets no more requests for its site, ``None`` if it does."""
        host = self.frontier.host(candidate.url)
        return host.shut or (None if host.has_responded else self.by_root[candidate.root].shut)

    def done(self, candidate: Candidate, now: float, *, was_requested: bool = True) -> None:
        """Mark *candidate*, which was taken, as done."""
        self.frontier.done(candidate, was_requested=was_requested)
        self._let_go(candidate, now)

    def requeue(self, candidate: Candidate, url: str, until: float) -> None:
        """Queue *candidate*, which is still in flight, again, not to be requested before *until*.

        The wait applies to the host of *url*, which may be the target of a redirect.
        """
        host = self.frontier.host(url)
        host.ready_at = max(host.ready_at, until)
        self._queue(replace(candidate, attempt=candidate.attempt + 1), until)

    def answered(self, candidate: Candidate, url: str) -> None:
        """Record that *candidate* has a response from *url*, which may be the target of a redirect."""
        self.frontier.host(candidate.url).has_responded = True
        host = self.frontier.host(url)
        host.has_responded, host.unanswered = True, 0
        self.by_root[candidate.root].unanswered_hosts = 0

    def unanswered(self, candidate: Candidate, url: str, failure: NotFetched) -> None:
        """Record that *candidate* has no response from *url* (*failure*: why), which may be the target of a redirect.

        After too many in a row, shut the host, or for one site all hosts that have not responded.
        """
        host, site = self.frontier.host(url), self.by_root[candidate.root]
        host.unanswered += 1
        if host.unanswered == 1 and not host.has_responded:
            site.unanswered_hosts += 1
        if host.unanswered == self._budget.unanswered:
            reason = f"the host failed to respond {host.unanswered} times in a row: {failure.reason}"
            host.shut = replace(failure, reason=reason)
        if site.unanswered_hosts == self._budget.unanswered_hosts and site.shut is None:
            reason = f"{site.unanswered_hosts} consecutive hosts of the site failed to respond: {failure.reason}"
            site.shut = replace(failure, reason=reason)

    def note(self, candidate: Candidate, record: SitemapRecord, *, urls: int) -> None:
        """Record the outcome of *candidate*, which listed *urls* URLs."""
        has_twin = record.fetched_at is not None and secure_twin(candidate, record) is not None
        self.by_root[candidate.root].note(candidate, record, urls=urls, has_twin=has_twin)

    def urls_left(self, candidate: Candidate) -> int | None:
        """Return how many more URLs may be read for the site of *candidate*; ``None``: no limit."""
        most = self._budget.urls
        return None if most is None else max(0, most - self.by_root[candidate.root].urls)

    def drain(self, now: float) -> Iterator[Candidate]:
        """Yield all queued candidates, and empty the queue."""
        for candidate in self.frontier.drain():
            self.by_root[candidate.root].documents -= 1
            self._let_go(candidate, now)
            yield candidate

    def settled(self) -> Iterator[SiteState]:
        """Yield the sites with nothing queued and nothing in flight, each once until it has candidates again.

        Sites that share documents with others come when the whole queue is empty,
        because only then are the outcomes of the shared documents known.
        """
        while (site := self._next_settled()) is not None:
            if site.waiting or site.is_over:
                continue
            if site.shared:
                self._sharing[site.root] = site
            else:
                yield site

    def _next_settled(self) -> SiteState | None:
        """Return the site that settled first, else a new one, else one whose shared documents are all done."""
        if self._settled:
            return self._settled.popleft()
        if self._open < MOST_OPEN and (candidate := next(self._fresh, None)) is not None:
            return self._begin(candidate)
        if self._waiting or not self._sharing:
            return None
        site = self._sharing.pop(next(iter(self._sharing)))
        site.copy_shared()
        return site

    def _begin(self, candidate: Candidate) -> SiteState:
        site = self.by_root[candidate.root] = SiteState(first=candidate, provenance=self._provenance)
        self._open += 1
        return site

    def conclude(self, site: SiteState, *, is_over: bool, epoch: float) -> SiteRecord:
        """Return the record of *site*, which gets no more documents: see :meth:`SiteState.conclude`."""
        self._open -= 1
        return site.conclude(is_over=is_over, epoch=epoch)

    def settle(self, site: SiteState) -> None:
        """Mark *site* as settled if none of its documents is queued or in flight."""
        if not site.waiting:
            self._settled.append(site)

    def unfinished(self) -> Iterator[SiteState]:
        """Yield the sites whose result is not known yet."""
        yield from [site for site in self.by_root.values() if not site.is_over]
        yield from map(self._begin, self._fresh)

    def _let_go(self, candidate: Candidate, now: float) -> None:
        site = self.by_root[candidate.root]
        site.waiting -= 1
        self._waiting -= 1
        site.ended_at = now
        self.settle(site)


def secure_twin(candidate: Candidate, record: SitemapRecord) -> Candidate | None:
    """Return the candidate for the same document with ``https`` if plain ``http`` failed, else ``None``."""
    is_named = not candidate.site_root and not candidate.found_by.is_guess
    if not is_named or record.cause not in _MAY_BE_SECURE or not candidate.url.lower().startswith("http://"):
        return None
    if ":" in host_of(candidate.url):
        return None  # an explicit port serves only one of the schemes
    return replace(candidate, url=f"https{candidate.url[4:]}", found_by=FoundBy.VARIANT)
