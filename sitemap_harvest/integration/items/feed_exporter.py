"""``FeedExporter``: Scrapy's feed exporter with support for batches, which counts their rows."""

from __future__ import annotations

import logging
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import CloseSpider
from scrapy.exporters import JsonItemExporter, XmlItemExporter
from scrapy.extensions import feedexport
from scrapy.utils.defer import deferred_from_coro, ensure_awaitable, maybe_deferred_to_future
from twisted.internet.threads import deferToThread

from sitemap_harvest.engine.exit_codes import LOST_ITEMS, OUTPUT_CLOSED
from sitemap_harvest.engine.run_state import fields
from sitemap_harvest.errors import DatabaseError, MissingPackageError, probably_meant
from sitemap_harvest.files import is_device
from sitemap_harvest.integration.default_settings import BINARY_FORMATS, COMPRESSIONS, why_no_package
from sitemap_harvest.integration.items.database_output import (
    DatabaseStorage,
    database_of,
    exported_schema,
    is_of_columns,
)
from sitemap_harvest.integration.items.item_types import RowList
from sitemap_harvest.integration.items.lost_items import WRITE_ERRORS, LostRows
from sitemap_harvest.integration.items.output_files import FileFeedStorage, compress, tell_incomplete, tell_kept
from sitemap_harvest.integration.spider_attributes import run_of
from sitemap_harvest.model import Batch, ChangeBatch, SummaryBatch
from sitemap_harvest.redact import without_login

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from sitemap_harvest.engine.run_state import RunState

logger = logging.getLogger(__name__)

_SCRAPYS = (JsonItemExporter, XmlItemExporter)  # Scrapy appends to them, though the result is unreadable
_STDOUT = "stdout:"
_OF_CHANGES = (ChangeBatch, SummaryBatch)
MOST_OUTPUTS = 50  # in a report; with batch_item_count there may be thousands
_INTERRUPTED = "shutdown"  # by a signal, in Scrapy's words
_ENDED_EARLY = frozenset(
    {_INTERRUPTED, "memusage_exceeded", "output_failed", OUTPUT_CLOSED, "store_failed", "pages_not_stored"}
)
"""Finish reasons of runs that do not replace files: the user has stopped them, or something failed."""
_OWN = "sitemap_harvest."
_CURE = 'overwrite it with -O, or with "overwrite": True in FEEDS'


class FeedExporter(feedexport.FeedExporter):
    """Passes batches to exporters with ``accepts_batches = True``, and single rows to all others.

    ``item_classes`` and custom filters see the class of the rows, and
    ``batch_item_count`` counts rows. An exporter with ``can_append = False`` never gets
    a file with contents: the run ends before it begins. A run replaces a file only if it
    has read something, and did not end early. Other spiders' use of Scrapy's own formats
    is unchanged.
    """

    accepts_batches = True
    _ended_early = ""  # why the run ends, if it has not read everything, and not because of a limit of the user
    _has_failed = False  # the disk may be full: nothing more is written, and the run ends
    is_whole: bool = True
    """Whether the outputs received every item, and were closed without an error."""

    def __init__(self, crawler: Crawler) -> None:
        self._is_ours = run_of(crawler.spider) is not None
        super().__init__(crawler)
        for uri, options in self.feeds.items():
            if database := database_of(uri, options):
                options["format"] = database
            elif self._is_ours or options["format"] in COMPRESSIONS:
                compress(uri, options)
        self.outputs: dict[feedexport.FeedSlot, bool] = {}
        """Whether the first 50 outputs are stored with all rows and values."""
        self._flawed: set[feedexport.FeedSlot] = set()
        """Those that lack rows or values."""
        self._lost: dict[feedexport.FeedSlot, LostRows] = {}
        self._kinds: dict[feedexport.FeedSlot, set[type]] = {}
        """The kinds of items in each output."""
        self._unread: dict[feedexport.FeedSlot, str] = {}
        """Why files keep their content although they have items: a kind has none, and nothing was read."""
        self._reported: set[tuple[str, str]] = set()
        self._has_lost = False
        crawler.signals.connect(self.note_lost, signal=signals.item_error)

    def _storage_supported(self, uri: str, feed_options: dict[str, Any]) -> bool:
        return database_of(uri, feed_options) is not None or super()._storage_supported(uri, feed_options)

    def _get_storage(self, uri: str, feed_options: dict[str, Any]) -> feedexport.FeedStorageProtocol:
        """Return the storage; a local file is replaced as a whole, unless rows can be appended to it."""
        if database_of(uri, feed_options) is not None:
            return DatabaseStorage(uri, feed_options=feed_options)  # type: ignore[return-value]  # its own file type
        if self._is_ours and uri == _STDOUT:  # Scrapy warns that it cannot overwrite it, and nobody expects that
            feed_options = {**feed_options, "overwrite": False}
        storage = super()._get_storage(uri, feed_options)
        if not self._is_ours or type(storage) is not feedexport.FileFeedStorage:
            return storage
        appends = storage.write_mode == "ab"
        exporter = self.exporters.get(feed_options["format"])
        if appends and _can_append(exporter, is_ours=True) and "postprocessing" not in feed_options:
            return storage
        return FileFeedStorage(storage.path, appends=appends)

    def note_lost(self) -> None:
        """Record that a pipeline failed on an item."""
        self._has_lost = True

    def open_spider(self, spider: Spider) -> None:
        """Open the feeds. Ends the run before it begins if one cannot be written."""
        run = run_of(spider)
        try:
            super().open_spider(spider)
        except (KeyError, DatabaseError) as error:
            if run is None:
                raise
            is_name = isinstance(error, KeyError)
            run.refuse(f"FEEDS: unknown placeholder in an output URI: {error}" if is_name else str(error))
        for slot in self.slots:
            if reason := _why_not(slot, is_ours=run is not None) or self._why_foreign(slot) or self._why_no_table(slot):
                if run is not None:
                    run.refuse(reason)
                self.slots = []
                logger.error("%s", reason)
                raise CloseSpider("wrong_argument")

    def _why_foreign(self, slot: feedexport.FeedSlot) -> str | None:
        """Return why rows cannot be appended to the file of *slot*; ``None`` if they can, or their columns are unknown.

        Pipelines and own spiders may add or replace columns: then the exporter looks at the first rows.
        """
        spider, storage, options = self.crawler.spider, slot.storage, slot.feed_options
        why_foreign = getattr(slot.exporters[slot.format], "why_foreign", None)
        if (
            why_foreign is None
            or (run := run_of(spider)) is None
            or not isinstance(storage, feedexport.FileFeedStorage)
        ):
            return None
        if storage.write_mode != "ab" or not Path(storage.path).is_file():
            return None
        style = options.get("item_export_kwargs") or {}
        fields, classes = options.get("fields"), getattr(slot.filter, "item_classes", ())
        kinds = [] if run.config is None or self.settings.getdict("ITEM_PIPELINES") else run.config.emit.values()
        known = [kind.schema().names for kind in kinds if not classes or issubclass(kind.row_type, classes)]
        columns = [list(getattr(fields, "values", lambda: fields)())] if fields else known
        if not columns or not type(spider).__module__.startswith(_OWN) or not style.get("include_headers_line", True):
            return None
        try:
            given = {"encoding": options.get("encoding"), "delimiter": style.get("delimiter", ",")}
            reasons = [why_foreign(Path(storage.path), names, **given) for names in columns]
        except OSError as error:
            return f"{slot.uri} cannot be appended to: {error}"
        return None if None in reasons else f"{slot.uri} already exists, and {reasons[0]}"

    def _why_no_table(self, slot: feedexport.FeedSlot) -> str | None:
        """Return why the database of *slot* cannot be written; ``None`` if it can, or it has none."""
        if not isinstance(slot.storage, DatabaseStorage):
            return None
        run, fields = run_of(slot.spider), slot.feed_options.get("fields")
        emit = {} if run is None or run.config is None else run.config.emit
        wanted = getattr(slot.filter, "item_classes", ())
        kinds = {name: kind for name, kind in emit.items() if not wanted or issubclass(kind.row_type, wanted)}
        tables = {name: exported_schema(kind.schema(), fields) for name, kind in kinds.items()}
        has_others = self._may_have_others
        if has_others and not all(schema.names for schema in tables.values()):
            tables = {}  # it has only columns that pipelines add
        if len(tables) > 1 and type(slot.filter) is not feedexport.ItemFilter:
            tables = {}  # which of them it accepts is known at the end
        try:
            slot.storage.check(tables)
        except (DatabaseError, MissingPackageError) as error:
            if not has_others or not is_of_columns(error, fields):
                return str(error)
            uri = without_login(slot.uri)
            logger.info("%s: the run fails at its end unless a pipeline or the spider changes this: %s", uri, error)
        return None

    @property
    def _may_have_others(self) -> bool:
        """Whether there may be other items and columns than those of the package: of pipelines, or an own spider."""
        is_own = not type(self.crawler.spider).__module__.startswith(_OWN)
        return is_own or bool(self.settings.getdict("ITEM_PIPELINES"))

    def _may_fill(self, slot: feedexport.FeedSlot, run: RunState) -> bool:
        """Whether the run may have items for *slot*: only its ``item_classes`` can say that it has none."""
        wanted = tuple(getattr(slot.filter, "item_classes", ()))
        if run.config is None or not wanted or type(slot.filter) is not feedexport.ItemFilter:
            return True
        is_emitted = any(issubclass(kind.row_type, wanted) for kind in run.config.emit.values())
        has_own = not all(one.__module__.startswith(_OWN) for one in wanted)
        return is_emitted or (has_own and self._may_have_others)

    def item_scraped(self, item: Any, spider: Spider) -> None:
        """Export *item*, or all rows in it. A feed that cannot be written ends the run.

        A row that an exporter fails on is missing only from its file.
        """
        if self._has_failed:
            return
        if run_of(spider) is None:
            super().item_scraped(item, spider)
            return
        try:
            for one in item.rows() if isinstance(item, RowList) else (item,):
                for index in range(len(self.slots)):
                    try:
                        self._export(one, index, spider)
                    except WRITE_ERRORS as error:
                        self._fail(error, self.slots[index])
                        return
        except Exception:
            self.is_whole = False
            raise

    def _fail(self, error: Exception, slot: feedexport.FeedSlot) -> None:
        """Log the first *error*, which is one of *slot*, and end the run."""
        self.is_whole = False
        if not self._has_failed:
            self._has_failed = True
            is_closed = isinstance(error, BrokenPipeError) and _is_stream(slot)
            if not is_closed or len(self.slots) > 1:  # the others do not have all items
                self.crawler.stats.inc_value("sitemap_harvest/output_failed")
            extra = fields("output-failed")
            if is_closed:
                logger.info("The run ends: the reader of an output, such as head, has closed the pipe", extra=extra)
            else:
                is_named = isinstance(error, DatabaseError) or getattr(error, "filename", None)
                where = "" if is_named else f"{without_login(slot.uri)}: "
                logger.error("The output cannot be written: %s%s", where, error, extra=extra)
            reason = OUTPUT_CLOSED if is_closed else "output_failed"
            deferred_from_coro(self.crawler.engine.close_spider_async(reason=reason))

    async def close_spider(self, spider: Spider, reason: str = "finished") -> None:
        """Close the feeds. An empty one gets the columns of the items that it could have had, a workbook all sheets."""
        self._ended_early = self._why_incomplete(spider, reason)
        if (run := run_of(spider)) is not None and run.config is not None:
            for slot in self.slots:
                knows_kinds = type(slot.filter) is feedexport.ItemFilter  # others decide on each row
                holds_all = knows_kinds and getattr(slot.exporters[slot.format], "holds_all_kinds", False)
                if knows_kinds and slot.itemcount and not self._ended_early:
                    self._leave(slot, run)
                if (slot.itemcount and not holds_all) or slot.batch_id > 1 or not slot.store_empty:
                    continue
                if not slot.itemcount and (why := self._why_kept(slot, run)) is not None:
                    _keep(slot, why)
                    continue
                empty = (kind.of([]) for kind in run.config.emit.values())
                parts = (part for batch in empty for part in _accepted(batch, slot.filter))
                with suppress(OSError):  # to close it reports that it cannot be opened
                    for part in parts if holds_all else islice(parts, 1):
                        self._write(slot, part)
                if slot.exporter is None and isinstance(slot.storage, DatabaseStorage):
                    _keep(slot, "the run has no items, whose kinds are the tables")
        for slot in self.slots if run is not None else ():
            self._check_replaced(slot)
        await super().close_spider(spider)

    def _leave(self, slot: feedexport.FeedSlot, run: RunState) -> None:
        """Keep the earlier rows of the kinds of which *slot*, which has others, has none if nothing was read."""
        assert run.config is not None  # noqa: S101 - for mypy: the caller looked
        wanted, found = getattr(slot.filter, "item_classes", ()), self._kinds.get(slot, set())
        names = [
            name
            for name, kind in run.config.emit.items()
            if kind.row_type not in found and (not wanted or issubclass(kind.row_type, wanted))
        ]
        if not names or (why := self._why_kept(slot, run)) is None:
            return
        if isinstance(slot.storage, DatabaseStorage):
            slot.storage.left = frozenset(names)
            uri, tables = without_login(slot.uri), f"table{'s' if len(names) > 1 else ''} {', '.join(names)}"
            extra = fields("output-kept", output=uri)
            logger.warning("%s: no rows are written to the %s: %s", uri, tables, why, extra=extra)
        elif getattr(slot.storage, "write_mode", "wb") == "wb" and getattr(slot.storage, "overwrite", True):
            self._unread[slot] = why

    def _why_incomplete(self, spider: Spider, reason: str) -> str:
        """Return why the outputs do not have all rows of a run that ended for *reason*; empty if they may have."""
        if reason not in _ENDED_EARLY:
            return ""
        if reason != _INTERRUPTED:
            return f"the run ended early ({reason})"
        run, has_own_requests = run_of(spider), not type(spider).__module__.startswith(_OWN)
        has_all = run is not None and bool(run.summary.sites) and not (run.summary.may_lack_urls or run.summary.sampled)
        return "" if has_all and not has_own_requests else "the run was interrupted"

    def _why_kept(self, slot: feedexport.FeedSlot, run: RunState) -> str | None:
        """Return why the output of *slot*, which has no items, is not written; ``None`` if it is."""
        if _is_stream(slot):
            return None
        if self._ended_early:
            return self._ended_early
        stats = self.crawler.stats.get_stats()
        if self._has_lost or LOST_ITEMS in stats:
            why = "a pipeline failed on items, and none are left"
        elif "spider_exceptions/count" in stats:
            why = "the code of the spider failed, and there are no items"
        elif not self._may_fill(slot, run):
            why = "the run emits no items of its item_classes"
        else:
            why = "" if run.summary.has_read or run.summary.is_stored else "the run has read no sitemap"
        if not why or self.settings.getpriority("FEED_STORE_EMPTY"):
            return None
        given = {str(uri) for uri, options in self.settings.getdict("FEEDS").items() if "store_empty" in options}
        if slot.uri_template in given:
            return None
        return why

    def _check_replaced(self, slot: feedexport.FeedSlot) -> None:
        """Log an error if *slot* is for items that pipelines replaced, and no output gets those in their place."""
        assert self.crawler.engine is not None  # noqa: S101 - for mypy: it is running
        replaced: Mapping[tuple[type, type], int] = getattr(self.crawler.engine.scraper.itemproc, "replaced", {})
        classes = {one: getattr(one.filter, "item_classes", ()) for one in self.slots}
        for (kind, given), items in replaced.items():
            is_written = any(issubclass(given, wanted or object) for wanted in classes.values())
            if not is_written and issubclass(kind, classes[slot]):
                logger.error(
                    "%s: pipelines replaced %s %s items by %s items, which no output gets: add this class to its "
                    "item_classes",
                    slot.uri,
                    f"{items:,}",
                    kind.__name__,
                    given.__name__,
                )

    def _is_finished(self, slot: feedexport.FeedSlot) -> bool:
        """Write the end of the file of *slot*, and move it to its place; return ``False`` if it is not there."""
        storage = slot.storage if isinstance(slot.storage, FileFeedStorage) else None
        if not slot.itemcount:
            if storage is not None and not slot.store_empty:
                storage.discard()  # no item could be exported
            return not self._has_failed  # Scrapy handles empty files
        try:
            if (reason := self._finish(slot)) is not None:
                if not isinstance(slot.storage, feedexport.StdoutFeedStorage):
                    _give_up(slot, f"{reason}{self._how_to_list_changes(slot)}")
                return False
            self._report_missing(slot)
            file = self._get_file(slot)
            if not file.closed:  # some exporters close it
                file.flush()
            is_new = storage is not None and storage.is_new
            why = self._ended_early or self._unread.get(slot, "")
            if storage is None and slot in self._unread:
                _keep(slot, why)
                return False
            partial = None if storage is None else storage.put(is_whole=not why)
        except WRITE_ERRORS as error:
            self._fail(error, slot)
            _give_up(slot, f"the new file cannot be written{self._how_to_list_changes(slot)}")
            return False
        if partial is not None:
            self.is_whole = False
            items = "1 item is" if slot.itemcount == 1 else f"{slot.itemcount:,} items are"
            reason = f"{why}; its {items} in {without_login(str(partial))}"
            tell_kept(slot.uri, f"{reason}{self._how_to_list_changes(slot)}")
        elif is_new and self._ended_early:
            tell_incomplete(slot.uri, f"{self._ended_early}{self._how_to_list_changes(slot)}")
        return partial is None

    async def _is_loaded(self, slot: feedexport.FeedSlot, storage: DatabaseStorage) -> bool:
        """Write the rows of *slot* to the database; return ``False`` if it does not have them."""
        reason = self._ended_early
        try:
            if slot.exporter is None or self._finish(slot) is not None:
                return False
            self._report_missing(slot)
            kept = await maybe_deferred_to_future(deferToThread(storage.put, is_whole=not self._ended_early))
            if not kept:
                return True
        except Exception as error:  # whatever it is: the rows must not be lost
            if not isinstance(error, (DatabaseError, *WRITE_ERRORS)):
                logger.exception("%s: writing the rows failed unexpectedly", without_login(slot.uri))
            self._fail(error, slot)
            reason, kept = "the new rows cannot be written", []
            with suppress(OSError):
                kept = storage.kept()
        self.is_whole = False
        where = f"in {', '.join(map(str, kept))}" if kept else "lost, as the folder of TMPDIR cannot take them either"
        tell_kept(slot.uri, f"{reason}; its rows are {where}{self._how_to_list_changes(slot)}", exists=storage.exists)
        return False

    def _finish(self, slot: feedexport.FeedSlot) -> str | None:
        """End the export to *slot*, and log the rows that it lost. Returns why it is not stored; ``None`` if it is."""
        reason, is_empty = None, not slot.itemcount
        try:
            slot.finish_exporting()
        except WRITE_ERRORS:
            raise
        except Exception:
            self.is_whole = False
            self.crawler.stats.inc_value("sitemap_harvest/output_failed")
            uri = without_login(slot.uri)
            logger.exception("%s: the exporter failed on the end of the file", uri, extra=fields("output-failed"))
            reason = "the new file cannot be written"
        if (lost := self._lost.pop(slot, None)) is not None and lost.count:
            self.is_whole = False
            self._flawed.add(slot)
            lost.log(slot, self.crawler)
            slot.itemcount -= lost.count
        for flaw in getattr(slot.exporter, "flaws", tuple)():
            logger.error("%s: %s", without_login(slot.uri), flaw)
        if not getattr(slot.exporter, "has_all_values", True):
            self._flawed.add(slot)
        return reason if slot.itemcount or is_empty else "none of its items can be written"

    def _report_missing(self, slot: feedexport.FeedSlot) -> None:
        """Log the fields to export that no item in the file of *slot* has, once for each output."""
        run = run_of(slot.spider)
        kinds = [] if run is None or run.config is None else run.config.emit.values()
        known = dict.fromkeys(name for kind in kinds for name in kind.schema().names)
        for name in sorted(getattr(slot.exporter, "missing", ())):
            if (slot.uri_template, name) not in self._reported:
                self._reported.add((slot.uri_template, name))
                meant = None if name in known else probably_meant(name, known)
                hint = f"; did you mean {meant}?" if meant else ""
                logger.warning("%s: no item has the field %s%s", without_login(slot.uri), name, hint)

    def _how_to_list_changes(self, slot: feedexport.FeedSlot) -> str:
        """Return how to list the changes again that the output of *slot* does not have; empty if it has none.

        They are changes since the snapshot before that of this run, so the next run does not find them.
        """
        run = run_of(slot.spider)
        if run is None or run.config is None or run.config.consumer is not None:  # a consumer gets them again
            return ""
        store = run.config.store or run.options.store
        kinds = [kind for kind in run.config.emit.values() if kind in _OF_CHANGES]
        if store is None or not any(list(_accepted(kind.of([]), slot.filter)) for kind in kinds):
            return ""
        command = run.summary.how_to_list_changes(without_login(store))
        hint = f"; the next run does not report these changes again, but this command does: {command}"
        return hint if command else ""

    def _export(self, item: Any, index: int, spider: Spider) -> None:
        """Export *item* to the feed at *index* of the slots, where another slot appears whenever a file is full."""
        if not isinstance(item, Batch):
            if self.slots[index].filter.accepts(item):
                self._export_part(item, index, spider)
            return
        for part in _accepted(item, self.slots[index].filter):
            rest = part
            while len(rest):
                slot = self.slots[index]
                most = self.feeds[slot.uri_template]["batch_item_count"] or len(rest) + slot.itemcount
                now, rest = rest.slice(0, most - slot.itemcount), rest.slice(most - slot.itemcount)
                self._export_part(now, index, spider)

    def _export_part(self, item: Any, index: int, spider: Spider) -> None:
        """Export *item*, for which the file has enough space."""
        slot = self.slots[index]
        self._write(slot, item)
        most = self.feeds[slot.uri_template]["batch_item_count"]
        if most and slot.itemcount >= most:
            self.slots[index] = self._next_slot(slot, spider)

    def _write(self, slot: feedexport.FeedSlot, item: Any) -> None:
        """Pass *item*, which may be a batch, to the exporter of *slot*. If that fails, it affects only this output."""
        lost = self._lost.setdefault(slot, LostRows())
        slot.itemcount += len(item) if isinstance(item, Batch) else 1
        self._kinds.setdefault(slot, set()).add(item.row_type if isinstance(item, Batch) else type(item))
        if slot.exporter is None and lost.error is not None:  # it could not be created
            lost.add(item, lost.error)
            return
        try:
            slot.start_exporting()
        except Exception as error:  # noqa: BLE001 - of any exporter
            _lose(item, error, lost)
            return
        exporter: Any = slot.exporter
        if hasattr(exporter, "lost"):
            exporter.lost = lost  # rows that it has collected may fail later
        takes_batches = getattr(exporter, "accepts_batches", False)
        for part in item.rows() if isinstance(item, Batch) and not takes_batches else (item,):
            try:
                exporter.export_item(part)
            except Exception as error:  # noqa: BLE001 - the same
                _lose(part, error, lost)

    async def _close_slot(self, slot: feedexport.FeedSlot, spider: Spider) -> None:
        """Close an output. Nothing waits for the result, so errors are recorded here."""
        try:
            if isinstance(slot.storage, DatabaseStorage):  # of other spiders too: only this class writes the rows
                is_finished = await self._is_loaded(slot, slot.storage)
            else:
                is_finished = run_of(spider) is None or self._is_finished(slot)
            if is_finished:
                await super()._close_slot(slot, spider)
            else:
                await self.crawler.signals.send_catch_log_async(signals.feed_slot_closed, slot=slot)
        except Exception:
            self.is_whole = False
            raise

    def _start_new_batch(self, *args: Any, **kwargs: Any) -> feedexport.FeedSlot:
        """Open a file, and watch whether all of it is stored in the end: Scrapy does not tell."""
        slot = super()._start_new_batch(*args, **kwargs)
        store = slot.storage.store

        async def watched(file: Any) -> None:
            await ensure_awaitable(store(file))
            self.outputs[slot] = slot not in self._flawed

        if len(self.outputs) < MOST_OUTPUTS:
            with suppress(AttributeError):  # it has slots, so the attribute cannot be set
                slot.storage.store = watched  # type: ignore[method-assign, assignment]
                self.outputs[slot] = False
        return slot

    def _next_slot(self, slot: feedexport.FeedSlot, spider: Spider) -> feedexport.FeedSlot:
        """Close *slot*, whose file is full, and return the slot of the next file (as Scrapy does for items)."""
        options = self.feeds[slot.uri_template]
        params = self._get_uri_params(spider, options["uri_params"], slot)
        self._schedule_slot_close(slot, spider)
        return self._start_new_batch(
            batch_id=slot.batch_id + 1,
            uri=feedexport.apply_uri_params(slot.uri_template, params),
            feed_options=options,
            spider=spider,
            uri_template=slot.uri_template,
        )


def _lose(item: Any, error: Exception, lost: LostRows) -> None:
    """Count *item*, or the rows of a batch, as lost. Raises *error* if it concerns the output as a whole."""
    if isinstance(error, WRITE_ERRORS):
        raise error
    lost.add(item, error)


def _is_stream(slot: feedexport.FeedSlot) -> bool:
    """Whether *slot* writes to the standard output, a pipe or another device."""
    return isinstance(slot.storage, feedexport.StdoutFeedStorage) or is_device(getattr(slot.storage, "path", ""))


def _keep(slot: feedexport.FeedSlot, reason: str) -> None:
    """Do not write the output of *slot*, which has no items."""
    slot.store_empty = False
    exists = True  # as far as is known
    if isinstance(slot.storage, DatabaseStorage):
        exists = slot.storage.exists
    elif isinstance(slot.storage, feedexport.FileFeedStorage):
        exists = Path(slot.storage.path).exists()
    tell_kept(slot.uri, reason, exists=exists)


def _give_up(slot: feedexport.FeedSlot, reason: str) -> None:
    """Close the file of *slot*, which is not stored, so that Python does not report its buffers later."""
    for file in (getattr(slot.exporter, "stream", None), slot.file):
        if file is not None:
            with suppress(OSError, ValueError):
                file.close()
    if isinstance(slot.storage, FileFeedStorage):
        slot.storage.discard()
        if slot.storage.exists:
            tell_kept(slot.uri, reason)


def _why_not(slot: feedexport.FeedSlot, *, is_ours: bool) -> str | None:
    """Return why the output of *slot* cannot be written; ``None`` if it can."""
    if (reason := _why_no_format(slot)) or not isinstance(slot.storage, feedexport.FileFeedStorage):
        return reason
    path = Path(slot.storage.path)
    can_append = _can_append(slot.exporters[slot.format], is_ours=is_ours)
    if slot.storage.write_mode == "ab" and not can_append and path.is_file() and path.stat().st_size:
        return f"{slot.uri} already exists, and files of this format cannot be appended to: {_CURE}"
    if not is_ours or is_device(path):
        return None
    try:
        if isinstance(slot.storage, FileFeedStorage):
            slot.storage.check()
            return None
        is_new = not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab"):
            pass
        if is_new:
            path.unlink()
    except OSError as error:
        return f"{path} cannot be written: {(error.strerror or str(error)).lower()}"
    return None


def _why_no_format(slot: feedexport.FeedSlot) -> str | None:
    """Return why the output of *slot* cannot be written in its format, or compressed; ``None`` if it can."""
    if not slot.format and not isinstance(slot.storage, DatabaseStorage):
        return f"{slot.uri}: the format is unknown; add a suffix, such as .jsonl"
    is_ours = getattr(slot.exporters.get(slot.format), "__module__", "").startswith(_OWN)
    if is_ours and (reason := why_no_package(slot.format)):
        return f"{slot.uri}: {reason}"
    return _why_not_compressed(slot)


def _why_not_compressed(slot: feedexport.FeedSlot) -> str | None:
    """Return why the output of *slot* cannot be compressed as its suffix says; ``None`` if it can, or need not."""
    suffix, is_database = slot.uri.rpartition(".")[2], isinstance(slot.storage, DatabaseStorage)
    if suffix not in COMPRESSIONS or not (is_database or "postprocessing" in slot.feed_options):
        return None
    if is_database:
        return f"{slot.uri}: a database cannot be compressed, so remove .{suffix} from the name"
    if slot.format not in slot.exporters or slot.format in COMPRESSIONS:
        return f"{slot.uri}: the format is unknown; name the output like urls.jsonl.{suffix}"
    if slot.format in BINARY_FORMATS:
        return f"{slot.uri}: {BINARY_FORMATS[slot.format]} is already compressed, so remove .{suffix} from the name"
    return None


def _can_append(exporter: Any, *, is_ours: bool) -> bool:
    return bool(getattr(exporter, "can_append", True) or (not is_ours and issubclass(exporter, _SCRAPYS)))


def _accepted(batch: Batch[Any], item_filter: feedexport.ItemFilter) -> Iterator[Batch[Any]]:
    """Yield the parts of *batch* that the feed's filter accepts."""
    if type(item_filter) is not feedexport.ItemFilter:
        yield type(batch).of(row for row in batch.rows() if item_filter.accepts(row))
    elif not item_filter.item_classes or issubclass(batch.row_type, item_filter.item_classes):
        yield batch
