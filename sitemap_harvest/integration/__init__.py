"""Scrapy components that a run replaces or adds: settings, middlewares, download handler, item pipeline, feeds."""
