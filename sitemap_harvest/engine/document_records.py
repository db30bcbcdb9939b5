"""Builds the record of a document from its candidate, its response and its contents."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sitemap_harvest.engine import outcomes as outcome
from sitemap_harvest.model import Outcome, Problem, SitemapRecord

if TYPE_CHECKING:
    from sitemap_harvest.discovery.candidate import Candidate, NotFetched
    from sitemap_harvest.engine.interfaces import DocumentResponse
    from sitemap_harvest.formats import Document

_CHALLENGE = "the response is a challenge page that admits only browsers"
_OUTSIDE = "it is outside the folder that replaces the site, and is not read"


def record_of(
    candidate: Candidate,
    not_fetched: NotFetched | None,
    *,
    requested_at: float | None = None,
    response: DocumentResponse | None = None,
    is_local: bool = False,
) -> SitemapRecord:
    """Return the record of *candidate*, requested at *requested_at* (seconds since 1970).

    *not_fetched* is why it was not read; ``None`` if it is to be read. *response* is
    its response, if there was one. *is_local*: whether that is a local file.
    """
    record = SitemapRecord(
        url=candidate.url,
        parent=candidate.parent,
        root=candidate.root,
        depth=candidate.depth,
        found_by=candidate.found_by,
        outcome=not_fetched.outcome if not_fetched else Outcome.READ,
        reason=not_fetched.reason if not_fetched else None,
        cause=not_fetched.cause if not_fetched else None,
        lastmod=candidate.lastmod,
        lastmod_text=candidate.lastmod_text,
    )
    if not_fetched is not None and not_fetched.problem is not None:
        record.problems = (Problem(code=not_fetched.problem, document=candidate.url, detail=not_fetched.reason),)
    if requested_at is not None:
        record.fetched_at = datetime.fromtimestamp(requested_at, UTC)
        record.seconds = round(max(0.0, time.time() - requested_at), 3)
    if response is not None:
        _answered(record, response, is_local=is_local)
    return record


def _answered(record: SitemapRecord, response: DocumentResponse, *, is_local: bool) -> None:
    """Copy the facts of *response* into *record*."""
    record.final_url = response.url
    record.status = None if is_local else response.status
    record.bytes_downloaded = len(response.body)
    record.via = response.via
    record.content_type = response.header("content-type")
    record.etag = response.header("etag")
    record.last_modified = response.header("last-modified")
    if response.is_outside:
        record.reason = _OUTSIDE
    if response.challenge is not None:
        record.outcome, record.cause = Outcome.BLOCKED, None
        record.reason = f"{record.reason or _CHALLENGE}, {response.challenge}"


def describe(record: SitemapRecord, document: Document, *, was_cut: bool) -> None:
    """Copy the facts of *document* into *record*. *was_cut*: whether the connection ended early."""
    record.kind = document.kind
    record.outcome, record.reason = outcome.of_document(document)
    record.bytes_unpacked = document.bytes_unpacked
    record.layers = document.layers
    record.encoding = document.encoding
    record.entries = document.entries
    record.problems = document.problems
    record.sha256 = document.sha256
    record.complete = document.complete and not was_cut
    if was_cut and record.outcome in {Outcome.READ, Outcome.PARTIAL}:
        record.outcome, record.reason = Outcome.PARTIAL, "the connection was cut; the partial data was read"


def cut_short(record: SitemapRecord, reason: str) -> None:
    """Write to *record* that the document was not read to its end, because its site has reached its URL limit."""
    record.outcome, record.reason, record.complete = Outcome.PARTIAL, reason, False
    record.problems += (Problem(code="limit/urls", document=record.url, detail=reason),)


def note_without_row(record: SitemapRecord, count: int) -> None:
    """Write to *record* that *count* of the documents that it names are not requested and have no record."""
    detail = f"{count:,} more documents that it names are not requested, and have no record"
    record.problems += (Problem(code="document/without-row", document=record.url, detail=detail, count=count),)
