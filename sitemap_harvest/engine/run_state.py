"""The state of one run, and what its components share."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from sitemap_harvest.discovery.rules import Bounds, Offsite
from sitemap_harvest.engine.run_summary import Summary
from sitemap_harvest.frontier.site_queue import SiteQueue
from sitemap_harvest.model.run import new_run_id

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from sitemap_harvest.archive.captures import Captures
    from sitemap_harvest.config.arguments import RunConfig
    from sitemap_harvest.config.settings import HarvestSettings
    from sitemap_harvest.discovery.candidate import Candidate, NotFetched
    from sitemap_harvest.engine.in_flight import InFlight
    from sitemap_harvest.engine.interfaces import Archiver, PageVisits
    from sitemap_harvest.engine.probe import Probe
    from sitemap_harvest.engine.site_parts import SitePart
    from sitemap_harvest.engine.site_snapshot import SiteSnapshot
    from sitemap_harvest.engine.snapshot_session import SnapshotSession
    from sitemap_harvest.errors import HarvestError
    from sitemap_harvest.model import Kind, SitemapRef


RUN = "sitemap_harvest/run"
"""Stat with the ID of the run."""

FIELDS = "harvest"
"""Attribute of a log record with its structured fields."""


def fields(event: str, **values: Any) -> dict[str, Any]:
    """Return the ``extra`` of a log call: the name of the *event*, and its fields *values* as plain values."""
    return {FIELDS: {"event": event, **values}}


class RunState:
    """The state of one run."""

    config: RunConfig | None = None
    """The parsed arguments; ``None`` until they are read."""
    options: HarvestSettings
    """The settings, once they are read."""
    sites: SiteQueue
    """The queue of sites and documents, once the run is open."""
    in_flight: InFlight
    """The documents in flight, once the run is open."""
    logger: logging.LoggerAdapter[Any]
    """The logger of the spider, once it has its crawler."""
    refused: str | None = None
    """Why the run ends before it begins: an invalid argument or setting, or a store that cannot be used."""
    refusal: HarvestError | None = None
    """The error that is the reason, if it is one of this package."""
    refuse: Callable[[str], NoReturn]
    """Ends the run before it begins, with the reason in one line."""
    session: SnapshotSession | None = None
    """The store, once the run is open; ``None`` for a run without one."""
    temporary_store: TemporaryDirectory[str] | None = None
    """The store of an audit without a store of the user; deleted when the run ends."""
    captures: Captures | None = None
    """The archive that replaces the network; ``None`` without one."""
    archiver: Archiver | None = None
    """Writes what is downloaded; ``None`` without an archive."""
    logs_summary: bool = True
    """Whether to log a summary when the run ends."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        """*arguments* are the spider arguments of the run."""
        self.arguments = arguments
        self.started_at = datetime.now(UTC)
        self._began = time.monotonic()
        self.run_id = new_run_id(self.started_at)
        self.summary = Summary(run=self.run_id)

    @cached_property
    def seconds(self) -> float:
        """Duration of the run, which has ended, independent of clock changes: until the first use of this."""
        return round(time.monotonic() - self._began, 3)

    @property
    def root(self) -> Path | None:
        """The local folder that replaces the site; ``None`` without one."""
        return self.config.root if self.config is not None else None

    @property
    def is_offline(self) -> bool:
        """Whether a folder or an archive replaces the network."""
        return self.config is not None and self.config.is_offline

    @property
    def browser_mode(self) -> str:
        """The browser mode: ``never``, ``fallback`` or ``always``."""
        return (self.config.browser if self.config is not None else None) or self.options.browser


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParts:
    """What the components of one run share."""

    config: RunConfig
    options: HarvestSettings
    summary: Summary
    sites: SiteQueue
    in_flight: InFlight
    session: SnapshotSession | None
    """The store; ``None`` for a run without one."""
    build_request: Callable[[Candidate, Mapping[str, str]], Any]
    """Returns the request for a document, with these headers. Raises :exc:`ValueError` for an invalid URL."""
    pages: PageVisits | None
    """The visits to pages; ``None`` if the spider visits none."""
    probe: Probe | None = None
    """The probe of listed pages; ``None`` for a run without one."""
    next_probed: Callable[[], Any] = lambda: None
    """Returns the request for the next page of the probe; ``None`` if none is due."""
    children: Callable[[list[SitemapRef], Kind | None], Iterator[tuple[SitemapRef, NotFetched | None]]]
    """Yields the documents that one of that kind names, each with the reason if it is not wanted."""
    needs_rows: Callable[[], bool]
    """Returns whether URLs must be emitted one by one, for a component without batch support."""
    max_in_flight: int
    """Documents requested at a time."""
    max_attempts: int
    """How often a document is requested again if its server requires a wait."""
    part: SitePart | None = None
    """The part of the site that this run reads; ``None``: all of it."""

    def stored(self, root: str) -> SiteSnapshot | None:
        """Return the open snapshot of the site *root*; ``None`` if it is not stored."""
        return None if self.session is None else self.session.sites.get(root)


def site_queue(config: RunConfig, options: HarvestSettings, *, per_host: int, depth_limit: int) -> SiteQueue:
    """Return the queue of the sites of a run.

    *per_host*: documents of one host in flight at a time. *depth_limit*: Scrapy's
    ``DEPTH_LIMIT``, whose middleware sees no depth, because all requests come from
    ``start()``; 0: no limit.
    """
    is_lower = 0 < depth_limit < options.max_depth
    bounds = Bounds(
        max_depth=depth_limit if is_lower else options.max_depth,
        depth_setting="DEPTH_LIMIT" if is_lower else "MAX_DEPTH",
        follow=config.follow,
        skip=config.skip,
        offsite=Offsite(options.offsite),
        only_site=config.only_site,
        since=config.pruned_before,
    )
    return SiteQueue(bounds=bounds, budget=options.budget, per_host=per_host)
