"""The validation of one document: a record for programs, and a report for people.

The report is coloured and fitted to a terminal, plain and unwrapped elsewhere.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rich.filesize import decimal
from rich.text import Text

from sitemap_harvest.cli.parsers import PROGRAM
from sitemap_harvest.cli.tables import NARROWEST, fitted, wrapped
from sitemap_harvest.cli.validation_targets import STDIN
from sitemap_harvest.escape import ascii_json, visible
from sitemap_harvest.model import CATALOGUE, Kind, Severity, counted
from sitemap_harvest.text_width import middle_cut
from sitemap_harvest.urls import site_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from sitemap_harvest.formats.protocol import Listed
    from sitemap_harvest.model import Problem, Sample

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTICE: "cyan"}
_NOUNS = {  # for the fields of Listed
    "urls": "URL",
    "sitemaps": "sitemap",
    "alternates": "alternate",
    "images": "image",
    "videos": "video",
    "news": "news article",
}
_KINDS = {
    Kind.ROBOTS: "robots.txt",
    Kind.LINKS: "HTML sitemap",
    Kind.HTML: "web page",
    Kind.CHALLENGE: "firewall challenge",
    Kind.SOFT_404: "soft 404 page",
    Kind.XML: "other XML",
    Kind.BINARY: "binary file",
}
_AUDITED = frozenset({Kind.SITEMAP, Kind.INDEX, Kind.LIST, Kind.FEED})
_FIX_OF_FILE = "Name another file, or replace this one with a sitemap."
_PAGE = re.compile(r"(?:\A|/[^/.]*|\.html?)\Z", re.IGNORECASE)  # the path of a page, rather than of a sitemap
_TEXT_AT, _SAMPLES_AT = 11, 13  # columns
_MOST_NAMES = 10  # of skipped files
_WIDEST_TEXT = 100  # longer lines are hard to read


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The facts about one document, and its problems."""

    target: str
    """The document as named by the user."""
    url: str
    """Its URL: ``file:`` for a file, ``-`` for standard input."""
    served_at: str | None = None
    """The URL that a file will be served at, if the user gives one; then ``url`` in JSON."""
    final_url: str | None = None
    """The URL after redirects; ``None`` if nothing was fetched."""
    reason: str | None = None
    """Why it could not be read, or not completely, as text; ``None`` if it could."""
    kind: Kind | None = None
    """Its kind. ``None`` if it could not be read, like the following fields."""
    encoding: str | None = None
    """The encoding that it was decoded with."""
    layers: tuple[str, ...] = ()
    """Its compression layers, outermost first."""
    bytes: int | None = None
    """Its size in bytes after decompression."""
    listed: Listed | None = None
    """Numbers of URLs, references, alternates, images, videos and news articles that it lists."""
    complete: bool = False
    """Whether it lists URLs or sitemaps and was read completely."""
    problems: tuple[Problem, ...] = ()
    """Its problems, worst first."""

    @property
    def worst(self) -> Severity | None:
        """The severity of the worst problem; ``None`` if there is none."""
        return self.problems[0].severity if self.problems else None

    def to_json(self) -> str:
        """Return the record as one line of JSON."""
        record, problems = asdict(self), []
        for problem in record["problems"]:
            known = CATALOGUE[problem["code"]]
            texts = {name: getattr(known, name) for name in ("meaning", "cause", "consequence", "fix", "loses")}
            del problem["document"]  # the same as in the record
            problems.append({"code": problem.pop("code"), "severity": known.severity, **problem, **texts})
        record["url"] = record.pop("served_at") or self.url
        return ascii_json({**record, "problems": problems, "severity": self.worst})


def show(found: Validation, console: Console) -> None:
    """Print the report of one document."""
    target = visible(found.target)
    _line(console, Text(middle_cut(target, console.width) if console.is_terminal else target, "bold"))
    if found.final_url not in {None, found.url}:
        _fitted_line(console, f"  redirects to {found.final_url}")
    if found.kind is None:
        is_completed = "://" not in found.target and "://" in found.url and not found.url.startswith("file:")
        reason = f"{found.url}: {found.reason}" if is_completed else str(found.reason)  # which scheme was tried
        _line(console, Text.assemble("  ", ("not read", _STYLES[Severity.ERROR]), f": {visible(reason)}"))
    else:
        _fitted_line(console, f"  {' · '.join(_facts(found, found.kind))}")
    for problem in found.problems:
        console.print()
        _show_problem(problem, found.kind, console, fix=_fix(problem, found))
    console.print()


def show_closing(found: Sequence[Validation], console: Console, skipped: Sequence[str] = ()) -> None:
    """Print one summary line for all documents, the *skipped* files, and how to check what this action does not."""
    documents, unread = counted(len(found), "document"), sum(one.kind is None for one in found)
    cut = sum(one.kind is not None and one.reason is not None for one in found)
    parts = [f"{unread:,} of them not read"] if unread else []
    parts += [f"{cut:,} incomplete"] if cut else []
    where = " in what was read" if cut else f" in how {'it is' if len(found) == 1 else 'they are'} written"
    kinds = Counter(problem.severity for one in found for problem in one.problems)
    problems = ", ".join(counted(kinds[one], str(one)) for one in Severity if kinds[one])
    line = f"{', '.join([documents, *parts])}: {problems or f'no problems{where}'}"
    if unread == len(found):
        line = "No document could be read."
    _fitted_line(console, line)
    if skipped:
        _fitted_line(console, skipped_line(skipped))
    if lists := [one.target for one in found if one.kind in _AUDITED and one.url != STDIN]:
        target = shlex.quote(lists[0]) if len(lists) == 1 else "TARGET"
        what = "hreflang, news, images and other contents, but not the schema"
        _fitted_line(console, f"An audit checks {what}: {PROGRAM} audit {target}")


def skipped_line(names: Sequence[str]) -> str:
    """Return a line about the files *names*, which were found in folders and are not validated."""
    if len(names) == 1:
        return f"1 file skipped that does not look like a sitemap: {names[0]}. To check it, name it as a target."
    more = f" and {len(names) - _MOST_NAMES:,} more" if names[_MOST_NAMES:] else ""
    some = f"{', '.join(names[:_MOST_NAMES])}{more}"
    return f"{len(names):,} files skipped that do not look like sitemaps: {some}. To check one, name it as a target."


def _facts(found: Validation, kind: Kind) -> Iterator[str]:
    yield _KINDS.get(kind, kind.value)
    if found.listed is not None and kind.is_readable:
        counts = ((getattr(found.listed, name), noun) for name, noun in _NOUNS.items())
        yield ", ".join(counted(number, noun) for number, noun in counts if number) or "no URLs"
    if kind is not Kind.BINARY:
        yield str(found.encoding)
    layers = f", compressed with {' in '.join(reversed(found.layers))}" if found.layers else ""
    yield f"{decimal(found.bytes or 0)}{layers}"
    if kind.is_readable:
        complete = "complete" if found.complete else "incomplete"
        yield f"{complete} ({found.reason})" if found.reason else complete


def _fix(problem: Problem, found: Validation) -> str:
    """Return how to fix *problem*: a page or file that is not meant to be a sitemap has nothing to fix."""
    url = found.final_url or found.url
    is_page = found.kind is Kind.HTML and problem.code == "document/not-a-sitemap" and _PAGE.search(urlsplit(url).path)
    if is_page and (site := site_of(url)):  # a file has none
        return f"Name the sitemap. To find and check the sitemaps of the site: {PROGRAM} audit {site}"
    is_other = problem.code in {"document/not-a-sitemap", "document/soft-404"}
    return _FIX_OF_FILE if is_other and found.url.startswith("file:") else CATALOGUE[problem.code].fix


def _show_problem(problem: Problem, kind: Kind | None, console: Console, *, fix: str) -> None:
    known = CATALOGUE[problem.code]
    times = f"  {problem.count:,} times" if problem.count > 1 else ""
    severity = (f"{known.severity:<{_TEXT_AT - 2}}", _STYLES[known.severity])
    _line(console, Text.assemble("  ", severity, (problem.code, "bold"), (times, "dim")))
    _paragraph(known.meaning, console)
    if problem.detail != known.meaning:
        _paragraph(f"Here: {visible(problem.detail)}", console)
    places = [(_place(sample, kind), "" if kind is Kind.BINARY else sample.excerpt or "") for sample in problem.samples]
    width = max((len(place) for place, _ in places), default=0)
    for place, excerpt in places:
        if place or excerpt:
            shown = f"{place:<{width}}  {visible(excerpt)}".strip() if excerpt else place
            _line(console, Text(" " * _SAMPLES_AT + shown, "dim"))
    _paragraph(f"Fix: {fix}", console)


def _place(sample: Sample, kind: Kind | None) -> str:
    parts = {"entry": sample.entry, "line": sample.line, "byte": sample.byte}
    if kind in {Kind.LIST, Kind.ROBOTS}:  # the number of an entry is that of its line
        parts = {"line": sample.line or sample.entry, "byte": sample.byte}
    return ", ".join(f"{name} {number:,}" for name, number in parts.items() if number is not None)


def _paragraph(text: str, console: Console) -> None:
    indent = " " * _TEXT_AT
    width = max(min(console.width - _TEXT_AT, _WIDEST_TEXT), NARROWEST - _TEXT_AT)
    for line in wrapped(text, width) if console.is_terminal else [text]:
        _line(console, Text(f"{indent}{line}"))


def _fitted_line(console: Console, line: str) -> None:
    """Print *line*, broken between words to the width of a terminal."""
    for one in fitted(visible(line), max(console.width, NARROWEST) if console.is_terminal else None):
        console.print(Text(one), soft_wrap=True, highlight=False)


def _line(console: Console, text: Text) -> None:
    """Print one line, truncated to the width of a terminal."""
    if console.is_terminal:
        console.print(text, no_wrap=True, overflow="ellipsis", highlight=False)
    else:
        console.print(text, soft_wrap=True, highlight=False)
