"""One page of the browser, on its way to one document: what comes is taken before the browser makes a page of it.

Chromium shows XML in a viewer of its own and puts what is packed into a file.
So each answer for the page is held up where its headers have come (the domain
``Fetch`` of the DevTools protocol): a wall may go on, and do what it is there
for; anything else is the document, and is taken off the way as it was sent, a
block at a time, up to the limit.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sitemap_harvest.crawl.browser.chromium import BrowserGoneError, PlaywrightError
from sitemap_harvest.plan import Need
from sitemap_harvest.plan.fallback import MOST_LINKS
from sitemap_harvest.urls import site_of

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page, Request

_BLOCK = 1024 * 1024
_MOST_WALLS = 20  # one after the other in one visit; as many as a browser follows redirects
_LOOK_SECONDS = 0.5  # after which it is looked whether the run ends
_IDLE_MILLISECONDS = 5_000  # for links, once nothing is on its way any more
_PASSED_ON = {"content-encoding", "content-length", "transfer-encoding"}  # the browser has undone these
_GONE = "it ended in the middle of its work"
_CALM_SECONDS = 1  # without a new link, after which there are all
_LINKS = "() => document.querySelectorAll('a[href]').length"
_HAS_LINKS = f"() => document.querySelectorAll('a[href]').length > {MOST_LINKS}"
_SIZE = "() => document.documentElement.outerHTML.length"
_DOM = "() => '<!DOCTYPE html>\\n' + document.documentElement.outerHTML"


class TooLargeError(Exception):
    """A document is larger than allowed."""


class NotReachedError(Exception):
    """The browser could not get an answer at all: its words are those of the browser."""

    def __init__(self, words: str, url: str) -> None:
        super().__init__(words)
        self.url = url  #: What it asked for.


class RunEndsError(Exception):
    """The run ends before there is an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server gave to the browser."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    """Without a ``Content-Encoding``; empty where it was not wanted."""
    user_agent: str | None = None
    need: Need | None = None
    """What is still needed: :attr:`Need.PASS` where the wall stays, :attr:`Need.PROOF` where it is none."""
    is_cut: bool = False
    """Whether the connection ended early, as far as the headers tell."""
    has_length: bool = False
    """Whether they tell how long the body is."""


Judge = Callable[[Answer, bool], tuple[Need | None, bool]]
"""Tells what an answer still needs, and whether its page may become another by itself; the page has cookies or not."""
_Order = tuple[str, dict[str, Any]]
_GO_ON: _Order = ("Fetch.continueRequest", {})
_TAKEN: _Order = ("Fetch.failRequest", {"errorReason": "Aborted"})
"""What becomes of an answer that is held up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a page is opened for."""

    url: str
    judge: Judge
    wants_body: bool
    """Whether the document itself is wanted, and not only the way to it."""
    most_bytes: int
    """Of the document; 0: any number."""
    seconds: float
    """How long to wait for an answer that is no wall."""
    body_seconds: float
    """How long to wait for its body."""
    may_go_on: Callable[[], bool]
    """Whether the run goes on."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """What requests for the site of *url* have beside what the browser gives them, and no others."""


class Visit:
    """Waits in one page for an answer of the host of *wish* that is no wall."""

    def __init__(self, page: Page, wish: Wish) -> None:
        self._page = page
        self._wish = wish
        self._host = urlsplit(wish.url).hostname
        self._result: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._wall: Answer | None = None
        self._walls = 0
        self._is_coming = False
        self._tasks: set[asyncio.Task[Any]] = set()

    async def answer(self) -> Answer:
        """Return the answer, which needs :attr:`Need.PASS` still if the wall stays.

        Raises :exc:`TooLargeError`, :exc:`NotReachedError`, :exc:`BrowserGoneError` and :exc:`RunEndsError`.
        """
        try:
            return await self._answer()
        except PlaywrightError as error:
            raise BrowserGoneError(_GONE) from error
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._result.cancel()  # unless there is one: that the page is closed is no news any more
            if not self._result.cancelled():
                self._result.exception()  # is looked at, or asyncio complains

    async def rendered(self) -> bytes:
        """Return the page as its scripts have made it by now. Raises :exc:`TooLargeError` and :exc:`RunEndsError`."""
        settling = asyncio.ensure_future(self._settle())
        try:
            while not settling.done():
                if not self._wish.may_go_on():
                    raise RunEndsError
                await asyncio.wait({settling}, timeout=_LOOK_SECONDS)
        finally:
            settling.cancel()
            await asyncio.gather(settling, return_exceptions=True)
        try:
            if self._wish.most_bytes and await self._page.evaluate(_SIZE) > self._wish.most_bytes:
                raise TooLargeError
            text: str = await self._page.evaluate(_DOM)
        except PlaywrightError as error:
            raise BrowserGoneError(_GONE) from error
        return text.encode("utf-8", "replace")

    async def _settle(self) -> None:
        """Wait until the page has all its links, or has had its time: nothing is on its way, and none is new."""
        milliseconds = self._wish.seconds * 1000
        with suppress(PlaywrightError):
            await self._page.wait_for_load_state("networkidle", timeout=milliseconds)
            await self._page.wait_for_function(_HAS_LINKS, timeout=min(milliseconds, _IDLE_MILLISECONDS))
        count = -1
        with suppress(PlaywrightError, TimeoutError):
            async with asyncio.timeout(self._wish.seconds):
                while (now := await self._page.evaluate(_LINKS)) != count:
                    count = now
                    await asyncio.sleep(_CALM_SECONDS)

    async def _answer(self) -> Answer:
        cdp = await self._page.context.new_cdp_session(self._page)
        frame = (await cdp.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        cdp.on("Fetch.requestPaused", lambda event: self._begin(self._held_up(cdp, event, frame)))
        self._page.on("requestfailed", self._note_failure)
        for gone in ("crash", "close"):
            self._page.on(gone, lambda _: self._fail(BrowserGoneError(_GONE)))
        patterns = [{"urlPattern": "*", "requestStage": "Response", "resourceType": "Document"}]
        if self._wish.headers:
            patterns.append({"urlPattern": "*", "requestStage": "Request"})
        await cdp.send("Fetch.enable", {"patterns": patterns})
        self._begin(self._go())
        return await self._wait()

    async def _go(self) -> None:
        with suppress(PlaywrightError):  # what is taken off the way does not arrive; what fails is told apart
            await self._page.goto(self._wish.url, wait_until="commit", timeout=0)

    async def _wait(self) -> Answer:
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            seconds = self._wish.body_seconds if self._is_coming else self._wish.seconds
            left = began + seconds - loop.time()
            if self._result.done():
                return self._result.result()
            if not self._wish.may_go_on():
                raise RunEndsError
            if left <= 0 and self._wall is not None and not self._is_coming:
                return self._stayed(self._wall)
            if left <= 0:
                raise NotReachedError("net::ERR_TIMED_OUT", self._wish.url)
            await asyncio.wait({self._result}, timeout=min(left, _LOOK_SECONDS))

    async def _held_up(self, cdp: CDPSession, event: dict[str, Any], frame: str) -> None:
        """Let the answer of *event* pass, or take it; a request goes out."""
        try:
            if not event.keys() & {"responseStatusCode", "responseErrorReason"}:
                await cdp.send("Fetch.continueRequest", {"requestId": event["requestId"], **self._with_headers(event)})
                return
            command, told = await self._order(cdp, event) if event.get("frameId") == frame else _GO_ON
            await cdp.send(command, {"requestId": event["requestId"], **told})
        except TooLargeError as error:
            self._fail(error)
        except PlaywrightError:
            pass  # the page has gone, or has gone on to another

    def _with_headers(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return the headers for the request of *event*: they do not go along with a redirect of it."""
        if site_of(event["request"]["url"]) != site_of(self._wish.url):
            return {}
        headers = {**event["request"]["headers"], **self._wish.headers}
        return {"headers": [{"name": name, "value": value} for name, value in headers.items()]}

    async def _order(self, cdp: CDPSession, event: dict[str, Any]) -> _Order:
        url, status = event["request"]["url"], event.get("responseStatusCode")
        if self._result.done() or status is None or urlsplit(url).hostname != self._host:
            return _GO_ON
        answer = _answer_of(event)
        if 300 <= status < 400 and status != 304:
            if self._wish.wants_body and self._wall is None:
                self._succeed(answer)  # it is for Scrapy to follow, which asks robots.txt
                return _TAKEN
            return _GO_ON
        if not _may_be_page(answer):
            self._succeed(await self._whole(cdp, event, answer) if self._wish.wants_body else answer)
            return _TAKEN
        answer = await self._whole(cdp, event, answer)
        self._is_coming = False  # a wall is there, and what is behind it is not on its way yet
        need, may_open = self._wish.judge(answer, bool(await self._page.context.cookies(answer.url)))
        answer = replace(answer, need=need)
        if need in {Need.PASS, Need.PROOF} and may_open:
            self._wall = answer
            self._walls += 1
            if self._walls <= _MOST_WALLS:
                return _shown(event, answer)
        self._succeed(self._stayed(answer))
        return _shown(event, answer) if need is Need.RENDER else _TAKEN

    def _stayed(self, wall: Answer) -> Answer:
        """Return *wall*, which is one if the page has gone anywhere from it."""
        return replace(wall, need=Need.PASS) if wall.need is Need.PROOF and self._walls > 1 else wall

    async def _whole(self, cdp: CDPSession, event: dict[str, Any], answer: Answer) -> Answer:
        """Return *answer* with its body, and whether all of it came.

        It is read in blocks: to give it whole, the browser would unpack it whatever its size.
        """
        body = await self._stream(cdp, event, answer)
        packed = any(name.lower() == "content-encoding" for name, _ in answer.headers)
        length = None if packed else _length(answer)
        return replace(answer, body=body, is_cut=len(body) < (length or 0), has_length=length is not None)

    async def _stream(self, cdp: CDPSession, event: dict[str, Any], answer: Answer) -> bytes:
        """Return the body of *answer*. Raises :exc:`TooLargeError` at the first byte too many."""
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
        if 0 < self._wish.most_bytes < size:
            raise TooLargeError

    def _note_failure(self, request: Request) -> None:
        words = request.failure or ""
        if request.is_navigation_request() and "ERR_ABORTED" not in words and request.frame == self._page.main_frame:
            self._fail(NotReachedError(words, request.url))

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _succeed(self, answer: Answer) -> None:
        if not self._result.done():
            self._result.set_result(answer)

    def _fail(self, error: Exception) -> None:
        if not self._result.done():
            self._result.set_exception(error)


def _answer_of(event: dict[str, Any]) -> Answer:
    sent = {name.lower(): value for name, value in event["request"]["headers"].items()}
    return Answer(
        url=event["request"]["url"].partition("#")[0],
        status=event["responseStatusCode"],
        headers=tuple((header["name"], header["value"]) for header in event.get("responseHeaders", ())),
        body=b"",
        user_agent=sent.get("user-agent"),
    )


def _length(answer: Answer) -> int | None:
    """Return how many bytes the headers of *answer* promise."""
    given = [value for name, value in answer.headers if name.lower() == "content-length"]
    return next((int(value) for value in given if value.isascii() and value.isdigit()), None)


def _shown(event: dict[str, Any], answer: Answer) -> _Order:
    """Return the order that gives the page *answer*, which was read, as if it came just now."""
    headers = [{"name": name, "value": value} for name, value in answer.headers if name.lower() not in _PASSED_ON]
    told = {"responseCode": event["responseStatusCode"], "responseHeaders": headers}
    return "Fetch.fulfillRequest", {**told, "body": base64.b64encode(answer.body).decode()}


def plain_headers(answer: Answer) -> dict[str, list[str]]:
    """Return the headers of *answer* that are true of its body."""
    headers: dict[str, list[str]] = {}
    for name, value in answer.headers:
        if name.lower() not in _PASSED_ON:
            headers.setdefault(name, []).append(value)
    return headers


def _may_be_page(answer: Answer) -> bool:
    """Whether the browser may make a page of *answer* that has scripts, which a wall is."""
    types = [value for name, value in answer.headers if name.lower() == "content-type"]
    return not types or "html" in types[-1].lower()


def _decoded(given: dict[str, Any], name: str) -> bytes:
    data: str = given[name]
    return base64.b64decode(data) if given["base64Encoded"] else data.encode()
