"""Which rows changed when: what ``lastmod`` says, taken for no more than it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.plan.span import PRECISIONS, floor

if TYPE_CHECKING:
    from datetime import datetime

    from sitemap_harvest.model import UrlBatch

_INSTANT = pa.timestamp("us", tz="UTC")
_WORDS = pa.array(PRECISIONS, pa.string())


def has_no_lastmod(batch: UrlBatch) -> pa.BooleanArray:
    """Return whether each row says nothing of when it changed."""
    return pc.and_(batch["lastmod"].is_null(), batch["lastmod_text"].is_null())


def has_unreadable_lastmod(batch: UrlBatch) -> pa.BooleanArray:
    """Return whether each row has a ``lastmod`` that is no date."""
    return pc.and_(batch["lastmod"].is_null(), batch["lastmod_text"].is_valid())


def ends_before(batch: UrlBatch, moment: datetime) -> pa.BooleanArray:
    """Return whether the span that each ``lastmod`` names ends before *moment*; not so where there is none."""
    bounds = pa.array([floor(moment, precision) for precision in PRECISIONS], _INSTANT)
    bound = bounds.take(pc.index_in(batch["lastmod_precision"], value_set=_WORDS))
    bound = pc.fill_null(bound, pa.scalar(moment, _INSTANT))  # a row of one's own may tell no precision
    return pc.fill_null(pc.less(batch["lastmod"], bound), fill_value=False)


def begins_after(batch: UrlBatch, moment: datetime) -> pa.BooleanArray:
    """Return whether the span that each ``lastmod`` names begins after *moment*; not so where there is none."""
    later = pc.greater(batch["lastmod"], pa.scalar(moment, _INSTANT))
    return pc.fill_null(later, fill_value=False)
