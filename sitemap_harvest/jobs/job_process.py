"""What the process of a job does: it crawls a site or a block of one, or writes a part of a table."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.log import configure_logging, get_scrapy_root_handler

from sitemap_harvest.engine.exit_codes import RunOutcome, verdict
from sitemap_harvest.engine.site_parts import PostponedIndex, SiteBlock, SiteHead
from sitemap_harvest.errors import HarvestError, StoreError
from sitemap_harvest.integration.spider_attributes import harvest_of
from sitemap_harvest.jobs.bounded import JobFailedError
from sitemap_harvest.jobs.compaction import do_part
from sitemap_harvest.jobs.crawl_settings import crawl_settings, most_sharers, share
from sitemap_harvest.jobs.retries import FailureKind
from sitemap_harvest.model import SiteResult
from sitemap_harvest.reporting.run_reports import ErrorCount
from sitemap_harvest.snapshots.store import open_store
from sitemap_harvest.spiders.sitemap import SitemapSpider

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from scrapy.settings import Settings

    from sitemap_harvest.engine.run_state import RunState
    from sitemap_harvest.engine.site_parts import SitePart
    from sitemap_harvest.snapshots.store import History, Run

_FAILURES = {
    SiteResult.UNREACHABLE: FailureKind.UNREACHABLE,
    SiteResult.BLOCKED: FailureKind.BLOCKED,
    SiteResult.FORBIDDEN: FailureKind.FORBIDDEN,
    SiteResult.NOT_A_SITE: FailureKind.NOT_A_SITE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlJob:
    """What the process of a crawl needs to know."""

    name: str
    """The id of the job, which the stored run has as its :attr:`~sitemap_harvest.snapshots.store.Run.job`."""
    store: str
    site: str
    """The site, or the URL of a document."""
    kind: str
    """The argument for it: ``site`` or ``sitemap``."""
    arguments: Mapping[str, Any]
    """Other arguments of the spider."""
    settings: Mapping[str, str]
    """Settings that the user has given to the worker."""
    is_repeated: bool
    """Whether an earlier attempt of this job may have stored its run."""
    may_resume: bool
    """Whether an earlier crawl may have left checkpoints."""
    intervals: tuple[float, float] | None = None
    """The multiplier of the intervals of its sitemaps, and their ceiling in days; ``None``: all are requested."""
    blocks: int = 1
    """Into how many blocks the site may be split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """What the crawl of a site has left to blocks."""

    blocks: int
    run: str
    """The id of the run that they continue."""
    postponed: Sequence[tuple[str, int, Sequence[str]]]
    """The values of each :class:`~sitemap_harvest.engine.site_parts.PostponedIndex`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlResult:
    """How a crawl ended. It can be pickled."""

    failure: FailureKind | None
    """``None``: it did not fail."""
    result: str
    """The result of the site, a value of :class:`~sitemap_harvest.SiteResult`, or the kind of the failure."""
    reason: str | None = None
    """The reason, as text."""
    run: str | None = None
    """The id of the stored run; ``None``: none was stored."""
    is_complete: bool = False
    """Whether every document that is due was read completely or confirmed."""
    has_changed: bool | None = None
    """Whether the site has changed since its last run; ``None``: it is unknown, as there is none, or it was not read
    completely."""
    seconds: float = 0.0
    split: Split | None = None
    """What is left to blocks, before the site has a result; ``None``: nothing is."""


def check_store(address: str) -> None:
    """Check, for all crawls of a worker, that the store at *address* can be used. Raises :exc:`JobFailedError`."""
    with _store_errors():
        open_store(address).folder.check_conditions()


async def crawl_site(job: CrawlJob) -> CrawlResult:
    """Crawl the site of *job*, unless an earlier attempt has stored its run. Raises :exc:`JobFailedError`."""
    started = time.monotonic()
    with _store_errors():
        history = _history(job)
        run = _run_of(job, history) if job.is_repeated else None
        resumes = job.may_resume and bool(history.unfinished())
    if run is None:
        settings, _ = crawl_settings(job.settings)
        head = SiteHead() if (blocks := most_sharers(settings, job.blocks)) > 1 else None
        failure = await _crawl(job, settings, resumes=resumes, part=head)
        if head is not None and head.run is not None:
            postponed = [(one.url, one.depth, one.authorized) for one in head.postponed]
            split = Split(blocks=blocks, run=head.run, postponed=postponed)
            return CrawlResult(failure=None, result="split", split=split, seconds=time.monotonic() - started)
        with _store_errors():
            history.forget()
            run = _run_of(job, history)
        if run is None:
            raise failure
    return _result(run, history, time.monotonic() - started)


async def crawl_block(job: CrawlJob, split: Split, number: int, attempt: int) -> None:
    """Crawl the block *number* of *split* of the site of *job*. Raises :exc:`JobFailedError`.

    *attempt*: counted from 1; another one each time.
    """
    with _store_errors():
        open_store(job.store).folder.trust_conditions()
    settings, options = crawl_settings(job.settings)
    share(settings, options, split.blocks)
    postponed = [PostponedIndex(*one) for one in split.postponed]
    block = SiteBlock(number=number, blocks=split.blocks, attempt=attempt, run=split.run, postponed=postponed)
    failure = await _crawl(job, settings, resumes=False, part=block)
    if not block.has_ended:
        raise failure


async def _crawl(job: CrawlJob, settings: Settings, *, resumes: bool, part: SitePart | None) -> JobFailedError:
    """Crawl the site of *job*, or *part* of it; return the failure that is the reason if no run was stored.

    Raises :exc:`JobFailedError` if the crawl cannot begin.
    """
    if get_scrapy_root_handler() is None:  # once in a process: the settings of its jobs are those of the worker
        configure_logging(settings)
    crawler = Crawler(SitemapSpider, settings)  # without a runner, which would copy the settings once more
    opened: list[RunState] = []
    crawler.signals.connect(lambda: opened.append(harvest_of(crawler)), signal=signals.spider_opened, weak=False)

    def note_end() -> None:
        for state in opened:  # the summary of a part would say that there is no sitemap
            state.logs_summary = part is None or part.is_published

    crawler.signals.connect(note_end, signal=signals.spider_closed)
    arguments = {**job.arguments, job.kind: job.site, **({"resume": "yes"} if resumes else {})}
    logging.root.addHandler(errors := ErrorCount())
    try:
        own = {"store": job.store, "emit": "none", "_job": job.name, "_intervals": job.intervals, "_part": part}
        await crawler.crawl_async(**arguments, **own)
    finally:
        logging.root.removeHandler(errors)
    if not opened:
        raise JobFailedError(FailureKind.CRASHED, f"Scrapy could not start: {_first(errors)}")
    (state,) = opened
    if state.refused is not None:
        is_of_store = isinstance(state.refusal, StoreError)
        raise JobFailedError(FailureKind.STORE if is_of_store else FailureKind.REFUSED, state.refused)
    return _failure(state, verdict(state.summary, crawler.stats.get_stats(), errors=errors.errors), errors)


@contextmanager
def _store_errors() -> Iterator[None]:
    """Raise :exc:`JobFailedError` for errors of the store."""
    try:
        yield
    except (HarvestError, OSError) as error:
        raise JobFailedError(FailureKind.STORE, str(error)) from None


def write_table_part(values: Mapping[str, Any], settings: Mapping[str, str]) -> dict[str, Any]:
    """Write, or compact, the part with *values*, and return its counts. Raises :exc:`JobFailedError`.

    *settings*: those that the user has given to the worker.
    """
    _, options = crawl_settings(settings)
    try:
        return asdict(do_part(values, now=datetime.now(UTC), rules=options.audit))
    except (HarvestError, OSError) as error:
        raise JobFailedError(FailureKind.STORE, str(error)) from None


def _history(job: CrawlJob) -> History:
    """Return the history of the site of *job* in the store, which the worker has checked."""
    store = open_store(job.store)
    store.folder.trust_conditions()
    return store.history(store.renamed({job.site: False}).get(job.site, job.site))


def _run_of(job: CrawlJob, history: History) -> Run | None:
    """Return the run that *job* has stored; ``None`` if there is none."""
    return next((run for run in reversed(history.runs) if run.job == job.name), None)


def _result(run: Run, history: History, seconds: float) -> CrawlResult:
    result = SiteResult(run.result) if run.result else None
    is_complete = run.complete or run.not_due is not None
    return CrawlResult(
        failure=_FAILURES.get(result) if result else None,
        result=run.result or "",
        reason=run.reason,
        run=run.id,
        is_complete=is_complete,
        has_changed=_has_changed(run, history) if is_complete and run.baseline is not None else None,
        seconds=seconds,
    )


def _has_changed(run: Run, history: History) -> bool:
    """Whether *run* has found changes. A removal that is pending is one only in the first run that noticed it."""
    before = next((one.changes for one in history.runs if one.id == run.baseline), {})
    pending, pending_before = (counts.get("pending", 0) for counts in (run.changes, before))
    return pending > pending_before or any(count for kind, count in run.changes.items() if kind != "pending")


def _failure(state: RunState, outcome: RunOutcome, errors: ErrorCount) -> JobFailedError:
    """Return the failure of a crawl that has stored nothing."""
    for site in state.summary.failed_sites:
        if (kind := _FAILURES.get(SiteResult(site.result))) is not None:
            return JobFailedError(kind, site.reason)
    reason = _first(errors) or next((site.reason for site in state.summary.failed_sites), str(outcome))
    return JobFailedError(FailureKind.STORE, reason)


def _first(errors: ErrorCount) -> str:
    return errors.first[0] if errors.first else ""
