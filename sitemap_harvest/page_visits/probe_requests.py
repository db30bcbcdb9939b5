"""``ProbeRequests``: the Scrapy requests of a probe, and their responses."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import StopDownload
from scrapy.http import Response  # noqa: TC002 - others, such as scrapy-poet, inspect the signatures of callbacks
from scrapy.spidermiddlewares.urllength import UrlLengthMiddleware

from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.engine.probed_page import MAX_BODY_BYTES, ProbedPage, may_be_html
from sitemap_harvest.integration.document_requests import document_response, probed_of
from sitemap_harvest.integration.download_errors import of_error
from sitemap_harvest.integration.transfers import transfer_of, transfer_of_response
from sitemap_harvest.model import Outcome, PageRecord
from sitemap_harvest.urls import host_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http.headers import Headers
    from twisted.python.failure import Failure

    from sitemap_harvest.engine.probe import Probe
    from sitemap_harvest.page_visits.host_turns import HostTurns

_NO_LIMIT = {"download_maxsize": 0, "download_warnsize": 0}  # a body is cut instead


class ProbeRequests:
    """Builds the requests for the pages of a probe, when they may be sent, and passes it their responses."""

    def __init__(
        self,
        crawler: Crawler,
        probe: Probe,
        turns: HostTurns,
        wake: Callable[[], None],
        *,
        only_site: str | None,
        emits: bool,
    ) -> None:
        """Request pages as *turns* allows. *wake* is called whenever a page may be due.

        *only_site*: see :class:`RunConfig`. *emits*: whether to emit the records of pages.
        """
        self._crawler = crawler
        self._probe = probe
        self._turns = turns
        self._wake = wake
        turns.connect()
        self._emits = emits
        self._longest = crawler.settings.getint("URLLENGTH_LIMIT")
        self._only_host = host_of(only_site) if only_site else None
        for handler, signal in (
            (self.note_room, signals.scheduler_empty),
            (self.note_headers, signals.headers_received),
            (self.note_bytes, signals.bytes_received),
        ):
            crawler.signals.connect(handler, signal=signal)

    def next(self) -> Request | None:
        """Return the request for the next page; ``None`` if no page is due."""
        if not self._probe or not self._turns.look():
            return None
        while (page := self._probe.next(self._may_request)) is not None:
            if self._only_host not in {None, host_of(page.url)}:
                self._end(page, "the URL is not on the site that the folder replaces")
                continue
            try:
                return self._request(page)
            except ValueError as error:  # an invalid host or port
                self._end(page, f"the URL cannot be requested: {error}")
        if self._probe.records:
            self._wake()
        return None

    def answered(self, response: Response, probed: ProbedPage) -> list[PageRecord]:
        """Pass the response to a request to the probe, and return the record to emit, if there is one."""
        sent_at = transfer_of_response(response).sent_at
        return self._emitted(self._probe.answered(probed, document_response(response), sent_at))

    def failed(self, failure: Failure) -> list[PageRecord]:
        """Pass the failure of a request to the probe, and return the record to emit, if there is one."""
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy puts it there
        not_fetched = of_error(failure.value, request.meta.get("proxy"))
        transfer = transfer_of(request)
        sent_at = time.time() if transfer is None else transfer.sent_at
        record = self._probe.failed(request.cb_kwargs["probed"], not_fetched, sent_at)
        return self._emitted(record)

    def _emitted(self, record: PageRecord | None) -> list[PageRecord]:
        self._wake()
        return [] if record is None or not self._emits else [record]

    def note_room(self) -> None:
        """Record that Scrapy has nothing else to request."""
        if self._probe:
            self._wake()

    def note_headers(self, headers: Headers, body_length: object, request: Request) -> None:  # noqa: ARG002 - Scrapy's names
        """Stop the download of a page whose body says nothing."""
        if (page := probed_of(request)) is None:
            return
        page.received = 0
        content_type = headers.get("Content-Type")
        is_html = may_be_html(content_type.decode("latin-1") if content_type else None)
        if request.method == "GET" and not is_html and b"Location" not in headers:
            raise StopDownload(fail=False)

    def note_bytes(self, data: bytes, request: Request) -> None:
        """Stop the download of a page when enough of it was received."""
        if (page := probed_of(request)) is None:
            return
        page.received += len(data)
        if page.received > MAX_BODY_BYTES:
            raise StopDownload(fail=False)

    def _may_request(self, page: ProbedPage) -> bool:
        try:
            return self._turns.may_go(self._request(page), sites=len(self._probe))
        except ValueError:  # so that it gets its record
            return True

    def _end(self, page: ProbedPage, why: str) -> None:
        record = self._probe.failed(page, NotFetched(Outcome.SKIPPED, why), time.time())
        if record is not None:
            self._probe.records.append(record)

    def _request(self, page: ProbedPage) -> Request:
        """Return the next request for *page*. Raises :exc:`ValueError` if its URL is invalid or too long."""
        meta: dict[str, Any] = {
            "handle_httpstatus_all": True,
            "dont_redirect": True,  # the probe follows redirects itself, and records each
            "dont_cache": True,
            "download_fail_on_dataloss": False,  # the start of a page is enough
            **_NO_LIMIT,
        }
        if page.method == "HEAD":
            meta |= {"max_retry_times": 0, "give_up_log_level": "DEBUG"}  # GET comes next
        request = Request(
            page.url,
            method=page.method,
            callback=self.answered,
            errback=self.failed,
            cb_kwargs={"probed": page},
            dont_filter=True,
            meta=meta,
        )
        if 0 < self._longest < len(request.url):
            middleware = self._crawler.get_spider_middleware(UrlLengthMiddleware)
            if middleware is not None:  # it would drop the request silently
                raise ValueError(f"it is longer than URLLENGTH_LIMIT ({self._longest:,} characters)")
        return request
