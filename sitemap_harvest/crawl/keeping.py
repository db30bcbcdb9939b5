"""The store of a run: which sites it keeps, from when on, and what the end of a site puts in place."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.crawl.lending import lend, of_snapshot
from sitemap_harvest.crawl.pending import pending_rows
from sitemap_harvest.crawl.site_keeping import WRITE_ERRORS, SiteKeeper
from sitemap_harvest.crawl.watching.run_mark import fields
from sitemap_harvest.diff import compare
from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import FoundBy, Outcome
from sitemap_harvest.plan import Freshness, PendingLimits, Trust, approach, document_key
from sitemap_harvest.store import Claims, Run, SiteWriter, id_after, moment_of, open_store
from sitemap_harvest.store.packing import pack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from scrapy.statscollectors import StatsCollector

    from sitemap_harvest.crawl.arguments import Plan
    from sitemap_harvest.crawl.delivery import Delivery
    from sitemap_harvest.crawl.options import Options
    from sitemap_harvest.crawl.site_keeping import Known
    from sitemap_harvest.diff import Changes
    from sitemap_harvest.model import SitemapRecord
    from sitemap_harvest.plan import Lead
    from sitemap_harvest.store import History, Snapshot, Store

logger = logging.getLogger(__name__)

_CHECKPOINT_DOCUMENTS = 500
_CHECKPOINT_SECONDS = 30
_LOOK_SECONDS = 1.0
_LONG = timedelta(days=1)
_MOST_ROWS = 100_000  # that wait in memory to be written, over all sites
_MOST_FILES = 16  # open to be written
_CONFIRMED = frozenset({Outcome.READ, Outcome.UNCHANGED, Outcome.SKIPPED})


class Ask(NamedTuple):
    """How to ask for a document."""

    headers: Mapping[str, str] = {}
    """Headers by which the server may answer that it has not changed."""
    fresh: tuple[Known, str] | None = None
    """What is known of it, and why it need not be asked for; ``None`` if it has to be."""


class Hindrance(NamedTuple):
    """Why a site is not harvested."""

    words: str
    may_pass: bool = False
    """Whether it ends with another run."""


class Keeper:
    """Keeps the sites of a run, each from its first document to its last."""

    def __init__(
        self,
        store: str,
        plan: Plan,
        options: Options,
        stats: StatsCollector,
        *,
        run_id: str,
        started_at: datetime,
        fail: Callable[[], None],
        delivery: Delivery | None = None,
    ) -> None:
        """Open the store at *store*, or make it. Raises :exc:`StoreError`.

        *run_id* is that of the run, which began at *started_at*; a site whose last run has a later one gets one behind
        that. *fail* ends the run when the store cannot be written any more. *delivery* is to the consumer of the
        changes, if it has a name.
        """
        self._plan = plan
        self._options = options
        self._stats = stats
        self._fail = fail
        self._delivery = delivery
        self.store: Store = open_store(store, create=True)
        self._started_at = started_at
        self.run_id = run_id
        self._claims = Claims(self.store.folder, self.run_id)
        self._sites: dict[str, SiteKeeper] = {}
        self._begun: set[str] = set()
        self._touched: set[str] = set()  # sites of which something was kept since the last checkpoint
        self._lenders: dict[str, Callable[[str], Known | None] | None] = {}
        self._written_at: dict[str, float] = {}
        self._looked_at = 0.0
        self.has_failed = False

    def begin(self, root: str) -> Hindrance | None:
        """Begin to keep the site *root*; return what is in the way, if something is."""
        history = self.store.history(root)
        try:
            if (holder := self._claims.take(history.folder)) is not None:
                return Hindrance(f"the run {holder} is at work on it in the same store", may_pass=True)
            self._begun.add(root)
            self._sites[root] = site = self._site(history)
            self._written_at[root] = time.monotonic()
            if self._plan.snapshots.polls and site.writer.before is None:
                self._forget(root)
                return Hindrance("there is no snapshot of it, which poll=yes needs: harvest it once without")
        except StoreError as error:  # of one site: the others may be sound
            self._release(root)
            return Hindrance(f"what is kept of it cannot be used: {error}")
        except WRITE_ERRORS as error:
            self.give_up(error)
        return None

    def _site(self, history: History) -> SiteKeeper:
        """Return what keeps the site of *history*, whose last snapshot is sound. Raises :exc:`StoreError`."""
        self.store.begin(history)
        if (before := history.latest()) is not None:
            before.check()
        if self._delivery is not None:
            self._delivery.begin(history)
        writer = self._writer(history, before)
        site = SiteKeeper(
            writer,
            started_at=moment_of(writer.run_id) if writer.kept else self._started_at,
            baseline=self._baseline(history),
            absent_runs=self._options.absent_runs,
            polls=self._plan.snapshots.polls,
            give_up=self.give_up,
        )
        site.load()
        return site

    def _writer(self, history: History, before: Snapshot | None) -> SiteWriter:
        """Return what writes the next run of *history*: it goes on with one that was interrupted, where that is wanted.

        Of others that were interrupted, nothing is left.
        """
        *others, last = self._interrupted(history) or [""]
        for run_id in others:
            SiteWriter(history, run_id, before).drop()
        if last:
            writer = SiteWriter(history, last, before)
            if self._plan.snapshots.resumes and self._takes_over(writer):
                count = f"{len(writer.kept):,} document{'' if len(writer.kept) == 1 else 's'}"
                logger.info(
                    "%s: %s taken over from the run %s, which was interrupted",
                    history.site,
                    count,
                    last,
                    extra=fields("resumed", site=history.site, stored_as=last),
                )
                return writer
            writer.drop()
        run_id = id_after(before.run.id if before is not None else None, self.run_id)
        if run_id != self.run_id:
            told = fields("stored-as", site=history.site, stored_as=run_id)
            logger.info(
                "%s: kept as the run %s, for the last in the store is as late", history.site, run_id, extra=told
            )
        return SiteWriter(history, run_id, before)

    def _interrupted(self, history: History) -> list[str]:
        """Return the ids of the runs of *history* that were interrupted.

        In an object store, where two that begin in one moment may both have claimed
        a site, those of the last day are left alone: one of them may go on.
        """
        unfinished = history.unfinished()
        if self.store.folder.is_local or self._plan.snapshots.resumes:
            return unfinished
        return [run_id for run_id in unfinished if self._started_at - moment_of(run_id) > _LONG]

    def _takes_over(self, writer: SiteWriter) -> bool:
        """Whether there is something that *writer* goes on with, which is the work of a run that was interrupted."""
        if writer.before is not None and writer.run_id < writer.before.run.id:
            return False  # it was interrupted before the last snapshot
        try:
            return writer.take_over()
        except (*WRITE_ERRORS, StoreError) as error:
            logger.warning("What the run %s has kept cannot be used, and is asked for again: %s", writer.run_id, error)
            return False

    def _baseline(self, history: History) -> Snapshot | None:
        """Return what changes of the site of *history* are against; ``None`` if it has no such snapshot."""
        if (when := self._plan.snapshots.baseline) is None:
            return history.latest()
        try:
            return history.at(when)
        except StoreError as error:
            logger.warning("Nothing to compare with: %s", error)
            return None

    def check_baseline(self, root: str) -> None:
        """Raise :exc:`StoreError` if the site *root* has no such snapshot as changes are to be against."""
        if (when := self._plan.snapshots.baseline) is not None:
            self.store.history(root).at(when)

    def has_begun(self, root: str) -> bool:
        """Whether the site *root* is kept, or was, or cannot be."""
        return root in self._begun or self.has_failed

    def ask(self, lead: Lead) -> Ask:
        """Return how to ask for the document of *lead*."""
        site = self._sites.get(lead.root)
        known = site.of(lead) if site is not None else None
        if site is None or known is None or lead.site_root or lead.attempt:
            return Ask()  # the rules of a robots.txt are needed; and who is asked again has not been understood
        is_seen = lead.found_by is not FoundBy.SNAPSHOT  # else its index was not, and its date is of the last run
        found = approach(
            known.record,
            self.freshness(),
            lastmod=lead.lastmod if is_seen else None,
            lastmod_text=lead.lastmod_text if is_seen else None,
            is_trusted=site.trusts(lead.parent),
        )
        return Ask(found.headers, (known, found.skip) if found.skip is not None else None)

    def freshness(self) -> Freshness:
        """Return what decides whether something is asked for, and whether it is read."""
        wishes = self._plan.snapshots
        return Freshness(
            now=datetime.now(UTC),
            max_age=self._options.max_age if wishes.max_age is None else wishes.max_age,
            full=wishes.is_full,
            trust=Trust(self._options.trust_lastmod),
        )

    def site(self, root: str) -> SiteKeeper | None:
        """Return what is kept of the site *root*; ``None`` if it is not, or not any more."""
        return self._sites.get(root)

    def note(self, record: SitemapRecord) -> None:
        """Note *record*, a ledger row."""
        if site := self._sites.get(record.root):
            site.note(record)
            self._touched.add(record.root)

    def guard(self, work: Callable[[], None]) -> None:
        """Do *work* on the store; give the store up if it cannot be written."""
        try:
            work()
        except (*WRITE_ERRORS, StoreError) as error:
            self.give_up(error)

    def checkpoint(self) -> None:
        """Write down what was kept of sites, where that is much, so that an interruption does not cost it."""
        now = time.monotonic()
        if now - self._looked_at < _LOOK_SECONDS:
            return  # this is asked before each request, and there may be thousands of sites
        self._looked_at = now
        self._claims.beat()
        for root in [root for root in self._touched if self._is_due(root, now)]:
            if site := self._sites.get(root):
                self._written_at[root] = now
                self._touched.discard(root)
                self.guard(site.writer.checkpoint)

        self._make_room([site.writer for site in self._sites.values() if site.writer.waiting or site.writer.is_open])

    def _make_room(self, writers: list[SiteWriter]) -> None:
        """Let *writers* write what they hold, where that is too much, or too many files are open; the largest first."""
        writers.sort(key=lambda writer: (writer.is_open, writer.waiting))
        held, is_open = sum(writer.waiting for writer in writers), sum(writer.is_open for writer in writers)
        while writers and (held > _MOST_ROWS or is_open > _MOST_FILES):
            writer = writers.pop()
            held, is_open = held - writer.waiting, is_open - writer.is_open
            self.guard(writer.rest)

    def _is_due(self, root: str, now: float) -> bool:
        if (site := self._sites.get(root)) is None or not site.writer.unwritten:
            return False
        is_much = site.writer.unwritten >= _CHECKPOINT_DOCUMENTS
        return is_much or now - self._written_at[root] > _CHECKPOINT_SECONDS

    def lend(self, root: str, leads: Sequence[tuple[Lead, str]], owner_of: Callable[[str], str | None]) -> None:
        """Keep for the site *root* what *leads* lead to, each with an address, and what was read for other sites."""
        if (borrower := self._sites.get(root)) is not None:
            self.guard(lambda: lend(borrower, leads, owner_of=owner_of, lender_of=self._lender))

    def _lender(self, root: str) -> Callable[[str], Known | None] | None:
        """Return what gives the documents of the site *root*, by their keys; ``None`` if it was not kept."""
        if (site := self._sites.get(root)) is not None:
            return site.lent
        if root not in self._lenders:
            snapshot = self.store.history(root).latest() if root in self._begun else None
            self._lenders[root] = None if snapshot is None else of_snapshot(snapshot)
        return self._lenders[root]

    def commit(self, root: str, *, is_over: bool) -> list[Changes]:
        """Put the snapshot of the site *root* in place; return what has changed, as the user wants it compared.

        *is_over* is ``False`` where the run ended before the site was done. A consumer gets the changes of several
        runs, the last of which is this one; without one there is one comparison. There is none if nothing was kept.
        """
        if (site := self._sites.pop(root, None)) is None:
            return []
        try:
            return self._commit(site, is_over=is_over)
        except (*WRITE_ERRORS, StoreError) as error:
            self.give_up(error)
        except Exception:  # a fault of ours at one site must not cost the others
            logger.exception(
                "The snapshot of %s is not kept, and the last stays in force", root, extra=fields("not-kept", site=root)
            )
            self._stats.inc_value("sitemap_harvest/store_failed")
            site.writer.close()
        finally:
            self._release(root)
        return []

    def handed_over(self, root: str) -> None:
        """Note that all changes of the site *root* have left the spider."""
        if self._delivery is not None:
            self._delivery.handed_over(root)

    def _commit(self, site: SiteKeeper, *, is_over: bool) -> list[Changes]:
        now = datetime.now(UTC)
        writer = site.writer
        ledger = site.ledger(now=now)
        run = Run(
            id=writer.run_id,
            started_at=site.started_at,
            ended_at=now,
            baseline=writer.before.run.id if writer.before is not None else None,
            rows=writer.rows,
            complete=is_over and all(map(_is_confirmed, ledger)),
            trust=site.observed({document_key(row.url): row for row in ledger}),
            arguments={**self._plan.asked_for, **self._options.bounds},
        )
        snapshot = writer.seal(ledger, run)
        if (pending := self._pending(site, snapshot, ledger)) is not None:
            snapshot = writer.hold(pending, run)
        found = _compared(writer.before, snapshot)
        summary = found.summary
        counts = {kind: getattr(summary, kind) for kind in ("added", "removed", "changed", "moved", "expired")}
        snapshot = writer.publish(replace(run, urls=summary.urls_after, changes=counts), found)
        self._stats.inc_value("sitemap_harvest/snapshots")
        wanted = site.baseline.run.id if site.baseline is not None else None
        if wanted != found.summary.baseline:
            found.close()
            found = _compared(site.baseline, snapshot)
        missed = [] if self._delivery is None else self._delivery.missed(writer.history, run.id)
        self._pack(writer.history)
        return [*missed, found]

    def _pending(self, site: SiteKeeper, snapshot: Snapshot, ledger: Sequence[SitemapRecord]) -> pa.Table | None:
        """Return the rows that *snapshot* has to keep because a document that was not read may list their URLs."""
        if (before := site.writer.before) is None:
            return None
        limits = PendingLimits(self._options.pending_runs, self._options.pending_days)
        return pending_rows(before, snapshot, limits=limits, waits_since=lambda since: site.waits_since(since, ledger))

    @staticmethod
    def _pack(history: History) -> None:
        """Put small runs of a site into one folder, if it is time to."""
        try:
            pack(history)
        except (*WRITE_ERRORS, StoreError) as error:  # the snapshot is in place, so nothing is lost
            logger.warning("The runs of %s in the store are not packed: %s", history.site, error)

    def _forget(self, root: str) -> None:
        """Keep nothing of the site *root*."""
        site = self._sites.pop(root)
        self.guard(site.writer.drop)
        self._release(root)

    def _release(self, root: str) -> None:
        self._written_at.pop(root, None)
        self._touched.discard(root)
        self.guard(lambda: self._claims.release(self.store.history(root).folder))

    def give_up(self, error: Exception) -> None:
        """Keep nothing more: the last snapshots stay in force."""
        sites, self._sites = self._sites, {}
        for site in sites.values():
            site.writer.close()
        if not self.has_failed:
            self.has_failed = True
            self._stats.inc_value("sitemap_harvest/store_failed")
            logger.error(
                "The store cannot be used, and the last snapshots stay in force: %s",
                error,
                extra=fields("store-failed"),
            )
            self._fail()

    def close(self) -> None:
        """End the claims of the run."""
        self.guard(self._claims.close)


def _is_confirmed(row: SitemapRecord) -> bool:
    """Whether what *row* tells holds at the end of this run; also where it tells of a guess that was in vain."""
    if row.left is not None or (row.found_by.is_guess and row.rows_from is None):
        return True
    return row.complete and row.outcome in _CONFIRMED


def _compared(before: Snapshot | None, after: Snapshot) -> Changes:
    """Return what has changed in *after* since *before*, whose URLs were counted at the end of its run."""
    return compare(before, after, urls_before=before.run.urls if before is not None else None)
