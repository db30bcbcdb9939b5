"""The spiders ``sitemap``, ``changes`` and ``audit``."""

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


class AuditSpider(HarvestSpider):
    """Emits one item for each finding: what is wrong with the sitemaps of the sites."""

    name = "audit"
    refuses_unknown_arguments = True
    harvest_arguments: ClassVar = {"emit": "findings"}
