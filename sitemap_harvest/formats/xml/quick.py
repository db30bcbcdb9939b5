"""The quick lane: sitemaps as generators write them, whole columns at a time.

Takes the document a megabyte of whole entries at a time, finds all tags of
those at once, and takes the columns from between them. Every ``<``, ``>``,
``&`` and control character must be accounted for; where one is not, the rest
of the document goes to the strict lane, from the next entry on. What this lane
reads is what the strict lane would have read; a differential test holds the two
against each other.
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

_ENOUGH_BYTES = 1024 * 1024  # per turn: some 5,000 entries, so that the cost of a turn is nothing

_PROLOG = re.compile(
    rb"""(?:<\?xml[ ]version=["']1\.0["'](?:[ ]encoding=["'][A-Za-z0-9._-]+["'])?(?:[ ]standalone=["']\w+["'])?[ ]?\?>)?
    (?:[ \t\r\n]++|<\?(?![xX][mM][lL]\s)[^<>?]*+\?>|<!--[^-]*+(?:-[^-]++)*+-->)*+
    <urlset(?:\s[^<>&]*+)?(?<!/)>[ \t\r\n]*+(?=<url>)""",
    re.VERBOSE,
)
_NAMESPACE = re.compile(r"(?:https?:)?//www\.(?:sitemaps\.org|google\.com)/schemas/sitemap/")
_BLANKS = b" \t\r\n"  # not all that Python calls white space is so in XML
_LINE_END = b"\n"[0]
_END_OF_ENTRY = b"</url>"
_END = re.compile(rb"[ \t\r\n]*</urlset>[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Rest:
    """What the quick lane leaves to the strict one."""

    blocks: Iterator[bytes]
    """A document of its own: the prolog, then the entries that are left."""
    entries: int = 0
    """Entries that were read before."""
    lines: int = 0
    """Lines that were read before, and are not in :attr:`blocks`."""


def read_quickly(blocks: Iterator[bytes], into: Collector) -> Generator[UrlBatch, None, Rest | None]:
    """Yield the batches of as many entries as are plain; return what is left, ``None`` if nothing is."""
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
            break  # nothing more comes, and the root is still open
    return Rest(_joined(prolog + data, blocks), entries, lines)


def _prolog(data: bytes) -> tuple[bytes, dict[str | None, str]]:
    """Return what comes before the first entry, empty where this lane cannot read the document; and its namespaces."""
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
    """Return the whole entries in *data*, and what follows them."""
    end = data.rfind(_END_OF_ENTRY) + len(_END_OF_ENTRY)
    return (data[:end], data[end:].lstrip(_BLANKS)) if end >= len(_END_OF_ENTRY) else (b"", data)


def _lines(data: bytes) -> int:
    """Return how many lines end in *data*; many times as fast as ``count()``, which stops at each."""
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
