"""Scrapy settings of this repository's own project; ``scrapy.cfg`` names this module."""

from sitemap_harvest.crawl import defaults

BOT_NAME = "sitemap_harvest"

globals().update(defaults.ALL)
