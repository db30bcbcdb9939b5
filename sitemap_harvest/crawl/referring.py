"""What a request has of the document that led to it, as Scrapy's spider middlewares add it: depth and ``Referer``.

The requests of a run do not leave a callback, so that these middlewares do not see which response they come from.
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

    from sitemap_harvest.plan import Lead

_POLICY = "Referrer-Policy"


@dataclass(frozen=True, slots=True)
class Referrer:
    """A document that leads to others. Many may be in memory at a time."""

    url: str
    """Its address, after redirects."""
    depth: int
    policies: tuple[bytes, ...] = ()
    """What its headers ``Referrer-Policy`` say."""

    @classmethod
    def of(cls, lead: Lead, response: Response | None = None) -> Self:
        """Return the document of *lead*; *response* is the answer, if there was one."""
        if response is None:
            return cls(lead.url, lead.depth)
        return cls(response.url, lead.depth, tuple(response.headers.getlist(_POLICY)))

    def response(self) -> Response:
        """Return the document as Scrapy knows it, without its body."""
        request = Request(self.url, meta={"depth": self.depth})
        return Response(self.url, headers={_POLICY: list(self.policies)} if self.policies else {}, request=request)


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


def parent_of(lead: Lead) -> Referrer | None:
    """Return the document that names *lead*; ``None`` if the run began with it, or it is tried by guess."""
    return None if lead.parent is None else Referrer(lead.parent, lead.depth - 1)
