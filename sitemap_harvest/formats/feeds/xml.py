"""Reader of XML feeds, item by item: RSS of all versions, Atom, CDF.

Specs: https://www.rssboard.org/rss-specification,
https://web.resource.org/rss/1.0/spec, https://www.rfc-editor.org/rfc/rfc4287,
https://www.w3.org/TR/NOTE-CDFsubmit.html. Reads tokens, like the tolerant XML parser:
feeds are small, and often not well-formed. An incomplete item at the end is left out:
its link may be missing, and another URL in it would not be the page.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sitemap_harvest.formats.feeds.items import ADDRESSES, FEED_PREFIXES, PAGE_TEXT, ItemReader, joined
from sitemap_harvest.formats.xml.elements import Element, Namespaces, TokenReader
from sitemap_harvest.formats.xml.extensions import Names
from sitemap_harvest.formats.xml.tokens import Token, attributes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.model import UrlBatch

_ITEMS = frozenset({"item", "entry"})
_MAX_DEPTH = 64  # nesting depth, around an item or in one
_MAX_NODES = 10_000  # elements of one item and their attributes, without the text of the page
_MAX_TOKENS = 300_000  # tags and texts without an item: more than the largest item has
_MAX_VALUE_CHARS = 64 * 1024  # text of one element; a URL has 2,048
_MAX_ITEM_CHARS = 1024 * 1024  # texts and attributes of one item, without the text of the page
_BROKEN_ADDRESS = re.compile(  # its end is unknown: a quote inside, or none at the end
    r"(?:^|[\s\"'])href\s*=\s*(?:\"[^\"]*(?:\Z|\"(?![\s/]|\Z|[^\s=\"'<>/]+\s*=\s*[\"']))"
    r"|'[^']*(?:\Z|'(?![\s/]|\Z|[^\s=\"'<>/]+\s*=\s*[\"'])))",
    re.IGNORECASE,
)


def read_xml_feed(chunks: Iterator[str], into: Collector) -> Iterator[UrlBatch]:
    """Read the text of a feed in XML, yielding batches."""
    reader = ItemReader(into)
    feed = _Feed(chunks, reader, into)
    items = count = 0
    for token in feed.tokens:
        feed.take(token)
        if reader.position != items:
            items, count = reader.position, 0
            if into.is_full:
                yield from into.full_batches()
        count += 1
        if count > _MAX_TOKENS:
            into.problems.add("document/bloated", line=token.line)
            return
    feed.finish()


class _Feed(TokenReader):
    """The state between two tokens."""

    def __init__(self, chunks: Iterator[str], reader: ItemReader, into: Collector) -> None:
        super().__init__(chunks, into)
        self._reader = reader
        self._outermost = Namespaces(usual=FEED_PREFIXES)
        self._locals = Names(lambda name: name.rpartition(":")[2].lower())
        self._around: list[Element] = []
        self._body: list[str] = []  # the open elements of the page text, and nested ones with the same name

    def take(self, token: Token) -> None:
        """Process the next token."""
        if token.has_nul and (self._open or self._around or token.sort == "start"):
            self._note_once("document/nul-bytes", token.line)
        if token.sort == "text":
            self._text(token)
            return
        self._is_stray = False
        if token.sort == "start":
            self._start(token)
        else:
            self._end(token)

    def finish(self) -> None:
        """Process the end of the document."""
        if (self._open or self._around) and "xml/truncated" not in self._problems:
            self._problems.add("xml/truncated", line=self.tokens.line)

    def _text(self, token: Token) -> None:
        if self._body or self._skipped:
            return
        if token.is_code and not (self._open and self._open[-1].local in ADDRESSES):
            return
        if len(self._open) < 2:
            self._stray_text(token)
            return
        element = self._open[-1]
        if not element.is_whole:
            return
        self._chars += len(token.value)
        value_chars = len(element[-1].tail if element else element.text) + len(token.value)
        if value_chars > _MAX_VALUE_CHARS or self._chars > _MAX_ITEM_CHARS:
            element.text, element.is_whole = "", False  # a text of this length belongs to the page
            if self._value_name(element):
                self._problems.add("xml/malformed", "the text of an element is too long", line=token.line)
            return
        element.add_text(token.value)
        if token.is_unknowable:
            element.text, element.is_whole = "", False
            self._problems.add("xml/entity-not-expanded", line=token.line, excerpt=token.value.strip())

    def _stray_text(self, token: Token) -> None:
        text = token.value.strip("\ufeff\x00 \t\r\n")
        if not text or (len(self._around) > 1 and not self._open):
            return  # of the channel, such as its title
        if self._open or self._around:
            if not self._is_stray:
                self._problems.add("xml/stray-text", line=token.line, excerpt=text)
            self._is_stray = True
            self._fill_link(token.value)
        else:
            self._note_once("xml/junk-after" if self._has_ended else "xml/junk-before", token.line, text)

    def _fill_link(self, text: str) -> None:
        """Append *text* to the empty link before it: HTML parsers treat links as having no end tag."""
        last = self._open[0][-1] if self._open and self._open[0] else None
        if last is not None and last.local == "link" and not (last.text or last.items()):
            last.tail += text  # it arrives in pieces, and is parsed when complete

    def _value_name(self, element: Element) -> str:
        """Return the meaning of *element*, a child of the current item; empty for deeper elements."""
        return self._reader.meaning(element.tag, self._open[0]) if len(self._open) <= 2 else ""

    def _start(self, token: Token) -> None:
        local = self._locals[token.value]
        if self._body and local not in _ITEMS:
            if local == self._body[0] and not token.is_empty:
                self._body.append(local)
            return
        outer = self._open[-1] if self._open else self._around[-1] if self._around else None
        scope, base = (self._outermost, "") if outer is None else (outer.scope, outer.base)
        found: dict[str, str] = {}
        if token.attributes:
            found = attributes(token, self._problems)
            scope = scope.declaring(found)
            inner = found.get("xml:base") or (found.get("BASE") if local == "channel" else None)  # the latter in CDF
            base = joined(base, inner) or base if inner else base  # a too long one is ignored
            if _BROKEN_ADDRESS.search(token.attributes):  # half of a URL would be another URL
                self._malformed("the end of the URL is unknown", token)
                found = {name: value for name, value in found.items() if name.lower() != "href"}
        element = Element(self._meaning(token, scope, found), "", found, token, scope, base=base)
        if local in _ITEMS and (not self._open or element.tag == self._open[0].tag):
            self._start_item(element, token)
        elif self._body:
            return
        elif self._open:
            self._start_inside(element, token)
        elif not token.is_empty:
            self._start_around(element, token)

    def _start_around(self, element: Element, token: Token) -> None:
        if not self._around and self._has_ended:
            self._note_once("xml/junk-after", token.line, token.as_text)
        if self._skipped or len(self._around) >= _MAX_DEPTH:
            self._skipped += 1
            return
        self._around.append(element)

    def _start_item(self, item: Element, token: Token) -> None:
        if self._open:
            self._end_unclosed(token)
        if not self._around:
            self._problems.add("xml/entry-outside", line=token.line)
        self._open, self._body, self._skipped = [item], [], 0
        self._nodes = self._chars = 0
        if token.is_empty:
            self._close(1)

    def _end_unclosed(self, token: Token) -> None:
        """End the current item if another tag shows that it must have ended before."""
        self._problems.add("xml/unclosed-entry", line=token.line)
        if len(self._open) > 1 or self._body:
            self._malformed("an element is not closed", token)
            if len(self._open) > 1 and self._value_name(self._open[1]):
                self._open[1].is_whole = False  # it may be incomplete
        self._close(len(self._open))

    def _start_inside(self, element: Element, token: Token) -> None:
        is_in_value = len(self._open) == 2 and self._value_name(self._open[1])
        if is_in_value and self._reader.meaning(element.tag, self._open[0]) not in {"", "markup"}:  # another value
            self._malformed("an element is not closed", token)
            self._close(1)
        meaning = self._value_name(element) if len(self._open) == 1 else ""
        if meaning in PAGE_TEXT and "src" not in dict(element.items()):
            if not token.is_empty:
                self._body = [element.local]
            return
        self._nodes += 1
        if token.attributes:
            self._nodes += len(element.items())
            self._chars += len(token.attributes)
        is_large = self._nodes > _MAX_NODES or self._chars > _MAX_ITEM_CHARS
        if self._skipped or len(self._open) >= _MAX_DEPTH or is_large:
            if not self._skipped:
                self._malformed("an item is too large or too deeply nested", token)
            self._skipped += not token.is_empty
            return
        self._open[-1].append(element)
        if not token.is_empty:
            self._open.append(element)

    def _end(self, token: Token) -> None:
        local = self._locals[token.value]
        if self._body:
            if local == self._body[0]:
                self._body.pop()
            elif self._open[0].local == local or self._is_around(local):
                self._malformed("an element is not closed", token)
                self._body = []
                self._end_inside(local, token)
        elif self._skipped and not (self._open and local == self._open[0].local):
            self._skipped -= 1
        elif self._open:
            self._skipped = 0
            self._end_inside(local, token)
        else:
            self._end_around(local, token)

    def _end_inside(self, local: str, token: Token) -> None:
        if self._open[-1].local == local and len(self._open) > 1:
            self._check_name(self._open.pop(), token)  # as in all well-formed documents
            return
        for depth, element in enumerate(reversed(self._open), start=1):
            if element.local == local:
                if depth > 1:
                    self._malformed("an element is not closed", token)
                self._check_name(element, token)
                self._close(depth)
                return
        if self._is_around(local):
            self._end_unclosed(token)
            self._end_around(local, token)
        else:
            self._malformed("an end tag does not match its start tag", token)
            if len(self._open) == 2 and self._value_name(self._open[1]):
                self._close(1)

    def _check_name(self, element: Element, token: Token) -> None:
        if element.token.value != token.value:
            self._problems.add("xml/unlike-tags", line=token.line, excerpt=f"</{token.value}>")

    def _is_around(self, local: str) -> bool:
        return any(around.local == local for around in self._around)

    def _end_around(self, local: str, token: Token) -> None:
        for depth, around in enumerate(reversed(self._around), start=1):
            if around.local == local:
                if depth > 1:
                    self._malformed("an element is not closed", token)
                del self._around[-depth:]
                self._has_ended = not self._around
                return
        self._malformed("an end tag without a start tag", token)

    def _close(self, count: int) -> None:
        """Close the *count* innermost elements; read the item, if it is among them."""
        for left in reversed(range(count)):
            if left and len(self._open) == 2 and self._value_name(self._open[1]):
                self._end_without_tag(self._open[1], is_innermost=left == count - 1)
            element = self._open.pop()
        if not self._open:
            self._reader.read(element)

    def _end_without_tag(self, value: Element, *, is_innermost: bool) -> None:
        """End *value*, which has no end tag: its children follow it, unless they are markup in its text."""
        if not is_innermost or any(child.tail.strip() for child in value):
            value.is_whole = False
        self._open[0].extend(value)
        value.clear()
