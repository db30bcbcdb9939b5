"""The Scrapy requests and responses of documents: headers, timeouts, meta keys, flags, depth and ``Referer``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request
from scrapy.exceptions import StopDownload
from scrapy.http import Response
from scrapy.spidermiddlewares.depth import DepthMiddleware
from scrapy.spidermiddlewares.referer import RefererMiddleware

from sitemap_harvest.discovery.candidate import Candidate
from sitemap_harvest.discovery.rules import is_declared
from sitemap_harvest.engine.interfaces import DocumentResponse
from sitemap_harvest.integration.transfers import transfer_of_response
from sitemap_harvest.model import FoundBy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy.crawler import Crawler

    from sitemap_harvest.engine.probed_page import ProbedPage
    from sitemap_harvest.engine.run_state import RunState

IN_TURN = "sitemap_harvest_in_turn"
"""Key in the meta of a request: whether its host has had its turn for it, so that it need not wait for the delay."""
OUTSIDE = "outside"
"""Flag of a response for a file outside the local folder."""
BY_BROWSER, BY_COOKIES = "browser", "browser cookies"
"""Flags of a response that a browser fetched, or that was fetched with cookies from a browser."""
_CHALLENGE = "challenge: "
"""Prefix of the flag of a response that remains a challenge; what a browser could do follows."""
_CONDITIONS = ("If-None-Match", "If-Modified-Since")
_STATUSES_WITHOUT_DOCUMENT = [304, *range(400, 600)]
_FIRST_ANSWER_SECONDS = 30  # for the robots.txt of a site: it is small, and shows whether the site responds at all
_VARIANT_SECONDS = 15  # for a probed variant


class DocumentRequests:
    """Builds the requests for documents."""

    callback: Callable[..., Any] | None = None
    """Gets the responses. One object for all requests: Scrapy inspects the source of each that it has not seen."""
    errback: Callable[..., Any] | None = None
    """Gets the failures."""

    def __init__(self, crawler: Crawler, like: Callable[[Request], Request], *, read_declared: bool) -> None:
        """*like* applies the changes that ``start()`` of the spider made.

        *read_declared*: whether to read documents that a robots.txt names although it
        disallows them.
        """
        self._crawler = crawler
        self._like = like
        self._read_declared = read_declared
        self._timeout = crawler.settings.getfloat("DOWNLOAD_TIMEOUT")

    def build(self, candidate: Candidate, headers: Mapping[str, str], **meta: Any) -> Request:
        """Return the request for *candidate*, with *headers* and *meta*. Raises :exc:`ValueError` for a bad URL."""
        limits: dict[str, Any] = {"retry_times": candidate.attempt} if candidate.attempt else {}
        if candidate.site_root:
            limits["download_timeout"] = min(self._timeout, _FIRST_ANSWER_SECONDS)
        if candidate.found_by is FoundBy.VARIANT:
            limits |= {"download_timeout": min(self._timeout, _VARIANT_SECONDS), "max_retry_times": 0}
        request = Request(
            candidate.url,
            callback=self.callback,
            errback=self.errback,
            headers=dict(headers),
            cb_kwargs={"candidate": candidate},
            dont_filter=True,  # the frontier filters duplicates
            meta={
                "handle_httpstatus_list": _STATUSES_WITHOUT_DOCUMENT,
                "dont_obey_robotstxt": candidate.site_root or (self._read_declared and is_declared(candidate)),
                "dont_retry": candidate.url.startswith("file:"),
                IN_TURN: True,
                **limits,
                **meta,
            },
        )
        if candidate.parent is None:
            return self._like(request)
        parent = Referrer(candidate.parent, candidate.depth - 1)
        return self._like(from_document(self._crawler, request, parent.response()) or request)


def candidate_of(request: Request) -> Candidate | None:
    """Return the candidate of *request*; ``None`` if it is not for a document."""
    candidate = request.cb_kwargs.get("candidate")
    return candidate if isinstance(candidate, Candidate) else None


def note_size(run: RunState, request: Request, size: int | None) -> None:
    """Record the *size* of the body for *request*. Raises :exc:`StopDownload` if it does not fit in memory now."""
    if (candidate := candidate_of(request)) and run.in_flight.note_headers(candidate, size):
        raise StopDownload(fail=True)


def probed_of(request: Request) -> ProbedPage | None:
    """Return the page of a probe that *request* is for; ``None`` if it is not for one."""
    if (page := request.cb_kwargs.get("probed")) is None:
        return None
    from sitemap_harvest.engine.probed_page import ProbedPage  # few runs have a probe

    return page if isinstance(page, ProbedPage) else None


def remaining_challenge(response: Response, words: str) -> Response:
    """Return *response*, which remains a challenge, flagged with *words*: what a browser could do."""
    return response.replace(flags=[*response.flags, f"{_CHALLENGE}{words}"])


def document_response(response: Response) -> DocumentResponse:
    """Return *response* as the engine reads it."""
    flags, sent = response.flags, response.request.headers if response.request is not None else {}
    return DocumentResponse(
        url=response.url,
        status=response.status,
        headers={
            name.decode("latin-1").lower(): [value.decode("latin-1") for value in values]
            for name, values in response.headers.items()
        },
        body=response.body,
        content_encodings=response.meta.get("content_encodings", ()),
        redirect_urls=tuple(response.meta.get("redirect_urls", ())),
        is_conditional=any(name in sent for name in _CONDITIONS),
        was_cut="dataloss" in flags,
        is_outside=OUTSIDE in flags,
        via=next((flag for flag in flags if flag in {BY_BROWSER, BY_COOKIES}), None),
        transfer=transfer_of_response(response),
        challenge=next((flag.removeprefix(_CHALLENGE) for flag in flags if flag.startswith(_CHALLENGE)), None),
    )


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

    @lru_cache(maxsize=16)  # noqa: B019 - few small objects; an index leads to thousands of documents
    def response(self) -> Response:
        """Return the document as a Scrapy response without a body."""
        request = Request(self.url, meta={"depth": self.depth})
        return Response(self.url, headers={_POLICY: list(self.policies)} if self.policies else {}, request=request)


def from_document(crawler: Crawler, request: Request, document: Response) -> Request | None:
    """Return *request*, to which *document* led, with depth and ``Referer``; ``None`` if a middleware drops it.

    Scrapy's spider middlewares do this if a callback yields a request. The run does not
    yield its requests from a callback, so they cannot see the response.
    """
    passed: Request | None = request
    for kind in (DepthMiddleware, RefererMiddleware):
        middleware = crawler.get_spider_middleware(kind)
        if middleware is not None and passed is not None:
            passed = middleware.get_processed_request(passed, document)
    return passed
