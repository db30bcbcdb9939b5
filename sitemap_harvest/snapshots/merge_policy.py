"""``merge_decision``: whether the reading of a document replaces its rows, adds to them, or leaves them alone. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.model import FoundBy, Kind, Outcome, SitemapRecord
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Mapping


class MergePolicy(StrEnum):
    """Where the rows of a document in the new snapshot come from."""

    REPLACE = "replace"
    """From this run: the document was read completely."""
    ADD = "add"
    """From the last snapshot, plus the rows of this run with new keys: the document was read partly."""
    KEEP = "keep"
    """From the last snapshot: this run has no information about them."""
    CONFIRM = "confirm"
    """From the last snapshot: this run confirmed that they are unchanged."""

    @property
    def is_whole(self) -> bool:
        """Whether all rows of the document are known: only then can a URL be missing from it."""
        return self in {MergePolicy.REPLACE, MergePolicy.CONFIRM}


class MergeDecision(NamedTuple):
    """A merge policy, with its reason."""

    policy: MergePolicy
    doubt: str | None = None
    """Why a reading is not accepted, as text; ``None`` if it is accepted, or there was none."""
    is_absent: bool = False
    """Whether the document counts as absent in this run."""


_NOT_ROBOTS = "the response is not a robots.txt file"  # the only doubt that more runs with the same result do not end
_KEEP = MergeDecision(MergePolicy.KEEP)  # shared by many documents, as is the next
_ABSENT = MergeDecision(MergePolicy.KEEP, is_absent=True)


def merge_decision(
    key: str, before: Mapping[str, SitemapRecord], record: SitemapRecord, *, absent_runs: int
) -> MergeDecision:
    """Return where the rows of the document *key* come from, and why; *record* is its record of this run.

    *before*: the records of the last snapshot by :func:`document_key`, empty for the
    first run. *absent_runs*: ``SITEMAP_HARVEST_ABSENT_RUNS``.
    """
    known = before.get(key)
    if record.is_confirmation:
        return MergeDecision(MergePolicy.CONFIRM if known and is_exact(known) else MergePolicy.KEEP)
    is_whole = record.outcome is Outcome.READ and record.complete
    # A part without an entry adds only its problems. For another kind, the reason of the record says more than a doubt.
    is_same = known is not None and has_rows(known) and known.kind is record.kind is not Kind.ROBOTS
    if not is_whole and not (record.outcome.has_rows and (record.entries or is_same)):
        return _ABSENT if record.outcome is Outcome.ABSENT else _KEEP
    doubt = _doubt(key, record, before)
    if doubt is None:
        return MergeDecision(MergePolicy.REPLACE if is_whole else MergePolicy.ADD)
    counts = is_whole and doubt != _NOT_ROBOTS
    if counts and 1 + (known.absent_runs if known else 0) >= absent_runs:
        return MergeDecision(MergePolicy.REPLACE)
    return MergeDecision(MergePolicy.KEEP, doubt, is_absent=counts)


def has_rows(row: SitemapRecord) -> bool:
    """Whether the rows of the document of *row*, a record of a snapshot, are part of the snapshot."""
    return row.rows_from is not None and row.left is None


def is_exact(row: SitemapRecord) -> bool:
    """Whether the rows of the document of *row* come from one complete reading, described by its digest and validators.

    ``False`` if rows of later readings were added: no 304 and no digest covers those.
    """
    return has_rows(row) and row.fresh_at is not None and row.sha256 is not None


def final_key(record: SitemapRecord, key: str) -> str:
    """Return the key of the final URL of the document *key*."""
    final_url = record.final_url
    return key if final_url is None or final_url == record.url else document_key(final_url)


def _doubt(  # noqa: PLR0911 - one return per rule, in order
    key: str, record: SitemapRecord, before: Mapping[str, SitemapRecord]
) -> str | None:
    """Return why *record* is not accepted although the document could be read; ``None`` if it is accepted."""
    known = before.get(key)
    known = known if known is not None and has_rows(known) else None
    final = final_key(record, key)
    is_moved = final not in {key, final_key(known, key) if known else key}
    if is_moved and final in before and _is_document(before[final]):
        return f"the URL redirects to {record.final_url}, which is a separate document"
    if known is None:
        return _doubt_of_new(record, before.get(key), is_first_run=not before)
    if known.kind is Kind.ROBOTS and key.endswith("/robots.txt") and record.kind is not Kind.ROBOTS:
        return _NOT_ROBOTS
    if known.kind is Kind.ROBOTS and known.entries and not record.entries:
        return "robots.txt no longer lists a sitemap"  # may be the default robots.txt of a content management system
    if record.kind is Kind.LINKS and known.kind is not Kind.LINKS:
        return f"the kind was {known.kind}; the document is now a web page"
    if not record.entries and known.kind is not record.kind:
        return f"the kind changed from {known.kind} to {record.kind}, and the document has no entries"
    if (guessed := _guesses(record)) and (guessed - _guesses(known) or known.encoding != record.encoding):
        return f"the encoding is uncertain ({', '.join(sorted(guessed))}); it was {known.encoding} before"
    return None


def _is_document(row: SitemapRecord) -> bool:
    """Whether *row* of the last snapshot is of a document that was read, or that something leads to."""
    return row.left is None and (row.rows_from is not None or not row.found_by.is_guess)


def _doubt_of_new(record: SitemapRecord, unread: SitemapRecord | None, *, is_first_run: bool) -> str | None:
    """Return why the first reading of a document is not accepted; ``None`` if it is.

    *unread*: its record in the last snapshot, if it was known but could not be read. In
    the first run of a site a guessed encoding is accepted.
    """
    found_by = unread.found_by if unread is not None and record.found_by is FoundBy.SNAPSHOT else record.found_by
    if record.kind is Kind.LINKS and found_by in {FoundBy.INDEX, FoundBy.ROBOTS}:
        return "the document is listed as a sitemap, but is a web page"
    if (guessed := _guesses(record)) and not is_first_run:
        return f"the encoding is uncertain ({', '.join(sorted(guessed))})"
    return None


def _guesses(record: SitemapRecord) -> set[str]:
    """Return the codes of the encoding problems of a document."""
    return {problem.code for problem in record.problems if problem.code.startswith("encoding/")}
