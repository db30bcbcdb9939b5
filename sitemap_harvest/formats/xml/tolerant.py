"""The tolerant parser: reads markup that is not well-formed, entry by entry.

No URL is altered: a token is a tag or literal text, and an incomplete entry is left
out. Every repair is a problem.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemap_harvest.formats.xml.elements import Element, Namespaces, Tag, TokenReader
from sitemap_harvest.formats.xml.entries import ENTRIES, FIELDS, EntryReader
from sitemap_harvest.formats.xml.extensions import is_extension
from sitemap_harvest.formats.xml.tokens import Token, attributes
from sitemap_harvest.urls import WHITESPACE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.model import UrlBatch

_ROOTS = frozenset({"urlset", "sitemapindex"})
_MAX_DEPTH = 64  # nesting depth inside an entry; deeper elements are skipped, because no extension needs them
_MAX_VALUE_CHARS = 128 * 1024  # text of one element; a URL has 2,048
_MAX_NODES = 50_000  # elements and attributes inside one entry: ten times those of 1,000 images with 5 elements each
_MAX_ENTRY_CHARS = 4 * 1024 * 1024  # of all texts and attributes inside one entry
_MAX_TOKENS = 300_000  # tags and texts without an entry: more than the largest entry has
_MAX_CHARS = 64 * 1024 * 1024  # of text without an entry


def read_tolerantly(chunks: Iterator[str], reader: EntryReader, into: Collector) -> Iterator[UrlBatch]:
    """Read the text of a document that is not well-formed, yielding batches.

    Skips as many children of the root as *reader* has read before, and the text after
    them: up to there the document is well-formed, so counting tags is enough.
    """
    sitemap = _Sitemap(chunks, reader, into)
    tokens = iter(sitemap.tokens)
    sitemap.pass_over(tokens)
    entries = count = chars = 0
    for token in tokens:
        sitemap.take(token)
        if into.added != entries:
            entries, count, chars = into.added, 0, 0
            yield from into.full_batches()
        count += 1
        chars += len(token.value)
        if count > _MAX_TOKENS or chars > _MAX_CHARS:
            into.problems.add("document/bloated", line=sitemap.tokens.line)  # no entry for so long: none is expected
            return
    sitemap.finish()


class _Sitemap(TokenReader):
    def __init__(self, chunks: Iterator[str], reader: EntryReader, into: Collector) -> None:
        super().__init__(chunks, into)
        self._reader = reader
        reader.may_give_up = False
        reader.line_before = 0
        self._scope = Namespaces()
        self._root_tag = ""  # once there is a root
        self._root_is_open = False
        self._read_before = reader.read_children
        self._around: list[tuple[Tag, Namespaces]] = []

    def pass_over(self, tokens: Iterator[Token]) -> None:
        """Skip everything before the root, and the children of the root that were read before."""
        depth = 0  # below the root
        is_text_read = self._read_before > 0
        while self._read_before and (token := next(tokens, None)):
            if not self._root_tag:
                self.take(token)
            elif token.sort != "text":
                if not token.is_empty:
                    depth += 1 if token.sort == "start" else -1
                self._read_before -= depth == 0
        self._is_stray = is_text_read

    def take(self, token: Token) -> None:
        if token.has_nul and (self._root_is_open or token.sort == "start"):
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
        """Process the end of the document. An open entry is incomplete, and is left out."""
        if self._read_before:
            self._problems.add("xml/malformed", "the position of the first XML error is unknown")
        if self._open:
            self._note_once("xml/truncated", self.tokens.line, self._open[-1].text.strip() or None)
        if not self._root_tag:
            if "xml/truncated" not in self._problems:
                self._problems.add("xml/malformed", "there is no root element")
        elif self._root_is_open:
            self._note_once("xml/truncated", self.tokens.line)

    def _text(self, token: Token) -> None:
        if token.is_code and not (self._open and self._open[-1].role in FIELDS):
            return
        if not self._open:
            self._stray_text(token)
            return
        element = self._open[-1]
        self._chars += len(token.value)
        has_room = self._chars < _MAX_ENTRY_CHARS
        if has_room and len(element[-1].tail if element else element.text) < _MAX_VALUE_CHARS:
            element.add_text(token.value)
        elif element.is_whole:  # text comes in pieces, but is reported once
            self._problems.add("xml/malformed", "the text of an element is too long", line=token.line)
            element.is_whole = False
        if token.is_unknowable and element.is_whole:
            element.is_whole = False
            self._problems.add("xml/entity-not-expanded", line=token.line, excerpt=token.value.strip())

    def _stray_text(self, token: Token) -> None:
        text = token.value.strip("\ufeff\x00 \t\r\n")
        if text and self._has_ended:
            self._note_once("xml/junk-after", token.line, text)
        elif text and not self._root_is_open:
            self._note_once("xml/junk-before", token.line, text)
        elif text.strip(WHITESPACE) and not self._around and not self._is_stray:  # as the strict parser
            self._problems.add("xml/stray-text", line=token.line, excerpt=text)
            self._is_stray = True

    def _start(self, token: Token) -> None:
        scope = self._open[-1].scope if self._open else self._scope
        found: dict[str, str] = {}
        if token.attributes:
            found = attributes(token, self._problems)
            scope = scope.declaring(found)
        tag = self._meaning(token, scope, found)
        role = self._reader.roles[self._parent_tag()][tag.full]
        if self._open:
            self._start_inside(Element(tag, role, found, token, scope), token)
            return
        is_loc_outside = role == "loc" and not is_extension(self._parent_tag())
        if not (role in ENTRIES or is_loc_outside or token.is_empty):
            self._start_around(tag, token, scope)
        element = Element(tag, role, found, token, scope)
        if role in ENTRIES:
            self._start_entry(element, token)
        elif is_loc_outside and not token.is_empty:
            self._nodes = self._chars = 0
            self._open.append(element)
        elif tag.local in _ROOTS:
            self._start_root(tag, token)
        elif not self._root_is_open:
            self._note_once("xml/junk-after" if self._has_ended else "xml/junk-before", token.line, f"<{token.value}>")

    def _start_around(self, tag: Tag, token: Token, scope: Namespaces) -> None:
        """Open an element around entries: the root, or something inside it."""
        if is_extension(tag.full):
            self._problems.add("xml/extension-outside", line=token.line)
        if tag.local not in _ROOTS and len(self._around) < _MAX_DEPTH:
            self._around.append((tag, self._scope))
        self._scope = scope

    def _parent_tag(self) -> str:
        """Return the tag of the open element: the entry, or else an element around entries."""
        if self._open:
            return self._open[0].tag
        return self._around[-1][0].full if self._around else self._root_tag

    def _start_root(self, tag: Tag, token: Token) -> None:
        if self._root_tag:
            detail = "a second document follows" if self._has_ended else "a second root element inside the first"
            self._problems.add("xml/junk-after", detail, line=token.line)
        self._root_tag = tag.full
        self._root_is_open = not token.is_empty
        self._has_ended = token.is_empty

    def _start_entry(self, entry: Element, token: Token) -> None:
        if not self._root_is_open:
            self._problems.add("xml/entry-outside", line=token.line)
        entry.role = ""
        self._open.append(entry)
        self._nodes = self._chars = self._skipped = 0
        if token.is_empty:
            self._close(1)

    def _start_inside(self, element: Element, token: Token) -> None:
        inside, role = self._open[-1].role, element.role
        if role in ENTRIES and (inside in FIELDS or len(self._open) == 1):
            if inside != "loc" or self._open[-1].text.strip() or len(self._open) == 1:
                self._end_unclosed(token)
                self._start_entry(element, token)
            else:  # <loc><url>...</url></loc>: the tag is wrong, the text is the URL
                self._problems.add("loc/markup", line=token.line)
                self._skipped += not token.is_empty
            return
        if role == "loc" and inside in ENTRIES and len(self._open) > 1:
            self._split_off()
            inside = ""
        if inside in FIELDS and (role in FIELDS or (self._open[-1].text.strip() and is_extension(element.tag))):
            self._problems.add(
                "xml/malformed", "an element is not closed", line=token.line, excerpt=self._open[-1].text
            )
            self._close(1)
            if not self._open:  # it was a value outside any entry
                self._start(token)
                return
        if len(self._open) > 1 and role not in ENTRIES:
            element.role = ""  # inside an extension nothing has a role
        self._nodes += 1
        if token.attributes:
            self._nodes += len(element.items())
            self._chars += len(token.attributes)
        if len(self._open) >= _MAX_DEPTH or self._nodes > _MAX_NODES or self._chars > _MAX_ENTRY_CHARS:
            self._problems.add("xml/malformed", "an entry is too large or too deeply nested", line=token.line)
            self._skipped += not token.is_empty
            return
        self._open[-1].append(element)
        if not token.is_empty:
            self._open.append(element)

    def _end_unclosed(self, token: Token) -> None:
        """End the open entry; an open value may be incomplete, and is discarded."""
        self._problems.add("xml/unclosed-entry", line=token.line)
        value = next((element for element in self._open if element.role in FIELDS), None)
        if value is not None:
            value.is_whole = False
            self._problems.add("xml/malformed", "a value has no end tag", line=token.line, excerpt=value.text)
        self._close(len(self._open))

    def _split_off(self) -> None:
        """Make the innermost element a separate entry: it has a URL, so it is not part of the surrounding one."""
        entry = self._open.pop()
        self._open[-1].pop()
        self._end_unclosed(entry.token)
        self._start_entry(entry, entry.token)

    def _end(self, token: Token) -> None:
        if self._skipped:
            self._skipped -= 1
            return
        tag = (self._open[-1].scope if self._open else self._scope)[token.value]
        for depth, element in enumerate(reversed(self._open), start=1):
            if element.local == tag.local:
                if depth > 1:
                    self._problems.add("xml/malformed", "an element is not closed", line=token.line)
                if element.token.value != token.value:
                    self._problems.add("xml/unlike-tags", line=token.line, excerpt=f"</{token.value}>")
                self._close(depth)
                return
        if tag.local in _ROOTS:
            if self._open:
                self._end_unclosed(token)
            self._root_is_open, self._has_ended = False, True
        elif self._open and self._open[-1].role in FIELDS:
            self._malformed("an end tag does not match its start tag", token)
            self._close(1)
        elif self._open or (self._root_is_open and not self._end_around(tag.local)):
            self._malformed("an end tag without a start tag", token)

    def _end_around(self, local: str) -> bool:
        """Close an element between the root and entries; ``False`` if none with that name is open."""
        for depth, (tag, scope) in enumerate(reversed(self._around), start=1):
            if tag.local == local:
                del self._around[-depth:]
                self._scope = scope
                return True
        return False

    def _close(self, count: int) -> None:
        """Close the *count* innermost elements; read the entry, if it is among them."""
        outermost = self._open[0]
        is_in_value = any(element.role in FIELDS for element in self._open[: len(self._open) - count + 1])
        for left in reversed(range(count)):
            element = self._open.pop()
            if not self._open:
                if outermost.is_whole or outermost.role not in FIELDS:
                    self._reader.read(outermost, self._parent_tag())
            elif not element.is_whole:
                self._open[-1].pop()
            elif left:
                self._end_without_tag(element, self._open[-1], is_in_value=is_in_value)

    @staticmethod
    def _end_without_tag(element: Element, parent: Element, *, is_in_value: bool) -> None:
        """End *element*, which has no end tag: a tag in a value was text, and children of a value follow it."""
        if is_in_value:
            parent.pop()
            parent.add_text(element.token.as_text + element.text)
            parent.extend(element)
        elif element.role in FIELDS:
            parent.extend(element)
            element.clear()
