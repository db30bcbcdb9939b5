"""The ``lastmod`` filters: comparisons that respect the precision of each date."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.filters.date_range import PRECISIONS, floor

if TYPE_CHECKING:
    from datetime import datetime

    from sitemap_harvest.model import UrlBatch

_INSTANT = pa.timestamp("us", tz="UTC")
_WORDS = pa.array(PRECISIONS, pa.string())


def has_no_lastmod(batch: UrlBatch) -> pa.BooleanArray:
    """Return whether each row has no ``lastmod``."""
    return pc.and_(batch["lastmod"].is_null(), batch["lastmod_text"].is_null())


def has_unreadable_lastmod(batch: UrlBatch) -> pa.BooleanArray:
    """Return whether each row has a ``lastmod`` that is not a date."""
    return pc.and_(batch["lastmod"].is_null(), batch["lastmod_text"].is_valid())


def ends_before(batch: UrlBatch, moment: datetime) -> pa.BooleanArray:
    """Return whether the range of each ``lastmod`` ends before *moment*; ``False`` for null."""
    bounds = pa.array([floor(moment, precision) for precision in PRECISIONS], _INSTANT)
    bound = bounds.take(pc.index_in(batch["lastmod_precision"], value_set=_WORDS))
    bound = pc.fill_null(bound, pa.scalar(moment, _INSTANT))  # a custom row may have no precision
    return pc.fill_null(pc.less(batch["lastmod"], bound), fill_value=False)


def begins_after(batch: UrlBatch, moment: datetime) -> pa.BooleanArray:
    """Return whether the range of each ``lastmod`` begins after *moment*; ``False`` for null."""
    later = pc.greater(batch["lastmod"], pa.scalar(moment, _INSTANT))
    return pc.fill_null(later, fill_value=False)
