"""Log filters: no tracebacks of failed downloads, and no passwords.

A failed download has a record; its traceback would only hide the one line with the
reason.
"""

from __future__ import annotations

import logging

from sitemap_harvest.integration.download_errors import of_error
from sitemap_harvest.integration.spider_attributes import SitemapAttributes
from sitemap_harvest.redact import without_passwords


def _as_information(record: logging.LogRecord) -> bool:
    """Let *record* pass; for this package's spiders as information, with a short reason and no traceback."""
    if not isinstance(getattr(record, "spider", None), SitemapAttributes):
        return True
    record.exc_info = None
    if isinstance(record.args, dict) and isinstance(error := record.args.get("f_exception"), Exception):
        record.args = {**record.args, "f_exception": of_error(error).reason}
    record.levelno, record.levelname = min((record.levelno, record.levelname), (logging.INFO, "INFO"))
    return True


def _with_reason(record: logging.LogRecord) -> bool:
    """Let *record* pass; for the failed download of a page without an errback, with a readable reason.

    The traceback remains if the error may be in the project's code.
    """
    is_ours = isinstance(getattr(record, "spider", None), SitemapAttributes)
    if is_ours and record.exc_info and isinstance(record.args, dict) and record.args.keys() == {"request"}:
        refusal = of_error(record.exc_info[1])
        if refusal.cause is not None:
            record.msg, record.args = f"{record.msg}: %(reason)s", {**record.args, "reason": refusal.reason}
            record.exc_info = None
    return True


def _without_passwords(record: logging.LogRecord) -> bool:
    """Remove passwords from *record* if it lists settings, and let it pass."""
    if isinstance(record.args, dict) and isinstance(listed := record.args.get("settings"), str):
        record.args = {"settings": without_passwords(listed)}
    return True


_FILTERS = {
    "scrapy.downloadermiddlewares.robotstxt": _as_information,
    "scrapy.core.scraper": _with_reason,
    "scrapy.crawler": _without_passwords,
}


def filter_logs() -> None:
    """Make Scrapy log a failed download in one line, and its settings without passwords, such as ``HTTPAUTH_PASS``."""
    for name, one in _FILTERS.items():
        logger = logging.getLogger(name)
        if one not in logger.filters:
            logger.addFilter(one)
