"""Bodies that the server packed for the way: they are unpacked by the reader, and not by Scrapy.

Scrapy's ``HttpCompressionMiddleware`` gives what could be unpacked of a body
that was cut, without a word, and nothing at all of one that is not packed
though its header says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured

from sitemap_harvest.crawl.document_requests import lead_of
from sitemap_harvest.crawl.fetch import FetchSpider
from sitemap_harvest.crawl.spiders.base import SitemapAttributes

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response


class PackedBodies:
    """Downloader middleware: takes the ``Content-Encoding`` off the documents of our spiders, and notes it."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware, for a spider of ours."""
        if not issubclass(crawler.spidercls, (SitemapAttributes, FetchSpider)):
            raise NotConfigured
        return cls()

    def process_response(self, request: Request, response: Response) -> Response:
        """Pass on *response*, which is as the server sent it."""
        given = response.headers.getlist("Content-Encoding")
        if not given or lead_of(request) is None:
            return response
        names = b",".join(given).decode("latin-1").lower().split(",")
        request.meta["content_encodings"] = tuple(name.strip() for name in names)
        headers = response.headers.copy()
        del headers["Content-Encoding"]
        return response.replace(headers=headers)
