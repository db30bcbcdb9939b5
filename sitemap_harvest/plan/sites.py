"""The sites of a run: what may be asked for, whose turn it is, and which of them have nothing left to be tried."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from sitemap_harvest.model import Cause, FoundBy, Outcome
from sitemap_harvest.plan.expansion import refuse
from sitemap_harvest.plan.frontier import Frontier, host_of
from sitemap_harvest.plan.lead import Lead, Refusal
from sitemap_harvest.plan.proofs import Proofs
from sitemap_harvest.plan.site import Site

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.model import SitemapRecord, SiteRecord
    from sitemap_harvest.plan.budget import Budget
    from sitemap_harvest.plan.expansion import Bounds

_MOST_OPEN = 1_000  # sites at a time: each takes some kilobytes, and a list may have a million
_MAY_BE_SECURE = frozenset({Cause.REFUSED, Cause.TIMEOUT, Cause.CONNECTION, Cause.NOT_HTTP})


class Sites:
    """What is known of all sites of a run. *now* is in seconds, of a clock that does not go back."""

    def __init__(self, leads: Iterable[Lead], *, bounds: Bounds, budget: Budget, per_host: int) -> None:
        """Begin with *leads*, one for each thing that the user named."""
        self.frontier = Frontier(per_host=per_host)
        self.proofs = Proofs()
        self._bounds = bounds
        self._budget = budget
        self._fresh = iter({lead.root: lead for lead in leads}.values())
        self._sites: dict[str, Site] = {}
        self._open = 0
        self._settled: deque[Site] = deque()
        self._sharing: dict[str, Site] = {}
        self._shut: dict[str, str] = {}

    def __getitem__(self, root: str) -> Site:
        return self._sites[root]

    def consider(self, lead: Lead, now: float, unwanted: Refusal | None = None) -> Refusal | None:
        """Let *lead* wait its turn, unless it is known; return why it may not, once for each document.

        *unwanted* is why the user does not want it, if so.
        """
        site = self._sites[lead.root]
        owner = self.frontier.owner(lead.url)
        if owner is not None:
            self._share(site, owner)
            self.proofs.note(lead)
            return None
        refusal = unwanted or refuse(lead, self._bounds) or self._budget.refuse(site, now)
        if refusal is None:
            site.documents += 1
            site.waiting += 1
            self.frontier.add(lead)
            return None
        self.proofs.note(lead)
        return refusal if self.frontier.refuse(lead.url) else None

    def claim(self, url: str, lead: Lead) -> bool:
        """Take up the document at *url*, to which *lead* has been redirected; ``False`` if it was taken up before."""
        if self.frontier.claim(url, lead.root):
            return True
        self.proofs.note(replace(lead, url=url))
        self._share(self._sites[lead.root], self.frontier.owner(url))
        return False

    def _share(self, site: Site, owner: str | None) -> None:
        """Note that a document of *site* was taken up for *owner*."""
        if owner is not None and owner != site.root:
            site.shared_with = owner

    def take(self, now: float) -> tuple[Lead, Refusal | None] | None:
        """Return the lead whose turn it is, and why it may not be asked for after all; ``None`` if all have to wait."""
        if (lead := self.frontier.take(now)) is None:
            return None
        site = self._sites[lead.root]
        site.documents -= 1  # it is not asked for before the budget says so
        refusal = self._budget.refuse(site, now) or self._refuse_host(lead)
        site.documents += refusal is None
        if refusal is None and site.started_at is None:
            site.started_at = now
        return lead, refusal

    def _refuse_host(self, lead: Lead) -> Refusal | None:
        reason = self._shut.get(host_of(lead.url))
        return Refusal(Outcome.BLOCKED, reason) if reason else None

    def done(self, lead: Lead, now: float) -> None:
        """Be done with *lead*, which was taken."""
        # The robots.txt of a site is asked for without a look at the rules of its host.
        self.frontier.done(lead, is_met=not lead.site_root)
        self._let_go(lead, now)

    def put_back(self, lead: Lead, until: float) -> None:
        """Let *lead*, which was taken and is not done with yet, be asked for again, and its host alone *until* then."""
        self._sites[lead.root].waiting += 1
        self.frontier.hold(lead.url, until)
        self.frontier.put_back(replace(lead, attempt=lead.attempt + 1))

    def shut(self, url: str, reason: str) -> None:
        """Ask the host of *url* for nothing more in this run, for that *reason*."""
        self._shut[host_of(url)] = reason

    def note(self, lead: Lead, record: SitemapRecord, *, urls: int) -> None:
        """Take in what became of *lead*, which listed *urls* URLs."""
        self._sites[lead.root].note(lead, record, urls=urls, has_twin=secure_twin(lead, record) is not None)

    def urls_left(self, lead: Lead) -> int | None:
        """Return how many more URLs may be read for the site of *lead*; ``None``: any number."""
        most = self._budget.urls
        return None if most is None else max(0, most - self._sites[lead.root].urls)

    def drain(self, now: float) -> Iterator[Lead]:
        """Yield all leads that wait; none does afterwards."""
        for lead in self.frontier.drain():
            self._sites[lead.root].documents -= 1
            self._let_go(lead, now)
            yield lead

    def settled(self) -> Iterator[Site]:
        """Yield the sites of which nothing waits and nothing is on its way, each once until something is again.

        Not those that share documents with a site that is not over: :meth:`sharing` yields them.
        """
        while (site := self._next_settled()) is not None:
            if site.waiting or site.is_over:
                continue
            owner = self._sites.get(site.shared_with or "")
            if owner is None or owner.is_over or site.lists:
                yield site
            else:
                self._sharing[site.root] = site

    def _next_settled(self) -> Site | None:
        """Return the site that was settled first, or else a new one; ``None`` if enough are open."""
        if self._settled:
            return self._settled.popleft()
        lead = next(self._fresh, None) if self._open < _MOST_OPEN else None
        return None if lead is None else self._begin(lead)

    def _begin(self, lead: Lead) -> Site:
        site = self._sites[lead.root] = Site.of(lead)
        self._open += 1
        return site

    def sharing(self) -> Iterator[Site]:
        """Yield the sites that share documents with others. To be called when nothing else is left."""
        yield from (site for site in self._sharing.values() if not site.is_over)
        self._sharing.clear()

    def conclude(self, site: Site, *, is_over: bool, epoch: float) -> SiteRecord:
        """Return what came of *site*, of which nothing more is to come; the arguments are for :meth:`Site.record`."""
        record = site.record(is_over=is_over, epoch=epoch, owner=self._sites.get(site.shared_with or ""))
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
