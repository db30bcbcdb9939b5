"""``Template``: what the entries that a generator writes in one way have in common, and where their values are.

Entries of one template have the same bytes except for their values. So one of them is
read tag by tag, and the others are compared with it, all at once.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sitemap_harvest.formats.xml.extensions import (
    IMAGE_FIELDS,
    LINK_ATTRIBUTES,
    NEWS_FIELDS,
    PUBLICATION_FIELDS,
    VIDEO_FIELDS,
    record_column,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    Numbers = npt.NDArray[np.intp]

FIELDS = ("loc", "lastmod", "changefreq", "priority")
XML_WHITESPACE = b" \t\n"
_TAG = re.compile(rb'<(/?)([A-Za-z_][\w:.\-]*)((?:\s+[A-Za-z_][\w:.\-]*="[^"<]*")*)\s*(/?)>')
_ATTRIBUTE = re.compile(rb'\s([A-Za-z_][\w:.\-]*+)="([^"<]*+)"')


class Role(Enum):
    """The role of an element in an entry."""

    ENTRY = "entry"
    RECORD = "record"
    GROUP = "group"
    """Contains values of a record."""
    VALUE = "value"
    LINK = "link"
    """A record whose values are attributes."""


class Meaning(NamedTuple):
    """What an element means."""

    role: Role
    parent: Role | None
    """The role of its parent, which belongs to the same column or is the entry; ``None`` for the entry."""
    column: str = ""
    field: str = ""
    """The field of a value."""


_RECORDS = {"image": IMAGE_FIELDS, "video": VIDEO_FIELDS, "news": NEWS_FIELDS}  # the fields by local name


class Slot(NamedTuple):
    """The place of a value in the entries of a template."""

    column: str
    """The column of the value, or of the list of the record that it belongs to, such as ``images``."""
    record: int
    """Index of the record in that list."""
    name: str
    """The field."""
    constant: int
    """Index of the constant before the value."""


class Constant(NamedTuple):
    """The bytes before, between and after the values, which are the same in all entries of a template."""

    first: int
    """Index of the mark at its start, among the marks of an entry."""
    data: bytes


class Template(NamedTuple):
    """The common bytes of entries. The marks of an entry are its ``<`` and ``"``, which no value contains."""

    marks: int
    """Number of marks of an entry."""
    constants: tuple[Constant, ...]
    slots: tuple[Slot, ...]
    records: Mapping[str, int]
    """Number of records of an entry, by column."""

    def fits(self, marks: Numbers, data: Bytes) -> npt.NDArray[np.bool_]:
        """Return which rows of *marks*, the positions of those of one entry each, are entries of this template."""
        fits = np.ones(len(marks), np.bool_)
        for constant in self.constants:
            found = data.equal(marks[:, constant.first], constant.data)
            fits &= found
        return fits

    def fits_one(self, marks: list[int], data: bytes) -> bool:
        """Return whether the entry in *data* with the *marks* is one of this template."""
        constants = self.constants
        return len(marks) == self.marks and all(data.startswith(one.data, marks[one.first]) for one in constants)


class Bytes:
    """Data, for comparing many positions with a pattern at once."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._views: dict[int, npt.NDArray[np.void]] = {}

    def find(self, positions: Numbers, pattern: bytes) -> Numbers:
        """Return the indexes of those of *positions*, which are ascending, at which the data has *pattern*."""
        last = len(pattern) - 1
        codes = np.frombuffer(self._data, np.uint8)
        inside = positions[: np.searchsorted(positions, len(codes) - last)]
        likely = np.flatnonzero((codes[inside + 1] == pattern[1]) & (codes[inside + last] == pattern[last]))
        return np.asarray(likely[np.broadcast_to(self.equal(inside[likely], pattern), len(likely))])

    def equal(self, positions: Numbers, pattern: bytes) -> npt.NDArray[np.bool_] | bool:
        """Return at which of *positions*, which are ascending, the data has *pattern*; ``True`` for all."""
        size = len(pattern)
        if (view := self._views.get(size)) is None:
            rows = max(0, len(self._data) - size + 1)
            view = self._views[size] = np.ndarray((rows,), f"V{size}", self._data, 0, (1,))
        if not len(positions) or positions[-1] < len(view):
            found = view[positions]
            if found.tobytes() == pattern * len(positions):
                return True
            codes = found.view(np.uint8).reshape(-1, size)
            return np.asarray((codes == np.frombuffer(pattern, np.uint8)).all(axis=1))
        is_inside = positions < len(view)
        is_inside[is_inside] = self.equal(positions[is_inside], pattern)
        return is_inside


def meanings_of(namespaces: Mapping[str | None, str], prefix: str) -> dict[bytes, Meaning]:
    """Return the meanings of the elements of plain entries by name, with the prefixes in *namespaces*.

    *prefix* is that of the sitemap's own elements with its colon, or empty.
    """
    elements = {f"{prefix}url": Meaning(Role.ENTRY, None)}
    elements |= {prefix + name: Meaning(Role.VALUE, Role.ENTRY, name, name) for name in FIELDS}
    for other, namespace in namespaces.items():
        if other and (column := record_column(f"{{{namespace}}}link")):
            elements[f"{other}:link"] = Meaning(Role.LINK, Role.ENTRY, column)
        for local, fields in _RECORDS.items():
            if other and (column := record_column(f"{{{namespace}}}{local}")):
                elements[f"{other}:{local}"] = Meaning(Role.RECORD, Role.ENTRY, column)
                elements |= {f"{other}:{name}": Meaning(Role.VALUE, Role.RECORD, column, name) for name in fields}
                if column == "news":
                    elements[f"{other}:publication"] = Meaning(Role.GROUP, Role.RECORD, column)
                    for name in PUBLICATION_FIELDS:
                        elements[f"{other}:{name}"] = Meaning(Role.VALUE, Role.GROUP, column, f"publication_{name}")
    return {name.encode(): element for name, element in elements.items()}


def template_of(entry: bytes, marks: list[int], meanings: Mapping[bytes, Meaning]) -> Template | None:
    """Return the template of *entry*, whose marks are at the positions *marks*; ``None`` if it is not plain.

    Plain is what generators write: the protocol's own fields, each at most once, and any
    number of alternates, images, videos and news whose values have no attributes.
    """
    try:
        return _Entry(entry, marks, meanings).template()
    except _NotPlain:
        return None


class _NotPlain(Exception):  # noqa: N818 - not an error: it ends the reading of an entry
    """The entry has something that no template has."""


class _Entry:
    """An entry that is read tag by tag."""

    def __init__(self, data: bytes, marks: list[int], meanings: Mapping[bytes, Meaning]) -> None:
        self._data = data
        self._marks = marks
        self._meanings = meanings
        self._slots: list[Slot] = []
        self._starts = [0]  # of the constants: indexes of marks
        self._ends: list[int] = []  # of the constants: positions at which values begin
        self._records: Counter[str] = Counter()
        self._open: list[tuple[bytes, Meaning]] = []  # names of the elements that are open
        self._fields: set[tuple[str, int, str]] = set()

    def template(self) -> Template:
        """Return the template. Raises :exc:`_NotPlain`."""
        position = 0
        while match := _TAG.match(self._data, position):
            position = self._data.find(b"<", match.end())
            if match[1]:
                self._end_tag(match)
            else:
                element = self._start_tag(match)
                if element.role is Role.VALUE:
                    self._slot(element.column, element.field)
                    self._value(match.end(), position)
                    continue
            if not self._open:
                break
            if self._data[match.end() : position].strip(XML_WHITESPACE):
                raise _NotPlain
        if match is None or match.end() < len(self._data) or ("loc", 0, "loc") not in self._fields:
            raise _NotPlain
        bounds = zip(self._starts, [*self._ends, len(self._data)], strict=True)
        constants = tuple(Constant(first, self._data[self._marks[first] : end]) for first, end in bounds)
        return Template(len(self._marks), constants, tuple(self._slots), self._records)

    def _end_tag(self, tag: re.Match[bytes]) -> None:
        if tag[3] or tag[4] or not self._open or self._open.pop()[0] != tag[2]:
            raise _NotPlain

    def _start_tag(self, tag: re.Match[bytes]) -> Meaning:
        element = self._meanings.get(tag[2])
        parent = self._open[-1][1] if self._open else None
        if element is None or element.parent is not (parent and parent.role):
            raise _NotPlain
        if parent and parent.column not in {"", element.column}:
            raise _NotPlain
        if element.role in {Role.RECORD, Role.LINK}:
            self._records[element.column] += 1
        if element.role is Role.LINK:
            self._link(element, tag)
        elif tag[3] or tag[4]:
            raise _NotPlain
        else:
            self._open.append((tag[2], element))
        return element

    def _link(self, element: Meaning, tag: re.Match[bytes]) -> None:
        if not tag[4]:
            raise _NotPlain
        for attribute in _ATTRIBUTE.finditer(self._data, *tag.span(3)):
            name = attribute[1].decode()
            if name == "rel":
                if attribute[2].lower() != b"alternate":
                    raise _NotPlain
                self._record(element.column, name)
            elif name in LINK_ATTRIBUTES:
                self._slot(element.column, name)
                self._value(*attribute.span(2))
            else:
                raise _NotPlain

    def _record(self, column: str, field: str) -> int:
        """Return the index of the current record of *column*, whose *field* must be new."""
        place = (column, max(0, self._records[column] - 1), field)
        if place in self._fields:
            raise _NotPlain
        self._fields.add(place)
        return place[1]

    def _slot(self, column: str, field: str) -> None:
        self._slots.append(Slot(column, self._record(column, field), field, len(self._ends)))

    def _value(self, start: int, end: int) -> None:
        """Take the value from *start* to *end*, before which the current constant ends."""
        mark = bisect_left(self._marks, start)
        if mark == len(self._marks) or self._marks[mark] != end:
            raise _NotPlain  # it contains a mark
        self._ends.append(start)
        self._starts.append(mark)
