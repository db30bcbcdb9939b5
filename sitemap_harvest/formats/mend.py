"""The mending lane: markup that is not well-formed, an entry at a time.

No URL is altered on the way: a token is a tag or it is text to the letter, and
an entry that was cut is left out. Everything that had to be mended is a problem.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sitemap_harvest.formats.entries import EntryReader, Role, split
from sitemap_harvest.formats.extensions import WELL_KNOWN_PREFIXES
from sitemap_harvest.formats.tokens import Sort, Token, Tokenizer, attributes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.model import UrlBatch

_ROOTS = frozenset({"urlset", "sitemapindex"})
_FIELDS = frozenset({Role.LOC, Role.LASTMOD, Role.CHANGEFREQ, Role.PRIORITY})
_ENTRIES = frozenset({Role.URL, Role.SITEMAP})
_MAX_DEPTH = 64  # elements inside an entry; deeper ones are passed over, as no extension goes there
_MAX_VALUE_CHARS = 1024 * 1024  # text of one element; a URL has 2,048
_MAX_NODES = 100_000  # elements inside one entry: 1,000 images of 5 elements each, twenty times over


class Element(list["Element"]):
    """An element as :class:`EntryReader` wants it: like lxml's, and able to hold any character."""

    __slots__ = ("_attributes", "is_whole", "sourceline", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], line: int) -> None:
        super().__init__()
        self.tag = tag
        self.text = ""
        self.sourceline = line
        self.is_whole = True
        self._attributes = attributes

    def get(self, name: str) -> str | None:
        """Return the value of the attribute *name*."""
        return self._attributes.get(name)

    def items(self) -> list[tuple[str, str]]:
        """Return names and values of all attributes."""
        return list(self._attributes.items())

    def iter(self) -> Iterator[Element]:
        """Yield the element itself and all below it, in document order."""
        yield self
        for child in self:
            yield from child.iter()

    def itertext(self) -> Iterator[str]:
        """Yield all text in the element."""
        for element in self.iter():
            yield element.text


class Namespaces:
    """What prefixes mean, as declared so far; one scope, for real documents declare at the root."""

    def __init__(self) -> None:
        self._declared: dict[str, str] = {}

    def learn(self, found: dict[str, str]) -> None:
        """Take note of the ``xmlns`` attributes among *found*."""
        for name, value in found.items():
            if name == "xmlns" or name.startswith("xmlns:"):
                self._declared[name[6:]] = value

    def tag(self, name: str) -> str:
        """Return ``{namespace}local`` for the tag *name*."""
        prefix, _, local = name.rpartition(":")
        known = WELL_KNOWN_PREFIXES.get(prefix.lower(), prefix)
        namespace = self._declared.get(prefix, known)
        return f"{{{namespace}}}{local}" if namespace else local

    def attribute(self, name: str) -> str:
        """Return ``{namespace}local`` for the attribute *name*: without a prefix it has no namespace."""
        return self.tag(name) if ":" in name else name


def mend(chunks: Iterator[str], reader: EntryReader, into: Collector) -> Iterator[UrlBatch]:
    """Read the text of a document that is not well-formed, yielding batches."""
    lane = _Lane(Tokenizer(chunks, into.problems), reader, into)
    for token in lane.tokens:
        lane.take(token)
        yield from into.full_batches()
    lane.finish()


class _Lane:
    """The state between two tokens."""

    def __init__(self, tokens: Tokenizer, reader: EntryReader, into: Collector) -> None:
        self.tokens = tokens
        self._reader = reader
        self._problems = into.problems
        self._namespaces = Namespaces()
        self._root: str | None = None
        self._root_tag = ""
        self._root_is_open = False
        self._has_ended = False
        self._open: list[Element] = []
        self._passed_over = 0
        self._nodes = 0

    def take(self, token: Token) -> None:
        """Take the next token."""
        if token.sort is Sort.TEXT:
            self._text(token)
        elif token.sort is Sort.START:
            self._start(token)
        else:
            self._end(token)

    def finish(self) -> None:
        """Take the end of the document."""
        if self._open:
            self._cut()
        if self._root is None:
            self._problems.add("xml/malformed", "there is no root element")
        elif self._root_is_open:
            self._problems.add("xml/truncated", line=self.tokens.line)

    def _cut(self) -> None:
        """The document ends inside an entry: what of it is whole counts, a value that was cut does not."""
        self._problems.add("xml/truncated", line=self.tokens.line, excerpt=self._open[-1].text.strip() or None)
        if len(self._open) > 1:
            self._open[-2].pop()
        self._close(len(self._open))

    def _text(self, token: Token) -> None:
        if not self._open:
            self._stray_text(token)
            return
        element = self._open[-1]
        if len(element.text) < _MAX_VALUE_CHARS:
            element.text += token.value
        else:
            self._problems.add("xml/malformed", "an element has too much text to be a value", line=token.line)
            element.is_whole = False
        if token.is_unknowable:
            element.is_whole = False
            self._problems.add("xml/entity-not-expanded", line=token.line, excerpt=token.value.strip())

    def _stray_text(self, token: Token) -> None:
        text = token.value.strip("\ufeff\x00 \t\r\n")
        if text and self._has_ended:
            self._note_once("xml/junk-after", token.line, text)
        elif text and not self._root_is_open:
            self._note_once("xml/junk-before", token.line, text)

    def _note_once(self, code: str, line: int, excerpt: str) -> None:
        if code not in self._problems:
            self._problems.add(code, line=line, excerpt=excerpt)

    def _start(self, token: Token) -> None:
        found = attributes(token) if token.attributes else {}
        if "xmlns" in token.attributes:
            self._namespaces.learn(found)
        tag = self._namespaces.tag(token.value)
        role = self._reader.roles(self._open[0].tag if self._open else self._root_tag)[tag]
        if self._open:
            self._start_inside(tag, role, found, token)
        elif role in _ENTRIES:
            self._start_entry(tag, found, token)
        elif (local := split(tag)[1].lower()) in _ROOTS:
            self._start_root(local, tag, token)
        elif not self._root_is_open:
            self._note_once("xml/junk-after" if self._has_ended else "xml/junk-before", token.line, f"<{token.value}>")

    def _start_root(self, local: str, tag: str, token: Token) -> None:
        if self._root is not None:
            detail = "a second document follows" if self._has_ended else "a second root element inside the first"
            self._problems.add("xml/junk-after", detail, line=token.line)
        self._root, self._root_tag = local, tag
        self._root_is_open = not token.is_empty
        self._has_ended = token.is_empty

    def _start_entry(self, tag: str, found: dict[str, str], token: Token) -> None:
        if not self._root_is_open:
            self._problems.add("xml/entry-outside", line=token.line)
        self._push(Element(tag, found, token.line))
        if token.is_empty:
            self._close(1)

    def _start_inside(self, tag: str, role: Role, found: dict[str, str], token: Token) -> None:
        inside = self._role(self._open[-1])
        if role in _ENTRIES and len(self._open) == 2 and inside is Role.LOC:
            return  # <loc><url>...</url></loc>: the tag is wrong, the text is the URL
        if role in _ENTRIES and self._depth_of_known() == len(self._open):
            self._problems.add("xml/unclosed-entry", line=token.line)
            if inside in _FIELDS:
                self._drop_open_field(token)
            self._close(len(self._open))
            self._start_entry(tag, found, token)
            return
        if inside in _FIELDS and (role in _FIELDS or self._open[-1].text.strip()):
            self._problems.add(
                "xml/malformed", "an element is not closed", line=token.line, excerpt=self._open[-1].text
            )
            self._close(1)
        element = Element(
            tag, {self._namespaces.attribute(n): v for n, v in found.items() if not n.startswith("xmlns")}, token.line
        )
        self._nodes += 1
        if len(self._open) >= _MAX_DEPTH or self._nodes > _MAX_NODES:
            self._problems.add("xml/malformed", "too many elements inside one entry", line=token.line)
            self._passed_over += not token.is_empty
            return
        self._open[-1].append(element)
        if not token.is_empty:
            self._open.append(element)

    def _role(self, element: Element) -> Role:
        """Return the role of an open element; below an extension nothing has one."""
        if len(self._open) < 2 or element is not self._open[1]:
            return Role.OTHER
        return self._reader.roles(self._open[0].tag)[element.tag]

    def _depth_of_known(self) -> int:
        """Return how many of the open elements are the entry and its own field."""
        return len(self._open) if len(self._open) == 1 or self._role(self._open[-1]) in _FIELDS else 0

    def _drop_open_field(self, token: Token) -> None:
        """An entry begins inside a value: the value may have been cut, so it does not count."""
        value = self._open.pop()
        self._open[-1].pop()
        self._problems.add(
            "xml/malformed", "a value ends where another entry begins", line=token.line, excerpt=value.text
        )

    def _push(self, element: Element) -> None:
        self._open.append(element)
        self._nodes = 0

    def _end(self, token: Token) -> None:
        if self._passed_over:
            self._passed_over -= 1
            return
        tag = self._namespaces.tag(token.value)
        local = split(tag)[1].lower()
        for depth, element in enumerate(reversed(self._open), start=1):
            if split(element.tag)[1].lower() == local:
                if depth > 1:
                    self._problems.add("xml/malformed", "an element is not closed", line=token.line)
                self._close(depth)
                return
        if local in _ROOTS:
            self._end_root(token)
        elif self._open and self._role(self._open[-1]) in _FIELDS:
            if self._reader.roles(self._open[0].tag)[tag] in _ENTRIES:
                return  # the other half of a tag that was passed over inside a <loc>
            self._problems.add(
                "xml/malformed", "an end tag of another name", line=token.line, excerpt=f"</{token.value}>"
            )
            self._close(1)
        elif self._open or self._root_is_open:
            self._problems.add(
                "xml/malformed", "an end tag without its start", line=token.line, excerpt=f"</{token.value}>"
            )

    def _end_root(self, token: Token) -> None:
        if self._open:
            self._problems.add("xml/unclosed-entry", line=token.line)
            self._close(len(self._open))
        self._root_is_open = False
        self._has_ended = True

    def _close(self, count: int) -> None:
        """Close the *count* innermost elements; read the entry, if it is among them."""
        entry = self._open[0]
        for _ in range(count):
            element = self._open.pop()
            if not element.is_whole and self._open:
                self._open[-1].pop()
        if not self._open:
            self._reader.read(entry, self._root_tag)
