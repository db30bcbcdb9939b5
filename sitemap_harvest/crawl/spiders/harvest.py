"""The base of the package's spiders, and of one's own."""

from __future__ import annotations

import dataclasses
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
from scrapy import Request, Spider, signals
from scrapy.exceptions import CloseSpider, ResponseDataLossError
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from sitemap_harvest.crawl import defaults, outcome
from sitemap_harvest.crawl.arguments import Arguments, Plan
from sitemap_harvest.crawl.options import Options
from sitemap_harvest.crawl.quiet import quieten
from sitemap_harvest.crawl.rows import why_rows
from sitemap_harvest.crawl.summary import Summary
from sitemap_harvest.errors import HarvestError
from sitemap_harvest.formats import Document
from sitemap_harvest.model import FoundBy, Kind, Outcome, SitemapRecord, UrlBatch
from sitemap_harvest.plan import Bounds, Frontier, Lead, Refusal, next_well_known, refuse, room

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

_ERROR_STATUSES = [status for status in range(400, 600)]


class HarvestSpider(Spider):
    """Reads the sitemaps of sites: asks the formats what a body says and the plan where to go, decides nothing itself.

    Leads wait in a frontier of our own, not in Scrapy's scheduler: 50,000
    children cost a few megabytes there, and only as many are downloaded at a
    time as fit into ``SITEMAP_HARVEST_BODIES``.
    """

    name = "harvest"
    local_root: Path | None = None
    """The folder that stands in for the site, if one does."""
    refused: str | None = None
    """Why the run ends before it begins: a wrong argument or setting, in words."""

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        super().__init__(name)
        Arguments.check_names(arguments)
        self.plan = Plan.of(Arguments(**arguments))
        self.local_root = self.plan.root
        self.summary = Summary(complaints=self.plan.complaints)

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Offer what the spider works best with; what the project sets stays."""
        for name, value in defaults.PLAIN.items():
            settings.set(name, value, priority="addon")
        super().update_settings(settings)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Make the spider. What is wrong with the arguments ends the run with one line, not with a traceback."""
        try:
            spider = super().from_crawler(crawler, *args, **kwargs)
            spider.refused = None
        except HarvestError as error:
            spider = cls.__new__(cls)
            Spider.__init__(spider)
            spider._set_crawler(crawler)
            spider.summary = Summary()
            spider.refused = str(error)
        crawler.signals.connect(spider._open, signal=signals.spider_opened)
        return spider

    def _open(self) -> None:
        if self.refused is None:
            try:
                self.options = Options.from_settings(self.crawler.settings)
            except HarvestError as error:
                self.refused = str(error)
        if self.refused is not None:
            self.logger.error(self.refused)
            raise CloseSpider("wrong_argument")
        quieten()
        pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own pool keeps some 25 MB that it has let go of
        for complaint in self.plan.complaints:
            self.logger.warning(complaint)
        self.frontier = Frontier(max_documents=self.options.max_documents)
        self.bounds = Bounds(
            max_depth=self.options.max_depth,
            follow=self.plan.follow,
            skip=self.plan.skip,
            offsite=self.options.offsite,
            only_site=self.plan.only_site,
        )
        self._in_flight = 0
        self._largest_body = 0
        self._news: Deferred[None] = Deferred()
        self._as_rows: bool | None = None

    async def start(self) -> AsyncIterator[Any]:
        """Yield a request for each lead as soon as there is room for its body, and the ledger rows of those refused."""
        for lead in self.plan.leads:
            for item in self._consider(lead):
                yield item
        while len(self.frontier) or self._in_flight:
            if self._has_enough():
                for item in self._give_up():
                    yield item
            elif self._has_room() and (lead := self.frontier.take()):
                self._in_flight += 1
                yield self._request(lead)
                continue
            if self._in_flight:
                await maybe_deferred_to_future(self._news)
                self._news = Deferred()

    def _has_room(self) -> bool:
        options = self.options
        return self._in_flight < room(
            most=options.concurrency,
            bytes_in_memory=options.bodies,
            done=self.summary.documents,
            largest=self._largest_body,
        )

    def _consider(self, lead: Lead) -> Iterator[SitemapRecord]:
        """Let *lead* into the frontier, or yield the ledger row that says why not."""
        if not self.frontier.claim(lead.url):
            return
        refusal = refuse(lead, self.bounds) or self.frontier.add(lead)
        self.summary.queued = len(self.frontier) + self._in_flight
        if refusal:
            yield from self._enter(_record(lead, refusal))

    def _request(self, lead: Lead, **meta: Any) -> Request:
        return Request(
            lead.url,
            callback=self.parse_document,
            errback=self.on_error,
            cb_kwargs={"lead": lead, "asked": time.time()},
            dont_filter=True,  # the frontier knows what was asked for
            meta={
                "handle_httpstatus_list": _ERROR_STATUSES,
                "dont_obey_robotstxt": lead.site_root,
                "sitemap_harvest": True,
                "dont_retry": lead.url.startswith("file:"),
                **meta,
            },
        )

    def parse_document(self, response: Response, lead: Lead, asked: float) -> Iterator[Any]:
        """Yield the URLs of a document, its ledger row, and nothing for its children: they go to the frontier."""
        try:
            yield from self._read(response, lead, asked)
        finally:
            self._done()

    def _read(self, response: Response, lead: Lead, asked: float) -> Iterator[Any]:
        self._largest_body = max(self._largest_body, len(response.body))
        record = _record(lead, outcome.of_status(response.status), response, asked)
        if self._has_enough():
            record.outcome, record.reason = (
                Outcome.OVER_LIMIT,
                f"limit={self.plan.limit} was reached before it was read",
            )
        elif response.url != lead.url and not self.frontier.claim(response.url):
            record.outcome, record.reason = Outcome.SKIPPED, f"it redirects to {response.url}, which is read by itself"
        elif record.outcome is Outcome.READ:
            yield from self._read_body(response, lead, record)
            return
        yield from self._enter(record)
        yield from self._try_next(lead)

    def _read_body(self, response: Response, lead: Lead, record: SitemapRecord) -> Iterator[Any]:
        document = Document(
            response.body,
            url=lead.url,
            base=response.url,
            content_type=record.content_type,
            limits=self.options.limits,
        )
        before = self.summary.urls
        for batch in document.urls():
            yield from self._hand_out(batch)
            if self._has_enough():
                break
        _describe(record, document)
        if "dataloss" in response.flags:
            record.outcome, record.reason, record.complete = Outcome.PARTIAL, "the connection was cut", False
        if self._has_enough() and self.summary.urls - before < document.entries:
            record.outcome, record.reason = Outcome.PARTIAL, f"limit={self.plan.limit} was reached"
            record.complete = False
        found_by = FoundBy.ROBOTS if document.kind is Kind.ROBOTS else FoundBy.INDEX
        references = 0
        for ref in document.sitemaps():
            references += 1
            yield from self._consider(lead.child(ref, found_by))
        yield from self._enter(record, urls=self.summary.urls - before)
        if not references and not document.entries:
            yield from self._try_next(lead)

    def on_error(self, failure: Failure) -> Iterator[Any]:
        """Yield the ledger row of a document that could not be downloaded."""
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy puts it there
        lead, asked = request.cb_kwargs["lead"], request.cb_kwargs["asked"]
        if failure.check(ResponseDataLossError) and "download_fail_on_dataloss" not in request.meta:
            # What came before the cut is better than nothing, now that asking again has not helped.
            yield self._request(lead, download_fail_on_dataloss=False, dont_retry=True)
            return
        try:
            refusal = outcome.of_error(failure.value)
            yield from self._enter(_record(lead, refusal, asked=asked))
            if refusal.outcome is not Outcome.FAILED:  # a host that cannot be reached is not asked for more
                yield from self._try_next(lead)
        finally:
            self._done()

    def _try_next(self, lead: Lead) -> Iterator[SitemapRecord]:
        """After a robots.txt or a well-known name that led to nothing, consider the next well-known name."""
        if (lead.site_root or lead.found_by is FoundBy.WELL_KNOWN) and (following := next_well_known(lead)):
            yield from self._consider(following)

    def _done(self) -> None:
        self._in_flight -= 1
        self.summary.queued = len(self.frontier) + self._in_flight
        if not self._news.called:
            self._news.callback(None)

    def _has_enough(self) -> bool:
        return self.plan.limit is not None and self.summary.urls >= self.plan.limit

    def _give_up(self) -> Iterator[SitemapRecord]:
        for lead in self.frontier.drain():
            reason = f"limit={self.plan.limit} was reached before it was asked for"
            yield from self._enter(_record(lead, Refusal(Outcome.OVER_LIMIT, reason)))

    def _hand_out(self, batch: UrlBatch) -> Iterator[Any]:
        if self.plan.limit is not None:
            batch = batch.slice(0, self.plan.limit - self.summary.urls)
        self.summary.urls += len(batch)
        self.crawler.stats.inc_value("sitemap_harvest/urls", len(batch))
        if "urls" not in self.plan.emit:
            return
        if self._as_rows is None:
            self._as_rows = self._wants_rows()
        if self._as_rows:
            yield from batch.rows()
        else:
            yield batch

    def _wants_rows(self) -> bool:
        if self.options.items == "rows":
            return True
        if reason := why_rows(self.crawler):
            self.logger.info("URLs travel one by one, which is slower: %s", reason)
        return reason is not None

    def _enter(self, record: SitemapRecord, urls: int = 0) -> Iterator[SitemapRecord]:
        """Enter *record* into the ledger."""
        self.summary.add(record, urls, self.crawler.stats)
        if "sitemaps" in self.plan.emit:
            yield record


def _record(
    lead: Lead, refusal: Refusal | None, response: Response | None = None, asked: float | None = None
) -> SitemapRecord:
    record = SitemapRecord(
        url=lead.url,
        parent=lead.parent,
        root=lead.root,
        depth=lead.depth,
        found_by=lead.found_by,
        outcome=refusal.outcome if refusal else Outcome.READ,
        reason=refusal.reason if refusal else None,
        lastmod=lead.lastmod,
        lastmod_text=lead.lastmod_text,
    )
    if asked is not None:
        record.fetched_at = datetime.fromtimestamp(asked, UTC)
        record.seconds = round(time.time() - asked, 3)
    if response is not None:
        is_web = response.url.startswith("http")
        record.final_url = response.url
        record.status = response.status if is_web else None
        record.bytes_downloaded = len(response.body)
        record.content_type = _header(response, "Content-Type")
        record.etag = _header(response, "ETag")
        record.last_modified = _header(response, "Last-Modified")
    return record


def _header(response: Response, name: str) -> str | None:
    value = response.headers.get(name)
    return value.decode("latin-1") if value is not None else None


def _describe(record: SitemapRecord, document: Document) -> None:
    """Put what is known of *document* into its ledger row."""
    record.kind = document.kind
    record.outcome, record.reason = outcome.of_document(document)
    record.bytes_unpacked = document.bytes_unpacked
    record.layers = document.layers
    record.encoding = document.encoding
    record.entries = document.entries
    record.problems = document.problems
    record.sha256 = document.sha256
    record.complete = document.complete
