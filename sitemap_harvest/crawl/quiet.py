"""What does not belong into the log: tracebacks of failed downloads, and passwords.

A failed download is a ledger row; its traceback would only hide the one line that says it.
"""

from __future__ import annotations

import logging
import re

from sitemap_harvest.crawl.outcome import of_error
from sitemap_harvest.crawl.spiders.base import SitemapAttributes

_ROBOTS_LOGGER = "scrapy.downloadermiddlewares.robotstxt"
_SCRAPER_LOGGER = "scrapy.core.scraper"
_SETTINGS_LOGGER = "scrapy.crawler"
_PASSWORD = re.compile(r"('\w+_(?:PASS|PASSWORD|SECRET\w*|TOKEN)': ).*?(?=,\s'[A-Z_0-9]+':|\}\Z)", re.DOTALL)


def as_information(record: logging.LogRecord) -> bool:
    """Let *record* pass; one of a spider of ours without its traceback, in our words, and as no error any more."""
    if not isinstance(getattr(record, "spider", None), SitemapAttributes):
        return True
    record.exc_info = None
    if isinstance(record.args, dict) and isinstance(error := record.args.get("f_exception"), Exception):
        record.args = {**record.args, "f_exception": of_error(error).reason}
    record.levelno, record.levelname = min((record.levelno, record.levelname), (logging.INFO, "INFO"))
    return True


def with_its_reason(record: logging.LogRecord) -> bool:
    """Let *record* pass; that a page could not be downloaded, which no errback handles, with the reason in our words.

    The error keeps its traceback where it may be one of the project's code.
    """
    is_ours = isinstance(getattr(record, "spider", None), SitemapAttributes)
    if is_ours and record.exc_info and isinstance(record.args, dict) and record.args.keys() == {"request"}:
        refusal = of_error(record.exc_info[1])
        if refusal.cause is not None:
            record.msg, record.args = f"{record.msg}: %(reason)s", {**record.args, "reason": refusal.reason}
            record.exc_info = None
    return True


def quieten() -> None:
    """Let Scrapy log a failed download in one line."""
    for name, one_line in ((_ROBOTS_LOGGER, as_information), (_SCRAPER_LOGGER, with_its_reason)):
        logger = logging.getLogger(name)
        if one_line not in logger.filters:
            logger.addFilter(one_line)


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
