"""``RunReports``: notices the end of a run, however it ended, and writes its metrics and its closing record.

This package's spiders load it if a setting requests a report. Other spiders of a
project do not.
"""

from __future__ import annotations

import atexit
import logging
import re
import sys
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.log import get_scrapy_root_handler
from scrapy.utils.misc import load_object

from sitemap_harvest import __version__
from sitemap_harvest.engine.exit_codes import RunOutcome, verdict
from sitemap_harvest.engine.run_state import FIELDS, RunState
from sitemap_harvest.errors import OptionError
from sitemap_harvest.integration.items.feed_exporter import MOST_OUTPUTS, FeedExporter
from sitemap_harvest.integration.spider_attributes import run_of
from sitemap_harvest.model.run import Counts, Output, RunReport
from sitemap_harvest.redact import without_login
from sitemap_harvest.reporting.json_log import LOG, RunContext, run_context_of_record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot
    from scrapy.settings import BaseSettings

METRICS, CLOSING = "SITEMAP_HARVEST_METRICS", "SITEMAP_HARVEST_CLOSING"
_WRITERS = {  # the closing record comes last, because it counts an error if the metrics could not be written
    METRICS: "sitemap_harvest.reporting.metrics",
    CLOSING: "sitemap_harvest.reporting.closing_record",
}
_MOST_MESSAGES = 3  # of errors, for the end of a command: the log has all
_NO_HANDLER = (
    "SITEMAP_HARVEST_LOG is 'json', but Scrapy has not configured logging: "
    "set the formatter of your own handler to sitemap_harvest.reporting.json_log.JsonFormatter"
)


class ErrorCount(logging.Handler):
    """Counts records at ERROR or above, except those of other runs.

    Scrapy's own count only includes records that pass the log level.
    """

    def __init__(self, run: str | None = None) -> None:
        """Count the records of *run*, and those of unknown runs; ``None``: all records."""
        super().__init__(logging.WARNING)
        self.errors = 0
        self.kept: list[str] = []
        """The messages about outputs that the run has not replaced, or not completely: these are warnings."""
        self.first: list[str] = []
        """The messages of the first few, without those of outputs that cannot be written: other lines name these."""
        self._run = run

    def emit(self, record: logging.LogRecord) -> None:
        """Count *record* if it is an error, and note what it says about an output."""
        if self._run is None or (context := run_context_of_record(record)) is None or context.run == self._run:
            event = getattr(record, FIELDS, {}).get("event")
            self.kept += [record.getMessage()] if event in {"output-kept", "output-incomplete"} else []
            if record.levelno < logging.ERROR:
                return
            self.errors += 1
            is_of_output = event == "output-failed"
            if len(self.first) < _MOST_MESSAGES and not is_of_output:
                with suppress(Exception):  # of a call with wrong arguments, which the log reports
                    self.first.append(record.getMessage().partition("\n")[0])


class RunReports:
    """Scrapy extension: writes the reports of a run.

    Scrapy closes outputs during the signal of the spider's end, so the reports come
    later, when the engine stops. A refused run has no engine that stops; and a run that
    is aborted, or could not start, ends with the process.
    """

    def __init__(self, crawler: Crawler, run: RunState) -> None:
        self._crawler = crawler
        self._run = run
        self._context = RunContext.of(crawler.spider)
        self._reason: str | None = None
        self._is_open = self._has_started = self._has_ended = False
        self._progress: Any = None
        self._closed: list[FeedSlot] = []
        self._errors = ErrorCount(run.run_id)
        logging.root.addHandler(self._errors)
        atexit.register(self.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the extension, and subscribe it to the signals of the run."""
        if (run := run_of(crawler.spider)) is None:
            raise NotConfigured
        extension = cls(crawler, run)
        for name in ("spider_opened", "engine_started", "spider_closed", "engine_stopped", "feed_slot_closed"):
            crawler.signals.connect(getattr(extension, name), signal=getattr(signals, name))
        return extension

    def spider_opened(self) -> None:
        """Record that Scrapy could start."""
        self._is_open = True

    def engine_started(self) -> None:
        """Record that the engine will stop, and begin to write the progress."""
        self._has_started = True
        if (metrics := writers(self._crawler.settings).get(METRICS)) is not None:
            self._progress = metrics.Progress(self._run, self._context, self._crawler.settings)

    def feed_slot_closed(self, slot: FeedSlot) -> None:
        """Record that an output was closed."""
        if slot in self._watched() or len(self._closed) < MOST_OUTPUTS:
            self._closed.append(slot)

    def spider_closed(self, reason: str) -> None:
        """Write the reports now if the run never began: there are no outputs to wait for."""
        self._reason = reason
        if not self._has_started:
            self.engine_stopped()

    def engine_stopped(self) -> None:
        """Write the reports."""
        if self._has_ended:
            return
        self._has_ended = True
        atexit.unregister(self.engine_stopped)
        if self._progress is not None:
            self._progress.stop()
        _write(self._report, self._crawler.settings, self._run.logger)
        logging.root.removeHandler(self._errors)

    def _watched(self) -> dict[FeedSlot, bool]:
        """Return whether all of each output is stored; empty for a feed exporter from another package."""
        with suppress(RuntimeError):  # Scrapy could not create the extensions
            if (exporter := self._crawler.get_extension(FeedExporter)) is not None:
                return exporter.outputs
        return {}

    def _outputs(self) -> tuple[Output, ...]:
        """Return the outputs that were written to or closed."""
        watched = self._watched()
        slots = list(dict.fromkeys([*watched, *self._closed]))[:MOST_OUTPUTS]
        return tuple(
            Output(uri=slot.uri, items=slot.itemcount, ok=watched.get(slot))
            for slot in slots
            if slot.itemcount or slot in self._closed
        )

    def _report(self) -> RunReport:
        run, errors, stats = self._run, self._errors.errors, dict(self._crawler.stats.get_stats())
        if self._is_open:
            stats.setdefault("finish_reason", self._reason)
        return _report_of(
            run,
            self._context,
            self._crawler.settings,
            outcome=verdict(run.summary, stats, errors=errors) if self._is_open else RunOutcome.NOT_STARTED,
            errors=errors,
            seconds=run.seconds,
            finish_reason=stats.get("finish_reason"),
            outputs=self._outputs(),
        )


def enable_reports(settings: BaseSettings) -> None:
    """Add the extension that writes the reports, if *settings* request one, before others, which may fail."""
    given = settings.getdict("EXTENSIONS")
    if writers(settings) and RunReports not in map(load_object, given):
        # A runner replaces values of the same priority with its own.
        priority = max((settings.getpriority("EXTENSIONS") or 0) + 1, SETTINGS_PRIORITIES["spider"])
        settings.set("EXTENSIONS", {**given, RunReports: -1_000}, priority=priority)


def check_reporting(spider: Spider) -> dict[str, Path | None]:
    """Return the files of the reports by setting. Raises :exc:`OptionError` if one cannot be written."""
    settings, context = spider.crawler.settings, RunContext.of(spider)
    check_installed(settings)
    if settings.get(LOG) == "json" and get_scrapy_root_handler() is None:
        spider.logger.warning("%s", _NO_HANDLER)
    return {name: module.check(settings, context) for name, module in writers(settings).items()}


def check_installed(settings: BaseSettings) -> None:
    """Raise :exc:`OptionError` if a required library is not installed."""
    if settings.get(METRICS) and METRICS not in writers(settings):
        install = "pip install 'scrapy-sitemap-harvest[observe]'"
        raise OptionError(f"{METRICS} needs prometheus_client, which is not installed: {install}")


def report_refused(error: Exception, settings: BaseSettings, *, spider: str, arguments: Mapping[str, Any]) -> None:
    """Write the reports of a run that *error* ended before there was a *spider*."""
    run = RunState(arguments)
    run.refused = str(error)
    report = _report_of(
        run,
        RunContext(run=run.run_id, job=None, spider=spider),
        settings,
        outcome=RunOutcome.WRONG_USAGE,
        errors=1,
        seconds=0.0,
        finish_reason="wrong_argument",
    )
    _write(lambda: report, settings, logging.getLogger(__name__))


def writers(settings: BaseSettings) -> dict[str, Any]:
    """Return the modules that write the reports that *settings* request, by setting."""
    wanted = {name: path for name, path in _WRITERS.items() if settings.get(name)}
    if find_spec("prometheus_client") is None:
        wanted.pop(METRICS, None)
    return {name: import_module(path) for name, path in wanted.items()}


def _write(report: Callable[[], RunReport], settings: BaseSettings, logger: Any) -> None:
    """Write the reports. A failure is logged as an error."""
    for name, module in writers(settings).items():
        made = report()
        try:
            module.write(made, settings)
        except (OSError, OptionError) as error:
            if name not in (made.refused or ""):  # otherwise that is why the run was refused
                logger.error("The %s cannot be written: %s", module.NAME, error)  # noqa: TRY400 - one line


def _report_of(
    run: RunState, context: RunContext, settings: BaseSettings, *, outcome: RunOutcome, errors: int, **facts: Any
) -> RunReport:
    summary = run.summary
    store = run.arguments.get("store") or settings.get("SITEMAP_HARVEST_STORE")
    return RunReport(
        version=__version__,
        run=run.run_id,
        job=context.job,
        spider=context.spider,
        # If the run was refused because of a URL, the end of its login is unknown.
        arguments={
            name: _text(value, without_login if run.refused else str)
            for name, value in run.arguments.items()
            if not name.startswith("_")
        },
        started_at=run.started_at,
        ended_at=datetime.now(UTC),
        verdict=outcome,
        exit_code=outcome.exit_code,
        refused=run.refused,
        counts=Counts(
            documents={str(outcome): tally.documents for outcome, tally in summary.tallies.items()},
            urls=summary.urls,
            dropped=_counted(summary.dropped),
            sites=_counted(summary.sites),
            changes=_counted(summary.changes),
            problems=_counted(summary.problems),
            errors=errors,
            bytes=sum(tally.bytes for tally in summary.tallies.values()),
            queued=summary.queued,
        ),
        failed_sites=tuple(summary.failed_sites),
        failed_documents=tuple(summary.failed_documents),
        store=str(store) if store else None,
        snapshots=tuple(summary.snapshots),
        peak_memory_bytes=_peak_memory(),
        **facts,
    )


def _counted(counts: Mapping[Any, int]) -> dict[str, int]:
    return {str(word): count for word, count in counts.items() if count}


def _text(value: Any, shown: Callable[[str], str]) -> Any:
    return [_text(one, shown) for one in value] if isinstance(value, list | tuple) else shown(str(value))


def _peak_memory() -> int | None:
    """Return the peak memory of this process in bytes; ``None`` if the system does not report it."""
    with suppress(OSError):  # where there is no /proc; getrusage() is never below the peak of the parent
        if found := re.search(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text("ascii"), re.MULTILINE):
            return int(found[1]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return None
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024
