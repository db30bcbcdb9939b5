"""``SnapshotSession``: the store of a run: locks sites, writes checkpoints, publishes and compares snapshots."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sitemap_harvest.diff import compare
from sitemap_harvest.discovery.past_search import PastSearch, search_digest
from sitemap_harvest.engine.interfaces import SiteUnavailable
from sitemap_harvest.engine.run_state import fields
from sitemap_harvest.engine.shared_documents import copy_shared, documents_of
from sitemap_harvest.engine.site_snapshot import WRITE_ERRORS, SiteSnapshot
from sitemap_harvest.errors import StoreError
from sitemap_harvest.model import Outcome, counted, is_read_separately
from sitemap_harvest.snapshots.sitemap_intervals import SitemapIntervals
from sitemap_harvest.snapshots.store import Run, SiteLocks, SiteWriter, id_after, moment_of, sites_alike, store_at
from sitemap_harvest.urls import document_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sitemap_harvest.audit.audit import Audit
    from sitemap_harvest.config.arguments import RunConfig
    from sitemap_harvest.config.settings import HarvestSettings
    from sitemap_harvest.diff import Changes
    from sitemap_harvest.discovery.candidate import Candidate
    from sitemap_harvest.discovery.past_search import PostponedSearch
    from sitemap_harvest.discovery.site_state import SiteState
    from sitemap_harvest.engine.interfaces import ChangeDelivery, KnownDocument
    from sitemap_harvest.engine.site_parts import SitePart
    from sitemap_harvest.model import SitemapRecord, SiteRecord
    from sitemap_harvest.snapshots.store import History, Snapshot, Store

logger = logging.getLogger(__name__)

_CHECKPOINT_DOCUMENTS = 500
_CHECKPOINT_SECONDS = 30
SAVES = f"a run saves its progress every {_CHECKPOINT_DOCUMENTS} documents or {_CHECKPOINT_SECONDS} seconds"
_LOOK_SECONDS = 1.0
_FEW_NAMES = 5
_MOST_LOOKED_UP = 10  # first snapshots: each time, the names of all sites in the store are listed
_MOST_ROWS = 100_000  # buffered in memory, over all sites
_ALSO_COUNTED = ("newly_known", "retracted", "pending")
_NOT_REQUESTED = frozenset({Outcome.SKIPPED, Outcome.OUT_OF_SCOPE})


class SnapshotSession:
    """Stores the sites of a run, each from its first document to its last."""

    def __init__(  # noqa: PLR0913 - the facts of a run are keywords
        self,
        store: str,
        config: RunConfig,
        options: HarvestSettings,
        count: Callable[[str, int], object],
        *,
        run_id: str,
        job: str | None = None,
        started_at: datetime,
        fail: Callable[[], None],
        delivery: ChangeDelivery | None = None,
        part: SitePart | None = None,
    ) -> None:
        """Open the store at *store*, which need not exist: the run creates it when it begins.

        Raises :exc:`StoreError` if it cannot be read, or the only site has no baseline.

        *run_id* is the ID of the run, which began at *started_at*; a site whose last
        run has a later id gets one after that. *job* is the ID of the job, if the run is
        one. *count* adds to a stat. *fail* ends the run when the store cannot be written any
        more. *delivery* delivers the changes to the named consumer, if there is one. *part*:
        the part of the only site that the run reads; ``None``: all of it.
        """
        self._options = options
        self._count = count
        self._fail = fail
        self.delivery = delivery
        self.part = part
        self._block = None if part is None else part.block
        self.store: Store = store_at(store)
        names = self.store.renamed(config.sites)
        for site, name in list(names.items())[:_FEW_NAMES]:
            logger.warning(
                "%s is stored as %s, and continues its history", site, name, extra=fields("renamed", site=name)
            )
        if len(names) > _FEW_NAMES:
            logger.warning("%s more are stored with the other scheme", counted(len(names) - _FEW_NAMES, "site"))
        self.config = self._config = config = config.with_names(names)
        """The configuration, with the names that the sites have in the store."""
        if config.baseline is not None and len(config.candidates) == 1:  # otherwise a log line reports it
            self.store.history(config.candidates[0].root).at(config.baseline, now=started_at)
        self._started_at = started_at
        self._search_digest = search_digest({**options.bounds, "browser": config.browser or options.browser})
        self.run_id = run_id
        self._job = job
        self._locks = SiteLocks(self.store.folder, self.run_id, job)
        self.sites: dict[str, SiteSnapshot] = {}
        """The open sites, by root."""
        self._begun: set[str] = set()
        self._most_looked_up = _MOST_LOOKED_UP
        self._damaged: set[str] = set()
        """Sites whose killed run cannot be resumed."""
        self._has_told = False  # of a site without a killed run
        self._published: dict[str, dict[str, KnownDocument]] = {}  # by site and key, where another site needs them
        self._looked_at = 0.0
        self.has_failed = False

    def begin(self, root: str) -> SiteUnavailable | None:
        """Lock and open the site *root*, unless it is open or the store failed; return the obstacle, if any."""
        if root in self._begun or self.has_failed:
            return None
        history = self.store.history(root)
        try:
            self.store.create()  # if an own start() has not
            # Blocks of a site run at the same time, and write only files of their own.
            if self._block is None and (holder := self._locks.take(history.folder)) is not None:
                reason = f"the run {holder} is harvesting the site into the same store"
                return SiteUnavailable(reason, is_temporary=True)
            self._begun.add(root)
            self.sites[root] = site = self._site(history)
            if self._config.feeds_only and site.writer.before is None:
                self.guard(self.sites.pop(root).writer.drop)
                self.release(root)
                return SiteUnavailable(
                    "feeds_only=yes needs a snapshot of the site: harvest it once without feeds_only"
                )
        except StoreError as error:  # of one site: the others may be intact
            self.release(root)
            return SiteUnavailable(f"the stored data of the site cannot be used: {error}")
        except WRITE_ERRORS as error:
            self.give_up(error)
        return None

    def _site(self, history: History) -> SiteSnapshot:
        """Return the snapshot of the site of *history*, whose last snapshot is intact. Raises :exc:`StoreError`."""
        self.store.begin(history)
        if (before := history.latest()) is not None:
            before.check()
        if self.delivery is not None:
            self.delivery.begin(history)
        writer = self._writer(history, before)
        started_at = moment_of(writer.run_id) if writer.kept else self._started_at
        site = SiteSnapshot(
            writer,
            self._config,
            self._options,
            started_at=started_at,
            baseline=self._baseline(history),
            intervals=SitemapIntervals.of(
                {} if before is None else before.change_histories(),
                self._config.intervals,
                now=started_at,
                last_crawl=started_at if before is None else before.run.started_at,
            ),
            give_up=self.give_up,
        )
        if self._config.resume and not writer.kept and history.site not in self._damaged:
            is_first, self._has_told = not self._has_told, True
            level = logging.INFO if site.was_interrupted or is_first else logging.DEBUG  # there may be a million sites
            logger.log(
                logging.WARNING if len(self._config.candidates) == 1 else level,
                "%s: there is nothing to resume, because %s",
                history.site,
                _why_not_resumed(before, was_interrupted=site.was_interrupted),
                extra=fields("not-resumed", site=history.site),
            )
        return site

    def _writer(self, history: History, before: Snapshot | None) -> SiteWriter:
        """Return the writer for the next run of *history*; it resumes an interrupted run if the user wants that.

        The data of other interrupted runs is deleted. Raises :exc:`StoreError` if the run of a block is gone.
        """
        if self._block is not None:
            writer = SiteWriter(history, self._block.run, before)
            writer.join(self._block.number, self._block.first_rows)
            return writer
        unfinished = history.unfinished()
        for run_id in unfinished:
            writer = SiteWriter(history, run_id, before)
            if run_id == unfinished[-1] and self._config.resume and self._takes_over(writer):
                logger.info(
                    "%s: %s reused from the interrupted run %s; what it read later is requested again, because %s",
                    history.site,
                    counted(len(writer.kept), "document"),
                    run_id,
                    SAVES,
                    extra=fields("resumed", site=history.site, stored_as=run_id),
                )
                return writer
            writer.drop()
        run_id = id_after(before.run.id if before is not None else None, self.run_id)
        if run_id != self.run_id:
            extra = fields("stored-as", site=history.site, stored_as=run_id)
            logger.info(
                "%s: the snapshot is stored under the run ID %s, which sorts after the last run ID",
                history.site,
                run_id,
                extra=extra,
            )
        return SiteWriter(history, run_id, before)

    def _takes_over(self, writer: SiteWriter) -> bool:
        """Whether *writer* resumes an interrupted run."""
        if writer.before is not None and writer.run_id < writer.before.run.id:
            return False  # it was interrupted before the last snapshot
        try:
            return writer.take_over()
        except (*WRITE_ERRORS, StoreError) as error:
            self._damaged.add(writer.history.site)
            logger.warning(
                "The run %s cannot be resumed, so its documents are requested again: %s", writer.run_id, error
            )
            return False

    def _baseline(self, history: History) -> Snapshot | None:
        """Return the baseline for the site of *history*; ``None`` if it has no such snapshot."""
        if (when := self._config.baseline) is None:
            return history.latest()
        try:
            return history.at(when, now=self._started_at)
        except StoreError as error:
            logger.warning("No baseline, so no changes are reported: %s", error)
            return None

    def guard(self, work: Callable[[], None]) -> None:
        """Run *work* on the store; give up the store if it cannot be written."""
        try:
            work()
        except (*WRITE_ERRORS, StoreError) as error:
            self.give_up(error)

    @property
    def checkpointed(self) -> int:
        """Number of documents in checkpoints of open sites: a run with ``resume`` reuses them if this one is killed."""
        return sum(len(site.writer.kept) - site.writer.unwritten for site in self.sites.values())

    def checkpoint(self) -> None:
        """Write a checkpoint of sites with much new data, so that an interruption does not lose it."""
        now = time.monotonic()
        if now - self._looked_at < _LOOK_SECONDS:
            return  # called before each request, with possibly thousands of sites
        self._looked_at = now
        for site in list(self.sites.values()):
            unwritten = 0 if self.has_failed else site.writer.unwritten
            if unwritten >= _CHECKPOINT_DOCUMENTS or (unwritten and now - site.written_at > _CHECKPOINT_SECONDS):
                site.written_at = now
                self.guard(site.writer.checkpoint)
        self._make_room([site.writer for site in self.sites.values() if site.writer.waiting])

    def _make_room(self, writers: list[SiteWriter]) -> None:
        """Flush the largest of *writers* if too many rows are buffered."""
        writers.sort(key=lambda writer: writer.waiting)
        rows = sum(writer.waiting for writer in writers)
        while rows > _MOST_ROWS:
            writer = writers.pop()
            rows -= writer.waiting
            self.guard(writer.flush)

    def postponed_search(self, site: SiteState) -> PostponedSearch | None:
        """Return the search of *site* if this run need not repeat it; ``None`` if the site did not respond yet.

        It is never postponed while the last snapshot has URLs: they may have moved to a path
        that only a search finds.
        """
        stored = self.sites.get(site.root)
        before = None if stored is None else stored.writer.before
        if stored is None or before is None or site.has_found or self._config.force or self._config.is_offline:
            return None
        if (last := PastSearch.of_json(before.run.search)) is None or len(before.row_ranges().row):
            return None
        postponed = last.postponed(
            site, now=self._started_at, settings=self._search_digest, days=self._options.search_again
        )
        if postponed is not None and not stored.is_search_postponed:
            stored.is_search_postponed = True
            self._count("sitemap_harvest/searches_postponed", 1)
        return postponed

    def _search_of(self, site: SiteState, before: Snapshot | None) -> Mapping[str, Any]:
        """Return the last complete search of *site*, in this run or before the snapshot *before*, as stored."""
        if (search := PastSearch.of(site, at=self._started_at, settings=self._search_digest)) is not None:
            return search.to_json()
        return {} if before is None or site.has_found else before.run.search

    def _find(self, root: str | None, url: str) -> KnownDocument | None:
        """Return the document at *url* as stored in this run for the site *root*; ``None`` if it was not."""
        if root is None or root not in self._begun:
            return None
        key = document_key(url)
        if (site := self.sites.get(root)) is not None:
            return site.copied(key)
        if root not in self._published:
            snapshot = self.store.history(root).latest()
            self._published[root] = {} if snapshot is None else documents_of(snapshot)
        return self._published[root].get(key)

    def commit(
        self,
        result: SiteRecord,
        shared: Sequence[tuple[Candidate, str]],
        owner_of: Callable[[str], str | None],
        *,
        state: SiteState,
        is_over: bool,
    ) -> list[Changes]:
        """Publish the snapshot of the site of *result*, whose *state* has ended; return its changes since the baseline.

        *shared* are the candidates that were read for other sites, each with its URL;
        *owner_of* returns the site for which the document at a URL was read. *is_over*:
        ``False`` if the run ended before the site was finished. A consumer gets the
        changes of several runs, the last of which is this one; without a consumer there
        is one comparison. The list is empty if nothing was stored.
        """
        root = result.root
        if self.part is not None and not self.part.is_published:
            self._leave(root, self.part)
            return []
        if (recipient := self.sites.get(root)) is not None and shared:
            self.guard(lambda: copy_shared(recipient, shared, owner_of=owner_of, find=self._find))
        if (site := self.sites.pop(root, None)) is None:
            return []
        found: list[Changes] = []
        try:
            found = self._commit(site, result, state, is_over=is_over)
        except WRITE_ERRORS as error:
            self.give_up(error)
        except Exception as error:  # noqa: BLE001 - damage or a bug at one site must not affect the others
            self._not_stored(root, error)
        finally:
            if not found or self._config.probe is None:  # a probe needs the lock, and releases it
                self.release(root)
        return found

    def _leave(self, root: str, part: SitePart) -> None:
        """Write the checkpoint of *part* of the site *root*, and release the site, without a snapshot."""
        if (site := self.sites.pop(root, None)) is not None:
            self.guard(site.writer.checkpoint)
            if self.has_failed:
                return
            part.leave(site.writer.run_id)
        self.release(root)

    def targets_alike(self, root: str) -> list[str] | None:
        """Return the other targets on the host of *root* that have snapshots of earlier runs, for a first snapshot.

        ``None`` if *root* itself has earlier ones, none of which is the baseline.
        """
        try:
            if self._config.baseline is not None and len(self.store.history(root).runs) > 1:
                return None
            found = sites_alike(self.store, root) if self._most_looked_up else []
        except (*WRITE_ERRORS, StoreError) as error:
            logger.debug("The names in the store cannot be read: %s", error)
            return []
        self._most_looked_up -= bool(self._most_looked_up)
        return [one for one in found if all(one != candidate.root for candidate in self._config.candidates)]

    def _not_stored(self, root: str, error: Exception) -> None:
        is_known = isinstance(error, StoreError)
        logger.error(
            "The snapshot of %s was not stored%s; the last snapshot of the site remains valid",
            root,
            f" ({error})" if is_known else "",
            exc_info=None if is_known else error,
            extra=fields("not-kept", site=root),
        )
        self._count("sitemap_harvest/store_failed", 1)

    def _commit(self, site: SiteSnapshot, result: SiteRecord, state: SiteState, *, is_over: bool) -> list[Changes]:
        now = datetime.now(UTC)
        writer = site.writer
        ledger = site.ledger(now=now, guess=state.first.url if state.is_elsewhere else None)
        left_out = {key for key, row in ledger.items() if _is_left_out(row)}
        is_checked = is_over and result.result.is_conclusive and not site.unwanted and left_out <= site.not_due
        run = Run(
            id=writer.run_id,
            job=self._job,
            started_at=site.started_at,
            ended_at=now,
            baseline=writer.before.run.id if writer.before is not None else None,
            base=result.base,
            rows=writer.rows,
            result=result.result,
            reason=result.reason,
            complete=is_checked and not left_out,
            partly_read=site.partly_read(ledger.values()),
            trust=site.observed(ledger),
            search=self._search_of(state, writer.before),
            arguments={**self._config.recorded, **self._options.bounds},
        )
        writer.histories = site.change_histories(ledger)
        snapshot = writer.seal(site.stored(ledger), run)  # not visible to readers yet
        if (pending := site.pending(snapshot, ledger)) is not None:
            snapshot = writer.hold(pending, run)
        found = compare(writer.before, snapshot)
        summary = found.summary
        counts = {kind: getattr(summary, kind) for kind in ("added", "removed", "changed", "moved", "expired")}
        counts |= {kind: count for kind in _ALSO_COUNTED if (count := getattr(summary, kind)) and summary.baseline}
        is_checked = is_checked and not summary.unread
        run = replace(
            run,
            complete=is_checked and not left_out,
            not_due=len(left_out) if is_checked and left_out else None,
            urls=summary.urls_after,
            changes=counts,
        )
        snapshot = writer.publish(run, found.batches())
        self._count("sitemap_harvest/snapshots", 1)
        wanted = site.baseline.run.id if site.baseline is not None else None
        if wanted != found.summary.baseline:
            found.close()
            found = compare(site.baseline, snapshot)
        missed = [] if self.delivery is None else self.delivery.missed(writer.history, run.id)
        try:
            writer.compact()
        except (*WRITE_ERRORS, StoreError) as error:  # the snapshot is published, so nothing is lost
            logger.warning("The runs of %s cannot be compacted: %s", writer.history.site, error)
        return [*missed, found]

    def reopen(self, root: str) -> tuple[History, Snapshot]:
        """Lock the site *root* for its probe, and return its history and the snapshot.

        Raises :exc:`StoreError` if there is none, or another run has locked the site.
        """
        history = self.store.site(root)
        if (holder := self._locks.take(history.folder)) is not None:
            raise StoreError(f"the run {holder} is harvesting the site into the same store")
        return history, history.at(self._config.at or "latest", now=self._started_at)

    def audit(self, root: str, run_id: str | None = None) -> Audit:
        """Return the audit of the snapshot *run_id* of the site *root*; ``None``: the one that the arguments name.

        Raises :exc:`StoreError` if there is none.
        """
        from sitemap_harvest.audit.audit import Audit  # DuckDB takes 0.1 seconds to load

        history = self.store.site(root)
        snapshot = history.at(run_id or self._config.at or "latest", now=self._started_at)
        return Audit(snapshot, history, self._options.audit, store=self.store)

    def release(self, root: str) -> None:
        """Release the lock of the site *root*, if the run holds it."""
        self.guard(lambda: self._locks.release(self.store.history(root).folder))

    def give_up(self, error: Exception) -> None:
        """Store nothing more: the last snapshots remain valid."""
        self.sites = {}
        if not self.has_failed:
            self.has_failed = True
            self._count("sitemap_harvest/store_failed", 1)
            logger.error(
                "The store cannot be used (%s); the last snapshots remain valid", error, extra=fields("store-failed")
            )
            self._fail()

    def close(self) -> None:
        """Release the locks of the run."""
        self.guard(self._locks.close)


def _is_left_out(row: SitemapRecord) -> bool:
    """Whether the document of *row* belongs to the snapshot, and was not requested on purpose, such as by a filter.

    One that redirects to another document is not left out: the comparison counts its URLs.
    """
    is_other = row.left is not None or (row.found_by.is_guess and row.rows_from is None)
    return row.outcome in _NOT_REQUESTED and not row.complete and not is_other and not is_read_separately(row.reason)


def _why_not_resumed(before: Snapshot | None, *, was_interrupted: bool) -> str:
    """Return why no run can be resumed after the snapshot *before*, and what this run does."""
    if before is None:
        return f"no run has saved documents of the site, and all are requested ({SAVES})"
    if was_interrupted:
        return (
            f"the interrupted run {before.run.id} has stored what it read; "
            "the documents that it did not read are requested first, and the others are checked for changes"
        )
    return (
        f"no run after {before.run.id} has saved documents of the site; "
        f"those of that run are checked for changes ({SAVES})"
    )
