"""Guards of requests: none to private networks, credentials only for their site, robots.txt of every host."""

from __future__ import annotations

import logging
from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.downloadermiddlewares.retry import RetryMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.settings.default_settings import RETRY_EXCEPTIONS
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import load_object

from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.integration import default_settings as defaults
from sitemap_harvest.integration.document_requests import candidate_of
from sitemap_harvest.integration.spider_attributes import CrawlerComponent
from sitemap_harvest.network import AddressPolicy
from sitemap_harvest.urls import site_of, without_user

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response
    from scrapy.settings import BaseSettings

    from sitemap_harvest.discovery.candidate import NotFetched
    from sitemap_harvest.integration.download_handler import AddressCheckingHandler


_SCHEMES = ("http", "https")
_RETRY_EXCEPTIONS = [error for error in RETRY_EXCEPTIONS if not str(error).endswith(".http11.TunnelError")]
_PAGES_STAT = "sitemap_harvest/pages_private"
_NEXT_TO_THE_ENGINE, _NEXT_TO_THE_DOWNLOADER = 1, 1_000_001
_logger = logging.getLogger(__name__)
_policies: WeakKeyDictionary[Crawler, AddressPolicy] = WeakKeyDictionary()
_ADDED = "sitemap_harvest_site_headers"  # key in the meta of a request: their names
_headers: WeakKeyDictionary[Crawler, Mapping[str, Mapping[str, str]]] = WeakKeyDictionary()


class PrivateAddressError(IgnoreRequest):
    """A request was not sent, or its response not read, because of its IP address.

    An :exc:`IgnoreRequest`, so that Scrapy neither retries nor logs it.
    """

    def __init__(self, request: Request, refusal: NotFetched) -> None:
        if request.meta.get("redirect_urls"):
            refusal = replace(refusal, reason=f"the URL redirects to {request.url}: {refusal.reason}")
        super().__init__(refusal.reason)
        self.refusal = refusal  #: The outcome of the document, and the reason.


class LazyHandler:
    """The download handler that :func:`enable_guards` sets: an :class:`AddressCheckingHandler`, from the first request.

    Loading Twisted's HTTP client takes a tenth of a short run, and a run over local files needs none.
    """

    lazy = True

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> AddressCheckingHandler:
        """Return the handler of *crawler*."""
        from sitemap_harvest.integration.download_handler import AddressCheckingHandler  # see above

        try:
            _retry_tunnel_errors(crawler)
        except RuntimeError:  # there are no middlewares yet: the handler of another package has created this one
            crawler.signals.connect(lambda: _retry_tunnel_errors(crawler), signals.engine_started, weak=False)
        return AddressCheckingHandler(crawler)


def _retry_tunnel_errors(crawler: Crawler) -> None:
    """Retry what Scrapy retries by default, which :func:`enable_guards` has left out."""
    from scrapy.core.downloader.handlers.http11 import TunnelError  # see LazyHandler

    retry = crawler.get_downloader_middleware(RetryMiddleware)
    if retry is not None and crawler.settings["RETRY_EXCEPTIONS"] == _RETRY_EXCEPTIONS:
        retry.exceptions_to_retry += (TunnelError,)


def enable_guards(settings: BaseSettings) -> None:
    """Add the guards to *settings*, and the contact to the ``User-Agent``.

    Call it in ``from_crawler()``, because Scrapy 2.19 may undo what
    ``update_settings()`` puts into a component setting. A download handler that the
    project has chosen is not replaced.
    """
    if settings.frozen:
        return  # for a command that does not crawl, such as "shell"
    defaults.add_contact(settings)
    for guard, order in ((RobotsGuardMiddleware, _NEXT_TO_THE_ENGINE), (GuardMiddleware, _NEXT_TO_THE_DOWNLOADER)):
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", guard, order)
    if settings.getbool("TWISTED_REACTOR_ENABLED"):
        if not settings.getpriority("RETRY_EXCEPTIONS"):  # nothing but the default, which loads Twisted's HTTP client
            settings.set("RETRY_EXCEPTIONS", _RETRY_EXCEPTIONS, priority="addon")
        for scheme in _SCHEMES:
            if scheme not in settings["DOWNLOAD_HANDLERS"]:
                settings["DOWNLOAD_HANDLERS"].set(scheme, LazyHandler, priority="addon")


def address_policy_of(crawler: Crawler) -> AddressPolicy:
    """Return the address policy of *crawler*."""
    if (policy := _policies.get(crawler)) is None:
        policy = _policies[crawler] = AddressPolicy(HarvestSettings.from_settings(crawler.settings).private)
    return policy


def allow_named(crawler: Crawler, urls: Iterable[str]) -> None:
    """Record that the user of *crawler* named *urls*: their hosts may be in a private network."""
    policy = address_policy_of(crawler)
    for url in urls:
        policy.name(url)


def refused(crawler: Crawler, request: Request, refusal: NotFetched) -> PrivateAddressError:
    """Count *request*, which may have no record, and return the exception that ends it."""
    error = PrivateAddressError(request, refusal)
    crawler.stats.inc_value("sitemap_harvest/private_addresses")
    is_page = candidate_of(request) is None and not request.meta.get("dont_obey_robotstxt")
    is_first = is_page and crawler.stats.get_value(_PAGES_STAT) is None
    if is_page:  # pages have no record
        crawler.stats.inc_value(_PAGES_STAT)
    level = logging.WARNING if is_first else logging.DEBUG
    _logger.log(
        level, "The page was not fetched: %s: %s (the stat %s counts these pages)", request.url, error, _PAGES_STAT
    )
    return error


class RobotsGuardMiddleware(CrawlerComponent):
    """Downloader middleware next to the engine: lets Scrapy read the robots.txt of a host outside ``allowed_domains``.

    Scrapy requests it only for a request that may leave them, such as one for a sitemap,
    but filters it like a page, and then allows all URLs of the host.
    """

    def process_request(self, request: Request) -> None:
        """Allow *request* if Scrapy's ``RobotsTxtMiddleware`` sends it."""
        if request.callback is NO_CALLBACK and request.meta.get("dont_obey_robotstxt"):
            request.meta["allow_offsite"] = True


class GuardMiddleware(CrawlerComponent):
    """Downloader middleware next to the downloader: guards private networks, and adds the headers of a site.

    It stops a request whose URL alone shows that it leads to a private network. If
    another download handler is used, the IP address of the response is checked too, and
    a response from a private network is dropped. Behind a proxy this check is
    impossible.

    A request has the headers of its site only while it is downloaded: retries,
    redirects, caches and disk queues never see them. Headers that a request already
    has, from settings or the project, are not replaced.
    """

    def __init__(self, crawler: Crawler) -> None:
        """Log the schemes for which this is the only check, because another handler downloads them."""
        super().__init__(crawler)
        handlers = crawler.settings.getwithbase("DOWNLOAD_HANDLERS")
        self._unguarded = [scheme for scheme in _SCHEMES if not _is_ours(handlers.get(scheme))]
        if self._unguarded:
            _logger.info(
                "Another handler downloads %s: a host is checked for private addresses only after its "
                "response, not before the request",
                " and ".join(self._unguarded),
            )

    def process_request(self, request: Request) -> Request | None:
        """Remove a user name from the URL of *request*, or stop it, or add the headers of its site."""
        if "@" in request.url and (address := without_user(request.url)) != request.url:
            return request.replace(url=address)  # Scrapy would resolve it as part of the host name
        if refusal := address_policy_of(self._crawler).refuse_url(request.url):
            raise refused(self._crawler, request, refusal)
        if (by_site := _headers.get(self._crawler)) and (headers := by_site.get(site_of(request.url) or "")):
            added = [name for name in headers if name not in request.headers]
            request.headers.update({name: headers[name] for name in added})
            request.meta[_ADDED] = added
        return None

    def process_response(self, request: Request, response: Response) -> Response:
        """Remove the headers, and a user name from the URL of a redirect; drop a response from a private network."""
        remove_site_headers(request)
        url = urlparse_cached(request)
        if url.scheme in self._unguarded and url.hostname and response.ip_address and not request.meta.get("proxy"):
            peer, port = [ip_address(str(response.ip_address))], url.port or (443 if url.scheme == "https" else 80)
            policy = address_policy_of(self._crawler)
            if not policy.allow(url.hostname, port, peer):
                raise refused(self._crawler, request, policy.refusal(url.hostname, port, peer))
        if b"@" in (location := response.headers.get("Location") or b""):
            response.headers["Location"] = without_user(location.decode("latin-1")).encode("latin-1")
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002 - Scrapy's interface
        """Remove the headers."""
        remove_site_headers(request)


def _is_ours(handler: str | type | None) -> bool:
    found = load_object(handler) if handler else None
    return isinstance(found, type) and issubclass(found, LazyHandler)


def send_site_headers(crawler: Crawler, options: HarvestSettings, logins: Mapping[str, str]) -> None:
    """Make *crawler* send headers to each site: those of the settings, and *logins* from URLs that the user gave."""
    headers = {site: dict(given) for site, given in options.site_headers.items()}
    for site, login in logins.items():
        own = headers.get(site, {})
        headers[site] = {name: value for name, value in own.items() if name.lower() != "authorization"}
        headers[site]["Authorization"] = login
    _headers[crawler] = headers


def added_headers(request: Request) -> dict[str, str]:
    """Return the added headers that *request* has, except cookies, which a browser manages itself."""
    names = [name for name in request.meta.get(_ADDED, ()) if name.lower() != "cookie"]
    return {name: (request.headers[name] or b"").decode("latin-1") for name in names}


def remove_site_headers(request: Request) -> None:
    """Remove the added headers from *request*, which may be sent to another site."""
    for name in request.meta.pop(_ADDED, ()):
        request.headers.pop(name, None)
