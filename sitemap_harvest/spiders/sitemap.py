"""The spiders ``scrapy crawl sitemap`` and ``scrapy crawl changes``."""

from __future__ import annotations

from typing import ClassVar

from sitemap_harvest.spiders.harvest import HarvestSpider


class SitemapSpider(HarvestSpider):
    """Emits one item for each URL that sites, sitemaps or files publish."""

    name = "sitemap"
    refuses_unknown_arguments = True


class ChangesSpider(HarvestSpider):
    """Emits one item for each URL that has changed since the last snapshot of its site."""

    name = "changes"
    refuses_unknown_arguments = True
    harvest_arguments: ClassVar = {"emit": "changes"}
