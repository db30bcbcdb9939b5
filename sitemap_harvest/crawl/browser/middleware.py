"""Sends the browser where Scrapy was kept out, and lets Scrapy in with what the browser was given."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Self

from scrapy import signals
from scrapy.exceptions import DownloadCancelledError, NotConfigured

from sitemap_harvest.crawl.browser.looks import need_of_response
from sitemap_harvest.crawl.browser.passes import Pass, origin_of, take_off
from sitemap_harvest.crawl.browser.switch import ALWAYS
from sitemap_harvest.crawl.browser.walls import MOST_FAILURES, Wall
from sitemap_harvest.crawl.document_requests import lead_of
from sitemap_harvest.crawl.record import BY_BROWSER, BY_COOKIES, stays
from sitemap_harvest.crawl.robots import PASS, is_robots
from sitemap_harvest.crawl.spiders.base import SitemapAttributes, harvest_of
from sitemap_harvest.plan import Need

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from sitemap_harvest.crawl.browser.errands import Errands, Trip

_LONGEST_REASON = 200  # characters of what is not ours
_logger = logging.getLogger(__name__)


class BrowserFallback:
    """Downloader middleware: documents of our spiders, and the robots.txt of their sites, that stand behind a wall.

    A plain answer that is a wall waits here until one page of the browser was let
    in; then Scrapy asks again, with the cookies and the ``User-Agent`` of the
    browser. Only where that is refused too does the browser bring the documents
    themselves. Who else asks of that site waits for that page; other sites go on.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._walls: dict[str, Wall] = {}
        self._errands: Errands | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware, for a spider of ours."""
        if not issubclass(crawler.spidercls, SitemapAttributes):
            raise NotConfigured
        made = cls(crawler)
        crawler.signals.connect(made.close, signal=signals.spider_closed)
        return made

    async def close(self) -> None:
        """End the browser, if it was started."""
        if self._errands is not None:
            await self._errands.close()

    async def process_request(self, request: Request) -> Response | None:
        """Let *request* go out with what the browser was given for its site, or leave it to the browser."""
        request.meta.pop(PASS, None)
        if not self._concerns(request):
            return None
        wall = self._walls.get(origin_of(request))
        if (self._is_always and not (wall and wall.stays)) or (wall is not None and wall.by_browser):
            return await self._by_browser(request)
        if wall is None:
            return None
        async with wall.lock:
            pass  # a page of the browser is at work on it, and may be let in
        if wall.given is not None:
            wall.given.put_on(request)
            request.meta[PASS] = wall.solved
        return None

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002 - Scrapy names it
        """Give *request* its headers back, which may be asked again."""
        take_off(request)

    async def process_response(self, request: Request, response: Response) -> Request | Response:
        """Return *response*, or what the browser gives in its place, or *request* to be asked for again with a pass."""
        take_off(request)
        if not self._concerns(request) or BY_BROWSER in response.flags:
            return response
        wall, number = self._walls.get(origin_of(request)), request.meta.get(PASS, 0)
        if wall is not None and wall.given is not None and number:
            wall.given.learn(response, request)
        need = need_of_response(request, response, harvest_of(self._crawler).options.limits)
        if need is Need.PASS or (need is Need.PROOF and not (wall and wall.is_none)):
            return await self._past_the_wall(request, response, number, need)
        if number and wall is not None:
            wall.has_worked |= number == wall.solved
            self._count("by_cookies")
            response.flags.append(BY_COOKIES)
        return await self._rendered(request, response) if need is Need.RENDER else response

    async def _past_the_wall(self, request: Request, response: Response, number: int, need: Need) -> Request | Response:
        """Let the browser try, unless somebody was let in since *request* went out with the pass of that *number*."""
        wall = self._wall(request)
        if not wall.is_met:
            wall.is_met = True
            self._count("walls")
        if "cached" in response.flags and wall.stays is None:
            return await self._by_browser(request)  # a plain request would have the wall from Scrapy's cache again
        async with wall.lock:
            failure = await self._at(wall, request, number, need)
        if wall.is_none and need is Need.PROOF:
            return response
        if words := failure or wall.stays:
            return self._stayed(request, response, words)
        if wall.by_browser:
            return await self._by_browser(request)
        if number == wall.solved:
            return self._stayed(request, response, "and the run ended before a browser was let in")
        again = request.copy()
        again.dont_filter = True
        again.meta[PASS] = wall.solved
        return again

    async def _at(self, wall: Wall, request: Request, number: int, need: Need) -> str | None:
        """Do what there is to do at *wall*, if anything; return what came in between of it for *request* alone."""
        if wall.is_none and need is Need.PROOF:
            return None
        if wall.refuses(number):
            self._stay(wall, request, "and what a browser was let in with does not last")
        if wall.stays is None and not wall.by_browser and number == wall.solved:
            return await self._solve(wall, request)
        return None

    async def _solve(self, wall: Wall, request: Request) -> str | None:
        """Let the browser try to get past *wall* on its way to what *request* asks for; return why it failed at that.

        That may be due to the document alone, and others of the site are tried.
        """
        from sitemap_harvest.crawl.browser.errands import BrowserGoneError, RunEndsError  # with Playwright

        try:
            trip = await self._errand.run(request, wants_body=False, cookies=wall.cookies)
        except RunEndsError:
            return None
        except Exception as error:  # noqa: BLE001 - whatever befalls a browser, the document has its plain answer
            words = f"and a browser that was to get past it failed: {_words(error)}"
            wall.failures += 1
            if isinstance(error, BrowserGoneError) or wall.failures >= MOST_FAILURES:
                self._stay(wall, request, words)
            return words
        if trip.answer.need is Need.PASS:
            self._stay(wall, request, "and a browser did not get past it either")
        elif trip.answer.need is Need.PROOF:
            wall.is_none = True
            _logger.info("What looked like a wall is a page of the site: %s", request.url)
        else:
            self._let_in(wall, request, trip)
        return None

    async def _by_browser(self, request: Request) -> Response:
        """Return what the browser brings of what *request* asks for."""
        from sitemap_harvest.crawl.browser.errands import BrowserGoneError, RunEndsError, response_of

        wall = self._wall(request)
        async with wall.lock:
            if is_robots(request) and wall.robots is not None:
                return wall.robots.replace(request=request)
            try:
                trip = await self._errand.run(request, wants_body=True, cookies=wall.cookies)
            except BrowserGoneError as error:
                raise DownloadCancelledError(f"the browser failed: {error}") from error
            except RunEndsError as error:
                raise DownloadCancelledError("the run ended before the browser had an answer") from error
            wall.cookies = trip.cookies
            response = response_of(trip, request)
            if trip.answer.need is Need.PASS:
                self._stay(wall, request, "and a browser did not get past it either")
                return self._stayed(request, response, wall.stays or "")
            self._count("by_browser")
            if is_robots(request):
                wall.robots = response
            return response

    async def _rendered(self, request: Request, response: Response) -> Response:
        """Return the page of *response* as its scripts make it; *response* itself if the browser cannot tell."""
        from sitemap_harvest.crawl.browser.errands import response_of

        wall = self._wall(request)
        async with wall.lock:
            try:
                trip = await self._errand.run(request, wants_body=True, cookies=wall.cookies)
            except Exception as error:  # noqa: BLE001 - there is an answer already
                _logger.info("The browser did not show %s: %s", request.url, _words(error))
                return response
        if trip.dom is None:
            return response
        self._count("rendered")
        return response_of(trip, request)

    def _let_in(self, wall: Wall, request: Request, trip: Trip) -> None:
        host = origin_of(request).partition("://")[2].rpartition(":")[0] or origin_of(request).partition("://")[2]
        wall.let_in(Pass(trip.cookies, trip.answer.user_agent, host=host.strip("[]")), trip.cookies)
        self._count("solved")
        _logger.info("A browser was let in at %s; Scrapy goes on with its cookies", origin_of(request))

    def _stay(self, wall: Wall, request: Request, words: str) -> None:
        wall.stays = words
        self._count("stayed")
        _logger.info("Behind a wall: %s, %s", origin_of(request), words)

    def _stayed(self, request: Request, response: Response, words: str) -> Response:
        """Return *response*, the wall, with *words* for its row. It is not asked for again, kept, or followed."""
        request.meta.update(dict.fromkeys(("dont_retry", "dont_cache", "dont_redirect"), True))
        return stays(response, words)

    def _wall(self, request: Request) -> Wall:
        return self._walls.setdefault(origin_of(request), Wall())

    def _concerns(self, request: Request) -> bool:
        """Whether *request* is for a document, or for the robots.txt of its site, on the web."""
        if harvest_of(self._crawler).root is not None or not request.url.startswith("http") or request.method != "GET":
            return False
        return lead_of(request) is not None or is_robots(request)

    @property
    def _errand(self) -> Errands:
        if self._errands is None:
            from sitemap_harvest.crawl.browser.errands import Errands  # with Playwright, which only walls need

            self._errands = Errands(self._crawler, harvest_of(self._crawler))
        return self._errands

    @property
    def _is_always(self) -> bool:
        return harvest_of(self._crawler).browser_mode == ALWAYS

    def _count(self, what: str) -> None:
        self._crawler.stats.inc_value(f"sitemap_harvest/browser/{what}")


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:_LONGEST_REASON] or type(error).__name__
