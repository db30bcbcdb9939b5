"""``FetchSpider``: downloads single documents by URL, without robots.txt and without following references.

Used by ``sitemap-harvest validate``. Bodies are written to a folder, to be read after
the crawl, however many there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request, Spider
from scrapy.http import Response  # noqa: TC002 - others, such as scrapy-poet, inspect the signatures of callbacks
from scrapy.spidermiddlewares.httperror import HttpError

from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.discovery.candidate import Candidate
from sitemap_harvest.engine.document_records import outcome_of_status
from sitemap_harvest.integration import default_settings as defaults
from sitemap_harvest.integration.document_requests import document_response
from sitemap_harvest.integration.download_errors import filter_logs, of_error
from sitemap_harvest.integration.guards import allow_named, enable_guards, send_site_headers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from sitemap_harvest.engine.interfaces import DocumentResponse

_OF_ITS_OWN: Mapping[str, Any] = {
    "ROBOTSTXT_OBEY": False,
    "FEEDS": {},  # there are no items, and empty outputs must not overwrite the project's files
    "ITEM_PIPELINES": {},
    "JOBDIR": None,
}


@dataclass(slots=True, kw_only=True)
class Fetched:
    """The result of fetching one document."""

    response: DocumentResponse | None = None
    """The response, without its body; ``None`` if there was none."""
    body: Path | None = None
    """The file with the body as sent; ``None`` if there is nothing to read."""
    reason: str | None = "another component of the project dropped the request"
    """Why there is no body, as text; ``None`` if there is one."""


class FetchSpider(Spider):
    """Downloads the URLs that are the keys of *into* to *folder*, and stores the results in *into*."""

    name = "fetch"

    def __init__(self, name: str | None = None, *, into: dict[str, Fetched], folder: Path, **arguments: Any) -> None:
        super().__init__(name, **arguments)
        self._into = into
        self._folder = folder

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Apply the default settings; ignore robots.txt, and write no outputs."""
        defaults.apply_defaults(settings)
        for name, value in _OF_ITS_OWN.items():
            settings.set(name, value, priority="spider")
        super().update_settings(settings)
        filter_logs()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Create the spider. The argument *logins* has the ``Authorization`` header of each site."""
        enable_guards(crawler.settings)
        allow_named(crawler, kwargs["into"])
        send_site_headers(crawler, HarvestSettings.from_settings(crawler.settings), kwargs.pop("logins"))
        return super().from_crawler(crawler, *args, **kwargs)

    async def start(self) -> AsyncIterator[Request]:
        """Yield a request for each document."""
        meta = {
            "dont_cache": True,
            "download_fail_on_dataloss": False,
            "handle_httpstatus_list": list(range(400, 600)),
        }
        for number, url in enumerate(self._into):
            given = {"candidate": Candidate(url=url, root=url), "number": number}
            try:
                yield Request(url, callback=self.keep, errback=self.note, cb_kwargs=given, dont_filter=True, meta=meta)
            except ValueError as error:  # an invalid host or port
                self._into[url] = Fetched(reason=f"the URL cannot be requested: {error}")

    def keep(self, response: Response, candidate: Candidate, number: int) -> None:
        """Write the body of *response* to a file."""
        given = document_response(response)
        fetched = self._into[candidate.url] = Fetched(response=replace(given, body=b""), reason=None)
        if refusal := outcome_of_status(response.status):
            fetched.reason = refusal.reason
        else:
            fetched.body = self._folder / str(number)
            fetched.body.write_bytes(given.body)

    def note(self, failure: Failure) -> None:
        """Store why a document could not be fetched."""
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy puts it there
        response = document_response(failure.value.response) if isinstance(failure.value, HttpError) else None
        reason = of_error(failure.value, request.meta.get("proxy"), request.url).reason
        self._into[request.cb_kwargs["candidate"].url] = Fetched(response=response, reason=reason)
