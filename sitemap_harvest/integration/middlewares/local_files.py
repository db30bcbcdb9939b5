"""``LocalFilesMiddleware``: reads documents from local files, and with ``root`` the whole site from a folder."""

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

from sitemap_harvest.integration.document_requests import OUTSIDE
from sitemap_harvest.integration.spider_attributes import SitemapAttributes, run_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request

_INDEX_PAGE = "index.html"


class LocalFilesMiddleware:
    """Downloader middleware: responds to requests for files, and with ``root`` to every request.

    With ``root`` nothing reaches the network: a missing file is a 404. Only for spiders
    of this package.
    """

    def __init__(self, crawler: Crawler, most_bytes: int) -> None:
        self._crawler = crawler
        self._most_bytes = most_bytes

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the middleware, for spiders of this package only."""
        if not issubclass(crawler.spidercls, SitemapAttributes):
            raise NotConfigured
        return cls(crawler, crawler.settings.getint("DOWNLOAD_MAXSIZE"))

    async def process_request(self, request: Request) -> Response | None:
        """Respond to *request* with a file, or let it pass to the network."""
        run = run_of(self._crawler.spider)
        root = run.root if run is not None else None
        if root is not None or request.url.startswith("file:"):
            request.meta["dont_cache"] = True  # HttpCacheMiddleware would not notice a changed file
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
            raise OSError(f"{path} is not a regular file")
        if self._most_bytes and info.st_size > self._most_bytes:
            raise IgnoreRequest(f"{path} is larger than DOWNLOAD_MAXSIZE ({self._most_bytes} bytes)")
        body = await run_in_thread(path.read_bytes)
        return responsetypes.from_args(url=url, filename=path.name, body=body)(url, body=body)


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
