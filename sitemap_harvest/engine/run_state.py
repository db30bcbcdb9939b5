"""``RunState``: the shared state of one run from start to end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn

from sitemap_harvest.engine.run_summary import Summary
from sitemap_harvest.model.run import new_run_id

if TYPE_CHECKING:
    import logging
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from sitemap_harvest.config.arguments import RunConfig
    from sitemap_harvest.config.settings import HarvestSettings
    from sitemap_harvest.engine.run_context import RunContext
    from sitemap_harvest.frontier.site_queue import SiteQueue


class RunState(ABC):
    """The state of one run."""

    config: RunConfig | None = None
    """The parsed arguments; ``None`` until they are read."""
    options: HarvestSettings
    """The settings, once they are read."""
    sites: SiteQueue
    """The queue of sites and documents, once the run is open."""
    refused: str | None = None
    """Why the run ends before it begins: an invalid argument or setting."""
    logs_summary: bool = True
    """Whether to log a summary when the run ends."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        """*arguments* are the spider arguments of the run."""
        self.arguments = arguments
        self.started_at = datetime.now(UTC)
        self.run_id = new_run_id(self.started_at)
        self.summary = Summary()

    @property
    @abstractmethod
    def logger(self) -> logging.LoggerAdapter[Any]:
        """The logger of the spider."""

    @property
    @abstractmethod
    def context(self) -> RunContext:
        """The identity of the run in log lines, metrics and records."""

    @abstractmethod
    def refuse(self, reason: str) -> NoReturn:
        """End the run before it begins, with the reason in one line."""

    @abstractmethod
    def take(self, request: Any) -> bool:
        """Start with the document of *request*, yielded by ``start()``; ``False`` if it is not for a document."""

    @abstractmethod
    def steps(self) -> AsyncIterator[Any]:
        """Yield the requests and records of the run when they are due."""

    @property
    def root(self) -> Path | None:
        """The local folder that replaces the site; ``None`` without one."""
        return self.config.root if self.config is not None else None

    @property
    def browser_mode(self) -> str:
        """The browser mode: ``never``, ``fallback`` or ``always``."""
        return (self.config.browser if self.config is not None else None) or self.options.browser
