"""The elements and namespaces of markup that need not be well-formed, and the state of its readers.

There are two readers of tokens: the tolerant parser of sitemaps, and the reader of feeds.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.formats.xml.extensions import WELL_KNOWN_PREFIXES, Names
from sitemap_harvest.formats.xml.tokens import Token, Tokenizer
from sitemap_harvest.urls import WHITESPACE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.formats.xml.entries import Role

_NAME = re.compile(r"(?:[\w.\-]+:)?[\w.\-]+")
_URI = re.compile(r"[\w.~:/?#@!$'()*+,;=%\-]*", re.ASCII)
_MAX_PREFIXES = 256  # declared around one element; extensions need ten


class Element(list["Element"]):
    """An element with the part of lxml's interface that readers of entries use, but with any characters."""

    __slots__ = (
        *("_attributes", "base", "is_whole", "local", "role"),
        *("scope", "sourceline", "tag", "tail", "text", "token"),
    )

    def __init__(
        self, tag: Tag, role: Role, attributes: dict[str, str], token: Token, scope: Namespaces, *, base: str = ""
    ) -> None:
        self.tag, self.local, _ = tag
        self.role = role  #: Its role in the entry that it is a child of.
        self.base = base  #: The current ``xml:base``, resolved as far as possible; empty if there is none.
        self.text = ""
        self.tail = ""
        self.token = token  #: Its start tag.
        self.sourceline = token.line
        self.scope = scope  #: The meanings of prefixes inside it.
        self.is_whole = True
        self._attributes = attributes
        if attributes:  # by their full names, without namespace declarations
            self._attributes = {scope.attribute(n): v for n, v in attributes.items() if not n.startswith("xmlns")}

    def get(self, name: str) -> str | None:
        """Return the value of the attribute *name*."""
        return self._attributes.get(name)

    def items(self) -> list[tuple[str, str]]:
        """Return names and values of all attributes."""
        return list(self._attributes.items())

    def iter(self) -> Iterator[Element]:
        """Yield the element itself and all of its descendants, in document order."""
        yield self
        for child in self:
            yield from child.iter()

    def itertext(self) -> Iterator[str]:
        """Yield all text in the element, in document order."""
        yield self.text
        for child in self:
            yield from child.itertext()
            yield child.tail

    def raw_text(self) -> str:
        """Return all text in the element; empty if it is incomplete."""
        if not self.is_whole:
            return ""
        return "".join(self.itertext()) if self else self.text

    def whole_text(self) -> str:
        """Return all text in the element, trimmed; empty if it is incomplete."""
        return self.raw_text().strip(WHITESPACE)

    def add_text(self, text: str) -> None:
        """Append *text* to the contents of the element."""
        if self:
            self[-1].tail += text
        else:
            self.text += text


class Tag(NamedTuple):
    """The name of an element."""

    full: str
    """``{namespace}local``, or ``local`` without a namespace."""
    local: str
    """Without the namespace, in lower case."""
    is_sure: bool
    """Whether it is a valid, undamaged XML name, with a declared or usual prefix, if any."""


class Namespaces(Names[Tag]):
    """The meanings of names in one scope: from name as written to :class:`Tag`, computed on demand."""

    def __init__(
        self, declared: Mapping[str, str] | None = None, usual: Mapping[str, str] = WELL_KNOWN_PREFIXES
    ) -> None:
        """Take the *declared* prefixes, and the *usual* meanings of others; both by prefix."""
        self._declared = declared or {}
        self._usual = usual
        super().__init__(partial(_tag, self._declared, usual))  # not a method, which would be a reference cycle

    def declaring(self, found: dict[str, str]) -> Namespaces:
        """Return the scope inside an element with the attributes *found*."""
        declared = {name[6:]: value for name, value in found.items() if name == "xmlns" or name.startswith("xmlns:")}
        if not declared or len(self._declared) > _MAX_PREFIXES:
            return self
        return Namespaces({**self._declared, **declared}, self._usual)

    def declares(self, prefix: str) -> bool:
        """Whether *prefix* is declared."""
        return prefix in self._declared or prefix == "xml"

    def are_sure(self, attributes: Mapping[str, str]) -> bool:
        """Whether neither the names of *attributes* nor the namespaces that they declare are damaged."""
        return all(
            self[name].is_sure and (not name.startswith("xmlns") or _URI.fullmatch(value))
            for name, value in attributes.items()
        )

    def attribute(self, name: str) -> str:
        """Return ``{namespace}local`` for the attribute *name*: without a prefix it has no namespace."""
        return self[name].full if ":" in name else name


def _tag(declared: Mapping[str, str], usual: Mapping[str, str], name: str) -> Tag:
    """Return the meaning of *name*. An undeclared usual prefix has its usual meaning."""
    prefix, _, local = name.rpartition(":")
    namespace = declared.get(prefix, usual.get(prefix.lower(), prefix))
    is_known = prefix in {"", "xml", "xmlns"} or prefix in declared or prefix.lower() in usual
    is_sure = is_known and _NAME.fullmatch(name) is not None
    return Tag(f"{{{namespace}}}{local}" if namespace else local, local.lower(), is_sure)


class TokenReader:
    """The state between two tokens that both readers have."""

    def __init__(self, chunks: Iterator[str], into: Collector) -> None:
        self.tokens = Tokenizer(chunks, into.problems)
        self._problems = into.problems
        self._open: list[Element] = []  # the current entry, and its open elements
        self._nodes = self._chars = 0  # of the current entry
        self._skipped = 0  # open elements that are left out
        self._has_ended = False  # whether the root has
        self._is_stray = False  # whether stray text was reported since the last tag
        self._undeclared: set[int] = set()  # hashes of the prefixes reported

    def _meaning(self, token: Token, scope: Namespaces, found: Mapping[str, str]) -> Tag:
        """Return the meaning of a start tag with the attributes *found* in *scope*, and note damage."""
        tag = scope[token.value]
        if not tag.is_sure or (found and not scope.are_sure(found)):
            self._problems.mark_unreliable()
        if ":" in token.value:
            prefix = token.value.partition(":")[0]
            if hash(prefix) not in self._undeclared and not scope.declares(prefix):
                if len(self._undeclared) < _MAX_PREFIXES:
                    self._undeclared.add(hash(prefix))
                self._problems.add("xml/undeclared-prefix", line=token.line, excerpt=token.as_text)
        return tag

    def _note_once(self, code: str, line: int, excerpt: str | None = None) -> None:
        if code not in self._problems:
            self._problems.add(code, line=line, excerpt=excerpt)

    def _malformed(self, what: str, token: Token) -> None:
        excerpt = f"</{token.value}>" if token.sort == "end" else token.as_text
        self._problems.add("xml/malformed", what, line=token.line, excerpt=excerpt)
