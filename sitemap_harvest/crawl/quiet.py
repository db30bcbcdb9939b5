"""What does not belong into the log: tracebacks of failed downloads, and passwords.

A failed download is a ledger row; its traceback would only hide the one line that says it.
"""

from __future__ import annotations

import logging
import re

from sitemap_harvest.crawl.spiders.base import SitemapAttributes

_ROBOTS_LOGGER = "scrapy.downloadermiddlewares.robotstxt"
_SETTINGS_LOGGER = "scrapy.crawler"
_PASSWORD = re.compile(r"('\w+_(?:PASS|PASSWORD|SECRET\w*|TOKEN)': ).*?(?=,\s'[A-Z_0-9]+':|\}\Z)", re.DOTALL)


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


def without_passwords(record: logging.LogRecord) -> bool:
    """Take the passwords from *record*, if it lists settings, and let it pass."""
    if isinstance(record.args, dict) and isinstance(listed := record.args.get("settings"), str):
        record.args = {"settings": _PASSWORD.sub(r"\1'***'", listed)}
    return True


def conceal_passwords() -> None:
    """Let Scrapy not log passwords among the settings that differ from its own, such as ``HTTPAUTH_PASS``."""
    logger = logging.getLogger(_SETTINGS_LOGGER)
    if without_passwords not in logger.filters:
        logger.addFilter(without_passwords)
