"""Which URLs are handed out: a batch at a time, and every row that is dropped is counted.

What each filter means, and why, is told in ``docs/explain/filters.md``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.plan.filters import dates, languages, patterns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sitemap_harvest.model import UrlBatch
    from sitemap_harvest.plan.span import Span

USUAL_PRIORITY = 0.5
"""What the protocol has a URL without a priority be; for the filter alone: it is never filled in."""
CHANGEFREQS = ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
"""The words of the protocol."""
PARTS = {
    "image": "images",
    "video": "videos",
    "news": "news",
    "alternate": "alternates",
    "mobile": "mobile",
    "pagemap": "pagemap",
    "title": "title",
}
"""What an entry may have beside its address, and the column that tells."""


class Kept(NamedTuple):
    """What filters leave of a batch."""

    batch: UrlBatch
    """The rows that are kept, in their order."""
    dropped: dict[str, int]
    """How many rows were dropped by each filter, by its name; those that dropped none are left out. A row counts
    for the first filter that drops it, in the order of the fields of :class:`Filters`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a URL must be like to be handed out. Where nothing is asked for, all are."""

    drop_out_of_scope: bool = False
    """Whether rows are dropped that their document may not list. What was not judged stays."""
    drop_missing_lastmod: bool = False
    """Whether rows without ``lastmod`` are dropped."""
    drop_unreadable_lastmod: bool = False
    """Whether rows are dropped whose ``lastmod`` is no date."""
    drop_lastmod_after: datetime | None = None
    """Rows are dropped whose ``lastmod`` begins after this; ``None``: none."""
    since: Span | None = None
    """Rows are dropped whose ``lastmod`` ends before this begins."""
    until: Span | None = None
    """Rows are dropped whose ``lastmod`` begins after this ends."""
    min_priority: float | None = None
    """Rows of a lower priority are dropped; one that has none that can be read counts as 0.5."""
    max_priority: float | None = None
    """Rows of a higher priority are dropped; the same."""
    changefreq: frozenset[str] = frozenset()
    """Rows are dropped that have none of these words, in lower case; letter case makes no difference."""
    include: tuple[re.Pattern[str], ...] = ()
    """Rows are dropped in whose ``loc`` none of these is found."""
    exclude: tuple[re.Pattern[str], ...] = ()
    """Rows are dropped in whose ``loc`` one of these is found."""
    prefix: tuple[str, ...] = ()
    """Rows are dropped the path of whose ``key`` begins with none of these, which are in canonical form."""
    lang: tuple[str, ...] = ()
    """Rows are dropped that do not say that they are in one of these languages (``de``, ``de-at``)."""
    has: tuple[str, ...] = ()
    """Rows are dropped that do not have all of these :data:`PARTS`."""

    def keep(self, batch: UrlBatch) -> Kept:
        """Return the rows of *batch* that pass, and how many did not, by the filter that dropped them."""
        kept = pa.repeat(pa.scalar(True), len(batch))  # noqa: FBT003 - a value of the column
        left, dropped = len(batch), {}
        for name, passes in self._masks(batch):
            kept = pc.and_(kept, passes)
            if gone := left - kept.true_count:
                dropped[name] = gone
                left -= gone
        return Kept(batch.filter(kept) if dropped else batch, dropped)

    def _masks(self, batch: UrlBatch) -> Iterator[tuple[str, pa.BooleanArray]]:
        """Yield for each filter that is asked for its name, and which rows pass it; no null is among them."""
        if self.drop_out_of_scope:
            yield "scope", pc.fill_null(batch["in_scope"], fill_value=True)
        yield from self._by_lastmod(batch)
        yield from self._by_priority(batch)
        if self.changefreq:
            words = pa.array(sorted(self.changefreq), pa.string())
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
