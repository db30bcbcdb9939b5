"""From what the download gave to what became of the document, in one word and in words."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

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

from sitemap_harvest.crawl.reach import PrivateAddressError
from sitemap_harvest.formats.problems import LOSSY
from sitemap_harvest.model import Cause, Kind, Outcome
from sitemap_harvest.plan import Refusal, asked_wait
from sitemap_harvest.urls import without_user

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.http import Response

    from sitemap_harvest.formats import Document
    from sitemap_harvest.model import Problem

_STATUS_WORDS = {
    204: "the server sent no content",
    401: "the server asks for a login",
    403: "the server refuses",
    404: "the server has no such document",
    407: "a proxy asks for a login",
    410: "the server says it is gone for good",
    429: "the server says too many requests",
    451: "the server may not give it, for legal reasons",
}
_KIND_WORDS = {
    Kind.EMPTY: "it is empty",
    Kind.HTML: "it is a web page",
    Kind.SOFT_404: "it is a web page, which says that there is no such page",
    Kind.XML: "it is XML of another sort",
}
_TOO_LARGE = ("unpack/too-large", "unpack/ratio", "document/too-many-urls", "document/too-many-sitemaps")
_ABSENT = frozenset({404, 410})
_BLOCKED = frozenset({401, 403, 407, 429, 451})
_ERRORS: tuple[tuple[type[Exception], Outcome, str, Cause | None], ...] = (
    (CannotResolveHostError, Outcome.FAILED, "no such host: its name cannot be looked up", Cause.DNS),
    (DownloadConnectionRefusedError, Outcome.FAILED, "the host refuses the connection", Cause.REFUSED),
    (DownloadTimeoutError, Outcome.FAILED, "no answer within the time allowed", Cause.TIMEOUT),
    (ResponseDataLossError, Outcome.FAILED, "the connection was cut", Cause.CONNECTION),
    (UnsupportedURLSchemeError, Outcome.OUT_OF_SCOPE, "its address is of a kind that cannot be fetched", None),
    (FileNotFoundError, Outcome.ABSENT, "there is no such file", None),
    (IsADirectoryError, Outcome.FAILED, "it is a folder, not a file", None),
    (UnicodeError, Outcome.FAILED, "no such host: its name is none that a host can have", Cause.DNS),
    (PermissionError, Outcome.FAILED, "the file may not be read", None),
    (NotImplementedError, Outcome.FAILED, "Scrapy asks no proxy for https whose own address begins with https", None),
)
_ON_THE_WAY = frozenset({Cause.DNS, Cause.REFUSED, Cause.TIMEOUT, Cause.CONNECTION, Cause.NOT_HTTP})
UNANSWERED = _ON_THE_WAY | {Cause.TLS}
"""Why no answer came of a host."""
_NO_HTTP = "what answers does not speak HTTP"
_NO_TUNNEL = "Could not open CONNECT tunnel"
_PROXY_STATUS = re.compile(r"'status': (\d{3})")


def of_status(status: int, *, is_local: bool = False) -> Refusal | None:
    """Return what an HTTP status says of a document, ``None`` if its body is to be read.

    *is_local* tells that a file answered, and no server.
    """
    if is_local:
        return None if status == 200 else Refusal(Outcome.ABSENT, "there is no such file")
    if 200 <= status < 300 and status != 204:
        return None
    words = _STATUS_WORDS.get(status, "the server failed" if status >= 500 else "the server gave no document")
    reason = f"HTTP {status}: {words}"
    if status in _ABSENT:
        return Refusal(Outcome.ABSENT, reason)
    if status in _BLOCKED:
        return Refusal(Outcome.BLOCKED, reason)
    is_without_document = status == 204 or 400 <= status < 500
    return Refusal(Outcome.FAILED, reason, None if is_without_document else Cause.SERVER_ERROR)


def wanted_wait(response: Response, attempt: int) -> float | None:
    """Return for how many seconds the server of *response* wants to be left alone; ``None`` if it does not say so.

    *attempt* is how often it was asked again before.
    """
    header = response.headers.get("Retry-After")
    text = header.decode("latin-1") if header is not None else None
    return asked_wait(response.status, text, attempt, datetime.now(UTC))


def of_error(error: BaseException | None, *, proxy: str | None = None) -> Refusal:
    """Return what an error of the download says of a document; *proxy* is the address of the proxy that was asked."""
    refusal = _of_error(error)
    if proxy and refusal.cause in _ON_THE_WAY:
        return replace(refusal, reason=f"{refusal.reason} (asked through the proxy {without_user(proxy)})")
    return refusal


def _of_error(error: BaseException | None) -> Refusal:
    text = " ".join(str(error).split())
    if isinstance(error, HttpError):
        return of_status(error.response.status) or Refusal(Outcome.FAILED, text)
    if isinstance(error, (DownloadCancelledError, IgnoreRequest)):
        is_cancelled = isinstance(error, DownloadCancelledError)
        return error.refusal if isinstance(error, PrivateAddressError) else _of_refusal(text, is_cancelled=is_cancelled)
    for kind, outcome, reason, cause in _ERRORS:
        if isinstance(error, kind):
            return Refusal(outcome, reason, cause)
    if isinstance(error, DownloadFailedError):
        return _of_failure(error, text)
    return _of_words(text) or Refusal(Outcome.FAILED, f"{type(error).__name__}: {text[:200]}")


def _of_words(text: str) -> Refusal | None:
    """Return what an error says of which Scrapy gives no type of its own; ``None`` if that is not known either."""
    if "invalid hostname" in text:
        return Refusal(Outcome.FAILED, "no such host: its name is none that a host can have", Cause.DNS)
    if "Port could not be cast" in text:  # to go on with what stands there: in the address of a proxy, a password
        return Refusal(Outcome.FAILED, "the address of the host or of a proxy has a port that is no number")
    return _of_proxy(text) if text.startswith(_NO_TUNNEL) else None


def _of_proxy(text: str) -> Refusal:
    """Return what it means that a proxy does not connect to the host, which Scrapy says in words only."""
    if (status := _PROXY_STATUS.search(text)) is None:
        return Refusal(Outcome.FAILED, _NO_HTTP, Cause.NOT_HTTP)  # and not what it says: it may repeat the request
    if status[1] in {"401", "407"}:  # some proxies say 401 where the password is wrong
        return Refusal(Outcome.BLOCKED, f"HTTP {status[1]}: {_STATUS_WORDS[407]}")
    return Refusal(Outcome.FAILED, f"the proxy does not connect to the host: HTTP {status[1]}", Cause.CONNECTION)


def _of_failure(error: DownloadFailedError, text: str) -> Refusal:
    """Return what a connection that failed says of a document, which only its words tell."""
    if "wrong version number" in text:
        words = "TLS failed: the server does not speak it; its address may begin with http://"
        return Refusal(Outcome.FAILED, words, Cause.TLS)
    if "VerificationError" in text:
        return Refusal(Outcome.FAILED, "TLS failed: the certificate is for another host", Cause.TLS)
    words = _last_words(error)[:200]
    if any(word in text.lower() for word in ("ssl", "tls", "certificate")):
        return Refusal(Outcome.FAILED, f"TLS failed: {words}", Cause.TLS)
    if "ParseError" in text:
        return Refusal(Outcome.FAILED, f"{_NO_HTTP}: {words}", Cause.NOT_HTTP)
    return Refusal(Outcome.FAILED, f"the connection failed: {words}", Cause.CONNECTION)


def _last_words(error: Exception) -> str:
    """Return in words what has made a download fail: Twisted gives a list of failures, of which the last says most."""
    reasons = getattr(error.__cause__, "reasons", None)
    return " ".join(str(reasons[-1].value if reasons else error).split()).rstrip(".")


def _of_refusal(text: str, *, is_cancelled: bool) -> Refusal:
    """Return what it means that a part of Scrapy would not go on, which only its words tell."""
    # Scrapy 2.19 cancels a body that comes without its length without a word, and for no other reason.
    if "max size" in text or "DOWNLOAD_MAXSIZE" in text or (is_cancelled and not text):
        return Refusal(Outcome.TOO_LARGE, "larger than DOWNLOAD_MAXSIZE allows")
    if text.startswith("Forbidden by robots.txt"):
        return Refusal(Outcome.FORBIDDEN, "robots.txt forbids it")
    if text.startswith("max redirections"):
        return Refusal(Outcome.FAILED, "it redirects too often", Cause.SERVER_ERROR)
    if is_cancelled:
        return Refusal(Outcome.FAILED, text[:200])
    return Refusal(Outcome.SKIPPED, text[:200] or "a part of the project passed over it")


def of_document(document: Document) -> tuple[Outcome, str | None]:
    """Return what became of a document that was read to its end."""
    codes = {problem.code: problem for problem in document.problems}
    for code in _TOO_LARGE:
        if code in codes:
            return Outcome.TOO_LARGE, f"{codes[code].detail}; what came before was read"
    if not document.kind.is_readable and any(code in LOSSY for code in codes):
        return Outcome.FAILED, f"it cannot be unpacked ({', '.join(codes)})"
    if document.kind is Kind.CHALLENGE:
        return Outcome.BLOCKED, f"a firewall is in the way: {codes['document/challenge'].detail}"
    if not document.kind.is_readable:
        return Outcome.NOT_A_SITEMAP, _words_of(document.kind, codes)
    if not document.complete:
        return Outcome.PARTIAL, f"it is damaged ({', '.join(code for code in codes if code in LOSSY)})"
    return Outcome.READ, None


def _words_of(kind: Kind, codes: Mapping[str, Problem]) -> str:
    if kind is Kind.BINARY and "document/binary" in codes:
        return codes["document/binary"].detail
    return _KIND_WORDS.get(kind, "it is nothing that lists URLs")
