"""A failed download is a ledger row; its traceback in the log would only hide the one line that says it."""

from __future__ import annotations

import logging

_ROBOTS_LOGGER = "scrapy.downloadermiddlewares.robotstxt"


def without_traceback(record: logging.LogRecord) -> bool:
    """Take the traceback from *record*, and let it pass."""
    record.exc_info = None
    return True


def quieten() -> None:
    """Let Scrapy's robots.txt middleware log a failed download in one line."""
    logger = logging.getLogger(_ROBOTS_LOGGER)
    if without_traceback not in logger.filters:
        logger.addFilter(without_traceback)
