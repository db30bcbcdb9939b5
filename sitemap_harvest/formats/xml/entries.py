"""What the elements of a sitemap or an index mean, whichever lane read them.

Spec: https://www.sitemaps.org/protocol.html
An element is anything with ``tag``, ``text``, ``get`` and children, so that
lxml's and the mending lane's own are read by the same code.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from sitemap_harvest.formats.caches import Names
from sitemap_harvest.formats.xml.extensions import Extensions
from sitemap_harvest.urls import BLANKS, several, web_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.model import Kind


class Role(Enum):
    """What an element is in a sitemap. The value is its name in lower case."""

    URL = "url"
    SITEMAP = "sitemap"
    LOC = "loc"
    LASTMOD = "lastmod"
    CHANGEFREQ = "changefreq"
    PRIORITY = "priority"
    OTHER = ""

    def __init__(self, name: str) -> None:
        self.is_entry = name in {"url", "sitemap"}  #: Whether it holds a URL and what belongs to it.
        self.is_field = name in {"loc", "lastmod", "changefreq", "priority"}  #: Whether it is a value of an entry.


_ROLES = {role.value: role for role in Role}
_SITEMAP_NAMESPACES = ("sitemaps.org/schemas/sitemap", "google.com/schemas/sitemap/0.")


_URL, _SITEMAP, _LOC, _OTHER = Role.URL, Role.SITEMAP, Role.LOC, Role.OTHER  # a member of an Enum is slow to look up
_LASTMOD, _CHANGEFREQ, _PRIORITY = Role.LASTMOD, Role.CHANGEFREQ, Role.PRIORITY
_Fields = tuple[str | None, str | None, str | None, str | None]  # loc, lastmod, changefreq, priority


class Roles(Names[Role]):
    """What each tag is below an element of one namespace; filled as tags are met."""

    def __init__(self, parent_namespace: str) -> None:
        super().__init__()
        self._parent_namespace = parent_namespace

    def find(self, tag: object) -> Role:
        """Return the role of *tag* (``{namespace}local``).

        A name counts if it has no namespace, its parent's, or one of the
        protocol's, in any spelling; ``image:loc`` is no ``loc``.
        """
        if not isinstance(tag, str):
            return Role.OTHER  # a comment or an entity
        namespace, local = split(tag)
        if namespace in {"", self._parent_namespace} or any(part in namespace for part in _SITEMAP_NAMESPACES):
            return _ROLES.get(local.lower(), Role.OTHER)
        return Role.OTHER


class _RolesByParent(Names[Roles]):
    """What tags are inside an element, by its own tag."""

    def find(self, parent_tag: object) -> Roles:
        """Return what tags are inside an element *parent_tag*."""
        return Roles(split(parent_tag)[0] if isinstance(parent_tag, str) else "")


class OddShape(Exception):  # noqa: N818 - no error: it sends the document down the mending lane
    """A value holds another one, or an entry, so that its end tag is at the wrong place."""


def split(tag: str) -> tuple[str, str]:
    """Return namespace and local name of ``{namespace}local``."""
    namespace, brace, local = tag.rpartition("}")
    return (namespace[1:], local) if brace else ("", tag)


class EntryReader:
    """Reads ``<url>`` and ``<sitemap>`` elements, in document order, into a collector."""

    def __init__(
        self, into: Collector, kind: Kind, *, read: int = 0, position: int | None = None, line: int = 0
    ) -> None:
        """Read into *into* what comes behind *read* children of the root.

        They hold *position* entries (``None``: one each); *line* of their lines
        are not in what is read here.
        """
        self._into = into
        self.read_children = read
        """Children of the root that have been read, here and before."""
        self.position = read if position is None else position
        """Entries that have been read, here and before."""
        self.may_give_up = True
        """Whether there is a lane that reads on where :exc:`OddShape` is raised."""
        self._before = self.position  # the child of the root that is being read
        self._line_before = line
        self._own_role = Role.SITEMAP if kind == "index" else Role.URL
        self._roles = _RolesByParent()
        self._extensions = Extensions()

    def roles(self, parent_tag: Any) -> Roles:
        """Return what tags are inside an element *parent_tag*."""
        return self._roles[parent_tag]

    def knows(self, tag: object) -> bool:
        """Whether *tag* is that of an extension."""
        return self._extensions.know(tag)

    def read(self, element: Any, root_tag: object) -> None:
        """Read *element*, a child of the root: an entry, or something that may hold entries.

        Raises :exc:`OddShape`; nothing of the element has been read then.
        """
        self._before = self.position
        try:
            self._read(element, root_tag)
        except OddShape:
            self.position = self._before
            raise
        self.read_children += 1

    def _read(self, element: Any, parent_tag: object) -> None:
        role = self.roles(parent_tag)[element.tag]
        if role.is_entry:
            self._entry(element, role)
        elif role is _LOC:
            self._outside(element)
        elif self.knows(element.tag):
            self._into.problems.add("xml/extension-outside", line=self._line(element))
        else:
            for child in element:
                self._read(child, element.tag)

    def _outside(self, loc: Any) -> None:
        """Read a *loc* that stands in no entry, if it is surely a URL."""
        text = "".join(loc.itertext())
        if "://" not in text:
            self._into.problems.add("xml/stray-text", line=self._line(loc), excerpt=text)
            return
        self.position += 1
        self._into.problems.add("loc/outside-entry", entry=self.position, line=self._line(loc), excerpt=text)
        self._put(self._own_role, self.position, (text, None, None, None), [])

    def _entry(self, element: Any, role: Role) -> None:  # noqa: C901, PLR0912 - the hot loop: a call less for each field
        self.position = position = self.position + 1
        if role is not self._own_role:
            self._into.problems.add("xml/foreign-entry", entry=position, line=self._line(element))
        loc = lastmod = changefreq = priority = None
        others: list[Any] = []
        nested: list[tuple[Any, Role]] = []
        roles = self.roles(element.tag)
        stray, puts = element.text, 0
        for child in element:
            if (tail := child.tail) and not tail.isspace():
                stray = tail
            found = roles[child.tag]
            if found is _OTHER:
                others.append(child)
                continue
            text = (child.text or "") if not len(child) else self._text_of(child, found, roles, puts)
            if found is _LOC:
                if len(child):
                    self._into.problems.add("loc/markup", entry=position, line=self._line(child), excerpt=text)
                    text = web_line(text)
                if loc and loc.strip(BLANKS):
                    self._into.problems.add("loc/repeated", entry=position, line=self._line(child), excerpt=text)
                    self._put(role, position, (loc, lastmod, changefreq, priority), others)
                    self._look_for_entries(others, roles)
                    puts += 1
                    lastmod = changefreq = priority = None
                    others = []
                loc = text
            elif found is _LASTMOD and lastmod is None:
                lastmod = text
            elif found is _CHANGEFREQ and changefreq is None:
                changefreq = text
            elif found is _PRIORITY and priority is None:
                priority = text
            elif found is _URL or found is _SITEMAP:
                nested.append((child, found))
            else:  # a field that stands twice: the first counts, the other is kept
                self._into.problems.add("xml/repeated-field", entry=position, line=self._line(child), excerpt=text)
                others.append(child)
        if stray and (stray := stray.strip(BLANKS)):
            if loc is None and "://" in stray:
                loc = stray
                self._into.problems.add("loc/no-element", entry=position, line=self._line(element), excerpt=stray)
            else:
                self._into.problems.add("xml/stray-text", entry=position, line=self._line(element), excerpt=stray)
        if loc is not None or not nested:
            self._put(role, position, (loc, lastmod, changefreq, priority), others)
        for child, found in nested:
            self._nested(child, found)
        if others:
            self._look_for_entries(others, roles)

    def _text_of(self, value: Any, role: Role, roles: Roles, puts: int) -> str:
        """Return the text of a *value* with elements in it. Raises :exc:`OddShape` if one is a value or an entry.

        Not once something of this child of the root has been put into the collector, the entry itself (*puts* times)
        or another one: it would be there twice; and not where no other lane is left. Only what stands before the inner
        value is read then.
        """
        if not role.is_field or not any(roles[child.tag] is not _OTHER for child in value):
            return "".join(value.itertext())
        if puts or self.position > self._before + 1 or not self.may_give_up:
            detail = "a value holds another one, which was not read"
            self._into.problems.add("xml/malformed", detail, entry=self.position, line=self._line(value))
            return value.text or ""
        raise OddShape

    def _nested(self, element: Any, role: Role) -> None:
        self._into.problems.add("xml/nested-entry", entry=self.position + 1, line=self._line(element))
        self._entry(element, role)

    def _look_for_entries(self, others: Iterable[Any], roles: Roles) -> None:
        """Read the entries inside of what belongs to no extension: somebody forgot an end tag, or wrote a wrong one."""
        for other in others:
            if len(other):
                if (role := roles[other.tag]).is_entry and any(roles[child.tag] is _LOC for child in other):
                    self._nested(other, role)  # which looks for those inside of it
                else:
                    self._look_for_entries(other, roles)

    def _put(self, role: Role, position: int, fields: _Fields, others: list[Any]) -> None:
        loc, lastmod, changefreq, priority = fields
        if not loc or not loc.strip(BLANKS):
            self._into.problems.add("loc/empty", entry=position)
            return
        urls = several(loc) if loc.count("://") > 1 else [loc]
        if len(urls) > 1:
            self._into.problems.add("loc/repeated", entry=position, excerpt=loc.strip(BLANKS))
        if role is _SITEMAP:
            for url in urls:
                self._into.refer(position, url, lastmod)
            return
        more = self._extensions.read(others) if others else None
        for other in others:
            if (text := other.text) and not text.isspace() and self.knows(other.tag):
                self._into.problems.add("xml/stray-text", entry=position, line=self._line(other), excerpt=text.strip())
        for url in urls:
            self._into.add(position, url, lastmod, changefreq, priority, more)

    def _line(self, element: Any) -> int | None:
        line: int | None = element.sourceline
        return None if line is None else line + self._line_before
