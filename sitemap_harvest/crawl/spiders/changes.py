"""``scrapy crawl changes``."""

from __future__ import annotations

from typing import ClassVar

from sitemap_harvest.crawl.spiders.harvest import HarvestSpider


class ChangesSpider(HarvestSpider):
    """From sites and a store of snapshots to one item for each URL that has changed since the last."""

    name = "changes"
    refuses_unknown_arguments = True
    harvest_arguments: ClassVar = {"emit": "changes"}
