"""Maps download errors of Scrapy and Twisted to the outcome and reason of a document, and shortens them in the log."""

from __future__ import annotations

import logging
import re
from dataclasses import replace

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from scrapy.spidermiddlewares.httperror import HttpError

from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.engine.document_records import ON_THE_WAY, STATUS_WORDS, outcome_of_status
from sitemap_harvest.escape import escape_log
from sitemap_harvest.integration.guards import PrivateAddressError
from sitemap_harvest.integration.spider_attributes import SitemapAttributes
from sitemap_harvest.model import Cause, Outcome
from sitemap_harvest.redact import without_passwords
from sitemap_harvest.urls import without_user

_ERRORS: tuple[tuple[type[Exception], Outcome, str, Cause | None], ...] = (
    (CannotResolveHostError, Outcome.FAILED, "no such host: DNS cannot resolve its name", Cause.DNS),
    (DownloadConnectionRefusedError, Outcome.FAILED, "the host refuses the connection", Cause.REFUSED),
    (DownloadTimeoutError, Outcome.FAILED, "no response within the timeout", Cause.TIMEOUT),
    (ResponseDataLossError, Outcome.FAILED, "the connection was cut", Cause.CONNECTION),
    (UnsupportedURLSchemeError, Outcome.OUT_OF_SCOPE, "the URL scheme is not supported", None),
    (FileNotFoundError, Outcome.ABSENT, "there is no such file", None),
    (IsADirectoryError, Outcome.FAILED, "it is a folder, not a file", None),
    (UnicodeError, Outcome.FAILED, "invalid host name", Cause.DNS),
    (PermissionError, Outcome.FAILED, "no permission to read the file", None),
    (NotImplementedError, Outcome.FAILED, "Scrapy does not support HTTPS requests through an https:// proxy", None),
)
_NO_HTTP = "the server does not speak HTTP"
_NO_TUNNEL = "Could not open CONNECT tunnel"
_PROXY_STATUS = re.compile(r"'status': (\d{3})")


def of_error(error: BaseException | None, proxy: str | None = None) -> NotFetched:
    """Return the outcome for a download error; *proxy* is the URL of the proxy, if one was used."""
    refusal = _of_error(error)
    if proxy and refusal.cause in ON_THE_WAY:
        return replace(refusal, reason=f"{refusal.reason} (through the proxy {without_user(proxy)})")
    return refusal


def _of_error(error: BaseException | None) -> NotFetched:
    text = " ".join(str(error).split())
    if isinstance(error, HttpError):
        return outcome_of_status(error.response.status) or NotFetched(Outcome.FAILED, text)
    if isinstance(error, PrivateAddressError):
        return error.refusal
    if isinstance(error, (DownloadCancelledError, IgnoreRequest)):
        return _of_refusal(text, is_cancelled=isinstance(error, DownloadCancelledError))
    for kind, outcome, reason, cause in _ERRORS:
        if isinstance(error, kind):
            return NotFetched(outcome, reason, cause)
    if isinstance(error, DownloadFailedError):
        return _of_failure(error, text)
    return _of_words(text) or NotFetched(Outcome.FAILED, f"{type(error).__name__}: {text[:200]}")


def _of_words(text: str) -> NotFetched | None:
    """Return the outcome of an error without its own Scrapy type, by its text; ``None`` if it is unknown."""
    if "invalid hostname" in text:
        return NotFetched(Outcome.FAILED, "invalid host name", Cause.DNS)
    if "Port could not be cast" in text:  # the rest of the text may contain the password of a proxy
        return NotFetched(Outcome.FAILED, "the port of the host or of a proxy is not a number")
    return _of_proxy(text) if text.startswith(_NO_TUNNEL) else None


def _of_proxy(text: str) -> NotFetched:
    """Return the outcome if a proxy does not connect to the host, which Scrapy reports only as text."""
    if (status := _PROXY_STATUS.search(text)) is None:
        return NotFetched(Outcome.FAILED, _NO_HTTP, Cause.NOT_HTTP)  # not the original text: it may repeat the request
    if status[1] in {"401", "407"}:  # some proxies send 401 for a wrong password
        return NotFetched(Outcome.BLOCKED, f"HTTP {status[1]}: {STATUS_WORDS[407]}")
    return NotFetched(Outcome.FAILED, f"the proxy does not connect to the host: HTTP {status[1]}", Cause.CONNECTION)


def _of_failure(error: DownloadFailedError, text: str) -> NotFetched:
    """Return the outcome of a failed connection, which only its text describes."""
    if "wrong version number" in text:
        words = "TLS failed: the server does not speak TLS; its URL may need http://"
        return NotFetched(Outcome.FAILED, words, Cause.TLS)
    if "VerificationError" in text:
        return NotFetched(Outcome.FAILED, "TLS failed: the certificate is for another host", Cause.TLS)
    reasons = getattr(error.__cause__, "reasons", None)  # Twisted's list of failures: the last is the most specific
    words = " ".join(str(reasons[-1].value if reasons else error).split()).rstrip(".")[:200]
    if any(word in text.lower() for word in ("ssl", "tls", "certificate")):
        return NotFetched(Outcome.FAILED, f"TLS failed: {words}", Cause.TLS)
    if "ParseError" in text:
        return NotFetched(Outcome.FAILED, f"{_NO_HTTP}: {words}", Cause.NOT_HTTP)
    return NotFetched(Outcome.FAILED, f"the connection failed: {words}", Cause.CONNECTION)


def _of_refusal(text: str, *, is_cancelled: bool) -> NotFetched:
    """Return the outcome if a Scrapy component refused the request, which only its text describes."""
    # Scrapy 2.19 cancels a body without a length silently, and for no other reason.
    if "max size" in text or "DOWNLOAD_MAXSIZE" in text or (is_cancelled and not text):
        return NotFetched(Outcome.TOO_LARGE, "larger than DOWNLOAD_MAXSIZE allows")
    if text.startswith("Forbidden by robots.txt"):
        return NotFetched(Outcome.FORBIDDEN, "robots.txt disallows it")
    if text.startswith("max redirections"):
        return NotFetched(Outcome.FAILED, "too many redirects", Cause.SERVER_ERROR)
    if is_cancelled:
        return NotFetched(Outcome.FAILED, text[:200])
    return NotFetched(Outcome.SKIPPED, text[:200] or "another component of the project dropped the request")


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
    """Let Scrapy log a failed download in one line, without a traceback, which would only hide the reason.

    Passwords are removed from the logged settings, such as ``HTTPAUTH_PASS``, and
    foreign text is escaped.
    """
    escape_log()
    for name, one in _FILTERS.items():
        logger = logging.getLogger(name)
        if one not in logger.filters:
            logger.addFilter(one)
