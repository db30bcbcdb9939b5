"""The quick lane: sitemaps as generators write them, whole columns at a time.

Most sitemaps repeat one pattern for every entry. The lane learns the pattern
from the first entry, turns what stands between the values into separators, and
lets a CSV reader make the columns. A guard accounts for every byte: as soon as
one ``<``, ``>``, ``&`` or control character is left that the pattern does not
explain, the rest of the document goes to the strict lane, from the next entry
on. What this lane reads is what the strict lane would have read; a differential
test holds the two against each other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from lxml import etree
from pyarrow import csv

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.model import UrlBatch

_FIELDS = ("loc", "lastmod", "changefreq", "priority")
_ENOUGH_BYTES = 1024 * 1024  # per turn: some 5,000 entries, so that the cost of a turn is nothing
_MAX_PATTERN_CHARS = 512  # white space between two values; more is no generator's work
_SHORTEST_URL = len("http://a")
_Columns = dict[str, pa.StringArray | None]
_FIELD_END, _ENTRY_END = b"\x1f", b"\n"

_PROLOG = re.compile(
    rb"""(?:<\?xml[ ]version=["']1\.0["'](?:[ ]encoding=["'][A-Za-z0-9._-]+["'])?(?:[ ]standalone=["']\w+["'])?[ ]?\?>)?
    (?:\s|<\?(?![xX][mM][lL]\s)[^<>?]*\?>|<!--(?:[^-]|-[^-])*-->)*
    <urlset(?:\s[^<>&]*)?(?<!/)>\s*(?=<url>)""",
    re.VERBOSE,
)
_NAMESPACE = re.compile(
    rb"""\sxmlns=["'](?:https?:)?//www\.(?:sitemaps\.org/schemas/sitemap|google\.com/schemas/sitemap)/"""
)
_FIRST_ENTRY = re.compile(rb"<url>\s*(?:<(loc|lastmod|changefreq|priority)>[^<>]*</\1>\s*)+</url>\s*(?=<)")
_FIELD = re.compile(rb"<(\w+)>[^<>]*</\w+>(\s*)")
_END = re.compile(rb"\s*</urlset>\s*")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&"))  # & last


@dataclass(frozen=True, slots=True)
class _Pattern:
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

    @property
    def entry_separator(self) -> bytes:
        return self.after + self.blank + self.before


class NotCanonical(Exception):  # noqa: N818 - no error: it sends the rest of the document to the strict lane
    """The guard found something that the pattern does not explain."""


@dataclass(frozen=True, slots=True)
class Rest:
    """What the quick lane leaves to the strict one."""

    blocks: Iterator[bytes]
    """A document of its own: the prolog, then the entries that are left."""
    entries: int = 0
    """Entries that were read before."""
    lines: int = 0
    """Lines that were read before, and are not in :attr:`blocks`."""


def read_by_template(blocks: Iterator[bytes], into: Collector) -> Generator[UrlBatch, None, Rest | None]:
    """Yield the batches of as many entries as follow one pattern; return what is left, ``None`` if nothing is."""
    data = _gather(blocks, b"")
    learned = _learn(data)
    if learned is None:
        return Rest(_joined(data, blocks))
    prolog, pattern = learned
    opening = prolog + pattern.before
    data = data[len(opening) :]
    entries = lines = 0
    while True:
        rows, rest = _cut(data, pattern)
        is_last = not rest and _END.fullmatch(data, len(rows) + len(pattern.after)) is not None
        if is_last and (more := next(blocks, b"")):
            return Rest(_joined(opening + data + more, blocks), entries, lines)
        try:
            columns = _columns(rows, pattern) if rows else None
        except NotCanonical:
            return Rest(_joined(opening + data, blocks), entries, lines)
        if columns:
            yield from into.add_columns(columns)
            entries += len(columns["loc"])
        if is_last:
            return None
        lines += data.count(b"\n") - rest.count(b"\n")
        data = _gather(blocks, rest)
        if len(data) == len(rest):
            return Rest(_joined(opening + rest, blocks), entries, lines)


def _gather(blocks: Iterator[bytes], start: bytes) -> bytes:
    parts, size = [start], 0
    for block in blocks:
        parts.append(block)
        size += len(block)
        if size >= _ENOUGH_BYTES:
            break
    return b"".join(parts)


def _joined(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _learn(data: bytes) -> tuple[bytes, _Pattern] | None:
    """Return the prolog of a document and the pattern of its first entry, or ``None`` if it has none."""
    prolog = _PROLOG.match(data)
    entry = prolog and _FIRST_ENTRY.match(data, prolog.end())
    if not prolog or not entry or not _is_plain(prolog[0]):
        return None
    found = list(_FIELD.finditer(entry[0], len(b"<url>")))
    names = tuple(field[1].decode() for field in found)
    body = entry[0]
    first, last = found[0], found[-1]
    if len(set(names)) < len(names) or "loc" not in names:
        return None
    between = tuple(b"</" + a[1] + b">" + a[2] + b"<" + b[1] + b">" for a, b in zip(found, found[1:], strict=False))
    before = body[: first.start()] + b"<" + first[1] + b">"
    end = body.rindex(b"</url>") + len(b"</url>")
    after = b"</" + last[1] + b">" + body[last.start(2) : end]
    pattern = _Pattern(names, before, between, after, body[end:])
    if max(map(len, (before, after, pattern.blank, *between))) > _MAX_PATTERN_CHARS:
        return None
    return prolog[0], pattern


def _is_plain(prolog: bytes) -> bool:
    """Whether the root element is well-formed, and its children are the protocol's."""
    root = prolog[prolog.rindex(b"<urlset") :]
    if b"xmlns=" in root and not _NAMESPACE.search(root):
        return False
    try:
        etree.fromstring(prolog + b"</urlset>")
    except etree.XMLSyntaxError:
        return False
    return True


def _cut(data: bytes, pattern: _Pattern) -> tuple[bytes, bytes]:
    """Return the whole entries in *data*, without what ends the last one, and what follows them."""
    end = data.rfind(pattern.after)
    if end >= 0 and _END.fullmatch(data, end + len(pattern.after)):
        return data[:end], b""
    separator = pattern.entry_separator
    end = data.rfind(separator)
    return (data[:end], data[end + len(separator) :]) if end >= 0 else (b"", data)


def _columns(rows: bytes, pattern: _Pattern) -> _Columns:
    """Return the texts of the fields of *rows*; ``None`` for a field that the pattern has not."""
    text = rows
    for separator in pattern.between:
        text = text.replace(separator, _FIELD_END)
    text = text.replace(pattern.entry_separator, _ENTRY_END)
    separators = _separators(rows, text, pattern)
    if b"<" in text or b">" in text or _count_control_characters(text) != separators:
        raise NotCanonical
    if not text.isascii() and (b"\xef\xbf\xbe" in text or b"\xef\xbf\xbf" in text):
        raise NotCanonical  # U+FFFE and U+FFFF, which XML forbids
    try:
        table = _read_csv(text, pattern.fields)
    except pa.ArrowInvalid as error:  # not UTF-8, or a number of values that is not the pattern's
        raise NotCanonical from error
    columns: _Columns = {name: None for name in _FIELDS}
    columns |= {name: table[name].combine_chunks() for name in pattern.fields}
    if pc.min(pc.binary_length(columns["loc"])).as_py() < _SHORTEST_URL:
        raise NotCanonical
    return _without_entities(columns, text) if b"&" in text else columns


def _separators(rows: bytes, text: bytes, pattern: _Pattern) -> int:
    """Return how many separators the replacing has put into *text*."""
    entries = text.count(_ENTRY_END) + 1
    expected = (entries - 1) * (len(pattern.entry_separator) - 1) + entries * sum(len(s) - 1 for s in pattern.between)
    if len(rows) - len(text) != expected:
        raise NotCanonical
    return (entries - 1) + entries * len(pattern.between)


def _count_control_characters(text: bytes) -> int:
    values = pa.UInt8Array.from_buffers(pa.uint8(), len(text), [None, pa.py_buffer(text)])
    return int(pc.less(values, pa.scalar(32, pa.uint8())).true_count)


def _read_csv(text: bytes, names: tuple[str, ...]) -> pa.Table:
    return csv.read_csv(
        pa.BufferReader(text),
        read_options=csv.ReadOptions(column_names=names, use_threads=False, block_size=max(len(text), 1) + 1),
        parse_options=csv.ParseOptions(
            delimiter=_FIELD_END.decode(), quote_char=False, double_quote=False, ignore_empty_lines=False
        ),
        convert_options=csv.ConvertOptions(
            column_types={name: pa.string() for name in names}, strings_can_be_null=False, check_utf8=True
        ),
    )


def _without_entities(columns: _Columns, text: bytes) -> _Columns:
    if text.count(b"&") != sum(text.count(entity.encode()) for entity, _ in _ENTITIES):
        raise NotCanonical
    decoded = dict(columns)
    for entity, character in _ENTITIES:
        for name, column in decoded.items():
            if column is not None:
                decoded[name] = pc.replace_substring(column, entity, character)
    return decoded
