"""The record of a document, from its candidate, its response and its contents; the outcome that these mean."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sitemap_harvest.dates import read_date
from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.formats.document import OPEN_KINDS
from sitemap_harvest.formats.problem_log import LOSSY
from sitemap_harvest.model import Cause, Kind, Outcome, Problem, SitemapRecord

if TYPE_CHECKING:
    from sitemap_harvest.discovery.candidate import Candidate
    from sitemap_harvest.engine.interfaces import DocumentResponse, Transfer
    from sitemap_harvest.formats import Document


_CHALLENGE = "the response is a challenge page"
_OUTSIDE = "the document is outside the folder that replaces the site, and is not read"


def record_of(
    candidate: Candidate,
    not_fetched: NotFetched | None,
    *,
    transfer: Transfer | None = None,
    response: DocumentResponse | None = None,
    is_local: bool = False,
) -> SitemapRecord:
    """Return the record of *candidate*.

    *not_fetched* is why it was not read; ``None`` if it is to be read. *transfer* is that
    of its last request; ``None`` if none was sent. *response* is its response, if there
    was one. *is_local*: whether that is a local file.
    """
    record = SitemapRecord(
        url=candidate.url,
        parent=candidate.parent,
        root=candidate.root,
        depth=candidate.depth,
        found_by=candidate.found_by,
        outcome=Outcome.READ,
        lastmod=candidate.lastmod,
        lastmod_text=candidate.lastmod_text,
        fetched_at=None if transfer is None else datetime.fromtimestamp(transfer.sent_at, UTC),
        seconds=None if transfer is None or transfer.seconds is None else round(transfer.seconds, 3),
        **({} if response is None else _facts_of(response, is_local=is_local)),
    )
    if not_fetched is not None:
        record = with_failure(record, not_fetched)
    if response is not None and response.is_outside:
        record = replace(record, reason=_OUTSIDE)
    if response is None or response.challenge is None:
        return record
    return with_failure(record, NotFetched(Outcome.BLOCKED, f"{record.reason or _CHALLENGE}, {response.challenge}"))


def cut_off_record(candidate: Candidate, why: str, outcome: Outcome, *, in_flight: bool) -> SitemapRecord:
    """Return the record of *candidate*, which was not read because of *why*, such as ``the run ended``.

    *in_flight*: whether it was being requested then. The status is the one that made it wait, if it was requeued.
    """
    earlier = None if candidate.status is None else outcome_of_status(candidate.status)
    if earlier is None:
        when = "a response arrived" if in_flight else "the document was requested"
        return record_of(candidate, NotFetched(outcome, f"{why} before {when}"))
    when = "a response to the next try arrived" if in_flight else "the next try"
    reason = f"{earlier.reason}; {why} before {when}"
    return replace(record_of(candidate, NotFetched(outcome, reason)), status=candidate.status)


def with_failure(record: SitemapRecord, failure: NotFetched) -> SitemapRecord:
    """Return *record* with the outcome, the reason and the problem of *failure*."""
    code = failure.problem
    problems = () if code is None else (Problem(code=code, document=record.url, detail=failure.reason),)
    return replace(
        record, outcome=failure.outcome, reason=failure.reason, cause=failure.cause, problems=record.problems + problems
    )


def _facts_of(response: DocumentResponse, *, is_local: bool) -> dict[str, Any]:
    """Return the fields of a record that *response* gives."""
    return {
        "final_url": response.url,
        "status": None if is_local else response.status,
        "bytes_downloaded": len(response.body),
        "via": response.via,
        "content_type": response.header("content-type"),
        "etag": response.header("etag"),
        "last_modified": response.header("last-modified"),
    }


def describe(record: SitemapRecord, document: Document, *, was_cut: bool, out_of_scope: int | None) -> SitemapRecord:
    """Return *record* with the facts of *document*.

    *was_cut*: whether the connection ended early. *out_of_scope*: as in the record.
    """
    outcome, reason = _outcome_of_document(document)
    cause = record.cause
    if was_cut and outcome in {Outcome.READ, Outcome.PARTIAL}:
        outcome, reason = Outcome.PARTIAL, "the connection was closed early; the partial data was read"
    if was_cut and outcome is Outcome.NOT_A_SITEMAP and document.kind in OPEN_KINDS:
        outcome, cause = Outcome.FAILED, Cause.CONNECTION
        reason = "the connection was closed early, before it was clear what the document is"
    return replace(
        record,
        cause=cause,
        kind=document.kind,
        outcome=outcome,
        reason=reason,
        bytes_unpacked=document.bytes_unpacked,
        layers=document.layers,
        encoding=document.encoding,
        entries=document.entries,
        problems=document.problems,
        sha256=document.sha256,
        complete=document.complete and not was_cut,
        out_of_scope=out_of_scope,
    )


STATUS_WORDS = {
    204: "the server sent no content",
    401: "the server requires a login",
    403: "the server refuses access",
    404: "the server has no such document",
    407: "a proxy requires a login",
    410: "the document is permanently gone",
    429: "too many requests",
    451: "the document is unavailable for legal reasons",
}
_KIND_WORDS = {
    Kind.EMPTY: "the document is empty",
    Kind.HTML: "the document is a web page",
    Kind.SOFT_404: "the document is a web page that reports a missing page",
    Kind.XML: "the document is XML, but not a sitemap or a feed",
}
ON_THE_WAY = frozenset({Cause.DNS, Cause.REFUSED, Cause.TIMEOUT, Cause.CONNECTION, Cause.NOT_HTTP})
UNANSWERED = ON_THE_WAY | {Cause.TLS}
"""Causes for which a host counts as not responding."""
_TOO_LARGE = ("unpack/too-large", "unpack/ratio", "document/too-many-urls", "document/too-many-sitemaps")
_SECONDS = re.compile(r"\d{1,20}", re.ASCII)
_WITHOUT_HEADER = 5.0  # seconds after a 429 without Retry-After, doubled each time
_ABSENT = frozenset({404, 410})
_BLOCKED = frozenset({401, 403, 407, 429, 451})


def outcome_of_status(status: int, *, is_local: bool = False) -> NotFetched | None:
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


def _outcome_of_document(document: Document) -> tuple[Outcome, str | None]:
    """Return the outcome and its reason for a document that was read to its end."""
    codes = {problem.code: problem for problem in document.problems}
    for code in _TOO_LARGE:
        if code in codes:
            return Outcome.TOO_LARGE, f"{codes[code].detail}; the part before the limit was read"
    if not document.kind.is_readable and any(code in LOSSY for code in codes):
        return Outcome.FAILED, f"the document cannot be decompressed ({', '.join(codes)})"
    if document.kind is Kind.CHALLENGE:
        return Outcome.BLOCKED, f"a firewall blocks the request: {codes['document/challenge'].detail}"
    if not document.kind.is_readable:
        is_binary = document.kind is Kind.BINARY and "document/binary" in codes
        words = codes["document/binary"].detail if is_binary else _KIND_WORDS.get(document.kind, "not a list of URLs")
        return Outcome.NOT_A_SITEMAP, words
    if not document.complete:
        return Outcome.PARTIAL, f"the document is incomplete ({', '.join(code for code in codes if code in LOSSY)})"
    return Outcome.READ, None
