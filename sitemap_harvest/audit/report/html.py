"""Renders the pages of the report as HTML, with templates that escape everything that comes from a site."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import jinja2
from markupsafe import Markup, escape

import sitemap_harvest
from sitemap_harvest.audit.report.page import page_of
from sitemap_harvest.display import duration
from sitemap_harvest.escape import visible
from sitemap_harvest.files import put_file
from sitemap_harvest.snapshots.store.store import folder_name

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from sitemap_harvest.audit.report.page import SitePage
    from sitemap_harvest.audit.site_audit import SiteAudit

_ASSETS = files("sitemap_harvest.audit.report") / "assets"
_LONGEST = 300  # characters of a text of the site
_LONGEST_LINK = 500  # a page may have thousands
_LINK = re.compile(r"https?://[^\s\\]+", re.IGNORECASE)
_WORD = re.compile(r"\w+ ")  # but no URL
_CODE = re.compile(r"`(.+?)`")
_GENERATOR = b'<meta name="generator" content="sitemap_harvest '
_MAX_HEAD_BYTES = 4_096
_UNITS = ("bytes", "KB", "MB", "GB")


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewRow:
    """The row of one site in the overview of several."""

    site: str
    page: str
    """The address of its page, relative to the overview."""
    verdict: str
    headline: str
    score: int | None
    errors: int
    """Rules with errors, like ``warnings`` and ``notices``."""
    warnings: int
    notices: int
    urls: int


class HtmlReport:
    """The report of one audit in one file, or that of several: an overview in a file, and a page for each site."""

    def __init__(self, path: Path, *, is_folder: bool = False) -> None:
        """Write to *path*: the file of the only site or of the overview.

        *is_folder*: *path* is a folder, with the overview in ``index.html``. Otherwise
        the pages of several sites are in the folder ``NAME-sites`` beside ``NAME.html``.
        """
        self._path = path / "index.html" if is_folder else path
        self._folder = path if is_folder else path.with_name(f"{path.stem}-sites")
        self._only: SitePage | None = None
        self._is_folder = is_folder
        self._rows: list[OverviewRow] = []

    @property
    def foreign_file(self) -> Path | None:
        """The file that the report would replace although no report wrote it; ``None`` if there is none."""
        if not self._path.is_file() or not self._path.stat().st_size:
            return None
        with self._path.open("rb") as file:
            return None if _GENERATOR in file.read(_MAX_HEAD_BYTES) else self._path

    def add(self, audit: SiteAudit) -> None:
        """Add *audit*. The page is written at once, unless it may be the only one. Raises :exc:`OSError`."""
        page = page_of(audit)
        self._rows.append(_row(page, _page_name(self._folder, self._path, page.site)))
        if len(self._rows) == 1 and not self._is_folder:
            self._only = page
            return
        self._write_only()
        self._write_page(page)

    def close(self) -> None:
        """Write what is missing: the only page, or the overview. Raises :exc:`OSError`."""
        if self._only is not None:
            put_file(self._path, _render("site.html", page=self._only, overview=None))
            return
        rows = sorted(self._rows, key=lambda row: (-1 if row.score is None else row.score, row.site))
        self._path.parent.mkdir(exist_ok=True)
        put_file(self._path, _render("overview.html", sites=rows))

    def _write_only(self) -> None:
        if self._only is not None:
            self._write_page(self._only)
            self._only = None

    def _write_page(self, page: SitePage) -> None:
        self._folder.mkdir(exist_ok=True)
        overview = self._path.name if self._is_folder else f"../{self._path.name}"
        path = self._folder / _file_name(page.site)
        put_file(path, _render("site.html", page=page, overview=quote(overview)))


def chart_page(chart: Any) -> bytes:
    """Return a page with *chart* alone, a :class:`~sitemap_harvest.plots.Chart`."""
    return _render("chart.html", one=chart)


def _file_name(site: str) -> str:
    return f"{folder_name(site)}.html"


def _page_name(folder: Path, overview: Path, site: str) -> str:
    name = _file_name(site)
    return quote(name if folder == overview.parent else f"{folder.name}/{name}")


def _row(page: SitePage, address: str) -> OverviewRow:
    return OverviewRow(
        site=page.site,
        page=address,
        verdict=page.verdict,
        headline=page.headline,
        score=page.score,
        errors=page.count("error"),
        warnings=page.count("warning"),
        notices=page.count("notice"),
        urls=page.summary.urls,
    )


def _render(name: str, **values: Any) -> bytes:
    style = _asset("report.css")
    script = f"{_asset('chartist.js')}\n{_asset('report.js')}"
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; style-src-attr 'unsafe-inline'"
    )
    ours = {"policy": Markup(policy), "style": Markup(style), "script": Markup(script)}  # noqa: S704 - files of ours
    text = _environment().get_template(name).render(**ours, version=sitemap_harvest.__version__, **values)
    return text.encode("utf-8", "backslashreplace")


@cache
def _asset(name: str) -> str:
    return (_ASSETS / name).read_text("utf-8")


def _digest(text: str) -> str:
    """Return the source expression of a Content Security Policy that allows *text* only."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sitemap_harvest.audit.report"),
        autoescape=True,
        finalize=_finalize,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "age": _age,
        "date": lambda value: f"{value:%Y-%m-%d}",
        "link": _link,
        "number": lambda value: f"{value:,}",
        "path": _path,
        "prose": _prose,
        "sentence": lambda text: text[:1].upper() + text[1:] if _WORD.match(text) else text,
        "site": lambda site: unquote(site) if site.startswith("file:") else site,
        "size": _size,
        "when": lambda value: f"{value:%Y-%m-%d %H:%M} UTC",
        "duration": duration,
    }
    return environment


def _finalize(value: Any) -> Any:
    """Return what the template shows for *value*: without characters that are invisible or change the direction."""
    if value is None:
        return ""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return _short(visible(value))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _link(url: str, text: str | None = None) -> Markup:
    """Return a link to *url* if it is an HTTP URL that shows as it is; otherwise only the text."""
    shown = _finalize(url if text is None else text)
    if len(url) <= _LONGEST_LINK and _LINK.fullmatch(url) and visible(url) == url:
        return Markup('<a class="url" href="{}" rel="noopener noreferrer" target="_blank">{}</a>').format(url, shown)
    return Markup('<span class="url">{}</span>').format(shown)


def _path(url: str, site: str) -> str:
    """Return *url* without the *site* that it belongs to."""
    return url.removeprefix(site) if url.startswith(f"{site}/") else url


def _prose(text: str) -> Markup:
    """Return documentation of a rule, with the code in it marked."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped before


def _size(value: float) -> str:
    for unit in _UNITS[:-1]:
        if value < 1_000:
            return f"{value:,.0f} {unit}" if unit == "bytes" or value >= 10 else f"{value:.1f} {unit}"
        value /= 1_000
    return f"{value:,.1f} {_UNITS[-1]}"


def _age(value: datetime, now: datetime) -> str:
    """Return how long *value* was before *now*, the end of the run."""
    days = (now - value).days
    if days < 0:
        return "after the run"
    for length, name in ((365, "year"), (30, "month"), (1, "day")):
        if count := days // length:
            return f"{count} {name}{'' if count == 1 else 's'} before the run"
    return "within a day before the run"
