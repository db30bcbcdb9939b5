"""Reader of plain-text sitemaps: one absolute URL per line.

Spec: https://www.sitemaps.org/protocol.html#otherformats. Text in, entries out: fetches
nothing, logs nothing, raises for no document.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from sitemap_harvest.urls import WHITESPACE, disqualifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.formats.problem_log import ProblemLog
    from sitemap_harvest.model import UrlBatch

_MAX_LINE_CHARS = 1024 * 1024  # the same limit as for a value in XML; a URL has 2,048
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://\S+", re.ASCII)
_PLAIN_PATH = re.compile(r"/[^\s#<:\]]++")
_NEARLY_URL = re.compile(r"(?:www\.|/|[A-Za-z]{4,5}:/?|https?/)\S+")
_ADDRESS = re.compile(r"[\w\-]++(?:\.[\w\-]++)++(?:[/:?]\S*)?")
_QUOTED = re.compile(r"\"([^\"\s]+)\"")
_AROUND = {'"': '"', "'": "'", "<": ">", "(": ")", "[": "]", "\u201c": "\u201d", "\u00ab": "\u00bb", "`": "`"}
OPENING, CLOSING = "".join(_AROUND), "".join(_AROUND.values())
"""Quotes and brackets that wrongly surround URLs."""
_URL_IN_LINE = re.compile(
    rf"(?:^|(?<=[\s,;|=>{re.escape(OPENING)}]))[A-Za-z][A-Za-z0-9+.\-]*+://"
    r"(?:[^\s\"<>\u201d\u00bb`,;|:]++|[,;|:](?!\s|\Z|https?://|[\"'<(\[]))++",
    re.ASCII | re.IGNORECASE,
)
_MARKDOWN = re.compile(r"\[([^\[\]]*)\]\(\s*(https?://[^\s()]+(?:\([^\s()]*\)[^\s()]*)*)\s*\)", re.IGNORECASE)
PARAMETER = re.compile(r"[?&][^\s?&=]*+=https?://", re.IGNORECASE)
"""Matches a URL in the query of another one."""
_QUOTE_END = re.compile(r"'(?=[,;|)\]]|\Z)")
_COLUMN_ENDS = (",", ";", "|")
_BEHIND = re.compile(r"(?<=\s)#|<br\s*/?>\Z", re.IGNORECASE)  # a comment, or a line break of HTML

_MAX_START_CHARS = 64 * 1024
_TABLE_LINES = 100  # from the start of a list: enough to detect columns
_HEADER = re.compile(r"[\"']?(?:urls?|loc|links?|address|page)[\"']?\s*([,;\t])", re.IGNORECASE)
_ROW = re.compile(  # a URL, followed only by dates, numbers and keywords of the protocol
    r"[a-z]+://[^\s,;]+(?:([,;\t])(?:\d{4}-\d\d-\d\d[^,;\t]*|\d++(?:\.\d++)?|always|hourly|daily|weekly|monthly|yearly|never|))+",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"[^,;\t]+(?:[,;](?!0?\.\d|1\.0\b)\d+(?:\.\d+)?)+")  # not a priority: possibly part of the URL


def read_text(chunks: Iterable[str], into: Collector) -> Iterator[UrlBatch]:
    """Read the list in *chunks*, yielding batches: each line that is a URL is an entry, others are problems."""
    chunks = iter(chunks)
    start, is_all = _start(chunks)
    delimiter = _delimiter(start)
    if is_all and into.problems.ends_early and _may_be_table(start):
        into.problems.add("text/truncated", "the list ends before its columns can be recognized", line=1)
        return
    for first, whole in whole_lines(chain([start], chunks), into.problems):
        for number, line in enumerate(whole, first):
            _read_line(number, line, delimiter, into)
        yield from into.full_batches()


def _read_line(number: int, line: str, delimiter: str | None, into: Collector) -> None:
    text = line.strip(WHITESPACE)
    if "\0" in line:
        into.problems.add("document/nul-bytes", line=number)
    if delimiter:
        text = _first_column(number, text, delimiter, into)
    if _URL.fullmatch(text) and (text.count("://") == 1 or PARAMETER.search(text)) and not text.endswith(">"):
        into.add(number, line if not delimiter else text)
    elif _PLAIN_PATH.fullmatch(text):
        into.add(number, text)
    elif text:
        _read_odd(number, text, into)


def _start(chunks: Iterator[str]) -> tuple[str, bool]:
    """Return enough of *chunks* to detect a table, and whether that is all of them."""
    start = ""
    for chunk in chunks:
        start += chunk
        if start.count("\n") > _TABLE_LINES or len(start) > _MAX_START_CHARS:
            return start, False
    return start, True


def _delimiter(start: str) -> str | None:
    """Return the column delimiter of the list that begins with *start*, or ``None`` if it is not a table.

    A comma may be part of a URL, so a header must name the column, or all lines must
    show that the rest is not part of it.
    """
    few = _first_lines(start)
    if few and (header := _HEADER.match(few[0])):
        return header[1]
    rows = [_ROW.fullmatch(line) for line in few]
    found = {row[1] for row in rows if row}
    is_table = len(few) > 1 and all(rows) and len(found) == 1 and not all(map(_NUMBERS.fullmatch, few))
    return found.pop() if is_table else None


def _may_be_table(start: str) -> bool:
    """Whether the truncated list *start* may be a table without a header, if more lines follow."""
    few = _first_lines(start.replace("\r", "\n").rpartition("\n")[0])
    return bool(few) and not _HEADER.match(few[0]) and all(map(_ROW.fullmatch, few))


def _first_lines(start: str) -> list[str]:
    return [line.strip(" \r\ufeff") for line in start.split("\n", _TABLE_LINES)[:_TABLE_LINES] if line.strip()]


def _first_column(number: int, text: str, delimiter: str, into: Collector) -> str:
    if (quoted := _QUOTED.match(text)) and _URL.fullmatch(quoted[1]):
        into.problems.add("text/beside-url", line=number, excerpt=text)
        return quoted[1]
    url, found, _ = text.partition(delimiter)
    if found and _URL_IN_LINE.search(url):
        into.problems.add("text/beside-url", line=number, excerpt=text)
    return url.strip(f"\"'{WHITESPACE}")


def _read_odd(number: int, text: str, into: Collector) -> None:
    """Read a line that is not just a URL: with additional text, several URLs, or none."""
    if not text.startswith("#") and (code := disqualifier(text)):
        into.problems.add(code, line=number, excerpt=text)
        return
    if links := _MARKDOWN.findall(text):
        into.problems.add("text/beside-url", line=number, excerpt=text)
        for title, url in links:
            into.add(number, url, more={"title": title} if title else None)
        return
    before_comment = _BEHIND.split(text, maxsplit=1)[0].rstrip()
    found = [] if text.startswith("#") else list(_URL_IN_LINE.finditer(before_comment))
    if found and (found[0].start() > 0 or len(found) > 1 or "\t" in text or before_comment != text):
        into.problems.add("text/beside-url", line=number, excerpt=text)
        for url in found:
            into.add(number, _unwrapped(url))
    elif found or _NEARLY_URL.fullmatch(text):
        into.add(number, text)  # with white space inside, relative, or with a malformed scheme: reported by resolve()
    elif _ADDRESS.fullmatch(text):
        into.problems.add("text/no-scheme", line=number, excerpt=text)
    else:
        into.problems.add("text/not-a-url", line=number, excerpt=text)


def _unwrapped(found: re.Match[str]) -> str:
    """Return the URL *found* in a line, without the closing bracket, quotes or column around it."""
    url, opening = found[0], found.string[max(0, found.start() - 1) : found.start()]
    if opening in _COLUMN_ENDS and not _URL_IN_LINE.match(found.string, 0, found.start()):
        return url.partition(opening)[0]
    if opening == "'":
        return _QUOTE_END.split(url, maxsplit=1)[0]
    closing = _AROUND.get(opening)
    if closing is None or closing == opening:
        return url
    depth = 1
    for at, sign in enumerate(url):
        depth += (sign == opening) - (sign == closing)
        if depth == 0:
            return url[:at]
    return url


def whole_lines(chunks: Iterable[str], problems: ProblemLog) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines in *chunks*, without line ends, in a list for each chunk, with the number of the first, from 1.

    A line ends with LF, CR LF or CR. Not ``splitlines()``: that breaks at U+2028 too,
    which occurs inside URLs in the wild. A line of more than a million characters is
    left out, with a problem; so is the last line, if *problems* says that the document
    was truncated.
    """
    number, rest, is_too_long = 1, "", False
    for chunk in chunks:
        rest += chunk
        is_between = rest.endswith("\r")  # an LF may follow
        *whole, rest = rest[: -1 if is_between else None].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if whole and is_too_long:
            number, whole, is_too_long = number + 1, whole[1:], False
        yield number, whole
        number += len(whole)
        if len(rest) > _MAX_LINE_CHARS:
            if not is_too_long:
                problems.add("text/line-too-long", line=number, excerpt=rest)
            rest, is_too_long = "", True
        rest += "\r" if is_between else ""
    if is_too_long:
        return
    if rest.endswith("\r"):
        yield number, [rest[:-1]]
    elif rest and problems.ends_early:
        problems.add("text/truncated", line=number, excerpt=rest)
    elif rest:
        yield number, [rest]
