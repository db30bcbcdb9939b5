"""What the run writes down: a row for each document that it met, and a record for each site."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from sitemap_harvest.crawl.record import record_of
from sitemap_harvest.model import Outcome, SitemapRecord, SiteRecord, SiteResult
from sitemap_harvest.plan import Lead, Refusal

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from scrapy.statscollectors import StatsCollector

    from sitemap_harvest.crawl.arguments import Plan
    from sitemap_harvest.crawl.flights import Flights
    from sitemap_harvest.crawl.keeping import Keeper
    from sitemap_harvest.crawl.summary import Summary
    from sitemap_harvest.plan import Site, Sites


MOST_REFUSED_ROWS = 1_000
"""Rows of documents that one document names and that are not asked for: an index may name 100,000 of them."""


class Ledger:
    """Counts each record once, tells the sites of it, and yields it if such items are wanted (``emit``)."""

    def __init__(
        self,
        plan: Plan,
        summary: Summary,
        stats: StatsCollector,
        *,
        sites: Sites,
        flights: Flights,
        keeper: Keeper | None,
    ) -> None:
        """*keeper* keeps the ledger in a store; ``None`` if there is none."""
        self._keeper = keeper
        self._plan = plan
        self._summary = summary
        self._stats = stats
        self._sites = sites
        self._flights = flights
        self._owed: deque[SitemapRecord] = deque()
        self._epoch = time.time() - time.monotonic()

    def consider(self, lead: Lead, unwanted: Refusal | None = None) -> Iterator[SitemapRecord]:
        """Let *lead* wait its turn, or enter the row that says why not, once for each document.

        *unwanted* is why the user does not want it, if so.
        """
        refusal = self._sites.consider(lead, time.monotonic(), unwanted)
        self.count_queued()
        if refusal is not None:
            yield from self.refused(lead, refusal)

    def follow(self, children: Iterable[tuple[Lead, Refusal | None]]) -> Generator[SitemapRecord, None, int]:
        """Consider *children* of one document, each with why the user does not want it, if so.

        Of those that are refused for another reason, the first :data:`MOST_REFUSED_ROWS` get a row. Return how many
        have none.
        """
        refused = 0
        for lead, unwanted in children:
            has_row = unwanted is not None or refused < MOST_REFUSED_ROWS
            refusal = self._sites.consider(lead, time.monotonic(), unwanted, remembers=has_row)
            if refusal is None:
                continue
            refused += refusal.outcome is not Outcome.SKIPPED
            if has_row or refusal.outcome is Outcome.SKIPPED:
                yield from self.refused(lead, refusal)
        self.count_queued()
        return max(0, refused - MOST_REFUSED_ROWS)

    def put_back(self, lead: Lead, url: str, seconds: float) -> None:
        """Let *lead* be asked for again after *seconds*, for which the host of *url* wants to be left alone."""
        self._flights.give_row(lead.url)  # it gets it when it has come
        self._sites.put_back(lead, url, time.monotonic() + seconds)
        self._stats.inc_value("sitemap_harvest/put_back")

    def count_queued(self) -> None:
        """Count the documents that wait or are on their way."""
        self._summary.queued = len(self._sites) + len(self._flights)

    @property
    def owes(self) -> bool:
        """Whether there are rows of documents that nobody can end any more."""
        return bool(self._owed)

    def owe(self, lead: Lead, refusal: Refusal) -> None:
        """Note that *lead* needs a row, which cannot be yielded now."""
        record = record_of(lead, refusal)
        self._sites.note(lead, record, urls=0)
        self._owed.append(record)

    def owed(self) -> Iterator[SitemapRecord]:
        """Enter the rows that are owed."""
        while self._owed:
            yield from self._enter(self._owed.popleft())

    def refused(self, lead: Lead, refusal: Refusal) -> Iterator[SitemapRecord]:
        """Enter the row of *lead*, which is not asked for because of *refusal*."""
        if refusal.is_pruned:
            self._stats.inc_value("sitemap_harvest/filter/pruned")
        record = record_of(lead, refusal)
        self._sites.note(lead, record, urls=0)
        yield from self._enter(record)

    def cut_off(self, leads: Iterator[Lead], reason: str) -> Iterator[SitemapRecord]:
        """Enter the rows of *leads*, which are not asked for because the user has enough, or has ended the run."""
        for lead in leads:
            yield from self._enter(record_of(lead, Refusal(Outcome.OVER_LIMIT, reason)), is_wanted=True)

    def ended(
        self, record: SitemapRecord, *, urls: int = 0, listed: int = 0, is_wanted: bool = False
    ) -> Iterator[SitemapRecord]:
        """Enter *record*, the row of a document that was asked for, unless it has one.

        It lists *listed* URLs, *urls* of which were handed out; *is_wanted*: the user wanted it to end so.
        """
        if (lead := self._flights.lead_in_need(record.url)) is None:
            return
        if self._keeper is not None:
            self._keeper.note(record)
        try:
            if "sitemaps" in self._plan.emit:
                yield record
        finally:  # where a spider middleware has failed on the row, another was entered in its place
            if self._flights.give_row(record.url):
                self._sites.note(lead, record, urls=listed)
                self._summary.add(record, self._stats, urls=urls, is_wanted=is_wanted)

    def site(self, site: Site, *, is_over: bool) -> Iterator[Any]:
        """Enter what came of *site*, and what has changed of it; *is_over* is ``False`` where the run ended before."""
        loans = site.loans
        yield from self._enter_site(self._sites.conclude(site, is_over=is_over, epoch=self._epoch))
        if self._keeper is not None and loans:
            self._keeper.lend(site.root, loans, self._sites.frontier.owner)
        if self._keeper is None or not (found := self._keeper.commit(site.root, is_over=is_over)):
            return
        self._summary.add_snapshot(found[-1].summary)
        for changes in found:
            with changes:
                self._summary.add_changes(changes.summary, self._stats)
                if "changes" in self._plan.emit:
                    yield from changes.batches()
                if "summaries" in self._plan.emit:
                    yield changes.summary
        self._keeper.handed_over(site.root)

    def no_sites(self) -> Iterator[SiteRecord]:
        """Enter a record for each line of the file of sites that is no site."""
        for root, reason in self._plan.no_sites:
            yield from self._enter_site(SiteRecord(root=root, result=SiteResult.NOT_A_SITE, reason=reason))

    def left_over(self) -> Iterator[Any]:
        """Enter what a run that ended early did not come to."""
        yield from self.owed()
        left = [*self._flights.unanswered()]
        yield from self.cut_off(iter(left), "the run ended before it was answered")
        left += (waiting := [*self._sites.drain(time.monotonic())])
        yield from self.cut_off(iter(waiting), "the run ended before it was asked for")
        self._summary.queued = len(left)
        for site in self._sites.unfinished():
            yield from self.site(site, is_over=False)

    def _enter(self, record: SitemapRecord, *, is_wanted: bool = False) -> Iterator[SitemapRecord]:
        if self._keeper is not None:
            self._keeper.note(record)
        self._summary.add(record, self._stats, urls=0, is_wanted=is_wanted)
        if "sitemaps" in self._plan.emit:
            yield record

    def _enter_site(self, record: SiteRecord) -> Iterator[SiteRecord]:
        self._summary.add_site(record, self._stats)
        if "sites" in self._plan.emit:
            yield record
