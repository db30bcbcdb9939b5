"""Scrapy's pipelines for files and images beside our items: they have nothing to do with them.

They look for a field ``image_urls``, find none, and put the images that they
got, which are none, into a field ``images``. Ours holds what the sitemap says.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sitemap_harvest.model import Change, ChangeSummary, SitemapRecord, SiteRecord, UrlEntry

_RECORDS = (UrlEntry, SitemapRecord, SiteRecord, Change, ChangeSummary)
_SCRAPYS = "scrapy.pipelines."
_METHODS = ("process_item", "get_media_requests", "item_completed")
_URL_FIELDS = ("images_urls_field", "files_urls_field")


class Unconcerned:
    """A media pipeline of Scrapy's, which is not shown our items."""

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pipeline, name)

    async def process_item(self, item: Any) -> Any:
        """Pass on *item*: one of ours as it is."""
        return item if isinstance(item, _RECORDS) else await self._pipeline.process_item(item)


def is_unconcerned(pipeline: Any) -> bool:
    """Whether *pipeline* looks for a field that our items lack, in the way in which Scrapy does.

    One that has a method of its own, or a field that they have, does what it is told.
    """
    methods = [getattr(type(pipeline), method, None) for method in _METHODS]
    if not all(getattr(method, "__module__", "").startswith(_SCRAPYS) for method in methods):
        return False
    wanted = [getattr(pipeline, name) for name in _URL_FIELDS if hasattr(pipeline, name)]
    known = {field.name for record in _RECORDS for field in fields(record)}
    return bool(wanted) and not known & set(wanted)
