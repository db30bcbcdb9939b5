"""The spiders, for ``SPIDER_MODULES``."""
