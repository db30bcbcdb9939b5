"""``PageRequests``: the queue of page visits, site by site in turn, and their requests."""

from __future__ import annotations

import logging
import sqlite3
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from scrapy import Request, signals
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro
from twisted.python.failure import Failure

from sitemap_harvest.formats import Document
from sitemap_harvest.integration.document_requests import Referrer, from_document
from sitemap_harvest.model import UrlBatch
from sitemap_harvest.urls import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from sitemap_harvest.config.settings import HarvestSettings
    from sitemap_harvest.discovery.candidate import Candidate
    from sitemap_harvest.engine.interfaces import DocumentResponse
    from sitemap_harvest.integration.spider_attributes import SitemapAttributes
    from sitemap_harvest.model import UrlEntry
    from sitemap_harvest.page_visits.host_turns import HostTurns
    from sitemap_harvest.page_visits.page_rules import PageRules


_PIECE_ROWS = 256  # some 70 KB: each site in turn has one piece in memory


class DiskQueue:
    """Batches of URLs in a temporary database of SQLite, which has no name and ends with the process.

    Its file is in the folder ``TMPDIR``, by default ``/var/tmp``, and takes some 300 bytes
    per entry.
    """

    def __init__(self) -> None:
        self._database = sqlite3.connect("")
        self._database.execute("PRAGMA journal_mode = MEMORY")
        self._database.execute("CREATE TABLE piece (number INTEGER PRIMARY KEY, rows BLOB)")

    def put(self, batch: UrlBatch) -> list[int]:
        """Write *batch* in pieces, and return their numbers.

        Raises :exc:`sqlite3.Error` if writing fails; then none of *batch* is written.
        """
        insert = "INSERT INTO piece (rows) VALUES (?) RETURNING number"
        with self._database:
            return [
                self._database.execute(insert, (batch.slice(first, _PIECE_ROWS).arrow.serialize(),)).fetchone()[0]
                for first in range(0, len(batch), _PIECE_ROWS)
            ]

    def pop(self, number: int) -> UrlBatch:
        """Return the rows of a piece, and remove it. Raises :exc:`sqlite3.Error` if reading fails."""
        with self._database:
            (rows,) = self._database.execute("DELETE FROM piece WHERE number = ? RETURNING rows", (number,)).fetchone()
        return UrlBatch(pa.ipc.read_record_batch(pa.py_buffer(rows), UrlBatch.schema()))

    def close(self) -> None:
        """Delete the file."""
        self._database.close()


_MAX_SITES = 128  # active in one round; each takes some 150 KB of memory
_MAX_SITES_APART = 64  # of one batch: storing a few rows separately costs more than it gains
_SLICE_ROWS = 32  # converted to entries at a time
_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _WaitingEntries:
    """The queued entries of one document."""

    document: Referrer
    pieces: deque[int] = field(default_factory=deque)
    """Numbers in the disk queue."""
    rows: int = 0
    """Entries not processed yet."""
    unreturned: int = 0
    """Entries without a page so far: not processed yet, or left out by the filter or the rules."""
    requests: Iterator[Request] | None = None
    """The requests for its pages, created on demand; ``None`` before its turn."""
    ahead: Request | None = None
    """The next request, if it had to wait."""


class PageRequests:
    """Creates requests for entries, only when they can be sent, and site by site in turn.

    Entries wait on disk rather than as requests in Scrapy's scheduler, where each takes
    kilobytes. A request is emitted when the scheduler is empty, the downloader has
    capacity, and the host has not used its share.
    """

    def __init__(
        self,
        spider: SitemapAttributes,
        rules: PageRules,
        turns: HostTurns,
        wake: Callable[[], None],
        *,
        only_site: str | None = None,
    ) -> None:
        """Request pages as *turns* allows. *wake* is called whenever a page may be due.

        *only_site*: see :class:`RunConfig`.
        """
        self._spider = spider
        self._wake = wake
        self._rules = rules
        self._turns = turns
        self._only_host = host_of(only_site) if only_site else None
        self._queue = DiskQueue()
        self._read: dict[str, tuple[Referrer, dict[str, _WaitingEntries]]] = {}
        """The documents that are being read, by URL, each with its entries so far, by site."""
        self._waiting: dict[str, deque[_WaitingEntries]] = {}  # by site
        self._round: deque[str] = deque()
        self._later: deque[str] = deque()
        self._crawler: Crawler = spider.crawler
        settings = self._crawler.settings
        self._max_depth = settings.getint("DEPTH_LIMIT")
        self._crawler.signals.connect(self.note_room, signal=signals.scheduler_empty)
        turns.connect()

    def __bool__(self) -> bool:
        """Whether pages are queued."""
        return bool(self._waiting)

    def note_room(self) -> None:
        """Record that Scrapy has nothing else to request."""
        if self._waiting:
            self._wake()

    def note_answer(self, candidate: Candidate, response: DocumentResponse) -> None:
        """Record that *response* is the document of *candidate*, which is read now."""
        self._read[candidate.url] = (Referrer.of(candidate, response), {})

    def add(self, batch: UrlBatch, candidate: Candidate) -> None:
        """Queue the entries of *batch*, which the document of *candidate* lists, until :meth:`release`."""
        try:
            batch = self._rules.rows_to_keep(batch)
        except Exception as error:  # noqa: BLE001 - of the project's code: the document itself is not damaged
            document, _ = self._read.get(candidate.url, (Referrer.of(candidate), None))
            self._report(error, "visits", document, len(batch))
            return
        if not len(batch):
            return
        if 0 < self._max_depth <= candidate.depth:
            self._leave_out(
                "too_deep", f"DEPTH_LIMIT is {self._max_depth}: the pages of {candidate.url} are deeper", len(batch)
            )
            return
        document, entries = self._read.setdefault(candidate.url, (Referrer.of(candidate), {}))
        for site, rows in _by_site(batch, is_whole=self._rules.needs_whole_documents):
            listed = entries.setdefault(site, _WaitingEntries(document))
            try:
                listed.pieces.extend(self._queue.put(rows))
                listed.rows += len(rows)
                listed.unreturned += len(rows)
            except sqlite3.Error as error:
                words = f"the temporary file cannot be written: {error}"
                self._leave_out("not_stored", words, len(rows), level=logging.ERROR)
                deferred_from_coro(self._crawler.engine.close_spider_async(reason="pages_not_stored"))

    def release(self, candidate: Candidate) -> None:
        """Release the pages of the document of *candidate*, which lists no more of them."""
        _, entries = self._read.pop(candidate.url, (None, {}))
        for site, listed in entries.items():
            if site not in self._waiting:
                self._waiting[site] = deque()
                is_active = len(self._round) < max(_MAX_SITES, self._turns.concurrency)
                (self._round if is_active else self._later).append(site)
            self._waiting[site].append(listed)
        self._wake()

    def next(self) -> Request | None:
        """Return the request for the next page; ``None`` if no page is due."""
        if not self._waiting or not self._turns.look():
            return None
        for _ in range(len(self._round)):
            site = self._round[0]
            listed = self._waiting[site][0]
            if (request := self._ahead(listed)) is None:
                self._end(site)
                call_later(0, self._wake)  # finding the next one may take long too: let other tasks run
                return None
            self._round.rotate(-1)
            if self._turns.may_go(request, sites=len(self._round)):
                listed.ahead = None
                self._crawler.stats.inc_value("sitemap_harvest/pages")
                return request
        return None

    def close(self) -> str | None:
        """Close the disk queue, and return a text about unvisited pages; ``None`` if all were visited."""
        coming = (listed for _, entries in self._read.values() for listed in entries.values())
        waiting = (listed for site in self._waiting.values() for listed in site)
        left = sum(listed.rows + (listed.ahead is not None) for listed in (*coming, *waiting))
        self._queue.close()
        if not left:
            return None
        self._crawler.stats.set_value("sitemap_harvest/pages_left", left)
        return f"The run ended before {left:,} {'entry was' if left == 1 else 'entries were'} visited"

    def _end(self, site: str) -> None:
        """Remove the first document of *site*, and the site if that was its last."""
        self._waiting[site].popleft()
        if not self._waiting[site]:
            del self._waiting[site]
            self._round.remove(site)
            if self._later:
                self._round.append(self._later.popleft())

    def _ahead(self, listed: _WaitingEntries) -> Request | None:
        """Return the next request of *listed*; ``None`` if there is none.

        If the project's code fails, the error is reported as Scrapy does, and no more
        pages of *listed* are visited.
        """
        if listed.requests is None:
            listed.requests = self._requests(listed)
        if listed.ahead is None:
            try:
                listed.ahead = next(listed.requests, None)
            except Exception as error:  # noqa: BLE001 - one bad document must not end all others
                self._report(error, "sitemap_filter", listed.document, max(listed.unreturned, 0))
        return listed.ahead

    def _report(self, error: Exception, method: str, document: Referrer, count: int) -> None:
        """Report *error* of a *method* of the spider as Scrapy does, and count entries of *document*."""
        failure = Failure(error)  # type: ignore[no-untyped-call]
        self._crawler.engine.scraper.handle_spider_error(failure, Request(document.url), document.response())
        self._leave_out("filter_failed", f"{method} failed for {document.url}: {error!r}", count)

    def _requests(self, listed: _WaitingEntries) -> Iterator[Request]:
        document, last = listed.document.response(), None
        for url, entry, rule in self._rules.visits(self._rows(listed), sitemap=listed.document.url):
            if entry is not last:  # otherwise another of its alternates
                listed.unreturned, last = listed.unreturned - 1, entry
            if self._only_host not in {None, host_of(url)}:
                self._leave_out("offsite", f"{url} is not on the site that the folder replaces")
                continue
            try:
                request = from_document(self._crawler, rule.request(url, entry), document)
            except ValueError as error:
                self._leave_out("invalid_url", f"{url!r}: {error}")
            else:
                if request is not None:
                    yield request

    def _rows(self, listed: _WaitingEntries) -> Iterator[UrlEntry]:
        """Yield the entries of *listed*, with few in memory at a time."""
        while listed.pieces:
            rows = self._queue.pop(listed.pieces.popleft())
            for first in range(0, len(rows), _SLICE_ROWS):
                for row in rows.slice(first, _SLICE_ROWS).rows():
                    listed.rows -= 1
                    yield row

    def _leave_out(self, why: str, words: str, count: int = 1, *, level: int = logging.WARNING) -> None:
        """Count pages that are not visited, and log the first."""
        key = f"sitemap_harvest/pages_{why}"
        if not self._crawler.stats.get_value(key):
            self._spider.logger.log(level, "Pages not visited: %s (the stat %s counts them)", words, key)
        self._crawler.stats.inc_value(key, count)


def _by_site(batch: UrlBatch, *, is_whole: bool) -> Iterator[tuple[str, UrlBatch]]:
    """Yield the rows of *batch* by site, so that each site waits only for itself; if *is_whole*, do not split it."""
    column = pc.fill_null(batch["site"], "")
    sites = column.unique().to_pylist()
    if is_whole or len(sites) == 1 or len(sites) > _MAX_SITES_APART:
        yield sites[0], batch
        return
    for site in sites:
        yield site, batch.filter(pc.equal(column, site))


def requests_of(
    response: Response, rules: PageRules, options: HarvestSettings, *, callback: Callable[..., Any]
) -> Iterator[Request]:
    """Yield a request for each page that the document in *response* lists, and one to *callback* for each sitemap.

    Pages with an invalid URL are logged instead.
    """
    content_type = response.headers.get("Content-Type")
    document = Document(
        response.body,
        url=response.url,
        content_type=content_type.decode("latin-1") if content_type else None,
        limits=options.limits,
        was_cut="dataloss" in response.flags,
    )
    rows = (row for batch in document.urls() for row in batch.rows())
    for url, entry, rule in rules.visits(rows, sitemap=response.url):
        try:
            request = rule.request(url, entry)
        except ValueError as error:
            _logger.warning("Page not visited: %r: %s", url, error)
        else:
            yield request
    for reference, not_fetched in rules.children(list(document.sitemaps()), document.kind):
        if not_fetched is None and reference.found_by is None:
            yield Request(reference.loc, callback=callback)
