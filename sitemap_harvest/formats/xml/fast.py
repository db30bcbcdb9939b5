"""The fast path: reads sitemaps in the usual form of generators as whole columns.

Takes about a megabyte of whole entries at a time, finds all of their tags at once, and
extracts the columns between them. Every ``<``, ``>``, ``&`` and control character must
be accounted for; otherwise the rest of the document goes to the strict parser, from the
next entry on. The results are the same as the strict parser's, which a differential
test verifies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from lxml import etree

from sitemap_harvest.formats.xml.markup import NotExplained
from sitemap_harvest.formats.xml.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.model import UrlBatch

_ENOUGH_BYTES = 1024 * 1024  # per step: some 5,000 entries, so that the cost of a step is negligible

_PROLOG = re.compile(
    rb"""(?:<\?xml[ ]version=["']1\.0["'](?:[ ]encoding=["'][A-Za-z0-9._-]+["'])?(?:[ ]standalone=["']\w+["'])?[ ]?\?>)?
    (?:[ \t\r\n]++|<\?(?![xX][mM][lL]\s)[^<>?]*+\?>|<!--[^-]*+(?:-[^-]++)*+-->)*+
    <urlset(?:\s[^<>&]*+)?(?<!/)>[ \t\r\n]*+(?=<url>)""",
    re.VERBOSE,
)
_NAMESPACE = re.compile(r"(?:https?:)?//www\.(?:sitemaps\.org|google\.com)/schemas/sitemap/")
_BLANKS = b" \t\r\n"  # Python's white space includes more than XML's
_LINE_END = b"\n"[0]
_END_OF_ENTRY = b"</url>"
_END = re.compile(rb"[ \t\r\n]*</urlset>[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Rest:
    """The part of a document that the fast path leaves to the strict parser."""

    blocks: Iterator[bytes]
    """A separate document: the prolog, then the remaining entries."""
    entries: int = 0
    """Number of entries read before."""
    lines: int = 0
    """Number of lines read before, which are not in :attr:`blocks`."""


def read_fast(blocks: Iterator[bytes], into: Collector) -> Generator[UrlBatch, None, Rest | None]:
    """Yield the batches of plain entries as far as possible; return the rest, ``None`` if there is none."""
    data = _gather(blocks, b"")
    prolog, namespaces = _prolog(data)
    data = data[len(prolog) :]
    shape = Shape(namespaces)
    entries = lines = 0
    while prolog:
        chunk, rest = _cut(data)
        is_last = _END.fullmatch(rest) is not None
        if is_last and (more := next(blocks, b"")):
            data += more
            break
        try:
            texts = shape.texts(chunk)
        except NotExplained:
            break
        yield from into.add_columns(texts)
        if is_last:
            return None
        entries += len(texts["loc"])
        lines += _lines(data) - _lines(rest)
        data = _gather(blocks, rest)
        if len(data) == len(rest):
            break  # the document ends, and the root is still open
    return Rest(_joined(prolog + data, blocks), entries, lines)


def _prolog(data: bytes) -> tuple[bytes, dict[str | None, str]]:
    """Return everything before the first entry, empty if the document is not supported here; and its namespaces."""
    if not (match := _PROLOG.match(data)):
        return b"", {}
    prolog = match[0]
    try:
        root = etree.fromstring(prolog + b"</urlset>")
    except etree.XMLSyntaxError:
        return b"", {}
    if (own := root.nsmap.get(None)) and not _NAMESPACE.match(own):
        return b"", {}
    return prolog, root.nsmap


def _cut(data: bytes) -> tuple[bytes, bytes]:
    """Return the complete entries in *data*, and the rest."""
    end = data.rfind(_END_OF_ENTRY) + len(_END_OF_ENTRY)
    return (data[:end], data[end:].lstrip(_BLANKS)) if end >= len(_END_OF_ENTRY) else (b"", data)


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


def _joined(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
