"""Whether a response, from Scrapy or the browser, is a challenge or another page that needs a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemap_harvest.browser.fallback import BrowserNeed, PlainAnswer, may_open, need_of, wants_links
from sitemap_harvest.discovery.candidate import Candidate
from sitemap_harvest.formats.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy import Request
    from scrapy.http import Response

    from sitemap_harvest.formats import Limits


def need_of_response(request: Request, response: Response, limits: Limits) -> BrowserNeed | None:
    """Return what a browser is needed for to get the document of *request*; ``None``: nothing."""
    headers = {
        name.decode("latin-1").lower(): [value.decode("latin-1") for value in values]
        for name, values in response.headers.items()
    }
    return classify(request, response.url, response.status, headers, response.body, limits)[0]


def classify(
    request: Request,
    url: str,
    status: int,
    headers: Mapping[str, Sequence[str]],
    body: bytes,
    limits: Limits,
) -> tuple[BrowserNeed | None, bool]:
    """Return the same, and whether the page can replace itself. The names in *headers* are in lower case."""
    if not body or status == 304:
        return None, False
    content_type = next(iter(headers.get("content-type", ())), None)
    encodings = ",".join(headers.get("content-encoding", ())).lower().split(",")
    source = Source(
        body,
        url=url,
        content_type=content_type,
        limits=limits,
        content_encodings=tuple(filter(None, map(str.strip, encodings))),
    )
    if source.binary_format:
        return None, False
    candidate = request.cb_kwargs.get("candidate")
    plain = PlainAnswer(
        status=status,
        head=source.head,
        url=url,
        content_type=content_type,
        retry_after="retry-after" in headers,
        sets_cookie="set-cookie" in headers,
        wants_links=isinstance(candidate, Candidate) and wants_links(candidate),
    )
    need = need_of(plain)
    return need, need is not None and may_open(source.head)
