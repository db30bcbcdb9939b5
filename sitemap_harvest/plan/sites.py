"""The sites of a run: what may be asked for, whose turn it is, and which of them have nothing left to be tried."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from sitemap_harvest.model import Cause, FoundBy, Outcome
from sitemap_harvest.plan.expansion import refuse
from sitemap_harvest.plan.frontier import Frontier, document_key, host_of
from sitemap_harvest.plan.lead import Lead, Refusal
from sitemap_harvest.plan.proofs import Proofs
from sitemap_harvest.plan.site import Site
from sitemap_harvest.plan.traces import Traces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.model import SitemapRecord, SiteRecord
    from sitemap_harvest.plan.budget import Budget
    from sitemap_harvest.plan.expansion import Bounds

MOST_OPEN = 5_000  # sites at a time: each takes some kilobytes, and a list may have a million
_MAY_BE_SECURE = frozenset({Cause.REFUSED, Cause.TIMEOUT, Cause.CONNECTION, Cause.NOT_HTTP})


class Sites:
    """What is known of all sites of a run. *now* is in seconds, of a clock that does not go back."""

    def __init__(
        self, leads: Iterable[Lead], *, bounds: Bounds, budget: Budget, per_host: int, most_unanswered: int
    ) -> None:
        """Begin with *leads*, one for each thing that the user named.

        *most_unanswered* is after how many documents in a row without an answer a host is asked for nothing more.
        """
        self.frontier = Frontier(per_host=per_host)
        self.proofs = Proofs()
        self._bounds = bounds
        self._budget = budget
        self._most_unanswered = most_unanswered
        self._fresh: Iterator[Lead] = iter({lead.root: lead for lead in leads}.values())
        self._sites: dict[str, Site] = {}
        self._open = 0
        self._settled: deque[Site] = deque()
        self._sharing: dict[str, Site] = {}
        self._waiting = 0
        self._traces = Traces()
        self._shut: dict[str, Refusal] = {}
        self._unanswered: dict[str, int] = {}  # documents of a host in a row that got no answer
        self._later: list[tuple[float, int, Lead]] = []  # by when, and in which order they were put back
        self._put_back = 0

    def begin(self, leads: Iterable[Lead]) -> None:
        """Begin with *leads* too, after those that are named already."""
        self._fresh = chain(self._fresh, ({lead.root: lead for lead in leads if lead.root not in self._sites}).values())

    def __len__(self) -> int:
        """Return how many documents wait."""
        return len(self.frontier) + len(self._later)

    def is_met(self, url: str, root: str) -> bool:
        """Whether the document at *url* was considered for the site *root*, or was refused in this run."""
        key, owner = document_key(url), self.frontier.owner(url)
        is_refused = owner is None and self.frontier.is_known(url)
        return owner == root or is_refused or key in self._sites[root].shared_keys

    def next_turn(self) -> float | None:
        """Return when what has to wait may be asked for first; ``None`` if nothing has to."""
        turns = [turn for turn in (self.frontier.next_turn(), self._later[0][0] if self._later else None) if turn]
        return min(turns, default=None)

    def __getitem__(self, root: str) -> Site:
        return self._sites[root]

    def consider(
        self, lead: Lead, now: float, unwanted: Refusal | None = None, *, remembers: bool = True
    ) -> Refusal | None:
        """Let *lead* wait its turn, unless it is known; return why it may not, once for each document.

        *unwanted* is why the user does not want it, if so. *remembers* is whether a refusal is remembered, which takes
        some memory; else it is returned each time.
        """
        site = self._sites[lead.root]
        owner = self.frontier.owner(lead.url)
        if owner is not None:
            self._link(lead)
            site.share(lead, lead.url, owner)
            self.proofs.note(lead)
            return None
        refusal = unwanted or refuse(lead, self._bounds) or self._budget.refuse(site, now)
        if refusal is None:
            self._link(lead)
            site.documents += 1
            self._wait_for(site)
            self.frontier.add(lead)
            return None
        if not remembers:
            return None if self.frontier.is_known(lead.url) else refusal
        self._link(lead)
        self.proofs.note(lead)
        return refusal if self.frontier.refuse(lead.url) else None

    def _link(self, lead: Lead) -> None:
        if lead.parent is not None:
            self._traces.link(document_key(lead.url), document_key(lead.parent))

    def redirect(self, lead: Lead, url: str) -> Refusal | None:
        """Return why the document of *lead* is not read from *url*, where it was found; ``None`` if it is."""
        if document_key(url) == document_key(lead.url):
            return None  # no redirect, though Scrapy may have escaped the address
        if refusal := refuse(replace(lead, url=url), self._bounds):
            return Refusal(refusal.outcome, f"it redirects to {url}: {refusal.reason}")
        if not self._claim(url, lead):
            return Refusal(Outcome.SKIPPED, f"it redirects to {url}, which is read by itself")
        return None

    def release(self, lead: Lead, url: str) -> None:
        """Let another lead make more of *url*, where the document of *lead* was found, and gave nothing."""
        if document_key(url) != document_key(lead.url):
            self.frontier.release(url)

    def _claim(self, url: str, lead: Lead) -> bool:
        """Take up the document at *url*, to which *lead* has been redirected; ``False`` if it was taken up before."""
        self._traces.link(document_key(lead.url), document_key(url))
        if self.frontier.claim(url, lead.root):
            return True
        self._traces.link(document_key(url), document_key(lead.url))
        self.proofs.note(replace(lead, url=url))
        self._sites[lead.root].share(lead, url, self.frontier.owner(url))
        return False

    def _wait_for(self, site: Site) -> None:
        site.waiting += 1
        self._waiting += 1

    def take(self, now: float) -> tuple[Lead, Refusal | None] | None:
        """Return the lead whose turn it is, and why it may not be asked for after all; ``None`` if all have to wait."""
        while self._later and self._later[0][0] <= now:
            self.frontier.put_back(heapq.heappop(self._later)[2])
        if (lead := self.frontier.take(now)) is None:
            return None
        site = self._sites[lead.root]
        site.documents -= 1  # it is not asked for before the budget says so
        refusal = self._budget.refuse(site, now) or self._refuse_host(lead)
        site.documents += refusal is None
        if refusal is not None:
            self.frontier.forgo(lead, now)
        elif site.started_at is None:
            site.started_at = now
        return lead, refusal

    def _refuse_host(self, lead: Lead) -> Refusal | None:
        return self._shut.get(host_of(lead.url))

    def done(self, lead: Lead, now: float) -> None:
        """Be done with *lead*, which was taken."""
        # The robots.txt of a site is asked for without a look at the rules of its host.
        self.frontier.done(lead, is_met=not lead.site_root)
        self._let_go(lead, now)

    def put_back(self, lead: Lead, url: str, until: float) -> None:
        """Let *lead*, which was taken and is not done with yet, be asked for again *until* then, and not before.

        It is the host of *url*, to which it may have been redirected, that wants to be left alone.
        """
        self._wait_for(self._sites[lead.root])
        self.frontier.hold(url, until)
        self._put_back += 1
        heapq.heappush(self._later, (until, self._put_back, replace(lead, attempt=lead.attempt + 1)))

    def shut(self, url: str, refusal: Refusal) -> None:
        """Ask the host of *url* for nothing more in this run: its documents are refused by *refusal*."""
        self._shut[host_of(url)] = refusal

    def answered(self, url: str) -> None:
        """Note that the host of *url* has answered."""
        self._unanswered.pop(host_of(url), None)

    def unanswered(self, url: str, refusal: Refusal) -> None:
        """Note that the host of *url* gave no answer, and why in *refusal*; after too many in a row, shut it."""
        host = host_of(url)
        self._unanswered[host] = count = self._unanswered.get(host, 0) + 1
        if count == self._most_unanswered:
            reason = f"its host gave no answer {count} times in a row: {refusal.reason}"
            self.shut(url, replace(refusal, reason=reason))

    def note(self, lead: Lead, record: SitemapRecord, *, urls: int) -> None:
        """Take in what became of *lead*, which listed *urls* URLs."""
        has_twin = record.fetched_at is not None and secure_twin(lead, record) is not None
        trace = self._sites[lead.root].note(lead, record, urls=urls, has_twin=has_twin)
        self._traces.note(document_key(lead.url), trace)

    def urls_left(self, lead: Lead) -> int | None:
        """Return how many more URLs may be read for the site of *lead*; ``None``: any number."""
        most = self._budget.urls
        return None if most is None else max(0, most - self._sites[lead.root].urls)

    def drain(self, now: float) -> Iterator[Lead]:
        """Yield all leads that wait; none does afterwards."""
        for _, _, lead in self._later:
            self.frontier.put_back(lead)
        self._later.clear()
        for lead in self.frontier.drain():
            self._sites[lead.root].documents -= 1
            self._let_go(lead, now)
            yield lead

    def settled(self) -> Iterator[Site]:
        """Yield the sites of which nothing waits and nothing is on its way, each once until something is again.

        Those that share documents with others come when nothing waits at all: only then is known what came of these.
        """
        while (site := self._next_settled()) is not None:
            if site.waiting or site.is_over:
                continue
            if site.shared:
                self._sharing[site.root] = site
            else:
                yield site

    def _next_settled(self) -> Site | None:
        """Return the site that was settled first, or else a new one; ``None`` if enough are open."""
        if self._settled:
            return self._settled.popleft()
        lead = next(self._fresh, None) if self._open < MOST_OPEN else None
        if lead is not None:
            return self._begin(lead)
        return self._next_sharing() if not self._waiting else None

    def _next_sharing(self) -> Site | None:
        """Return a site that shares documents with others, with what came of these; ``None`` if there is none."""
        if not self._sharing:
            return None
        site = self._sharing.pop(next(iter(self._sharing)))
        for key, owner in site.shared.items():
            site.borrow(self._traces, key, owner)
        site.shared.clear()
        return site

    def _begin(self, lead: Lead) -> Site:
        site = self._sites[lead.root] = Site.of(lead)
        self._open += 1
        return site

    def conclude(self, site: Site, *, is_over: bool, epoch: float) -> SiteRecord:
        """Return what came of *site*, of which nothing more is to come; the arguments are for :meth:`Site.record`."""
        record = site.record(is_over=is_over, epoch=epoch)
        self._open -= 1
        site.close()
        return record

    def settle(self, site: Site) -> None:
        """Let *site* be settled again, if what was to be tried next did not come to wait."""
        if not site.waiting:
            self._settled.append(site)

    def unfinished(self) -> Iterator[Site]:
        """Yield the sites of which it has not been told what came of them."""
        yield from [site for site in self._sites.values() if not site.is_over]
        yield from map(self._begin, self._fresh)

    def _let_go(self, lead: Lead, now: float) -> None:
        site = self._sites[lead.root]
        site.waiting -= 1
        self._waiting -= 1
        site.ended_at = now
        if not site.waiting:
            self._settled.append(site)


def secure_twin(lead: Lead, record: SitemapRecord) -> Lead | None:
    """Return the lead to the same document with ``https``, if *lead* did not come with ``http``; else ``None``."""
    is_named = not lead.site_root and not lead.found_by.is_guess
    if not is_named or record.cause not in _MAY_BE_SECURE or not lead.url.lower().startswith("http://"):
        return None
    if ":" in host_of(lead.url):
        return None  # a port that was named speaks one of them
    return replace(lead, url=f"https{lead.url[4:]}", found_by=FoundBy.VARIANT)
