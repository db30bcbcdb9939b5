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
from sitemap_harvest.integration.replay import NotArchivedError
from sitemap_harvest.integration.spider_attributes import SitemapAttributes
from sitemap_harvest.model import Cause, Outcome
from sitemap_harvest.redact import without_passwords
from sitemap_harvest.urls import without_user

_FAILED = Outcome.FAILED
_REFUSALS = (DownloadCancelledError, IgnoreRequest)
_TUNNEL = r"\ACould not open CONNECT tunnel"
_TOO_LARGE = "the document is larger than DOWNLOAD_MAXSIZE"
_MAY_NEED_HTTP = "the URL may need http://"
_NO_TLS = f"TLS failed: the server does not speak TLS; {_MAY_NEED_HTTP}"
_MAY_BE_PLAIN = re.compile(r"https://[^/?#]*:[0-9]+(?:[/?#]|\Z)", re.IGNORECASE)  # with a port, which is of one scheme
_OF_PROXY = "the proxy cannot connect to the host: HTTP {0}"
_FOLDER = "the path is a folder, not a file; to read it in place of a site, name the site, and add -a root=FOLDER"
_NO_HTTP = "the server does not speak HTTP"
_ERRORS: tuple[tuple[type | tuple[type, ...], str, Outcome, str, Cause | None], ...] = (
    (_REFUSALS, "max size|DOWNLOAD_MAXSIZE", Outcome.TOO_LARGE, _TOO_LARGE, None),
    # Scrapy 2.19 cancels a body without a length silently, and for no other reason.
    (DownloadCancelledError, r"\A\Z", Outcome.TOO_LARGE, _TOO_LARGE, None),
    (_REFUSALS, r"\AForbidden by robots\.txt", Outcome.FORBIDDEN, "robots.txt disallows the URL", None),
    (_REFUSALS, r"\Amax redirections", _FAILED, "too many redirects", Cause.SERVER_ERROR),
    (DownloadCancelledError, "", _FAILED, "{text}", None),
    (IgnoreRequest, r"\A\Z", Outcome.SKIPPED, "another component of the project dropped the request", None),
    (IgnoreRequest, "", Outcome.SKIPPED, "{text}", None),
    (CannotResolveHostError, "", _FAILED, "no such host: DNS cannot resolve the name", Cause.DNS),
    (DownloadConnectionRefusedError, "", _FAILED, "the host refuses the connection", Cause.REFUSED),
    (DownloadTimeoutError, "", _FAILED, "no response within the timeout", Cause.TIMEOUT),
    (ResponseDataLossError, "", _FAILED, "the connection was closed early", Cause.CONNECTION),
    (UnsupportedURLSchemeError, "", Outcome.OUT_OF_SCOPE, "the URL scheme is not supported", None),
    (FileNotFoundError, "", Outcome.ABSENT, "there is no such file", None),
    (IsADirectoryError, "", _FAILED, _FOLDER, None),
    (UnicodeError, "", _FAILED, "invalid host name", Cause.DNS),
    (PermissionError, "", _FAILED, "no permission to read the file", None),
    (NotImplementedError, "", _FAILED, "Scrapy does not support HTTPS requests through an https:// proxy", None),
    (DownloadFailedError, "wrong version number", _FAILED, _NO_TLS, Cause.TLS),
    (DownloadFailedError, "VerificationError", _FAILED, "TLS failed: the certificate is for another host", Cause.TLS),
    (DownloadFailedError, "(?i)ssl|tls|certificate", _FAILED, "TLS failed: {words}", Cause.TLS),
    (DownloadFailedError, "ParseError", _FAILED, f"{_NO_HTTP}: {{words}}", Cause.NOT_HTTP),
    (DownloadFailedError, "", _FAILED, "the connection failed: {words}", Cause.CONNECTION),
    # Errors without a type of their own. Not their text, which may contain the password of a proxy, or repeat the
    # request. Some proxies send 401 for a wrong password.
    (object, "invalid hostname", _FAILED, "invalid host name", Cause.DNS),
    (object, "Port could not be cast", _FAILED, "the port of the host or of a proxy is not a number", None),
    (object, rf"{_TUNNEL}.*?'status': (401|407)", Outcome.BLOCKED, f"HTTP {{0}}: {STATUS_WORDS[407]}", None),
    (object, rf"{_TUNNEL}.*?'status': (\d{{3}})", _FAILED, _OF_PROXY, Cause.CONNECTION),
    (object, _TUNNEL, _FAILED, _NO_HTTP, Cause.NOT_HTTP),
    (object, "", _FAILED, "{kind}: {text}", None),
)
"""The first row whose type and pattern match decides: the outcome, the reason and the cause of a document."""


def of_error(error: BaseException | None, proxy: str | None = None, url: str = "") -> NotFetched:
    """Return the outcome for a download error of *url*; *proxy* is the URL of the proxy, if one was used."""
    refusal = _of_error(error)
    if isinstance(error, DownloadFailedError) and refusal.cause is Cause.CONNECTION and _MAY_BE_PLAIN.match(url):
        refusal = replace(refusal, reason=f"{refusal.reason}; {_MAY_NEED_HTTP}")
    if proxy and refusal.cause in ON_THE_WAY:
        return replace(refusal, reason=f"{refusal.reason} (through the proxy {without_user(proxy)})")
    return refusal


def _of_error(error: BaseException | None) -> NotFetched:
    text = " ".join(str(error).split())
    if isinstance(error, HttpError):
        return outcome_of_status(error.response.status) or NotFetched(Outcome.FAILED, text)
    if isinstance(error, PrivateAddressError | NotArchivedError):
        return error.refusal
    reasons = getattr(error and error.__cause__, "reasons", None)  # Twisted's list: the last is the most specific
    words = " ".join(str(reasons[-1].value).split()) if reasons else text
    values = {"kind": type(error).__name__, "text": text[:200], "words": words.rstrip(".")[:200]}
    for kinds, pattern, outcome, reason, cause in _ERRORS:
        if isinstance(error, kinds) and (found := re.search(pattern, text)):
            return NotFetched(outcome, reason.format(*found.groups(), **values), cause)
    raise AssertionError  # the last row matches


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
