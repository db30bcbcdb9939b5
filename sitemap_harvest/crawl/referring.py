"""What a request has of the document that led to it, as Scrapy's spider middlewares add it: depth and ``Referer``.

The requests of a run do not leave a callback, so that these middlewares do not see which response they come from.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.http import Response
from scrapy.spidermiddlewares.depth import DepthMiddleware
from scrapy.spidermiddlewares.referer import RefererMiddleware

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

    from sitemap_harvest.plan import Lead

_POLICY = "Referrer-Policy"


class Referring:
    """Adds to a request what it would have if a callback had yielded it."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    def from_document(self, request: Request, document: Response) -> Request | None:
        """Return *request*, to which *document* led; ``None`` if a middleware passes over it."""
        passed: Request | None = request
        for middleware in self._middlewares:
            if passed is not None:
                passed = middleware.get_processed_request(passed, document)
        return passed

    @cached_property
    def _middlewares(self) -> list[BaseSpiderMiddleware]:
        found = (self._crawler.get_spider_middleware(kind) for kind in (DepthMiddleware, RefererMiddleware))
        return [middleware for middleware in found if middleware is not None]


def document_of(lead: Lead, response: Response | None = None) -> Response:
    """Return the document of *lead* without its body; *response* is the answer, if there was one."""
    policy = response.headers.getlist(_POLICY) if response is not None else []
    url = response.url if response is not None else lead.url
    return _document(url, lead.depth, {_POLICY: policy} if policy else {})


def parent_of(lead: Lead) -> Response | None:
    """Return the document that names *lead*; ``None`` if the run began with it, or it is tried by guess."""
    return None if lead.parent is None else _document(lead.parent, lead.depth - 1, {})


def _document(url: str, depth: int, headers: dict[str, list[bytes]]) -> Response:
    return Response(url, headers=headers, request=Request(url, meta={"depth": depth}))
