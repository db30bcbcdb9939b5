"""``CrawlFile``: a file of another crawler as a table of texts, whatever its format, encoding and compression."""

from __future__ import annotations

import codecs
import csv
import io
import re
import shutil
from typing import TYPE_CHECKING

import pyarrow as pa

from sitemap_harvest.audit.crawl_columns import columns_of, simplified
from sitemap_harvest.errors import CrawlExportError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import duckdb

_HEAD_BYTES = 1024 * 1024
_TITLE_ROWS = 20  # with the header
_MAX_LINE_BYTES = 16 * 1024 * 1024  # of CSV: advertools writes the text of the page
_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_AGAIN = "if it is the last line, export the crawl again"
_MESSAGES = {  # of DuckDB and Python
    r"Expected Number of Columns: (\d+) Found: (\d+)": rf"\2 instead of \1 columns; {_AGAIN}",
    r"unterminated quote": f"a quotation mark is not closed; {_AGAIN}",
    r"Maximum line size": f"the line has more than {_MAX_LINE_BYTES >> 20} MB",
    r"Invalid unicode": "it is not UTF-8; export the crawl as UTF-8",
    r"invalid state": "line ends differ, or a quotation mark is in the wrong place; export the crawl again",
    r"'([\w-]+)' codec can't decode": r"it is not valid \1; it may be cut: export the crawl again",
    r"No such file": "there is no such file",
    r"Is a directory": "it is a folder; name the file of the crawl export",
}


class CrawlFile:
    """The file as a table with the columns ``c0``, ``c1`` and so on, all of them texts."""

    header: list[str]
    """The names of the columns."""

    def __init__(
        self, path: Path, folder: Path, given: Mapping[str, str], connection: duckdb.DuckDBPyConnection
    ) -> None:
        """Read the header. *folder* is for temporary files; *given* are names of columns by field."""
        self._path = path
        self._folder = folder
        head = self._head()
        if compression := next((name for magic, name in _COMPRESSIONS.items() if head.startswith(magic)), None):
            self._decompress(compression)
            head = self._head()
        if not head.strip():
            raise CrawlExportError("the file is empty")
        if head.startswith(b"PK"):
            raise CrawlExportError("it is a ZIP archive or an Excel workbook; unpack it, or save the sheet as CSV")
        self._format = "parquet" if head.startswith(b"PAR1") else "text"
        if self._format == "text":
            if (encoding := _encoding(head)) != "utf-8":
                self._recode(encoding)
                head = self._head()
            text = head.decode("utf-8", "ignore")
            self._format = "json" if re.match(r"\s*[{\[]", text) else "csv"
        if self._format == "csv":
            if "\0" in text or re.match(r"(?i)\s*<[!?a-z]", text):
                raise CrawlExportError("it is neither CSV, nor JSON Lines, nor Parquet")
            headers = [_header(text, delimiter, given) for delimiter in ",;\t|"]
            _, self.header, self._skip, self._delimiter = max(headers, key=lambda one: (one[0], len(one[1])))
            self._drop_titles(head)
        else:
            sample = ", sample_size = 20000" if self._format == "json" else ""
            query = f"describe select * from read_{self._format}({self._literal()}{sample})"  # noqa: S608
            self.header = [name for name, *_ in connection.sql(query).fetchall()]

    def table(self, columns: Iterable[int]) -> str:
        """Return the SQL of the table with *columns*."""
        if self._format == "csv":
            names = ", ".join(f"'c{at}': 'VARCHAR'" for at in range(len(self.header)))
            return (
                f"read_csv({self._literal()}, auto_detect = false, header = false, skip = {self._skip}, "
                f"delim = '{self._delimiter}', quote = '\"', escape = '\"', columns = {{{names}}}, "
                f"max_line_size = {_MAX_LINE_BYTES}, buffer_size = {2 * _MAX_LINE_BYTES})"
            )
        quoted = {at: '"' + self.header[at].replace('"', '""') + '"' for at in columns}
        types = ", ".join(f"{name}: 'VARCHAR'" for name in quoted.values())
        options = f", columns = {{{types}}}" if self._format == "json" else ""
        values = ", ".join(f"{name}::varchar as c{at}" for at, name in quoted.items())
        return f"(select {values} from read_{self._format}({self._literal()}{options}))"  # noqa: S608

    def _literal(self) -> str:
        return "'" + str(self._path).replace("'", "''") + "'"

    def _head(self) -> bytes:
        with self._path.open("rb") as file:
            return file.read(_HEAD_BYTES)

    def _decompress(self, compression: str) -> None:
        target = self._folder / "decompressed"
        with pa.input_stream(str(self._path), compression=compression) as source, target.open("wb") as file:
            shutil.copyfileobj(source, file)
        self._path = target

    def _drop_titles(self, head: bytes) -> None:
        """Drop the lines before the header if their line ends differ from its own: DuckDB would read no rows."""
        *titles, header = head.splitlines(keepends=True)[: self._skip]
        if all(line.endswith(b"\r\n") == header.endswith(b"\r\n") for line in titles):
            return
        target = self._folder / "untitled"
        with self._path.open("rb") as source, target.open("wb") as file:
            source.seek(sum(map(len, titles)))
            shutil.copyfileobj(source, file)
        self._path, self._skip = target, 1

    def _recode(self, encoding: str) -> None:
        target = self._folder / "recoded"
        errors = "replace" if encoding == "cp1252" else "strict"
        with (
            self._path.open(encoding=encoding, errors=errors, newline="") as source,
            target.open("w", encoding="utf-8", newline="") as file,
        ):
            shutil.copyfileobj(source, file, 1024 * 1024)
        self._path = target


def _encoding(head: bytes) -> str:
    """Return the encoding of the text that begins with *head*."""
    if encoding := next((name for bom, name in _BOMS.items() if head.startswith(bom)), None):
        return encoding
    if b"\0" in head[:2]:
        return "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"  # what spreadsheets write
    return "utf-8"


def _header(text: str, delimiter: str, given: Mapping[str, str]) -> tuple[int, list[str], int, str]:
    """Return how many fields the likeliest header of *text* has, the header, its row from 1, and *delimiter*."""
    best: tuple[int, list[str], int, str] = (-1, [], 0, delimiter)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    own = {simplified(name) for name in given.values()}
    try:
        for number, row in zip(range(1, _TITLE_ROWS + 1), reader, strict=False):
            fields = len(columns_of(row, {})) + len(own & set(map(simplified, row)))
            if fields > best[0] and any(row):
                best = (fields, row, number, delimiter)
    except csv.Error:
        pass  # a cell of more than 128 KiB, after the header
    return best


def in_words(error: BaseException) -> str:
    """Return what *error*, raised while such a file was read, says in the user's terms."""
    text = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", text)
    where = f"line {int(line[1]):,}: " if line else ""
    for pattern, words in _MESSAGES.items():
        if match := re.search(pattern, text):
            return where + match.expand(words)
    return text.partition("\n")[0].removeprefix("Invalid Input Error: ").strip()
