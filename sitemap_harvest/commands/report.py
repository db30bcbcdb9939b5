"""A validation as people read it: on a terminal in colour and as wide as that, elsewhere plain and not wrapped."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING

from rich.filesize import decimal
from rich.text import Text

from sitemap_harvest.escape import visible
from sitemap_harvest.model import CATALOGUE, Kind, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from sitemap_harvest.commands.verdicts import Validation
    from sitemap_harvest.formats.protocol import Listed
    from sitemap_harvest.model import Problem, Sample

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_SEVERITIES = {
    Severity.ERROR: ("error", "errors"),
    Severity.WARNING: ("warning", "warnings"),
    Severity.INFO: ("info", "info"),
}
_NOUNS = {  # of what a document lists, by the field of Listed
    "urls": ("URL", "URLs"),
    "sitemaps": ("sitemap", "sitemaps"),
    "alternates": ("alternate", "alternates"),
    "images": ("image", "images"),
    "videos": ("video", "videos"),
    "news": ("news article", "news articles"),
}
_CODE_AT, _TEXT_AT, _SAMPLES_AT = 11, 11, 13  # columns
_WIDEST_TEXT = 100  # longer lines are tiresome


def show(found: Validation, console: Console) -> None:
    """Print all that is to be said of one document."""
    _line(console, Text(visible(found.target), "bold"))
    if found.final_url not in {None, found.url}:
        _line(console, Text(f"  redirects to {visible(str(found.final_url))}"))
    if found.kind is None:
        _line(console, Text.assemble("  ", ("not read", _STYLES[Severity.ERROR]), f": {visible(str(found.reason))}"))
    else:
        _line(console, Text(f"  {visible(_facts(found))}"), is_whole=True)
    for problem in found.problems:
        console.print()
        _show_problem(problem, found.kind, console)
    console.print()


def show_closing(found: Iterable[Validation], console: Console) -> None:
    """Print one line over all documents."""
    _line(console, Text(_in_all(list(found))), is_whole=True)


def _in_all(found: list[Validation]) -> str:
    if not found:
        return "No sitemap was found in what was named."
    documents = _count(len(found), "document", "documents")
    unread = sum(one.kind is None for one in found)
    if unread == len(found):
        return f"{documents}, and nothing could be read"
    kinds = Counter(problem.severity for one in found for problem in one.problems)
    told = ", ".join(_count(kinds[one], *_SEVERITIES[one]) for one in Severity if kinds[one])
    return f"{documents}{f', {unread:,} of them not read' if unread else ''}: {told or 'no problems'}"


def _facts(found: Validation) -> str:
    assert found.kind is not None  # noqa: S101 - the caller has looked; this tells mypy
    packed = f", packed with {' in '.join(reversed(found.layers))}" if found.layers else ""
    whole = "read whole" if found.complete else "not read whole"
    parts = [_KINDS.get(found.kind, found.kind.value)]
    if found.kind.is_readable:
        assert found.listed is not None  # noqa: S101 - every document that was had has one
        parts.append(", ".join(_entries(found.listed)) or "no URLs")
    parts += [] if found.kind is Kind.BINARY else [str(found.encoding)]
    parts += [f"{decimal(found.bytes or 0)}{packed}"]
    if found.kind.is_readable:
        parts.append(f"{whole} ({found.reason})" if found.reason else whole)
    return " · ".join(parts)


_KINDS = {
    Kind.ROBOTS: "robots.txt",
    Kind.LINKS: "page of links",
    Kind.HTML: "web page",
    Kind.CHALLENGE: "page of a firewall",
    Kind.SOFT_404: "page that says there is none",
    Kind.XML: "XML of another sort",
    Kind.BINARY: "no text",
}


def _entries(listed: Listed) -> Iterable[str]:
    for name, nouns in _NOUNS.items():
        if number := getattr(listed, name):
            yield _count(number, *nouns)


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _show_problem(problem: Problem, kind: Kind | None, console: Console) -> None:
    told = CATALOGUE[problem.code]
    times = f"  {problem.count:,} times" if problem.count > 1 else ""
    severity = f"{told.severity:<{_CODE_AT - 2}}"
    _line(console, Text.assemble("  ", (severity, _STYLES[told.severity]), (problem.code, "bold"), (times, "dim")))
    _paragraph(told.meaning, console)
    if problem.detail != told.meaning:
        _paragraph(f"Here: {visible(problem.detail)}", console)
    places = [(_place(sample, kind), None if kind is Kind.BINARY else sample.excerpt) for sample in problem.samples]
    width = max((len(place) for place, _ in places), default=0)
    for place, excerpt in places:
        if place or excerpt:
            shown = f"{place:<{width}}  {visible(excerpt)}".strip() if excerpt else place
            _line(console, Text(" " * _SAMPLES_AT + shown, "dim"))
    _paragraph(f"Mend: {told.mend}", console)


def _place(sample: Sample, kind: Kind | None) -> str:
    if kind in {Kind.LIST, Kind.ROBOTS}:  # the number of an entry is that of its line
        parts = {"line": sample.line or sample.entry, "byte": sample.byte}
    else:
        parts = {"entry": sample.entry, "line": sample.line, "byte": sample.byte}
    return ", ".join(f"{name} {number:,}" for name, number in parts.items() if number is not None)


def _paragraph(text: str, console: Console) -> None:
    if not console.is_terminal:
        _line(console, Text(" " * _TEXT_AT + text))
        return
    indent, width = " " * _TEXT_AT, min(console.width, _WIDEST_TEXT + _TEXT_AT)
    for line in textwrap.wrap(text, max(width, 40), initial_indent=indent, subsequent_indent=indent):
        _line(console, Text(line))


def _line(console: Console, text: Text, *, is_whole: bool = False) -> None:
    """Print one line: on a terminal cut to its width, unless it *is_whole*."""
    if console.is_terminal and not is_whole:
        console.print(text, no_wrap=True, overflow="ellipsis", highlight=False)
    else:
        console.print(text, soft_wrap=True, highlight=False)
