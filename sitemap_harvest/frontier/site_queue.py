"""The sites of a run: which documents may be requested, which is next, and which sites are finished."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from sitemap_harvest.discovery.candidate import Candidate, NotFetched
from sitemap_harvest.discovery.child_rules import refuse
from sitemap_harvest.discovery.cross_submission import CrossSubmissions
from sitemap_harvest.discovery.provenance import Provenance
from sitemap_harvest.discovery.site_state import SiteState
from sitemap_harvest.frontier.host_queue import Frontier
from sitemap_harvest.model import Cause, FoundBy, Outcome
from sitemap_harvest.urls import document_key, host_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.discovery.child_rules import Bounds
    from sitemap_harvest.frontier.budget import Budget
    from sitemap_harvest.model import SitemapRecord, SiteRecord

MOST_OPEN = 5_000  # sites at a time: each takes some kilobytes, and a list may have a million
_MAY_BE_SECURE = frozenset({Cause.REFUSED, Cause.TIMEOUT, Cause.CONNECTION, Cause.NOT_HTTP})


class SiteQueue:
    """The state of all sites of a run. *now* is in seconds of a monotonic clock."""

    def __init__(self, *, bounds: Bounds, budget: Budget, per_host: int, most_unanswered: int) -> None:
        """*most_unanswered*: consecutive requests without a response after which a host gets no more requests."""
        self.frontier = Frontier(per_host=per_host)
        self.cross_submissions = CrossSubmissions()
        self._bounds = bounds
        self._budget = budget
        self._most_unanswered = most_unanswered
        self._fresh: Iterator[Candidate] = iter(())
        self._sites: dict[str, SiteState] = {}
        self._open = 0
        self._settled: deque[SiteState] = deque()
        self._sharing: dict[str, SiteState] = {}
        self._waiting = 0
        self._provenance = Provenance()
        self._later: list[tuple[float, int, Candidate]] = []  # due time, and order of requeueing
        self._requeue = 0

    def begin(self, candidates: Iterable[Candidate]) -> None:
        """Add *candidates*, one for each site or document that the user named, after those added so far."""
        self._fresh = chain(
            self._fresh,
            ({candidate.root: candidate for candidate in candidates if candidate.root not in self._sites}).values(),
        )

    def __len__(self) -> int:
        """Return the number of queued documents."""
        return len(self.frontier) + len(self._later)

    def is_visited(self, url: str, root: str) -> bool:
        """Whether the document at *url* was considered for the site *root*, or was refused in this run."""
        key, owner = document_key(url), self.frontier.owner(url)
        is_refused = owner is None and self.frontier.is_known(url)
        return owner == root or is_refused or key in self._sites[root].shared_keys

    def next_turn(self) -> float | None:
        """Return when the first waiting document is due; ``None`` if none is waiting."""
        turns = [turn for turn in (self.frontier.next_turn(), self._later[0][0] if self._later else None) if turn]
        return min(turns, default=None)

    def __getitem__(self, root: str) -> SiteState:
        return self._sites[root]

    def consider(
        self, candidate: Candidate, now: float, unwanted: NotFetched | None = None, *, remembers: bool = True
    ) -> NotFetched | None:
        """Queue *candidate* if it is new; return why it is not fetched, once for each document.

        *unwanted*: why the user does not want it, if so. *remembers*: whether to
        remember a refusal, which takes some memory; if not, it is returned each time.
        """
        site = self._sites[candidate.root]
        owner = self.frontier.owner(candidate.url)
        if owner is not None:
            self._link(candidate)
            site.share(candidate, candidate.url, owner)
            self.cross_submissions.note(candidate)
            return None
        not_fetched = unwanted or refuse(candidate, self._bounds) or self._budget.refuse(site, now)
        if not_fetched is None:
            self._link(candidate)
            site.documents += 1
            self._wait_for(site)
            self.frontier.add(candidate)
            return None
        if not remembers:
            return None if self.frontier.is_known(candidate.url) else not_fetched
        self._link(candidate)
        self.cross_submissions.note(candidate)
        return not_fetched if self.frontier.refuse(candidate.url) else None

    def _link(self, candidate: Candidate) -> None:
        if candidate.parent is not None:
            self._provenance.link(document_key(candidate.url), document_key(candidate.parent))

    def redirect(self, candidate: Candidate, url: str) -> NotFetched | None:
        """Return why the document of *candidate* is not read from *url*, its final URL; ``None`` if it is read."""
        if document_key(url) == document_key(candidate.url):
            return None  # not a redirect, though Scrapy may have escaped the URL
        if not_fetched := refuse(replace(candidate, url=url), self._bounds):
            return NotFetched(not_fetched.outcome, f"it redirects to {url}: {not_fetched.reason}")
        if not self._claim(url, candidate):
            return NotFetched(Outcome.SKIPPED, f"it redirects to {url}, which is read separately")
        return None

    def release(self, candidate: Candidate, url: str) -> None:
        """Allow another candidate to fetch *url*, where the document of *candidate* was found but could not be used."""
        if document_key(url) != document_key(candidate.url):
            self.frontier.release(url)

    def _claim(self, url: str, candidate: Candidate) -> bool:
        """Claim *url*, to which *candidate* redirects; return ``False`` if it was claimed before."""
        self._provenance.link(document_key(candidate.url), document_key(url))
        if self.frontier.claim(url, candidate.root):
            return True
        self._provenance.link(document_key(url), document_key(candidate.url))
        self.cross_submissions.note(replace(candidate, url=url))
        self._sites[candidate.root].share(candidate, url, self.frontier.owner(url))
        return False

    def _wait_for(self, site: SiteState) -> None:
        site.waiting += 1
        self._waiting += 1

    def take(self, now: float) -> tuple[Candidate, NotFetched | None] | None:
        """Return the next candidate, and why it may not be requested after all; ``None`` if all have to wait."""
        while self._later and self._later[0][0] <= now:
            self.frontier.requeue(heapq.heappop(self._later)[2])
        if (candidate := self.frontier.take(now)) is None:
            return None
        site = self._sites[candidate.root]
        site.documents -= 1  # it was counted when queued, but the budget counts only requested documents
        not_fetched = self._budget.refuse(site, now) or self.frontier.why_shut(candidate.url)
        site.documents += not_fetched is None
        if not_fetched is not None:
            self.frontier.forgo(candidate, now)
        elif site.started_at is None:
            site.started_at = now
        return candidate, not_fetched

    def done(self, candidate: Candidate, now: float) -> None:
        """Mark *candidate*, which was taken, as done."""
        # The robots.txt of a site is requested without checking the rules of its host.
        self.frontier.done(candidate, has_rules=not candidate.site_root)
        self._let_go(candidate, now)

    def requeue(self, candidate: Candidate, url: str, until: float) -> None:
        """Queue *candidate*, which is still in flight, again, not to be requested before *until*.

        The wait applies to the host of *url*, which may be the target of a redirect.
        """
        self._wait_for(self._sites[candidate.root])
        self.frontier.hold(url, until)
        self._requeue += 1
        heapq.heappush(self._later, (until, self._requeue, replace(candidate, attempt=candidate.attempt + 1)))

    def unanswered(self, url: str, failure: NotFetched) -> None:
        """Record that the host of *url* did not respond (*failure*: why); shut the host after too many in a row."""
        count = self.frontier.note_answer(url, has_answered=False)
        if count == self._most_unanswered:
            reason = f"its host did not respond {count} times in a row: {failure.reason}"
            self.frontier.shut(url, replace(failure, reason=reason))

    def note(self, candidate: Candidate, record: SitemapRecord, *, urls: int) -> None:
        """Record the outcome of *candidate*, which listed *urls* URLs."""
        has_twin = record.fetched_at is not None and secure_twin(candidate, record) is not None
        trace = self._sites[candidate.root].note(candidate, record, urls=urls, has_twin=has_twin)
        self._provenance.note(document_key(candidate.url), trace)

    def urls_left(self, candidate: Candidate) -> int | None:
        """Return how many more URLs may be read for the site of *candidate*; ``None``: no limit."""
        most = self._budget.urls
        return None if most is None else max(0, most - self._sites[candidate.root].urls)

    def drain(self, now: float) -> Iterator[Candidate]:
        """Yield all queued candidates, and empty the queue."""
        for _, _, candidate in self._later:
            self.frontier.requeue(candidate)
        self._later.clear()
        for candidate in self.frontier.drain():
            self._sites[candidate.root].documents -= 1
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
        """Return the site that settled first, else a new one; ``None`` if enough sites are open."""
        if self._settled:
            return self._settled.popleft()
        candidate = next(self._fresh, None) if self._open < MOST_OPEN else None
        if candidate is not None:
            return self._begin(candidate)
        return self._next_sharing() if not self._waiting else None

    def _next_sharing(self) -> SiteState | None:
        """Return a site that shares documents, updated with their outcomes; ``None`` if there is none."""
        if not self._sharing:
            return None
        site = self._sharing.pop(next(iter(self._sharing)))
        for key, owner in site.shared.items():
            site.copy_from(self._provenance, key, owner)
        site.shared.clear()
        return site

    def _begin(self, candidate: Candidate) -> SiteState:
        site = self._sites[candidate.root] = SiteState(first=candidate)
        self._open += 1
        return site

    def conclude(self, site: SiteState, *, is_over: bool, epoch: float) -> SiteRecord:
        """Return the record of *site*, which gets no more documents. For the arguments see :meth:`SiteState.record`."""
        record = site.record(is_over=is_over, epoch=epoch)
        self._open -= 1
        site.close()
        return record

    def settle(self, site: SiteState) -> None:
        """Mark *site* as settled again if its next candidate was not queued."""
        if not site.waiting:
            self._settled.append(site)

    def unfinished(self) -> Iterator[SiteState]:
        """Yield the sites whose result is not known yet."""
        yield from [site for site in self._sites.values() if not site.is_over]
        yield from map(self._begin, self._fresh)

    def _let_go(self, candidate: Candidate, now: float) -> None:
        site = self._sites[candidate.root]
        site.waiting -= 1
        self._waiting -= 1
        site.ended_at = now
        if not site.waiting:
            self._settled.append(site)


def secure_twin(candidate: Candidate, record: SitemapRecord) -> Candidate | None:
    """Return the candidate for the same document with ``https`` if plain ``http`` failed, else ``None``."""
    is_named = not candidate.site_root and not candidate.found_by.is_guess
    if not is_named or record.cause not in _MAY_BE_SECURE or not candidate.url.lower().startswith("http://"):
        return None
    if ":" in host_of(candidate.url):
        return None  # an explicit port serves only one of the schemes
    return replace(candidate, url=f"https{candidate.url[4:]}", found_by=FoundBy.VARIANT)
