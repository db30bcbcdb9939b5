"""Everything that knows Scrapy: spiders, and the parts that let batches travel through it."""

from sitemap_harvest.crawl.addon import Addon

__all__ = ["Addon"]
