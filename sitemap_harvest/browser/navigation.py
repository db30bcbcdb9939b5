"""``Navigation``: one browser page that waits for a document and takes its raw bytes before the browser renders it.

Chromium shows XML in its own viewer and saves compressed files. So each response for
the page is paused after its headers (the domain ``Fetch`` of the DevTools protocol): a
challenge may continue and run; anything else is the document, which is read as it was
sent, in blocks, up to the limit. Playwright has no such function: its
``Response.body()`` has no limit and fails for saved files, and its ``route.fetch()``
does not use the browser's network stack.
"""

from __future__ import annotations

import asyncio
import base64
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from scrapy.exceptions import DownloadCancelledError
from scrapy.http.headers import Headers
from scrapy.responsetypes import responsetypes

from sitemap_harvest.browser.challenge import MOST_LINKS, BrowserNeed, may_navigate, need_of
from sitemap_harvest.browser.setup import BrowserGoneError
from sitemap_harvest.formats import Limits
from sitemap_harvest.formats.sniff import sniff
from sitemap_harvest.formats.source import Source
from sitemap_harvest.integration.document_requests import BY_BROWSER
from sitemap_harvest.integration.guards import added_headers
from sitemap_harvest.integration.middlewares import is_robots
from sitemap_harvest.model import Kind
from sitemap_harvest.urls import site_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.async_api import CDPSession, Page
    from playwright.async_api import Request as PageRequest
    from scrapy import Request
    from scrapy.http import Response

    from sitemap_harvest.config.settings import HarvestSettings

_BLOCK = 1024 * 1024
_MOST_CHALLENGES = 20  # in one visit; as many as a browser follows redirects
_IDLE_MILLISECONDS = 5_000  # wait for links, after all requests are done
_UNDONE = ("Content-Encoding", "Content-Length", "Transfer-Encoding")  # by the browser
_OF_THE_PLAIN_PAGE = ("ETag", "Last-Modified")
_GONE = "the browser crashed"
_CALM_SECONDS = 1  # without a new link, after which all links are there
_LINKS = "() => document.querySelectorAll('a[href]').length"
_HAS_LINKS = f"() => document.querySelectorAll('a[href]').length > {MOST_LINKS}"
_SIZE = "() => document.documentElement.outerHTML.length"
_DOM = "() => '<!DOCTYPE html>\\n' + document.documentElement.outerHTML"
_Order = tuple[str, dict[str, Any]]
_GO_ON: _Order = ("Fetch.continueRequest", {})
_TAKEN: _Order = ("Fetch.failRequest", {"errorReason": "Aborted"})
"""How a paused response is dropped after it was read."""


class NotReachedError(Exception):
    """The browser got no response; the message is the browser's."""

    def __init__(self, words: str, url: str) -> None:
        super().__init__(words)
        self.url = url  #: The requested URL.


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResult:
    """The result of one visit."""

    response: Response
    """Without a ``Content-Encoding``; without a body if it was not requested."""
    need: BrowserNeed | None = None
    """What is still needed: ``PASS`` if the challenge remains, ``PROOF`` if it is not one."""
    user_agent: bytes | None = None
    cookies: Sequence[Any] = ()
    """All cookies of the page at the end, in the browser's format."""


class Navigation:
    """Waits in one page for a response of the host of a request that is not a challenge."""

    def __init__(
        self,
        page: Page,
        request: Request,
        options: HarvestSettings,
        *,
        wants_body: bool,
        most_bytes: int,
        body_seconds: float,
    ) -> None:
        """*wants_body*: whether to return the document itself, rather than only pass the challenge.

        *most_bytes* is the maximum size of the document (0: no limit), *body_seconds*
        the maximum time for its body.
        """
        self._page = page
        self._request = request
        self._options = options
        self._wants_body = wants_body
        self._most_bytes = most_bytes
        self._body_seconds = body_seconds
        self._site_headers = added_headers(request)
        self._outcome: asyncio.Future[FetchResult | Exception] = asyncio.get_running_loop().create_future()
        self._timer = asyncio.timeout(options.browser_seconds)
        self._challenge: FetchResult | None = None
        self._challenges = 0
        self._is_document = False  # whether the document has begun to arrive

    async def result(self) -> FetchResult:
        """Return the document, or the challenge if it remains.

        Raises :exc:`DownloadCancelledError` if the document exceeds the limit,
        :exc:`NotReachedError` and :exc:`BrowserGoneError`.
        """
        going = asyncio.ensure_future(self._go())
        try:
            result = await self._landed()
            if result.need is BrowserNeed.RENDER and self._wants_body:
                result = replace(result, response=await self._rendered(result.response))
            return replace(result, cookies=await self._page.context.cookies())
        except PlaywrightError as error:
            raise BrowserGoneError(_GONE) from error
        finally:
            going.cancel()

    async def _landed(self) -> FetchResult:
        try:
            async with self._timer:
                outcome = await self._outcome
        except TimeoutError:
            if self._challenge is None or self._is_document:
                raise NotReachedError("net::ERR_TIMED_OUT", self._request.url) from None
            return self._remaining(self._challenge)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _go(self) -> None:
        """Open the URL, with each response for the page paused."""
        for gone in ("crash", "close"):
            self._page.on(gone, lambda _: self._end(BrowserGoneError(_GONE)))
        self._page.on("requestfailed", self._note_failure)
        try:
            cdp = await self._page.context.new_cdp_session(self._page)
            frame = (await cdp.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]

            async def paused(event: dict[str, Any]) -> None:
                await self._paused(cdp, event, is_page=event.get("frameId") == frame)

            cdp.on("Fetch.requestPaused", paused)
            patterns = [{"urlPattern": "*", "requestStage": "Response", "resourceType": "Document"}]
            if self._site_headers:
                patterns.append({"urlPattern": "*", "requestStage": "Request"})
            await cdp.send("Fetch.enable", {"patterns": patterns})
        except PlaywrightError:
            self._end(BrowserGoneError(_GONE))
        with suppress(PlaywrightError):  # a response read here never arrives; failures are detected elsewhere
            await self._page.goto(self._request.url, wait_until="commit", timeout=0)

    async def _paused(self, cdp: CDPSession, event: dict[str, Any], *, is_page: bool) -> None:
        """Let the paused response of *event* pass, or read it; a request is sent."""
        try:
            if not event.keys() & {"responseStatusCode", "responseErrorReason"}:
                command, parameters = "Fetch.continueRequest", self._with_headers(event)
            else:
                command, parameters = await self._order(cdp, event) if is_page else _GO_ON
            await cdp.send(command, {"requestId": event["requestId"], **parameters})
        except DownloadCancelledError as error:
            self._end(error)
        except PlaywrightError:
            pass  # the page was closed, or navigated on

    def _with_headers(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return the headers for the request of *event*: they are not repeated after a redirect."""
        if site_of(event["request"]["url"]) != site_of(self._request.url):
            return {}
        headers = {**event["request"]["headers"], **self._site_headers}
        return {"headers": [{"name": name, "value": value} for name, value in headers.items()]}

    async def _order(self, cdp: CDPSession, event: dict[str, Any]) -> _Order:
        """Return what to do with the response of *event*, after reading it if it may be the document."""
        status = event.get("responseStatusCode")
        is_of_host = urlsplit(event["request"]["url"]).hostname == urlsplit(self._request.url).hostname
        if self._outcome.done() or status is None or not is_of_host:
            return _GO_ON
        headers = Headers()
        for header in event.get("responseHeaders", ()):
            headers.appendlist(header["name"], header["value"])
        is_redirect = 300 <= status < 400 and status != 304
        if is_redirect and (not self._wants_body or self._challenge is not None):
            return _GO_ON
        may_be_page = not is_redirect and b"html" in (headers.get("Content-Type") or b"html").lower()
        wants_body = may_be_page or (self._wants_body and not is_redirect)  # Scrapy follows redirects
        if not may_be_page:
            self._is_document = True
            self._timer.reschedule(asyncio.get_running_loop().time() + self._body_seconds)
        result = _result_of(event, headers, await self._read(cdp, event, headers) if wants_body else None)
        if may_be_page:
            return await self._shown(result)
        self._end(result)
        return _TAKEN

    async def _shown(self, result: FetchResult) -> _Order:
        """Return the order to show the page of *result*, if it is a challenge or lacks its links; else take it."""
        response, limits = result.response, self._options.limits
        has_cookies = bool(await self._page.context.cookies(response.url))
        need = need_of(self._request, response, limits, has_cookies=has_cookies)
        result = replace(result, need=need)
        is_shown = need is BrowserNeed.RENDER
        if need in {BrowserNeed.PASS, BrowserNeed.PROOF} and may_navigate(response, limits):
            self._challenge = result
            self._challenges += 1
            is_shown = self._challenges <= _MOST_CHALLENGES
        if self._challenge is not result or not is_shown:
            self._end(self._remaining(result))
        if not is_shown:
            return _TAKEN
        headers = [
            {"name": name.decode("latin-1"), "value": value.decode()}
            for name, values in response.headers.items()
            for value in values
        ]
        body = base64.b64encode(response.body).decode()
        return "Fetch.fulfillRequest", {"responseCode": response.status, "responseHeaders": headers, "body": body}

    def _remaining(self, result: FetchResult) -> FetchResult:
        """Return *result*; a suspected challenge is one if the page has navigated."""
        is_challenge = result.need is BrowserNeed.PROOF and self._challenges > 1
        return replace(result, need=BrowserNeed.PASS) if is_challenge else result

    async def _read(self, cdp: CDPSession, event: dict[str, Any], headers: Headers) -> tuple[bytes, bool]:
        """Return the body of the response of *event*, and whether it is or may be incomplete.

        It is read in blocks: to return it as a whole, the browser would decompress it,
        whatever its size.
        """
        given = None if "Content-Encoding" in headers else headers.get("Content-Length")
        length = int(given) if given is not None and given.isdigit() else None
        self._check(length or 0)
        stream = (await cdp.send("Fetch.takeResponseBodyAsStream", {"requestId": event["requestId"]}))["stream"]
        blocks, size, is_over = [], 0, False
        while not is_over:
            block = await cdp.send("IO.read", {"handle": stream, "size": _BLOCK})
            blocks.append(base64.b64decode(block["data"]) if block["base64Encoded"] else block["data"].encode())
            size += len(blocks[-1])
            self._check(size)
            is_over = block["eof"]
        body = b"".join(blocks)
        return body, _may_lack_its_end(body, self._request) if length is None else size < length

    def _check(self, size: int) -> None:
        if 0 < self._most_bytes < size:
            raise DownloadCancelledError(f"the page is larger than DOWNLOAD_MAXSIZE ({self._most_bytes:,} bytes)")

    async def _rendered(self, plain: Response) -> Response:
        """Return the page of *plain* as modified by its scripts so far, without the headers of the plain page."""
        await self._settle()
        self._check(await self._page.evaluate(_SIZE))
        text: str = await self._page.evaluate(_DOM)
        headers = plain.headers.copy()
        for name in _OF_THE_PLAIN_PAGE:
            headers.pop(name, None)
        headers["Content-Type"] = "text/html; charset=utf-8"
        return plain.replace(headers=headers, body=text.encode("utf-8", "replace"))

    async def _settle(self) -> None:
        """Wait until the page has all its links, or its time is over: no request in flight, no new link."""
        milliseconds = self._options.browser_seconds * 1000
        with suppress(PlaywrightError):
            await self._page.wait_for_load_state("networkidle", timeout=milliseconds)
            await self._page.wait_for_function(_HAS_LINKS, timeout=min(milliseconds, _IDLE_MILLISECONDS))
        count = -1
        with suppress(PlaywrightError, TimeoutError):
            async with asyncio.timeout(self._options.browser_seconds):
                while (now := await self._page.evaluate(_LINKS)) != count:
                    count = now
                    await asyncio.sleep(_CALM_SECONDS)

    def _note_failure(self, request: PageRequest) -> None:
        words = request.failure or ""
        if request.is_navigation_request() and "ERR_ABORTED" not in words and request.frame == self._page.main_frame:
            self._end(NotReachedError(words, request.url))

    def _end(self, outcome: FetchResult | Exception) -> None:
        if not self._outcome.done():
            self._outcome.set_result(outcome)


def _result_of(event: dict[str, Any], headers: Headers, read: tuple[bytes, bool] | None) -> FetchResult:
    """Return the result for the response of *event*; *read* is its body, and whether that may be incomplete."""
    body, is_cut = read or (b"", False)
    for name in _UNDONE:
        headers.pop(name, None)
    url = event["request"]["url"].partition("#")[0]
    response = responsetypes.from_args(url=url, body=body)(
        url,
        status=event["responseStatusCode"],
        headers=headers,
        body=body,
        flags=[BY_BROWSER, *(["dataloss"] if is_cut else [])],
    )
    return FetchResult(response=response, user_agent=Headers(event["request"]["headers"]).get("User-Agent"))


def _may_lack_its_end(body: bytes, request: Request) -> bool:
    """Whether the last line of a list may be an incomplete URL: Chromium does not report early ends of connections.

    Other formats show an incomplete end themselves, and so do compressed bodies.
    """
    if is_robots(request) or body.endswith((b"\n", b"\r")):
        return False
    source = Source(body=body, url=request.url, content_type=None, limits=Limits())
    return sniff(source.start.head, url=request.url, content_type=None) is Kind.LIST and not source.layers
