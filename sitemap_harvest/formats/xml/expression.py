"""By an expression: for sitemaps whose entries leave fields out, or differ in their white space.

One regular expression finds all entries of a chunk. The counts of what makes
markup then tell whether it has found everything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from sitemap_harvest.formats.xml.texts import FIELDS, FORBIDDEN, NotExplained, Texts, finished

_LEARNED_BYTES = 64 * 1024
_TAG = re.compile(rb"<(url|loc|lastmod|changefreq|priority)>")
_BLANKS = rb"[ \t\n]*+"
_SEAM = re.compile(rb"</url>" + _BLANKS + rb"(?:<url>|\Z)")
_ALLOWED = bytes({*range(256)} - FORBIDDEN)


@dataclass(frozen=True, slots=True)
class Expression:
    """Finds the entries whose fields, as far as they are there, stand in one order."""

    fields: tuple[str, ...]
    pattern: re.Pattern[bytes]

    @classmethod
    def of(cls, chunk: bytes) -> Self:
        """Return the expression for entries such as those at the start of *chunk*. Raises :exc:`NotExplained`."""
        names = b" ".join(match[1] for match in _TAG.finditer(chunk, 0, _LEARNED_BYTES)).decode()
        orders = {tuple(entry.split()) for entry in names.split("url")} - {()}
        longest = max(orders, key=len, default=())
        for fields in (FIELDS, longest):
            if all(_is_within(order, fields) for order in orders):
                return cls(fields, re.compile(_entry(fields)))
        raise NotExplained

    def texts(self, chunk: bytes) -> Texts:
        """Return the columns of *chunk*, which is whole entries. Raises :exc:`NotExplained`."""
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")  # as XML has it
        if chunk.translate(None, _ALLOWED):
            raise NotExplained
        entries = self.pattern.findall(chunk)
        if not entries:
            raise NotExplained
        values = dict(zip(self.fields, zip(*entries, strict=True), strict=True))
        if any(map(bytes.isspace, values["loc"])) or len(_SEAM.findall(chunk)) != len(entries):
            raise NotExplained
        tags = 2 * (len(entries) + sum(len(entries) - column.count(b"") for column in values.values()))
        if chunk.count(b"<") != tags or chunk.count(b">") != tags:
            raise NotExplained
        try:
            columns = {name: _column(column) for name, column in values.items() if any(column)}
        except pa.ArrowInvalid as error:  # not UTF-8
            raise NotExplained from error
        return finished(columns, chunk)


def _entry(fields: tuple[str, ...]) -> bytes:
    """Return the expression for an entry; a value is never empty, so an empty group is a field that is not there."""
    value = rb"([^<]++)"  # a > in it would be one too many for the tags
    found = b""
    for name in (field.encode() for field in fields):
        element = rb"<%b>%b</%b>%b" % (name, value, name, _BLANKS)
        found += element if name == b"loc" else rb"(?:%b)?+" % element
    return rb"<url>%b%b</url>" % (_BLANKS, found)


def _is_within(order: tuple[str, ...], fields: tuple[str, ...]) -> bool:
    """Whether *order* is *fields* with some left out."""
    rest = iter(fields)
    return all(name in rest for name in order)


def _column(values: tuple[bytes, ...]) -> pa.StringArray:
    return pa.array([value or None for value in values], pa.string())
