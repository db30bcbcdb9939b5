"""The numbers of a run for Prometheus: a file for the textfile collector of its node_exporter.

Needs prometheus_client. Names: https://prometheus.io/docs/practices/naming/
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from prometheus_client import generate_latest
from prometheus_client.core import CollectorRegistry, GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from scrapy.utils.asyncio import create_looping_call

from sitemap_harvest import __version__
from sitemap_harvest.crawl.watching.put_file import check_place, path_of, put_file
from sitemap_harvest.crawl.watching.run_end import AtRunEnd, End, peak_memory
from sitemap_harvest.errors import OptionError
from sitemap_harvest.model import ChangeKind, Outcome, SiteResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from sitemap_harvest.crawl.run import Harvest
    from sitemap_harvest.crawl.summary import Summary
    from sitemap_harvest.crawl.watching.run_mark import Mark

logger = logging.getLogger(__name__)

SETTING = "SITEMAP_HARVEST_METRICS"
_PREFIX = "sitemap_harvest_"
_RUNNING = f"{_PREFIX}running"
_FILE = "harvest"
"""The label that all series have: the name of the file, so that no two files have the same series."""
_FOR_ALL = 0o644  # the node_exporter is another user, and there is no secret in it
_SUCCESS, _HARVEST = "last_success_timestamp_seconds", "last_harvest_timestamp_seconds"


class Metrics(AtRunEnd):
    """Scrapy extension: writes the metrics of a run when it begins, while it runs, and when it has ended.

    What is told of the run before stays until this one has ended.
    """

    def __init__(self, crawler: Crawler, harvest: Harvest) -> None:
        super().__init__(crawler, harvest)
        self._before: list[Metric] = []
        self._loop: Any = None
        self._has_failed = False

    def begun(self) -> None:
        """Write that the run has begun, and go on to tell how far it is."""
        path = path_of_file(self.crawler.settings, self.mark)
        self._before = [family for family in families(path) if not family.name.startswith(_RUNNING)]
        if (seconds := self.crawler.settings.getfloat("LOGSTATS_INTERVAL")) > 0:
            self._loop = create_looping_call(self._tell)
            self._loop.start(seconds, now=True)
        else:
            self._tell()

    def _tell(self) -> None:
        """Write how far the run is. That it cannot be written is told once, and again at the end."""
        path = path_of_file(self.crawler.settings, self.mark)
        started = self.harvest.started_at.timestamp()
        try:
            write(path, [*self._before, *running(self.harvest.summary, started=started, file=path.stem)])
        except OSError as error:
            if not self._has_failed:
                self._has_failed = True
                self.harvest.logger.warning("The metrics cannot be written: %s", error)

    def ended(self, end: End) -> None:
        """Write how the run has ended. Where that is not possible, the log has an error."""
        if self._loop is not None and self._loop.running:
            self._loop.stop()
        try:
            tell(end, self.crawler.settings, arguments={})
        except (OSError, OptionError) as error:
            if SETTING not in (end.refused or ""):  # else that is why it was refused
                self.harvest.logger.error("The metrics cannot be written: %s", error)  # noqa: TRY400 - one line


def check(settings: BaseSettings, mark: Mark) -> Path:
    """Return where the metrics of the run of *mark* go. Raises :exc:`OptionError` if they cannot be written there."""
    path = path_of_file(settings, mark)
    check_place(SETTING, path)
    if path.exists() and not path.is_file():
        raise OptionError(f"{SETTING}: {path} is no file")
    families(path)
    return path


def path_of_file(settings: BaseSettings, mark: Mark) -> Path:
    """Return where the metrics are written. Raises :exc:`OptionError`."""
    template = str(settings.get(SETTING))
    # With the id of a run or a job in its name there would be a new file, and new series, with each: without end.
    path = path_of(SETTING, template, {"name": mark.spider})
    if path.suffix != ".prom":
        raise OptionError(f"{SETTING} is {template!r}; it must end with .prom: the node_exporter reads no other file")
    return path


def tell(end: End, settings: BaseSettings, *, arguments: Mapping[str, Any]) -> None:  # noqa: ARG001 - see the closing record
    """Write how a run has *ended* to where the *settings* say. Raises :exc:`OSError` and :exc:`OptionError`."""
    path = path_of_file(settings, end.mark)
    last = {sample.name: sample.value for family in families(path) for sample in family.samples}
    write(path, ended(end, last=last, file=path.stem))


def families(path: Path) -> list[Metric]:
    """Return the metrics in the file at *path*: none, if it is not there or is damaged.

    Raises :exc:`OptionError` if they are not ours.
    """
    try:
        found = list(text_string_to_metric_families(path.read_text("utf-8")))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, IndexError) as error:  # the parser of damaged text raises these
        logger.warning("What is in %s is no metrics, and is written over: %s", path, error)
        return []
    for name in (family.name for family in found if not family.name.startswith(_PREFIX)):
        raise OptionError(f"{SETTING}: {path} has metrics of others ({name}); give a file of its own")
    return found


def write(path: Path, metrics: Iterable[Metric]) -> None:
    """Put *metrics* into the file at *path*, all or none. Raises :exc:`OSError`."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Given(metrics))
    put_file(path, generate_latest(registry), mode=_FOR_ALL)


class _Given(Collector):
    """Metrics that are there already."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = list(metrics)

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def running(summary: Summary, *, started: float, file: str) -> Iterator[Metric]:
    """Yield the metrics of a run that goes on since *started*, in seconds since the epoch."""
    series = _Series(file)
    yield series.one("running", "Whether a run goes on, or was killed.", 1)
    yield series.one("running_started_timestamp_seconds", "When the run that goes on began.", started)
    yield series.one("running_documents", "Documents that the run that goes on is done with.", summary.documents)
    yield series.one("running_queued_documents", "Documents that it knows, and is not done with.", summary.queued)
    yield series.one("running_urls", "URLs that it has handed out.", summary.urls)


def ended(end: End, *, last: Mapping[str, float], file: str) -> Iterator[Metric]:
    """Yield the metrics of a run that has ended; *last* has what the file said before, by name."""
    series, summary = _Series(file), end.summary
    yield series.one("running", "Whether a run goes on, or was killed.", 0)
    run = {"run": str(end.mark.run), "job": end.mark.job or "", "spider": end.mark.spider, "version": __version__}
    yield series.many("run_info", "Which run was the last to end.", tuple(run), {tuple(run.values()): 1})
    yield series.one("run_seconds", "How long the last run took.", end.seconds)
    yield series.one("run_exit_code", "How it ended: the exit code of scrapy harvest crawl.", end.verdict.exit_code)
    now = end.ended_at.timestamp()
    yield series.one("last_run_timestamp_seconds", "When the last run ended.", now)
    moments = {_SUCCESS: end.verdict.exit_code == 0, _HARVEST: summary.urls > 0}
    told = {_SUCCESS: "When a run last ended with exit code 0.", _HARVEST: "When a run that gave URLs last ended."}
    for name, is_now in moments.items():
        if (moment := now if is_now else last.get(f"{_PREFIX}{name}")) is not None:
            yield series.one(name, told[name], moment)
    yield series.one("urls", "URLs that the last run handed out.", summary.urls)
    documents = {outcome: tally.documents for outcome, tally in summary.tallies.items()}
    yield series.words("documents", "Documents of the last run.", "outcome", documents, Outcome)
    yield series.words(
        "sites", "Sites, and documents that were named, of the last run.", "result", summary.sites, SiteResult
    )
    if summary.snapshots:
        changes = {kind.replace(" ", "_"): count for kind, count in summary.changes.items()}
        yield series.words("changes", "URLs that changed since the baseline.", "kind", changes, ChangeKind)
    yield series.words("problems", "Problems of the documents of the last run.", "code", summary.problems)
    size = sum(tally.bytes for tally in summary.tallies.values())
    yield series.one("downloaded_bytes", "Bytes of the bodies that the last run downloaded.", size)
    yield series.one("log_errors", "Lines of its log at ERROR or above.", end.errors)
    if (peak := peak_memory()) is not None:
        yield series.one("peak_memory_bytes", "The most memory that its process had.", peak)


class _Series:
    """Makes metrics that have the name of their file as a label."""

    def __init__(self, file: str) -> None:
        self._file = file

    def one(self, name: str, told: str, value: float) -> Metric:
        return self.many(name, told, (), {(): value})

    def words(self, name: str, told: str, label: str, counts: Mapping[Any, int], every: Iterable[str] = ()) -> Metric:
        """Return the metric of *counts* by words; *every* has those that are told with 0 where there are none."""
        values = dict.fromkeys(map(str, every), 0) | {str(word): count for word, count in counts.items()}
        return self.many(name, told, (label,), {(word,): count for word, count in values.items()})

    def many(self, name: str, told: str, labels: tuple[str, ...], values: Mapping[tuple[str, ...], float]) -> Metric:
        metric = GaugeMetricFamily(f"{_PREFIX}{name}", told, labels=(_FILE, *labels))
        for words, value in values.items():
            metric.add_metric((self._file, *words), value)
        return metric
