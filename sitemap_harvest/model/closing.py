"""What a run leaves behind for who has started it: one JSON object, the closing record."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003 - the schema is made from these annotations at run time
from typing import Any, ClassVar

CLOSING_FORMAT = 1
"""Goes up by one whenever a field is renamed, left out, or given another meaning. That one is added does not count."""
_INSTANT = {"json_schema_extra": {"type": "string", "format": "date-time"}}
_MAY_GROW = {"additionalProperties": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much there was of everything. A word that would have 0 is not there."""

    __json_schema_extra__: ClassVar[dict[str, Any]] = _MAY_GROW

    documents: dict[str, int] = field(default_factory=dict)
    """Documents by outcome."""
    urls: int = 0
    """URLs handed out: after filters and ``limit``, before pipelines."""
    dropped: dict[str, int] = field(default_factory=dict)
    """URLs that the filters dropped, by filter."""
    sites: dict[str, int] = field(default_factory=dict)
    """Sites, and documents that were named, by result."""
    changes: dict[str, int] = field(default_factory=dict)
    """URLs that changed since the baseline, by kind. Empty where nothing was compared."""
    problems: dict[str, int] = field(default_factory=dict)
    """Problems of the documents, by code."""
    errors: int = 0
    """Lines of the log at ERROR or above, or such as would be there if they were shown."""
    queued: int = 0
    """Documents that were known, and not read because the run ended early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedSite:
    """A site, or a document that was named, that has another result than ``found``."""

    __json_schema_extra__: ClassVar[dict[str, Any]] = _MAY_GROW

    root: str
    """What was named."""
    result: str
    """What came of it, in one word."""
    cause: str | None = None
    """Why it is ``unreachable``; ``None`` for every other result."""
    reason: str
    """What came of it, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSnapshot:
    """A snapshot that the run has put into the store."""

    __json_schema_extra__: ClassVar[dict[str, Any]] = _MAY_GROW

    site: str
    """The site."""
    run: str
    """The id of the run in the store. It is another than that of the run where an interrupted one was taken over, or
    where the last one in the store is as late or later: ids have to sort by time."""
    baseline: str | None = None
    """The run that changes are against; ``None`` if there was none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A file, or another place, that items were written to."""

    __json_schema_extra__: ClassVar[dict[str, Any]] = _MAY_GROW

    uri: str
    """Where, without credentials."""
    items: int
    """Items written, or tried to be."""
    ok: bool | None = None
    """Whether all of it is there. ``None`` if that cannot be told: the project has a feed exporter of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosingRecord:
    """What a run has come to. Text is without credentials."""

    __json_schema_extra__: ClassVar[dict[str, Any]] = _MAY_GROW

    format: int = CLOSING_FORMAT
    """The version of this record."""
    version: str
    """That of the package."""
    run: str
    """The id of the run."""
    job: str | None = None
    """The id of its job on Scrapyd; ``None`` elsewhere."""
    spider: str
    """The name of the spider."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """What it was given by ``-a``: texts, or lists of texts."""
    started_at: datetime = field(metadata=_INSTANT)
    """When the run began, in UTC."""
    ended_at: datetime = field(metadata=_INSTANT)
    """When it ended, in UTC."""
    seconds: float
    """How long it took, whatever the clock says."""
    finish_reason: str | None = None
    """Why it ended: ``finished``; ``wrong_argument``, it was refused; ``shutdown``, it was told to;
    ``output_failed``, ``store_failed``, ``pages_not_kept``, a disk may be full; ``closespider_...``, a limit of
    Scrapy's. ``None``: it was broken off, or never began."""
    verdict: str
    """How it has ended, in one word: that of the exit code."""
    exit_code: int
    """What ``scrapy harvest crawl`` ends with where the run ends so."""
    refused: str | None = None
    """Why it was refused before it began; ``None`` if it was not."""
    counts: Counts = field(default_factory=Counts)
    """How much there was."""
    failed_sites: tuple[FailedSite, ...] = ()
    """The first 50 sites with another result than ``found``; ``counts.sites`` has all."""
    outputs: tuple[Output, ...] = ()
    """The first 50 outputs."""
    store: str | None = None
    """Where snapshots are to be kept; ``None`` if nowhere."""
    snapshots: tuple[KeptSnapshot, ...] = ()
    """The first 50 snapshots."""
    peak_memory_bytes: int | None = None
    """The most memory that the process had, in bytes; ``None`` where the system does not tell."""
