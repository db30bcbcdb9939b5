"""``Referrers``: adds depth and ``Referer`` to requests, as Scrapy's spider middlewares do after a callback.

The run does not yield its requests from a callback, so these middlewares cannot see the
response that led to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

from scrapy import Request
from scrapy.http import Response
from scrapy.spidermiddlewares.depth import DepthMiddleware
from scrapy.spidermiddlewares.referer import RefererMiddleware

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

    from sitemap_harvest.discovery.candidate import Candidate
    from sitemap_harvest.engine.interfaces import DocumentResponse

_POLICY = "Referrer-Policy"


@dataclass(frozen=True, slots=True)
class Referrer:
    """A document that leads to others. Many may be in memory at a time."""

    url: str
    """Its URL, after redirects."""
    depth: int
    policies: tuple[str, ...] = ()
    """The values of its headers ``Referrer-Policy``."""

    @classmethod
    def of(cls, candidate: Candidate, response: DocumentResponse | None = None) -> Self:
        """Return the document of *candidate*; *response* is the response, if there was one."""
        if response is None:
            return cls(candidate.url, candidate.depth)
        return cls(response.url, candidate.depth, tuple(response.headers.get(_POLICY.lower(), ())))

    def response(self) -> Response:
        """Return the document as a Scrapy response without a body."""
        request = Request(self.url, meta={"depth": self.depth})
        return Response(self.url, headers={_POLICY: list(self.policies)} if self.policies else {}, request=request)


class Referrers:
    """Adds to a request what Scrapy would add if a callback had yielded it."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    def from_document(self, request: Request, document: Response) -> Request | None:
        """Return *request*, to which *document* led; ``None`` if a middleware drops it."""
        passed: Request | None = request
        for middleware in self._middlewares:
            if passed is not None:
                passed = middleware.get_processed_request(passed, document)
        return passed

    @cached_property
    def _middlewares(self) -> list[BaseSpiderMiddleware]:
        found = (self._crawler.get_spider_middleware(kind) for kind in (DepthMiddleware, RefererMiddleware))
        return [middleware for middleware in found if middleware is not None]
