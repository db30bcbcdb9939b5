"""``lastmod_trust``: how far the dates of each sitemap and index can be relied on, as a score with its reasons.

The flaws of dates are those that the rules ``lastmod/*`` find. Whether dates change with
the contents is counted as in
:class:`~sitemap_harvest.snapshots.conditional_requests.LastmodStats`, which also decides
whether a crawl relies on the dates of an index. ``docs/explain/audit.md`` explains the
formula.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

from sitemap_harvest.audit.rule import RULES
from sitemap_harvest.display import percent
from sitemap_harvest.model import LastmodTrust
from sitemap_harvest.snapshots.conditional_requests import MIN_CORRECT, LastmodStats, is_trusted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sitemap_harvest.audit.dataset import Dataset
    from sitemap_harvest.audit.rule import RuleOptions

_FLAWS = {
    "future": "are in the future",
    "ancient": "are before 1995",
    "one_stamp": "are the same moment",
    "fetch_time": "are the time of the request",
    "mixed_precision": "have another precision than most of their sitemap",
    "goes_back": "are earlier than in the run before",
    "stale": "are older than the newest entry of their sitemap",
}
"""Flaws of single dates: the field of the record, and the text after the share of the dates."""
_COUNTS = ("entries", "dated", "unreadable", *_FLAWS, "correct", "missed", "spurious")
_SLIGHT = frozenset({"mixed_precision"})  # such dates are only imprecise, so they count half
_RULES = {name: f"lastmod/{name.replace('_', '-')}" for name in _FLAWS if name != "stale"}
_DATED = """
    select sitemap, count(*)::bigint as entries, count(lastmod)::bigint as dated,
        count_if(lastmod is null and lastmod_text is not null)::bigint as unreadable
    from lastmod_urls group by 1 order by 1
"""
_CORRECT = """
    select sitemap, count(*)::bigint from (
        select sitemap from changes
        where run = (select max(run) from runs) and kind = 'changed' and sitemap_before is null
            and list_contains(fields, 'lastmod') and list_has_any(fields, ['images', 'videos', 'news'])
        union all
        select sitemap from listed_pages
        where status = 200 and last_modified
            between lastmod - interval 1 day and period_end(lastmod, lastmod_precision) + interval 1 day
            and coalesce(abs(epoch(requested_at) - epoch(last_modified)) > 600, true)  -- generated for the request
    ) group by 1
"""
_INDEXES = """
    with dates as (
        select c.sitemap, s.key, c.lastmod, c.lastmod_text, coalesce(s.read_at, s.fetched_at) as read_at,
            count(c.lastmod) over (partition by c.sitemap, date_trunc('minute', c.lastmod)) as alike,
            count(c.lastmod) over (partition by c.sitemap) as dated,
            c.key in (select key from sitemaps where outcome in ('read', 'unchanged', 'partial')) as was_read
        from children c join sitemaps s on s.url = c.sitemap and s.kind = 'index' where c.found_by is null
    )
    select any_value(key), sitemap, count(*)::bigint, count(lastmod)::bigint,
        count_if(lastmod is null and lastmod_text is not null)::bigint,
        coalesce(count_if(lastmod > read_at + interval 1 day), 0)::bigint,
        coalesce(count_if(lastmod < timestamptz '1995-01-01 00:00:00+00'), 0)::bigint,
        count_if(dated >= 20 and alike >= 0.9 * dated)::bigint
    from dates group by sitemap having bool_or(was_read) order by sitemap
"""
_INDEX_COUNTS = ("sitemap", "entries", "dated", "unreadable", "future", "ancient", "one_stamp")


def lastmod_trust(dataset: Dataset, options: Mapping[str, RuleOptions] | None = None) -> list[LastmodTrust]:
    """Return how far the dates of the site can be relied on, then those of each index and sitemap, the worst first.

    Without feeds, news sitemaps and lists of URLs, whose entries have no date of the last
    change, without entries that have only the date of a video, and without indexes of which
    no sitemap was read; the list is empty if nothing else was read. *options* are the
    settings of rules, by id.
    """
    ((site, run),) = dataset.rows("select root, run from runs order by run desc limit 1")
    facts: dict[str, Any] = {"site": site, "run": run, "score": 0}
    sitemaps = [scored(LastmodTrust(**facts, **counts)) for counts in _sitemaps(dataset, options or {})]
    indexes = [scored(LastmodTrust(**facts, **counts)) for counts in _indexes(dataset, options or {})]
    if not sitemaps:
        return sorted(indexes, key=_rank)
    return [of_site(sitemaps), *sorted([*indexes, *sitemaps], key=_rank)]


def _rank(one: LastmodTrust) -> tuple[int, int, str | None]:
    return one.score, -one.entries, one.sitemap


def scored(one: LastmodTrust, one_stamp: str | None = None) -> LastmodTrust:
    """Return *one* with the score and the reasons that follow from its counts. Pure.

    *one_stamp*: the reason for dates that are the same; ``None``: their share.
    """
    factors = dict(_factors(one, one_stamp))
    reasons = sorted((text for text, factor in factors.items() if factor < 1), key=factors.__getitem__)
    return replace(one, score=_rounded(prod(factors.values())), reasons=tuple(reasons))


def _rounded(share: float) -> int:
    """Return the score for *share*, 0 to 1: 100 only for 1."""
    return int(100 * share + 1e-9)


def _factors(one: LastmodTrust, one_stamp: str | None = None) -> Iterator[tuple[str, float]]:
    """Yield for each reason the share of the dates that can be relied on in spite of it."""
    what = "entries" if one.trusted is None else "sitemaps"
    missing = one.entries - one.dated - one.unreadable
    yield f"{_percent(missing, one.entries)} of the {what} have no lastmod", _rest(missing, one.entries)
    text = f"{_percent(one.unreadable, one.entries)} of the {what} have a lastmod that cannot be read"
    yield text, _rest(one.unreadable, one.entries - missing)
    for name, flaw in _FLAWS.items():
        count = getattr(one, name) / (2 if name in _SLIGHT else 1)
        text = f"{_percent(getattr(one, name), one.dated)} of the dates {flaw}"
        yield one_stamp if one_stamp and name == "one_stamp" else text, _rest(count, one.dated)
    # With as many correct dates as a crawl needs before it relies on them: a single wrong one proves little.
    seen = one.correct + one.missed + one.spurious + MIN_CORRECT
    yield f"changes without a new date: {one.missed:,}, with one: {one.correct:,}", _rest(one.missed, seen)
    yield f"new dates without a change: {one.spurious:,}, with one: {one.correct:,}", _rest(one.spurious, seen)


def _rest(count: float, of: int) -> float:
    return 1 - count / of if count else 1.0


def _percent(count: int, of: int) -> str:
    return percent(count / max(of, 1))


def of_site(sitemaps: Sequence[LastmodTrust]) -> LastmodTrust:
    """Return the trust in the dates of all *sitemaps* of a site, at least one: the mean by entry, rounded once."""
    counts = {name: sum(getattr(one, name) for one in sitemaps) for name in _COUNTS}
    total = LastmodTrust(site=sitemaps[0].site, run=sitemaps[0].run, score=0, **counts)
    one_stamp = None
    if len(sitemaps) > 1:  # each with a moment of its own
        having = sum(one.one_stamp > 0 for one in sitemaps)
        one_stamp = f"lastmod/one-stamp in {having:,} of {len(sitemaps):,} sitemaps: almost all dates are the same"
    shares = (prod(dict(_factors(one)).values()) * one.entries for one in sitemaps)
    score = _rounded(sum(shares) / max(total.entries, 1))
    return replace(scored(total, one_stamp), score=score)


def _sitemaps(dataset: Dataset, options: Mapping[str, RuleOptions]) -> Iterator[dict[str, Any]]:
    """Yield the counts of each sitemap."""
    flaws = {name: _of_rule(dataset, rule, options) for name, rule in _RULES.items()}
    correct = dict(dataset.rows(_CORRECT))
    missed = _of_rule(dataset, "lastmod/silent-change", options) + _of_rule(dataset, "page/lastmod-differs", options)
    moved = dict(dataset.rows(f"select sitemap, count from ({_query('lastmod/moves-without-change', options)})"))  # noqa: S608 - our own query
    for sitemap, entries, dated, unreadable in dataset.rows(_DATED):
        yield {
            "sitemap": sitemap,
            "entries": entries,
            "dated": dated,
            "unreadable": unreadable,
            "correct": correct.get(sitemap, 0),
            "missed": missed[sitemap],
            "spurious": moved.get(sitemap, 0) * dated,
            **{name: counts[sitemap] for name, counts in flaws.items()},
        }


def _indexes(dataset: Dataset, options: Mapping[str, RuleOptions]) -> Iterator[dict[str, Any]]:
    """Yield the counts of each index: how its dates describe its sitemaps."""
    observed = {key: LastmodStats(*counts) for key, *counts in dataset.rows("from index_dates")}
    stale = _of_rule(dataset, "sitemap/index-lastmod-stale", options)
    for key, *counts in dataset.rows(_INDEXES):
        stats = observed.get(key, LastmodStats())
        values = dict(zip(_INDEX_COUNTS, counts, strict=True))
        yield {
            **values,
            "stale": stale[values["sitemap"]],
            "correct": stats.correct,
            "missed": stats.missed,
            "spurious": stats.spurious,
            "trusted": is_trusted(stats),
        }


def _of_rule(dataset: Dataset, name: str, options: Mapping[str, RuleOptions]) -> Counter[str]:
    """Return the number of occurrences that the rule *name* finds in each document."""
    query = _query(name, options)
    if not dataset.may_return_rows(query):
        return Counter()
    rows: list[tuple[Any, ...]] = dataset.rows(f"select sitemap, count(*)::bigint from ({query}) group by 1")  # noqa: S608 - our own query
    return Counter(dict(rows))


def _query(name: str, options: Mapping[str, RuleOptions]) -> str:
    rule = RULES[name]
    thresholds = options[name].thresholds if name in options else {}
    return rule.query(**{**rule.thresholds, **thresholds})
