"""Delivery of changes to a consumer, at least once: its cursor moves after the outputs of the run are stored.

The cursor is stored before the snapshot, and moves after every pipeline and every
output was closed without an error. So if a run is killed, the next one delivers
everything that may be undelivered, run by run and in order: net changes over several
runs would not revert changes that a consumer has read in the output of the killed run.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from scrapy import signals
from scrapy.extensions.feedexport import FeedExporter, FileFeedStorage

from sitemap_harvest.config.arguments import EMIT
from sitemap_harvest.diff import compare_each
from sitemap_harvest.engine.exit_codes import OUTPUT_ERRORS
from sitemap_harvest.engine.run_state import fields
from sitemap_harvest.errors import ArgumentError, StoreError
from sitemap_harvest.files import sync
from sitemap_harvest.model import Change, ChangeBatch, counted
from sitemap_harvest.snapshots.store.cursors import BEGINNING, Cursor, cursor_of, gap, move, runs_since

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot

    from sitemap_harvest.diff import Changes
    from sitemap_harvest.snapshots.store import History

logger = logging.getLogger(__name__)

_ERRORS = (OSError, pa.ArrowException, StoreError)
_NO_CHANGES = tuple(one for kind in EMIT.values() if kind is not ChangeBatch for one in (kind, kind.row_type))
"""Items that are never a change, even after a pipeline replaced them; other items may have been changes."""

_PIPELINE_FAILED = "a pipeline failed on a change, or when closing"


class Delivery:
    """The delivery of the changes of one run to one consumer."""

    def __init__(self, consumer: str, crawler: Crawler) -> None:
        """Deliver to *consumer*. Raises :exc:`ArgumentError` if the run of *crawler* stores its items nowhere."""
        assert crawler.engine is not None  # noqa: S101 - for mypy: it is running
        self._consumer = consumer
        self._crawler = crawler
        self._processor: Any = crawler.engine.scraper.itemproc
        self._exporter: Any = crawler.get_extension(FeedExporter)
        self._has_pipelines = bool(getattr(self._processor, "middlewares", True))
        if self._exporter is None and not self._has_pipelines:
            message = f"argument consumer={consumer!r}: this run has no output to deliver to; add -O changes.jsonl"
            raise ArgumentError("consumer", consumer, "given with an output", message=message)
        self._cursors: dict[str, Cursor] = {}
        self._committed: dict[str, tuple[History, str]] = {}
        self._delivered: list[tuple[History, str]] = []
        self._failed_sites: set[str] = set()  # a pipeline failed on one of their changes
        self._has_failed = False  # or on an item of unknown origin
        crawler.signals.connect(self._note_error, signal=signals.item_error)
        crawler.signals.connect(self._sync, signal=signals.feed_slot_closed)
        crawler.signals.connect(self._end, signal=signals.engine_stopped)

    def begin(self, history: History) -> None:
        """Load the cursor of a site; a new consumer begins at the last snapshot. Raises :exc:`StoreError`."""
        cursor = cursor_of(history, self._consumer)
        if cursor is None:
            cursor = Cursor(self._consumer, history.runs[-1].id if history.runs else BEGINNING)
            move(history, cursor)
        self._cursors[history.site] = cursor

    def missed(self, history: History, run: str) -> list[Changes]:
        """Return the undelivered changes up to the last snapshot of *history*, run by run.

        *run* is the id of the new snapshot, which was just published.
        """
        cursor = self._cursors[history.site]
        if (words := gap(history, cursor)) is not None:
            logger.warning("%s", words)
        try:
            found = list(compare_each(map(history.snapshot, runs_since(history, cursor.run))))
        except _ERRORS as error:
            logger.error("%s: earlier changes cannot be delivered: %s", history.site, error)  # noqa: TRY400 - one line
            return []
        self._committed[history.site] = history, run
        return found

    def mark_delivered(self, site: str) -> None:
        """Record that the spider yielded all changes of *site*: the pipelines have them, unless they were closed."""
        is_too_late = self._has_pipelines and getattr(self._processor, "is_closed", False)
        if site in self._committed and not is_too_late:
            self._delivered.append(self._committed.pop(site))

    def _note_error(self, item: Any) -> None:
        if isinstance(item, ChangeBatch):
            item = next(item.rows())
        if isinstance(item, Change):
            self._failed_sites.add(item.site)
        elif not isinstance(item, _NO_CHANGES):
            self._has_failed = True

    def _sync(self, slot: FeedSlot) -> None:
        """Sync the file of an output to disk: the cursor is synced too, and a power cut must not lose only the file."""
        if not isinstance(slot.storage, FileFeedStorage) or not (path := Path(slot.storage.path)).is_file():
            return
        try:
            sync(path)
            sync(path.parent)
        except OSError:
            self._has_failed = True

    def _end(self) -> None:
        """Move the cursors of the sites whose changes are stored."""
        left = dict.fromkeys(self._committed, "the run ended before its pipelines had received all changes")
        failure = self._failure()
        for history, run in self._delivered:
            if reason := failure or self._move(history, run):
                left[history.site] = reason
        if not left:
            return
        site, reason = next(iter(left.items()))
        more = f" and {counted(len(left) - 1, 'more site')}" if len(left) > 1 else ""
        logger.warning(
            "The next run delivers the changes of %s%s to the consumer %s again: %s",
            site,
            more,
            self._consumer,
            reason,
            extra=fields("cursor-stays", site=site, consumer=self._consumer),
        )

    def _move(self, history: History, run: str) -> str | None:
        """Move the cursor of a site to *run*; return the reason if it cannot move."""
        if history.site in self._failed_sites:
            return _PIPELINE_FAILED
        try:
            move(history, Cursor(self._consumer, run))
        except _ERRORS as error:
            return str(error)
        return None

    def _failure(self) -> str | None:
        """Return why changes of any site may not have been stored; ``None`` if nothing failed."""
        if self._has_failed or getattr(self._processor, "has_close_failed", False):
            return _PIPELINE_FAILED
        is_whole = getattr(self._exporter, "is_whole", True)
        if not is_whole or any(name.startswith(OUTPUT_ERRORS) for name in self._crawler.stats.get_stats()):
            return "an output was not replaced, or could not be written"
        return None
