"""The spiders: ``sitemap``, ``changes``, and the base class of custom spiders."""

from sitemap_harvest.spiders.harvest import HarvestSpider

__all__ = ["HarvestSpider"]
