"""Guards the addresses of private networks from what documents and redirects name."""

from __future__ import annotations

import logging
from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Self
from weakref import WeakKeyDictionary

from scrapy.exceptions import IgnoreRequest
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import load_object

from sitemap_harvest.crawl import defaults
from sitemap_harvest.crawl.document_requests import lead_of
from sitemap_harvest.crawl.options import Options
from sitemap_harvest.crawl.site_headers import NEXT_TO_THE_CACHE, SiteHeaders
from sitemap_harvest.plan import Reach

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response
    from scrapy.settings import BaseSettings

    from sitemap_harvest.plan import Refusal

HANDLER = "sitemap_harvest.crawl.guarded.GuardedHandler"
_SCHEMES = ("http", "https")
_PAGES_STAT = "sitemap_harvest/pages_private"
_NEXT_TO_THE_DOWNLOADER = 1_000_001
_logger = logging.getLogger(__name__)
_reaches: WeakKeyDictionary[Crawler, Reach] = WeakKeyDictionary()


class PrivateAddressError(IgnoreRequest):
    """A request is not sent, or its answer not read, because of the address that it leads to.

    An :exc:`IgnoreRequest`, so that Scrapy neither asks again nor logs it.
    """

    def __init__(self, request: Request, refusal: Refusal) -> None:
        if request.meta.get("redirect_urls"):
            refusal = replace(refusal, reason=f"it redirects to {request.url}: {refusal.reason}")
        super().__init__(refusal.reason)
        self.refusal = refusal  #: What becomes of the document, and why.


def guard(settings: BaseSettings) -> None:
    """Put the guard and :class:`SiteHeaders` into the *settings* of a spider of ours, and its contact into its name.

    To be called by its ``from_crawler()``: what ``update_settings()`` puts into
    a setting of several parts, Scrapy 2.19 may undo. A download handler that the
    project has chosen stays.
    """
    if settings.frozen:
        return  # by a command that crawls nothing, such as "shell"
    defaults.introduce(settings)
    settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", AddressGuard, _NEXT_TO_THE_DOWNLOADER)
    settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", SiteHeaders, NEXT_TO_THE_CACHE)
    if settings.getbool("TWISTED_REACTOR_ENABLED"):
        for scheme in _SCHEMES:
            if scheme not in settings["DOWNLOAD_HANDLERS"]:
                settings["DOWNLOAD_HANDLERS"].set(scheme, HANDLER, priority="addon")


def reach_of(crawler: Crawler) -> Reach:
    """Return what the run of *crawler* may connect to."""
    if (reach := _reaches.get(crawler)) is None:
        reach = _reaches[crawler] = Reach(Options.from_settings(crawler.settings).private)
    return reach


def name_addresses(crawler: Crawler, urls: Iterable[str]) -> None:
    """Note that the user of *crawler* named *urls*: their hosts may be in a private network."""
    reach = reach_of(crawler)
    for url in urls:
        reach.name(url)


def refused(crawler: Crawler, request: Request, refusal: Refusal) -> PrivateAddressError:
    """Count *request*, for not all have a ledger row, and return what ends it."""
    error = PrivateAddressError(request, refusal)
    crawler.stats.inc_value("sitemap_harvest/private_addresses")
    is_page = lead_of(request) is None and not request.meta.get("dont_obey_robotstxt")
    is_first = is_page and crawler.stats.get_value(_PAGES_STAT) is None
    if is_page:  # which has no row in the ledger to tell of it
        crawler.stats.inc_value(_PAGES_STAT)
    level = logging.WARNING if is_first else logging.DEBUG
    _logger.log(level, "Not asked for, or not read: %s: %s (all pages: stats, %s)", request.url, error, _PAGES_STAT)
    return error


class AddressGuard:
    """Downloader middleware: stops requests whose addresses alone tell that they lead to a private network.

    Where another handler than ours downloads, it looks at who has answered too,
    and lets nobody read what a private network said. Behind a proxy that cannot
    be told.
    """

    def __init__(self, crawler: Crawler, unguarded: Collection[str]) -> None:
        """*unguarded* are the schemes that another handler downloads."""
        self._crawler = crawler
        self._unguarded = unguarded

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware, and say where it is all the guard that there is."""
        handlers = crawler.settings.getwithbase("DOWNLOAD_HANDLERS")
        unguarded = tuple(scheme for scheme in _SCHEMES if not _is_ours(handlers.get(scheme)))
        if unguarded:
            _logger.info(
                "Private addresses: %s is downloaded by another handler than ours, so hosts are checked after they "
                "have answered, and not before they are asked",
                " and ".join(unguarded),
            )
        return cls(crawler, unguarded)

    def process_request(self, request: Request) -> None:
        """Stop *request* if its address leads to a private network."""
        if refusal := reach_of(self._crawler).refuse_url(request.url):
            raise refused(self._crawler, request, refusal)

    def process_response(self, request: Request, response: Response) -> Response:
        """Let *response* pass, unless it comes from a private network."""
        url = urlparse_cached(request)
        if url.scheme in self._unguarded and url.hostname and response.ip_address and not request.meta.get("proxy"):
            peer, port = [ip_address(str(response.ip_address))], url.port or (443 if url.scheme == "https" else 80)
            reach = reach_of(self._crawler)
            if not reach.admit(url.hostname, port, peer):
                raise refused(self._crawler, request, reach.refusal(url.hostname, port, peer))
        return response


def _is_ours(handler: str | type | None) -> bool:
    found = load_object(handler) if handler else None
    return isinstance(found, type) and issubclass(found, load_object(HANDLER))
