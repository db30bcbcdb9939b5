"""A failed download is a ledger row; its traceback in the log would only hide the one line that says it."""

from __future__ import annotations

import logging

_ROBOTS_LOGGER = "scrapy.downloadermiddlewares.robotstxt"


def as_information(record: logging.LogRecord) -> bool:
    """Take the traceback from *record*, let it be no error any more, and let it pass."""
    record.exc_info = None
    record.levelno, record.levelname = min((record.levelno, record.levelname), (logging.INFO, "INFO"))
    return True


def quieten() -> None:
    """Let Scrapy's robots.txt middleware log a failed download in one line."""
    logger = logging.getLogger(_ROBOTS_LOGGER)
    if as_information not in logger.filters:
        logger.addFilter(as_information)
