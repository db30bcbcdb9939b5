"""``scrapy crawl sitemap``."""

from __future__ import annotations

from sitemap_harvest.crawl.spiders.harvest import HarvestSpider


class SitemapSpider(HarvestSpider):
    """From sites, sitemaps or files to one item for each URL that they publish."""

    name = "sitemap"
    refuses_unknown_arguments = True
