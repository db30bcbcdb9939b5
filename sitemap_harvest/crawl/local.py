"""Files on this machine instead of the network: named ones, and a folder that stands in for a site."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote, urlsplit

from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.asyncio import run_in_thread
from w3lib.url import file_uri_to_path

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request

_INDEX_PAGE = "index.html"


class LocalFiles:
    """Downloader middleware: answers requests for files, and with a ``root`` every request.

    With a folder standing in for a site nothing reaches the network: what is
    not below the folder is a 404.
    """

    def __init__(self, crawler: Crawler, most_bytes: int) -> None:
        self._crawler = crawler
        self._most_bytes = most_bytes

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler, crawler.settings.getint("DOWNLOAD_MAXSIZE"))

    async def process_request(self, request: Request, spider: Any = None) -> Response | None:
        """Answer *request* with a file, or let it pass to the network."""
        root: Path | None = getattr(self._crawler.spider, "local_root", None)
        if root is not None:
            path = below(root, request.url)
            found = path is not None and await run_in_thread(path.exists)
            return await self._read(path, request.url) if found and path else Response(request.url, status=404)
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
        return Response(url, body=await run_in_thread(path.read_bytes))


def below(root: Path, url: str) -> Path | None:
    """Return the file below *root* that stands for *url*, ``None`` if the address leads out of *root*."""
    parts = [part for part in unquote(urlsplit(url).path).split("/") if part]
    path = root.joinpath(*parts) if parts else root
    if "\0" in str(path):
        return None
    if path.is_dir() and (urlsplit(url).path.endswith("/") or not parts):
        path = path / _INDEX_PAGE
    resolved = path.resolve()
    return resolved if resolved.is_relative_to(root.resolve()) else None
