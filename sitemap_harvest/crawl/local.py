"""Files on this machine instead of the network: named ones, and a folder that stands in for a site."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote, urlsplit

from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import Response
from scrapy.responsetypes import responsetypes
from scrapy.utils.asyncio import run_in_thread
from w3lib.url import file_uri_to_path

from sitemap_harvest.crawl.record import OUTSIDE
from sitemap_harvest.crawl.spiders.base import SitemapAttributes, run_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request

_INDEX_PAGE = "index.html"


class LocalFiles:
    """Downloader middleware: answers requests for files, and with a ``root`` every request.

    With a folder standing in for a site nothing reaches the network: what is
    not below the folder is a 404. For our own spiders only.
    """

    def __init__(self, crawler: Crawler, most_bytes: int) -> None:
        self._crawler = crawler
        self._most_bytes = most_bytes

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware, for a spider of ours."""
        if not issubclass(crawler.spidercls, SitemapAttributes):
            raise NotConfigured
        return cls(crawler, crawler.settings.getint("DOWNLOAD_MAXSIZE"))

    async def process_request(self, request: Request) -> Response | None:
        """Answer *request* with a file, or let it pass to the network."""
        run = run_of(self._crawler.spider)
        root = run.root if run is not None else None
        if root is not None or request.url.startswith("file:"):
            request.meta["dont_cache"] = True  # HttpCacheMiddleware would not see that the file has changed
        if root is not None:
            try:
                path = await run_in_thread(below, root, request.url)
            except OutsideError:
                return Response(request.url, status=404, flags=[OUTSIDE])
            return await self._read(path, request.url) if path else Response(request.url, status=404)
        if request.url.startswith("file:"):
            return await self._read(Path(file_uri_to_path(request.url)), request.url)
        return None

    async def _read(self, path: Path, url: str) -> Response:
        info = await run_in_thread(path.stat)
        if stat.S_ISDIR(info.st_mode):
            raise IsADirectoryError(str(path))
        if not stat.S_ISREG(info.st_mode):
            raise OSError(f"{path} is no ordinary file")
        if self._most_bytes and info.st_size > self._most_bytes:
            raise IgnoreRequest(f"{path} is larger than DOWNLOAD_MAXSIZE ({self._most_bytes} bytes)")
        body = await run_in_thread(path.read_bytes)
        return responsetypes.from_args(url=url, filename=path.name, body=body)(url, body=body)


class OutsideError(Exception):
    """A file is not below the folder that stands in for the site, though its address or a link leads to it."""


def below(root: Path, url: str) -> Path | None:
    """Return the file below *root* that stands for *url*, if there is one. Raises :exc:`OutsideError`."""
    address = unquote(urlsplit(url).path, errors="surrogateescape")  # a file's name may be any bytes
    parts = [part for part in address.split("/") if part]
    if "\0" in address:
        return None
    try:
        path = _inside(root, root.joinpath(*parts))
        if path.is_dir() and (address.endswith("/") or not parts):
            path = _inside(root, path / _INDEX_PAGE)
        return path if path.exists() else None
    except (OSError, RuntimeError):  # a name that is too long, or links that go round in a circle
        return None


def _inside(root: Path, path: Path) -> Path:
    """Return what *path* leads to."""
    target = path.resolve()
    if not target.is_relative_to(root.resolve()):
        raise OutsideError(str(target))
    return target
