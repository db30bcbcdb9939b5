"""A failed download is a ledger row; its traceback in the log would only hide the one line that says it."""

from __future__ import annotations

import logging

from sitemap_harvest.crawl.spiders.base import SitemapAttributes

_ROBOTS_LOGGER = "scrapy.downloadermiddlewares.robotstxt"


def as_information(record: logging.LogRecord) -> bool:
    """Let *record* pass; one of a spider of ours without its traceback, and as no error any more."""
    if not isinstance(getattr(record, "spider", None), SitemapAttributes):
        return True
    record.exc_info = None
    record.levelno, record.levelname = min((record.levelno, record.levelname), (logging.INFO, "INFO"))
    return True


def quieten() -> None:
    """Let Scrapy's robots.txt middleware log a failed download in one line."""
    logger = logging.getLogger(_ROBOTS_LOGGER)
    if as_information not in logger.filters:
        logger.addFilter(as_information)
