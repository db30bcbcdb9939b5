"""``EntryReader``: the meaning of the elements of a sitemap or an index, for all XML parsers.

Spec: https://www.sitemaps.org/protocol.html. An element is any object with ``tag``,
``text``, ``get`` and children, so that elements of lxml and of the tolerant parser are
read by the same code.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from sitemap_harvest.formats.xml.extensions import Names, is_extension, read_extensions
from sitemap_harvest.urls import WHITESPACE, several, web_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.model import Kind


Role = Literal["url", "sitemap", "loc", "lastmod", "changefreq", "priority", ""]
"""The role of an element in a sitemap: its name in lower case; empty for any other element."""

ENTRIES: frozenset[Role] = frozenset({"url", "sitemap"})
"""The elements that hold a URL and its properties."""
FIELDS: frozenset[Role] = frozenset({"loc", "lastmod", "changefreq", "priority"})
"""The values of an entry."""
Roles = Names[Role]
"""The role of each tag below an element of one namespace, computed on demand."""

_Fields = tuple[str | None, str | None, str | None, str | None]  # loc, lastmod, changefreq, priority
_ROLES: dict[str, Role] = {role: role for role in ENTRIES | FIELDS}
_SITEMAP_NAMESPACES = ("sitemaps.org/schemas/sitemap", "google.com/schemas/sitemap/0.")


def _role(parent_namespace: str, tag: object) -> Role:
    """Return the role of *tag* (``{namespace}local``) below an element of *parent_namespace*.

    A name counts if it has no namespace, its parent's, or one of the protocol's, in any
    spelling; ``image:loc`` is not a ``loc``.
    """
    if not isinstance(tag, str):
        return ""  # a comment or an entity
    namespace, local = split(tag)
    if namespace in {"", parent_namespace} or any(part in namespace.lower() for part in _SITEMAP_NAMESPACES):
        return _ROLES.get(local.lower(), "")
    return ""


def _roles_below(parent_tag: object) -> Roles:
    return Names(partial(_role, split(parent_tag)[0] if isinstance(parent_tag, str) else ""))


class OddShape(Exception):  # noqa: N818 - not an error: it selects the tolerant parser
    """A value contains another one, or an entry, so its end tag is misplaced."""


def split(tag: str) -> tuple[str, str]:
    """Return namespace and local name of ``{namespace}local``."""
    namespace, brace, local = tag.rpartition("}")
    return (namespace[1:], local) if brace else ("", tag)


class EntryReader:
    """Reads ``<url>`` and ``<sitemap>`` elements, in document order, into a collector."""

    def __init__(self, into: Collector, kind: Kind, *, read: int = 0, line: int = 0) -> None:
        """Read to *into* the entries after the first *read* children of the root, which are entries.

        *line* is the number of their lines, which are missing in what is read here.
        """
        self._into = into
        self.read_children = self.position = read
        """Number of children of the root, and of entries, that were read, here and before."""
        self.line_before = line
        """Number of lines that are missing in what is read here."""
        self.may_give_up = True
        """Whether another parser continues after :exc:`OddShape`."""
        self._before = self.position  # the child of the root being read
        self._own_role: Role = "sitemap" if kind == "index" else "url"
        self.roles = Names(_roles_below)
        """The roles of tags, by the tag of their parent."""

    def read(self, element: Any, root_tag: object) -> None:
        """Read *element*, a child of the root: an entry, or something that may contain entries.

        Raises :exc:`OddShape` before anything of the element was read.
        """
        self._before = self.position
        try:
            self._read(element, root_tag)
        except OddShape:
            self.position = self._before
            raise
        self.read_children += 1

    def _read(self, element: Any, parent_tag: Any) -> None:
        role = self.roles[parent_tag][element.tag]
        if role in ENTRIES:
            self._entry(element, role)
        elif role == "loc":
            self._outside(element)
        elif is_extension(element.tag):
            self._into.problems.add("xml/extension-outside", line=self.line(element))
        else:
            for child in element:
                self._read(child, element.tag)

    def _outside(self, loc: Any) -> None:
        """Read a *loc* outside of an entry, if it is certainly a URL."""
        text = "".join(loc.itertext())
        if "://" not in text:
            self._into.problems.add("xml/stray-text", line=self.line(loc), excerpt=text)
            return
        self.position += 1
        self._into.problems.add("loc/outside-entry", entry=self.position, line=self.line(loc), excerpt=text)
        self._put(self._own_role, self.position, (text, None, None, None), [])

    def _entry(self, element: Any, role: Role) -> None:  # noqa: C901, PLR0912, PLR0915 - the hot loop: avoids calls
        self.position = position = self.position + 1
        if role != self._own_role:
            self._into.problems.add("xml/foreign-entry", entry=position, line=self.line(element))
        loc = lastmod = changefreq = priority = None
        others: list[Any] = []
        nested: list[tuple[Any, Role]] = []
        roles = self.roles[element.tag]
        stray, puts = element.text, 0
        for child in element:
            if (tail := child.tail) and not tail.isspace():
                stray = tail
            found = roles[child.tag]
            if not found:
                others.append(child)
                continue
            text = (child.text or "") if not len(child) else self._text_of(child, found, roles, puts)
            if found == "loc":
                if len(child):
                    self._into.problems.add("loc/markup", entry=position, line=self.line(child), excerpt=text)
                    text = web_line(text)
                if loc and loc.strip(WHITESPACE):
                    self._into.problems.add("loc/repeated", entry=position, line=self.line(child), excerpt=text)
                    nested += _entries_inside(others, roles)
                    self._put(role, position, (loc, lastmod, changefreq, priority), others)
                    puts += 1
                    lastmod = changefreq = priority = None
                    others = []
                loc = text
            elif found == "lastmod" and lastmod is None:
                lastmod = text
            elif found == "changefreq" and changefreq is None:
                changefreq = text
            elif found == "priority" and priority is None:
                priority = text
            elif found in ENTRIES:
                nested.append((child, found))
            else:  # a duplicate field: the first counts, the other goes to ``extra``
                self._into.problems.add("xml/repeated-field", entry=position, line=self.line(child), excerpt=text)
                others.append(child)
        if stray and (stray := stray.strip(WHITESPACE)):
            if loc is None and "://" in stray:
                loc = stray
                self._into.problems.add("loc/no-element", entry=position, line=self.line(element), excerpt=stray)
            else:
                self._into.problems.add("xml/stray-text", entry=position, line=self.line(element), excerpt=stray)
        is_empty = loc is None and bool(nested)
        if others:
            nested += _entries_inside(others, roles)
        if not is_empty:
            self._put(role, position, (loc, lastmod, changefreq, priority), others)
        for child, found in nested:
            self._into.problems.add("xml/nested-entry", entry=self.position + 1, line=self.line(child))
            self._entry(child, found)

    def _text_of(self, value: Any, role: Role, roles: Roles, puts: int) -> str:
        """Return the text of a *value* with child elements. Raises :exc:`OddShape` if one is a value or an entry.

        Not raised if something of this child of the root, the entry (*puts* times) or
        another one, is already in the collector, because it would be duplicated; nor if
        there is no other parser. Then only the text before the inner value is read.
        """
        if role not in FIELDS or not self._has_role_inside(value, roles):
            return "".join(value.itertext())
        if puts or self.position > self._before + 1 or not self.may_give_up:
            detail = "a value contains another element, which was not read"
            self._into.problems.add("xml/malformed", detail, entry=self.position, line=self.line(value))
            return value.text or ""
        raise OddShape

    def _has_role_inside(self, value: Any, roles: Roles) -> bool:
        """Whether *value* contains a value or an entry at any depth, also of a document in another namespace."""
        parents = [value]
        while parents:
            parent = parents.pop()
            own = self.roles[parent.tag]
            for child in parent:
                if roles[child.tag] or (parent is not value and own[child.tag]):
                    return True
                if len(child):
                    parents.append(child)
        return False

    def _put(self, role: Role, position: int, fields: _Fields, others: list[Any]) -> None:
        loc, lastmod, changefreq, priority = fields
        if not loc or not loc.strip(WHITESPACE):
            self._into.problems.add("loc/empty", entry=position)
            return
        urls = several(loc) if loc.count("://") > 1 else [loc]
        if len(urls) > 1:
            self._into.problems.add("loc/repeated", entry=position, excerpt=loc.strip(WHITESPACE))
        if role == "sitemap":
            for url in urls:
                self._into.refer(position, url, lastmod)
            return
        more = read_extensions(others) if others else None
        for other in others:
            if (text := other.text) and not text.isspace() and is_extension(other.tag):
                self._into.problems.add("xml/stray-text", entry=position, line=self.line(other), excerpt=text.strip())
        for url in urls:
            self._into.add(position, url, lastmod, changefreq, priority, more)

    def line(self, element: Any) -> int | None:
        """Return the line of *element* in the document, if it is known."""
        line: int | None = element.sourceline
        return None if line is None else line + self.line_before


def _entries_inside(others: Iterable[Any], roles: Roles) -> list[tuple[Any, Role]]:
    """Remove the entries from *others*, which belong to no field: an end tag is missing or wrong.

    They become separate rows, and are not part of the surrounding entry.
    """
    found: list[tuple[Any, Role]] = []
    for other in others:
        entries = []
        for child in other:
            role = roles[child.tag]
            if role in ENTRIES and any(roles[one.tag] == "loc" for one in child):
                entries.append(child)
                found.append((child, role))
            elif len(child):
                found += _entries_inside((child,), roles)
        for entry in entries:
            other.remove(entry)
    return found
