"""Excel workbooks, written row by row with bounded memory. Text is only ever text: neither a formula nor a link.

Rows wait in temporary files (``TMPDIR``) until the workbook is closed.
Limits: https://support.microsoft.com/office/1672b34d-7043-467e-8e27-269d656771c3
"""

from __future__ import annotations

import math
import re
import weakref
from collections import Counter
from contextlib import suppress
from decimal import Decimal
from typing import IO, TYPE_CHECKING, Any

import xlsxwriter
from xlsxwriter.exceptions import FileCreateError
from xlsxwriter.worksheet import Worksheet

from sitemap_harvest.export import without_forbidden
from sitemap_harvest.files import TemporaryFolder, temporary_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MOST_COLUMNS = 16_384  # of a sheet
_MOST_ROWS = 1_048_576  # of a sheet, with the header
_MOST_CHARS = 32_767  # of a cell, in UTF-16
_MOST_NAME_CHARS = 31  # of the name of a sheet, in UTF-16
_MOST_EXACT = 2**53  # Excel's numbers are floating-point numbers
_MOST_DIGITS = 15  # of a number that Excel shows
_NOT_IN_NAMES = re.compile(r"[\[\]:*?/\\'\x00-\x1f]")  # of sheets
_WHOLE_SHEET = "A1:XFD1048576"
_RESERVED_NAME = "history"
_OPTIONS = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
    "use_zip64": True,  # only used from 4 GB on
}


class _TextSheet(Worksheet):  # type: ignore[misc]  # the library has no types
    def _xml_rich_inline_string(self, string: str, attributes: Any) -> None:
        """Escape a text that begins with ``<r>`` and ends with ``</r>``, which the library takes for its own markup."""
        self._xml_inline_string(string, preserve=True, attributes=attributes)


class _Output:
    """Passes data to a file until that fails: ``ZipFile`` would try again when it is deleted."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.is_over = False

    def write(self, data: bytes) -> int:
        if not self.is_over:
            self._file.write(data)
        return len(data)

    def flush(self) -> None:
        if not self.is_over:
            self._file.flush()


class Workbook:
    """A workbook with sheets that can be filled in turns."""

    def __init__(self, file: IO[bytes]) -> None:
        """Write to *file* when the workbook is closed. Raises :exc:`OSError`."""
        folder = TemporaryFolder("xlsx")
        self._output = _Output(file)
        self._book = xlsxwriter.Workbook(self._output, {**_OPTIONS, "tmpdir": folder.path})
        self._sheets: list[Sheet] = []
        self._formats: dict[str, Any] = {}
        self.bold = self._book.add_format({"bold": True})
        self.cut: Counter[str] = Counter()
        """Texts that are too long for a cell, and are cut, by column."""
        self.replaced = 0
        """Texts with characters that XML cannot contain, which become U+FFFD."""
        self.discard = weakref.finalize(self, _discard, self._book, folder)
        """Removes the temporary files: the workbook cannot be used any more."""

    def sheet(self, name: str, columns: Mapping[str, float]) -> Sheet:
        """Add a sheet for rows of *columns*, each with its width in characters. Its name may need to be another one."""
        self._sheets.append(sheet := Sheet(self, name, columns))
        return sheet

    def format(self, numbers: str) -> Any:
        """Return the format for cells with *numbers*, such as ``yyyy-mm-dd``."""
        if numbers not in self._formats:
            self._formats[numbers] = self._book.add_format({"num_format": numbers})
        return self._formats[numbers]

    def close(self, order: Sequence[str] = ()) -> None:
        """Write the file. Raises :exc:`OSError`.

        Sheets whose names are in *order* come first, the others in the order in which they were added.
        """
        ranks = {name: rank for rank, name in enumerate(order)}
        self._sheets.sort(key=lambda sheet: ranks.get(sheet.name, len(ranks)))
        parts = [part for sheet in self._sheets for part in sheet.ended()]
        self._book.worksheets_objs[:] = parts
        for index, part in enumerate(parts):
            part.index = index
        try:
            self._book.close()
        except FileCreateError as error:
            raise error.args[0] from None  # the OSError
        finally:
            self._output.is_over = True
            self.discard()

    def part(self, name: str) -> Any:
        """Add a worksheet named *name*, or similar if Excel does not allow this name, or it is in use."""
        name = _NOT_IN_NAMES.sub("_", name) or "items"
        used = {sheet.name.lower() for sheet in self._book.worksheets()} | {_RESERVED_NAME}
        free, number = _shortened(name, _MOST_NAME_CHARS), 1
        while free.lower() in used:
            number += 1
            free = f"{_shortened(name, _MOST_NAME_CHARS - len(f' {number}'))} {number}"
        return self._book.add_worksheet(free, worksheet_class=_TextSheet)

    def text(self, text: str, column: str) -> str:
        """Return *text* as a cell of *column* can hold it."""
        if not text.isprintable():  # or has a line end, a tab ...
            allowed = without_forbidden(text.encode(errors="replace").decode())
            self.replaced += allowed != text
            text = allowed
        if len(text) * 2 > _MOST_CHARS and _shortened(text, _MOST_CHARS) != text:
            self.cut[column] += 1
            text = f"{_shortened(text, _MOST_CHARS - 1)}…"
        return text


class Sheet:
    """Rows below a header. Those for which it has no room are on further sheets, such as ``urls 2``."""

    def __init__(self, book: Workbook, name: str, columns: Mapping[str, float]) -> None:
        """Write rows of *columns*, each with its width in characters, to the sheet *name* of *book*."""
        self.name = name
        self.columns = list(columns)
        self._book = book
        self._widths = [*columns.values()]
        self._rows: list[int] = []  # of each part, with the header
        self._parts: list[Any] = []
        self._begin()

    def _begin(self) -> None:
        self._parts.append(part := self._book.part(self.name))
        self._rows.append(1)
        for column, (name, width) in enumerate(zip(self.columns, self._widths, strict=True)):
            part.set_column(column, column, width)
            part.write_string(0, column, self._book.text(name, name), self._book.bold)
        part.freeze_panes(1, 0)
        part.ignore_errors({"number_stored_as_text": _WHOLE_SHEET})  # otherwise Excel marks texts such as 2025

    def write(self, rows: Iterable[Sequence[Any]], formats: Sequence[Any] = ()) -> None:
        """Write *rows*: texts, numbers, truth values; ``None`` is an empty cell.

        *formats*: of the numbers in each column; ``None`` for the usual one. Raises :exc:`OSError`.
        """
        with temporary_files():
            self._write(rows, formats)

    def _write(self, rows: Iterable[Sequence[Any]], formats: Sequence[Any]) -> None:
        for row in rows:
            if self._rows[-1] >= _MOST_ROWS:
                self._begin()
            for column, value in enumerate(row):
                if value is not None:
                    self._write_cell(column, value, formats[column] if formats else None)
            self._rows[-1] += 1

    def _write_cell(self, column: int, value: Any, number_format: Any) -> None:
        part, row = self._parts[-1], self._rows[-1]
        if isinstance(value, bool):
            part.write_boolean(row, column, value)
        elif isinstance(value, (int, float, Decimal)) and _is_exact(value):
            part.write_number(row, column, value, number_format)
        else:
            part.write_string(row, column, self._book.text(str(value), self.columns[column]))

    def ended(self) -> Sequence[Any]:
        """Return the worksheets, which get no more rows."""
        for part, rows in zip(self._parts, self._rows, strict=True):
            part.autofilter(0, 0, rows - 1, len(self.columns) - 1)
        return self._parts


def _is_exact(number: float | Decimal) -> bool:
    """Whether Excel can hold *number* with all digits that it shows."""
    if isinstance(number, int):
        return abs(number) <= _MOST_EXACT
    if isinstance(number, Decimal):
        return number.is_finite() and len(number.as_tuple().digits) <= _MOST_DIGITS
    return math.isfinite(number)


def _shortened(text: str, most: int) -> str:
    """Return the first *most* characters of *text*, counted in UTF-16, without a half of one."""
    return text.encode("utf-16-le", "replace")[: most * 2].decode("utf-16-le", "ignore")


def _discard(book: Any, folder: TemporaryFolder) -> None:
    for sheet in book.worksheets():
        with suppress(OSError, AttributeError):  # it cannot be written, or was not opened
            sheet.row_data_fh.close()
    folder.remove()
