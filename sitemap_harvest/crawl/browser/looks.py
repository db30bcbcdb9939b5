"""A look at an answer, of whoever asked: what its body begins with, and what a browser is needed for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemap_harvest.formats.source import Source
from sitemap_harvest.plan import Lead, Need, Plain, may_open, need_of, wants_links

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy import Request
    from scrapy.http import Response

    from sitemap_harvest.formats import Limits


def need_of_response(request: Request, response: Response, limits: Limits) -> Need | None:
    """Return what a browser is needed for to get what *response* to *request* should have been; ``None``: nothing."""
    headers = {
        name.decode("latin-1").lower(): [value.decode("latin-1") for value in values]
        for name, values in response.headers.items()
    }
    return look_at(request, response.url, response.status, headers, response.body, limits)[0]


def look_at(
    request: Request,
    url: str,
    status: int,
    headers: Mapping[str, Sequence[str]],
    body: bytes,
    limits: Limits,
) -> tuple[Need | None, bool]:
    """Return the same, and whether the page can become another one by itself. *headers* are by names in lower case."""
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
    lead = request.cb_kwargs.get("lead")
    plain = Plain(
        status=status,
        head=source.head,
        url=url,
        content_type=content_type,
        retry_after="retry-after" in headers,
        sets_cookie="set-cookie" in headers,
        wants_links=isinstance(lead, Lead) and wants_links(lead),
    )
    need = need_of(plain)
    return need, need is not None and may_open(source.head)
