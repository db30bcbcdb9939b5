"""``Filters``: which URLs are emitted; dropped rows are counted by filter.

``docs/howto/filter-urls.md`` explains each filter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.dates import PRECISIONS, DateRange, floor
from sitemap_harvest.urls import WHITESPACE, address_columns

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sitemap_harvest.model import UrlBatch

USUAL_PRIORITY = 0.5
"""The protocol's default priority. Used only to filter; never written into a row."""
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
_INSTANT = pa.timestamp("us", tz="UTC")
# Syntax with the same meaning in both for ASCII text. Excluded, because they differ or may differ: \s, \B, \Z, {,n},
# nested classes, lookaround, backreferences, and repeated groups, which may match the empty string.
_COMMON = re.compile(
    r"""(?:\(\?i\))?(?:
        (?:
            [A-Za-z0-9_/:%&=~,;@!'"<>\#\-.]  # a character, or any
            |\\[.^$*+?{}()\[\]|\\/\-dDwW]    # an escape, or a class of characters
            |\[\^?(?:(?!&&|~~)[A-Za-z0-9_/:%&=~,;@!.?+*$#](?:-[A-Za-z0-9])?|\\[.\-\]\[\\/dw])+-?\]
        )
        (?:(?:[*+?]|\{\d+(?:,\d*)?\})\??(?![*+?{]))?
        |\((?:\?:)?(?!\?)|\)(?:\?(?![*+?{]))?(?![*+{])|\||\^|\$|\\b
    )*""",
    re.VERBOSE | re.ASCII,
)
_FLAGS = re.UNICODE | re.IGNORECASE


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The conditions that a URL must meet to be emitted, by argument. The defaults let every URL pass."""

    scope: bool = False
    """Whether to drop rows out of the scope of their document. Rows that were not checked stay."""
    missing_lastmod: bool = False
    """Whether to drop rows without ``lastmod``."""
    unreadable_lastmod: bool = False
    """Whether to drop rows whose ``lastmod`` is not a date."""
    future_lastmod: datetime | None = None
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

    def keep(self, batch: UrlBatch) -> tuple[UrlBatch, dict[str, int]]:
        """Return the rows of *batch* that pass, in their order, and the number of dropped rows by filter.

        Filters that dropped nothing are absent. A row counts for the first filter that
        drops it, in the order of the fields.
        """
        kept = pa.repeat(pa.scalar(True), len(batch))  # noqa: FBT003 - a value of the column
        left, dropped = len(batch), {}
        for one in fields(self):
            if (wanted := getattr(self, one.name)) == one.default:
                continue
            kept = pc.and_(kept, _MASKS[one.name](batch, wanted))
            if gone := left - kept.true_count:
                dropped[one.name] = gone
                left -= gone
        return batch.filter(kept) if dropped else batch, dropped


def _any_found(texts: pa.StringArray, wanted: tuple[re.Pattern[str], ...]) -> pa.BooleanArray:
    return reduce(pc.or_, [found(texts, pattern) for pattern in wanted])


def _has(column: pa.Array) -> pa.BooleanArray:
    if pa.types.is_boolean(column.type):
        return pc.fill_null(column, fill_value=False)
    if pa.types.is_list(column.type):
        return pc.fill_null(pc.greater(pc.list_value_length(column), 0), fill_value=False)
    return column.is_valid()


def _begins_with(batch: UrlBatch, prefixes: tuple[str, ...]) -> pa.BooleanArray:
    paths = "|".join(map(re.escape, prefixes))
    begins = pc.match_substring_regex(batch["key"], rf"^[^:/?#]+://[^/?#]*(?:{paths})")
    return pc.fill_null(begins, fill_value=False)


def _ends_after(batch: UrlBatch, moment: datetime) -> pa.BooleanArray:
    """Return whether the range of each ``lastmod`` ends at *moment* or later; ``True`` for null."""
    words = pa.array(PRECISIONS, pa.string())
    bounds = pa.array([floor(moment, precision) for precision in PRECISIONS], _INSTANT)
    bound = bounds.take(pc.index_in(batch["lastmod_precision"], value_set=words))
    bound = pc.fill_null(bound, pa.scalar(moment, _INSTANT))  # a custom row may have no precision
    return pc.fill_null(pc.greater_equal(batch["lastmod"], bound), fill_value=True)


def _begins_by(batch: UrlBatch, moment: datetime) -> pa.BooleanArray:
    """Return whether the range of each ``lastmod`` begins at *moment* or before; ``True`` for null."""
    return pc.fill_null(pc.less_equal(batch["lastmod"], pa.scalar(moment, _INSTANT)), fill_value=True)


def _is_in_language(batch: UrlBatch, languages: tuple[str, ...]) -> pa.BooleanArray:
    """Return whether each row is in one of *languages*: in lower case with hyphens, such as ``de`` or ``de-at``.

    A row declares its language with an alternate that links to itself, or as news.
    ``de`` includes ``de-AT``, but ``de-AT`` does not include all of ``de``: the basic
    filtering of https://www.rfc-editor.org/rfc/rfc4647#section-3.3.1
    """
    alternates = pc.list_flatten(batch["alternates"])
    href = pc.struct_field(alternates, "href")
    wanted = pc.and_(_is_any(pc.struct_field(alternates, "hreflang"), languages), href.is_valid())
    rows = pc.list_parent_indices(batch["alternates"]).filter(wanted)
    keys = address_columns(href.filter(wanted), None).key
    is_row = np.zeros(len(batch), dtype=bool)
    is_row[rows.filter(pc.equal(keys, batch["key"].take(rows)))] = True
    published = pc.struct_field(pc.list_flatten(batch["news"]), "publication_language")
    is_row[pc.list_parent_indices(batch["news"]).filter(_is_any(published, languages))] = True
    return pa.array(is_row)


def _is_any(tags: pa.StringArray, languages: tuple[str, ...]) -> pa.BooleanArray:
    """Return whether each of *tags*, as published, is one of *languages*; ``False`` for null."""
    tags = pc.replace_substring(pc.ascii_lower(pc.utf8_trim(tags, characters=WHITESPACE)), "_", "-")
    wanted = pc.is_in(tags, value_set=pa.array(languages, pa.string()))
    for language in languages:
        wanted = pc.or_(wanted, pc.fill_null(pc.starts_with(tags, f"{language}-"), fill_value=False))
    return wanted


def found(texts: pa.StringArray, pattern: re.Pattern[str]) -> pa.BooleanArray:
    """Return for each of *texts*, without nulls, whether ``pattern.search()`` finds a match in it.

    RE2, which comes with Arrow, takes a third of the time, but its syntax differs:
    https://github.com/google/re2/wiki/Syntax. So it is used only for patterns that mean
    the same in both; Python handles the others.
    """
    if not _is_common(pattern):
        return _search(texts, pattern)
    # In Python \d is any Unicode digit, and $ also matches before a final line feed.
    plain = pc.and_not(pc.string_is_ascii(texts), pc.ends_with(texts, "\n"))
    hits = pc.match_substring_regex(texts, pattern.pattern, ignore_case=bool(pattern.flags & re.IGNORECASE))
    if plain.false_count:
        odd = pc.invert(plain)
        hits = pc.replace_with_mask(hits, odd, _search(texts.filter(odd), pattern))
    return hits


def _search(texts: pa.StringArray, pattern: re.Pattern[str]) -> pa.BooleanArray:
    return pa.array([pattern.search(text) is not None for text in texts.to_pylist()], pa.bool_())


@lru_cache(maxsize=256)
def _is_common(pattern: re.Pattern[str]) -> bool:
    """Whether RE2 finds the same matches as *pattern* in ASCII texts."""
    if pattern.flags & ~_FLAGS or not _COMMON.fullmatch(pattern.pattern):
        return False
    try:
        pc.match_substring_regex(pa.array([""]), pattern.pattern)
    except pa.ArrowInvalid:  # too large for RE2, for instance
        return False
    return True


_MASKS: dict[str, Callable[[UrlBatch, Any], pa.BooleanArray]] = {
    "scope": lambda rows, _: pc.fill_null(rows["in_scope"], fill_value=True),
    "missing_lastmod": lambda rows, _: pc.or_(rows["lastmod"].is_valid(), rows["lastmod_text"].is_valid()),
    "unreadable_lastmod": lambda rows, _: pc.or_(rows["lastmod"].is_valid(), rows["lastmod_text"].is_null()),
    "future_lastmod": _begins_by,
    "since": lambda rows, since: _ends_after(rows, since.first),
    "until": lambda rows, until: _begins_by(rows, until.last),
    "min_priority": lambda rows, least: pc.greater_equal(pc.fill_null(rows["priority"], USUAL_PRIORITY), least),
    "max_priority": lambda rows, most: pc.less_equal(pc.fill_null(rows["priority"], USUAL_PRIORITY), most),
    "changefreq": lambda rows, known: pc.is_in(pc.ascii_lower(rows["changefreq"]), pa.array(known, pa.string())),
    "include": lambda rows, patterns: _any_found(rows["loc"], patterns),
    "exclude": lambda rows, patterns: pc.invert(_any_found(rows["loc"], patterns)),
    "prefix": _begins_with,
    "lang": _is_in_language,
    "has": lambda rows, parts: reduce(pc.and_, [_has(rows[PARTS[part]]) for part in parts]),
}
"""For each filter, a function of a batch and the filter's value: a mask, without nulls, of the rows that pass."""
