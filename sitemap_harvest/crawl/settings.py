"""Scrapy settings of this repository's own project; ``scrapy.cfg`` names this module."""

from sitemap_harvest.crawl import defaults

BOT_NAME = "sitemap_harvest"
USER_AGENT = "sitemap_harvest (+https://pypi.org/project/scrapy-sitemap-harvest/)"

globals().update(defaults.ALL)
