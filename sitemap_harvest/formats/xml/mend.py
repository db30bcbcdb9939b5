"""The mending lane: markup that is not well-formed, an entry at a time.

No URL is altered on the way: a token is a tag or it is text to the letter, and
an entry that was cut is left out. Everything that had to be mended is a problem.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.formats.xml.entries import EntryReader, Role
from sitemap_harvest.formats.xml.extensions import WELL_KNOWN_PREFIXES
from sitemap_harvest.formats.xml.tokens import Sort, Token, Tokenizer, attributes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.model import UrlBatch

_ROOTS = frozenset({"urlset", "sitemapindex"})
_MAX_DEPTH = 64  # elements inside an entry; deeper ones are passed over, as no extension goes there
_MAX_VALUE_CHARS = 1024 * 1024  # text of one element; a URL has 2,048
_MAX_NODES = 100_000  # elements inside one entry: 1,000 images of 5 elements each, twenty times over


class Element(list["Element"]):
    """An element as :class:`EntryReader` wants it: like lxml's, and able to hold any character."""

    __slots__ = ("_attributes", "is_whole", "local", "role", "scope", "sourceline", "tag", "tail", "text")

    def __init__(self, tag: Tag, role: Role, attributes: dict[str, str], line: int, scope: Namespaces) -> None:
        self.tag, self.local = tag
        self.role = role  #: What it is to the entry that it is a child of.
        self.text = ""
        self.tail = ""
        self.sourceline = line
        self.scope = scope  #: What prefixes mean inside it.
        self.is_whole = True
        self._attributes = attributes

    def name_attributes(self) -> None:
        """Give the attributes their full names, without the declarations of namespaces."""
        if self._attributes:
            given = self._attributes.items()
            self._attributes = {self.scope.attribute(n): value for n, value in given if not n.startswith("xmlns")}

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
        """Yield all text in the element, in document order."""
        yield self.text
        for child in self:
            yield from child.itertext()
            yield child.tail


class Tag(NamedTuple):
    """The name of an element."""

    full: str
    """``{namespace}local``, or ``local`` where there is no namespace."""
    local: str
    """Without the namespace, in lower case."""


class Namespaces(dict[str, Tag]):
    """What names mean in one scope: name as written to :class:`Tag`, filled as names are met."""

    def __init__(self, declared: dict[str, str] | None = None) -> None:
        super().__init__()
        self._declared = declared or {}

    def declaring(self, found: dict[str, str]) -> Namespaces:
        """Return the scope inside an element that has the attributes *found*."""
        declared = {name[6:]: value for name, value in found.items() if name == "xmlns" or name.startswith("xmlns:")}
        return Namespaces(self._declared | declared) if declared else self

    def __missing__(self, name: str) -> Tag:
        """Work out what *name* means. A usual prefix that is not declared means what it usually does."""
        prefix, _, local = name.rpartition(":")
        namespace = self._declared.get(prefix, WELL_KNOWN_PREFIXES.get(prefix.lower(), prefix))
        tag = self[name] = Tag(f"{{{namespace}}}{local}" if namespace else local, local.lower())
        return tag

    def attribute(self, name: str) -> str:
        """Return ``{namespace}local`` for the attribute *name*: without a prefix it has no namespace."""
        return self[name].full if ":" in name else name


def mend(chunks: Iterator[str], reader: EntryReader, into: Collector) -> Iterator[UrlBatch]:
    """Read the text of a document that is not well-formed, yielding batches."""
    lane = _Lane(Tokenizer(chunks, into.problems), reader, into)
    for token in lane.tokens:
        lane.take(token)
        if token.sort is Sort.END and into.is_full:
            yield from into.full_batches()
    lane.finish()


class _Lane:
    """The state between two tokens."""

    def __init__(self, tokens: Tokenizer, reader: EntryReader, into: Collector) -> None:
        self.tokens = tokens
        self._reader = reader
        self._problems = into.problems
        self._scope = Namespaces()
        self._root: str | None = None
        self._root_tag = ""
        self._root_is_open = False
        self._has_ended = False
        self._open: list[Element] = []
        self._passed_over = 0
        self._around: list[tuple[str, Namespaces]] = []
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
            self._note_once("xml/truncated", self.tokens.line)

    def _cut(self) -> None:
        """Take an entry that the document ends in: what of it is whole counts, a value that was cut does not."""
        self._note_once("xml/truncated", self.tokens.line, self._open[-1].text.strip() or None)
        self._open[-1].is_whole = False
        if any(child.role is Role.LOC and child.is_whole for child in self._open[0]):
            self._close(len(self._open))

    def _text(self, token: Token) -> None:
        if not self._open:
            self._stray_text(token)
            return
        element = self._open[-1]
        if element:
            element[-1].tail += token.value[:_MAX_VALUE_CHARS]
        elif len(element.text) < _MAX_VALUE_CHARS:
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

    def _note_once(self, code: str, line: int, excerpt: str | None = None) -> None:
        if code not in self._problems:
            self._problems.add(code, line=line, excerpt=excerpt)

    def _start(self, token: Token) -> None:
        scope = self._open[-1].scope if self._open else self._scope
        found: dict[str, str] = {}
        if token.attributes:
            found = attributes(token)
            scope = scope.declaring(found)
        tag = scope[token.value]
        role = self._reader.roles(self._open[0].tag if self._open else self._root_tag)[tag.full]
        if not (self._open or role.is_entry or token.is_empty):
            if tag.local not in _ROOTS and len(self._around) < _MAX_DEPTH:
                self._around.append((tag.local, self._scope))
            self._scope = scope
        element = Element(tag, role, found, token.line, scope)
        if self._open:
            self._start_inside(element, token)
        elif role.is_entry:
            self._start_entry(element, token)
        elif tag.local in _ROOTS:
            self._start_root(tag, token)
        elif not self._root_is_open:
            self._note_once("xml/junk-after" if self._has_ended else "xml/junk-before", token.line, f"<{token.value}>")

    def _start_root(self, tag: Tag, token: Token) -> None:
        if self._root is not None:
            detail = "a second document follows" if self._has_ended else "a second root element inside the first"
            self._problems.add("xml/junk-after", detail, line=token.line)
        self._root, self._root_tag = tag.local, tag.full
        self._root_is_open = not token.is_empty
        self._has_ended = token.is_empty

    def _start_entry(self, entry: Element, token: Token) -> None:
        if not self._root_is_open:
            self._problems.add("xml/entry-outside", line=token.line)
        entry.role = Role.OTHER
        self._open.append(entry)
        self._nodes = self._passed_over = 0
        if token.is_empty:
            self._close(1)

    def _start_inside(self, element: Element, token: Token) -> None:
        inside, role = self._open[-1].role, element.role
        if role.is_entry and (inside.is_field or len(self._open) == 1):
            if inside is not Role.LOC or self._open[-1].text.strip():
                self._start_unclosed(element, token)
            else:  # <loc><url>...</url></loc>: the tag is wrong, the text is the URL
                self._passed_over += not token.is_empty
            return
        if inside.is_field and (role.is_field or self._open[-1].text.strip()):
            self._problems.add(
                "xml/malformed", "an element is not closed", line=token.line, excerpt=self._open[-1].text
            )
            self._close(1)
        if len(self._open) > 1:
            element.role = Role.OTHER  # below an extension nothing has a role
        element.name_attributes()
        self._nodes += 1
        if len(self._open) >= _MAX_DEPTH or self._nodes > _MAX_NODES:
            self._problems.add("xml/malformed", "too many elements inside one entry", line=token.line)
            self._passed_over += not token.is_empty
            return
        self._open[-1].append(element)
        if not token.is_empty:
            self._open.append(element)

    def _start_unclosed(self, entry: Element, token: Token) -> None:
        """Start an *entry* inside another one, which ends there."""
        self._problems.add("xml/unclosed-entry", line=token.line)
        value = self._open[-1]
        if value.role.is_field:
            value.is_whole = False  # it may have been cut, so it does not count
            self._problems.add(
                "xml/malformed", "a value ends where another entry begins", line=token.line, excerpt=value.text
            )
        self._close(len(self._open))
        self._start_entry(entry, token)

    def _end(self, token: Token) -> None:
        if self._passed_over:
            self._passed_over -= 1
            return
        tag = (self._open[-1].scope if self._open else self._scope)[token.value]
        for depth, element in enumerate(reversed(self._open), start=1):
            if element.local == tag.local:
                if depth > 1:
                    self._problems.add("xml/malformed", "an element is not closed", line=token.line)
                self._close(depth)
                return
        if tag.local in _ROOTS:
            self._end_root(token)
        elif self._open and self._open[-1].role.is_field:
            self._problems.add(
                "xml/malformed", "an end tag of another name", line=token.line, excerpt=f"</{token.value}>"
            )
            self._close(1)
        elif self._open or (self._root_is_open and not self._end_around(tag.local)):
            self._problems.add(
                "xml/malformed", "an end tag without its start", line=token.line, excerpt=f"</{token.value}>"
            )

    def _end_around(self, local: str) -> bool:
        """Close an element that stands between the root and entries; ``False`` if none of that name is open."""
        for depth, (name, scope) in enumerate(reversed(self._around), start=1):
            if name == local:
                del self._around[-depth:]
                self._scope = scope
                return True
        return False

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
