"""The documents on their way: asked for and not done with; and of those, the ones that have no ledger row yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from sitemap_harvest.crawl.document_requests import lead_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

    from sitemap_harvest.plan import Lead

_PATIENCE_SECONDS = 5.0  # after which a document of which nothing has come holds no room for its body
_IDLE_SECONDS = 5.0  # of a Scrapy with nothing to do, after which a document that should be on its way will not come


@dataclass(slots=True)
class _Flight:
    lead: Lead
    began: float
    """Seconds of the monotonic clock."""
    is_coming: bool = False
    """Whether its answer has begun to come."""
    needs_row: bool = True
    was_scheduled: bool = False


class Flights:
    """Who asked for a document hears when it is done with, and it gets one ledger row, whatever else befalls it."""

    def __init__(self) -> None:
        self._flights: dict[str, _Flight] = {}
        self._landing: Deferred[None] = Deferred()
        self._idle_since: float | None = None

    def listen(self, crawler: Crawler) -> None:
        """Hear from *crawler* how far requests have come."""
        crawler.signals.connect(self.note_scheduled, signal=signals.request_scheduled)
        crawler.signals.connect(self.note_dropped, signal=signals.request_dropped)
        crawler.signals.connect(self.note_coming, signal=signals.headers_received)

    def __len__(self) -> int:
        """Return how many documents are on their way."""
        return len(self._flights)

    def __contains__(self, lead: Lead) -> bool:
        return lead.url in self._flights

    def begin(self, lead: Lead, now: float) -> None:
        """Note that *lead* is being asked for: Scrapy has something to do."""
        self._idle_since = None
        self._flights[lead.url] = _Flight(lead, now)

    def bodies(self, now: float) -> int:
        """Return for how many documents room is needed: not for those that let wait, nor for the robots.txt of sites.

        A host that hangs must not hold up the others, and a robots.txt is small.
        """
        return sum(
            not flight.lead.site_root and (flight.is_coming or now - flight.began < _PATIENCE_SECONDS)
            for flight in self._flights.values()
        )

    def lead_in_need(self, url: str) -> Lead | None:
        """Return the lead of the document at *url*, if it was asked for and has no ledger row yet; else ``None``."""
        flight = self._flights.get(url)
        return flight.lead if flight and flight.needs_row else None

    def give_row(self, url: str) -> bool:
        """Note that the document at *url* gets its ledger row; ``False`` if it has one."""
        if self.lead_in_need(url) is None:
            return False
        self._flights[url].needs_row = False
        return True

    def stranded(self, now: float, *, is_idle: bool) -> list[Lead]:
        """Return the leads of the documents that will not come: Scrapy has long had nothing to do, and none has begun.

        *is_idle* tells that it has nothing to do *now*, in seconds of the monotonic clock.
        """
        if not is_idle:
            self._idle_since = None
            return []
        if self._idle_since is None:
            self._idle_since = now
        is_over = now - self._idle_since >= _IDLE_SECONDS
        return [flight.lead for flight in self._flights.values()] if is_over else []

    def unanswered(self) -> Iterator[Lead]:
        """Yield the leads of the documents that have no ledger row yet."""
        yield from (flight.lead for flight in self._flights.values() if flight.needs_row)

    def end(self, lead: Lead) -> None:
        """Be done with *lead*, which wakes who waits for it."""
        self._flights.pop(lead.url, None)
        self.wake()

    async def next_end(self, seconds: float) -> None:
        """Wait until one is done with, if none has been since the last call; *seconds* at most."""
        timer = call_later(seconds, self.wake)
        await maybe_deferred_to_future(self._landing)
        timer.cancel()
        self._landing = Deferred()

    def wake(self) -> None:
        """Wake who waits for the next end: there may be something else to do."""
        if not self._landing.called:
            self._landing.callback(None)

    def note_scheduled(self, request: Request) -> None:
        """Remember that the request of a lead has come as far as the scheduler."""
        if flight := self._of(request):
            flight.was_scheduled = True

    def note_dropped(self, request: Request) -> None:
        """Remember that the scheduler did not take the request of a lead."""
        if flight := self._of(request):
            flight.was_scheduled = False

    def note_coming(self, request: Request) -> None:
        """Remember that the answer for a lead has begun to come."""
        if flight := self._of(request):
            flight.is_coming = True

    def was_scheduled(self, lead: Lead) -> bool:
        """Whether the request of *lead*, which has just been made, has come as far as the scheduler, or further."""
        return lead.url not in self._flights or self._flights[lead.url].was_scheduled

    def _of(self, request: Request) -> _Flight | None:
        lead = lead_of(request)
        return self._flights.get(lead.url) if lead is not None else None
