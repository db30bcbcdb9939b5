"""``SiteHeadersMiddleware``: sends headers, such as credentials, to one site only, and never stores them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self
from weakref import WeakKeyDictionary

from sitemap_harvest.urls import site_of, without_user

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from sitemap_harvest.config.settings import HarvestSettings

NEXT_TO_THE_CACHE = 950  # behind HttpCacheMiddleware, so that no component that stores requests sees the added headers
_ADDED = "sitemap_harvest_site_headers"
_headers: WeakKeyDictionary[Crawler, Mapping[str, Mapping[str, str]]] = WeakKeyDictionary()


def site_headers(options: HarvestSettings, logins: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    """Return the headers for each site: from the settings, and *logins* from URLs that the user gave."""
    headers = {site: dict(given) for site, given in options.site_headers.items()}
    for site, login in logins.items():
        own = headers.setdefault(site, {})
        headers[site] = {name: value for name, value in own.items() if name.lower() != "authorization"}
        headers[site]["Authorization"] = login
    return headers


def send_site_headers(crawler: Crawler, headers: Mapping[str, Mapping[str, str]]) -> None:
    """Make *crawler* send *headers*, by site (scheme, host and port)."""
    _headers[crawler] = headers


class SiteHeadersMiddleware:
    """Downloader middleware: adds the headers of a site to requests, and removes them with the response.

    A request has them only while it is downloaded: retries, redirects, caches and disk
    queues never see them. Headers that a request already has, from settings or the
    project, are not replaced.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the middleware."""
        return cls(crawler)

    def process_request(self, request: Request) -> Request | None:
        """Add the headers of the site of *request*, and remove a user name from its URL."""
        if "@" in request.url and (address := without_user(request.url)) != request.url:
            return request.replace(url=address)  # Scrapy would resolve it as part of the host name
        if (by_site := _headers.get(self._crawler)) and (headers := by_site.get(site_of(request.url) or "")):
            added = [name for name in headers if name not in request.headers]
            request.headers.update({name: headers[name] for name in added})
            request.meta[_ADDED] = added
        return None

    def process_response(self, request: Request, response: Response) -> Response:
        """Remove the headers, and a user name from the URL of a redirect."""
        _take_off(request)
        if b"@" in (location := response.headers.get("Location") or b""):
            response.headers["Location"] = without_user(location.decode("latin-1")).encode("latin-1")
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002 - Scrapy's interface
        """Remove the headers."""
        _take_off(request)


def added_headers(request: Request) -> dict[str, str]:
    """Return the added headers that *request* has, except cookies, which a browser manages itself."""
    names = [name for name in request.meta.get(_ADDED, ()) if name.lower() != "cookie"]
    return {name: (request.headers[name] or b"").decode("latin-1") for name in names}


def _take_off(request: Request) -> None:
    for name in request.meta.pop(_ADDED, ()):
        request.headers.pop(name, None)
