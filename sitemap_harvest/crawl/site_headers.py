"""Headers for one site alone, such as a password: no other host gets to see them, and nothing keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self
from weakref import WeakKeyDictionary

from sitemap_harvest.urls import site_of, without_user

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from sitemap_harvest.crawl.options import Options

NEXT_TO_THE_CACHE = 950  # behind HttpCacheMiddleware, so that nothing which writes requests sees what is added here
_ADDED = "sitemap_harvest_site_headers"
_headers: WeakKeyDictionary[Crawler, Mapping[str, Mapping[str, str]]] = WeakKeyDictionary()


def site_headers(options: Options, logins: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    """Return the headers for each site: those of the settings, and *logins* by the addresses that the user named."""
    headers = {site: dict(given) for site, given in options.site_headers.items()}
    for site, login in logins.items():
        own = headers.setdefault(site, {})
        headers[site] = {name: value for name, value in own.items() if name.lower() != "authorization"}
        headers[site]["Authorization"] = login
    return headers


def send_site_headers(crawler: Crawler, headers: Mapping[str, Mapping[str, str]]) -> None:
    """Let *crawler* send *headers*, by site (scheme, host and port)."""
    _headers[crawler] = headers


class SiteHeaders:
    """Downloader middleware: adds the headers of a site on the way out, and takes them off on the way back.

    So a request has them while it is downloaded, and at no other time: what
    asks again, follows redirects, caches, or keeps requests on disk never has
    them. What a request has already, from other settings or from the project,
    stays.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware."""
        return cls(crawler)

    def process_request(self, request: Request) -> Request | None:
        """Add the headers of the site of *request*; ask without a user name where its address has one."""
        if "@" in request.url and (address := without_user(request.url)) != request.url:
            return request.replace(url=address)  # Scrapy would look it up as a part of the host's name
        if (by_site := _headers.get(self._crawler)) and (headers := by_site.get(site_of(request.url) or "")):
            added = [name for name in headers if name not in request.headers]
            request.headers.update({name: headers[name] for name in added})
            request.meta[_ADDED] = added
        return None

    def process_response(self, request: Request, response: Response) -> Response:
        """Take the headers off again, and a user name out of a redirect."""
        _take_off(request)
        if b"@" in (location := response.headers.get("Location") or b""):
            response.headers["Location"] = without_user(location.decode("latin-1")).encode("latin-1")
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002 - Scrapy's interface
        """Take the headers off again."""
        _take_off(request)


def added_headers(request: Request) -> dict[str, str]:
    """Return what *request* has of the headers of its site, but for cookies, which a browser has of its own."""
    names = [name for name in request.meta.get(_ADDED, ()) if name.lower() != "cookie"]
    return {name: (request.headers[name] or b"").decode("latin-1") for name in names}


def _take_off(request: Request) -> None:
    for name in request.meta.pop(_ADDED, ()):
        request.headers.pop(name, None)
