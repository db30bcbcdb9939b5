"""``Probe``: requests a sample of the pages of each site, once its snapshot is stored: which page is next, and when.

Does no input or output except to the store: the caller sends the requests, and passes
each response or error back.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sitemap_harvest.engine.document_records import UNANSWERED
from sitemap_harvest.engine.probed_page import ProbedPage
from sitemap_harvest.engine.run_state import fields
from sitemap_harvest.model import PageBatch, counted, left_out_in_words, requested_in_words
from sitemap_harvest.snapshots.sample import PageSample
from sitemap_harvest.snapshots.store import PageWriter
from sitemap_harvest.urls import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sitemap_harvest.discovery.candidate import NotFetched
    from sitemap_harvest.engine.interfaces import DocumentResponse
    from sitemap_harvest.engine.run_summary import Summary
    from sitemap_harvest.frontier.host_queue import Frontier
    from sitemap_harvest.model import PageRecord
    from sitemap_harvest.snapshots.sample import SampledPage
    from sitemap_harvest.snapshots.store import History, Snapshot

logger = logging.getLogger(__name__)

_FLUSH_SECONDS = 10
_FLUSH_PAGES = 5_000
_AHEAD = 16  # pages of a site that are considered: a slow host does not delay the other hosts of the site
_IDLE_SECONDS = 5.0  # after which a request that neither Scrapy nor a server has is lost
_SHUT_ROUNDS = 64
_MAX_SITES = 64
_NO_HEAD = frozenset({405, 501})


@dataclass(eq=False)
class SiteProbe:
    """The probe of one site."""

    snapshot: Snapshot
    sample: PageSample
    writer: PageWriter
    left: Iterator[SampledPage]
    """The pages of the sample that were not taken yet."""
    waiting: deque[ProbedPage] = field(default_factory=deque)
    """The next pages, first those that need another request."""
    in_flight: set[ProbedPage] = field(default_factory=set)
    done: int = 0
    """Pages with a record."""
    requested: int = 0
    """Those of them that were requested."""
    disallowed: int = 0
    """Those that were not requested because robots.txt disallows them."""
    reason: str | None = None
    """Why the first of the other pages was not requested."""
    unwritten: list[PageRecord] = field(default_factory=list)
    written_at: float = field(default_factory=time.monotonic)

    @property
    def root(self) -> str:
        """The site, as named by the user."""
        return self.snapshot.site

    @property
    def has_ended(self) -> bool:
        """Whether all pages have a record."""
        return self.done == len(self.sample)

    def fill(self) -> None:
        """Take the next pages of the sample."""
        while len(self.waiting) < _AHEAD and (page := next(self.left, None)) is not None:
            self.waiting.append(ProbedPage(self.root, self.snapshot.run.id, page))


class Probe:
    """The probes of a run: sites take turns."""

    def __init__(
        self,
        size: int,
        seed: int,
        *,
        frontier: Frontier,
        max_unanswered: int,
        summary: Summary,
        guard: Callable[[Callable[[], None]], None],
    ) -> None:
        """Request *size* pages of each site; *seed* is that of the samples.

        *frontier* has the delays of hosts. A host gets no more requests after
        *max_unanswered* in a row without a response. *guard* runs its argument, which
        writes to the store, and ends the run if that fails.
        """
        self._size, self._seed = size, seed
        self._frontier = frontier
        self._max_unanswered = max_unanswered
        self._summary = summary
        self._guard = guard
        self._sites: dict[str, SiteProbe] = {}
        self._no_head: set[str] = set()  # hosts that do not support HEAD
        self._idle_since: float | None = None
        self.queue: deque[str] = deque()
        """Sites whose probe is to begin."""
        self.records: deque[PageRecord] = deque()
        """Records that no response or failure leads to, to be emitted."""

    def __len__(self) -> int:
        """Return the number of sites whose probe has begun and has not ended."""
        return len(self._sites)

    def __bool__(self) -> bool:
        """Whether there are sites whose probe has not ended."""
        return bool(self._sites or self.queue)

    @property
    def has_room(self) -> bool:
        """Whether the probe of another site may begin: each has its sample in memory."""
        return len(self._sites) < _MAX_SITES

    def begin(self, history: History, snapshot: Snapshot) -> None:
        """Begin the probe of *snapshot*, the site of which the run has locked. Raises :exc:`StoreError`."""
        sample = PageSample(snapshot, size=self._size, seed=self._seed)
        facts = {
            "listed": sample.listed,
            "left_out": sample.left_out,
            "sample": len(sample),
            "seed": self._seed,
        }
        site = SiteProbe(snapshot, sample, PageWriter(history, snapshot.run.id, facts), sample.pages())
        self._sites[site.root] = site
        self._summary.sampled += len(sample)
        self._summary.left_out += sample.left_out
        self._summary.count("sitemap_harvest/probe/sample", len(sample))
        logger.info(
            "Probe of %s: requesting %s of %s listed pages (seed %d)%s",
            site.root,
            f"{len(sample):,}",
            f"{sample.listed:,}",
            self._seed,
            f"; {left_out_in_words(sample.left_out)}" if sample.left_out else "",
            extra=fields("probe", site=site.root, **facts),
        )
        if not snapshot.run.probe:  # otherwise the pages of the earlier probe would be deleted before there are others
            self._guard(site.writer.flush)

    def next(self, may_request: Callable[[ProbedPage], bool]) -> ProbedPage | None:
        """Return the next page that *may_request* allows, which is now in flight; ``None`` if there is none."""
        for root in list(self._sites):
            site = self._sites[root]
            self._end_shut(site)
            busy: set[str] = set()
            for page in list(site.waiting):
                if (host := host_of(page.url)) in busy:
                    continue
                if may_request(page):
                    site.waiting.remove(page)
                    site.in_flight.add(page)
                    if host in self._no_head:
                        page.method = "GET"
                    self._sites[root] = self._sites.pop(root)  # the last in the next turn
                    self._summary.count("sitemap_harvest/probe/requests", 1)
                    return page
                busy.add(host)
        return None

    def _end_shut(self, site: SiteProbe) -> None:
        """Take the next pages of *site*, and end those of hosts that get no more requests: some hundreds at a time."""
        for _ in range(_SHUT_ROUNDS):
            site.fill()
            ended = 0
            for page in list(site.waiting):
                if (shut := self._frontier.host(page.url).shut) is not None:
                    site.waiting.remove(page)
                    self.records.append(self._end(site, page.not_answered(shut.reason, shut.cause)))
                    ended += 1
            if not ended:
                return

    def answered(self, page: ProbedPage, response: DocumentResponse, requested_at: float) -> PageRecord | None:
        """Record that *page* has a response, and return its record to emit, if it is done.

        *requested_at*: when it was requested, in seconds since 1970.
        """
        host = self._frontier.host(page.url)
        host.has_responded, host.unanswered = True, 0
        if page.method == "HEAD" and response.status in _NO_HEAD:
            self._no_head.add(host.name)
        return self._next_step(page, page.answered(response, requested_at))

    def failed(self, page: ProbedPage, failure: NotFetched, requested_at: float) -> PageRecord | None:
        """Record that *page* has no response, and return its record to emit, if it is done; *failure* says why."""
        if failure.cause in UNANSWERED:
            host = self._frontier.host(page.url)
            host.unanswered += 1
            if host.unanswered == self._max_unanswered:
                reason = f"the host failed to respond {host.unanswered} times in a row: {failure.reason}"
                host.shut = replace(failure, reason=reason)
        return self._next_step(page, page.failed(failure, requested_at))

    def end_lost(self, now: float, *, is_idle: bool) -> None:
        """End the pages in flight if the downloader has been idle for long: another component dropped the requests."""
        if not is_idle:
            self._idle_since = None
            return
        self._idle_since = self._idle_since or now
        if now - self._idle_since < _IDLE_SECONDS:
            return
        for site in self._sites.values():
            for page in list(site.in_flight):
                site.in_flight.remove(page)
                self.records.append(self._end(site, page.not_answered("another component dropped the request")))

    def checkpoint(self) -> None:
        """Store the pages of sites that have some for a while, or many."""
        for site in self._sites.values():
            since = time.monotonic() - site.written_at
            if len(site.unwritten) >= _FLUSH_PAGES or (site.unwritten and since > _FLUSH_SECONDS):
                self._write(site)

    def take(self, *, all_sites: bool = False) -> Iterator[SiteProbe]:
        """Yield the sites whose probe has ended, and store their pages; with *all_sites*, end those of all sites."""
        for site in list(self._sites.values()):
            if all_sites or site.has_ended:
                del self._sites[site.root]
                self._write(site)
                if not site.has_ended:
                    logger.warning(
                        "Probe of %s: the run ended after %s of %s pages",
                        site.root,
                        f"{site.done:,}",
                        f"{len(site.sample):,}",
                        extra=fields("probe-ended", site=site.root, pages=site.done, sample=len(site.sample)),
                    )
                elif site.requested < site.done:
                    logger.info(
                        "Probe of %s: %s: %s",
                        site.root,
                        counted(site.done, "page"),
                        requested_in_words(site.done, site.requested, site.disallowed, site.reason),
                        extra=fields("probe-done", site=site.root, pages=site.done, requested=site.requested),
                    )
                yield site

    def _next_step(self, page: ProbedPage, record: PageRecord | None) -> PageRecord | None:
        """End *page* with its *record*, and return a copy, or queue it for another request."""
        site = self._sites.get(page.site)
        if site is None or page not in site.in_flight:
            return None  # it was ended in between
        site.in_flight.remove(page)
        if record is not None:
            return self._end(site, record)
        site.waiting.appendleft(page)
        return None

    def _end(self, site: SiteProbe, record: PageRecord) -> PageRecord:
        """Count and store *record*, and return a copy: a pipeline may change it, but not what is stored."""
        site.done += 1
        site.unwritten.append(record)
        self._summary.probed += 1
        self._summary.requested += record.requested_at is not None
        self._summary.disallowed += record.is_disallowed
        self._summary.count("sitemap_harvest/probe/pages", 1)
        site.requested += record.requested_at is not None
        site.disallowed += record.is_disallowed
        if record.requested_at is None:
            if not record.is_disallowed:
                site.reason = site.reason or record.error
                self._summary.not_requested_reason = self._summary.not_requested_reason or record.error
            self._summary.count("sitemap_harvest/probe/not_requested", 1)
        elif record.status is not None:
            self._summary.count(f"sitemap_harvest/probe/status/{record.status}", 1)
            if record.status >= 400:
                self._summary.page_errors[f"HTTP {record.status}"] += 1
        elif record.cause is not None:
            self._summary.count(f"sitemap_harvest/probe/failed/{record.cause}", 1)
            self._summary.page_errors[record.cause] += 1
        return replace(record)

    def _write(self, site: SiteProbe) -> None:
        site.written_at = time.monotonic()
        site.writer.add(PageBatch.of(site.unwritten))
        site.unwritten = []
        self._guard(site.writer.flush)
