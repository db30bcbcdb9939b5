"""The ids of runs, and ``RunReport``: the result of a run, from which its closing record and metrics are made."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar

CLOSING_FORMAT = 1
"""Version of the record, incremented whenever a field is renamed, removed, or changes its meaning. Added fields do not
increment it."""
_INSTANT = {"json_schema_extra": {"type": "string", "format": "date-time"}}
_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}", re.ASCII)
_MOMENT = "%Y%m%dT%H%M%SZ"


def new_run_id(now: datetime) -> str:
    """Return a unique id for a run that begins *now*, in UTC."""
    return f"{now:{_MOMENT}}-{secrets.token_hex(3)}"


def is_run_id(name: str) -> bool:
    """Whether *name* is a run ID."""
    return _ID.fullmatch(name) is not None


def id_after(before: str | None, run_id: str) -> str:
    """Return *run_id*, or an id that sorts after the run *before*, if the clock was set back."""
    if before is None or run_id > before:
        return run_id
    later = moment_of(before) + timedelta(seconds=1)
    return f"{later:{_MOMENT}}-{run_id.rpartition('-')[2]}"


def moment_of(run_id: str) -> datetime:
    """Return the start of the run with that id, to the second, in UTC."""
    return datetime.strptime(f"{run_id.partition('-')[0]}+0000", f"{_MOMENT}%z")


class _Extensible:
    """Base of records to which fields may be added."""

    __slots__ = ()
    __json_schema_extra__: ClassVar[dict[str, Any]] = {"additionalProperties": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts(_Extensible):
    """The counts of a run. Dictionaries omit keys with count 0."""

    documents: dict[str, int] = field(default_factory=dict)
    """Documents by outcome."""
    urls: int = 0
    """URLs emitted: after filters and ``limit``, before pipelines."""
    dropped: dict[str, int] = field(default_factory=dict)
    """URLs that the filters dropped, by filter."""
    sites: dict[str, int] = field(default_factory=dict)
    """Sites and named documents, by result."""
    changes: dict[str, int] = field(default_factory=dict)
    """URLs that changed since the baseline, by kind. Empty without a comparison."""
    problems: dict[str, int] = field(default_factory=dict)
    """Problems in the documents, by code; without those of probed paths that have no sitemap."""
    errors: int = 0
    """Log records at ERROR or above, including those below the log level."""
    bytes: int = 0
    """Bytes of the response bodies."""
    queued: int = 0
    """Documents that were queued or being downloaded when the run ended early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedSite(_Extensible):
    """A site, or a named document, with a result other than ``found``, unless only ``limit`` left it unfinished."""

    root: str
    """The target as named."""
    result: str
    cause: str | None = None
    """Why it is ``unreachable``; ``None`` for every other result."""
    reason: str
    """The reason, as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedDocument(_Extensible):
    """A document that was named or listed, and was not read, or not completely."""

    url: str
    outcome: str
    cause: str | None = None
    """Why there was no usable response; ``None`` if there was one."""
    reason: str | None = None
    """The reason of the outcome, as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSnapshot(_Extensible):
    """A snapshot that the run has stored."""

    site: str
    run: str
    """The id of the run in the store. It differs from the id of this run if an interrupted run was resumed, or if the
    last stored run has the same or a later id: ids must sort by time."""
    baseline: str | None = None
    """The run that changes are relative to; ``None`` if there was none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output(_Extensible):
    """A file, or another destination, that items were written to."""

    uri: str
    """The destination, without credentials."""
    items: int
    """Items written, including failed attempts."""
    ok: bool | None = None
    """Whether all of it was written. ``None`` if unknown, because the project has its own feed exporter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport(_Extensible):
    """The result of a run. Text fields contain no credentials."""

    format: int = CLOSING_FORMAT
    """The version of this record."""
    version: str
    """The version of the package."""
    run: str
    """The id of the run."""
    job: str | None = None
    """The id of its Scrapyd job; ``None`` elsewhere."""
    spider: str
    """The name of the spider."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """The ``-a`` arguments: strings, or lists of strings."""
    started_at: datetime = field(metadata=_INSTANT)
    """When the run began, in UTC."""
    ended_at: datetime = field(metadata=_INSTANT)
    """When it ended, in UTC."""
    seconds: float
    """Duration in seconds, independent of clock changes."""
    finish_reason: str | None = None
    """Why it ended: ``finished``; ``wrong_argument``, it was refused; ``shutdown``, it was stopped; ``output_closed``,
    the reader of a pipe, such as ``head``, closed it; ``output_failed``, ``store_failed``, ``pages_not_stored``, a disk
    may be full; ``closespider_...``, a limit of Scrapy's. ``None``: it was aborted, or never began."""
    verdict: str
    """The result in one word, corresponding to the exit code."""
    exit_code: int
    """The exit code of ``sitemap-harvest crawl`` for this result."""
    refused: str | None = None
    """Why it was refused before it began; ``None`` if it was not."""
    counts: Counts = field(default_factory=Counts)
    failed_sites: tuple[FailedSite, ...] = ()
    """The first 50 sites with a result other than ``found``, unless only ``limit`` left them unfinished;
    ``counts.sites`` has all."""
    failed_documents: tuple[FailedDocument, ...] = ()
    """The first 50 documents that failed, except those that are only a way to find the sitemaps of a site, such as its
    robots.txt: ``failed_sites`` has the reason if there is none. ``counts.documents`` has all, and the ledger
    lists them."""
    outputs: tuple[Output, ...] = ()
    """The first 50 outputs."""
    store: str | None = None
    """The store of snapshots; ``None`` if there is none."""
    snapshots: tuple[KeptSnapshot, ...] = ()
    """The first 50 snapshots."""
    peak_memory_bytes: int | None = None
    """Peak memory of the process in bytes; ``None`` if the system does not report it."""
