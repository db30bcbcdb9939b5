"""A downloader middleware for failures that no proxy can produce: hosts without an address, and missing responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from scrapy.exceptions import CannotResolveHostError, DownloadConnectionRefusedError

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

SETTING = "HISTORY_OUTAGES"
"""A JSON object: how each host fails, and the seconds to wait for a response, by address."""
DNS, REFUSED = "dns", "refused"
_ERRORS = {DNS: CannotResolveHostError, REFUSED: DownloadConnectionRefusedError}


class Outages:
    """Fails requests to some hosts, and waits only briefly for some documents."""

    def __init__(self, outages: dict[str, str | float]) -> None:
        self._outages = outages

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings.getdict(SETTING))

    def process_request(self, request: Request) -> None:
        host = urlsplit(request.url).hostname
        if (outage := self._outages.get(host)) is not None:
            raise _ERRORS[outage](host)
        if (seconds := self._outages.get(request.url)) is not None:
            request.meta["download_timeout"] = seconds
