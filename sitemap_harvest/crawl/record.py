"""The ledger row of a document: what was asked, what came, what it turned out to be."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sitemap_harvest.crawl import outcome
from sitemap_harvest.model import Outcome, Problem, SitemapRecord

if TYPE_CHECKING:
    from scrapy.http import Response

    from sitemap_harvest.formats import Document
    from sitemap_harvest.plan import Lead, Refusal


OUTSIDE = "it lies outside the folder that stands in for the site, and is not read"
"""The flag of a response for such a file, and the reason in its row."""
BY_BROWSER, BY_COOKIES = "browser", "browser cookies"
"""The flags of a response that a browser brought, or that was had with what a browser was given."""
_STAYS = "wall: "
"""What the flag of a response begins with that is a wall which stays; the words for its row follow."""


def record_of(lead: Lead, refusal: Refusal | None, *, asked: float | None = None) -> SitemapRecord:
    """Return the row of *lead*, asked for at *asked* (seconds since the epoch); *refusal* kept it from being read."""
    record = SitemapRecord(
        url=lead.url,
        parent=lead.parent,
        root=lead.root,
        depth=lead.depth,
        found_by=lead.found_by,
        outcome=refusal.outcome if refusal else Outcome.READ,
        reason=refusal.reason if refusal else None,
        cause=refusal.cause if refusal else None,
        problems=_limit_problems(lead, refusal),
        lastmod=lead.lastmod,
        lastmod_text=lead.lastmod_text,
    )
    if asked is not None:
        record.fetched_at = datetime.fromtimestamp(asked, UTC)
        record.seconds = round(max(0.0, time.time() - asked), 3)
    return record


def _limit_problems(lead: Lead, refusal: Refusal | None) -> tuple[Problem, ...]:
    """Return the problem that a limit of the run was reached before *lead*, if that is why it was refused."""
    if refusal is None or refusal.problem is None:
        return ()
    return (Problem(code=refusal.problem, document=lead.url, detail=refusal.reason),)


def answered(record: SitemapRecord, response: Response, *, is_local: bool) -> None:
    """Put what *response* says into *record*; *is_local* tells that a file answered, and no server."""
    record.final_url = response.url
    if OUTSIDE in response.flags:
        record.reason = OUTSIDE
    record.status = None if is_local else response.status
    record.bytes_downloaded = len(response.body)
    record.via = next((flag for flag in response.flags if flag in {BY_BROWSER, BY_COOKIES}), None)
    record.content_type = _header(response, "Content-Type")
    record.etag = _header(response, "ETag")
    record.last_modified = _header(response, "Last-Modified")


def stays(response: Response, words: str) -> Response:
    """Return *response*, a wall that stays: *words* say what a browser could do."""
    return response.replace(flags=[*response.flags, f"{_STAYS}{words}"])


def walled(record: SitemapRecord, response: Response) -> bool:
    """Whether *response* is a wall that stays, of which *record* tells then."""
    words = next((flag for flag in response.flags if flag.startswith(_STAYS)), None)
    if words is not None:
        reason = record.reason or "a page that lets in browsers only stands in its place"
        record.outcome, record.cause = Outcome.BLOCKED, None
        record.reason = f"{reason}, {words.removeprefix(_STAYS)}"
    return words is not None


def _header(response: Response, name: str) -> str | None:
    value = response.headers.get(name)
    return value.decode("latin-1") if value is not None else None


def describe(record: SitemapRecord, document: Document, *, was_cut: bool) -> None:
    """Put what *document* turned out to be into *record*; *was_cut* tells whether the connection ended early."""
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
        record.outcome, record.reason = Outcome.PARTIAL, "the connection was cut; what came before was read"


def cut_short(record: SitemapRecord, reason: str) -> None:
    """Note in *record* that the document was not read to its end, because the URLs of its site were enough."""
    record.outcome, record.reason, record.complete = Outcome.PARTIAL, reason, False
    record.problems += (Problem(code="limit/urls", document=record.url, detail=reason),)


def note_without_row(record: SitemapRecord, count: int) -> None:
    """Note in *record* that *count* of the documents that it names are not asked for and have no row."""
    detail = f"{count:,} more of the documents that it names are not asked for, and have no row"
    record.problems += (Problem(code="document/without-row", document=record.url, detail=detail, count=count),)
