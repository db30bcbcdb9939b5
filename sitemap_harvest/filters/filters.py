"""``Filters``: which URLs of a batch are emitted; dropped rows are counted by filter.

``docs/howto/filter-urls.md`` explains each filter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.filters import languages, patterns
from sitemap_harvest.filters import lastmod as dates

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sitemap_harvest.filters.date_range import DateRange
    from sitemap_harvest.model import UrlBatch

USUAL_PRIORITY = 0.5
"""The protocol's default priority. Used only to filter; never written into a row."""
CHANGEFREQS = ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
"""The values that the protocol allows."""
PARTS = {
    "image": "images",
    "video": "videos",
    "news": "news",
    "alternate": "alternates",
    "mobile": "mobile",
    "pagemap": "pagemap",
    "title": "title",
}
"""The names that ``has`` accepts, and the column of each."""


class FilterCounts(NamedTuple):
    """The result of filtering a batch."""

    batch: UrlBatch
    """The rows that passed, in their order."""
    dropped: dict[str, int]
    """Dropped rows by filter name; filters that dropped nothing are absent. A row counts for the first filter that
    drops it, in the order of the fields of :class:`Filters`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The conditions that a URL must meet to be emitted. The defaults let every URL pass."""

    drop_out_of_scope: bool = False
    """Whether to drop rows out of the scope of their document. Rows that were not checked stay."""
    drop_missing_lastmod: bool = False
    """Whether to drop rows without ``lastmod``."""
    drop_unreadable_lastmod: bool = False
    """Whether to drop rows whose ``lastmod`` is not a date."""
    drop_lastmod_after: datetime | None = None
    """Drop rows whose ``lastmod`` begins after this; ``None``: none."""
    since: DateRange | None = None
    """Drop rows whose ``lastmod`` ends before this begins."""
    until: DateRange | None = None
    """Drop rows whose ``lastmod`` begins after this ends."""
    min_priority: float | None = None
    """Drop rows with a lower priority; a missing or unreadable priority counts as 0.5."""
    max_priority: float | None = None
    """Drop rows with a higher priority; a missing or unreadable priority counts as 0.5."""
    changefreq: tuple[str, ...] = ()
    """Drop rows with none of these values (lower case); letter case makes no difference."""
    include: tuple[re.Pattern[str], ...] = ()
    """Drop rows whose ``loc`` matches none of these."""
    exclude: tuple[re.Pattern[str], ...] = ()
    """Drop rows whose ``loc`` matches one of these."""
    prefix: tuple[str, ...] = ()
    """Drop rows whose ``key`` has a path that begins with none of these prefixes, which are in canonical form."""
    lang: tuple[str, ...] = ()
    """Drop rows that are not declared to be in one of these languages (``de``, ``de-at``)."""
    has: tuple[str, ...] = ()
    """Drop rows that lack one of these :data:`PARTS`."""

    def keep(self, batch: UrlBatch) -> FilterCounts:
        """Return the rows of *batch* that pass, and the number of dropped rows by filter."""
        kept = pa.repeat(pa.scalar(True), len(batch))  # noqa: FBT003 - a value of the column
        left, dropped = len(batch), {}
        for name, passes in self._masks(batch):
            kept = pc.and_(kept, passes)
            if gone := left - kept.true_count:
                dropped[name] = gone
                left -= gone
        return FilterCounts(batch.filter(kept) if dropped else batch, dropped)

    def _masks(self, batch: UrlBatch) -> Iterator[tuple[str, pa.BooleanArray]]:
        """Yield the name of each active filter, and a mask without nulls of the rows that pass it."""
        if self.drop_out_of_scope:
            yield "scope", pc.fill_null(batch["in_scope"], fill_value=True)
        yield from self._by_lastmod(batch)
        yield from self._by_priority(batch)
        if self.changefreq:
            words = pa.array(self.changefreq, pa.string())
            yield "changefreq", pc.is_in(pc.ascii_lower(batch["changefreq"]), value_set=words)
        yield from self._by_address(batch)
        if self.lang:
            yield "lang", languages.is_in(batch, self.lang)
        if self.has:
            yield "has", reduce(pc.and_, [_has(batch[PARTS[part]]) for part in self.has])

    def _by_lastmod(self, batch: UrlBatch) -> Iterator[tuple[str, pa.BooleanArray]]:
        if self.drop_missing_lastmod:
            yield "missing_lastmod", pc.invert(dates.has_no_lastmod(batch))
        if self.drop_unreadable_lastmod:
            yield "unreadable_lastmod", pc.invert(dates.has_unreadable_lastmod(batch))
        if self.drop_lastmod_after:
            yield "future_lastmod", pc.invert(dates.begins_after(batch, self.drop_lastmod_after))
        if self.since:
            yield "since", pc.invert(dates.ends_before(batch, self.since.first))
        if self.until:
            yield "until", pc.invert(dates.begins_after(batch, self.until.last))

    def _by_priority(self, batch: UrlBatch) -> Iterator[tuple[str, pa.BooleanArray]]:
        if self.min_priority is None and self.max_priority is None:
            return
        priority = pc.fill_null(batch["priority"], USUAL_PRIORITY)
        if self.min_priority is not None:
            yield "min_priority", pc.greater_equal(priority, self.min_priority)
        if self.max_priority is not None:
            yield "max_priority", pc.less_equal(priority, self.max_priority)

    def _by_address(self, batch: UrlBatch) -> Iterator[tuple[str, pa.BooleanArray]]:
        if self.include:
            yield "include", _any_found(batch["loc"], self.include)
        if self.exclude:
            yield "exclude", pc.invert(_any_found(batch["loc"], self.exclude))
        if self.prefix:
            paths = "|".join(map(re.escape, self.prefix))
            begins = pc.match_substring_regex(batch["key"], rf"^[^:/?#]+://[^/?#]*(?:{paths})")
            yield "prefix", pc.fill_null(begins, fill_value=False)


def _any_found(texts: pa.StringArray, wanted: tuple[re.Pattern[str], ...]) -> pa.BooleanArray:
    return reduce(pc.or_, [patterns.found(texts, pattern) for pattern in wanted])


def _has(column: pa.Array) -> pa.BooleanArray:
    if pa.types.is_boolean(column.type):
        return pc.fill_null(column, fill_value=False)
    if pa.types.is_list(column.type):
        return pc.fill_null(pc.greater(pc.list_value_length(column), 0), fill_value=False)
    return column.is_valid()
