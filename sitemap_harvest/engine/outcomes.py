"""The outcome of a document, from the HTTP status of its response and from its contents."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sitemap_harvest.dates import read_date
from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.formats.problems import LOSSY
from sitemap_harvest.model import Cause, Kind, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemap_harvest.formats import Document
    from sitemap_harvest.model import Problem

STATUS_WORDS = {
    204: "the server sent no content",
    401: "the server requires a login",
    403: "the server refuses",
    404: "the server has no such document",
    407: "a proxy requires a login",
    410: "the document is gone for good",
    429: "too many requests",
    451: "it is unavailable for legal reasons",
}
_KIND_WORDS = {
    Kind.EMPTY: "it is empty",
    Kind.HTML: "it is a web page",
    Kind.SOFT_404: "it is a web page that says that the page does not exist",
    Kind.XML: "it is other XML",
}
ON_THE_WAY = frozenset({Cause.DNS, Cause.REFUSED, Cause.TIMEOUT, Cause.CONNECTION, Cause.NOT_HTTP})
UNANSWERED = ON_THE_WAY | {Cause.TLS}
"""Causes for which a host counts as not responding."""
_TOO_LARGE = ("unpack/too-large", "unpack/ratio", "document/too-many-urls", "document/too-many-sitemaps")
_SECONDS = re.compile(r"\d{1,20}", re.ASCII)
_WITHOUT_HEADER = 5.0  # seconds after a 429 without Retry-After, doubled each time
_ABSENT = frozenset({404, 410})
_BLOCKED = frozenset({401, 403, 407, 429, 451})


def of_status(status: int, *, is_local: bool = False) -> NotFetched | None:
    """Return the failure that an HTTP status means, ``None`` if the body is to be read.

    *is_local*: whether the response comes from a local file.
    """
    if is_local:
        return None if status == 200 else NotFetched(Outcome.ABSENT, "there is no such file")
    if 200 <= status < 300 and status != 204:
        return None
    words = STATUS_WORDS.get(status, "the server failed" if status >= 500 else "the server sent no document")
    reason = f"HTTP {status}: {words}"
    if status in _ABSENT:
        return NotFetched(Outcome.ABSENT, reason)
    if status in _BLOCKED:
        return NotFetched(Outcome.BLOCKED, reason)
    is_without_document = status == 204 or 400 <= status < 500
    return NotFetched(Outcome.FAILED, reason, None if is_without_document else Cause.SERVER_ERROR)


def retry_after(status: int, header: str | None, attempt: int, now: datetime | None = None) -> float | None:
    """Return how many seconds to wait before the next request; ``None`` if the server does not require a wait.

    Specs: https://www.rfc-editor.org/rfc/rfc9110#field.retry-after and
    https://www.rfc-editor.org/rfc/rfc6585#section-4

    *status* and *header* (``Retry-After``, ``None`` if absent) are those of the
    response, *attempt* is the number of earlier retries.
    """
    if status not in {429, 503}:
        return None
    text = (header or "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    if text and (date := read_date(text)):
        return max(0.0, (date.value - (now or datetime.now(UTC))).total_seconds())
    return _WITHOUT_HEADER * float(2**attempt) if status == 429 else None


def of_document(document: Document) -> tuple[Outcome, str | None]:
    """Return the outcome and its reason for a document that was read to its end."""
    codes = {problem.code: problem for problem in document.problems}
    for code in _TOO_LARGE:
        if code in codes:
            return Outcome.TOO_LARGE, f"{codes[code].detail}; the part before the limit was read"
    if not document.kind.is_readable and any(code in LOSSY for code in codes):
        return Outcome.FAILED, f"it cannot be unpacked ({', '.join(codes)})"
    if document.kind is Kind.CHALLENGE:
        return Outcome.BLOCKED, f"a firewall blocks it: {codes['document/challenge'].detail}"
    if not document.kind.is_readable:
        return Outcome.NOT_A_SITEMAP, _words_of(document.kind, codes)
    if not document.complete:
        return Outcome.PARTIAL, f"it is damaged ({', '.join(code for code in codes if code in LOSSY)})"
    return Outcome.READ, None


def _words_of(kind: Kind, codes: Mapping[str, Problem]) -> str:
    if kind is Kind.BINARY and "document/binary" in codes:
        return codes["document/binary"].detail
    return _KIND_WORDS.get(kind, "it lists no URLs")
