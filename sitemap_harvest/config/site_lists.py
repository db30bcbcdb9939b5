"""Files of sites, one per line or in a column of a table; and whether a file is one, or lists URLs.

Opens local files; raises :exc:`OSError` if they cannot be read.
"""

from __future__ import annotations

import codecs
import csv
import re
from enum import StrEnum
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from sitemap_harvest.urls import WHITESPACE, has_known_suffix

if TYPE_CHECKING:
    from collections.abc import Iterator

_HOST = re.compile(
    r"(?P<name>(?:[^\W_](?:[\w\-]*[^\W_])?\.)+[^\W\d_]{2,}\.?|localhost|\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?(?=[/?#]|$)",
    re.IGNORECASE,
)
_HOME = re.compile(r"https?://([^/?#\s]+)/?", re.IGNORECASE)
_PAGE = re.compile(r"https?://[^/?#\s,;\"]+(?:/[^\s,;\"]|[?#])", re.IGNORECASE)
_COMMENT = re.compile(r"(?:^|\s)#.*")
_WRONG_SCHEME = re.compile(r"(https?)(?::/?|//)(?!/|\d+(?:/|$)|$)", re.IGNORECASE)
_HEADER = re.compile(r"(?:root[ _])?(?:domain|host|site|url|website)(?:[ _]?name)?s?", re.IGNORECASE)
_DELIMITERS = "\t,;"
_SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
_PACKED = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # ZIP, and the format of Office up to 2003
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
    """Hosts, and URLs of pages; or home pages of several sites, and no more other pages than these."""
    TABLE = "table"
    """A spreadsheet, or a table with several columns of hosts: nothing says which is meant."""


def host_in(text: str) -> str | None:
    """Return the host at the start of *text*, a URL without a scheme; ``None`` if it is not a public host name.

    ``localhost`` and IPv4 addresses count, file names such as ``sitemap.xml`` do not.
    """
    found = _HOST.match(text)
    return found[0] if found and (found["name"][-1].isdigit() or has_known_suffix(found["name"])) else None


def are_several(text: str) -> bool:
    """Whether *text*, which is to be one URL or host, has several, separated by commas, semicolons or whitespace."""
    parts = re.split(r"[\s,;]+", text.strip(" ,;"))
    are_urls = all(part.lower().startswith(("http://", "https://")) for part in parts)
    return len(parts) > 1 and (are_urls or all("/" not in part and host_in(part) for part in parts))


def without_typo(text: str) -> str | None:
    """Return the URL *text* with its scheme as it must be, such as for ``http//a.example``; ``None`` if it is."""
    found = _WRONG_SCHEME.match(text)
    return f"{found[1]}://{text[found.end() :]}" if found else None


def text_of(path: str) -> str:
    """Return the text of the file *path*, in UTF-8 or UTF-16, without its byte order mark."""
    return _decoded(Path(path).read_bytes())


def entries(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and the site of each line of *text*, a file of sites.

    Comments, blank lines and blank cells are left out; and of a table, the header and all other columns.
    """
    delimiter, columns = _columns(text)
    if len(columns) > 1:
        delimiter = None
    is_first = True
    for number, line in _lines(text):
        cells = _cells(line, delimiter)
        entry = cells[columns[0]] if columns and columns[0] < len(cells) else line
        is_header = is_first and (_HEADER.fullmatch(entry) or (delimiter and host_in(_address(entry)) is None))
        is_first = False
        if entry and not is_header:
            yield number, entry


def kind_of_file(path: str) -> FileKind:
    """Return what the file *path* lists, according to its first 64 KiB."""
    with Path(path).open("rb") as file:
        start = file.read(_TELLING_BYTES)
    if path.lower().endswith(_SPREADSHEETS) and start.startswith(_PACKED):
        return FileKind.TABLE
    text = _decoded(start)
    if len(start) == _TELLING_BYTES:
        text = text.rpartition("\n")[0]
    if "\0" in text or text.lstrip(WHITESPACE)[:1] in {"<", "{", "["}:
        return FileKind.DOCUMENT
    if len(_columns(text)[1]) > 1:
        return FileKind.TABLE
    lines = [entry for _, entry in entries(text)]
    pages = sum(_PAGE.search(line) is not None for _, line in _lines(text))
    homes = [found[1].lower() for line in lines if (found := _HOME.fullmatch(without_typo(line) or line))]
    hosts = 0
    for line in lines:
        if (host := host_in(line)) is not None:
            is_home = line[len(host) :] in {"", "/"}
            hosts, pages = hosts + is_home, pages + (not is_home)
    lists_homes = len({*homes}) > 1 and len(homes) >= pages
    if 2 * (hosts + len(homes) + pages) <= len(lines) or (pages and not hosts and not lists_homes):
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


def _columns(text: str) -> tuple[str | None, list[int]]:
    """Return the delimiter of the table in *text*, and the columns with the sites; ``None`` and none if it is none.

    Such a column has a site in most lines; if none has, in most of its cells that are not blank; or else, it has one,
    and its header names sites. Columns with the same sites count once.
    """
    lines = [line for _, line in islice(_lines(text), _TELLING_LINES)]
    for delimiter in _DELIMITERS:
        rows = [_cells(line, delimiter) for line in lines]
        if not rows or len(rows[0]) == 1:
            continue
        cells = [*zip_longest(*rows, fillvalue="")]
        columns = [[host_in(_address(cell)) for cell in column] for column in cells]
        hosts = [sum(cell is not None for cell in column) for column in columns]
        full = (
            [at for at, count in enumerate(hosts) if 2 * count > len(rows) - 1]
            or [at for at, count in enumerate(hosts) if count and 2 * count > sum(map(bool, cells[at])) - 1]
            or [at for at, count in enumerate(hosts) if count and _HEADER.fullmatch(cells[at][0])]
        )
        if full:
            return delimiter, [at for at in full if at == full[0] or columns[at] != columns[full[0]]]
    return None, []


def _address(cell: str) -> str:
    """Return *cell* without the scheme of a home page."""
    return found[1] if (found := _HOME.fullmatch(cell)) else cell
