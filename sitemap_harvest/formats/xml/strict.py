"""The strict parser: well-formed XML through lxml, element by element, with flat memory use.

Nothing is repaired, so nothing can be altered. It stops at the first thing that is not
well-formed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lxml import etree

from sitemap_harvest.formats.source import even
from sitemap_harvest.formats.xml.entries import OddShape
from sitemap_harvest.urls import WHITESPACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.formats.xml.entries import EntryReader
    from sitemap_harvest.formats.xml.fast import OddEntry
    from sitemap_harvest.model import UrlBatch

MAX_NAMESPACE_CHARS = 256
"""Maximum length of a namespace, because it becomes part of the name of each element."""
_FEED_BYTES = 64 * 1024  # measured: the tree of a block of this size stays in the processor's cache
_MAX_UNDRAINED_BYTES = 512 * 1024  # below one child of the root; beyond it: tolerant parser
_DOCTYPE = re.compile(rb"(?:\s|<\?.*?\?>|<!--.*?-->)*+<!doctype\b", re.IGNORECASE | re.DOTALL)
_HAS_DOCTYPE = "the document has a DOCTYPE, whose entities are never expanded"
_LONG_NAMESPACE = re.compile(
    rb"xmlns[^<>\"'=]{0,99}=\s{0,9}(?:\"[^\"<]{%d}|'[^'<]{%d})" % (MAX_NAMESPACE_CHARS, MAX_NAMESPACE_CHARS)
)
_PHP = re.compile(rb"<\?php", re.IGNORECASE)
_OVERLAP_BYTES = MAX_NAMESPACE_CHARS + 200  # the maximum length of its match
_SEPARATOR, _SEPARATOR_TAG = b'<_ xmlns=""/>', "_"
_NOT_APART = "an entry cannot be read apart from the others"
_ROOTS = tuple(
    "{*}" + name
    for word in ("urlset", "urlSet", "sitemapindex", "sitemapIndex")
    for name in {word, word.upper(), word.title()}
)


class NotWellFormed(Exception):  # noqa: N818 - not an error: it selects the tolerant parser
    """The document is not well-formed, or has a shape that the strict parser does not read."""

    def __init__(self, reason: str, *, is_flaw: bool = False, line: int | None = None) -> None:
        super().__init__(reason)
        self.is_flaw = is_flaw  #: Whether the parser found it not well-formed.
        self.line = line  #: Line number, from 1.


def read_strictly(blocks: Iterable[bytes], reader: EntryReader, into: Collector) -> Iterator[UrlBatch]:
    """Read UTF-8 *blocks*, yielding batches. Raises :exc:`NotWellFormed` where strict parsing ends."""
    for root, count in grow(blocks):
        _read_children(root, count, reader, into)
        yield from into.full_batches()
    if root.text:
        _note_stray(root.text, root, reader, into)


def read_apart(
    prolog: bytes, entries: Sequence[OddEntry], end_tag: bytes, reader: EntryReader, into: Collector
) -> None:
    """Read *entries* of one document without those between them.

    *prolog* is everything before the first entry of the document, and *end_tag* that of
    its root. *reader* has the number of lines between these. Raises :exc:`NotWellFormed`,
    also if one of *entries* is not one entry, or another parser must read it.
    """
    parts = [part for entry in entries for part in (_SEPARATOR, entry.data)]
    found, lines = 0, reader.line_before
    for root, count in grow([b"".join([prolog, *parts, end_tag])]):
        for element in root[:count]:
            index, is_entry = divmod(found, 2)
            found += 1
            if not is_entry:
                if element.tag != _SEPARATOR_TAG or len(element) or element.text or element.tail:
                    raise NotWellFormed(_NOT_APART)
                continue
            if index == len(entries):
                raise NotWellFormed(_NOT_APART)
            entry = entries[index]
            reader.position, reader.line_before = entry.before, lines + entry.lines
            lines -= entry.data.count(b"\n")
            _read_child(element, root.tag, reader, into)
            if reader.position != entry.before + 1 or into.refs:
                raise NotWellFormed(_NOT_APART)
    if found != len(parts):
        raise NotWellFormed(_NOT_APART)


def grow(blocks: Iterable[bytes]) -> Iterator[tuple[Any, int]]:
    """Yield the growing root of UTF-8 *blocks*, and how many of its first children are complete.

    Then removes these from it, so that memory use stays flat. The caller must not
    retain one: a referenced element is moved to its own document, which takes lxml n²
    for n children. Raises :exc:`NotWellFormed` where strict parsing ends.
    """
    parser = etree.XMLPullParser(
        events=("start",),
        tag=_ROOTS,
        encoding="utf-8",  # overrides the declaration: the blocks were recoded if necessary
        remove_comments=True,
        remove_pis=True,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        collect_ids=False,
    )
    root, undrained, has_nul = None, 0, False
    try:
        for piece in _pieces(blocks):
            parser.feed(piece)
            _check(parser)
            has_nul = has_nul or b"\0" in piece
            if root is None and (root := _root(parser)) is not None and root.getroottree().docinfo.doctype:
                raise NotWellFormed(_HAS_DOCTYPE)
            undrained = 0 if root is not None and len(root) > 1 else undrained + len(piece)
            if root is not None:
                count = max(0, len(root) - 1)
                yield root, count
                del root[:count]
            if undrained > _MAX_UNDRAINED_BYTES:
                raise NotWellFormed(f"one element has more than {_MAX_UNDRAINED_BYTES} bytes")
        parser.close()
    except etree.XMLSyntaxError as error:
        raise NotWellFormed(error.msg or "not well-formed", is_flaw=True, line=error.lineno) from error
    if root is None:  # the parser stops silently at a NUL
        raise NotWellFormed("the document has no root element of the protocol", is_flaw=has_nul)
    yield root, len(root)


def _pieces(blocks: Iterable[bytes]) -> Iterator[bytes]:
    first, last = True, b""
    for piece in even(blocks, _FEED_BYTES):
        if first and _DOCTYPE.match(piece):
            raise NotWellFormed(_HAS_DOCTYPE)
        first = False
        window = last + piece
        if b"?" in window and _PHP.search(window):
            raise NotWellFormed("the document contains PHP code, possibly inside a URL")
        if _LONG_NAMESPACE.search(window):
            raise NotWellFormed(f"a namespace has more than {MAX_NAMESPACE_CHARS} characters")
        last = piece[-_OVERLAP_BYTES:]
        yield piece


def _check(parser: etree.XMLPullParser[Any]) -> None:
    """Raise :exc:`NotWellFormed` for an error that lxml ignores until the end, such as an undeclared prefix."""
    if len(parser.feed_error_log) and (errors := parser.feed_error_log.filter_from_errors()):
        raise NotWellFormed(errors[0].message, is_flaw=True, line=errors[0].line)


def _root(parser: etree.XMLPullParser[Any]) -> Any:
    for _, element in parser.read_events():
        return element if element.getparent() is None else None
    return None


def _read_children(root: Any, count: int, reader: EntryReader, into: Collector) -> None:
    """Read the first *count* children of *root*."""
    tag, text = root.tag, root.text
    for element in root[:count]:
        _read_child(element, tag, reader, into)
        if text:
            _note_stray(text, root, reader, into)
            text = root.text = None


def _read_child(element: Any, root_tag: str, reader: EntryReader, into: Collector) -> None:
    """Read *element*, and note the text after it."""
    try:
        reader.read(element, root_tag)
    except OddShape as error:
        raise NotWellFormed("a value contains another element") from error
    if (tail := element.tail) and not tail.isspace():
        _note_stray(tail, element, reader, into)


def _note_stray(text: str | None, element: Any, reader: EntryReader, into: Collector) -> None:
    """Record *text* beside the children of the root, after *element* or at the start."""
    if text and (stray := text.strip(WHITESPACE)):
        into.problems.add("xml/stray-text", line=reader.line(element), excerpt=stray)
