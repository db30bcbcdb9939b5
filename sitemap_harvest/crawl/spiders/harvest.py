"""The base of the package's spiders, and of one's own."""

from __future__ import annotations

import time
import weakref
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

import pyarrow as pa
from scrapy import Request, signals
from scrapy.exceptions import CloseSpider, ResponseDataLossError
from scrapy.extensions.feedexport import FeedExporter
from scrapy.spidermiddlewares.httperror import HttpError

from sitemap_harvest.crawl import defaults, outcome
from sitemap_harvest.crawl.arguments import Plan, check_exporter, check_feeds, check_root
from sitemap_harvest.crawl.flights import Flights
from sitemap_harvest.crawl.given import Given, check_class
from sitemap_harvest.crawl.options import Options
from sitemap_harvest.crawl.pages import Pages
from sitemap_harvest.crawl.quiet import quieten
from sitemap_harvest.crawl.record import answered, describe, record_of
from sitemap_harvest.crawl.rows import why_rows
from sitemap_harvest.crawl.selection import Selection
from sitemap_harvest.crawl.spiders.base import SitemapAttributes
from sitemap_harvest.crawl.summary import Summary
from sitemap_harvest.errors import HarvestError
from sitemap_harvest.formats import Document
from sitemap_harvest.model import FoundBy, Kind, Outcome, SitemapRecord, UrlBatch
from sitemap_harvest.plan import Bounds, Frontier, Lead, Refusal, document_key, next_well_known, refuse, room

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from sitemap_harvest.model import SitemapRef

_ERROR_STATUSES = list(range(400, 600))
_LONGEST_REASON = 300  # characters of an error that is not ours


class HarvestSpider(SitemapAttributes):
    """Reads the sitemaps of sites: asks the formats what a body says and the plan where to go, decides nothing itself.

    Leads wait in a frontier of our own, not in Scrapy's scheduler: 50,000
    children cost a few megabytes there, and only as many are downloaded at a
    time as fit into ``SITEMAP_HARVEST_BODIES``.
    """

    local_root: Path | None = None
    """The folder that stands in for the site, if one does."""
    refused: str | None = None
    """Why the run ends before it begins: a wrong argument or setting, in words."""

    says_how_it_ended: bool = True
    """Whether the log is told at the end what was found, and what was not read."""

    plan: Plan
    options: Options
    frontier: Frontier
    bounds: Bounds
    summary: Summary
    _pages: Pages
    _selection: Selection

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        check_class(cls, base=HarvestSpider)

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        """Make the spider. What is wrong with *arguments* is kept in :attr:`refused`, and ends the run as it begins."""
        self._given = Given.of(arguments, type(self), base=HarvestSpider)
        super().__init__(name, **self._given.attributes)
        self.summary = Summary()
        self._flights = Flights()
        self._owed: deque[SitemapRecord] = deque()  # rows of documents that nobody can end any more
        self._largest_body = 0
        self._as_rows = False
        self._has_begun = False
        # Scrapy looks into the source of each callback object that it has not met, and a method is a new one each time.
        self._callback, self._errback = self.parse_document, self.on_error

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Offer what the spider works best with; what the project sets stays."""
        for name, value in defaults.PLAIN.items():
            settings.set(name, value, priority="addon")
        super().update_settings(settings)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Make the spider, and read the settings once they are final."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.prepare, signal=signals.spider_opened)
        spider._flights.listen(crawler)  # noqa: SLF001 - its own
        crawler.signals.connect(spider.note_error, signal=signals.spider_error)
        crawler.signals.connect(spider.conclude, signal=signals.spider_closed)  # before the feeds are closed
        return spider

    def prepare(self) -> None:
        """Read the settings. A wrong one, or a wrong argument, ends the run with one line and no traceback."""
        try:
            self._set_plan(self._given.plan_for(self))
            self.options = Options.from_settings(self.crawler.settings)
            check_feeds(self.crawler.settings, self.plan.emit)
            check_exporter(self.crawler)
            check_root(self.local_root, self.crawler)
        except HarvestError as error:
            self.refuse(str(error))
        quieten()
        pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own pool keeps some 25 MB that it has let go of
        for complaint in (*self.plan.complaints, *self._given.complaints(type(self))):
            self.logger.warning(complaint)
        self.frontier = Frontier(max_documents=self.options.max_documents)
        max_depth, depth_setting = self._max_depth()
        self.bounds = Bounds(
            max_depth=max_depth,
            depth_setting=depth_setting,
            follow=self.plan.follow,
            skip=self.plan.skip,
            offsite=self.options.offsite,
            only_site=self.plan.only_site,
        )
        self._has_begun = True

    def _set_plan(self, plan: Plan) -> None:
        self.plan = plan
        self.local_root = plan.root
        self.summary.complaints = plan.complaints
        self._selection = Selection(self)
        self._pages = Pages(self, self._selection, only_site=plan.only_site)
        self._pages.listen(self._flights.wake)

    def _max_depth(self) -> tuple[int, str]:
        """Return how deep the run goes, and which setting says so."""
        # Scrapy's own middleware sees no depth: all requests come from start().
        limit = self.crawler.settings.getint("DEPTH_LIMIT")
        return (limit, "DEPTH_LIMIT") if 0 < limit < self.options.max_depth else (self.options.max_depth, "MAX_DEPTH")

    def refuse(self, reason: str) -> NoReturn:
        """End the run before it begins, and say why in one line."""
        self.refused, self._has_begun = reason, False
        self.logger.error(reason)
        raise CloseSpider("wrong_argument")

    def conclude(self) -> None:
        """Complete the ledger, and log the run in one line, and what was not read."""
        if not self._has_begun:
            return
        self._enter_left_over()
        if words := self._pages.close():
            self.logger.info(words)
        if self.says_how_it_ended:
            self.logger.info(self.summary.in_words())
            for note in self.summary.notes.lines():
                self.logger.info("Not read, or not whole: %s", note)

    async def start(self) -> AsyncIterator[Any]:
        """Yield a request for each lead as soon as there is room for its body, and a ledger row for each given up."""
        for lead in self.plan.leads:
            for record in self._consider(lead):
                yield record
        while len(self.frontier) or len(self._flights) or self._owed or self._pages:
            for record in self._rows_due():
                yield record
            if self._has_room() and (next_lead := self.frontier.take(self._flights.hosts_being_met())):
                self._flights.begin(next_lead)
                yield self._request(next_lead)
                for record in self._passed_over(next_lead):
                    yield record
                continue
            if page := self._pages.next():
                yield page
                continue
            if len(self._flights) or self._pages:
                await self._flights.next_end()

    def note_error(self, failure: Failure, response: Response | Failure | None) -> None:
        """Give up on a document whose output a part of the project could not read: it will not come to its end."""
        request: Request | None = getattr(response, "request", None)
        if request is not None and isinstance(lead := request.cb_kwargs.get("lead"), Lead):
            self._done(lead, f"the project's code failed: {failure.value!r}"[:_LONGEST_REASON])

    def _passed_over(self, lead: Lead) -> Iterator[SitemapRecord]:
        """Yield the ledger row of *lead* if its request never reached the scheduler: nobody will answer it."""
        if not self._flights.was_scheduled(lead):
            yield from self._end(record_of(lead, Refusal(Outcome.SKIPPED, "a spider middleware passed over it")))
            self._done(lead)

    def _consider(self, lead: Lead, refusal: Refusal | None = None) -> Iterator[SitemapRecord]:
        """Let *lead* into the frontier, or yield the ledger row that says why not, once for each document."""
        if self.frontier.knows(lead.url):
            return
        refusal = refusal or refuse(lead, self.bounds) or self.frontier.add(lead)
        self._count_queued()
        if refusal and self.frontier.refuse(lead.url):
            yield from self._enter(record_of(lead, refusal))

    def _has_room(self) -> bool:
        return not self._has_enough() and len(self._flights) < room(
            most=self.options.concurrency,
            bytes_in_memory=self.options.bodies,
            done=self.summary.documents,
            largest=self._largest_body,
        )

    def _request(self, lead: Lead, **meta: Any) -> Request:
        return Request(
            lead.url,
            callback=self._callback,
            errback=self._errback,
            cb_kwargs={"lead": lead, "asked": time.time()},
            dont_filter=True,  # the frontier knows what was asked for
            meta={
                "handle_httpstatus_list": _ERROR_STATUSES,
                "dont_obey_robotstxt": lead.site_root,
                "dont_retry": lead.url.startswith("file:"),
                **meta,
            },
        )

    def parse_document(self, response: Response, lead: Lead, asked: float) -> Iterator[Any]:
        """Yield the URLs of a document and its ledger row. Its children go to the frontier."""
        if lead not in self._flights:
            return iter(())  # left over from a paused run (JOBDIR): this run has begun again from its first lead
        return self._watched(self._parse_watched(response, lead, asked), lead)

    def _watched(self, output: Iterator[Any], lead: Lead) -> Iterator[Any]:
        """Return *output*, and be done with *lead* also when nobody reads it to its end, or reads it at all."""
        weakref.finalize(output, self._done, lead).atexit = False
        return output

    def _parse_watched(self, response: Response, lead: Lead, asked: float) -> Iterator[Any]:
        try:
            self._largest_body = max(self._largest_body, len(response.body))
            yield from self._read(response, lead, asked)
        except Exception as error:
            refusal = Refusal(Outcome.FAILED, f"reading it failed, which should not happen: {error!r}")
            yield from self._end(record_of(lead, refusal, asked=asked))
            raise
        finally:
            self._done(lead)

    def _read(self, response: Response, lead: Lead, asked: float) -> Iterator[Any]:
        is_local = self.local_root is not None or lead.url.startswith("file:")
        record = record_of(lead, outcome.of_status(response.status, is_local=is_local), asked=asked)
        answered(record, response, is_local=is_local)
        if self._has_enough():
            record.outcome, record.reason = Outcome.OVER_LIMIT, self._limit_words("before it was read")
            yield from self._end(record, is_wanted=True)
            return
        if refusal := self._refuse_redirect(lead, response.url):
            record.outcome, record.reason = refusal.outcome, refusal.reason
        if record.outcome is Outcome.READ:
            yield from self._read_body(response, lead, record)
            return
        yield from self._end(record)
        yield from self._try_next(lead)

    def _refuse_redirect(self, lead: Lead, final_url: str) -> Refusal | None:
        """Return why the document that *lead* has led to is not read from there, or ``None`` if it is."""
        if document_key(final_url) == document_key(lead.url):
            return None  # no redirect, though Scrapy may have escaped the address
        if refusal := refuse(replace(lead, url=final_url), self.bounds):
            return Refusal(refusal.outcome, f"it redirects to {final_url}: {refusal.reason}")
        if not self.frontier.claim(final_url):
            return Refusal(Outcome.SKIPPED, f"it redirects to {final_url}, which is read by itself")
        return None

    def _read_body(self, response: Response, lead: Lead, record: SitemapRecord) -> Iterator[Any]:
        document = Document(
            response.body,
            url=lead.url,
            base=response.url,
            content_type=record.content_type,
            content_encodings=response.meta.get("content_encodings", ()),
            limits=self.options.limits,
        )
        before = self.summary.urls
        listed = 0
        for batch in document.urls():
            listed += len(batch)
            yield from self._hand_out(batch, lead)
            if self._has_enough():
                break
        urls = self.summary.urls - before
        was_limited = False
        describe(record, document, was_cut="dataloss" in response.flags)
        references = list(document.sitemaps())
        if self._has_enough() and (urls < listed or urls < document.entries - _listed(references)):
            was_limited = True
            record.outcome, record.reason, record.complete = Outcome.PARTIAL, self._limit_words("within it"), False
        found_by = FoundBy.ROBOTS if document.kind is Kind.ROBOTS else FoundBy.INDEX
        for reference, refusal in self._selection.children(references, document.kind):
            if reference.found_by is None or _is_page_of_the_user(lead):
                yield from self._consider(lead.child(reference, reference.found_by or found_by), refusal)
        yield from self._end(record, urls=urls, is_wanted=was_limited)
        if not document.entries:
            yield from self._try_next(lead)

    def on_error(self, failure: Failure) -> Iterator[Any]:
        """Yield the ledger row of a document that could not be downloaded."""
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy puts it there
        lead, asked = request.cb_kwargs["lead"], request.cb_kwargs["asked"]
        if isinstance(failure.value, ResponseDataLossError) and "download_fail_on_dataloss" not in request.meta:
            # What comes before the cut is better than nothing, now that asking again has not helped.
            return iter([self._request(lead, download_fail_on_dataloss=False, dont_retry=True)])
        return self._watched(self._fail(failure.value, lead, asked), lead)

    def _fail(self, error: BaseException | None, lead: Lead, asked: float) -> Iterator[Any]:
        try:
            refusal = outcome.of_error(error)
            record = record_of(lead, refusal, asked=asked)
            if isinstance(error, HttpError):
                answered(record, error.response, is_local=False)
            yield from self._end(record)
            if refusal.outcome is not Outcome.FAILED:  # a host that cannot be reached is not asked for more
                yield from self._try_next(lead)
        finally:
            self._done(lead)

    def _try_next(self, lead: Lead) -> Iterator[SitemapRecord]:
        """After a robots.txt or a well-known name that led to nothing, consider the next well-known name."""
        if (lead.site_root or lead.found_by is FoundBy.WELL_KNOWN) and (following := next_well_known(lead)):
            yield from self._consider(following)

    def _done(self, lead: Lead, why: str = "a spider middleware did not read it to its end") -> None:
        """Be done with *lead*; *why* it has no ledger row, should it have none."""
        if lead not in self._flights:
            return
        if self._flights.give_row(lead.url):
            self._owed.append(record_of(lead, Refusal(Outcome.FAILED, why)))
        self._pages.release(lead)
        self._flights.end(lead)
        self._count_queued()

    def _count_queued(self) -> None:
        self.summary.queued = len(self.frontier) + len(self._flights)

    def _has_enough(self) -> bool:
        return self.plan.limit is not None and self.summary.urls >= self.plan.limit

    def _limit_words(self, when: str) -> str:
        return f"limit={self.plan.limit} was reached {when}"

    def _rows_due(self) -> Iterator[SitemapRecord]:
        """Yield the ledger rows that are left to :meth:`start`, and those of all that wait once there is enough."""
        while self._owed:
            yield from self._enter(self._owed.popleft())
        for lead in self.frontier.drain() if self._has_enough() else ():
            refusal = Refusal(Outcome.OVER_LIMIT, self._limit_words("before it was asked for"))
            yield from self._enter(record_of(lead, refusal), is_wanted=True)

    def _enter_left_over(self) -> None:
        """Enter what a run that ended early did not come to: for the feeds alone, as pipelines are closed by then."""
        exporter = self.crawler.get_extension(FeedExporter)
        left = 0
        for record in self._left_over():
            is_left = record.outcome is Outcome.OVER_LIMIT
            left += is_left
            for row in self._enter(record, is_wanted=is_left):
                if exporter is not None:
                    exporter.item_scraped(row, self)
        self.summary.queued = left

    def _left_over(self) -> Iterator[SitemapRecord]:
        yield from self._owed
        for lead in self._flights.unanswered():
            yield record_of(lead, Refusal(Outcome.OVER_LIMIT, "the run ended before it was answered"))
        for lead in self.frontier.drain():
            yield record_of(lead, Refusal(Outcome.OVER_LIMIT, "the run ended before it was asked for"))

    def _hand_out(self, batch: UrlBatch, lead: Lead) -> Iterator[Any]:
        if self.plan.limit is not None:
            batch = batch.slice(0, self.plan.limit - self.summary.urls)
        self.summary.urls += len(batch)
        self.crawler.stats.inc_value("sitemap_harvest/urls", len(batch))
        self._pages.add(batch, lead)
        if "urls" not in self.plan.emit:
            return
        self._as_rows = self._as_rows or self._wants_rows()  # each time: a handler may have been connected since
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

    def _enter(self, record: SitemapRecord, *, is_wanted: bool = False) -> Iterator[SitemapRecord]:
        """Enter *record*, the row of a document that was not asked for; *is_wanted*: the user wanted it so."""
        self.summary.add(record, self.crawler.stats, urls=0, is_wanted=is_wanted)
        if "sitemaps" in self.plan.emit:
            yield record

    def _end(self, record: SitemapRecord, *, urls: int = 0, is_wanted: bool = False) -> Iterator[SitemapRecord]:
        """Enter *record*, the row of a document that was asked for and gave *urls* URLs, unless it has one."""
        if not self._flights.needs_row(record.url):
            return
        try:
            if "sitemaps" in self.plan.emit:
                yield record
        finally:  # where a spider middleware has failed on the row, note_error() has entered another in its place
            if self._flights.give_row(record.url):
                self.summary.add(record, self.crawler.stats, urls=urls, is_wanted=is_wanted)


def _listed(references: list[SitemapRef]) -> int:
    """Return how many of *references* are entries of their document, and no mere hints."""
    return sum(reference.found_by is None for reference in references)


def _is_page_of_the_user(lead: Lead) -> bool:
    """Whether the user named this document, so that what it hints at is wanted: a page met under way is no guide."""
    return lead.found_by is FoundBy.ARGUMENT and not lead.site_root
