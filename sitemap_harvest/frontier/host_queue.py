"""The queue of documents of a run by host: which host is served next, and which documents are claimed or refused."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sitemap_harvest.urls import document_key, host_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.discovery.candidate import Candidate, NotFetched


@dataclass(slots=True)
class _Host:
    """The queue of one host, and when it may be requested from."""

    name: str
    waiting: dict[int, deque[Candidate]] = field(default_factory=dict)
    """Candidates by depth."""
    in_flight: int = 0
    has_rules: bool = False
    """Whether a response arrived for a request that checks the host's robots.txt."""
    delay: float = 0.0
    """Minimum seconds between two requests."""
    requested_at: float = 0.0
    """When the last document was requested."""
    ready_at: float = 0.0
    """Earliest time of the next request, in seconds of the caller's clock."""
    is_queued: bool = False
    """Whether it is in the queue of hosts."""
    unanswered: int = 0
    """Consecutive documents without a response."""
    shut: NotFetched | None = None
    """Why nothing more is requested from it in this run."""


class Frontier:
    """The documents of a run, and which one is requested next.

    Hosts take turns, so that a slow host, or one with many documents, does not delay
    the others. Within a host the deepest documents come first, in the order in which
    they were named: the children of an index are read before the next index adds more,
    so the queue stays short. Stores URLs only: 50,000 children take some megabytes.
    *now* is in seconds of any monotonic clock.
    """

    def __init__(self, *, per_host: int) -> None:
        """Allow at most *per_host* documents of one host in flight."""
        self._per_host = per_host
        self._known: dict[str, str] = {}
        self._refused: set[str] = set()
        self._hosts: dict[str, _Host] = {}
        self._turns: deque[_Host] = deque()
        self._sleeping: list[tuple[float, str]] = []
        self._count = 0

    def __len__(self) -> int:
        """Return the number of queued candidates."""
        return self._count

    def owner(self, url: str) -> str | None:
        """Return the root that claimed the document at *url*, under any spelling; ``None`` if it is not claimed."""
        return self._known.get(document_key(url))

    def is_known(self, url: str) -> bool:
        """Whether the document at *url* was claimed or refused, under any spelling."""
        key = document_key(url)
        return key in self._known or key in self._refused

    def claim(self, url: str, root: str) -> bool:
        """Claim the document at *url* for *root*; return ``False`` if it was claimed before."""
        key = document_key(url)
        if key in self._known:
            return False
        self._known[key] = root
        return True

    def release(self, url: str) -> None:
        """Allow the document at *url*, the target of a redirect, to be requested separately."""
        self._known.pop(document_key(url), None)

    def refuse(self, url: str) -> bool:
        """Record that the document at *url* was refused; return ``False`` if it was refused before.

        It can still be claimed.
        """
        before = len(self._refused)
        self._refused.add(document_key(url))
        return len(self._refused) > before

    def add(self, candidate: Candidate) -> None:
        """Claim *candidate* and queue it."""
        self.claim(candidate.url, candidate.root)
        self.requeue(candidate)

    def requeue(self, candidate: Candidate) -> None:
        """Queue *candidate*, which was taken before, again."""
        host = self._host(candidate.url)
        host.waiting.setdefault(candidate.depth, deque()).append(candidate)
        self._count += 1
        self._queue(host)

    def take(self, now: float) -> Candidate | None:
        """Return the next candidate, which is now in flight; ``None`` if no host may be requested from *now*."""
        while self._sleeping and self._sleeping[0][0] <= now:
            self._turns.append(self._hosts[heapq.heappop(self._sleeping)[1]])
        while self._turns:
            host = self._turns.popleft()
            if host.ready_at > now:
                heapq.heappush(self._sleeping, (host.ready_at, host.name))
                continue
            host.is_queued = False
            if host.waiting and host.in_flight < self._most(host):
                return self._begin(host, now)
        return None

    def forgo(self, candidate: Candidate, now: float) -> None:
        """Record that *candidate*, which was taken *now*, is not requested: its host does not need the delay."""
        self._host(candidate.url).ready_at = now

    def done(self, candidate: Candidate, *, has_rules: bool) -> None:
        """Record that *candidate* is no longer in flight.

        *has_rules*: whether the robots.txt rules of its host are loaded now.
        """
        host = self._host(candidate.url)
        host.in_flight -= 1
        host.has_rules |= has_rules
        self._queue(host)

    def hold(self, url: str, until: float) -> None:
        """Request nothing from the host of *url* before *until*."""
        host = self._host(url)
        host.ready_at = max(host.ready_at, until)

    def slow_down(self, url: str, delay: float) -> None:
        """Request one document at a time from the host of *url*, at intervals of *delay* seconds."""
        host = self._host(url)
        host.delay = delay
        host.ready_at = max(host.ready_at, host.requested_at + delay)

    def delay_of(self, url: str) -> float:
        """Return the delay between two requests to the host of *url*, in seconds."""
        return self._host(url).delay

    def is_ready(self, url: str, now: float) -> bool:
        """Whether the host of *url* may be requested from *now*."""
        return self._host(url).ready_at <= now

    def has_rules(self, url: str) -> bool:
        """Whether the robots.txt rules of the host of *url* are loaded."""
        return self._host(url).has_rules

    def note_rules(self, url: str) -> None:
        """Record that the robots.txt rules of the host of *url* are loaded."""
        self._host(url).has_rules = True

    def next_turn(self) -> float | None:
        """Return when the first waiting host may be requested from; ``None`` if no host is waiting."""
        return self._sleeping[0][0] if self._sleeping else None

    def shut(self, url: str, not_fetched: NotFetched) -> None:
        """Request nothing more from the host of *url* in this run: its documents get *not_fetched*."""
        self._host(url).shut = not_fetched

    def why_shut(self, url: str) -> NotFetched | None:
        """Return why nothing is requested from the host of *url* any more; ``None`` if it is not shut."""
        return self._host(url).shut

    def note_answer(self, url: str, *, has_answered: bool) -> int:
        """Record whether the host of *url* responded; return how many documents in a row got no response."""
        host = self._host(url)
        host.unanswered = 0 if has_answered else host.unanswered + 1
        return host.unanswered

    def drain(self) -> Iterator[Candidate]:
        """Yield all queued candidates, and empty the queue."""
        for host in list(self._hosts.values()):  # others may be added meanwhile
            while host.waiting:
                self._count -= 1
                yield _deepest(host.waiting)

    def _begin(self, host: _Host, now: float) -> Candidate:
        candidate = _deepest(host.waiting)
        self._count -= 1
        host.in_flight += 1
        host.requested_at = now
        host.ready_at = max(host.ready_at, now + host.delay)
        self._queue(host)
        return candidate

    def _queue(self, host: _Host) -> None:
        """Put *host* at the end of the queue of hosts, if one of its documents may be requested."""
        if not host.is_queued and host.waiting and host.in_flight < self._most(host):
            host.is_queued = True
            self._turns.append(host)

    def _most(self, host: _Host) -> int:
        # If several requests wait for one robots.txt, Scrapy 2.19 checks only the first and lets the others pass.
        return 1 if host.delay or not host.has_rules else self._per_host

    def _host(self, url: str) -> _Host:
        name = host_of(url)
        if name not in self._hosts:
            self._hosts[name] = _Host(name, has_rules=not name)  # files have no robots.txt
        return self._hosts[name]


def _deepest(waiting: dict[int, deque[Candidate]]) -> Candidate:
    depth = max(waiting)
    candidate = waiting[depth].popleft()
    if not waiting[depth]:
        del waiting[depth]
    return candidate
