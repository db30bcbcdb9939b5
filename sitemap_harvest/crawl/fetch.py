"""Documents by their addresses, and nothing else: no robots.txt is asked, and nothing that they name is fetched.

For ``scrapy harvest validate``: whoever names a document wants that one, as
with a browser. What comes is put into a folder, so that it is read when the
crawl is over, however many there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request, Spider
from scrapy.http import Response  # noqa: TC002 - others look at the signatures of callbacks, as scrapy-poet does
from scrapy.spidermiddlewares.httperror import HttpError

from sitemap_harvest.crawl import defaults, outcome
from sitemap_harvest.crawl.options import Options
from sitemap_harvest.crawl.quiet import conceal_passwords
from sitemap_harvest.crawl.reach import guard, name_addresses
from sitemap_harvest.crawl.site_headers import send_site_headers, site_headers
from sitemap_harvest.escape import escape_log
from sitemap_harvest.plan import Lead

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

_OF_ITS_OWN: Mapping[str, Any] = {
    "ROBOTSTXT_OBEY": False,
    "FEEDS": {},  # no items come, and the project's outputs must not be overwritten with nothing
    "ITEM_PIPELINES": {},
    "JOBDIR": None,
}


@dataclass(slots=True, kw_only=True)
class Fetched:
    """What came of asking for one document."""

    final_url: str | None = None
    """The address after redirects; ``None`` if there was no answer."""
    body: Path | None = None
    """The file that holds the body as it was sent; ``None`` if there is none to be read."""
    content_type: str | None = None
    """The header ``Content-Type`` as sent."""
    content_encodings: tuple[str, ...] = ()
    """What the header ``Content-Encoding`` says, first the one that was applied first."""
    was_cut: bool = False
    """Whether the connection ended before the body did."""
    reason: str | None = "it was not fetched: a part of the project passed over it"
    """Why there is no body, in words; ``None`` if there is one."""


class FetchSpider(Spider):
    """Puts what each address in *into* answers into *folder*, and says so in *into*."""

    name = "fetch"

    def __init__(
        self,
        name: str | None = None,
        *,
        into: dict[str, Fetched],
        folder: Path,
        logins: Mapping[str, str],
        **arguments: Any,
    ) -> None:
        """*logins* are what ``Authorization`` says to each site."""
        super().__init__(name, **arguments)
        self._logins = logins
        self._into = into
        self._folder = folder

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Offer what our spiders work best with; ask for no robots.txt, and write no output."""
        defaults.offer(settings)
        for name, value in _OF_ITS_OWN.items():
            settings.set(name, value, priority="spider")
        super().update_settings(settings)
        conceal_passwords()
        escape_log()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Make the spider."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        guard(crawler.settings)
        name_addresses(crawler, spider._into)  # noqa: SLF001 - its own
        headers = site_headers(Options.from_settings(crawler.settings), spider._logins)  # noqa: SLF001 - its own
        send_site_headers(crawler, headers)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        """Ask for each document."""
        for number, url in enumerate(self._into):
            try:
                yield self._request(url, number)
            except ValueError as error:  # a port or a host that makes no sense
                self._into[url] = Fetched(reason=f"its address is none that can be asked for: {error}")

    def _request(self, url: str, number: int) -> Request:
        return Request(
            url,
            callback=self.keep,
            errback=self.note,
            cb_kwargs={"lead": Lead(url=url, root=url), "number": number},
            dont_filter=True,
            meta={
                "dont_cache": True,
                "download_fail_on_dataloss": False,
                "handle_httpstatus_list": list(range(400, 600)),
            },
        )

    def keep(self, response: Response, lead: Lead, number: int) -> None:
        """Put the body of *response* into a file."""
        fetched = Fetched(final_url=response.url, reason=None, was_cut="dataloss" in response.flags)
        if refusal := outcome.of_status(response.status):
            fetched.reason = refusal.reason
        else:
            content_type = response.headers.get("Content-Type")
            fetched.content_type = content_type.decode("latin-1") if content_type is not None else None
            fetched.content_encodings = response.meta.get("content_encodings", ())
            fetched.body = self._folder / str(number)
            fetched.body.write_bytes(response.body)
        self._into[lead.url] = fetched

    def note(self, failure: Failure) -> None:
        """Note why a document could not be had."""
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy puts it there
        answered = failure.value.response.url if isinstance(failure.value, HttpError) else None
        reason = outcome.of_error(failure.value, proxy=request.meta.get("proxy")).reason
        self._into[request.cb_kwargs["lead"].url] = Fetched(final_url=answered, reason=reason)
