"""``BrowserMiddleware``: passes challenges with the browser, and lets Scrapy continue with its cookies."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Self

from scrapy import signals
from scrapy.exceptions import DownloadCancelledError, NotConfigured

from sitemap_harvest.browser.challenge import need_of_response
from sitemap_harvest.browser.clearance import Clearance, origin_of, take_off
from sitemap_harvest.browser.fallback import BrowserNeed
from sitemap_harvest.browser.site_challenge import MOST_FAILURES, SiteChallenge
from sitemap_harvest.config.settings import ALWAYS
from sitemap_harvest.integration.base_spider import SitemapAttributes, harvest_of
from sitemap_harvest.integration.document_requests import BY_BROWSER, BY_COOKIES, candidate_of, remaining_challenge
from sitemap_harvest.integration.middlewares.robots_cache import PASS, is_robots

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from sitemap_harvest.browser.fetcher import BrowserFetcher, FetchResult

_LONGEST_REASON = 200  # characters of foreign text
_logger = logging.getLogger(__name__)


class BrowserMiddleware:
    """Downloader middleware: fetches documents, and the robots.txt of their sites, that are behind a challenge.

    A plain response with a challenge waits here until one browser page has passed it;
    then Scrapy repeats the request with the cookies and the ``User-Agent`` of the
    browser. Only if that is refused too does the browser fetch the documents itself.
    Other requests to that site wait for that page; other sites continue.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._walls: dict[str, SiteChallenge] = {}
        self._started: BrowserFetcher | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the middleware, for spiders of this package only."""
        if not issubclass(crawler.spidercls, SitemapAttributes):
            raise NotConfigured
        made = cls(crawler)
        crawler.signals.connect(made.close, signal=signals.spider_closed)
        return made

    async def close(self) -> None:
        """Close the browser, if it was started."""
        if self._started is not None:
            await self._started.close()

    async def process_request(self, request: Request) -> Response | None:
        """Add the clearance of the site to *request*, or fetch it with the browser."""
        request.meta.pop(PASS, None)
        if not self._concerns(request):
            return None
        wall = self._walls.get(origin_of(request))
        if (self._is_always and not (wall and wall.stays)) or (wall is not None and wall.by_browser):
            return await self._by_browser(request)
        if wall is None:
            return None
        async with wall.lock:
            pass  # a browser page is working on it, and may pass
        if wall.given is not None:
            wall.given.put_on(request)
            request.meta[PASS] = wall.solved
        return None

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002 - passed by name
        """Restore the headers of *request*, which may be retried."""
        take_off(request)

    async def process_response(self, request: Request, response: Response) -> Request | Response:
        """Return *response*, the browser's response instead, or *request* to be repeated with a clearance."""
        take_off(request)
        if not self._concerns(request) or BY_BROWSER in response.flags:
            return response
        wall, number = self._walls.get(origin_of(request)), request.meta.get(PASS, 0)
        if wall is not None and wall.given is not None and number:
            wall.given.learn(response, request)
        need = need_of_response(request, response, harvest_of(self._crawler).options.limits)
        if need is BrowserNeed.PASS or (need is BrowserNeed.PROOF and not (wall and wall.is_none)):
            return await self._past_the_wall(request, response, number, need)
        if number and wall is not None:
            wall.has_worked |= number == wall.solved
            self._count("by_cookies")
            response.flags.append(BY_COOKIES)
        return await self._rendered(request, response) if need is BrowserNeed.RENDER else response

    async def _past_the_wall(
        self, request: Request, response: Response, number: int, need: BrowserNeed
    ) -> Request | Response:
        """Let the browser try, unless it has passed since *request* was sent with the clearance *number*."""
        wall = self._wall(request)
        if not wall.is_met:
            wall.is_met = True
            self._count("challenges")
        if "cached" in response.flags and wall.stays is None:
            return await self._by_browser(request)  # a plain request would get the challenge from Scrapy's cache again
        async with wall.lock:
            failure = await self._at(wall, request, number, need)
        if wall.is_none and need is BrowserNeed.PROOF:
            return response
        if words := failure or wall.stays:
            return self._stayed(request, response, words)
        if wall.by_browser:
            return await self._by_browser(request)
        if number == wall.solved:
            return self._stayed(request, response, "and the run ended before the browser passed it")
        again = request.copy()
        again.dont_filter = True
        again.meta[PASS] = wall.solved
        return again

    async def _at(self, wall: SiteChallenge, request: Request, number: int, need: BrowserNeed) -> str | None:
        """Solve *wall* if necessary; return why that failed for *request* alone."""
        if wall.is_none and need is BrowserNeed.PROOF:
            return None
        if wall.refuses(number):
            self._stay(wall, request, "and the cookies of the browser do not last")
        if wall.stays is None and not wall.by_browser and number == wall.solved:
            return await self._solve(wall, request)
        return None

    async def _solve(self, wall: SiteChallenge, request: Request) -> str | None:
        """Try to pass *wall* with the browser on the way to the document of *request*; return why it failed.

        The document alone may be the cause, so others of the site are tried.
        """
        from sitemap_harvest.browser.fetcher import BrowserGoneError, RunEndsError  # imports Playwright

        try:
            result = await self._fetcher.run(request, wants_body=False, cookies=wall.cookies)
        except RunEndsError:
            return None
        except Exception as error:  # noqa: BLE001 - whatever fails in a browser, the plain response remains
            words = f"and the browser failed to pass it: {_words(error)}"
            wall.failures += 1
            if isinstance(error, BrowserGoneError) or wall.failures >= MOST_FAILURES:
                self._stay(wall, request, words)
            return words
        if result.answer.need is BrowserNeed.PASS:
            self._stay(wall, request, "and the browser did not pass it either")
        elif result.answer.need is BrowserNeed.PROOF:
            wall.is_none = True
            _logger.info("Not a challenge page after all: %s", request.url)
        else:
            self._let_in(wall, request, result)
        return None

    async def _by_browser(self, request: Request) -> Response:
        """Return the document of *request*, fetched with the browser."""
        from sitemap_harvest.browser.fetcher import BrowserGoneError, RunEndsError, response_of

        wall = self._wall(request)
        async with wall.lock:
            if is_robots(request) and wall.robots is not None:
                return wall.robots.replace(request=request)
            try:
                result = await self._fetcher.run(request, wants_body=True, cookies=wall.cookies)
            except BrowserGoneError as error:
                raise DownloadCancelledError(f"the browser failed: {error}") from error
            except RunEndsError as error:
                raise DownloadCancelledError("the run ended before the browser had a response") from error
            wall.cookies = result.cookies
            response = response_of(result, request)
            if result.answer.need is BrowserNeed.PASS:
                self._stay(wall, request, "and the browser did not pass it either")
                return self._stayed(request, response, wall.stays or "")
            self._count("by_browser")
            if is_robots(request):
                wall.robots = response
            return response

    async def _rendered(self, request: Request, response: Response) -> Response:
        """Return the page of *response* as modified by its scripts; *response* itself if the browser fails."""
        from sitemap_harvest.browser.fetcher import response_of

        wall = self._wall(request)
        async with wall.lock:
            try:
                result = await self._fetcher.run(request, wants_body=True, cookies=wall.cookies)
            except Exception as error:  # noqa: BLE001 - there is a response already
                _logger.info("The browser did not show %s: %s", request.url, _words(error))
                return response
        if result.dom is None:
            return response
        self._count("rendered")
        return response_of(result, request)

    def _let_in(self, wall: SiteChallenge, request: Request, result: FetchResult) -> None:
        host = origin_of(request).partition("://")[2].rpartition(":")[0] or origin_of(request).partition("://")[2]
        wall.let_in(Clearance(result.cookies, result.answer.user_agent, host=host.strip("[]")), result.cookies)
        self._count("challenges_passed")
        _logger.info("The browser passed the challenge of %s; Scrapy continues with its cookies", origin_of(request))

    def _stay(self, wall: SiteChallenge, request: Request, words: str) -> None:
        wall.stays = words
        self._count("challenges_remaining")
        _logger.info("Challenge page: %s, %s", origin_of(request), words)

    def _stayed(self, request: Request, response: Response, words: str) -> Response:
        """Return *response*, the challenge, with *words* for its record. It is not retried, cached or followed."""
        request.meta.update(dict.fromkeys(("dont_retry", "dont_cache", "dont_redirect"), True))
        return remaining_challenge(response, words)

    def _wall(self, request: Request) -> SiteChallenge:
        return self._walls.setdefault(origin_of(request), SiteChallenge())

    def _concerns(self, request: Request) -> bool:
        """Whether *request* is for a document, or for the robots.txt of its site, over HTTP."""
        if harvest_of(self._crawler).root is not None or not request.url.startswith("http") or request.method != "GET":
            return False
        return candidate_of(request) is not None or is_robots(request)

    @property
    def _fetcher(self) -> BrowserFetcher:
        if self._started is None:
            from sitemap_harvest.browser.fetcher import BrowserFetcher  # imports Playwright, which only challenges need

            self._started = BrowserFetcher(self._crawler, harvest_of(self._crawler))
        return self._started

    @property
    def _is_always(self) -> bool:
        return harvest_of(self._crawler).browser_mode == ALWAYS

    def _count(self, what: str) -> None:
        self._crawler.stats.inc_value(f"sitemap_harvest/browser/{what}")


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:_LONGEST_REASON] or type(error).__name__
