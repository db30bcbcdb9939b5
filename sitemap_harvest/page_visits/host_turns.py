"""``HostTurns``: whether a page of a host may be requested now."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from scrapy import signals

from sitemap_harvest.integration.document_requests import IN_TURN

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from sitemap_harvest.frontier.host_queue import Frontier


class HostTurns:
    """Which requests for pages may be sent: when Scrapy has nothing else, and the host has not used its share."""

    def __init__(self, crawler: Crawler, frontier: Frontier) -> None:
        """*frontier* has the delays of hosts."""
        self._crawler = crawler
        self._frontier = frontier
        self._first_pages: dict[str, str] = {}
        """The first URL requested from each host whose robots.txt was unknown."""
        self._busy: Counter[str] = Counter()
        self._active: set[str] = set()
        settings = crawler.settings
        self.concurrency = settings.getint("CONCURRENT_REQUESTS")
        self._of_host = settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
        self._slots = settings.getdict("DOWNLOAD_SLOTS")
        self._obeys_robots = settings.getbool("ROBOTSTXT_OBEY")

    def connect(self) -> None:
        """Connect the signal that shows which rules are known."""
        self._crawler.signals.connect(self.note_reached, signal=signals.request_reached_downloader)

    def note_reached(self, request: Request) -> None:
        """Record that the robots.txt of a host is known, because *request* passed it."""
        if not request.meta.get("dont_obey_robotstxt"):
            self._frontier.host(request.url).has_rules = True

    def look(self) -> bool:
        """Look at what Scrapy does; return whether it can take a request. Call it before :meth:`may_go`."""
        engine = self._crawler.engine
        if engine.needs_backout() or engine.scheduler is None or engine.scheduler.has_pending_requests():
            return False
        self._busy = Counter(map(engine.downloader.get_slot_key, engine.downloader.active))
        self._active = {request.url for request in engine.downloader.active}
        return True

    def may_go(self, request: Request, *, sites: int) -> bool:
        """Whether *request* may be sent now; if so, its host has had its turn. *sites*: number of active sites."""
        slot = self._crawler.engine.downloader.get_slot_key(request)
        host, now = self._frontier.host(request.url), time.monotonic()
        of_host = self._slots.get(slot, {}).get("concurrency", self._of_host)
        share = host_share(concurrency=self.concurrency, of_host=of_host, sites=sites)
        if self._busy[slot] >= (1 if host.delay else share) or host.ready_at > now:
            return False
        # If several requests wait for one robots.txt, Scrapy 2.19 checks only the first and lets the others pass.
        if self._obeys_robots and not host.has_rules:
            if self._first_pages.get(host.name) in self._active:
                return False
            self._first_pages[host.name] = request.url
        host.ready_at = max(host.ready_at, now + host.delay)
        request.meta[IN_TURN] = True
        return True


def host_share(*, concurrency: int, of_host: int, sites: int) -> int:
    """Return the limit of in-flight requests to one host while pages of *sites* sites are queued.

    This is its share of *concurrency*, the requests of the whole run (0: no limit), but
    at most twice *of_host*, the concurrent downloads of one host, so that as many
    requests again are ready. At least one.
    """
    share = -(-concurrency // max(sites, 1)) if concurrency else 2 * of_host
    return max(1, min(2 * of_host, share))
