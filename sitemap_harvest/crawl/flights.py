"""The documents on their way: asked for and not done with; and of those, the ones that have no ledger row yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from sitemap_harvest.plan import Lead, host_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler


class Flights:
    """Who asked for a document hears when it is done with, and it gets one ledger row, whatever else befalls it."""

    def __init__(self) -> None:
        self._under_way: set[str] = set()
        self._unanswered: dict[str, Lead] = {}
        self._scheduled: set[str] = set()
        self._hosts_met: set[str] = {""}  # files have none
        self._landing: Deferred[None] = Deferred()

    def listen(self, crawler: Crawler) -> None:
        """Hear from *crawler* how far requests have come."""
        crawler.signals.connect(self.note_scheduled, signal=signals.request_scheduled)
        crawler.signals.connect(self.note_dropped, signal=signals.request_dropped)

    def __len__(self) -> int:
        """Return how many documents are on their way."""
        return len(self._under_way)

    def __contains__(self, lead: Lead) -> bool:
        return lead.url in self._under_way

    def begin(self, lead: Lead) -> None:
        """Note that *lead* is being asked for."""
        self._under_way.add(lead.url)
        self._unanswered[lead.url] = lead

    def needs_row(self, url: str) -> bool:
        """Whether the document at *url*, which was asked for, has no ledger row yet."""
        return url in self._unanswered

    def give_row(self, url: str) -> bool:
        """Note that the document at *url* gets its ledger row; ``False`` if it has one."""
        return self._unanswered.pop(url, None) is not None

    def unanswered(self) -> Iterator[Lead]:
        """Yield the leads of the documents that have no ledger row yet."""
        yield from self._unanswered.values()

    def end(self, lead: Lead) -> None:
        """Be done with *lead*, which wakes who waits for it."""
        self._under_way.discard(lead.url)
        if not lead.site_root:  # for which the rules of its host were not asked
            self._hosts_met.add(host_of(lead.url))
        self.wake()

    def wake(self) -> None:
        """Wake who waits for the next end: there may be something else to do."""
        if not self._landing.called:
            self._landing.callback(None)

    async def next_end(self) -> None:
        """Wait until one is done with, if none has been since the last call."""
        await maybe_deferred_to_future(self._landing)
        self._landing = Deferred()

    def hosts_being_met(self) -> set[str]:
        """Return the hosts whose first document is on its way, which are asked for no second one before."""
        # Of several requests that wait for one robots.txt, Scrapy 2.19 lets all but the first pass unlooked at.
        return {host for url in self._under_way if (host := host_of(url)) not in self._hosts_met}

    def note_scheduled(self, request: Request) -> None:
        """Remember that the request of a lead has come as far as the scheduler."""
        if isinstance(lead := request.cb_kwargs.get("lead"), Lead):
            self._scheduled.add(lead.url)

    def note_dropped(self, request: Request) -> None:
        """Remember that the scheduler did not take the request of a lead."""
        if isinstance(lead := request.cb_kwargs.get("lead"), Lead):
            self._scheduled.discard(lead.url)

    def was_scheduled(self, lead: Lead) -> bool:
        """Whether the request of *lead* has come as far as the scheduler. To be asked once."""
        if lead.url in self._scheduled:
            self._scheduled.discard(lead.url)
            return True
        return False
