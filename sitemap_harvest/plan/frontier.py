"""The documents known in a run: which wait, which have been taken up, each once, and which were refused."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from sitemap_harvest.urls import url_key, without_user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.plan.lead import Lead

_KEYS_KEPT = 64  # addresses are looked up several times on end, and few at a time; one may have a megabyte


@lru_cache(maxsize=_KEYS_KEPT)
def document_key(url: str) -> str:
    """Return what identifies the document at *url*: its key without user name and fragment, which are never sent."""
    address = without_user(url.partition("#")[0])  # not urldefrag(), which raises where a host makes no sense
    return url_key(address) or address


def host_of(url: str) -> str:
    """Return host and port of *url*; empty for a file."""
    return url.partition("://")[2].partition("/")[0].lower()


@dataclass(slots=True)
class _Host:
    """What waits for one host, and when it may be asked."""

    name: str
    waiting: dict[int, deque[Lead]] = field(default_factory=dict)
    """By depth."""
    in_flight: int = 0
    is_met: bool = False
    """Whether a document has come of which its rules were asked."""
    delay: float = 0.0
    """Seconds between two documents."""
    asked_at: float = 0.0
    """When the last document was asked for."""
    ready_at: float = 0.0
    """Not before: seconds of the clock that the frontier is told."""
    is_queued: bool = False
    """Whether it is among those whose turn will come."""


class Frontier:
    """What is known of the documents of a run, and whose turn it is.

    Hosts take turns, so that one with many documents, or a slow one, does not
    hold up the others. Of one host the deepest documents come first, in the order
    in which they were named: so what an index lists is read before the next
    index adds to it, and few wait. Holds addresses only: 50,000 children cost
    some megabytes. *now* is in seconds, of any clock that does not go back.
    """

    def __init__(self, *, per_host: int) -> None:
        """Let at most *per_host* documents of one host be on their way."""
        self._per_host = per_host
        self._known: dict[str, str] = {}
        self._refused: set[str] = set()
        self._hosts: dict[str, _Host] = {}
        self._turns: deque[_Host] = deque()
        self._sleeping: list[tuple[float, str]] = []
        self._count = 0

    def __len__(self) -> int:
        """Return how many leads wait."""
        return self._count

    def owner(self, url: str) -> str | None:
        """Return the root for which the document at *url* was taken up, under any spelling; ``None`` if it was not."""
        return self._known.get(document_key(url))

    def is_known(self, url: str) -> bool:
        """Whether the document at *url* was taken up or refused, under any spelling."""
        key = document_key(url)
        return key in self._known or key in self._refused

    def claim(self, url: str, root: str) -> bool:
        """Note that the document at *url* is taken up for *root*; ``False`` if it was before."""
        key = document_key(url)
        if key in self._known:
            return False
        self._known[key] = root
        return True

    def release(self, url: str) -> None:
        """Let the document at *url*, to which a redirect has led, be asked for by itself."""
        self._known.pop(document_key(url), None)

    def refuse(self, url: str) -> bool:
        """Note that the document at *url* was refused, which ends nothing; ``False`` if it was before."""
        before = len(self._refused)
        self._refused.add(document_key(url))
        return len(self._refused) > before

    def add(self, lead: Lead) -> None:
        """Take *lead* up and let it wait its turn."""
        self.claim(lead.url, lead.root)
        self.put_back(lead)

    def put_back(self, lead: Lead) -> None:
        """Let *lead*, which was taken before, wait its turn again."""
        host = self._host(lead.url)
        host.waiting.setdefault(lead.depth, deque()).append(lead)
        self._count += 1
        self._queue(host)

    def take(self, now: float) -> Lead | None:
        """Return the lead whose turn it is, which is on its way from now on; ``None`` if no host may be asked *now*."""
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

    def forgo(self, lead: Lead, now: float) -> None:
        """Note that *lead*, which was taken *now*, is not asked for: its host need not be left alone after it."""
        self._host(lead.url).ready_at = now

    def done(self, lead: Lead, *, is_met: bool) -> None:
        """Note that *lead* is not on its way any more; *is_met*: the rules of its host are known by now."""
        host = self._host(lead.url)
        host.in_flight -= 1
        host.is_met |= is_met
        self._queue(host)

    def hold(self, url: str, until: float) -> None:
        """Ask the host of *url* for nothing before *until*."""
        host = self._host(url)
        host.ready_at = max(host.ready_at, until)

    def slow_down(self, url: str, delay: float) -> None:
        """Ask the host of *url* for one document at a time, *delay* seconds after the one before."""
        host = self._host(url)
        host.delay = delay
        host.ready_at = max(host.ready_at, host.asked_at + delay)

    def delay_of(self, url: str) -> float:
        """Return the seconds that the host of *url* wants between two documents."""
        return self._host(url).delay

    def next_turn(self) -> float | None:
        """Return when the first of the hosts that have to wait may be asked; ``None`` if none has to."""
        return self._sleeping[0][0] if self._sleeping else None

    def drain(self) -> Iterator[Lead]:
        """Yield all leads that wait; none does afterwards."""
        for host in self._hosts.values():
            while host.waiting:
                self._count -= 1
                yield _deepest(host.waiting)

    def _begin(self, host: _Host, now: float) -> Lead:
        lead = _deepest(host.waiting)
        self._count -= 1
        host.in_flight += 1
        host.asked_at = now
        host.ready_at = max(host.ready_at, now + host.delay)
        self._queue(host)
        return lead

    def _queue(self, host: _Host) -> None:
        """Let *host* have its turn after the others, if there is something that may be asked of it."""
        if not host.is_queued and host.waiting and host.in_flight < self._most(host):
            host.is_queued = True
            self._turns.append(host)

    def _most(self, host: _Host) -> int:
        # Of several requests that wait for one robots.txt, Scrapy 2.19 lets all but the first pass unlooked at.
        return 1 if host.delay or not host.is_met else self._per_host

    def _host(self, url: str) -> _Host:
        name = host_of(url)
        if name not in self._hosts:
            self._hosts[name] = _Host(name, is_met=not name)  # files have no rules
        return self._hosts[name]


def _deepest(waiting: dict[int, deque[Lead]]) -> Lead:
    depth = max(waiting)
    lead = waiting[depth].popleft()
    if not waiting[depth]:
        del waiting[depth]
    return lead
