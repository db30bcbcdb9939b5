"""Reads an XML sitemap or index with the fast path, the strict parser or the tolerant parser.

Spec: https://www.sitemaps.org/protocol.html. The fast path reads the usual output of
generators, the strict parser everything else that is well-formed, and the tolerant
parser the rest.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from lxml import etree

from sitemap_harvest.formats.collector import LimitReached
from sitemap_harvest.formats.xml.entries import EntryReader
from sitemap_harvest.formats.xml.fast import FastReader, NotExplained
from sitemap_harvest.formats.xml.strict import NotWellFormed, read_apart, read_strictly
from sitemap_harvest.model import Kind

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.formats.source import Source
    from sitemap_harvest.model import UrlBatch

_ENOUGH_BYTES = 1024 * 1024  # per step: some 5,000 entries, so that the cost of a step is negligible

_PROLOG = re.compile(
    rb"""(?:<\?xml[ ]version=["']1\.0["'](?:[ ]encoding=["'][A-Za-z0-9._-]+["'])?(?:[ ]standalone=["']\w+["'])?[ ]?\?>)?
    (?:[ \t\r\n]++|<\?(?![xX][mM][lL]\s)[^<>?]*+\?>|<!--[^-]*+(?:-[^-]++)*+-->)*+
    <((?:[A-Za-z_][\w.-]*:)?)urlset(?:\s[^<>&]*+)?(?<!/)>(?:[ \t\r\n]++|<!--[^-]*+(?:-[^-]++)*+-->)*+(?=<\1url>)""",
    re.VERBOSE,
)
_MAX_SHARED_BYTES = 2048
_ENOUGH_FOR_DECLARATION = 64 * 1024  # bytes, with the whitespace before it
_DECLARATION = re.compile(rb"<\?xml\s[^<>?]*+\?>")
_NAMESPACE = re.compile(r"(?:https?:)?//www\.(?:sitemaps\.org|google\.com)/schemas/sitemap/")
_XML_WHITESPACE = b" \t\r\n"  # Python's white space includes more than XML's
_LINE_END = b"\n"[0]
_POSITION = re.compile(r",? line ([0-9]+)(, column [0-9]+)?")  # in messages of libxml2


class _Prolog(NamedTuple):
    """Everything before the first entry."""

    data: bytes
    prefix: str
    """The prefix of the root's name with its colon, or empty."""
    end_tag: bytes
    """The end of the root."""
    namespaces: dict[str | None, str]
    """The namespaces that the root declares, by prefix."""


class Rest(NamedTuple):
    """The part of a document that the fast path leaves to the strict parser."""

    blocks: Iterator[bytes]
    """A separate document: the prolog, then the remaining entries."""
    entries: int = 0
    """Number of entries read before."""
    lines: int = 0
    """Number of lines before, which are not in :attr:`blocks`."""
    prolog_lines: int = 0
    """Number of whole lines before the first entry in :attr:`blocks`."""
    shares_line: bool = False
    """Whether that entry is on a line with the prolog, without the entries read before: its columns are unknown."""

    def in_document(self, message: str) -> str:
        """Return *message* of the strict parser with the positions in the whole document, as far as they are known."""
        return _POSITION.sub(self._in_document, message) if self.entries else message

    def _in_document(self, position: re.Match[str]) -> str:
        line, column = int(position[1]), position[2]
        if line <= self.prolog_lines:
            return position[0]
        if self.shares_line and line == self.prolog_lines + 1:
            return f", line {line + self.lines}" if column else ""  # without a column: maybe an element of the prolog
        return position[0].replace(position[1], str(line + self.lines), 1)


def read_sitemap(source: Source, kind: Kind, into: Collector, *, fast_path: bool) -> Iterator[UrlBatch]:
    """Read the sitemap or index in *source*, yielding batches."""
    into.problems.is_well_formed = True  # until a flaw is found
    blocks, lines = _from_declaration(source.utf8(into.problems), into)
    rest: Rest | None = Rest(blocks, lines=lines)
    if fast_path and kind is Kind.SITEMAP:
        rest = yield from read_fast(blocks, into, lines)
    if rest is None:
        return
    reader = EntryReader(into, kind, read=rest.entries, line=rest.lines)
    try:
        yield from read_strictly(rest.blocks, reader, into)
    except NotWellFormed as reason:
        from sitemap_harvest.formats.xml.tolerant import read_tolerantly  # few documents need it

        # The entries read so far are well-formed: the tolerant parser skips as many children of the root.
        into.problems.is_well_formed = False
        into.problems.forget_reading()
        if reason.is_flaw and "xml/not-well-formed" not in into.problems:
            line = reason.line and reason.line + rest.lines
            into.problems.add("xml/not-well-formed", rest.in_document(str(reason)), line=line)
        yield from read_tolerantly(source.text(into.problems), reader, into)


def _from_declaration(blocks: Iterator[bytes], into: Collector) -> tuple[Iterator[bytes], int]:
    """Return *blocks* without whitespace before an XML declaration, and the number of its line ends.

    Records that this is not well-formed. A program that prints an empty line first is the usual cause, and all else is
    usually right.
    """
    first = next(blocks, b"")
    while first[:1].isspace() and b"?>" not in first and len(first) < _ENOUGH_FOR_DECLARATION:
        if not (more := next(blocks, b"")):
            break
        first += more
    start = first if first.startswith(b"<") else first.lstrip(_XML_WHITESPACE)
    declaration = None if start is first else _DECLARATION.match(start)
    if declaration is None:
        return chain([first], blocks), 0
    space = first[: len(first) - len(start)]
    try:
        etree.fromstring(space + declaration[0] + b"<urlset/>")
    except etree.XMLSyntaxError as error:
        into.problems.add("xml/not-well-formed", error.msg, line=error.lineno)
    line = _lines(space) + 1
    into.problems.add("xml/bad-declaration", line=line, excerpt=declaration[0].decode(errors="replace"))
    return chain([start], blocks), line - 1


def read_fast(blocks: Iterator[bytes], into: Collector, lines: int = 0) -> Generator[UrlBatch, None, Rest | None]:
    """Yield the batches of entries as far as possible; return the rest, ``None`` if there is none.

    *lines* is the number of lines before *blocks*.

    Takes about a megabyte of whole entries at a time. What is not well-formed is left to
    the strict parser, with everything after it.
    """
    data = _gather(blocks, b"")
    if (prolog := _prolog(data)) is None:
        return Rest(chain([data], blocks), lines=lines)
    reader = FastReader(prolog.namespaces, prolog.prefix)
    end_of_root = re.compile(rb"[ \t\r\n]*%s[ \t\r\n]*" % re.escape(prolog.end_tag))
    data = data[len(prolog.data) :]
    start = prolog.data.rstrip(_XML_WHITESPACE)
    space = prolog.data[len(start) :]  # kept before the rest, for the columns of its first line
    entries = 0
    while True:
        end = data.rfind(reader.end_tag) + len(reader.end_tag)
        is_last = end_of_root.fullmatch(data, end) is not None
        if is_last and (more := next(blocks, b"")):
            data += more
            break
        size = end if is_last else max(0, data.rfind(reader.start_tag))
        chunk, data = data[:size], data[size:]  # not both at once: they are large
        try:
            found = reader.read(_with_plain_line_ends(chunk), entries)
            odd = into.apart(len(found.texts["position"]))
            if found.odd:
                reader_of_odd = EntryReader(odd, Kind.SITEMAP, line=lines + _lines(space))
                read_apart(start, found.odd, prolog.end_tag, reader_of_odd, odd)
        except (NotExplained, NotWellFormed, LimitReached):
            data = chunk + data
            break
        yield from into.add_columns(found.texts, odd)
        if is_last:
            return None
        entries += found.entries
        body = chunk.rstrip(_XML_WHITESPACE)
        lines += _lines(space + body)
        space = chunk[len(body) :]
        left = len(data)
        data = _gather(blocks, data)
        if len(data) == left:
            break  # the document ends, and the root is still open
    head = start + space
    return Rest(chain([head + data], blocks), entries, lines, _lines(head), shares_line=b"\n" not in space)


def _prolog(data: bytes) -> _Prolog | None:
    """Return everything before the first entry; ``None`` if the fast path does not support the document."""
    if not (match := _PROLOG.match(data)):
        return None
    read = _read_prolog if len(match[0]) <= _MAX_SHARED_BYTES else _read_prolog.__wrapped__
    return read(match[0], match[1].decode())


@lru_cache(maxsize=32)  # documents of a site share it
def _read_prolog(data: bytes, prefix: str) -> _Prolog | None:
    end_tag = f"</{prefix}urlset>".encode()
    try:
        root = etree.fromstring(data + end_tag)
    except etree.XMLSyntaxError:
        return None
    if (own := root.nsmap.get(prefix[:-1] or None)) and not _NAMESPACE.match(own):
        return None
    return _Prolog(data, prefix, end_tag, root.nsmap)


def _with_plain_line_ends(data: bytes) -> bytes:
    """Return *data* with line ends normalized as in XML (https://www.w3.org/TR/xml/#sec-line-ends)."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _lines(data: bytes) -> int:
    """Return the number of line ends in *data*; many times as fast as ``count()``, which stops at each."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == _LINE_END))


def _gather(blocks: Iterator[bytes], start: bytes) -> bytes:
    parts, size = [start], 0
    for block in blocks:
        parts.append(block)
        size += len(block)
        if size >= _ENOUGH_BYTES:
            break
    return b"".join(parts)
