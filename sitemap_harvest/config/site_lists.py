"""Files of sites, one per line or in a column of a table; and whether a file is one, or lists URLs.

Opens local files; raises :exc:`OSError` if they cannot be read.
"""

from __future__ import annotations

import codecs
import csv
import re
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from sitemap_harvest.urls import WHITESPACE, has_known_suffix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HOST = re.compile(
    r"(?P<name>(?:[^\W_](?:[\w\-]*[^\W_])?\.)+[^\W\d_]{2,}\.?|localhost|\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?(?=[/?#]|$)",
    re.IGNORECASE,
)
_HOME = re.compile(r"https?://([^/?#\s]+)/?", re.IGNORECASE)
_PAGE = re.compile(r"https?://[^/?#\s,;\"]+(?:/[^\s,;\"]|[?#])", re.IGNORECASE)
_COMMENT = re.compile(r"(?:^|\s)#.*")
_HEADER = re.compile(r"(?:root[ _])?(?:domain|host|site|url|website)(?:[ _]?name)?s?", re.IGNORECASE)
_DELIMITERS = "\t,;"
_TELLING_LINES = 100  # enough to recognize columns
_TELLING_BYTES = 64 * 1024
_MAX_LINE_CHARS = 4 * 1024  # of a row; the csv module rejects long cells
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # written by PowerShell, and by Excel as "Unicode text"


class FileKind(StrEnum):
    """What the lines of a file name."""

    SITES = "sites"
    """Hosts, or the home pages of several sites: no sitemap lists these."""
    DOCUMENT = "document"
    """Anything else, such as a sitemap or a list of URLs."""
    HOME_PAGES = "home pages"
    """Only home pages of one site: a list of sites, or of URLs."""
    MIXED = "mixed"
    """Hosts, and URLs of pages."""


def host_in(text: str) -> str | None:
    """Return the host at the start of *text*, a URL without a scheme; ``None`` if it is not a public host name.

    ``localhost`` and IPv4 addresses count, file names such as ``sitemap.xml`` do not.
    """
    found = _HOST.match(text)
    return found[0] if found and (found["name"][-1].isdigit() or has_known_suffix(found["name"])) else None


def text_of(path: str) -> str:
    """Return the text of the file *path*, in UTF-8 or UTF-16, without its byte order mark."""
    return _decoded(Path(path).read_bytes())


def entries(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and the site of each line of *text*, a file of sites.

    Comments and blank lines are left out; and of a table, the header and all other columns.
    """
    delimiter, column = _column([line for _, line in islice(_lines(text), _TELLING_LINES)])
    is_first = True
    for number, line in _lines(text):
        cells = _cells(line, delimiter)
        entry = cells[column] if column < len(cells) else line
        is_header = is_first and (_HEADER.fullmatch(entry) or (delimiter and host_in(_address(entry)) is None))
        is_first = False
        if not is_header:
            yield number, entry


def kind_of_file(path: str) -> FileKind:
    """Return what the file *path* lists, according to its first 64 KiB."""
    with Path(path).open("rb") as file:
        start = file.read(_TELLING_BYTES)
    text = _decoded(start)
    if len(start) == _TELLING_BYTES:
        text = text.rpartition("\n")[0]
    if "\0" in text or text.lstrip(WHITESPACE)[:1] in {"<", "{", "["}:
        return FileKind.DOCUMENT
    lines = [entry for _, entry in entries(text)]
    pages = sum(_PAGE.search(line) is not None for _, line in _lines(text))
    homes = [found[1].lower() for line in lines if (found := _HOME.fullmatch(line))]
    hosts = 0
    for line in lines:
        if (host := host_in(line)) is not None:
            is_home = line[len(host) :] in {"", "/"}
            hosts, pages = hosts + is_home, pages + (not is_home)
    if 2 * (hosts + len(homes) + pages) <= len(lines) or (pages and not hosts):
        return FileKind.DOCUMENT
    if pages:
        return FileKind.MIXED
    return FileKind.SITES if hosts or len({*homes}) > 1 else FileKind.HOME_PAGES


def _decoded(data: bytes) -> str:
    text = data.decode("utf-16" if data.startswith(_UTF_16) else "utf-8-sig", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number of each line, and the line without comments, unless it is blank."""
    for number, line in enumerate(text.split("\n"), start=1):
        if entry := _COMMENT.sub("", line).strip(WHITESPACE):
            yield number, entry


def _cells(line: str, delimiter: str | None) -> list[str]:
    if delimiter is None or len(line) > _MAX_LINE_CHARS:
        return [line]
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]


def _column(lines: Sequence[str]) -> tuple[str | None, int]:
    """Return the delimiter of the table in *lines*, and the column with the sites; ``None`` and 0 if it is none.

    That column has a site in most lines. If other columns do too, with other sites, nothing says which is meant.
    """
    for delimiter in _DELIMITERS:
        rows = [_cells(line, delimiter) for line in lines]
        width = min(map(len, rows), default=1)
        columns = [[host_in(_address(row[at])) for row in rows] for at in range(width)] if width > 1 else []
        full = [at for at, column in enumerate(columns) if 2 * sum(cell is not None for cell in column) > len(rows) - 1]
        if full and all(columns[at] == columns[full[0]] for at in full):
            return delimiter, full[0]
    return None, 0


def _address(cell: str) -> str:
    """Return *cell* without the scheme of a home page."""
    return found[1] if (found := _HOME.fullmatch(cell)) else cell
