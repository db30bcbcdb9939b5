"""``SitemapSpider``: ``scrapy crawl sitemap``."""

from __future__ import annotations

from sitemap_harvest.spiders.harvest import HarvestSpider


class SitemapSpider(HarvestSpider):
    """Emits one item for each URL that sites, sitemaps or files publish."""

    name = "sitemap"
    refuses_unknown_arguments = True
