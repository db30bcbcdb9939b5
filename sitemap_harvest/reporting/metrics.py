"""Prometheus metrics of a run: a file for the textfile collector of node_exporter.

Needs prometheus_client. Names: https://prometheus.io/docs/practices/naming/
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from scrapy.utils.asyncio import create_looping_call

from sitemap_harvest.errors import OptionError
from sitemap_harvest.files import check_place, path_of, put_file
from sitemap_harvest.model import ChangeKind, Outcome, SiteResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from scrapy.settings import BaseSettings

    from sitemap_harvest.engine.run_state import RunState
    from sitemap_harvest.engine.run_summary import Summary
    from sitemap_harvest.model.run import RunReport
    from sitemap_harvest.reporting.json_log import RunContext

logger = logging.getLogger(__name__)

NAME = "metrics file"
_SETTING = "SITEMAP_HARVEST_METRICS"
_PREFIX = "sitemap_harvest_"
_FILE = "harvest"
"""Label of all series with the name of the file, so that no two files have the same series."""
_RUNNING = ("running", "1 while a run is active, or if the last run was killed; otherwise 0.")


class Progress:
    """Updates the metrics of an active run; those of the previous run stay in the file until this one has ended."""

    def __init__(self, run: RunState, context: RunContext, settings: BaseSettings) -> None:
        """Write that *run* has begun, and start the periodic updates."""
        self._run = run
        self._path = _path(settings, context)
        self._before = [family for family in _read(self._path) if not family.name.startswith(f"{_PREFIX}running")]
        self._has_failed = False
        self._loop: Any = create_looping_call(self._update)
        if (seconds := settings.getfloat("LOGSTATS_INTERVAL")) > 0:
            self._loop.start(seconds, now=True)
        else:
            self._update()

    def stop(self) -> None:
        """Stop the updates."""
        if self._loop.running:
            self._loop.stop()

    def _update(self) -> None:
        """Write the progress of the run. A failure is logged once, and again at the end."""
        started = self._run.started_at.timestamp()
        try:
            _write(self._path, [*self._before, *_running(self._run.summary, started, self._path.stem)])
        except OSError as error:
            if not self._has_failed:
                self._has_failed = True
                self._run.logger.warning("The metrics file cannot be written: %s", error)


def check(settings: BaseSettings, context: RunContext) -> Path:
    """Return the path of the file. Raises :exc:`OptionError` if the metrics cannot be written there."""
    path = _path(settings, context)
    check_place(_SETTING, path)
    if path.exists() and not path.is_file():
        raise OptionError(f"{_SETTING}: {path} is not a regular file")
    _read(path)
    return path


def write(report: RunReport, settings: BaseSettings) -> None:
    """Write the result of a run. Raises :exc:`OSError` and :exc:`OptionError`."""
    path = _path(settings, report)
    previous = {sample.name: sample.value for family in _read(path) for sample in family.samples}
    _write(path, _ended(report, previous, path.stem))


def _path(settings: BaseSettings, run: RunContext | RunReport) -> Path:
    template = str(settings.get(_SETTING))
    # The id of a run or a job in the name would create a new file, with new series, for each run.
    path = path_of(_SETTING, template, {"name": run.spider})
    if path.suffix != ".prom":
        raise OptionError(f"{_SETTING} is {template!r}; it must end with .prom: node_exporter reads no other files")
    return path


def _read(path: Path) -> list[Metric]:
    """Return the metrics in the file at *path*; none if it is missing or damaged.

    Raises :exc:`OptionError` if they are from another program.
    """
    try:
        found = list(text_string_to_metric_families(path.read_text("utf-8")))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, IndexError) as error:  # raised by the parser for damaged text
        logger.warning("%s is not a Prometheus file and is overwritten: %s", path, error)
        return []
    for name in (family.name for family in found if not family.name.startswith(_PREFIX)):
        raise OptionError(f"{_SETTING}: {path} contains metrics from another program ({name}); use a different file")
    return found


def _write(path: Path, metrics: Iterable[Metric]) -> None:
    put_file(path, generate_latest(Metrics(metrics)), mode=0o644)  # node_exporter runs as another user


class Metrics(list[Metric], Collector):
    """Metrics as a collector, which ``generate_latest()`` takes."""

    def collect(self) -> Iterable[Metric]:
        """Return them."""
        return self


def _gauge(file: str, name: str, help_: str, values: float | dict[Any, int], labels: tuple[str, ...] = ()) -> Metric:
    """Return the metric *name* with one value, or with *values* by the value of the label, or of each of *labels*."""
    metric = GaugeMetricFamily(f"{_PREFIX}{name}", help_, labels=(_FILE, *labels))
    for words, value in values.items() if isinstance(values, dict) else [((), values)]:
        metric.add_metric((file, *(words if isinstance(words, tuple) else [words])), value)
    return metric


def _running(summary: Summary, started: float, file: str) -> Iterator[Metric]:
    """Yield the metrics of an active run that *started* at this time."""
    gauge = partial(_gauge, file)
    yield gauge(*_RUNNING, 1)
    yield gauge("running_started_timestamp_seconds", "Time when the active run started.", started)
    yield gauge("running_documents", "Documents that the active run has finished.", summary.documents)
    yield gauge("running_queued_documents", "Documents found but not finished by the active run.", summary.queued)
    yield gauge("running_urls", "URLs that the active run has emitted.", summary.urls)


def _ended(report: RunReport, previous: Mapping[str, float], file: str) -> Iterator[Metric]:
    """Yield the metrics of a finished run; *previous* has the values in the file, by name."""
    gauge, counts = partial(_gauge, file), report.counts
    yield gauge(*_RUNNING, 0)
    run = {"run": report.run, "job": report.job or "", "spider": report.spider, "version": report.version}
    yield gauge("run_info", "Identifies the last run that ended.", {tuple(run.values()): 1}, tuple(run))
    yield gauge("run_seconds", "Duration of the last run, in seconds.", report.seconds)
    yield gauge("run_exit_code", "Exit code of sitemap-harvest crawl for the last run.", report.exit_code)
    now = report.ended_at.timestamp()
    yield gauge("last_run_timestamp_seconds", "Time when the last run ended.", now)
    for name, help_, is_now in (
        ("last_success_timestamp_seconds", "Time when the last run with exit code 0 ended.", report.exit_code == 0),
        ("last_harvest_timestamp_seconds", "Time when the last run that emitted URLs ended.", counts.urls > 0),
    ):
        if (moment := now if is_now else previous.get(f"{_PREFIX}{name}")) is not None:
            yield gauge(name, help_, moment)
    # Outcomes, results and kinds are present even with count 0.
    documents, sites = dict.fromkeys(map(str, Outcome), 0), dict.fromkeys(map(str, SiteResult), 0)
    yield gauge("urls", "URLs that the last run emitted.", counts.urls)
    yield gauge("documents", "Documents of the last run.", documents | counts.documents, ("outcome",))
    yield gauge("sites", "Sites and named documents of the last run.", sites | counts.sites, ("result",))
    if report.snapshots:
        changes = dict.fromkeys(map(str, ChangeKind), 0)
        changes |= {kind.replace(" ", "_"): count for kind, count in counts.changes.items()}
        yield gauge("changes", "URLs that changed since the baseline.", changes, ("kind",))
    yield gauge("problems", "Problems in the documents of the last run.", counts.problems, ("code",))
    yield gauge("downloaded_bytes", "Bytes of the response bodies of the last run.", counts.bytes)
    yield gauge("log_errors", "Log records of the last run at level ERROR or above.", counts.errors)
    if report.peak_memory_bytes is not None:
        yield gauge("peak_memory_bytes", "Peak memory of the last run, in bytes.", report.peak_memory_bytes)
