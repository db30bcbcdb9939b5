"""The option ``--report`` of ``scrapy harvest audit``: files for people and CI, in the format of their suffix."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from w3lib.url import file_uri_to_path

from sitemap_harvest.errors import ArgumentError, StoreError
from sitemap_harvest.files import check_place, put_file
from sitemap_harvest.integration.middlewares import OutsideError, below
from sitemap_harvest.model import Severity

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from sitemap_harvest.audit.site_audit import SiteAudit

    Renderer = Callable[[Sequence[SiteAudit]], bytes]


def _html(audits: Sequence[SiteAudit]) -> bytes:
    from sitemap_harvest.audit.report import render  # jinja2 takes time to load, and few need it

    return render(audits)


def _junit(audits: Sequence[SiteAudit]) -> bytes:
    from sitemap_harvest.audit.report.junit import render_junit

    return render_junit(audits)


def _sarif(audits: Sequence[SiteAudit]) -> bytes:
    from sitemap_harvest.audit.report.sarif import render_sarif

    return render_sarif(audits)


def _markdown(audits: Sequence[SiteAudit]) -> bytes:
    from sitemap_harvest.audit.report.markdown import render_markdown

    return render_markdown(audits)


def _xlsx(audits: Sequence[SiteAudit]) -> bytes:
    from sitemap_harvest.audit.report.xlsx import render_xlsx

    return render_xlsx(audits)


_RENDERERS: dict[str, Renderer] = {
    ".html": _html,
    ".xml": _junit,
    ".sarif": _sarif,
    ".md": _markdown,
    ".xlsx": _xlsx,
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

    def __init__(self, names: Sequence[str], *, others: Sequence[str] = ()) -> None:
        """Check the values of ``--report``. Raises :exc:`HarvestError` if a file cannot be written.

        *others* are files that the command reads or writes too.
        """
        self.root: Path | None = None
        """The local folder that replaces the site; ``None`` without one."""
        self.fail_on = Severity.ERROR
        """The lowest severity of the findings that fail the audit."""
        used = {Path(name).resolve() for name in others}
        self._files = [(name, Path(name).resolve(), _renderer_of(name)) for name in names]
        self._audits: list[SiteAudit] = []
        for name, path, _ in self._files:
            if path in used:
                message = f"--report {name}: the command reads or writes this file already; use another name"
                raise ArgumentError("--report", name, "another file", message=message)
            used.add(path)
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
            audit.fail_on, audit.file_of = self.fail_on, partial(_file_of, self.root)
            self._audits.append(audit)

    def write(self) -> None:
        """Write the reports, each atomically. Raises :exc:`StoreError`."""
        for name, path, render in self._files:
            try:
                put_file(path, render(self._audits))
            except OSError as error:
                raise StoreError(f"--report {name}: {error}") from error


def _file_of(root: Path | None, url: str) -> Path | None:
    """Return the file from which the document at *url* was read, or should have been; ``None`` if it was fetched."""
    if url.startswith("file:"):
        return Path(file_uri_to_path(url))
    if root is None:
        return None
    try:
        return below(root, url) or root.resolve() / unquote(urlsplit(url).path).lstrip("/")
    except OutsideError:
        return root.resolve() / "robots.txt"


def _renderer_of(name: str) -> Renderer:
    if (found := _RENDERERS.get(Path(name).suffix.lower())) is None:
        message = f"--report {name}: the suffix must be one of {', '.join(_RENDERERS)}; for data files, use -O"
        raise ArgumentError("--report", name, ", ".join(_RENDERERS), message=message)
    if found is _xlsx and find_spec("xlsxwriter") is None:
        message = f"--report {name}: XlsxWriter is not installed: pip install 'scrapy-sitemap-harvest[xlsx]'"
        raise ArgumentError("--report", name, "a format that is installed", message=message)
    return found
