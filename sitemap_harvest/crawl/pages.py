"""The pages that wait for a visit, and whose turn it is."""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow.compute as pc
from scrapy import Request, signals
from scrapy.exceptions import CloseSpider
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro
from twisted.python.failure import Failure

from sitemap_harvest.crawl.referring import Referrer, Referring
from sitemap_harvest.crawl.spool import Piece, Spool
from sitemap_harvest.plan import host_of, host_share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.core.scheduler import BaseScheduler
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from sitemap_harvest.crawl.selection import Selection, Visit
    from sitemap_harvest.crawl.spiders.base import SitemapAttributes
    from sitemap_harvest.model import UrlBatch, UrlEntry
    from sitemap_harvest.plan import Lead

_MAX_SITES = 128  # whose turn it is in one round; each has some 150 KB in memory
_MAX_SITES_APART = 64  # of one batch: to keep a few rows apart costs more than it brings
_SLICE_ROWS = 32  # made into entries at a time


@dataclass(slots=True)
class _Listed:
    """The entries of one document that wait."""

    document: Referrer
    pieces: deque[Piece] = field(default_factory=deque)
    rows: int = 0
    """Entries that nobody has looked at."""
    requests: Iterator[Request] | None = None
    """The requests for its pages, made as they are taken; ``None`` before its turn."""
    ahead: Request | None = None
    """The next of them, if it had to wait."""


class Pages:
    """Makes requests of entries, no sooner than they can be sent, and site by site in turn.

    Entries wait on disk and not as requests in Scrapy's scheduler, where each
    costs kilobytes. A request is handed out when the scheduler has nothing else,
    the downloader has room, and the host has not had its share.
    """

    def __init__(self, spider: SitemapAttributes, selection: Selection, *, only_site: str | None = None) -> None:
        self._spider = spider
        self._selection = selection
        self._only_host = host_of(only_site) if only_site else None
        self._spool = Spool()
        self._coming: dict[str, dict[str, _Listed]] = {}  # by document and site: of those that are being read
        self._waiting: dict[str, deque[_Listed]] = {}  # by site
        self._round: deque[str] = deque()
        self._later: deque[str] = deque()
        self._read: dict[str, Referrer] = {}  # by document: those that are being read
        self._referring = Referring(spider.crawler)
        self._met: set[str] = set()  # hosts whose robots.txt is known
        self._being_met: dict[str, str] = {}  # the page that each other host is asked for
        self._delays: dict[str, float] = {}  # seconds between two pages, of hosts that ask for it
        self._not_before: dict[str, float] = {}
        self._wake: Callable[[], None] = lambda: None
        self._crawler: Crawler = spider.crawler
        settings = self._crawler.settings
        self._concurrency = settings.getint("CONCURRENT_REQUESTS")
        self._of_host = settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
        self._slots = settings.getdict("DOWNLOAD_SLOTS")
        self._max_depth = settings.getint("DEPTH_LIMIT")
        self._asks_robots = settings.getbool("ROBOTSTXT_OBEY")

    def __bool__(self) -> bool:
        """Whether pages wait for their turn."""
        return bool(self._waiting)

    @property
    def are_wanted(self) -> bool:
        """Whether the spider visits pages at all."""
        return bool(self._selection.rules)

    @property
    def left(self) -> int:
        """How many entries still wait: nobody has looked at them, or the request for their page was not sent."""
        coming = (listed for sites in self._coming.values() for listed in sites.values())
        waiting = (listed for site in self._waiting.values() for listed in site)
        return sum(listed.rows + (listed.ahead is not None) for listed in (*coming, *waiting))

    def listen(self, wake: Callable[[], None]) -> None:
        """Call *wake* whenever it may be the turn of a page that had to wait."""
        self._wake = wake
        self._crawler.signals.connect(self.note_room, signal=signals.scheduler_empty)
        self._crawler.signals.connect(self.note_reached, signal=signals.request_reached_downloader)

    def note_room(self) -> None:
        """Hear that Scrapy has nothing else to ask for."""
        if self._waiting:
            self._wake()

    def note_reached(self, request: Request) -> None:
        """Note that the robots.txt of a host is known: it has let *request* pass."""
        if not request.meta.get("dont_obey_robotstxt"):
            self._met.add(host_of(request.url))

    def slow_down(self, url: str, delay: float) -> None:
        """Ask the host of *url* for one page at a time, *delay* seconds after the one before."""
        self._delays[host_of(url)] = delay

    def note_answer(self, lead: Lead, response: Response) -> None:
        """Note that *response* is the document of *lead*, which will be read now."""
        if self.are_wanted:
            self._read[lead.url] = Referrer.of(lead, response)

    def add(self, batch: UrlBatch, lead: Lead) -> None:
        """Let the entries of *batch*, which the document of *lead* lists, wait until :meth:`release`."""
        if not self.are_wanted:
            return
        batch = self._selection.rows_to_keep(batch)
        if not len(batch):
            return
        if 0 < self._max_depth <= lead.depth:
            self._leave_out("too_deep", f"DEPTH_LIMIT is {self._max_depth}: those of {lead.url} are deeper", len(batch))
            return
        document = self._read.get(lead.url) or Referrer.of(lead)
        coming = self._coming.setdefault(lead.url, {})
        for site, rows in _by_site(batch, is_whole=self._selection.needs_whole_documents):
            self._keep(rows, coming.setdefault(site, _Listed(document)))

    def _keep(self, batch: UrlBatch, listed: _Listed) -> None:
        kept = 0
        try:
            for piece in self._spool.put(batch):
                listed.pieces.append(piece)
                listed.rows += piece.rows
                kept += piece.rows
        except OSError as error:
            words = f"the temporary file cannot be written: {error}"
            self._leave_out("not_kept", words, len(batch) - kept, level=logging.ERROR)
            deferred_from_coro(self._crawler.engine.close_spider_async(reason="pages_not_kept"))

    def release(self, lead: Lead) -> None:
        """Let the pages of the document of *lead* have their turn: no more of them will come."""
        self._read.pop(lead.url, None)
        for site, listed in self._coming.pop(lead.url, {}).items():
            if site not in self._waiting:
                self._waiting[site] = deque()
                (self._round if len(self._round) < self._most_sites() else self._later).append(site)
            self._waiting[site].append(listed)
        self._wake()

    def next(self) -> Request | None:
        """Return the request for the page whose turn it is; ``None`` if it is no page's turn now."""
        engine = self._crawler.engine
        if not self._waiting or engine.needs_backout() or has_requests(engine.scheduler):
            return None
        busy = Counter(map(engine.downloader.get_slot_key, engine.downloader.active))
        self._forget_met()
        for _ in range(len(self._round)):
            site = self._round[0]
            listed = self._waiting[site][0]
            if (request := self._ahead(listed)) is None:
                self._end(site)
                call_later(0, self._wake)  # looking for the next one may take long too: let others have the time
                return None
            self._round.rotate(-1)
            if self._may_go(request, busy):
                listed.ahead = None
                self._crawler.stats.inc_value("sitemap_harvest/pages")
                return request
        return None

    def close(self) -> str | None:
        """Let go of the disk, and say in words what was not visited; ``None`` if all was."""
        left = self.left
        self._spool.close()
        if not left:
            return None
        self._crawler.stats.set_value("sitemap_harvest/pages_left", left)
        return f"The run ended before {left:,} {'entry had its' if left == 1 else 'entries had their'} turn for a visit"

    def _most_sites(self) -> int:
        return max(_MAX_SITES, self._concurrency)

    def _end(self, site: str) -> None:
        """Be done with the first document of *site*, and with the site if that was its last."""
        self._waiting[site].popleft()
        if not self._waiting[site]:
            del self._waiting[site]
            self._round.remove(site)
            if self._later:
                self._round.append(self._later.popleft())
        if not self._waiting and not self._coming:
            self._spool.clear()

    def _forget_met(self) -> None:
        """Forget the pages that hosts were asked for first, once they are done with: the next one may be sent."""
        if self._being_met:
            active = {request.url for request in self._crawler.engine.downloader.active}
            self._being_met = {host: url for host, url in self._being_met.items() if url in active}

    def _may_go(self, request: Request, busy: Counter[str]) -> bool:
        """Whether *request* may be sent now."""
        slot = self._crawler.engine.downloader.get_slot_key(request)
        host, now = host_of(request.url), time.monotonic()
        if busy[slot] >= self._most(slot, host) or now < self._not_before.get(host, now) or host in self._being_met:
            return False
        if self._asks_robots and host not in self._met:
            # Of several requests that wait for one robots.txt, Scrapy 2.19 lets all but the first pass unlooked at.
            self._being_met[host] = request.url
        if delay := self._delays.get(host):
            self._not_before[host] = now + delay
        return True

    def _most(self, slot: str, host: str) -> int:
        """Return how many requests to *host*, which has that *slot* of the downloader, may be under way."""
        if host in self._delays:
            return 1
        of_host = self._slots.get(slot, {}).get("concurrency", self._of_host)
        return host_share(concurrency=self._concurrency, of_host=of_host, sites=len(self._round))

    def _ahead(self, listed: _Listed) -> Request | None:
        """Return the next request of *listed*; ``None`` if there is none any more."""
        if listed.requests is None:
            listed.requests = self._requests(listed)
        if listed.ahead is None:
            try:
                listed.ahead = next(listed.requests, None)
            except CloseSpider:
                raise
            except Exception as error:  # noqa: BLE001 - one bad document must not end all others
                self._note_error(listed, error)
        return listed.ahead

    def _requests(self, listed: _Listed) -> Iterator[Request]:
        document = listed.document.response()
        for visit in self._selection.visits(self._rows(listed), sitemap=listed.document.url):
            if not visit.url.lower().startswith(("http://", "https://")):
                self._leave_out("unusable", f"{visit.url!r} is no address on the web")
            elif self._only_host not in {None, host_of(visit.url)}:
                self._leave_out("elsewhere", f"{visit.url} is not on the site that the folder stands in for")
            elif (request := self._request(visit, document)) is not None:
                yield request

    def _rows(self, listed: _Listed) -> Iterator[UrlEntry]:
        """Yield the entries of *listed*, few of which are in memory at a time."""
        while listed.pieces:
            rows = self._spool.get(listed.pieces.popleft())
            for first in range(0, len(rows), _SLICE_ROWS):
                for row in rows.slice(first, _SLICE_ROWS).rows():
                    listed.rows -= 1
                    yield row

    def _request(self, visit: Visit, document: Response) -> Request | None:
        try:
            return self._referring.from_document(page_request(visit), document)
        except ValueError as error:
            self._leave_out("unusable", f"{visit.url!r}: {error}")
            return None

    def _leave_out(self, why: str, words: str, count: int = 1, *, level: int = logging.WARNING) -> None:
        """Count pages that are not visited, and log the first."""
        key = f"sitemap_harvest/pages_{why}"
        if not self._crawler.stats.get_value(key):
            self._spider.logger.log(level, "Pages are not visited: %s (all that are: stats, %s)", words, key)
        self._crawler.stats.inc_value(key, count)

    def _note_error(self, listed: _Listed, error: Exception) -> None:
        """Tell of *error*, which the project's code has raised, as Scrapy does. No more of *listed* is visited."""
        self._spider.logger.error(
            "%s: its entries could not be chosen from, and %s are not visited",
            listed.document.url,
            f"{listed.rows:,} of them",
            exc_info=error,
        )
        stats = self._crawler.stats
        stats.inc_value("spider_exceptions/count")
        stats.inc_value(f"spider_exceptions/{type(error).__name__}")
        stats.inc_value("sitemap_harvest/pages_not_chosen", listed.rows)
        self._crawler.signals.send_catch_log(
            signals.spider_error,
            failure=Failure(error),  # type: ignore[no-untyped-call]  # Twisted has no hint for it
            response=None,
            spider=self._spider,
        )


def has_requests(scheduler: BaseScheduler | None) -> bool:
    """Whether there is something in *scheduler*: what callbacks ask for comes first, and so does a sitemap."""
    return scheduler is None or scheduler.has_pending_requests()


def _by_site(batch: UrlBatch, *, is_whole: bool) -> Iterator[tuple[str, UrlBatch]]:
    """Yield the rows of *batch* by site, so that each site's wait for that site alone; unless it is to stay *whole*."""
    sites = batch["site"].unique().to_pylist()
    if is_whole or len(sites) == 1 or len(sites) > _MAX_SITES_APART:
        yield sites[0] or "", batch
        return
    for site in sites:
        mask = batch["site"].is_null() if site is None else pc.equal(batch["site"], site)
        yield site or "", batch.filter(mask)


def page_request(visit: Visit) -> Request:
    """Return the request for the page of *visit*. Raises :exc:`ValueError` for an unusable address."""
    return Request(
        visit.url,
        callback=visit.rule.callback,
        cb_kwargs={"entry": visit.entry} if visit.rule.takes_entry else {},
        priority=priority_of(visit.entry),
    )


def priority_of(entry: UrlEntry) -> int:
    """Return the priority of the request for *entry*: 0 where its own is 1.0, -10 where it is 0.0, -5 if it has none.

    Never above 0, so that sitemaps and what callbacks ask for come first.
    """
    return round(10 * (0.5 if entry.priority is None else entry.priority)) - 10
