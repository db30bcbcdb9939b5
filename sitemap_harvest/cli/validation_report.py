"""The validation report for people: coloured and fitted to a terminal, plain and unwrapped elsewhere."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING

from rich.filesize import decimal
from rich.text import Text

from sitemap_harvest.escape import visible
from sitemap_harvest.model import CATALOGUE, Kind, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console

    from sitemap_harvest.cli.validation import Validation
    from sitemap_harvest.formats.protocol import Listed
    from sitemap_harvest.model import Problem, Sample

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
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
    Kind.LINKS: "page of links",
    Kind.HTML: "web page",
    Kind.CHALLENGE: "firewall challenge",
    Kind.SOFT_404: "soft 404 page",
    Kind.XML: "other XML",
    Kind.BINARY: "binary file",
}
_TEXT_AT, _SAMPLES_AT = 11, 13  # columns
_WIDEST_TEXT = 100  # longer lines are hard to read


def show(found: Validation, console: Console) -> None:
    """Print the report of one document."""
    _line(console, Text(visible(found.target), "bold"))
    if found.final_url not in {None, found.url}:
        _line(console, Text(f"  redirects to {visible(str(found.final_url))}"))
    if found.kind is None:
        _line(console, Text.assemble("  ", ("not read", _STYLES[Severity.ERROR]), f": {visible(str(found.reason))}"))
    else:
        _line(console, Text(f"  {visible(' · '.join(_facts(found, found.kind)))}"), is_whole=True)
    for problem in found.problems:
        console.print()
        _show_problem(problem, found.kind, console)
    console.print()


def show_closing(found: Iterable[Validation], console: Console) -> None:
    """Print one summary line for all documents."""
    _line(console, Text(_summary(list(found))), is_whole=True)


def _summary(found: list[Validation]) -> str:
    if not found:
        return "No sitemap was found in the targets."
    documents, unread = _count(len(found), "document"), sum(one.kind is None for one in found)
    if unread == len(found):
        return f"{documents}, and none could be read"
    kinds = Counter(problem.severity for one in found for problem in one.problems)
    problems = ", ".join(_count(kinds[one], str(one)) for one in Severity if kinds[one])
    return f"{documents}{f', {unread:,} of them not read' if unread else ''}: {problems or 'no problems'}"


def _facts(found: Validation, kind: Kind) -> Iterator[str]:
    yield _KINDS.get(kind, kind.value)
    if found.listed is not None and kind.is_readable:
        yield ", ".join(_entries(found.listed)) or "no URLs"
    if kind is not Kind.BINARY:
        yield str(found.encoding)
    layers = f", compressed with {' in '.join(reversed(found.layers))}" if found.layers else ""
    yield f"{decimal(found.bytes or 0)}{layers}"
    if kind.is_readable:
        complete = "complete" if found.complete else "incomplete"
        yield f"{complete} ({found.reason})" if found.reason else complete


def _entries(listed: Listed) -> Iterator[str]:
    return (_count(number, noun) for name, noun in _NOUNS.items() if (number := getattr(listed, name)))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 or noun == 'info' else 's'}"


def _show_problem(problem: Problem, kind: Kind | None, console: Console) -> None:
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
    _paragraph(f"Fix: {known.fix}", console)


def _place(sample: Sample, kind: Kind | None) -> str:
    parts = {"entry": sample.entry, "line": sample.line, "byte": sample.byte}
    if kind in {Kind.LIST, Kind.ROBOTS}:  # the number of an entry is that of its line
        parts = {"line": sample.line or sample.entry, "byte": sample.byte}
    return ", ".join(f"{name} {number:,}" for name, number in parts.items() if number is not None)


def _paragraph(text: str, console: Console) -> None:
    indent = " " * _TEXT_AT
    width = max(min(console.width, _WIDEST_TEXT + _TEXT_AT), 40) if console.is_terminal else len(indent + text)
    for line in textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent):
        _line(console, Text(line))


def _line(console: Console, text: Text, *, is_whole: bool = False) -> None:
    """Print one line, truncated to the width of a terminal unless it *is_whole*."""
    if console.is_terminal and not is_whole:
        console.print(text, no_wrap=True, overflow="ellipsis", highlight=False)
    else:
        console.print(text, soft_wrap=True, highlight=False)
