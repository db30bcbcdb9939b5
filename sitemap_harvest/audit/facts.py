# ruff: noqa: S608 - the queries are made of our own constants and numbers
"""``SiteFacts``: what a report shows beside the findings: the documents, dates, extensions and runs of a site."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from sitemap_harvest.model import ChangeBatch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sitemap_harvest.audit.dataset import Dataset
    from sitemap_harvest.diff import Changes
    from sitemap_harvest.model import LastmodTrust
    from sitemap_harvest.snapshots.store import History, Run, Snapshot

_MOST_DOCUMENTS = 1_000
_MOST_RUNS = 60
_MOST_LANGUAGES = 30
_MOST_TRUST = 21  # the site and its 20 worst documents
_SAMPLES = 10
_CHANGES = ("added", "removed", "changed", "moved", "expired")
_ALSO_COUNTED = ("newly_known", "retracted", "pending")
_MOST_BARS = 62
_PERIODS = {"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}
_FIRST_DATE = "timestamptz '1995-01-01 00:00:00+00'"  # as for the rule lastmod/ancient
_TRIED = "found_by in ('variant', 'well-known', 'home') and entries = 0"  # only probed, and no sitemap
_DOCUMENTS = f"""
    select url, parent, depth, kind, outcome, reason, status, bytes_downloaded, bytes_unpacked, seconds,
        coalesce(n, 0) as urls, dated, newest
    from sitemaps left join (
        select document, count(*) as n, count(lastmod) as dated, max(lastmod) as newest from all_urls group by 1
    ) on number = document
    where not ({_TRIED})
    order by depth, outcome in ('read', 'unchanged', 'skipped'), number
"""
_PAGES = """
    with responses as (
        select source, method is not null as is_requested, status, len(redirects) > 0 as is_redirected, error,
            method is null and contains(error, 'robots.txt') as is_disallowed
        from pages
    )
    select source, is_requested, status, is_redirected, count(*)::bigint, if(is_requested, null, min(error))
    from responses group by 1, 2, 3, 4, is_disallowed order by 1, 2 desc, 3 nulls last, 4, 6
"""
_EXTENSIONS = {
    "Images": "select count(*), sum(len(images)) from media where len(images) > 0",
    "Videos": "select count(*), sum(len(videos)) from media where len(videos) > 0",
    "News": "select count(*), sum(len(news)) from media where len(news) > 0",
    "Language versions": "select count(*), sum(n)::bigint from (select count(*) n from all_alternates group by entry)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFacts:
    """One document of the site."""

    url: str
    parent: str | None
    """The document that named it first; ``None`` for starts of the run."""
    depth: int
    """0 for starts of the run."""
    kind: str | None
    outcome: str
    reason: str | None
    status: int | None
    bytes_downloaded: int | None
    bytes_unpacked: int | None
    seconds: float | None
    urls: int
    """Entries that are URLs."""
    dated: int | None
    """Entries with a valid ``lastmod``; ``None`` without entries."""
    newest: datetime | None
    """The latest ``lastmod`` of its entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """The documents with one parent that the tree leaves out."""

    documents: int
    urls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeFacts:
    """The documents with one outcome."""

    outcome: str
    documents: int
    urls: int
    bytes_downloaded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DateFacts:
    """How the ``lastmod`` of the entries are distributed."""

    unit: str = "month"
    """The length of a period: ``day``, ``month`` or ``year``."""
    periods: Sequence[tuple[datetime, int]] = ()
    """The begin of each period and its number of entries, without gaps."""
    missing: int = 0
    """Entries without a valid date."""
    ancient: int = 0
    """Entries with a date before 1995, which no period has."""
    future: int = 0
    """Entries with a date more than a day after the run, which no period has."""

    @property
    def rows(self) -> list[tuple[str, int]]:
        """The periods as text, such as ``2026-03``, and the number of entries in each."""
        return [(f"{begin:{_PERIODS[self.unit]}}", count) for begin, count in self.periods]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """One run of the history."""

    id: str
    started_at: datetime
    urls: int | None
    """Distinct URLs; ``None`` if they were not counted."""
    changes: dict[str, int]
    """Number of changes by kind."""
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionFacts:
    """One extension of the protocol."""

    name: str
    urls: int
    """Entries that have it."""
    items: int
    """For example, the images of all entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResponses:
    """The pages with one response."""

    source: str
    """A value of :class:`~sitemap_harvest.model.page.PageSource`."""
    is_requested: bool
    status: int | None
    """HTTP status after redirects; ``None`` without a response."""
    is_redirected: bool
    pages: int
    reason: str | None
    """Why they were not requested, for one of them; ``None`` if they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFacts:
    """The facts of one snapshot and its history, in bounded size."""

    run: RunFacts
    ended_at: datetime
    result: str | None
    """The result of the site, a value of :class:`~sitemap_harvest.SiteResult`."""
    reason: str | None
    """The reason of the result, as text."""
    requested: int
    """Documents that were requested in the run."""
    unpacked: int
    """Bytes of the documents after decompression."""
    outcomes: Sequence[OutcomeFacts]
    """Most documents first."""
    slowest: Sequence[tuple[str, float]]
    """The documents with the longest downloads, and their seconds."""
    tried: int
    """Addresses that were only probed, and are no sitemap."""
    documents: Sequence[DocumentFacts]
    """The first 1,000 documents in the order of the tree."""
    left_out: dict[str | None, LeftOut] = field(default_factory=dict)
    """The documents that are not among these, by parent."""
    dates: DateFacts
    runs: Sequence[RunFacts]
    """The last 60 runs up to this one, oldest first."""
    earlier_runs: int
    """Runs before these."""
    samples: dict[str, list[tuple[str, str | None]]]
    """The first ten changes of each kind: the URL, and the changed fields or the reason; and of those that are
    ``pending``: the URL, and the document that listed it last."""
    extensions: Sequence[ExtensionFacts]
    """Those in use."""
    languages: Sequence[tuple[str, int]]
    """The codes of language versions and their number, most frequent first, at most 30."""
    pages: Sequence[PageResponses]
    """Of a probe or a crawl export; empty without one."""
    trust: Sequence[LastmodTrust]
    """How far the dates of the site can be relied on, and those of its 20 worst documents."""

    @property
    def seconds(self) -> float:
        """Duration of the run."""
        return (self.ended_at - self.run.started_at).total_seconds()


def facts_of(dataset: Dataset, snapshot: Snapshot, history: History, trust: Sequence[LastmodTrust]) -> SiteFacts:
    """Return the facts of *snapshot*, whose tables are in *dataset*. *trust*: that in the dates, worst first."""
    run = snapshot.run
    runs = [one for one in history.runs if one.id <= run.id]
    documents = _documents(dataset)
    outcomes = dataset.rows("""
        select outcome, count(*)::bigint, coalesce(sum(n), 0)::bigint, coalesce(sum(bytes_downloaded), 0)::bigint
        from sitemaps left join (select document, count(*) as n from all_urls group by 1) on number = document
        group by 1 order by 2 desc, 1
    """)
    ((requested, unpacked, tried),) = dataset.rows(f"""
        select count(*) filter (fetched_at >= '{run.started_at.isoformat()}'),
            coalesce(sum(bytes_unpacked), 0)::bigint, count(*) filter ({_TRIED})
        from sitemaps
    """)
    shown = documents[:_MOST_DOCUMENTS]
    return SiteFacts(
        run=_run_facts(run),
        ended_at=run.ended_at,
        result=run.result,
        reason=run.reason,
        requested=requested,
        unpacked=unpacked,
        outcomes=[
            OutcomeFacts(outcome=outcome, documents=count, urls=urls, bytes_downloaded=size)
            for outcome, count, urls, size in outcomes
        ],
        slowest=dataset.rows("select url, seconds from sitemaps where seconds is not null order by 2 desc, 1 limit 5"),
        tried=tried,
        documents=shown,
        left_out=_left_out(shown, documents[_MOST_DOCUMENTS:]),
        dates=dates_of(dataset.rows, run.ended_at),
        runs=[_run_facts(one) for one in runs[-_MOST_RUNS:]],
        earlier_runs=max(len(runs) - _MOST_RUNS, 0),
        samples=_samples(dataset, run.id) | _pending(snapshot),
        extensions=[
            ExtensionFacts(name=name, urls=urls, items=items)
            for name, query in _EXTENSIONS.items()
            for urls, items in dataset.rows(query)
            if urls
        ],
        languages=dataset.rows(
            "select lang, count(*)::bigint from all_alternates where lang is not null "
            f"group by 1 order by 2 desc, 1 limit {_MOST_LANGUAGES}"
        ),
        pages=[
            PageResponses(**dict(zip(PageResponses.__dataclass_fields__, row, strict=True)))
            for row in dataset.rows(_PAGES)
        ],
        trust=list(trust[:_MOST_TRUST]),
    )


def since_baseline(facts: SiteFacts, changes: Changes) -> SiteFacts:
    """Return *facts* with *changes*, since a baseline, in place of those since the previous run."""
    counts = {kind: getattr(changes.summary, kind) for kind in (*_CHANGES, *_ALSO_COUNTED)}
    samples = {kind: some for kind, some in facts.samples.items() if kind == "pending"}
    for batch in changes.batches():
        for kind in _CHANGES:
            some = batch.arrow.filter(pc.equal(batch.arrow["kind"], kind))
            for one in ChangeBatch(some.slice(0, _SAMPLES - len(samples.get(kind, ())))).rows():
                samples.setdefault(kind, []).append((one.loc, ", ".join(one.fields) or one.reason))
    return replace(facts, run=replace(facts.run, changes=counts), samples=samples)


def _run_facts(run: Run) -> RunFacts:
    return RunFacts(
        id=run.id, started_at=run.started_at, urls=run.urls, changes=dict(run.changes), complete=run.complete
    )


def _documents(dataset: Dataset) -> list[DocumentFacts]:
    names = DocumentFacts.__dataclass_fields__
    return [DocumentFacts(**dict(zip(names, row, strict=True))) for row in dataset.rows(_DOCUMENTS)]


def _left_out(shown: Sequence[DocumentFacts], others: Sequence[DocumentFacts]) -> dict[str | None, LeftOut]:
    known = {one.url for one in shown}
    found: dict[str | None, LeftOut] = {}
    for one in others:
        parent = one.parent if one.parent in known else None
        before = found.get(parent, LeftOut(documents=0, urls=0))
        found[parent] = LeftOut(documents=before.documents + 1, urls=before.urls + one.urls)
    return found


def dates_of(select: Callable[[str], list[tuple[Any, ...]]], now: datetime) -> DateFacts:
    """Return how the dates in ``all_urls`` are distributed.

    *select* returns the rows that a query selects, with times in UTC. *now*: when the run ended.
    """
    latest = f"(timestamptz '{now.astimezone(UTC).isoformat()}' + interval 1 day)"
    usual = f"lastmod >= {_FIRST_DATE} and lastmod <= {latest}"
    ((missing, ancient, future, first, last),) = select(f"""
        select count(*) - count(lastmod),
            count(*) filter (lastmod < {_FIRST_DATE}), count(*) filter (lastmod > {latest}),
            min(lastmod) filter ({usual}), max(lastmod) filter ({usual})
        from all_urls
    """)
    counts = {"missing": missing, "ancient": ancient, "future": future}
    if first is None:
        return DateFacts(**counts)
    days = (last - first).days
    unit = "day" if days < _MOST_BARS - 1 else "month" if days < 28 * (_MOST_BARS - 1) else "year"
    found = dict(select(f"select date_trunc('{unit}', lastmod), count(*) from all_urls where {usual} group by 1"))
    begins = [min(found)]
    while begins[-1] < max(found):
        begins.append(_next(begins[-1], unit))
    return DateFacts(unit=unit, periods=[(begin, found.get(begin, 0)) for begin in begins], **counts)


def _next(begin: datetime, unit: str) -> datetime:
    """Return the begin of the period after the one that begins at *begin*."""
    if unit == "day":
        return begin + timedelta(days=1)
    months = begin.year * 12 + begin.month - 1 + (12 if unit == "year" else 1)
    return begin.replace(year=months // 12, month=months % 12 + 1)


def _samples(dataset: Dataset, run: str) -> dict[str, list[tuple[str, str | None]]]:
    found: dict[str, list[Any]] = {}
    rows = dataset.rows(f"""
        select kind, unnest(min(row(loc, coalesce(nullif(array_to_string(fields, ', '), ''), reason)), {_SAMPLES}))
        from changes where run = '{run}' group by kind
    """)
    for kind, sample in rows:
        found.setdefault(kind, []).append(tuple(sample))
    return found


def _pending(snapshot: Snapshot) -> dict[str, list[tuple[str, str | None]]]:
    """Return the first URLs whose removal is pending, each with the document that listed it last, if there are some."""
    found: dict[str, str | None] = {}
    for batch in snapshot.pending_urls():
        for row in batch.slice(0, _SAMPLES).to_pylist():
            found.setdefault(row["loc"], f"last listed in {row['sitemap']}")
        break
    return {"pending": list(found.items())} if found else {}
