"""The requests for documents: their headers, timeouts and what Scrapy must not do with them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from scrapy import Request

from sitemap_harvest.crawl.referring import parent_of
from sitemap_harvest.model import FoundBy
from sitemap_harvest.plan import Lead, is_declared

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.settings import BaseSettings

    from sitemap_harvest.crawl.keeping import Keeper
    from sitemap_harvest.crawl.referring import Referring

_STATUSES_WITHOUT_DOCUMENT = [304, *range(400, 600)]
_FIRST_ANSWER_SECONDS = 30  # for the robots.txt of a site: it is small, and tells whether the site answers at all
_VARIANT_SECONDS = 15  # for one that is tried by guess


class DocumentRequests:
    """Makes the requests for documents."""

    def __init__(
        self,
        settings: BaseSettings,
        *,
        callback: Callable[..., Any],
        errback: Callable[..., Any],
        keeper: Keeper | None,
        referring: Referring,
        like: Callable[[Request], Request],
        read_declared: bool,
    ) -> None:
        """Let *callback* and *errback* receive the answers.

        *keeper* knows the validators, if there is a store. *like* adds what
        ``start()`` of the spider wants of a request. *read_declared* is
        whether documents that robots.txt names are read though it forbids them.
        """
        # Scrapy looks into the source of each callback object that it has not met, and a method is a new one each time.
        self._callback, self._errback = callback, errback
        self._keeper = keeper
        self._referring = referring
        self._like = like
        self._read_declared = read_declared
        self._timeout = settings.getfloat("DOWNLOAD_TIMEOUT")

    def build(self, lead: Lead, **meta: Any) -> Request:
        """Return the request for *lead*, with *meta* besides. Raises :exc:`ValueError` for an unusable address."""
        request = Request(
            lead.url,
            callback=self._callback,
            errback=self._errback,
            headers=self._keeper.ask(lead).headers if self._keeper is not None else {},
            cb_kwargs={"lead": lead, "asked": time.time()},
            dont_filter=True,  # the frontier knows what was asked for
            meta={
                "handle_httpstatus_list": _STATUSES_WITHOUT_DOCUMENT,
                "dont_obey_robotstxt": lead.site_root or (self._read_declared and is_declared(lead)),
                "dont_retry": lead.url.startswith("file:"),
                **self._limits(lead),
                **meta,
            },
        )
        parent = parent_of(lead)
        referred = self._referring.from_document(request, parent.response()) if parent is not None else None
        return self._like(referred or request)

    def _limits(self, lead: Lead) -> dict[str, Any]:
        limits: dict[str, Any] = {"retry_times": lead.attempt} if lead.attempt else {}
        if lead.site_root:
            limits["download_timeout"] = min(self._timeout, _FIRST_ANSWER_SECONDS)
        if lead.found_by is FoundBy.VARIANT:
            limits |= {"download_timeout": min(self._timeout, _VARIANT_SECONDS), "max_retry_times": 0}
        return limits


def lead_of(request: Request) -> Lead | None:
    """Return the lead of the document that *request* is for; ``None`` if it is for something else."""
    lead = request.cb_kwargs.get("lead")
    return lead if isinstance(lead, Lead) else None
