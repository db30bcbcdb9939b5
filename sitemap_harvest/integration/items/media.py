"""``BypassedMediaPipeline``: keeps Scrapy's files and images pipelines away from this package's items.

These pipelines look for a field ``image_urls``, find none, and write their empty result
to the field ``images``, which holds the images of the sitemap.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sitemap_harvest.model import Change, ChangeSummary, SitemapRecord, SiteRecord, UrlEntry

_RECORDS = (UrlEntry, SitemapRecord, SiteRecord, Change, ChangeSummary)
_SCRAPYS = "scrapy.pipelines."
_METHODS = ("process_item", "get_media_requests", "item_completed")
_URL_FIELDS = ("images_urls_field", "files_urls_field")


class BypassedMediaPipeline:
    """A media pipeline of Scrapy that does not get the package's items."""

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pipeline, name)

    async def process_item(self, item: Any) -> Any:
        """Process *item*; an item of this package is returned unchanged."""
        return item if isinstance(item, _RECORDS) else await self._pipeline.process_item(item)


def is_bypassed(pipeline: Any) -> bool:
    """Whether *pipeline* looks for a field that the package's items lack, in Scrapy's way.

    A pipeline with its own method, or with a field that the items have, is not
    bypassed.
    """
    methods = [getattr(type(pipeline), method, None) for method in _METHODS]
    if not all(getattr(method, "__module__", "").startswith(_SCRAPYS) for method in methods):
        return False
    wanted = [getattr(pipeline, name) for name in _URL_FIELDS if hasattr(pipeline, name)]
    known = {field.name for record in _RECORDS for field in fields(record)}
    return bool(wanted) and not known & set(wanted)
