"""``LoopRunner``: runs the crawl loop in Scrapy: sends its requests, and passes it responses, errors and signals."""

from __future__ import annotations

import time
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy import signals
from scrapy.exceptions import ResponseDataLossError, StopDownload
from scrapy.http import Response  # noqa: TC002 - others, such as scrapy-poet, inspect the signatures of callbacks
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.asyncio import call_later, sleep
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred, DeferredSemaphore

from sitemap_harvest.discovery.candidate import Candidate  # noqa: TC001 - the same
from sitemap_harvest.engine.interfaces import PAUSE
from sitemap_harvest.integration.document_requests import IN_TURN, candidate_of, document_response, note_size
from sitemap_harvest.integration.download_errors import of_error
from sitemap_harvest.integration.spider_attributes import harvest_of
from sitemap_harvest.integration.transfers import measure_transfers, transfer_of
from sitemap_harvest.model import Batch

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http.headers import Headers
    from scrapy.robotstxt import RobotParser
    from twisted.python.failure import Failure

    from sitemap_harvest.engine.crawl_loop import CrawlLoop
    from sitemap_harvest.integration.document_requests import DocumentRequests

_Output = TypeVar("_Output", Iterator[Any], AsyncIterator[Any])

_END = object()
_LONGEST_REASON = 300  # characters of a foreign error message
_LOOK_SECONDS = 1.0  # interval for checking waiting documents: a wait may be over, or a host did not respond
_ITEM_SECONDS = 0.01  # interval for checking whether an item has passed the pipelines
_MOST_SMALL = 4  # documents read at a time
_MOST_LARGE = 2


class Wakeup:
    """Wakes the loop of the run when there may be something to do."""

    def __init__(self) -> None:
        self._called: Deferred[None] = Deferred()

    def __call__(self) -> None:
        """Wake the loop."""
        if not self._called.called:
            self._called.callback(None)

    async def wait(self, seconds: float) -> None:
        """Wait until this is called, unless it was called since the last wait; at most *seconds*."""
        timer = call_later(seconds, self)
        await maybe_deferred_to_future(self._called)
        timer.cancel()
        self._called = Deferred()


class LoopRunner:
    """Runs the crawl loop: the callbacks of its requests, and the handlers of its signals."""

    def __init__(
        self, crawler: Crawler, loop: CrawlLoop, requests: DocumentRequests, wakeup: Wakeup, *, small: int
    ) -> None:
        """*small* is the size in bytes of the largest body that counts as small."""
        self._crawler = crawler
        self._loop = loop
        self._requests = requests
        self._in_flight = loop.in_flight
        self._wakeup = wakeup
        self._small = small
        # Parsers and batches take memory, so documents wait for a turn to be read. Small bodies do not wait for large
        # ones, but take turns too: a compressed body of 50 KB may contain 10 MB.
        self._small_turns, self._large_turns = DeferredSemaphore(_MOST_SMALL), DeferredSemaphore(_MOST_LARGE)
        requests.callback, requests.errback = self.answered, self.failed
        measure_transfers(crawler)
        for handler, signal in (
            (self.note_scheduled, signals.request_scheduled),
            (self.note_dropped, signals.request_dropped),
            (self.note_headers, signals.headers_received),
            (self.note_bytes, signals.bytes_received),
            (self.note_error, signals.spider_error),
            (self.note_rules, signals.robots_parsed),
        ):
            crawler.signals.connect(handler, signal=signal)

    async def steps(self) -> AsyncIterator[Any]:
        """Yield the requests and records of the run when they are due."""
        steps = self._loop.steps()
        while not self._is_closing() and (step := next(steps, _END)) is not _END:
            if step is None:
                await self._wait()
            elif step is PAUSE:
                await sleep(0)
            else:
                yield step
        # Scrapy checks for idleness when the last item enters the pipelines, and then only every five seconds.
        while (slot := self._crawler.engine.scraper.slot) is not None and not slot.is_idle():
            await self._wakeup.wait(_ITEM_SECONDS)
        # If an item of ours closed the spider, Scrapy 2.19 waits for it, but only looks at it after a response.
        if slot is not None and slot.closing is not None and not slot.closing.called:
            slot.closing.callback(self._crawler.spider)  # type: ignore[arg-type]  # there is one

    def _is_closing(self) -> bool:
        """Whether the pipelines are being closed: then the end of the run emits what is left."""
        slot = self._crawler.engine.scraper.slot
        return slot is None or slot.closing is not None

    def answered(self, response: Response, candidate: Candidate) -> Iterator[Any] | AsyncIterator[Any]:
        """Yield the URLs and the record of a document, and queue its children."""
        output = self._loop.answered(document_response(response), candidate)
        return self._watched(self._in_turn(output, len(response.body)), candidate)

    def failed(self, failure: Failure) -> Iterator[Any]:
        """Yield the record of a document that could not be downloaded."""
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy puts it there
        candidate: Candidate = request.cb_kwargs["candidate"]
        download = self._in_flight.downloads.get(candidate.url)
        if isinstance(failure.value, StopDownload) and download is not None and download.was_stopped:
            failure.value.response = failure.value.__traceback__ = None  # both hold the partial body
            self._in_flight.postpone(candidate)
            return iter(())
        if isinstance(failure.value, ResponseDataLossError) and "download_fail_on_dataloss" not in request.meta:
            # A truncated body is better than none, now that the retries have failed.
            meta = {"download_fail_on_dataloss": False, "dont_retry": True, IN_TURN: False}
            again = self._requests.build(candidate, {}, **meta)
            return iter([again])
        response = document_response(failure.value.response) if isinstance(failure.value, HttpError) else None
        not_fetched = of_error(failure.value, request.meta.get("proxy"), request.url)
        transfer = transfer_of(request) if response is None else response.transfer
        output = self._loop.failed(not_fetched, candidate, transfer, url=request.url, response=response)
        return self._watched(output, candidate)

    def note_scheduled(self, request: Request) -> None:
        """Record that the request of a candidate has reached the scheduler."""
        if (candidate := candidate_of(request)) and (download := self._in_flight.downloads.get(candidate.url)):
            download.was_scheduled = True

    def note_dropped(self, request: Request) -> None:
        """Record that the scheduler rejected the request of a candidate."""
        if (candidate := candidate_of(request)) and (download := self._in_flight.downloads.get(candidate.url)):
            download.was_scheduled = False

    def note_headers(self, headers: Headers, body_length: object, request: Request) -> None:
        """Record the headers of a response; stop the download if its body does not fit in memory."""
        is_redirect = b"Location" in headers  # its size means nothing
        size = body_length if isinstance(body_length, int) and not is_redirect else None
        note_size(harvest_of(self._crawler), request, size)

    def note_bytes(self, data: bytes, request: Request) -> None:
        """Record that *data* was received; stop the download if its body does not fit in memory."""
        if (candidate := candidate_of(request)) and self._in_flight.note_bytes(candidate, len(data)):
            raise StopDownload(fail=True)

    def note_error(self, failure: Failure, response: Response | Failure | None) -> None:
        """Give up a document if another component failed on its output: that is never exhausted."""
        request: Request | None = getattr(response, "request", None)
        if request is not None and (candidate := candidate_of(request)) is not None:
            self._loop.end(candidate, f"the project's code failed: {failure.value!r}"[:_LONGEST_REASON])

    def note_rules(self, request: Request, robotparser: RobotParser) -> None:
        """Apply the ``Crawl-delay`` of the robots.txt of a host."""
        settings = self._crawler.settings
        if harvest_of(self._crawler).is_offline:
            return
        if delay := robotparser.crawl_delay(settings["ROBOTSTXT_USER_AGENT"] or settings["USER_AGENT"]):
            self._loop.slow_down(request.url, delay)

    async def _wait(self) -> None:
        """Wait until a document is done, or it is time to check waiting documents again."""
        wait = (self._loop.sites.frontier.next_turn() or 0.0) - time.monotonic()
        await self._wakeup.wait(min(wait, _LOOK_SECONDS) if wait > 0 else _LOOK_SECONDS)
        engine = self._crawler.engine
        slot = engine.scraper.slot
        has_requests = engine.scheduler is None or engine.scheduler.has_pending_requests()
        has_work = engine.downloader.active or has_requests or (slot and not slot.is_idle())
        for candidate in self._in_flight.lost(time.monotonic(), is_idle=not has_work):
            self._loop.end(candidate, "another component dropped the request")
        if self._loop.probe is not None:
            self._loop.probe.end_lost(time.monotonic(), is_idle=not has_work)

    def _watched(self, output: _Output, candidate: Candidate) -> _Output:
        """Return *output*, and end *candidate* even if nothing reads the output, or not completely."""
        weakref.finalize(output, self._loop.end, candidate).atexit = False
        return output

    async def _in_turn(self, output: Iterator[Any], size: int) -> AsyncIterator[Any]:
        """Yield *output* of a document whose body has *size* bytes, in its reading turn."""
        turns = self._large_turns if size > self._small else self._small_turns
        await maybe_deferred_to_future(turns.acquire())
        try:
            for item in output:
                if item is not PAUSE:
                    yield item
                if item is PAUSE or isinstance(item, Batch):
                    await sleep(0)  # let batches pass the pipelines before the next one is created
        finally:
            turns.release()
