"""What the elements of a sitemap or an index mean, whichever lane read them.

Spec: https://www.sitemaps.org/protocol.html
An element is anything with ``tag``, ``text``, ``get`` and children, so that
lxml's and the mending lane's own are read by the same code.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from sitemap_harvest.formats.xml.extensions import Extensions
from sitemap_harvest.urls import BLANKS

if TYPE_CHECKING:
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


class Roles(dict[object, Role]):
    """What each tag is below an element of one namespace; filled as tags are met."""

    def __init__(self, parent_namespace: str) -> None:
        super().__init__()
        self._parent_namespace = parent_namespace

    def __missing__(self, tag: object) -> Role:
        """Return the role of *tag* (``{namespace}local``).

        A name counts if it has no namespace, its parent's, or one of the
        protocol's, in any spelling; ``image:loc`` is no ``loc``.
        """
        role = self[tag] = self._role(tag)
        return role

    def _role(self, tag: object) -> Role:
        if not isinstance(tag, str):
            return Role.OTHER  # a comment or an entity
        namespace, local = split(tag)
        if namespace in {"", self._parent_namespace} or any(part in namespace for part in _SITEMAP_NAMESPACES):
            return _ROLES.get(local.lower(), Role.OTHER)
        return Role.OTHER


def split(tag: str) -> tuple[str, str]:
    """Return namespace and local name of ``{namespace}local``."""
    namespace, brace, local = tag.rpartition("}")
    return (namespace[1:], local) if brace else ("", tag)


class EntryReader:
    """Reads ``<url>`` and ``<sitemap>`` elements, in document order, into a collector."""

    def __init__(self, into: Collector, kind: Kind, *, position: int = 0, line: int = 0) -> None:
        """Read into *into*; *position* entries and *line* lines of the document come before what is read here."""
        self._into = into
        self._line_before = line
        self._own_role = Role.SITEMAP if kind == "index" else Role.URL
        self._roles: dict[object, Roles] = {}
        self._extensions = Extensions()
        self._position = position

    def roles(self, parent_tag: object) -> Roles:
        """Return what tags are inside an element *parent_tag*."""
        roles = self._roles.get(parent_tag)
        if roles is None:
            namespace = split(parent_tag)[0] if isinstance(parent_tag, str) else ""
            roles = self._roles[parent_tag] = Roles(namespace)
        return roles

    def read(self, element: Any, root_tag: object) -> None:
        """Read *element*, a child of the root: an entry, or something that may hold entries."""
        role = self.roles(root_tag)[element.tag]
        if role.is_entry:
            self._entry(element, role)
        else:
            for child in element:
                if len(child):
                    self.read(child, element.tag)

    def _entry(self, element: Any, role: Role) -> None:  # noqa: C901, PLR0912 - the hot loop: a call less for each field
        self._position = position = self._position + 1
        if role is not self._own_role:
            self._into.problems.add("xml/foreign-entry", entry=position, line=self._line(element))
        loc = lastmod = changefreq = priority = None
        others: list[Any] = []
        nested: list[tuple[Any, Role]] = []
        roles = self.roles(element.tag)
        for child in element:
            found = roles[child.tag]
            if found is _OTHER:
                others.append(child)
                continue
            text = "".join(child.itertext()) if len(child) else (child.text or "")
            if found is _LOC:
                if len(child):
                    self._into.problems.add("loc/markup", entry=position, line=self._line(child), excerpt=text)
                if loc and loc.strip(BLANKS):
                    self._into.problems.add("loc/repeated", entry=position, line=self._line(child), excerpt=text)
                    self._put(role, position, (loc, lastmod, changefreq, priority), others)
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
            else:
                others.append(child)  # a field that stands twice: the first counts, the other is kept
        if loc is None and (text := (element.text or "").strip(BLANKS)) and "://" in text:
            loc = text
        if loc is not None or not nested:
            self._put(role, position, (loc, lastmod, changefreq, priority), others)
        for child, found in nested:
            self._entry(child, found)

    def _put(self, role: Role, position: int, fields: _Fields, others: list[Any]) -> None:
        loc, lastmod, changefreq, priority = fields
        if not loc or not loc.strip(BLANKS):
            self._into.problems.add("loc/empty", entry=position)
        elif role is _SITEMAP:
            self._into.refer(position, loc, lastmod)
        else:
            more = self._extensions.read(others) if others else None
            self._into.add(position, loc, lastmod, changefreq, priority, more)

    def _line(self, element: Any) -> int | None:
        line: int | None = element.sourceline
        return None if line is None else line + self._line_before
