"""The queue of documents of a run by host: which host is served next."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sitemap_harvest.urls import host_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.discovery.candidate import Candidate, NotFetched


@dataclass(slots=True)
class Host:
    """The queue of one host, and when it may be requested from."""

    name: str
    waiting: dict[tuple[str, int], deque[Candidate]] = field(default_factory=dict)
    """Candidates by the last run that got to them, and by depth, negated."""
    in_flight: int = 0
    has_rules: bool = False
    """Whether a response arrived for a request that checks the host's robots.txt."""
    delay: float = 0.0
    """Minimum seconds between two requests; with a delay, documents are requested one at a time."""
    requested_at: float = 0.0
    ready_at: float = 0.0
    """Earliest time of the next request, in seconds of the caller's clock."""
    is_queued: bool = False
    has_responded: bool = False
    unanswered: int = 0
    """Consecutive documents without a response."""
    shut: NotFetched | None = None
    """Why nothing more is requested from it in this run; its documents get this outcome."""

    def slow_down(self, delay: float) -> None:
        """Request one document at a time, at intervals of *delay* seconds."""
        self.delay = delay
        self.ready_at = max(self.ready_at, self.requested_at + delay)

    def skip_turn(self) -> None:
        """Let the next document be requested at once: the last one that was taken is not requested after all."""
        if self.ready_at == self.requested_at + self.delay:  # otherwise it also waits for something else
            self.ready_at = self.requested_at

    def next(self) -> Candidate:
        """Remove and return the deepest of the waiting candidates that runs did not get to for longest."""
        first = min(self.waiting)
        candidate = self.waiting[first].popleft()
        if not self.waiting[first]:
            del self.waiting[first]
        return candidate


class Frontier:
    """The documents of a run, and which one is requested next.

    Hosts take turns, so that a slow host, or one with many documents, does not delay
    the others. Within a host the documents that earlier runs did not get to come first,
    and of these the deepest, in the order in which they were named: the children of an
    index are read before the next index adds more, so the queue stays short. Stores URLs
    only: 50,000 children take some megabytes. *now* is in seconds of any monotonic clock.
    """

    def __init__(self, *, per_host: int) -> None:
        """Allow at most *per_host* documents of one host in flight."""
        self._per_host = per_host
        self._hosts: dict[str, Host] = {}
        self._turns: deque[Host] = deque()
        self._sleeping: list[tuple[float, str]] = []
        self._later: list[tuple[float, int, Candidate]] = []  # due time, and order of adding
        self._added_later = 0
        self._count = 0

    def __len__(self) -> int:
        """Return the number of queued candidates."""
        return self._count

    def host(self, url: str) -> Host:
        """Return the host of *url*, which may be changed."""
        name = host_of(url)
        if name not in self._hosts:
            self._hosts[name] = Host(name, has_rules=not name)  # files have no robots.txt
        return self._hosts[name]

    def add(self, candidate: Candidate, until: float | None = None) -> None:
        """Queue *candidate*, not to be requested before *until*."""
        self._count += 1
        if until is not None:
            self._added_later += 1
            heapq.heappush(self._later, (until, self._added_later, candidate))
            return
        host = self.host(candidate.url)
        host.waiting.setdefault((candidate.last_run, -candidate.depth), deque()).append(candidate)
        self._queue(host)

    def take(self, now: float) -> Candidate | None:
        """Return the next candidate, which is now in flight; ``None`` if no host may be requested from *now*."""
        while self._later and self._later[0][0] <= now:
            self._count -= 1
            self.add(heapq.heappop(self._later)[2])
        while self._sleeping and self._sleeping[0][0] <= now:
            self._turns.append(self._hosts[heapq.heappop(self._sleeping)[1]])
        while self._turns:
            host = self._turns.popleft()
            if host.ready_at > now:
                heapq.heappush(self._sleeping, (host.ready_at, host.name))
                continue
            host.is_queued = False
            if not host.waiting or host.in_flight >= self._most(host):
                continue
            self._count -= 1
            candidate = host.next()
            host.in_flight += 1
            host.requested_at = now
            host.ready_at = max(host.ready_at, now + host.delay)
            self._queue(host)
            return candidate
        return None

    def done(self, candidate: Candidate, *, was_requested: bool = True) -> None:
        """Record that *candidate* is no longer in flight."""
        host = self.host(candidate.url)
        host.in_flight -= 1
        # The robots.txt of a site is requested without checking the rules of its host.
        host.has_rules |= was_requested and not candidate.site_root
        self._queue(host)

    def next_turn(self) -> float | None:
        """Return when the first waiting host may be requested from; ``None`` if no host is waiting."""
        turns = [*(turn for turn, _ in self._sleeping[:1]), *(until for until, _, _ in self._later[:1])]
        return min(turns, default=None)

    def drain(self) -> Iterator[Candidate]:
        """Yield all queued candidates, and empty the queue."""
        later, self._later = self._later, []
        for _, _, candidate in later:
            self._count -= 1
            self.add(candidate)
        for host in list(self._hosts.values()):  # others may be added meanwhile
            while host.waiting:
                self._count -= 1
                yield host.next()

    def _queue(self, host: Host) -> None:
        """Put *host* at the end of the queue of hosts, if one of its documents may be requested."""
        if not host.is_queued and host.waiting and host.in_flight < self._most(host):
            host.is_queued = True
            self._turns.append(host)

    def _most(self, host: Host) -> int:
        # If several requests wait for one robots.txt, Scrapy 2.19 checks only the first and lets the others pass.
        return 1 if host.delay or not host.has_rules else self._per_host
