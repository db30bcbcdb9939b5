"""The option ``--report`` of ``scrapy harvest audit``: files for people and CI, in the format of their suffix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sitemap_harvest.errors import ArgumentError, StoreError
from sitemap_harvest.files import check_place, put_file

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from sitemap_harvest.audit.site_audit import SiteAudit

    Renderer = Callable[[Sequence[SiteAudit]], bytes]


def _html(audits: Sequence[SiteAudit]) -> bytes:
    from sitemap_harvest.audit.report import render  # jinja2 takes time to load, and few need it

    return render(audits)


_RENDERERS: dict[str, Renderer] = {
    ".html": _html,
}
"""For each suffix, the function that makes the content of the file."""


def add_report(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--report``."""
    parser.add_argument(
        "--report",
        dest="reports",
        action="append",
        default=[],
        metavar="FILE",
        help=f"also write a report in the format of its suffix: {', '.join(_RENDERERS)}; may be repeated",
    )


class AuditReports:
    """The reports of one call of the command."""

    def __init__(self, names: Sequence[str]) -> None:
        """Check the values of ``--report``. Raises :exc:`HarvestError` if a file cannot be written."""
        self._files = [(name, Path(name).resolve(), _renderer_of(name)) for name in names]
        self._audits: list[SiteAudit] = []
        for name, path, _ in self._files:
            check_place(f"--report {name}", path)

    @property
    def need_facts(self) -> bool:
        """Whether any shows more than findings."""
        return any(render is _html for _, _, render in self._files)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._files)

    def add(self, audit: SiteAudit) -> None:
        """Add the *audit* of one site."""
        if self._files:
            self._audits.append(audit)

    def write(self) -> None:
        """Write the reports, each atomically. Raises :exc:`StoreError`."""
        for name, path, render in self._files:
            try:
                put_file(path, render(self._audits))
            except OSError as error:
                raise StoreError(f"--report {name}: {error}") from error


def _renderer_of(name: str) -> Renderer:
    if (found := _RENDERERS.get(Path(name).suffix.lower())) is None:
        message = f"--report {name}: the suffix must be one of {', '.join(_RENDERERS)}"
        raise ArgumentError("--report", name, ", ".join(_RENDERERS), message=message)
    return found
