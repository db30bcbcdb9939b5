"""Scrapy settings of this repository's own project; ``scrapy.cfg`` names this module."""

from sitemap_harvest.integration import default_settings as defaults

BOT_NAME = "sitemap_harvest"

globals().update(defaults.ALL)
