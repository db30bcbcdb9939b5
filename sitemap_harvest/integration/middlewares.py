"""Downloader middlewares of the package: local files, robots.txt, delays of hosts and ``Content-Encoding``."""

from __future__ import annotations

import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote, urlsplit

from scrapy import signals
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import Response
from scrapy.responsetypes import responsetypes
from scrapy.robotstxt import ProtegoRobotParser
from scrapy.utils.asyncio import run_in_thread, sleep
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from w3lib.url import file_uri_to_path

from sitemap_harvest.engine.document_records import retry_after
from sitemap_harvest.formats.robots_rules import bounded
from sitemap_harvest.integration.document_requests import IN_TURN, OUTSIDE, candidate_of, note_size, probed_of
from sitemap_harvest.integration.fetch_spider import FetchSpider
from sitemap_harvest.integration.spider_attributes import CrawlerComponent, SitemapAttributes, harvest_of, run_of
from sitemap_harvest.integration.transfers import measured, note_transfer, transfer_of

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Request

    from sitemap_harvest.engine.interfaces import Transfer

_INDEX_PAGE = "index.html"
_LARGE = 1024 * 1024  # bytes of a file


class OwnMiddleware(CrawlerComponent):
    """A middleware that only spiders of this package load."""

    _spiders: tuple[type[Spider], ...] = (SitemapAttributes,)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the middleware, for spiders of this package only."""
        if not issubclass(crawler.spidercls, cls._spiders):
            raise NotConfigured
        return super().from_crawler(crawler)


class LocalFilesMiddleware(OwnMiddleware):
    """Responds to requests for files, and with ``root`` to every request.

    With ``root`` nothing reaches the network: a missing file is a 404.
    """

    async def process_request(self, request: Request) -> Response | None:
        """Respond to *request* with a file, or let it pass to the network."""
        run = run_of(self._crawler.spider)
        root = run.root if run is not None else None
        if root is None and not request.url.startswith("file:"):
            return None
        request.meta["dont_cache"] = True  # HttpCacheMiddleware would not notice a changed file
        with measured(request):
            return await self._respond(root, request)

    async def _respond(self, root: Path | None, request: Request) -> Response:
        if root is None:
            return await self._read(Path(file_uri_to_path(request.url)), request)
        try:
            path = await run_in_thread(below, root, request.url)
        except OutsideError:
            return Response(request.url, status=404, flags=[OUTSIDE])
        return await self._read(path, request) if path else Response(request.url, status=404)

    async def _read(self, path: Path, request: Request) -> Response:
        info = await run_in_thread(path.stat)
        if stat.S_ISDIR(info.st_mode):
            raise IsADirectoryError(str(path))
        if not stat.S_ISREG(info.st_mode):
            raise OSError(f"{path} is not a regular file")
        most = self._crawler.settings.getint("DOWNLOAD_MAXSIZE")
        if most and info.st_size > most:
            raise IgnoreRequest(f"{path} is larger than DOWNLOAD_MAXSIZE ({most} bytes)")
        note_size(harvest_of(self._crawler), request, info.st_size)
        # Large files take longer to parse than to read, and glibc keeps the memory of each thread that read one.
        is_large = info.st_size > _LARGE
        body = path.read_bytes() if is_large else await run_in_thread(path.read_bytes)  # noqa: ASYNC240 - see above
        return responsetypes.from_args(url=request.url, filename=path.name, body=body)(request.url, body=body)


class OutsideError(Exception):
    """A file is outside the folder of ``root``, although its URL or a link leads to it."""


def below(root: Path, url: str) -> Path | None:
    """Return the file below *root* for *url*, if there is one. Raises :exc:`OutsideError`."""
    address = unquote(urlsplit(url).path, errors="surrogateescape")  # file names may be any bytes
    parts = [part for part in address.split("/") if part]
    if "\0" in address:
        return None
    try:
        path = _inside(root, root.joinpath(*parts))
        if path.is_dir() and (address.endswith("/") or not parts):
            path = _inside(root, path / _INDEX_PAGE)
        return path if path.exists() else None
    except (OSError, RuntimeError):  # a name that is too long, or circular links
        return None


def _inside(root: Path, path: Path) -> Path:
    """Return the target of *path*, with links resolved. Raises :exc:`OutsideError`."""
    target = path.resolve()
    if not target.is_relative_to(root.resolve()):
        raise OutsideError(str(target))
    return target


PASS = "sitemap_harvest_pass"  # noqa: S105 - no password
"""Key in a request's ``meta``: number of the browser clearance that the request uses, if any."""

_MAX_KEPT = 10_000  # sites; hosts take turns, so the rules are needed again after all other sites had theirs
_MAX_KEPT_BYTES = 64 * 1024 * 1024  # total; a single one may exceed it


class RobotsCacheMiddleware(OwnMiddleware):
    """Responds to the second request for a robots.txt with the response of the first one.

    The spider reads robots.txt for its sitemaps, and Scrapy's own middleware reads it
    for its rules. A request waits only while the first one is in the downloader, whose
    signals mark the start and end of a download: other middlewares may drop a response,
    and then nothing must wait for it.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._kept: dict[str, tuple[Response, int, Transfer | None]] = {}
        self._kept_bytes = 0
        self._downloading: dict[str, list[Deferred[None]]] = {}
        crawler.signals.connect(self.begin, signal=signals.request_reached_downloader)
        crawler.signals.connect(self.keep, signal=signals.response_downloaded)
        crawler.signals.connect(self.end, signal=signals.request_left_downloader)

    async def process_request(self, request: Request) -> Response | None:
        """Respond to a request for a cached robots.txt, after waiting for a download in progress."""
        if not is_robots(request):
            return None
        while (waiting := self._downloading.get(request.url)) is not None:
            turn: Deferred[None] = Deferred()
            waiting.append(turn)
            await maybe_deferred_to_future(turn)
        kept, number, transfer = self._kept.get(request.url, (None, 0, None))
        if kept is None or number < request.meta.get(PASS, 0):
            return None  # first request; or the first one was blocked, and this one has a newer clearance
        if kept.status >= 500 or kept.status == 429:
            if request.meta.get("retry_times"):
                return None  # the request that got it is being retried
            request.meta["dont_retry"] = True  # it was retried already
        note_transfer(request, transfer)
        return kept.replace(request=request)  # otherwise Scrapy would call the first one's callback

    def begin(self, request: Request) -> None:
        """Record that a robots.txt is being downloaded: other requests wait from now on."""
        if is_robots(request):
            self._downloading.setdefault(request.url, [])

    def keep(self, response: Response, request: Request) -> None:
        """Cache the response, whatever it is, and evict the oldest ones beyond the limits."""
        if not is_robots(request):
            return
        self._forget(request.url)
        self._kept[request.url] = response, request.meta.get(PASS, 0), transfer_of(request)
        self._kept_bytes += len(response.body)
        while len(self._kept) > 1 and (len(self._kept) > _MAX_KEPT or self._kept_bytes > _MAX_KEPT_BYTES):
            self._forget(next(iter(self._kept)))

    def end(self, request: Request) -> None:
        """Wake waiting requests: there is a response, or the next one downloads it."""
        if is_robots(request):
            for turn in self._downloading.pop(request.url, []):
                turn.callback(None)

    def _forget(self, url: str) -> None:
        if url in self._kept:
            self._kept_bytes -= len(self._kept.pop(url)[0].body)


def is_robots(request: Request) -> bool:
    """Whether *request* is for a robots.txt."""
    return request.method == "GET" and request.url.partition("?")[0].endswith("/robots.txt")


class BoundedRobotParser(ProtegoRobotParser):
    """Scrapy's parser of a robots.txt, limited to its first 512 KiB: a rule takes twenty times its size in memory.

    Spec: https://www.rfc-editor.org/rfc/rfc9309#section-2.5
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        """Return the parser of *robotstxt_body*, without the line that the limit cuts."""
        return super().from_crawler(crawler, bounded(robotstxt_body))


class RetryAfterMiddleware(OwnMiddleware):
    """Delays retries by ``Retry-After``, where Scrapy's RetryMiddleware would retry at once.

    Documents go back to the spider, whose frontier waits without delaying other hosts.
    Other requests, such as pages, wait here.
    """

    async def process_response(self, request: Request, response: Response) -> Response:
        """Return *response*, after a pause if it requires one and the spider does not handle it."""
        header = response.headers.get("Retry-After") or b""
        seconds = retry_after(response.status, header.decode("latin-1"), request.meta.get("retry_times", 0))
        if seconds is None or request.meta.get("dont_retry"):
            return response
        if candidate_of(request) is not None or seconds > harvest_of(self._crawler).options.max_wait:
            request.meta["dont_retry"] = True  # the spider requeues it; RetryMiddleware would request it too early
            return response
        while seconds > 0 and self._crawler.engine.running:  # wakes up if the run is ending
            await sleep(min(seconds, 1.0))
            seconds -= 1.0
        return response


class CrawlDelayMiddleware(OwnMiddleware):
    """Lets requests that no queue has given their turn wait for the ``Crawl-delay`` of their host.

    These are retries, redirects, and the requests of callbacks.
    """

    async def process_request(self, request: Request) -> None:
        """Wait until *request* may be sent."""
        if request.meta.pop(IN_TURN, False):  # a retry or redirect copies the rest
            return
        if (sites := getattr(harvest_of(self._crawler), "sites", None)) is None:  # "scrapy shell" opens no run
            return
        host = sites.frontier.host(request.url)
        if not host.delay:
            return
        turn = max(host.ready_at, time.monotonic())
        host.ready_at = turn + host.delay
        while (wait := turn - time.monotonic()) > 0 and self._crawler.engine.running:  # wakes up if the run is ending
            await sleep(min(wait, 1.0))


class ContentEncodingMiddleware(OwnMiddleware):
    """Moves ``Content-Encoding`` of documents and probed pages to the request's meta: our reader decompresses them.

    For a truncated body Scrapy's ``HttpCompressionMiddleware`` silently returns the part
    that could be decompressed, and nothing for a body that is not compressed although its
    header says so.
    """

    _spiders = (SitemapAttributes, FetchSpider)

    def process_response(self, request: Request, response: Response) -> Response:
        """Return *response* with the body as the server sent it."""
        given = response.headers.getlist("Content-Encoding")
        if not given or (candidate_of(request) is None and probed_of(request) is None):
            return response
        names = b",".join(given).decode("latin-1").lower().split(",")
        request.meta["content_encodings"] = tuple(name.strip() for name in names)
        headers = response.headers.copy()
        del headers["Content-Encoding"]
        return response.replace(headers=headers)
