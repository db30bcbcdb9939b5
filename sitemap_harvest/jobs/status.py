"""``QueueStatus``: the jobs of a queue at one moment, as lines, JSON, Prometheus metrics and an HTML page."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from sitemap_harvest.display import counted, duration, short
from sitemap_harvest.errors import MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    import jinja2
    from prometheus_client.core import Metric

_REFRESH_SECONDS = 30  # after which a browser reads the HTML page again
_MOST_REASONS = 10
_OTHER = "other reasons"
_PREFIX = "sitemap_harvest_jobs_"
_STATES = ("queued", "running", "scheduled", "paused", "failed")
_DUE = {"queued": "due since", "scheduled": "due at"}
_START = "sitemap-harvest jobs work"
_RETRY = "sitemap-harvest jobs retry --all"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowSite:
    """The last crawl of a site."""

    site: str
    seconds: float
    """Its duration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteStatus:
    """A site in a queue, and its last crawl."""

    site: str
    state: str
    """``queued``, ``running``, ``scheduled``, ``paused``, ``failed`` (given up) or ``done`` (no crawl is planned)."""
    due_at: datetime | None
    """When it is crawled next, in UTC; ``None``: no crawl is planned."""
    result: str | None
    """The result of the last crawl, or as in :class:`~sitemap_harvest.jobs.retries.FailureKind`; ``None``: there was
    no crawl."""
    reason: str | None
    """The reason of the result, as text; ``None``: none is known."""

    def __str__(self) -> str:
        due = f", {word} {_time(self.due_at)}" if self.due_at and (word := _DUE.get(self.state)) else ""
        last = ": ".join(filter(None, (self.result, self.reason)))
        return f"{self.site}: {self.state}{due}{f'; last crawl: {last}' if last else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStatus:
    """The jobs of a queue at one moment. A site is queued, running, scheduled, paused or failed."""

    at: datetime
    """The time of the database, in UTC."""
    sites: int
    """Sites that were submitted."""
    queued: int
    """Sites that are due, and wait for a worker."""
    running: int
    """Sites that a worker crawls, including the stalled ones."""
    stalled: int
    """Sites whose worker no longer renews its lease."""
    scheduled: int
    """Sites that are due later."""
    paused: int
    failed: int
    """Sites that were given up: ``retry`` queues them again."""
    done: int
    """Crawls of these sites that ended since they were submitted: a site may have several."""
    last_minute: int
    """Sites whose last crawl ended in the last minute."""
    last_hour: int
    """Sites whose last crawl ended in the last hour."""
    oldest_due: datetime | None
    """Since when the site that waits longest is due, in UTC; ``None``: none waits."""
    workers: int
    """Workers that are alive."""
    parts_waiting: int
    """Jobs of diff, audit, export and compact that have not ended."""
    parts_failed: int
    """Jobs of diff, audit, export and compact that were given up."""
    failures: Mapping[str, int]
    """Number of sites by the reason of their last failure."""
    slowest: Sequence[SlowSite]
    """The slowest of the last crawls of the sites, at most 10."""

    @property
    def needs_worker(self) -> bool:
        """Whether jobs wait, and no worker is alive."""
        return not self.workers and self.queued + self.parts_waiting > 0

    @property
    def reasons(self) -> dict[str, int]:
        """The most frequent reasons of :attr:`failures`, escaped and cut; the others are one."""
        counts: Counter[str] = Counter()
        for reason, count in self.failures.items():
            counts[short(reason)] += count
        most = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
        found = dict(most[:_MOST_REASONS])
        if others := sum(count for _, count in most[_MOST_REASONS:]):
            found[_OTHER] = others
        return found

    @property
    def counts(self) -> dict[str, int]:
        """The main numbers, by their names."""
        return {
            **{name: getattr(self, name) for name in (*_STATES, "done")},
            **({"parts": self.parts_waiting} if self.parts_waiting or self.parts_failed else {}),
        }

    @property
    def notes(self) -> dict[str, str]:
        """What to say about some of :attr:`counts`, by name."""
        recent = f"{self.last_minute:,} in the last minute, {self.last_hour:,} in the last hour"
        found = {"done": f"crawls; sites crawled: {recent}"}
        if self.oldest_due is not None:
            waiting = duration(max((self.at - self.oldest_due).total_seconds(), 0))
            found["queued"] = f"the oldest has been due since {_time(self.oldest_due)} ({waiting})"
        if self.stalled:
            found["running"] = f"{self.stalled:,} stalled: the worker no longer renews its lease"
        if self.failed:
            found["failed"] = f"given up; to queue them again: {_RETRY}"
        found["parts"] = f"of diff, audit, export and compact; {self.parts_failed:,} more failed"
        return found


def as_lines(status: QueueStatus) -> list[str]:
    """Return *status* as lines for a terminal, escaped."""
    counts, notes = status.counts, status.notes
    width = max(len(f"{count:,}") for count in counts.values())
    lines = [f"{_time(status.at)}: {counted(status.sites, 'site')}, {counted(status.workers, 'worker')}"]
    lines += [f"{name:<9}  {count:>{width},}  {notes.get(name, '')}".rstrip() for name, count in counts.items()]
    if reasons := status.reasons:
        lines += ["Last failures:", *(f"  {counted(count, 'site')}: {reason}" for reason, count in reasons.items())]
    if status.slowest:
        lines.append("Slowest of the last crawls:")
        lines += [f"  {duration(one.seconds)}: {short(one.site)}" for one in status.slowest]
    if status.needs_worker:
        lines.append(f"no worker runs; start one: {_START}, with the same --store or --queue")
    return lines


def as_json(status: QueueStatus) -> dict[str, Any]:
    """Return *status* as JSON-compatible values; times are in ISO 8601."""
    values = {field.name: getattr(status, field.name) for field in dataclasses.fields(status)}
    return values | {
        "at": status.at.isoformat(),
        "oldest_due": status.oldest_due and status.oldest_due.isoformat(),
        "failures": dict(status.failures),
        "slowest": [dataclasses.asdict(one) for one in status.slowest],
    }


def as_prometheus(status: QueueStatus) -> str:
    """Return *status* in the text format of Prometheus.

    Raises :exc:`MissingPackageError` if prometheus_client is not installed.
    """
    try:
        from prometheus_client import generate_latest  # optional

        from sitemap_harvest.reporting.metrics import Metrics
    except ImportError as error:
        raise MissingPackageError(
            "prometheus_client is not installed: pip install 'scrapy-sitemap-harvest[observe]'"
        ) from error
    return generate_latest(Metrics(_metrics(status))).decode()


def _metrics(status: QueueStatus) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily  # optional

    yield _gauge("sites", "Sites that were submitted.", status.sites)
    states = {name: getattr(status, name) for name in _STATES}
    yield _gauge("sites_by_state", "Sites by the state of their job.", states, "state")
    yield _gauge("stalled", "Running sites whose worker no longer renews its lease.", status.stalled)
    yield CounterMetricFamily(f"{_PREFIX}done", "Crawls of the submitted sites that ended.", value=status.done)
    if status.oldest_due is not None:
        help_ = "Time since when the site that waits longest is due."
        yield _gauge("oldest_due_timestamp_seconds", help_, status.oldest_due.timestamp())
    yield _gauge("workers", "Workers that are alive.", status.workers)
    parts = {"waiting": status.parts_waiting, "failed": status.parts_failed}
    yield _gauge("parts", "Jobs of diff, audit, export and compact by state.", parts, "state")
    help_ = f"Sites by the reason of their last failure, the {_MOST_REASONS} most frequent ones."
    yield _gauge("failures", help_, status.reasons, "reason")
    yield _gauge("status_timestamp_seconds", "Time of these numbers.", status.at.timestamp())


def _gauge(name: str, help_: str, values: float | Mapping[str, int], label: str = "") -> Metric:
    """Return the metric *name* with one value, or with *values* by the value of *label*."""
    from prometheus_client.core import GaugeMetricFamily  # optional

    if isinstance(values, (int, float)):
        return GaugeMetricFamily(f"{_PREFIX}{name}", help_, value=values)
    metric = GaugeMetricFamily(f"{_PREFIX}{name}", help_, labels=[label])
    for one, value in values.items():
        metric.add_metric([one], value)
    return metric


def as_html(status: QueueStatus) -> str:
    """Return *status* as a page without scripts, which a browser reads again every 30 seconds."""
    style = (files("sitemap_harvest.jobs") / "templates/status.css").read_text("utf-8")
    values = {
        "status": status,
        "counts": status.counts,
        "notes": status.notes,
        "style": style,
        "digest": base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        "refresh": _REFRESH_SECONDS,
        "start": _START,
    }
    return _environment().get_template("status.html").render(values)


@cache
def _environment() -> jinja2.Environment:
    import jinja2  # few commands render a page

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sitemap_harvest.jobs"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "counted": counted,
        "duration": duration,
        "number": "{:,}".format,
        "short": short,
        "time": _time,
    }
    return environment


def _time(value: datetime) -> str:
    return f"{value:%Y-%m-%d %H:%M:%S} UTC"
