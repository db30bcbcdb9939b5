"""By the pattern of the first entry: for sitemaps in which all entries have the same fields and white space.

What stands between the values becomes a separator, and a CSV reader makes the
columns. Nothing but the values may be left then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import pyarrow as pa
from pyarrow import csv

from sitemap_harvest.formats.xml.texts import NotExplained, Texts, finished

_MAX_PATTERN_CHARS = 512  # white space between two values; more is no generator's work
_SMALL_BYTES = 64 * 1024  # the CSV reader costs a millisecond to set up; splitting so much costs less
_FIELD_END, _ENTRY_END = b"\x1f", b"\n"
_NO_CONTROLS = bytes(range(0x20, 256))

_ENTRY = re.compile(
    rb"<url>[ \t\r\n]*(?:<(?:loc|lastmod|changefreq|priority)>[^<>]*</\w+>[ \t\r\n]*)+</url>([ \t\r\n]*)"
)
_FIELD = re.compile(rb"<(\w+)>[^<>]*</(\w+)>([ \t\r\n]*)")


@dataclass(frozen=True, slots=True)
class Template:
    """What stands around the values of every entry."""

    fields: tuple[str, ...]
    before: bytes
    """From ``<url>`` to the first value."""
    between: tuple[bytes, ...]
    """What parts the values of one entry."""
    after: bytes
    """From the last value to ``</url>``."""
    blank: bytes
    """White space between two entries."""

    @classmethod
    def of(cls, chunk: bytes) -> Self:
        """Return the pattern of the first entry of *chunk*. Raises :exc:`NotExplained` if it has none."""
        if not (entry := _ENTRY.match(chunk)):
            raise NotExplained
        body = entry[0][: entry.start(1)]
        found = list(_FIELD.finditer(body, len(b"<url>")))
        names = tuple(field[1].decode() for field in found)
        if any(field[1] != field[2] for field in found) or len(set(names)) < len(names) or "loc" not in names:
            raise NotExplained
        first, last = found[0], found[-1]
        template = cls(
            fields=names,
            before=body[: first.start()] + b"<" + first[1] + b">",
            between=tuple(b"</" + a[1] + b">" + a[3] + b"<" + b[1] + b">" for a, b in pairwise(found)),
            after=b"</" + last[1] + b">" + body[last.start(3) :],
            blank=entry[1],
        )
        if max(map(len, (template.before, template.after, template.blank, *template.between))) > _MAX_PATTERN_CHARS:
            raise NotExplained
        return template

    def texts(self, chunk: bytes) -> Texts:
        """Return the columns of *chunk*, which is whole entries. Raises :exc:`NotExplained`."""
        if not chunk.startswith(self.before) or not chunk.endswith(self.after):
            raise NotExplained
        values = chunk[len(self.before) : -len(self.after)]
        lines = values
        for separator in self.between:
            lines = lines.replace(separator, _FIELD_END)
        lines = lines.replace(self.after + self.blank + self.before, _ENTRY_END)
        controls = len(lines.translate(None, _NO_CONTROLS))
        if b"<" in lines or b">" in lines or controls != self._separators(values, lines):
            raise NotExplained
        try:
            columns = self._columns(lines)
        except pa.ArrowInvalid as error:  # not UTF-8, or a number of values that is not the pattern's
            raise NotExplained from error
        return finished(columns, lines)

    def _columns(self, lines: bytes) -> dict[str, pa.StringArray]:
        """Return the values in *lines* by field. Raises :exc:`pyarrow.ArrowInvalid`."""
        if len(lines) > _SMALL_BYTES:
            table = _read_csv(lines, self.fields)
            return {name: table[name].combine_chunks() for name in self.fields}
        rows = [line.split(_FIELD_END) for line in lines.split(_ENTRY_END)]
        if any(len(row) != len(self.fields) for row in rows):
            raise NotExplained
        columns = zip(*rows, strict=True)
        return {name: pa.array(column, pa.string()) for name, column in zip(self.fields, columns, strict=True)}

    def _separators(self, values: bytes, lines: bytes) -> int:
        """Return how many separators have been put into *lines*, which were *values*."""
        ends = lines.count(_ENTRY_END)
        longer = ends * (len(self.after + self.blank + self.before) - 1)
        longer += (ends + 1) * sum(len(separator) - 1 for separator in self.between)
        if len(values) - len(lines) != longer:
            raise NotExplained
        return ends + (ends + 1) * len(self.between)


def _read_csv(lines: bytes, names: tuple[str, ...]) -> pa.Table:
    return csv.read_csv(
        pa.BufferReader(lines),
        read_options=csv.ReadOptions(column_names=names, use_threads=False, block_size=len(lines) + 1),
        parse_options=csv.ParseOptions(
            delimiter=_FIELD_END.decode(), quote_char=False, double_quote=False, ignore_empty_lines=False
        ),
        convert_options=csv.ConvertOptions(
            column_types={name: pa.string() for name in names}, strings_can_be_null=False, check_utf8=True
        ),
    )
