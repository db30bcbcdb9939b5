"""Item exporters for batches: their base, and those of JSON Lines, JSON, XML and Parquet.

Each accepts the options of Scrapy's exporter for its format. Single rows are collected
into batches first, so each format has one way of writing; items of other kinds go to
Scrapy's exporter.
"""

from __future__ import annotations

import codecs
import io
import json
import logging
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from xml.sax.saxutils import XMLGenerator

import pyarrow as pa
from itemadapter import ItemAdapter
from lxml import etree
from scrapy import exporters

from sitemap_harvest.errors import OptionError
from sitemap_harvest.export import json_objects, utf8_bytes, without_forbidden, xml_elements
from sitemap_harvest.integration.items.item_processor import BATCHES
from sitemap_harvest.integration.items.lost_items import WRITE_ERRORS, LostRows
from sitemap_harvest.model import Batch, counted
from sitemap_harvest.model.batch import JSON, added_column, column_of, converted
from sitemap_harvest.model.plain_columns import for_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import IO


logger = logging.getLogger(__name__)

MOST_ITEMS = 1000
"""Single rows are written together from this number on."""
_MOST_ROWS = 4000  # rows of batches are written together from this number on, because sitemaps may be small
_MOSTBATCHES = 128  # or batches: a small one may keep 100 KB of its document in memory
_GROUP_ROWS = 20_000  # of Parquet: large enough to compress well, some 10 MB in memory
_FEW_VALUES = (
    "site", "sitemap", "lastmod_precision", "changefreq", "priority", "priority_text", "found_by", "outcome",
    "kind", "sitemap_before", "reason", "pattern", "run", "baseline",
)  # fmt: skip


_JSON_ESCAPES = "sitemap_harvest.json"  # the name of an error handler


_MARKED = {
    "utf-8-sig": (codecs.BOM_UTF8, "utf-8"),
    "utf-16": (codecs.BOM_UTF16_LE, "utf-16-le"),
    "utf-32": (codecs.BOM_UTF32_LE, "utf-32-le"),
}
"""Encodings that begin with a byte order mark, with the mark and the encoding of the rest."""


class BatchExporter(exporters.BaseItemExporter):
    """Base of the exporters: selects columns, and collects rows and small batches into large batches."""

    accepts_batches = True
    can_append = True
    """Whether the file may already have contents;
    :class:`~sitemap_harvest.integration.items.feed_exporter.FeedExporter` checks it before opening a file."""
    has_columns = False
    """Whether each row has all columns of the file, and no names of its own."""
    holds_all_kinds = False
    """Whether a file can hold several kinds of items, each with its columns."""
    _waiting: list[Any]
    """Batches of one kind, or rows of one kind."""
    _waiting_rows: int = 0
    left_out: Counter[str]
    """Values that the file has no place for, by field."""
    cut: Counter[str]
    """Values that are too long for the file, and are cut, by field."""
    missing: frozenset[str]
    """The fields that the options name and that no item had so far."""
    lost: LostRows | None = None
    """Where to count rows that cannot be written; if ``None``, such a row raises an error."""

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        mark, options["encoding"] = _MARKED.get(_codec(options.get("encoding")), (b"", options.get("encoding")))
        if mark and not has_content(file):  # once in a file, and not before each block
            file.write(mark)
        super().__init__(file, **options)  # type: ignore[call-arg, arg-type]  # Scrapy's exporter comes next in line
        self._waiting = []
        self.left_out, self.cut = Counter(), Counter()
        self.missing = frozenset(renamed(self.fields_to_export or ()))
        if self.can_append:
            _end_cut_line(file, self.encoding)

    @property
    def has_all_values(self) -> bool:
        """Whether the file has all values of the rows in it."""
        return not (self.left_out or self.cut)

    def flaws(self) -> Iterator[str]:
        """Yield what is wrong with the values in the file, as text."""
        for how, fields in (("left out", self.left_out), ("cut: a cell can hold 32,767 characters", self.cut)):
            for name, values in fields.items():
                yield f"{counted(values, 'value')} of the field {name} {'is' if values == 1 else 'are'} {how}"

    def export_item(self, item: Any) -> None:
        """Write *item*, possibly later: a batch, a row of one, or any other item."""
        is_batch = isinstance(item, Batch)
        if not is_batch and type(item) not in BATCHES:
            self._flush()
            self._write_single(item)
            return
        if self._waiting and type(item) is not type(self._waiting[0]):
            self._flush()
        self._waiting.append(item)
        self._waiting_rows += len(item) if is_batch else 1
        if self._waiting_rows >= _MOST_ROWS or len(self._waiting) >= (_MOSTBATCHES if is_batch else MOST_ITEMS):
            self._flush()

    def finish_exporting(self) -> None:
        """Write the buffered rows, and the end of the file."""
        self._flush()
        super().finish_exporting()

    def _flush(self) -> None:
        waiting, self._waiting, self._waiting_rows = self._waiting, [], 0
        if not waiting:
            return
        kind = type(waiting[0])
        if issubclass(kind, Batch):
            self._write_batch(kind.joined(waiting))
            return
        try:
            batch = BATCHES[kind].of(waiting)
        except (pa.ArrowException, TypeError, ValueError, AttributeError):
            self._write_changed(waiting)
        else:
            self._write_batch(batch)

    def _write_batch(self, batch: Batch[Any]) -> None:
        try:
            self._write(batch)
        except Exception as error:  # noqa: BLE001 - whatever it is, it concerns only these rows
            self._lose(batch, error)

    def _write_single(self, item: Any) -> None:
        if self.missing:
            self.missing -= ItemAdapter(item).keys()
        try:
            self._write_other(item)
        except Exception as error:  # noqa: BLE001 - the same
            self._lose(item, error)

    def _lose(self, item: Any, error: Exception) -> None:
        """Count *item*, or the rows of a batch. Raises *error* if it concerns the file, or if nothing counts them."""
        if self.lost is None or isinstance(error, WRITE_ERRORS):
            raise error
        self.lost.add(item, error.with_traceback(None))

    def _write_changed(self, rows: list[Any]) -> None:
        """Write *rows* of one kind where a pipeline has set a value that the column cannot hold."""
        self._write_batch(BATCHES[type(rows[0])].of_changed(rows))

    def _count_left_out(self, name: str, values: int) -> None:
        """Count *values* of a field that the file has no column for, and log the first."""
        if values and not self.left_out:
            logger.error(
                "Values of the field %s are left out of a file: its header line or its first rows do not have this "
                "field, or have values of another type. List all fields in the option fields of the feed, or in "
                "FEED_EXPORT_FIELDS",
                name,
            )
        if values:
            self.left_out[name] += values

    def _fitted(self, columns: Mapping[str, pa.Array], schema: pa.Schema) -> pa.RecordBatch:
        """Return *columns*, at least one, with the names and types of *schema*, and count values that do not fit."""
        rows = len(next(iter(columns.values())))
        made = {field.name: pa.nulls(rows, field.type) for field in schema}
        for name, column in columns.items():
            try:
                made[name] = converted(column, made[name].type)
            except (KeyError, pa.ArrowException, TypeError, ValueError, OverflowError):
                self._count_left_out(name, rows - column.null_count)
        return pa.RecordBatch.from_arrays([made[name] for name in schema.names], schema=schema)

    def _write(self, batch: Batch[Any]) -> None:
        raise NotImplementedError

    def _write_other(self, item: Any) -> None:
        super().export_item(item)  # type: ignore[safe-super]  # Scrapy's exporter comes next in line

    def _columns(self, batch: Batch[Any]) -> dict[str, pa.Array]:
        """Return the columns to write by their names in the file, as set by ``FEED_EXPORT_FIELDS``."""
        missing = pa.nulls(len(batch), pa.string())
        known = batch.arrow.schema.names
        include_all = self.export_empty_fields or self.has_columns
        self.missing = self.missing.difference(known)
        return {
            out: self._prepared(batch[name]) if name in known else missing
            for name, out in self._names(batch).items()
            if name in known or include_all
        }

    _prepared = staticmethod(for_text)
    """Returns a column with a type that the format has."""

    def _names(self, batch: Batch[Any]) -> Mapping[str, str]:
        """Return the columns to write, with their names in the file."""
        return renamed(batch.arrow.schema.names if self.fields_to_export is None else self.fields_to_export)


def renamed(fields: Any) -> dict[str, str]:
    """Return the names of *fields*, a list or a mapping, with their names in the file."""
    return dict(fields) if hasattr(fields, "items") else {name: name for name in fields}


def typed(schema: pa.Schema) -> pa.Schema:
    """Return *schema*, where added columns without any value yet are text."""
    for at, field in enumerate(schema):
        if pa.types.is_null(field.type):
            schema = schema.set(at, field.with_type(pa.string()))
    return schema


def _codec(encoding: str | None) -> str:
    return codecs.lookup(encoding or "utf-8").name


def encoded(texts: pa.StringArray, encoding: str | None, errors: str = "strict") -> bytes | memoryview:
    """Return the bytes of *texts*, one after the other. *encoding*: ``None`` for UTF-8."""
    data = utf8_bytes(texts)
    if _codec(encoding) == "utf-8":
        return data
    return bytes(data).decode("utf-8").encode(encoding or "utf-8", errors)


def has_content(file: IO[bytes]) -> bool:
    """Whether *file* had contents when it was opened for appending; standard output counts as new, as in a pipe."""
    opened = getattr(file, "file", file)  # inside Scrapy's postprocessing, which may write a header
    if opened is getattr(sys.stdout, "buffer", None):
        return False
    try:
        return os.fstat(opened.fileno()).st_size > 0
    except (OSError, AttributeError):  # it is in memory
        return False


def _end_cut_line(file: IO[bytes], encoding: str | None) -> None:
    """End the last line of *file* if a killed run left it incomplete: no row may be appended to it."""
    is_plain_file = isinstance(getattr(file, "name", None), str) and has_content(file) and Path(file.name).is_file()
    if not is_plain_file or "\n".encode(encoding or "utf-8") != b"\n":
        return
    with Path(file.name).open("rb") as written:
        written.seek(-1, os.SEEK_END)
        is_cut = written.read() != b"\n"
    if is_cut:
        file.write(b"\n")


def _json_escapes(error: UnicodeError) -> tuple[str, int]:
    r"""Return characters that an encoding lacks as JSON has them, such as ``\u20ac``."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error(_JSON_ESCAPES, _json_escapes)


class _JsonTextExporter(BatchExporter):
    """Base of the JSON exporters: what the encoding lacks is escaped, as JSON allows in every text."""

    encoder: Any

    def _write_changed(self, rows: list[Any]) -> None:
        for row in rows:  # each value with its own JSON type
            self._write_single(row)

    def _write_other(self, item: Any) -> None:
        try:
            super()._write_other(item)
        except UnicodeEncodeError:
            if self.lost is None:  # as Scrapy does
                raise
            self.encoder.ensure_ascii = True
            try:
                super()._write_other(item)
            finally:
                self.encoder.ensure_ascii = False


class JsonLinesExporter(_JsonTextExporter, exporters.JsonLinesItemExporter):
    """One JSON object per line. Every line has every field, ``null`` if it is absent."""

    def _write(self, batch: Batch[Any]) -> None:
        ascii_only = bool(self._kwargs["ensure_ascii"])
        lines = json_objects(self._columns(batch), len(batch), ascii_only=ascii_only, end="\n")
        self.file.write(encoded(lines, self.encoding, _JSON_ESCAPES))


class JsonExporter(_JsonTextExporter, exporters.JsonItemExporter):
    """One JSON array of objects."""

    can_append = False

    def start_exporting(self) -> None:
        """Write the beginning of the array."""
        self._put("[")
        self._beautify_newline()

    def finish_exporting(self) -> None:
        """Write the buffered rows, and the end of the array."""
        self._flush()
        self._beautify_newline()
        self._put("]")

    def _put(self, text: str) -> None:
        self.file.write(text.encode(self.encoding or "utf-8"))  # Scrapy writes ASCII, also into UTF-16

    def _beautify_newline(self) -> None:
        if self.indent is not None:
            self._put("\n")

    def _add_comma_after_first(self) -> None:
        if not self.first_item:
            self._put(",")
            self._beautify_newline()
        self.first_item = False

    def _write(self, batch: Batch[Any]) -> None:
        if self.indent:
            self._write_changed(list(batch.rows()))
        elif len(batch):
            end = "," if self.indent is None else ",\n"
            ascii_only = bool(self._kwargs["ensure_ascii"])
            objects = json_objects(self._columns(batch), len(batch), ascii_only=ascii_only, end=end)
            data = encoded(objects, self.encoding, _JSON_ESCAPES)[: -len(end.encode(self.encoding or "utf-8"))]
            self._add_comma_after_first()
            self.file.write(data)


class XmlExporter(BatchExporter, exporters.XmlItemExporter):
    """One element per row, one child element per present field.

    A character that XML cannot contain becomes U+FFFD, and is logged.
    """

    can_append = False
    _has_replaced = False

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        if _codec(options.get("encoding")) == "iso8859-1":
            options["encoding"] = "iso-8859-1"  # readers of XML do not know Python's name latin-1
        super().__init__(file, **options)

    def _write(self, batch: Batch[Any]) -> None:
        end = "\n" if self.indent == 0 else ""
        elements = xml_elements(self._columns(batch), len(batch), name=self.item_element, end=end, mend=self._mend)
        if self.indent:
            elements = pa.array(_indented(text, self.indent) for text in elements.to_pylist())
        self.stream.flush()
        self.stream.buffer.write(encoded(elements, self.encoding, "xmlcharrefreplace"))

    def _write_other(self, item: Any) -> None:
        """Write *item* as a whole, or nothing if that fails: a half of an element would make the file unreadable."""
        generator, text = self.xg, io.StringIO()
        self.xg = XMLGenerator(text, encoding=self.encoding or "utf-8")
        try:
            super()._write_other(item)
        finally:
            self.xg = generator
        self.stream.write(text.getvalue())

    def _mend(self, text: str) -> str:
        if not self._has_replaced:
            self._has_replaced = True
            logger.warning(
                "XML cannot represent some characters of %r: they become U+FFFD; other formats preserve them", text
            )
        return without_forbidden(text)


def compressed_exporter(*_args: Any, **_options: Any) -> NoReturn:
    """Raise an error: the entry for a compression in ``FEED_EXPORTERS``, which only our feed exporter replaces."""
    raise OptionError("compressed outputs such as urls.jsonl.gz need the feed exporter of sitemap_harvest")


def _indented(text: str, width: int) -> str:
    """Return the element *text* on separate lines, with its children indented."""
    element = etree.fromstring(text)
    etree.indent(element, " " * width, level=1)
    return f"{' ' * width}{etree.tostring(element, encoding='unicode')}\n"


class TypedExporter(BatchExporter):
    """Base of the exporters of typed columns, which pyarrow writes to the file, and not text."""

    can_append = False
    has_columns = True

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        options.setdefault("dont_fail", True)
        exporters.BaseItemExporter.__init__(self, **options)
        self._waiting = []
        self.left_out, self.cut = Counter(), Counter()
        self.missing = frozenset(renamed(self.fields_to_export or ()))
        self._file = file


class ParquetExporter(TypedExporter):
    """Apache Parquet with typed columns, also nested ones; zstd.

    Row groups span batches and sitemaps. For items of other kinds, the first 1,000
    items determine the columns. A file contains one kind of items, that of the first
    item: others are lost.
    """

    _prepared = staticmethod(lambda column: column)  # it has all types

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(file, **options)
        self._kind: type[Batch[Any]] | None = None
        self._writer: Any = None
        self._group: list[pa.RecordBatch] = []
        self._group_rows = 0
        self._others: list[dict[str, Any]] = []
        self._has_left_out = False

    def finish_exporting(self) -> None:
        """Write the buffered rows, and the end of the file."""
        self._flush()
        self._write_others()
        self._open(pa.schema([]))
        if self._group:
            self._write_group()
        self._writer.close()

    def _write(self, batch: Batch[Any]) -> None:
        columns = self._columns(batch)
        schema = batch.arrow.schema
        fields = [
            schema.field(name).with_name(out).with_type(columns[out].type)
            if name in schema.names
            else pa.field(out, pa.string())
            for name, out in self._names(batch).items()
        ]
        made = pa.RecordBatch.from_arrays(list(columns.values()), schema=pa.schema(fields, metadata=schema.metadata))
        is_other = self._writer is not None and made.schema != self._schema and type(batch) is not self._kind
        first = self._others[0] if self._others and self._writer is None else None  # the file is of its kind
        if is_other or (first and not _fits(first, made.schema)):
            self._leave_out(batch, made.schema.names)
        else:
            self._keep(made, type(batch))

    def _keep(self, columns: pa.RecordBatch, kind: type[Batch[Any]] | None) -> None:
        """Keep *columns* for the next group of rows. *kind*: that of the rows; ``None`` for other items."""
        if self._writer is None:
            self._kind = kind
        self._open(columns.schema)
        if columns.schema != self._schema:
            columns = self._fitted({name: columns[name] for name in columns.schema.names}, self._schema)
        self._group.append(columns)
        self._group_rows += columns.num_rows
        if self._group_rows >= _GROUP_ROWS:
            self._write_group()

    def _write_group(self) -> None:
        group, self._group, self._group_rows = self._group, [], 0
        self._writer.write_table(pa.Table.from_batches(group, self._schema))

    def _leave_out(self, item: Any, columns: Iterable[str]) -> None:
        """Count *item*, or the rows of a batch, and log the first. *columns*: those it has."""
        if self.lost is not None:
            self.lost.add(item, TypeError("the file holds another kind of item"))
        if not self._has_left_out:
            self._has_left_out = True
            logger.error(
                "A Parquet file can hold only one kind of item. This one has the columns %s; items with the columns %s "
                "are left out: give each kind its own feed with item_classes",
                ", ".join(self._schema.names if self._writer else self._others[0]),
                ", ".join(columns),
            )

    def _open(self, schema: pa.Schema) -> None:
        """Create the writer at the first call, with the columns of *schema*."""
        if self._writer is None:
            self._schema = typed(schema)
            self._writer = self._new_writer(self._schema)

    def _new_writer(self, schema: pa.Schema) -> Any:
        from pyarrow.parquet import ParquetWriter  # other formats do not need it

        few = [name for name in _FEW_VALUES if name in schema.names and not pa.types.is_nested(schema.field(name).type)]
        return ParquetWriter(self._file, schema, compression="zstd", use_dictionary=few or False)

    def _write_changed(self, rows: list[Any]) -> None:
        if self._writer is None and not self._others:
            super()._write_changed(rows)
            return
        for row in rows:
            self._write_other(row)

    def _write_other(self, item: Any) -> None:
        self._others.append(dict(self.get_serialized_fields(item)))
        if len(self._others) >= MOST_ITEMS:
            self._write_others()

    def _write_others(self) -> None:
        items, self._others = self._others, []
        if self._writer is not None:
            items = self._fitting(items, self._schema)
        if not items:
            return
        names = dict.fromkeys(name for item in items for name in item)
        columns = {name: [item.get(name) for item in items] for name in names}
        if self._writer is None:
            self._keep(pa.RecordBatch.from_pydict({name: added_column(columns[name]) for name in names}), None)
        else:
            self._keep(self._fitted_values(columns, self._schema), self._kind)

    def _fitted_values(self, columns: Mapping[str, list[Any]], schema: pa.Schema) -> pa.RecordBatch:
        """Return *columns* with the names and types of *schema*, and count values that do not fit."""
        kinds = {field.name: field.type for field in schema}
        return self._fitted({name: self._column(name, columns[name], kinds.get(name)) for name in columns}, schema)

    def _column(self, name: str, values: list[Any], kind: pa.DataType | None) -> pa.Array:
        if kind is None or kind in {JSON, pa.string()}:
            return added_column(values)
        try:
            return column_of(values, kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
            if len(values) > 1:
                return pa.concat_arrays([self._column(name, [value], kind) for value in values])
        try:
            return converted(added_column(values), kind)  # an instant as ISO text
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            self._count_left_out(name, 1)
            return pa.nulls(1, kind)

    def _fitting(self, items: list[dict[str, Any]], schema: pa.Schema) -> list[dict[str, Any]]:
        """Return the *items* that fit *schema*; others are of another kind, or lack a value."""
        fitting = []
        for item in items:
            if _fits(item, schema):
                fitting.append(item)
            else:
                self._leave_out(item, item)
        return fitting


def _fits(item: Mapping[str, Any], schema: pa.Schema) -> bool:
    """Whether *item* is of the kind of *schema*: it has a field of it, if there are any, and all that need a value."""
    needed = [field.name for field in schema if not field.nullable]
    has_field = not schema.names or bool(item.keys() & set(schema.names))
    return has_field and all(item.get(name) is not None for name in needed)
