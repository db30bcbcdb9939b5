"""The spiders: ``sitemap``, ``changes``, and the base of your own."""

from sitemap_harvest.spiders.harvest import HarvestSpider

__all__ = ["HarvestSpider"]
