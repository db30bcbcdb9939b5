"""``ContentEncodingMiddleware``: leaves decompression of documents to this package's reader.

For a truncated body Scrapy's ``HttpCompressionMiddleware`` silently returns the part
that could be decompressed, and nothing for a body that is not compressed although its
header says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured

from sitemap_harvest.integration.document_requests import candidate_of
from sitemap_harvest.integration.fetch import FetchSpider
from sitemap_harvest.integration.spider_attributes import SitemapAttributes

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response


class ContentEncodingMiddleware:
    """Downloader middleware: moves ``Content-Encoding`` of documents to the request's meta, so that Scrapy skips it."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the middleware, for spiders of this package only."""
        if not issubclass(crawler.spidercls, (SitemapAttributes, FetchSpider)):
            raise NotConfigured
        return cls()

    def process_response(self, request: Request, response: Response) -> Response:
        """Return *response* with the body as the server sent it."""
        given = response.headers.getlist("Content-Encoding")
        if not given or candidate_of(request) is None:
            return response
        names = b",".join(given).decode("latin-1").lower().split(",")
        request.meta["content_encodings"] = tuple(name.strip() for name in names)
        headers = response.headers.copy()
        del headers["Content-Encoding"]
        return response.replace(headers=headers)
