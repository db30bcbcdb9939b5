"""``BrowserMiddleware``: passes challenges with the browser, and lets Scrapy continue with its cookies."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import DownloadCancelledError
from scrapy.http import Response
from scrapy.http.cookies import CookieJar

from sitemap_harvest.browser.challenge import BrowserNeed, need_of
from sitemap_harvest.browser.setup import BrowserGoneError
from sitemap_harvest.config.settings import ALWAYS
from sitemap_harvest.integration.document_requests import BY_BROWSER, BY_COOKIES, candidate_of, remaining_challenge
from sitemap_harvest.integration.guards import remove_site_headers
from sitemap_harvest.integration.middlewares import PASS, OwnMiddleware, is_robots
from sitemap_harvest.integration.spider_attributes import harvest_of
from sitemap_harvest.integration.transfers import note_transfer, transfer_of
from sitemap_harvest.urls import site_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy.crawler import Crawler
    from scrapy.http.headers import Headers

    from sitemap_harvest.browser.fetcher import BrowserFetcher

_LONGEST_REASON = 200  # characters of foreign text
_NOT_PASSED = "and the browser did not pass the challenge"
_MOST_FAILURES = 3
"""Number of documents that the browser may fail to reach before the site is given up; each may be the cause itself."""
_MOST_SOLVED = 2
"""How often the challenge of a site is solved in a run: the clearance may expire, but not repeatedly."""
_KEPT = "sitemap_harvest_headers"
_logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class SiteChallenge:
    """The challenge of one site. One browser page at a time works on it."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    is_met: bool = False
    """Whether a challenge was found."""
    solved: int = 0
    """How often the browser passed it; the number of the clearance that plain requests use."""
    clearance: Clearance | None = None
    """The last clearance."""
    cookies: Sequence[Any] = ()
    """The cookies of the last clearance, for the browser's next visit."""
    has_worked: bool = False
    """Whether a plain request with the last clearance succeeded."""
    by_browser: bool = False
    """Whether plain requests are blocked even with a clearance, so that the browser fetches each document."""
    failures: int = 0
    """How often the browser reached neither the document nor a challenge."""
    is_none: bool = False
    """Whether the suspected challenge is a page of the site, because it stays in a browser too."""
    robots: Response | None = None
    """The robots.txt, if the browser has fetched it."""
    stays: str | None = None
    """Why the browser is not used for the site any more, as text."""

    def refuses(self, number: int) -> bool:
        """Record that a plain request with the clearance *number* was blocked; return whether to give up."""
        if number != self.solved or not number or self.by_browser or self.stays is not None:
            return False
        if not self.has_worked:
            self.by_browser = True
        return self.has_worked and self.solved >= _MOST_SOLVED


class Clearance:
    """Cookies, each sent only to the hosts for which it was set, and a ``User-Agent``."""

    def __init__(self, cookies: Iterable[dict[str, Any]], user_agent: bytes | None) -> None:
        """Take *cookies* in the browser's format."""
        self._jar = CookieJar()
        self._user_agent = user_agent
        for cookie in cookies:
            self.learn(Response(f"https://{cookie['domain'].lstrip('.')}", headers={"Set-Cookie": _set_cookie(cookie)}))

    def put_on(self, request: Request) -> None:
        """Add the clearance to *request*, until :func:`take_off`."""
        request.meta[_KEPT] = request.headers.copy()
        bare = Request(request.url)
        self._jar.add_cookie_header(bare)
        if cookies := [*request.headers.getlist("Cookie"), *bare.headers.getlist("Cookie")]:
            request.headers["Cookie"] = b"; ".join(cookies)
        if self._user_agent is not None:
            request.headers["User-Agent"] = self._user_agent

    def learn(self, response: Response) -> None:
        """Store the cookies that *response* sets: sites renew them before they expire."""
        self._jar.extract_cookies(response, Request(response.url))


def take_off(request: Request) -> None:
    """Restore the original headers of *request*, which may be redirected to another site."""
    headers: Headers = request.meta.pop(_KEPT, request.headers)
    request.headers = headers


def _set_cookie(given: dict[str, Any]) -> str:
    """Return the header that sets the cookie *given*, which is in the browser's format."""
    domain, expires = given["domain"], given.get("expires", -1)
    return "; ".join([
        f"{given['name']}={given['value']}",
        f"Path={given.get('path', '/')}",
        *([f"Domain={domain}"] if domain.startswith(".") else []),  # otherwise it is for the host alone
        *([f"Expires={formatdate(expires, usegmt=True)}"] if expires >= 0 else []),
        *(["Secure"] if given.get("secure") else []),
    ])  # fmt: skip


class BrowserMiddleware(OwnMiddleware):
    """Downloader middleware: fetches documents, and the robots.txt of their sites, that are behind a challenge.

    A plain response with a challenge waits here until one browser page has passed it;
    then Scrapy repeats the request with the cookies and the ``User-Agent`` of the
    browser. Only if that is refused too does the browser fetch the documents itself.
    Other requests to that site wait for that page; other sites continue.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._sites: dict[str | None, SiteChallenge] = {}
        self._started: BrowserFetcher | None = None
        crawler.signals.connect(self.close, signal=signals.spider_closed)

    async def close(self) -> None:
        """Close the browser, if it was started."""
        if self._started is not None:
            await self._started.close()

    async def process_request(self, request: Request) -> Response | None:
        """Add the clearance of the site to *request*, or fetch it with the browser."""
        request.meta.pop(PASS, None)
        if not self._concerns(request):
            return None
        site = self._sites.get(site_of(request.url)) or SiteChallenge()
        if site.by_browser or (harvest_of(self._crawler).browser_mode == ALWAYS and not site.stays):
            return await self._by_browser(request)
        async with site.lock:
            pass  # a browser page is working on it, and may pass
        if site.clearance is not None:
            site.clearance.put_on(request)
            request.meta[PASS] = site.solved
        return None

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002 - passed by name
        """Restore the headers of *request*, which may be retried."""
        take_off(request)

    async def process_response(self, request: Request, response: Response) -> Request | Response:
        """Return *response*, the browser's response instead, or *request* to be repeated with a clearance."""
        take_off(request)
        if not self._concerns(request) or BY_BROWSER in response.flags:
            return response
        site, number = self._sites.get(site_of(request.url)) or SiteChallenge(), request.meta.get(PASS, 0)
        if site.clearance is not None and number:
            site.clearance.learn(response)
        need = need_of(request, response, harvest_of(self._crawler).options.limits)
        if need is BrowserNeed.PASS or (need is BrowserNeed.PROOF and not site.is_none):
            return await self._passed(request, response, number, need)
        if number:
            site.has_worked |= number == site.solved
            self._count("by_cookies")
            response.flags.append(BY_COOKIES)
        return await self._rendered(request, response) if need is BrowserNeed.RENDER else response

    async def _passed(self, request: Request, response: Response, number: int, need: BrowserNeed) -> Request | Response:
        """Let the browser try, unless it has passed since *request* was sent with the clearance *number*."""
        site = self._site(request)
        if not site.is_met:
            site.is_met = True
            self._count("challenges")
        if "cached" in response.flags and site.stays is None:
            return await self._by_browser(request)  # a plain request would get the challenge from Scrapy's cache again
        async with site.lock:
            is_none = site.is_none and need is BrowserNeed.PROOF
            if not is_none and site.refuses(number):
                self._stay(site, request, "and the site accepts the browser's cookies only for a short time")
            is_open = is_none or site.by_browser or site.stays is not None or number != site.solved
            failure = None if is_open else await self._solve(site, request)
        if site.is_none and need is BrowserNeed.PROOF:
            return response
        if words := failure or site.stays:
            return _stayed(request, response, words)
        if site.by_browser:
            return await self._by_browser(request)
        if number == site.solved:
            return _stayed(request, response, "and the run ended before the browser passed the challenge")
        again = request.copy()
        remove_site_headers(again)  # Scrapy skips the other middlewares for a request in place of a response
        again.dont_filter = True
        again.meta[PASS] = site.solved
        return again

    async def _solve(self, site: SiteChallenge, request: Request) -> str | None:
        """Try to pass the challenge on the way to the document of *request*; return why that failed for it alone.

        The document alone may be the cause, so others of the site are tried.
        """
        try:
            result = await self._fetcher.run(request, wants_body=False, cookies=site.cookies)
        except Exception as error:  # noqa: BLE001 - whatever fails in a browser, the plain response remains
            words = f"and the browser failed to pass the challenge: {_words(error)}"
            site.failures += 1
            if isinstance(error, BrowserGoneError) or site.failures >= _MOST_FAILURES:
                self._stay(site, request, words)
            return words
        if result is None:
            return None
        if result.need is BrowserNeed.PASS:
            self._stay(site, request, _NOT_PASSED)
        elif result.need is BrowserNeed.PROOF:
            site.is_none = True
            _logger.info("Not a challenge page: %s", request.url)
        else:
            site.solved += 1
            site.clearance, site.has_worked = Clearance(result.cookies, result.user_agent), False
            site.cookies = result.cookies
            self._count("challenges_passed")
            _logger.info("The browser passed the challenge of %s; Scrapy now uses its cookies", site_of(request.url))
        return None

    async def _by_browser(self, request: Request) -> Response:
        """Return the document of *request*, fetched with the browser."""
        site = self._site(request)
        async with site.lock:
            if is_robots(request) and site.robots is not None:
                note_transfer(request, transfer_of(site.robots.request))
                return site.robots.replace(request=request)
            try:
                result = await self._fetcher.run(request, wants_body=True, cookies=site.cookies)
            except BrowserGoneError as error:
                raise DownloadCancelledError(f"the browser failed: {error}") from error
            if result is None:
                raise DownloadCancelledError("the run ended before the browser received a response")
            site.cookies = result.cookies
            if result.need is BrowserNeed.PASS:
                self._stay(site, request, _NOT_PASSED)
                return _stayed(request, result.response, _NOT_PASSED)
            self._count("by_browser")
            if (archiver := harvest_of(self._crawler).archiver) is not None:
                await archiver.write(request, result.response, is_sent=False)
            if is_robots(request):
                site.robots = result.response.replace(request=request)
            return result.response

    async def _rendered(self, request: Request, response: Response) -> Response:
        """Return the page of *response* as modified by its scripts; *response* itself if the browser fails."""
        site = self._site(request)
        async with site.lock:
            try:
                result = await self._fetcher.run(request, wants_body=True, cookies=site.cookies)
            except Exception as error:  # noqa: BLE001 - there is a response already
                _logger.info("The browser cannot load %s: %s", request.url, _words(error))
                return response
        if result is None or result.need is not BrowserNeed.RENDER:
            return response
        self._count("rendered")
        return result.response

    def _stay(self, site: SiteChallenge, request: Request, words: str) -> None:
        site.stays = words
        self._count("challenges_remaining")
        _logger.info("%s returns a challenge page, %s", site_of(request.url), words)

    def _site(self, request: Request) -> SiteChallenge:
        return self._sites.setdefault(site_of(request.url), SiteChallenge())

    def _concerns(self, request: Request) -> bool:
        """Whether *request* is for a document, or for the robots.txt of its site, over HTTP."""
        if harvest_of(self._crawler).is_offline or not request.url.startswith("http") or request.method != "GET":
            return False
        return candidate_of(request) is not None or is_robots(request)

    @property
    def _fetcher(self) -> BrowserFetcher:
        if self._started is None:
            from sitemap_harvest.browser.fetcher import BrowserFetcher  # imports Playwright, which only challenges need

            self._started = BrowserFetcher(self._crawler)
        return self._started

    def _count(self, what: str) -> None:
        self._crawler.stats.inc_value(f"sitemap_harvest/browser/{what}")


def _stayed(request: Request, response: Response, words: str) -> Response:
    """Return *response*, the challenge, with *words* for its record. It is not retried, cached or followed."""
    request.meta.update(dict.fromkeys(("dont_retry", "dont_cache", "dont_redirect"), True))
    return remaining_challenge(response, words)


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:_LONGEST_REASON] or type(error).__name__
