"""How to ask for a document that is known from the last snapshot, and what the answer says of its rows.

Spec: https://www.rfc-editor.org/rfc/rfc9110#section-8.8 (validators) and
section 13 (conditional requests). ``docs/explain/freshness.md`` tells the
judgements. Where in doubt, the document is asked for plainly: that costs a
download, and is never wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from sitemap_harvest.dates import read_date
from sitemap_harvest.model import Outcome, SitemapRecord
from sitemap_harvest.plan.belief import final_key, is_exact
from sitemap_harvest.plan.frontier import document_key
from sitemap_harvest.plan.lead import Refusal
from sitemap_harvest.plan.span import Span
from sitemap_harvest.plan.validators import ROUNDED_SECONDS, conditions, is_asked_tag

if TYPE_CHECKING:
    from collections.abc import Mapping

_DAY = timedelta(days=1)


class Trust(StrEnum):
    """Whether a document is skipped where the index says that it has not changed."""

    AUTO = "auto"
    """If the index has earned it: see :func:`sitemap_harvest.plan.trust.is_trusted`."""
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """What the user wants, and what holds for all documents of a run."""

    now: datetime
    max_age: float = 30 * 86_400.0
    """Seconds after which a document is downloaded again, whatever is said of it; 0 for always."""
    full: bool = False
    """Whether everything is downloaded and read again."""
    trust: Trust = Trust.AUTO


@dataclass(frozen=True, slots=True)
class Approach:
    """How to ask for a document: plainly, with conditions, or not at all."""

    headers: Mapping[str, str] = field(default_factory=dict)
    """The conditions; none: ask plainly."""
    skip: str | None = None
    """Why it is not asked for, in words; ``None`` if it is."""


class Answer(StrEnum):
    """What an answer says of the rows of the last snapshot."""

    UNCHANGED = "unchanged"
    """They are what the document lists: nothing is to be read."""
    READ = "read"
    """Nothing: the body is to be read."""
    AGAIN = "again"
    """Nothing, and there is no body: ask again, plainly."""
    FAILED = "failed"
    """Nothing, and there is no body, though no condition was made."""


NOT_MODIFIED_WITHOUT_STATE = Refusal(
    Outcome.FAILED, "HTTP 304: the server says that it is unchanged, and was not asked"
)
"""What becomes of a document whose answer is :attr:`Answer.FAILED`."""


def approach(
    known: SitemapRecord | None,
    freshness: Freshness,
    *,
    lastmod: datetime | None = None,
    lastmod_text: str | None = None,
    is_trusted: bool = False,
) -> Approach:
    """Return how to ask for the document of *known*, its row of the last snapshot (``None``: it has none).

    *lastmod* and *lastmod_text* are what the index says of it in this run, and
    *is_trusted* whether that index has earned trust.
    """
    if known is None or not is_exact(known) or freshness.full:
        return Approach()
    if not _is_young(known, freshness):
        return Approach()
    may_skip = freshness.trust is Trust.ALWAYS or (freshness.trust is Trust.AUTO and is_trusted)
    if may_skip and says_unchanged(known, lastmod, lastmod_text):
        return Approach(skip=f"fresh: its index says that it has not changed since {known.lastmod_text}")
    return Approach(conditions(known, freshness.now))


def says_unchanged(known: SitemapRecord, lastmod: datetime | None, lastmod_text: str | None) -> bool:
    """Whether the date that an index gives now, held against the one of *known*, says that nothing has changed.

    It has to be the same to the letter: one that went back tells of a change too.
    And the document has to have been looked at a day after the span of the date was
    over: what changes later on the same day, in a time zone that is not told, or while
    a cache still gives out what was there before, does not move the date.
    """
    if lastmod is None or lastmod_text is None or lastmod_text != known.lastmod_text:
        return False
    date = read_date(lastmod_text)
    if date is None or known.fresh_at is None:
        return False
    return known.fresh_at - Span.of(date).last > _DAY


def judge_answer(
    known: SitemapRecord | None,
    freshness: Freshness,
    asked: Approach,
    answer: SitemapRecord,
) -> Answer:
    """Return what *answer*, the row of this run as far as it is known, says of the rows of *known*.

    For a 304 it needs ``status``, ``final_url`` and ``etag``; for a body
    ``sha256``, ``final_url`` and ``content_type``. No other status belongs here.
    """
    is_known = known is not None and is_exact(known)
    if answer.status == 304:
        if not asked.headers:
            return Answer.FAILED
        is_meant = is_known and known is not None and _is_same_place(known, answer) and is_asked_tag(known, answer)
        return Answer.UNCHANGED if is_meant else Answer.AGAIN
    if known is None or not is_known or freshness.full:
        return Answer.READ
    is_same = known.sha256 == answer.sha256 and known.content_type == answer.content_type
    return Answer.UNCHANGED if is_same and _is_same_place(known, answer) else Answer.READ


def _is_young(known: SitemapRecord, freshness: Freshness) -> bool:
    """Whether *known* was downloaded so lately that a server, or an index, is asked for changes only."""
    if known.read_at is None:
        return False
    age = (freshness.now - known.read_at).total_seconds()
    return age >= -ROUNDED_SECONDS and max(0.0, age) < freshness.max_age  # a clock that went back tells no age


def _is_same_place(known: SitemapRecord, answer: SitemapRecord) -> bool:
    """Whether both were found at one address: validators, and relative URLs, are of the address that gave them."""
    key = document_key(known.url)
    return final_key(known, key) == final_key(answer, key)
