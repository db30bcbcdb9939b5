"""The elements and namespaces of the tolerant parser.

An element has the part of lxml's interface that :class:`EntryReader` uses, and can
contain any character.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sitemap_harvest.formats.caches import Names
from sitemap_harvest.formats.xml.extensions import WELL_KNOWN_PREFIXES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sitemap_harvest.formats.xml.entries import Role
    from sitemap_harvest.formats.xml.tokens import Token

_NAME = re.compile(r"(?:[\w.\-]+:)?[\w.\-]+")
_URI = re.compile(r"[\w.~:/?#@!$'()*+,;=%\-]*", re.ASCII)
MAX_PREFIXES = 256
"""Maximum number of prefixes declared around one element; extensions need ten."""


class Element(list["Element"]):
    """An element for :class:`EntryReader`: like lxml's, but with any characters."""

    __slots__ = ("_attributes", "is_whole", "local", "role", "scope", "sourceline", "tag", "tail", "text", "token")

    def __init__(self, tag: Tag, role: Role, attributes: dict[str, str], token: Token, scope: Namespaces) -> None:
        self.tag, self.local, _ = tag
        self.role = role  #: Its role in the entry that it is a child of.
        self.text = ""
        self.tail = ""
        self.token = token  #: Its start tag.
        self.sourceline = token.line
        self.scope = scope  #: The meanings of prefixes inside it.
        self.is_whole = True
        self._attributes = attributes

    def name_attributes(self) -> None:
        """Give the attributes their full names, and remove namespace declarations."""
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
        super().__init__()
        self._declared = declared or {}
        self._usual = usual

    def declaring(self, found: dict[str, str]) -> Namespaces:
        """Return the scope inside an element with the attributes *found*."""
        declared = {name[6:]: value for name, value in found.items() if name == "xmlns" or name.startswith("xmlns:")}
        if not declared or len(self._declared) > MAX_PREFIXES:
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

    def find(self, name: str) -> Tag:
        """Return the meaning of *name*. An undeclared usual prefix has its usual meaning."""
        prefix, _, local = name.rpartition(":")
        namespace = self._declared.get(prefix, self._usual.get(prefix.lower(), prefix))
        is_known = prefix in {"", "xml", "xmlns"} or prefix in self._declared or prefix.lower() in self._usual
        is_sure = is_known and _NAME.fullmatch(name) is not None
        return Tag(f"{{{namespace}}}{local}" if namespace else local, local.lower(), is_sure)

    def attribute(self, name: str) -> str:
        """Return ``{namespace}local`` for the attribute *name*: without a prefix it has no namespace."""
        return self[name].full if ":" in name else name
