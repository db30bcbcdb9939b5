"""``Navigation``: one browser page that waits for a document and takes its raw bytes before the browser renders it.

Chromium shows XML in its own viewer and saves compressed files. So each response for
the page is paused after its headers (the domain ``Fetch`` of the DevTools protocol): a
challenge may continue and run; anything else is the document, which is read as it was
sent, in blocks, up to the limit.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sitemap_harvest.browser.chromium import BrowserGoneError, PlaywrightError
from sitemap_harvest.browser.fallback import MOST_LINKS, BrowserNeed
from sitemap_harvest.urls import site_of

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page, Request

_BLOCK = 1024 * 1024
_MOST_WALLS = 20  # consecutive challenges in one visit; as many as a browser follows redirects
_LOOK_SECONDS = 0.5  # interval for checking whether the run ends
_IDLE_MILLISECONDS = 5_000  # wait for links, after all requests are done
_PASSED_ON = {"content-encoding", "content-length", "transfer-encoding"}  # the browser has undone these
_GONE = "it crashed"
_CALM_SECONDS = 1  # without a new link, after which all links are there
_LINKS = "() => document.querySelectorAll('a[href]').length"
_HAS_LINKS = f"() => document.querySelectorAll('a[href]').length > {MOST_LINKS}"
_SIZE = "() => document.documentElement.outerHTML.length"
_DOM = "() => '<!DOCTYPE html>\\n' + document.documentElement.outerHTML"


class TooLargeError(Exception):
    """A document exceeds the size limit."""


class NotReachedError(Exception):
    """The browser got no response; the message is the browser's."""

    def __init__(self, words: str, url: str) -> None:
        super().__init__(words)
        self.url = url  #: The requested URL.


class RunEndsError(Exception):
    """The run ended before there was a response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserAnswer:
    """A server's response to the browser."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    """Without a ``Content-Encoding``; empty if the body was not requested."""
    user_agent: str | None = None
    need: BrowserNeed | None = None
    """What is still needed: :attr:`BrowserNeed.PASS` if the challenge remains, :attr:`BrowserNeed.PROOF` if it is not
    one."""
    is_cut: bool = False
    """Whether the connection ended early, judged by the headers."""
    has_length: bool = False
    """Whether the headers state the length of the body."""


Judge = Callable[[BrowserAnswer, bool], tuple[BrowserNeed | None, bool]]
"""Returns what a response still needs, and whether its page may replace itself; the flag says if the page has cookies.
"""
_Order = tuple[str, dict[str, Any]]
_GO_ON: _Order = ("Fetch.continueRequest", {})
_TAKEN: _Order = ("Fetch.failRequest", {"errorReason": "Aborted"})
"""How a paused response is dropped after it was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSpec:
    """The specification of one visit."""

    url: str
    judge: Judge
    wants_body: bool
    """Whether to return the document itself, rather than only pass the challenge."""
    most_bytes: int
    """Maximum size of the document; 0: no limit."""
    seconds: float
    """Maximum wait for a response that is not a challenge."""
    body_seconds: float
    """Maximum wait for its body."""
    may_go_on: Callable[[], bool]
    """Returns whether the run continues."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers to add to requests for the site of *url*, and to no others."""


class Navigation:
    """Waits in one page for a response of the host of *spec* that is not a challenge."""

    def __init__(self, page: Page, spec: FetchSpec) -> None:
        self._page = page
        self._spec = spec
        self._host = urlsplit(spec.url).hostname
        self._result: asyncio.Future[BrowserAnswer] = asyncio.get_running_loop().create_future()
        self._wall: BrowserAnswer | None = None
        self._walls = 0
        self._is_coming = False
        self._tasks: set[asyncio.Task[Any]] = set()

    async def answer(self) -> BrowserAnswer:
        """Return the response, with :attr:`BrowserNeed.PASS` if the challenge remains.

        Raises :exc:`TooLargeError`, :exc:`NotReachedError`, :exc:`BrowserGoneError` and
        :exc:`RunEndsError`.
        """
        try:
            return await self._answer()
        except PlaywrightError as error:
            raise BrowserGoneError(_GONE) from error
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._result.cancel()  # if there is a result already, closing the page changes nothing
            if not self._result.cancelled():
                self._result.exception()  # retrieve it, or asyncio logs a warning

    async def rendered(self) -> bytes:
        """Return the page as modified by its scripts so far. Raises :exc:`TooLargeError` and :exc:`RunEndsError`."""
        settling = asyncio.ensure_future(self._settle())
        try:
            while not settling.done():
                if not self._spec.may_go_on():
                    raise RunEndsError
                await asyncio.wait({settling}, timeout=_LOOK_SECONDS)
        finally:
            settling.cancel()
            await asyncio.gather(settling, return_exceptions=True)
        try:
            if self._spec.most_bytes and await self._page.evaluate(_SIZE) > self._spec.most_bytes:
                raise TooLargeError
            text: str = await self._page.evaluate(_DOM)
        except PlaywrightError as error:
            raise BrowserGoneError(_GONE) from error
        return text.encode("utf-8", "replace")

    async def _settle(self) -> None:
        """Wait until the page has all its links, or its time is over: no request in flight, no new link."""
        milliseconds = self._spec.seconds * 1000
        with suppress(PlaywrightError):
            await self._page.wait_for_load_state("networkidle", timeout=milliseconds)
            await self._page.wait_for_function(_HAS_LINKS, timeout=min(milliseconds, _IDLE_MILLISECONDS))
        count = -1
        with suppress(PlaywrightError, TimeoutError):
            async with asyncio.timeout(self._spec.seconds):
                while (now := await self._page.evaluate(_LINKS)) != count:
                    count = now
                    await asyncio.sleep(_CALM_SECONDS)

    async def _answer(self) -> BrowserAnswer:
        cdp = await self._page.context.new_cdp_session(self._page)
        frame = (await cdp.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        cdp.on("Fetch.requestPaused", lambda event: self._begin(self._held_up(cdp, event, frame)))
        self._page.on("requestfailed", self._note_failure)
        for gone in ("crash", "close"):
            self._page.on(gone, lambda _: self._fail(BrowserGoneError(_GONE)))
        patterns = [{"urlPattern": "*", "requestStage": "Response", "resourceType": "Document"}]
        if self._spec.headers:
            patterns.append({"urlPattern": "*", "requestStage": "Request"})
        await cdp.send("Fetch.enable", {"patterns": patterns})
        self._begin(self._go())
        return await self._wait()

    async def _go(self) -> None:
        with suppress(PlaywrightError):  # a response read here never arrives; failures are detected elsewhere
            await self._page.goto(self._spec.url, wait_until="commit", timeout=0)

    async def _wait(self) -> BrowserAnswer:
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            seconds = self._spec.body_seconds if self._is_coming else self._spec.seconds
            left = began + seconds - loop.time()
            if self._result.done():
                return self._result.result()
            if not self._spec.may_go_on():
                raise RunEndsError
            if left <= 0 and self._wall is not None and not self._is_coming:
                return self._stayed(self._wall)
            if left <= 0:
                raise NotReachedError("net::ERR_TIMED_OUT", self._spec.url)
            await asyncio.wait({self._result}, timeout=min(left, _LOOK_SECONDS))

    async def _held_up(self, cdp: CDPSession, event: dict[str, Any], frame: str) -> None:
        """Let the paused response of *event* pass, or read it; a request is sent."""
        try:
            if not event.keys() & {"responseStatusCode", "responseErrorReason"}:
                await cdp.send("Fetch.continueRequest", {"requestId": event["requestId"], **self._with_headers(event)})
                return
            command, told = await self._order(cdp, event) if event.get("frameId") == frame else _GO_ON
            await cdp.send(command, {"requestId": event["requestId"], **told})
        except TooLargeError as error:
            self._fail(error)
        except PlaywrightError:
            pass  # the page was closed, or navigated on

    def _with_headers(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return the headers for the request of *event*: they are not repeated after a redirect."""
        if site_of(event["request"]["url"]) != site_of(self._spec.url):
            return {}
        headers = {**event["request"]["headers"], **self._spec.headers}
        return {"headers": [{"name": name, "value": value} for name, value in headers.items()]}

    async def _order(self, cdp: CDPSession, event: dict[str, Any]) -> _Order:
        url, status = event["request"]["url"], event.get("responseStatusCode")
        if self._result.done() or status is None or urlsplit(url).hostname != self._host:
            return _GO_ON
        answer = _answer_of(event)
        if 300 <= status < 400 and status != 304:
            if self._spec.wants_body and self._wall is None:
                self._succeed(answer)  # Scrapy follows it, and checks robots.txt
                return _TAKEN
            return _GO_ON
        if not _may_be_page(answer):
            self._succeed(await self._whole(cdp, event, answer) if self._spec.wants_body else answer)
            return _TAKEN
        answer = await self._whole(cdp, event, answer)
        self._is_coming = False  # a challenge arrived, and the document is not in flight yet
        need, may_open = self._spec.judge(answer, bool(await self._page.context.cookies(answer.url)))
        answer = replace(answer, need=need)
        if need in {BrowserNeed.PASS, BrowserNeed.PROOF} and may_open:
            self._wall = answer
            self._walls += 1
            if self._walls <= _MOST_WALLS:
                return _shown(event, answer)
        self._succeed(self._stayed(answer))
        return _shown(event, answer) if need is BrowserNeed.RENDER else _TAKEN

    def _stayed(self, wall: BrowserAnswer) -> BrowserAnswer:
        """Return *wall*, as a challenge only if the page has navigated."""
        return replace(wall, need=BrowserNeed.PASS) if wall.need is BrowserNeed.PROOF and self._walls > 1 else wall

    async def _whole(self, cdp: CDPSession, event: dict[str, Any], answer: BrowserAnswer) -> BrowserAnswer:
        """Return *answer* with its body, and whether it is complete.

        It is read in blocks: to return it as a whole, the browser would decompress it,
        whatever its size.
        """
        body = await self._stream(cdp, event, answer)
        packed = any(name.lower() == "content-encoding" for name, _ in answer.headers)
        length = None if packed else _length(answer)
        return replace(answer, body=body, is_cut=len(body) < (length or 0), has_length=length is not None)

    async def _stream(self, cdp: CDPSession, event: dict[str, Any], answer: BrowserAnswer) -> bytes:
        """Return the body of *answer*. Raises :exc:`TooLargeError` at the first excess byte."""
        self._check(_length(answer) or 0)
        self._is_coming = True
        request = {"requestId": event["requestId"]}
        stream = (await cdp.send("Fetch.takeResponseBodyAsStream", request))["stream"]
        blocks, size, is_over = [], 0, False
        while not is_over:
            given = await cdp.send("IO.read", {"handle": stream, "size": _BLOCK})
            blocks.append(_decoded(given, "data"))
            size += len(blocks[-1])
            self._check(size)
            is_over = given["eof"]
        return b"".join(blocks)

    def _check(self, size: int) -> None:
        if 0 < self._spec.most_bytes < size:
            raise TooLargeError

    def _note_failure(self, request: Request) -> None:
        words = request.failure or ""
        if request.is_navigation_request() and "ERR_ABORTED" not in words and request.frame == self._page.main_frame:
            self._fail(NotReachedError(words, request.url))

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _succeed(self, answer: BrowserAnswer) -> None:
        if not self._result.done():
            self._result.set_result(answer)

    def _fail(self, error: Exception) -> None:
        if not self._result.done():
            self._result.set_exception(error)


def _answer_of(event: dict[str, Any]) -> BrowserAnswer:
    sent = {name.lower(): value for name, value in event["request"]["headers"].items()}
    return BrowserAnswer(
        url=event["request"]["url"].partition("#")[0],
        status=event["responseStatusCode"],
        headers=tuple((header["name"], header["value"]) for header in event.get("responseHeaders", ())),
        body=b"",
        user_agent=sent.get("user-agent"),
    )


def _length(answer: BrowserAnswer) -> int | None:
    """Return the body length stated in the headers of *answer*."""
    given = [value for name, value in answer.headers if name.lower() == "content-length"]
    return next((int(value) for value in given if value.isascii() and value.isdigit()), None)


def _shown(event: dict[str, Any], answer: BrowserAnswer) -> _Order:
    """Return the command that delivers *answer*, which was read, to the page."""
    headers = [{"name": name, "value": value} for name, value in answer.headers if name.lower() not in _PASSED_ON]
    told = {"responseCode": event["responseStatusCode"], "responseHeaders": headers}
    return "Fetch.fulfillRequest", {**told, "body": base64.b64encode(answer.body).decode()}


def plain_headers(answer: BrowserAnswer) -> dict[str, list[str]]:
    """Return the headers of *answer* that still apply to its body."""
    headers: dict[str, list[str]] = {}
    for name, value in answer.headers:
        if name.lower() not in _PASSED_ON:
            headers.setdefault(name, []).append(value)
    return headers


def _may_be_page(answer: BrowserAnswer) -> bool:
    """Whether the browser may render *answer* as a page with scripts, as a challenge needs."""
    types = [value for name, value in answer.headers if name.lower() == "content-type"]
    return not types or "html" in types[-1].lower()


def _decoded(given: dict[str, Any], name: str) -> bytes:
    data: str = given[name]
    return base64.b64decode(data) if given["base64Encoded"] else data.encode()
