"""How to request a document of the last snapshot: when, whether, and on what conditions; what the response says. Pure.

Spec: https://www.rfc-editor.org/rfc/rfc9110#section-8.8 (validators) and section 13
(conditional requests). ``docs/explain/snapshots.md`` explains the decisions. In doubt,
the request is unconditional: that costs a download, and is never wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Self

from sitemap_harvest.dates import DateRange, read_date
from sitemap_harvest.model import Outcome, SitemapRecord
from sitemap_harvest.snapshots.merge_policy import final_key, is_exact
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)
_MAX_ETAG_CHARS = 512  # the longest in the wild have a few hundred
_ENTITY_TAG = re.compile(r'(W/|w/)?"([\x21\x23-\x7e\x80-\xff]+)"')
_BARE_TAG = re.compile(r"(W/|w/)?([\w.:/+=-]+)", re.ASCII)  # unquoted, against the spec; never "*", the wildcard
_CODING = re.compile(r"(?:--?|;)(?:gzip|br|zstd|deflate|df)$", re.IGNORECASE)

MIN_CORRECT = 20
"""Minimum number of changes that the dates reported. If the dates missed one change in seven, twenty reported changes
in a row would occur in one case of twenty; so with 95% certainty they miss fewer."""
MIN_RUNS = 3
"""Minimum number of runs with reported changes: all sitemaps that a new program writes in one night are one
observation."""
MOST_MISSED = 0.01
"""Maximum share of missed changes: none until a hundred were reported."""
_MEMORY = 1000  # changes, after which counts are halved: a site may change its software


class Trust(StrEnum):
    """Whether to skip a document whose index says that it has not changed."""

    AUTO = "auto"
    """If the dates of the index are reliable: see :func:`is_trusted`."""
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """The user's options for revalidation, and the time of the run."""

    now: datetime
    max_age: float = 30 * 86_400.0
    """Seconds after which a document is downloaded again in any case; 0: always."""
    force: bool = False
    """Whether to download and read everything again."""
    trust: Trust = Trust.AUTO


@dataclass(frozen=True, slots=True)
class ConditionalRequest:
    """How to request a document: unconditionally, with conditions, or not at all."""

    headers: Mapping[str, str] = field(default_factory=dict)
    """The conditional headers; empty: an unconditional request."""
    skip: str | None = None
    """Why it is not requested, as text; ``None`` if it is."""
    is_confirmed: bool = True
    """Whether the reason to skip it says that it has not changed."""


def conditional_request(
    known: SitemapRecord | None,
    freshness: Freshness,
    *,
    lastmod: datetime | None = None,
    lastmod_text: str | None = None,
    is_trusted: bool = False,
    why_not_due: str | None = None,
) -> ConditionalRequest:
    """Return how to request the document of *known*, its record in the last snapshot (``None``: it has none).

    *lastmod* and *lastmod_text* come from the index in this run; *is_trusted* says
    whether the dates of that index are reliable. *why_not_due*: why its own interval lets
    it wait, as text; ``None`` if it is due.
    """
    if known is None or not is_exact(known) or known.read_at is None or freshness.force:
        return ConditionalRequest()
    age = (freshness.now - known.read_at).total_seconds()
    if not 0 <= age < freshness.max_age:  # negative after the clock was set back
        return ConditionalRequest()
    is_intact = _is_without_failure(known)
    may_skip = freshness.trust is Trust.ALWAYS or (freshness.trust is Trust.AUTO and is_trusted)
    if may_skip and is_intact and says_unchanged(known, lastmod, lastmod_text):
        return ConditionalRequest(skip=f"fresh: the index reports no change since {known.lastmod_text}")
    if why_not_due is not None and is_intact:
        return ConditionalRequest(skip=why_not_due, is_confirmed=False)
    return ConditionalRequest(conditions(known, freshness.now))


def last_runs(known: Mapping[str, SitemapRecord], lists: Mapping[str, Collection[str]], run: str) -> dict[str, str]:
    """Return the run that last got to each document in *known* and to all below it, by key; empty if none did.

    If a run that ended early requests the documents with the lowest of these first, a run
    of the same length gets to the others. *known*: the records of the last snapshot, that
    of the run with the id *run*. *lists*: the keys of the documents that each document
    lists.
    """
    found: dict[str, str] = {}
    for key, row in known.items():
        had_turn = row.fetched_at is not None and row.outcome is not Outcome.OVER_LIMIT  # also if it failed
        found[key] = (run if had_turn else row.fresh_run) or ""
    above: dict[str, list[str]] = {}
    for key, listed in lists.items():
        for child in listed:
            if child in known:
                above.setdefault(child, []).append(key)
            else:
                found[key] = ""
    for key in sorted(found, key=found.__getitem__):
        todo = [key]
        while todo:
            for parent in above.get(todo.pop(), ()):
                if found.get(parent, "") > found[key]:
                    found[parent] = found[key]
                    todo.append(parent)
    return found


def _is_without_failure(known: SitemapRecord) -> bool:
    """Whether the last request for the document of *known* succeeded, or it was not requested."""
    return known.absent_runs == 0 and (known.complete or known.outcome is Outcome.SKIPPED)


def says_unchanged(known: SitemapRecord, lastmod: datetime | None, lastmod_text: str | None) -> bool:
    """Whether the date that the index gives now, compared with that of *known*, says that nothing has changed.

    The text must be identical: an earlier date is a change too. And the document must
    have been checked more than a day after the end of the date's range: a change later
    on the same day, in an unknown time zone, or while a cache still serves the old
    version, does not change the date.
    """
    if lastmod is None or lastmod_text is None or lastmod_text != known.lastmod_text:
        return False
    date = read_date(lastmod_text)
    if date is None or known.fresh_at is None:
        return False
    return known.fresh_at - DateRange.of(date).last > _DAY


def is_unchanged(known: SitemapRecord, answer: SitemapRecord) -> bool:
    """Whether *answer*, the record of this run so far, says that the rows of *known* are current.

    *answer* is of a 304, and has ``final_url`` and ``etag``, or of a body, and has
    ``sha256``, ``final_url`` and ``content_type``.
    """
    key = document_key(known.url)
    if not is_exact(known) or final_key(known, key) != final_key(answer, key):
        return False  # validators and relative URLs belong to the URL that sent them
    if answer.status == 304:  # its tag, if it has one, is that of *known*, if that has one
        return answer.etag is None or not _tags(known.etag) or _bare(answer.etag) == _bare(known.etag or "")
    return known.sha256 == answer.sha256 and known.content_type == answer.content_type


def conditions(known: SitemapRecord, now: datetime) -> dict[str, str]:
    """Return the headers of a conditional request for *known*; empty if it has no usable validator."""
    headers = {}
    if tags := _tags(known.etag):
        headers["If-None-Match"] = ", ".join(tags)
    if known.last_modified is not None and _may_be_sent(known.last_modified, known, now):
        headers["If-Modified-Since"] = known.last_modified.strip()
    return headers


def _may_be_sent(last_modified: str, known: SitemapRecord, now: datetime) -> bool:
    """Whether the date *last_modified* can detect a later change.

    Not if it is in the future or within a minute of the download: responses generated
    on each request have such dates, and a file may be written twice in a second.
    """
    date = read_date(last_modified)
    if date is None or known.read_at is None or not last_modified.isprintable() or not last_modified.isascii():
        return False
    return date.value + _MINUTE <= known.read_at <= now


def _tags(etag: str | None) -> list[str]:
    """Return the entity tags to send: *etag* as received, and without a content-coding suffix.

    A server that compresses responses may add the coding to the tag, and then not
    recognize its own tag. The decoded content is the same for both.
    """
    if etag is None or len(etag) > _MAX_ETAG_CHARS:
        return []
    etag = etag.strip()
    if not (match := _ENTITY_TAG.fullmatch(etag) or _BARE_TAG.fullmatch(etag)):
        return []
    plain = _CODING.sub("", match[2])
    if plain == match[2] or not plain:
        return [etag]
    return [etag, etag.replace(match[2], plain)]


def _bare(etag: str) -> str:
    """Return *etag* in the form used for weak comparison, without a content-coding suffix."""
    return _CODING.sub("", etag.strip().removeprefix("W/").removeprefix("w/").strip('"'))


class LastmodStats(NamedTuple):
    """How well the ``lastmod`` dates of one index matched the changes of its sitemaps, over runs."""

    correct: int = 0
    """The sitemap changed, and so did its date."""
    missed: int = 0
    """The sitemap changed, but its date said that it had not."""
    spurious: int = 0
    """The sitemap did not change, but its date did."""
    runs: int = 0
    """Runs in which a change was reported."""

    def plus(self, other: LastmodStats) -> Self:
        """Return the sum of these counts and *other*, those of a later run."""
        correct, missed, spurious, runs = (mine + new for mine, new in zip(self, other, strict=True))
        if correct + missed > _MEMORY or spurious > _MEMORY:
            correct, missed, spurious = correct // 2, (missed + 1) // 2, spurious // 2
        return type(self)(correct, missed, spurious, runs)


def is_trusted(observed: LastmodStats) -> bool:
    """Whether a sitemap may be skipped if its date in the index has not changed.

    Dates that change more often without a content change than with one are generation
    timestamps: that they reported every change is chance.
    """
    correct, missed, spurious, runs = observed
    return correct >= MIN_CORRECT and runs >= MIN_RUNS and missed <= MOST_MISSED * correct and spurious <= correct


def is_noise(observed: LastmodStats) -> bool:
    """Whether a new date in the index is no evidence of a change: at most one in ten was correct."""
    return observed.spurious >= max(MIN_CORRECT, 9 * observed.correct)


def observe(before: Mapping[str, SitemapRecord], after: Mapping[str, SitemapRecord]) -> dict[str, LastmodStats]:
    """Return the counts of one run for each index, by :func:`document_key` of the index.

    *before* and *after* are the document records of two consecutive snapshots, by key.
    Only sitemaps that were checked in the run, and have a date in both, count.
    """
    seen: dict[str, list[int]] = {}
    keys: dict[str, str] = {}
    for key, row in after.items():
        known = before.get(key)
        if known is None or row.parent is None or row.parent != known.parent:
            continue
        if (what := _seen(known, row)) is not None:
            if row.parent not in keys:
                keys[row.parent] = document_key(row.parent)
            seen.setdefault(keys[row.parent], [0, 0, 0])[what] += 1
    return {
        parent: LastmodStats(correct, missed, spurious, runs=min(1, correct))
        for parent, (correct, missed, spurious) in seen.items()
    }


def _seen(known: SitemapRecord, row: SitemapRecord) -> int | None:
    """Return the index of the :class:`LastmodStats` field to increment; ``None`` if nothing can be concluded."""
    was_looked_at = row.outcome in {Outcome.READ, Outcome.UNCHANGED} and row.complete
    if not was_looked_at or not is_exact(known) or not is_exact(row):
        return None
    if known.lastmod_text is None or row.lastmod_text is None:
        return None
    has_changed = known.sha256 != row.sha256
    if known.lastmod_text != row.lastmod_text:
        return 0 if has_changed else 2
    return 1 if has_changed and says_unchanged(known, row.lastmod, row.lastmod_text) else None
