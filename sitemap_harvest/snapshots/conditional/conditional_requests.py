"""How to request a document of the last snapshot, and whether the response leaves its rows unchanged.

Spec: https://www.rfc-editor.org/rfc/rfc9110#section-8.8 (validators) and section 13
(conditional requests). ``docs/explain/snapshots.md`` explains the decisions. In doubt,
the request is unconditional: that costs a download, and is never wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from sitemap_harvest.dates import read_date
from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.filters.date_range import DateRange
from sitemap_harvest.model import Outcome, SitemapRecord
from sitemap_harvest.snapshots.conditional.validators import ROUNDED_SECONDS, conditions, is_request_tag
from sitemap_harvest.snapshots.merge.merge_policy import final_key, is_exact
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Mapping

_DAY = timedelta(days=1)


class Trust(StrEnum):
    """Whether to skip a document whose index says that it has not changed."""

    AUTO = "auto"
    """If the dates of the index are reliable: see
    :func:`sitemap_harvest.snapshots.conditional.lastmod_trust.is_trusted`."""
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


class Revalidation(StrEnum):
    """What a response says about the rows of the last snapshot."""

    UNCHANGED = "unchanged"
    """The rows are current: nothing needs to be read."""
    READ = "read"
    """Unknown: read the body."""
    AGAIN = "again"
    """Unknown, and there is no body: repeat the request unconditionally."""
    FAILED = "failed"
    """Unknown, and there is no body although the request was unconditional."""


NOT_MODIFIED_WITHOUT_STATE = NotFetched(Outcome.FAILED, "HTTP 304 in response to an unconditional request")
"""The result of a document whose response is :attr:`Revalidation.FAILED`."""


def conditional_request(
    known: SitemapRecord | None,
    freshness: Freshness,
    *,
    lastmod: datetime | None = None,
    lastmod_text: str | None = None,
    is_trusted: bool = False,
) -> ConditionalRequest:
    """Return how to request the document of *known*, its record in the last snapshot (``None``: it has none).

    *lastmod* and *lastmod_text* come from the index in this run; *is_trusted* says
    whether the dates of that index are reliable.
    """
    if known is None or not is_exact(known) or freshness.force:
        return ConditionalRequest()
    if not _is_young(known, freshness):
        return ConditionalRequest()
    may_skip = freshness.trust is Trust.ALWAYS or (freshness.trust is Trust.AUTO and is_trusted)
    if may_skip and says_unchanged(known, lastmod, lastmod_text):
        return ConditionalRequest(skip=f"fresh: its index says that it has not changed since {known.lastmod_text}")
    return ConditionalRequest(conditions(known, freshness.now))


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


def revalidate(known: SitemapRecord | None, answer: SitemapRecord, *, is_conditional: bool = False) -> Revalidation:
    """Return what *answer*, the record of this run so far, says about the rows of *known*.

    *is_conditional*: whether the request had conditional headers. A 304 needs
    ``status``, ``final_url`` and ``etag``; a body needs ``sha256``, ``final_url`` and
    ``content_type``. Do not call this for other statuses.
    """
    is_known = known is not None and is_exact(known)
    if answer.status == 304:
        if not is_conditional:
            return Revalidation.FAILED
        is_meant = is_known and known is not None and _is_same_place(known, answer) and is_request_tag(known, answer)
        return Revalidation.UNCHANGED if is_meant else Revalidation.AGAIN
    if known is None or not is_known:
        return Revalidation.READ
    is_same = known.sha256 == answer.sha256 and known.content_type == answer.content_type
    return Revalidation.UNCHANGED if is_same and _is_same_place(known, answer) else Revalidation.READ


def _is_young(known: SitemapRecord, freshness: Freshness) -> bool:
    """Whether *known* was downloaded recently enough to be revalidated or skipped."""
    if known.read_at is None:
        return False
    age = (freshness.now - known.read_at).total_seconds()
    return age >= -ROUNDED_SECONDS and max(0.0, age) < freshness.max_age  # negative after the clock was set back


def _is_same_place(known: SitemapRecord, answer: SitemapRecord) -> bool:
    """Whether both have the same final URL: validators and relative URLs belong to the URL that sent them."""
    key = document_key(known.url)
    return final_key(known, key) == final_key(answer, key)
