"""Excel workbooks as outputs: a sheet for each kind of items."""

from __future__ import annotations

import json
import logging
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.config.arguments import EMIT
from sitemap_harvest.export import json_values, text_of
from sitemap_harvest.integration.items.exporters import MOST_ITEMS, TypedExporter
from sitemap_harvest.model import CATALOGUE, Batch, LedgerBatch
from sitemap_harvest.model.batch import added_column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sitemap_harvest.workbook import Sheet

logger = logging.getLogger(__name__)

_NAMES = {kind: name for name, kind in EMIT.items()}
_ORDER = [part for name in EMIT for part in ((name, "problems") if name == "sitemaps" else (name,))]
_MOST_WIDTH = 60  # characters of a column, if its first values or its name are longer
_MEASURED = 100  # values
_ROWS_AT_ONCE = 1_000  # as Python objects they take two megabytes
_DATE_WIDTH = 24
_DATE, _TIME = "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"
_UTC_TIME = f'{_TIME} "UTC"'
_UNIX_EPOCH = 25_569  # in Excel's days
_FIRST_DAY = 61  # March 1, 1900: for Excel 1900 was a leap year, so other programs read earlier days differently
_END = 2_958_466  # the year 10,000
_DAY = 86_400_000_000  # microseconds


class XlsxExporter(TypedExporter):
    """A workbook whose sheets have the names of the kinds of items. The problems of documents have a sheet, too.

    Items of other kinds have a sheet with the name of their class. Its columns are the
    fields of the first 1,000 items.
    """

    has_columns = False
    holds_all_kinds = True

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(file, **options)
        from sitemap_harvest.workbook import MOST_COLUMNS, Workbook  # an optional package, which few runs need

        self._book = Workbook(file)
        self.cut = self._book.cut
        self._most_columns = MOST_COLUMNS
        self._sheets: dict[object, Sheet] = {}
        self._others: dict[type, list[dict[str, Any]]] = {}

    def finish_exporting(self) -> None:
        """Write the buffered rows, and the file. Raises :exc:`OSError`."""
        self._flush()
        for kind in self._others:
            self._write_others(kind)
        self._book.close(_ORDER)
        if self._book.replaced:
            logger.warning(
                "%s values contain characters that a cell cannot hold: they become U+FFFD; other formats preserve them",
                f"{self._book.replaced:,}",
            )

    def _write(self, batch: Batch[Any]) -> None:
        name = _NAMES.get(type(batch), "rows")
        self._write_columns(name, name, self._columns(batch))
        if isinstance(batch, LedgerBatch) and "problems" in self._names(batch):
            self._write_columns("problems", "problems", _problems(batch))

    def _write_columns(self, key: object, name: str, columns: Mapping[str, pa.Array]) -> None:
        """Write rows to the sheet of *key*, if there are *columns*. The first call adds it as *name*, or similar."""
        if not columns:
            return
        rows = len(next(iter(columns.values())))
        if (sheet := self._sheets.get(key)) is None:
            first = {column: _cells(values.slice(0, _MEASURED)) for column, values in columns.items()}
            widths = {column: _width(column, *first[column]) for column in [*first][: self._most_columns]}
            sheet = self._sheets[key] = self._book.sheet(name, widths)
        for column in columns.keys() - set(sheet.columns):
            self._count_left_out(column, rows - columns[column].null_count)
        for start in range(0, rows, _ROWS_AT_ONCE):
            part = {column: values.slice(start, _ROWS_AT_ONCE) for column, values in columns.items()}
            absent = pa.nulls(len(next(iter(part.values()))))
            cells = [_cells(part.get(column, absent)) for column in sheet.columns]
            formats = [None if numbers is None else self._book.format(numbers) for _, numbers in cells]
            sheet.write(zip(*(values for values, _ in cells), strict=True), formats)

    def _write_other(self, item: Any) -> None:
        waiting = self._others.setdefault(type(item), [])
        waiting.append(dict(self.get_serialized_fields(item)))
        if len(waiting) >= MOST_ITEMS:
            self._write_others(type(item))

    def _write_others(self, kind: type) -> None:
        items, self._others[kind] = self._others[kind], []
        names = dict.fromkeys(name for item in items for name in item)
        columns = {name: added_column([item.get(name) for item in items]) for name in names}
        self._write_columns(kind, "items" if kind is dict else kind.__name__, columns)


def _problems(documents: LedgerBatch) -> dict[str, pa.Array]:
    """Return the problems of *documents*, one row each."""
    lists = documents["problems"]
    if not pa.types.is_list(lists.type):  # a pipeline has replaced them
        return {}
    of = pc.list_parent_indices(lists)
    problems = lists.flatten()
    found = {field.name: problems.field(index) for index, field in enumerate(problems.type)}
    severities = [str(CATALOGUE[code].severity) if code in CATALOGUE else None for code in found["code"].to_pylist()]
    return {
        "url": documents["url"].take(of),
        "root": documents["root"].take(of),
        "code": found["code"],
        "severity": pa.array(severities, pa.string()),
        "count": found["count"],
        "detail": found["detail"],
        "samples": found["samples"],
    }


def _cells(column: pa.Array) -> tuple[Sequence[Any], str | None]:
    """Return the values of *column* as cells can hold them, and the format of those that are dates."""
    kind = column.type
    if isinstance(kind, pa.JsonType):
        return [None if text is None else _json_cell(text) for text in column.storage.to_pylist()], None
    if pa.types.is_nested(kind):
        return pc.if_else(column.is_valid(), json_values(column), None).to_pylist(), None
    if pa.types.is_timestamp(kind):
        days = pc.divide(column.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64(), safe=False), _DAY)
        text = text_of(column) if kind.tz else pc.replace_substring(text_of(column), "+00:00", "")
        return _dates(days, text), _UTC_TIME if kind.tz else _TIME
    if pa.types.is_date32(kind):
        return _dates(column.cast(pa.int32()), column.cast(pa.string())), _DATE
    return column.to_pylist(), None


def _dates(days: pa.Array, texts: pa.StringArray) -> list[Any]:
    """Return *days*, from 1970 on, as Excel counts them; the *texts* where it cannot show them."""
    days = pc.add(days, _UNIX_EPOCH)
    is_shown = pc.and_(pc.greater_equal(days, _FIRST_DAY), pc.less(days, _END))
    shown: list[Any] = pc.if_else(is_shown, days, None).to_pylist()
    if pc.all(is_shown).as_py() is not False:
        return shown
    return [text if day is None else day for day, text in zip(shown, texts.to_pylist(), strict=True)]


def _json_cell(text: str) -> Any:
    value = json.loads(text)
    return text if isinstance(value, (list, dict)) else value


def _width(name: str, values: Sequence[Any], numbers: str | None) -> float:
    """Return the width of the column *name*."""
    if numbers is not None:
        return max(_DATE_WIDTH, len(name) + 4)
    longest = max((len(str(value)) for value in values if value is not None), default=0)
    return min(max(longest + 1, len(name) + 4), _MOST_WIDTH)
