"""Item exporters for batches in CSV, also for Excel, and TSV. Rows may be appended to their files."""

from __future__ import annotations

import csv
from copy import copy
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from itemadapter import ItemAdapter
from scrapy import exporters

from sitemap_harvest.export import TSV_NULL, csv_header, csv_lines, tsv_escaped, tsv_header, tsv_lines
from sitemap_harvest.integration.items.exporters import MOST_ITEMS, BatchExporter, encoded, has_content, renamed
from sitemap_harvest.integration.items.output_files import first_line
from sitemap_harvest.integration.spider_attributes import SitemapAttributes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import IO

    import pyarrow as pa
    from scrapy.crawler import Crawler

    from sitemap_harvest.model import Batch

_MOST_SHOWN = 100  # characters of a header line in a message


class CsvExporter(BatchExporter, exporters.CsvItemExporter):
    """One line per row below a header line; lists and structures are JSON in their cell.

    For items of other kinds, the first 1,000 items determine the columns. Rows that are
    appended to a file have the columns of its header line.
    """

    has_columns = True
    _written: Collection[str] = ()
    """The names in the header line of the file that is appended to."""
    _wanted: Mapping[str, str] | None = None
    """The fields that the options give for that file, with their names there; ``None`` for all."""

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        is_appended = has_content(file)  # before the first bytes are written
        super().__init__(file, **options)
        self._is_ours = True
        self._first: list[Any] = []
        self._counts_left_out = self.fields_to_export is None
        if is_appended:  # also no header line, which would be in the middle of the file
            self.include_headers_line = False

    @classmethod
    def from_crawler(cls, crawler: Crawler, file: IO[bytes], **options: Any) -> Self:
        """Create the exporter. For a spider from another package it writes the header line wherever Scrapy's does."""
        exporter = cls(file, **options)
        has_header = options.get("include_headers_line", True)
        if not issubclass(crawler.spidercls, SitemapAttributes):
            exporter.include_headers_line = has_header
            exporter._is_ours = exporter._counts_left_out = False
        elif has_header and has_content(file):
            exporter._follow_header(getattr(getattr(file, "file", file), "name", None))
        return exporter

    @classmethod
    def why_foreign(cls, path: Path, columns: Collection[str], *, encoding: str | None, delimiter: str) -> str | None:
        """Return why rows with *columns* cannot be appended to *path*; ``None`` if they can. Raises :exc:`OSError`."""
        return _why_foreign(cls._read_header(path, encoding, delimiter), columns)

    @classmethod
    def _read_header(cls, path: Path, encoding: str | None, delimiter: str) -> list[str]:
        """Return the names in the header line of the file *path*; none if it is empty."""
        text = first_line(path).decode(encoding or "utf-8", errors="ignore").removeprefix("\ufeff").rstrip("\r\n")
        return cls._split(text, delimiter) if text else []

    @classmethod
    def _split(cls, text: str, delimiter: str) -> list[str]:
        try:
            return next(csv.reader([text], delimiter=delimiter), [])
        except csv.Error:  # too long for a name
            return [text]

    def _follow_header(self, path: object) -> None:
        """Take the columns of the file *path*, if there is one of that name."""
        if not isinstance(path, str) or not Path(path).is_file():
            return
        self._written = names = self._read_header(Path(path), self.encoding, self._kwargs.get("delimiter", ","))
        if not names:
            return
        self._counts_left_out = True
        if self.fields_to_export is None:
            self.fields_to_export = renamed(names)
            return
        self._wanted = renamed(self.fields_to_export)
        fields = {out: name for name, out in self._wanted.items()}
        self.fields_to_export = {fields.get(out, f"\0{out}"): out for out in names}  # no field: empty cells

    def _check_header(self, names: Collection[str]) -> None:
        """Raise :exc:`OSError` if the file that is appended to is not for rows with the fields *names*."""
        if reason := _why_foreign(self._written, self._wanted.values() if self._wanted is not None else names):
            raise OSError(reason)

    def finish_exporting(self) -> None:
        """Write the buffered rows, and the end of the file."""
        self._flush()
        self._write_first()
        super().finish_exporting()

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        """Return *value* of an item of another kind as Scrapy writes it; an instant in ISO 8601, as in other rows."""
        made = super().serialize_field(field, name, value)
        return made.isoformat() if self._is_ours and isinstance(made, datetime) else made

    def _write_first(self) -> None:
        """Write the first items of other kinds, whose fields are the columns."""
        items, self._first = self._first, []
        if not items:
            return
        self.fields_to_export = list(dict.fromkeys(name for item in items for name in ItemAdapter(item).field_names()))
        failure = None
        for item in items:
            try:
                self._write_single(item)
            except ValueError as error:  # the encoding lacks a character: it affects no other item
                failure = error
        if failure is not None:
            raise failure

    def _write(self, batch: Batch[Any]) -> None:
        self._write_first()
        columns = self._columns(batch)
        names = self._names(batch)
        if self._headers_not_written:
            self._check_header(batch.arrow.schema.names)
            self.fields_to_export = list(columns) if self.fields_to_export is None else self.fields_to_export
            if self.include_headers_line:
                self.stream.write(self._header(columns))
                self.stream.flush()
            self._headers_not_written = False
        if self._counts_left_out:
            for name in batch.arrow.schema.names:
                if name not in names and (self._wanted is None or name in self._wanted):
                    self._count_left_out(name, len(batch) - batch[name].null_count)
        self.stream.buffer.write(self._encoded(self._lines(columns, len(batch)), batch))

    def _encoded(self, lines: pa.StringArray, batch: Batch[Any]) -> bytes | memoryview:
        """Return the bytes of the *lines* of *batch*, without those with a character that the encoding lacks."""
        encoding, errors = self.encoding or "utf-8", self.stream.errors or "strict"
        try:
            return encoded(lines, encoding, errors)
        except UnicodeEncodeError:
            pass
        written = []
        for at, line in enumerate(lines.to_pylist()):
            try:
                written.append(line.encode(encoding, errors))
            except UnicodeEncodeError as error:
                self._lose(batch.arrow.column(0)[at].as_py(), error)
        return b"".join(written)

    def _write_other(self, item: Any) -> None:
        if self._is_ours and self.fields_to_export is None:
            self._first.append(copy(item))
            if len(self._first) >= MOST_ITEMS:
                self._write_first()
            return
        fields = ItemAdapter(item)
        if self._headers_not_written:
            self._check_header(list(fields))
        super()._write_other(item)
        if self._counts_left_out and self.fields_to_export is not None:
            for name, value in fields.items():
                is_wanted = self._wanted is None or name in self._wanted
                self._count_left_out(name, int(is_wanted and name not in self.fields_to_export and value is not None))

    def _header(self, names: Iterable[str]) -> str:
        return csv_header(names, delimiter=self._kwargs.get("delimiter", ","))

    def _lines(self, columns: Mapping[str, pa.Array], rows: int) -> pa.StringArray:
        return csv_lines(columns, rows, delimiter=self._kwargs.get("delimiter", ","))


class ExcelExporter(CsvExporter):
    """CSV that Excel recognizes as UTF-8 by its byte order mark."""

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(file, **options | {"encoding": "utf-8-sig"})


class TsvExporter(CsvExporter):
    """One line per row below a header line, as in CSV, with tabs, and escapes in place of quotes."""

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(file, **options)
        self.csv_writer = _TsvWriter(self.stream)  # type: ignore[assignment]  # for items of other kinds

    def get_serialized_fields(
        self,
        item: Any,
        default_value: Any = None,
        include_empty: bool | None = None,  # noqa: FBT001 - as in Scrapy
    ) -> Iterable[tuple[str, Any]]:
        """Yield the fields of an item of another kind; those that it lacks are missing values, not empty texts."""
        del default_value
        return super().get_serialized_fields(item, None, include_empty)

    @classmethod
    def _split(cls, text: str, delimiter: str) -> list[str]:  # noqa: ARG003 - that of CSV
        return text.split("\t")

    def _header(self, names: Iterable[str]) -> str:
        return tsv_header(names)

    def _lines(self, columns: Mapping[str, pa.Array], rows: int) -> pa.StringArray:
        return tsv_lines(columns, rows)


class _TsvWriter:
    """Writes rows as ``csv.writer`` does."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def writerow(self, row: Iterable[Any]) -> None:
        cells = (TSV_NULL if value is None else tsv_escaped(str(value)) for value in row)
        self._file.write("\t".join(cells) + "\n")


def _why_foreign(header: Collection[str], columns: Collection[str]) -> str | None:
    """Return why a file with this *header*, if it has one, is not for rows with *columns*; ``None`` if it is."""
    shared = len(set(header) & set(columns))
    if len(set(header)) == len(header) and shared * 2 >= min(len(header), len(columns)):
        return None
    names = ", ".join(header)
    shown = names if len(names) <= _MOST_SHOWN else f"{names[:_MOST_SHOWN]}..."
    return f"its header is {shown!r}, and the rows have other columns; choose another file, or overwrite it with -O"
