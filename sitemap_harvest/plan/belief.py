"""What a run's reading of a document tells of its rows: all of them, some, or nothing."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.model import FoundBy, Kind, Outcome, SitemapRecord
from sitemap_harvest.plan.frontier import document_key

if TYPE_CHECKING:
    from collections.abc import Mapping


class Belief(StrEnum):
    """Where the rows of a document come from in the new snapshot."""

    REPLACE = "replace"
    """From this run: it was read whole."""
    ADD = "add"
    """From the last snapshot, and those of this run whose key is new: it was read in part."""
    KEEP = "keep"
    """From the last snapshot: this run tells nothing of them."""
    CONFIRM = "confirm"
    """From the last snapshot: this run has found them unchanged."""

    @property
    def is_whole(self) -> bool:
        """Whether all is known that the document lists: only then may something be called missing from it."""
        return self in {Belief.REPLACE, Belief.CONFIRM}


class Judgement(NamedTuple):
    """A belief, and what else is noted in the ledger."""

    belief: Belief
    doubt: str | None = None
    """Why a reading is not believed, in words; ``None`` if it is, or there was none."""
    is_absent: bool = False
    """Whether it counts as a run in which the document was absent."""


class _Doubt(NamedTuple):
    words: str
    may_be_true: bool
    """Whether it is believed once it has been so for some runs."""


def believe(before: Mapping[str, SitemapRecord], record: SitemapRecord, *, absent_runs: int) -> Belief:
    """Return where the rows of the document of *record*, a ledger row of this run, come from.

    *before* is the ledger of the last snapshot by :func:`document_key`, empty for
    the first; *absent_runs* is ``SITEMAP_HARVEST_ABSENT_RUNS``.
    """
    return judge(document_key(record.url), before, record, absent_runs=absent_runs).belief


def judge(key: str, before: Mapping[str, SitemapRecord], record: SitemapRecord, *, absent_runs: int) -> Judgement:
    """Return the belief in *record*, a row of the document *key*, with its reason. See :func:`believe`."""
    known = before.get(key)
    if is_confirmation(record):
        return Judgement(Belief.CONFIRM if known and is_exact(known) else Belief.KEEP)
    is_whole = record.outcome is Outcome.READ and record.complete
    if not is_whole and not (record.outcome.has_rows and record.entries):
        return Judgement(Belief.KEEP, is_absent=record.outcome is Outcome.ABSENT)
    doubt = _doubt(key, record, before)
    if doubt is None:
        return Judgement(Belief.REPLACE if is_whole else Belief.ADD)
    counts = is_whole and doubt.may_be_true
    if counts and 1 + (known.absent_runs if known else 0) >= absent_runs:
        return Judgement(Belief.REPLACE)
    return Judgement(Belief.KEEP, doubt.words, is_absent=counts)


def has_rows(row: SitemapRecord) -> bool:
    """Whether *row*, of the ledger of a snapshot, is of a document whose rows are part of it."""
    return row.rows_from is not None and row.left is None


def is_exact(row: SitemapRecord) -> bool:
    """Whether the rows of the document of *row* are those of one whole reading, whose digest and validators it has.

    Not so if parts of later readings were added: no 304 and no digest speaks of those.
    """
    return has_rows(row) and row.fresh_at is not None and row.sha256 is not None


def is_confirmation(record: SitemapRecord) -> bool:
    """Whether *record*, of a run, says that a document is as it was: unchanged, or skipped because it is fresh."""
    return record.outcome is Outcome.UNCHANGED or (record.outcome is Outcome.SKIPPED and record.complete)


def final_key(record: SitemapRecord, key: str) -> str:
    """Return the key of the address at which the document *key* was found in the end."""
    final_url = record.final_url
    return key if final_url is None or final_url == record.url else document_key(final_url)


def _doubt(  # noqa: PLR0911 - one line a rule, in order
    key: str, record: SitemapRecord, before: Mapping[str, SitemapRecord]
) -> _Doubt | None:
    """Return why *record* is not believed, though the document could be read; ``None`` if it is."""
    known = before.get(key)
    known = known if known is not None and has_rows(known) else None
    final = final_key(record, key)
    is_moved = final not in {key, final_key(known, key) if known else key}
    if is_moved and final in before and _is_document(before[final]):
        return _Doubt(f"it redirects to {record.final_url}, which is a document of its own", may_be_true=True)
    if known is None:
        return _doubt_of_new(record, before.get(key), is_first_run=not before)
    if known.kind is Kind.ROBOTS and key.endswith("/robots.txt") and record.kind is not Kind.ROBOTS:
        return _Doubt("what is there is no robots.txt", may_be_true=False)
    if known.kind is Kind.ROBOTS and known.entries and not record.entries:
        return _Doubt("it names no sitemap any more", may_be_true=True)  # what content management gives by default
    if record.kind is Kind.LINKS and known.kind is not Kind.LINKS:
        return _Doubt(f"it was of kind {known.kind}, and is a web page now", may_be_true=True)
    if not record.entries and known.kind is not record.kind:
        return _Doubt(f"it was of kind {known.kind}, and is of kind {record.kind} without an entry", may_be_true=True)
    if (guessed := _guesses(record)) and (guessed - _guesses(known) or known.encoding != record.encoding):
        words = f"its encoding is in doubt ({', '.join(sorted(guessed))}), and was {known.encoding} before"
        return _Doubt(words, may_be_true=True)
    return None


def _is_document(row: SitemapRecord) -> bool:
    """Whether *row* of the last snapshot is of a document: one that was read, or that something leads to."""
    return row.left is None and (row.rows_from is not None or not row.found_by.is_guess)


def _doubt_of_new(record: SitemapRecord, unread: SitemapRecord | None, *, is_first_run: bool) -> _Doubt | None:
    """Return why the first reading of a document is not believed; ``None`` if it is.

    *unread* is its row of the last snapshot, if it was met before and could not be
    read. In the first run of a site, an encoding that is guessed is better than nothing.
    """
    found_by = unread.found_by if unread is not None and record.found_by is FoundBy.SNAPSHOT else record.found_by
    if record.kind is Kind.LINKS and found_by in {FoundBy.INDEX, FoundBy.ROBOTS}:
        return _Doubt("it is listed as a sitemap, and is a web page", may_be_true=True)
    if (guessed := _guesses(record)) and not is_first_run:
        return _Doubt(f"its encoding is in doubt ({', '.join(sorted(guessed))})", may_be_true=True)
    return None


def _guesses(record: SitemapRecord) -> set[str]:
    """Return the codes of what is wrong with the encoding of a document."""
    return {problem.code for problem in record.problems if problem.code.startswith("encoding/")}
