"""The option ``--report`` of ``sitemap-harvest audit``: files for people and CI, in the format of their suffix."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from w3lib.url import file_uri_to_path

from sitemap_harvest.cli import output
from sitemap_harvest.errors import ArgumentError, StoreError
from sitemap_harvest.files import check_place, put_file
from sitemap_harvest.integration.default_settings import FORMATS, why_no_package
from sitemap_harvest.integration.middlewares import OutsideError, below
from sitemap_harvest.model import Severity

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from sitemap_harvest.audit.report.html import HtmlReport
    from sitemap_harvest.audit.site_audit import SiteAudit

    Renderer = Callable[[Sequence[SiteAudit]], bytes]


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


_SEPARATORS = ("/", os.sep)
_HTML = ".html"
_RENDERERS: dict[str, Renderer] = {
    ".xml": _junit,
    ".sarif": _sarif,
    ".md": _markdown,
    ".xlsx": _xlsx,
}
"""For each suffix, the function that makes the content of the file."""
_SUFFIXES = ", ".join([_HTML, *_RENDERERS])


def add_report(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--report``."""
    parser.add_argument(
        "--report",
        dest="reports",
        action="append",
        default=[],
        metavar="FILE",
        help=f"also write a report in the format of its suffix: {_SUFFIXES}; FOLDER/ has an HTML page for each site; "
        "may be repeated",
    )


def check_data_file(name: str) -> None:
    """Raise :exc:`ArgumentError` if *name*, a value of ``-O``, has a suffix that only reports have."""
    suffix = Path(name).suffix.lower()
    if suffix[1:] not in FORMATS and (suffix == _HTML or suffix in _RENDERERS):
        message = (
            f"output {name}: {suffix} is the suffix of a report, so use --report {name}; "
            "-O is for the findings as data, as in -O findings.jsonl"
        )
        raise ArgumentError("output", name, "a data file", message=message)


class AuditReports:
    """The reports of one call of the command."""

    def __init__(self, names: Sequence[str], *, others: Sequence[str] = ()) -> None:
        """Check the values of ``--report``. Raises :exc:`HarvestError` if a file cannot be written.

        *others* are files that the command reads or writes too.
        """
        self._root: Path | None = None
        self._names = names
        self.fail_on = Severity.ERROR
        """The lowest severity of the findings that fail the audit."""
        self._audits: list[SiteAudit] = []
        self._pages: list[tuple[str, HtmlReport]] = []
        self._files: list[tuple[str, Path, Renderer]] = []
        self._failed: dict[str, OSError] = {}
        used = {Path(name).resolve() for name in others}
        for name in names:
            path = Path(name).resolve()
            if path in used:
                message = f"--report {name}: the command reads or writes this file already; use another name"
                raise ArgumentError("--report", name, "another file", message=message)
            used.add(path)
            self._open(name, path)

    def _open(self, name: str, path: Path) -> None:
        is_folder = name.endswith(_SEPARATORS)
        suffix = Path(name).suffix.lower()
        if not is_folder and suffix != _HTML and suffix not in _RENDERERS:
            message = (
                f"--report {name}: the suffix must be one of {_SUFFIXES}, or the name of a folder end with /; "
                "for data files, use -O"
            )
            raise ArgumentError("--report", name, _SUFFIXES, message=message)
        if reason := why_no_package(suffix[1:]):
            message = f"--report {name}: {reason}"
            raise ArgumentError("--report", name, "a format that is installed", message=message)
        output.make_folder("--report", name, path)
        check_place("--report", path / "index.html" if is_folder and path.exists() else path)
        if is_folder or suffix == _HTML:
            from sitemap_harvest.audit.report.html import HtmlReport  # jinja2 takes time to load, and few need it

            report = HtmlReport(path, is_folder=is_folder)
            if (file := report.foreign_file) is not None:
                message = (
                    f"--report {name}: {file} exists and is no report of an audit, so it is not replaced; "
                    "use another name, or delete it"
                )
                raise ArgumentError("--report", name, "a new file or a report", message=message)
            self._pages.append((name, report))
        else:
            self._files.append((name, path, _RENDERERS[suffix]))

    def use_root(self, root: Path | None) -> None:
        """Take documents from *root*, the local folder that replaces the site; ``None``: there is none.

        Raises :exc:`ArgumentError` if a report would be in there, since it would be published with the site.
        """
        self._root = root
        if root is None:
            return
        for name in self._names:
            if Path(name).resolve().is_relative_to(root.resolve()):
                message = (
                    f"--report {name}: it is in the folder of the site (root={root}), and would be published with it; "
                    "use another folder"
                )
                raise ArgumentError("--report", name, f"not in {root}", message=message)

    @property
    def need_facts(self) -> bool:
        """Whether any shows more than findings."""
        return bool(self._pages)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._pages or self._files)

    def add(self, audit: SiteAudit) -> None:
        """Add the *audit* of one site."""
        audit.fail_on, audit.file_of = self.fail_on, partial(_file_of, self._root)
        for name, pages in self._pages:
            self._try(name, partial(pages.add, audit))
        if self._files:
            audit.facts = audit.before = None  # which only the pages show
            self._audits.append(audit)

    def write(self) -> None:
        """Write the reports, each file atomically. Raises :exc:`StoreError` if any could not be written."""
        for name, pages in self._pages:
            self._try(name, pages.close)
        for name, path, render in self._files:
            self._try(name, partial(put_file, path, render(self._audits)))
        for name, error in self._failed.items():
            raise StoreError(f"--report {name}: {error}") from error

    def _try(self, name: str, write: Callable[[], None]) -> None:
        """Call *write*; an error must not end the audit, whose other outputs may succeed."""
        if name not in self._failed:
            try:
                write()
            except OSError as error:
                self._failed[name] = error


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
