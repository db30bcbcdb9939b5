"""Sitemaps that a spider requests itself, from a callback: what they lead to, as Scrapy's ``SitemapSpider`` has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request

from sitemap_harvest.crawl.pages import page_request
from sitemap_harvest.formats import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.http import Response

    from sitemap_harvest.crawl.options import Options
    from sitemap_harvest.crawl.selection import Selection


def requests_of(
    response: Response, selection: Selection, options: Options, *, callback: Callable[..., Any]
) -> Iterator[Request]:
    """Yield a request for each page that the document in *response* lists, and to *callback* for each sitemap."""
    content_type = response.headers.get("Content-Type")
    document = Document(
        response.body,
        url=response.url,
        content_type=content_type.decode("latin-1") if content_type else None,
        limits=options.limits,
        was_cut="dataloss" in response.flags,
    )
    rows = (row for batch in document.urls() for row in batch.rows())
    for visit in selection.visits(rows, sitemap=response.url):
        yield page_request(visit)
    for reference, refusal in selection.children(list(document.sitemaps()), document.kind):
        if refusal is None and reference.found_by is None:
            yield Request(reference.loc, callback=callback)
