"""``Shape``: checks the nesting of plain entries, and extracts their columns.

Plain is what generators write: the protocol's own fields, each at most once per entry,
and any number of alternates and images.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.formats.columns import trimmed
from sitemap_harvest.formats.xml.extensions import IMAGE_FIELDS, LINK_ATTRIBUTES, is_image, is_link
from sitemap_harvest.formats.xml.markup import Markup, NotExplained
from sitemap_harvest.model import UrlBatch
from sitemap_harvest.urls import BLANKS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemap_harvest.formats.xml.markup import Numbers

Texts = dict[str, Any]  # by column: a pa.Array, or None if no entry has it

_FIELDS = ("loc", "lastmod", "changefreq", "priority")
_LINK_ATTRIBUTES = frozenset({"rel", *LINK_ATTRIBUTES})
_SHORTEST_URL = len("http://a")
_XML_BLANKS = " \t\n"
_TAG = re.compile(r'(/?)([A-Za-z_][\w:.\-]*)((?:\s+[A-Za-z_][\w:.\-]*="")+\s*|)(/?)', re.ASCII)
_HTTP, _BLANK, _LOWER = b"http", b" "[0], 0x20  # setting the bit makes a letter lower case
_TWO_URLS = r"(?i)[^ \t\n][ \t\n]+https?://"
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&"))  # & last


class _Role(IntEnum):
    """The role of an element."""

    URL = 0
    FIELD = 1
    LINK = 2
    IMAGE = 3
    IMAGE_FIELD = 4


_DEPTH = np.array([0, 1, 1, 1, 2])  # depth of the elements of each role below the root


@dataclass(frozen=True, slots=True)
class _Tag:
    role: _Role
    name: str
    attributes: tuple[str, ...]
    is_start: bool
    is_end: bool


class Shape:
    """The meanings of the elements of one document, by the prefixes that its root declares."""

    def __init__(self, namespaces: Mapping[str | None, str]) -> None:
        self._names = {"url": _Role.URL} | dict.fromkeys(_FIELDS, _Role.FIELD)
        for prefix, namespace in namespaces.items():
            if prefix and is_link(f"{{{namespace}}}link"):
                self._names[f"{prefix}:link"] = _Role.LINK
            if prefix and is_image(f"{{{namespace}}}image") and _Role.IMAGE not in self._names.values():
                self._names[f"{prefix}:image"] = _Role.IMAGE
                self._names |= {f"{prefix}:{name}": _Role.IMAGE_FIELD for name in IMAGE_FIELDS}

    def texts(self, chunk: bytes) -> Texts:
        """Return the columns of *chunk*, which has complete entries. Raises :exc:`NotExplained`."""
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")  # normalized as in XML
        markup = Markup(chunk)
        texts = _Entries(markup, [self._tag(form) for form in markup.forms], _entities(chunk)).columns()
        if _has_blank_before_url(chunk) and pc.any(pc.match_substring_regex(texts["loc"], _TWO_URLS)).as_py():
            raise NotExplained
        return texts

    def _tag(self, form: str) -> _Tag:
        """Return the meaning of a tag of *form*. Raises :exc:`NotExplained`."""
        match = _TAG.fullmatch(form)
        if not match or match[2] not in self._names:
            raise NotExplained
        role = self._names[match[2]]
        attributes = tuple(match[3].replace('=""', "").split())
        is_empty, is_end = bool(match[4]), bool(match[1])
        if is_empty != (role is _Role.LINK) or (attributes and role is not _Role.LINK) or (is_empty and is_end):
            raise NotExplained
        if len(set(attributes)) < len(attributes) or not _LINK_ATTRIBUTES.issuperset(attributes):
            raise NotExplained
        return _Tag(role, match[2], attributes, is_start=not (is_empty or is_end), is_end=is_end)


class _Entries:
    """The entries of a chunk. Raises :exc:`NotExplained` if they are not plain."""

    def __init__(self, markup: Markup, tags: list[_Tag], entities: list[tuple[str, str]]) -> None:
        self._markup, self._tags, self._entities = markup, tags, entities
        self._role = np.array([tag.role for tag in tags])[markup.form]
        self._is_start = np.array([tag.is_start for tag in tags])[markup.form]
        self._is_end = np.array([tag.is_end for tag in tags])[markup.form]
        self._check_nesting()
        self._check_gaps()
        self._entry = np.cumsum((self._role == _Role.URL) & self._is_start) - 1

    def _check_nesting(self) -> None:
        """Check that each element is where its role requires it, and has a matching end tag."""
        depth = np.cumsum(self._is_start.astype(np.int8) - self._is_end)
        if depth[-1] or (depth - self._is_start != _DEPTH[self._role]).any():
            raise NotExplained
        names = [tag.name for tag in self._tags]
        name = np.array([names.index(tag.name) for tag in self._tags])[self._markup.form]
        is_value = (self._role == _Role.FIELD) | (self._role == _Role.IMAGE_FIELD)
        self._values = np.flatnonzero(is_value & self._is_start)
        after = self._values + 1
        # Two consecutive values cannot be mixed up, and there is one surrounding element per level.
        if not self._is_end[after].all() or (name[after] != name[self._values]).any():
            raise NotExplained
        if np.count_nonzero(is_value & self._is_end) != len(after):
            raise NotExplained

    def _check_gaps(self) -> None:
        """Check that there is only whitespace outside of values."""
        is_gap = np.ones(len(self._role), np.bool_)
        is_gap[self._values] = False
        starts, stops = self._markup.stops[is_gap] + 1, self._markup.next[is_gap]
        is_filled = starts < stops
        gaps = self._markup.texts(starts[is_filled], stops[is_filled]).unique()
        if any(gap.strip(_XML_BLANKS) for gap in gaps.to_pylist()):
            raise NotExplained

    def columns(self) -> Texts:
        """Return the columns of the entries."""
        count = int(self._entry[-1]) + 1
        found: Texts = {name: self._column(name, self._entry, count) for name in _FIELDS}
        loc = found["loc"]
        if loc is None or loc.null_count or pc.min(pc.binary_length(loc)).as_py() < _SHORTEST_URL:
            raise NotExplained
        if pc.min(pc.binary_length(pc.utf8_ltrim(loc, characters=BLANKS))).as_py() == 0:
            raise NotExplained  # no URL at all
        return found | {"alternates": self._alternates(count), "images": self._images(count)}

    def _column(self, name: str, owner: Numbers, count: int) -> pa.StringArray | None:
        """Return the values of *name*, each for a different *owner*, of *count* owners."""
        forms = [number for number, tag in enumerate(self._tags) if tag.name == name and tag.is_start]
        if not forms:
            return None
        tags = np.flatnonzero(self._markup.form == forms[0])
        texts = self._decoded(self._markup.texts(self._markup.stops[tags] + 1, self._markup.next[tags]))
        return _spread(texts, owner[tags], count)

    def _alternates(self, count: int) -> pa.ListArray | None:
        links = np.flatnonzero(self._role == _Role.LINK)
        if not len(links):
            return None
        found = {name: self._attribute(name, links) for name in _LINK_ATTRIBUTES}
        relations = found.pop("rel")
        if relations is not None and any(
            rel is not None and rel.lower() != "alternate" for rel in relations.unique().to_pylist()
        ):
            raise NotExplained
        return _lists("alternates", found, self._entry[links], count)

    def _attribute(self, name: str, links: Numbers) -> pa.StringArray | None:
        """Return the attribute *name* of *links*, null if one lacks it; ``None`` if all lack it."""
        starts, stops = np.full(len(links), -1), np.full(len(links), -1)
        for form, values in self._markup.values.items():
            attributes = self._tags[form].attributes
            if name in attributes:
                rows, number = np.searchsorted(links, values.tags), attributes.index(name)
                starts[rows], stops[rows] = values.starts[:, number], values.stops[:, number]
        given = np.flatnonzero(starts >= 0)
        if not len(given):
            return None
        texts = self._markup.texts(starts[given], stops[given])
        if any(pc.any(pc.match_substring(texts, blank)).as_py() for blank in "\t\n"):
            raise NotExplained  # in an attribute these become spaces
        return _spread(self._decoded(texts), given, len(links))

    def _images(self, count: int) -> pa.ListArray | None:
        is_image = (self._role == _Role.IMAGE) & self._is_start
        owners = self._entry[is_image]
        if not len(owners):
            return None
        image, prefix = np.cumsum(is_image) - 1, self._prefix(_Role.IMAGE)
        found = {name: self._column(f"{prefix}:{name}", image, len(owners)) for name in IMAGE_FIELDS}
        return _lists("images", {n: None if c is None else trimmed(c) for n, c in found.items()}, owners, count)

    def _prefix(self, role: _Role) -> str:
        return next(tag.name.partition(":")[0] for tag in self._tags if tag.role is role)

    def _decoded(self, texts: pa.StringArray) -> pa.StringArray:
        for entity, character in self._entities:
            texts = pc.replace_substring(texts, entity, character)
        return texts


def _has_blank_before_url(chunk: bytes) -> bool:
    """Whether a URL follows whitespace, like the second of two; many times as fast as a search."""
    codes = np.frombuffer(chunk, np.uint8)
    at = np.flatnonzero((codes[:-4] <= _BLANK) & (codes[1:-3] | _LOWER == _HTTP[0]))
    for place, letter in enumerate(_HTTP[1:], start=2):
        at = at[codes[at + place] | _LOWER == letter]
    return bool(len(at))


def _spread(texts: pa.StringArray, owners: Numbers, count: int) -> pa.StringArray:
    """Return *texts* as a column of *count* rows, each in its owner's row.

    Raises :exc:`NotExplained` if one has two.
    """
    if (np.diff(owners) <= 0).any():
        raise NotExplained
    if len(texts) == count:
        return texts
    at = np.full(count, -1)
    at[owners] = np.arange(len(texts))
    return texts.take(pa.array(at, mask=at < 0))


def _lists(name: str, fields: Mapping[str, pa.Array | None], owners: Numbers, count: int) -> pa.ListArray:
    """Return the column *name* of lists of records with *fields*, each in the list of its owner, of *count* owners."""
    kind = UrlBatch.schema().field(name).type
    record = kind.value_type
    rows = len(owners)
    arrays = [pa.nulls(rows, f.type) if (c := fields.get(f.name)) is None else c for f in record]
    sizes = np.bincount(owners, minlength=count)
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    values = pa.StructArray.from_arrays(arrays, fields=list(record))
    return pa.ListArray.from_arrays(offsets, values, type=kind, mask=pa.array(sizes == 0))


def _entities(data: bytes) -> list[tuple[str, str]]:
    """Return the entities in *data*. Raises :exc:`NotExplained` if it has others than XML's own."""
    if not (left := data.count(b"&")):
        return []
    found = []
    for entity, character in _ENTITIES:
        if number := data.count(entity.encode()):
            found.append((entity, character))
            left -= number
    if left:
        raise NotExplained
    return found
