"""The fast path: reads plain entries as whole columns, with a few vectorized operations on all tags of a chunk.

Plain is what generators write: the protocol's own fields, each at most once per entry,
and any number of alternates and images. Every ``<``, ``>``, ``&`` and control character
must be accounted for; constructs that cannot be split with certainty (a comment, a
CDATA section, a ``>`` in a text) are rejected. The results are the same as the strict
parser's, which a differential test verifies.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.formats.columns import trimmed
from sitemap_harvest.formats.xml.extensions import IMAGE_FIELDS, LINK_ATTRIBUTES, is_image, is_link
from sitemap_harvest.model import UrlBatch
from sitemap_harvest.urls import WHITESPACE

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    Numbers = npt.NDArray[np.intp]

Texts = dict[str, Any]  # by column: a pa.Array, or None if no entry has it

_LESS, _GREATER, _QUOTE, _FIRST_ALLOWED = b"<"[0], b">"[0], b'"'[0], 0x20
_NONCHARACTERS = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")  # U+FFFE and U+FFFF, which XML forbids
_MAX_FORMS = 64  # no generator writes so many different tags
_FIELDS = ("loc", "lastmod", "changefreq", "priority")
_LINK_ATTRIBUTES = frozenset({"rel", *LINK_ATTRIBUTES})
_SHORTEST_URL = len("http://a")
_XML_WHITESPACE = " \t\n"
_TAG = re.compile(r'(/?)([A-Za-z_][\w:.\-]*)((?:\s+[A-Za-z_][\w:.\-]*="")+\s*|)(/?)', re.ASCII)
_HTTP, _SPACE, _LOWER = b"http", b" "[0], 0x20  # setting the bit makes a letter lower case
_TWO_URLS = r"(?i)[^ \t\n][ \t\n]+https?://"
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&"))  # & last


class _Role(IntEnum):
    URL = 0
    FIELD = 1
    LINK = 2
    IMAGE = 3
    IMAGE_FIELD = 4


_DEPTH = np.array([0, 1, 1, 1, 2])  # depth of the elements of each role below the root


class _Tag(NamedTuple):
    """The meaning of the tags of one form."""

    role: _Role
    name: str
    attributes: tuple[str, ...]
    is_start: bool
    is_end: bool


class NotExplained(Exception):  # noqa: N818 - not an error: it selects the strict parser
    """The document contains something that the fast path does not read."""


def element_roles(namespaces: Mapping[str | None, str]) -> dict[str, _Role]:
    """Return the roles of elements by name, with the prefixes that the root declares in *namespaces*."""
    roles = {"url": _Role.URL} | dict.fromkeys(_FIELDS, _Role.FIELD)
    for prefix, namespace in namespaces.items():
        if prefix and is_link(f"{{{namespace}}}link"):
            roles[f"{prefix}:link"] = _Role.LINK
        if prefix and is_image(f"{{{namespace}}}image") and _Role.IMAGE not in roles.values():
            roles[f"{prefix}:image"] = _Role.IMAGE
            roles |= {f"{prefix}:{name}": _Role.IMAGE_FIELD for name in IMAGE_FIELDS}
    return roles


def read_columns(chunk: bytes, roles: Mapping[str, _Role]) -> Texts:
    """Return the columns of *chunk*, which has complete entries in UTF-8. Raises :exc:`NotExplained`."""
    if b"\r" in chunk:
        chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")  # normalized as in XML
    texts = _Entries(chunk, roles).columns()
    if _has_blank_before_url(chunk) and pc.any(pc.match_substring_regex(texts["loc"], _TWO_URLS)).as_py():
        raise NotExplained
    return texts


def _meaning(form: str, roles: Mapping[str, _Role]) -> _Tag:
    """Return the meaning of a tag of *form*. Raises :exc:`NotExplained`."""
    match = _TAG.fullmatch(form)
    if not match or match[2] not in roles:
        raise NotExplained
    role = roles[match[2]]
    attributes = tuple(match[3].replace('=""', "").split())
    is_empty, is_end = bool(match[4]), bool(match[1])
    if is_empty != (role is _Role.LINK) or (attributes and role is not _Role.LINK) or (is_empty and is_end):
        raise NotExplained
    if len(set(attributes)) < len(attributes) or not _LINK_ATTRIBUTES.issuperset(attributes):
        raise NotExplained
    return _Tag(role, match[2], attributes, is_start=not (is_empty or is_end), is_end=is_end)


class _Entries:
    """The entries of *data*, which begins with a tag and has normalized line ends.

    Raises :exc:`NotExplained` if *data* contains a character that XML forbids, cannot be
    split into tags and texts, or has entries that are not plain.
    """

    def __init__(self, data: bytes, roles: Mapping[str, _Role]) -> None:
        codes = np.frombuffer(data, np.uint8)
        controls = codes[codes < _FIRST_ALLOWED]
        if ((controls != 0x0A) & (controls != 0x09) & (controls != 0x0D)).any():
            raise NotExplained
        if not data.isascii():
            try:
                data.decode()
            except UnicodeDecodeError as error:
                raise NotExplained from error
            if any(character in data for character in _NONCHARACTERS):
                raise NotExplained
        self._data = pa.py_buffer(data)
        self._starts = np.flatnonzero(codes == _LESS) + 1  # start of the inside of each tag
        self._stops = np.flatnonzero(codes == _GREATER)  # end of the inside of each tag: its ``>``
        self._next = np.append(self._starts[1:] - 1, len(data))  # end of the text after each tag
        if len(self._starts) != len(self._stops) or not len(self._starts) or self._starts[0] != 1:
            raise NotExplained
        if (self._starts >= self._stops).any() or (self._stops >= self._next).any():
            raise NotExplained
        quotes = np.flatnonzero(codes == _QUOTE)
        self._quotes = quotes[quotes < self._stops[np.searchsorted(self._starts, quotes) - 1]]  # those in tags
        self._first_quote = np.searchsorted(self._quotes, self._starts) if len(self._quotes) else quotes  # of each tag
        forms = self._without_values().dictionary_encode()
        if len(forms.dictionary) > _MAX_FORMS:
            raise NotExplained
        self._form = forms.indices.to_numpy()
        self._tags = tags = [_meaning(form, roles) for form in forms.dictionary.to_pylist()]
        self._entities = _entities(data) if b"&" in data else []
        self._role = np.array([tag.role for tag in tags])[self._form]
        self._is_start = np.array([tag.is_start for tag in tags])[self._form]
        self._is_end = np.array([tag.is_end for tag in tags])[self._form]
        self._check()
        self._entry = np.cumsum((self._role == _Role.URL) & self._is_start) - 1

    def _texts(self, starts: Numbers, stops: Numbers) -> pa.StringArray:
        """Return the texts between *starts* and *stops*, which are ascending."""
        if not len(starts):
            return pa.array([], pa.string())
        offsets = np.empty(2 * len(starts), np.int32)
        offsets[::2], offsets[1::2] = starts, stops
        both = pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), self._data)
        return both.take(pa.array(np.arange(0, len(offsets) - 1, 2)))

    def _without_values(self) -> pa.StringArray:
        """Return the forms of all tags: tags without their quoted values, as in ``xhtml:link href=""/``."""
        if not len(self._quotes):
            return self._texts(self._starts, self._stops)
        count = np.diff(self._first_quote, append=len(self._quotes))
        if (count % 2).any():
            raise NotExplained
        starts = np.sort(np.concatenate([self._starts, self._quotes[1::2]]), kind="stable")
        stops = np.sort(np.concatenate([self._stops, self._quotes[::2] + 1]), kind="stable")
        _, offsets, data = self._texts(starts, stops).buffers()
        first = np.arange(len(self._starts)) + self._first_quote // 2  # of the parts of each tag
        offsets = np.frombuffer(offsets, np.int32)[np.append(first, len(starts))]
        return pa.StringArray.from_buffers(len(first), pa.py_buffer(offsets), data)

    def _check(self) -> None:
        """Check that each element is where its role requires it, and ends; and that only values contain text."""
        is_start, is_end = self._is_start, self._is_end
        depth = np.cumsum(is_start.astype(np.int8) - is_end)
        if depth[-1] or (depth - is_start != _DEPTH[self._role]).any():
            raise NotExplained
        names = [tag.name for tag in self._tags]
        name = np.array([names.index(tag.name) for tag in self._tags])[self._form]
        is_value = (self._role == _Role.FIELD) | (self._role == _Role.IMAGE_FIELD)
        values = np.flatnonzero(is_value & is_start)
        after = values + 1
        # Two consecutive values cannot be mixed up, and there is one surrounding element per level.
        if not is_end[after].all() or (name[after] != name[values]).any():
            raise NotExplained
        if np.count_nonzero(is_value & is_end) != len(after):
            raise NotExplained
        is_gap = np.ones(len(self._role), np.bool_)
        is_gap[values] = False
        starts, stops = self._stops[is_gap] + 1, self._next[is_gap]
        is_filled = starts < stops
        gaps = self._texts(starts[is_filled], stops[is_filled]).unique()
        if any(gap.strip(_XML_WHITESPACE) for gap in gaps.to_pylist()):
            raise NotExplained

    def columns(self) -> Texts:
        """Return the columns of the entries."""
        count = int(self._entry[-1]) + 1
        found: Texts = {name: self._column(name, self._entry, count) for name in _FIELDS}
        loc = found["loc"]
        if loc is None or loc.null_count or pc.min(pc.binary_length(loc)).as_py() < _SHORTEST_URL:
            raise NotExplained
        if pc.min(pc.binary_length(pc.utf8_ltrim(loc, characters=WHITESPACE))).as_py() == 0:
            raise NotExplained  # no URL at all
        if (self._role == _Role.LINK).any():
            found["alternates"] = self._alternates(count)
        if (self._role == _Role.IMAGE).any():
            found["images"] = self._images(count)
        return found

    def _column(self, name: str, owner: Numbers, count: int) -> pa.StringArray | None:
        """Return the values of *name*, each for a different *owner*, of *count* owners."""
        forms = [number for number, tag in enumerate(self._tags) if tag.name == name and tag.is_start]
        if not forms:
            return None
        tags = np.flatnonzero(self._form == forms[0])
        return self._spread(self._texts(self._stops[tags] + 1, self._next[tags]), owner[tags], count)

    def _alternates(self, count: int) -> pa.ListArray:
        links = np.flatnonzero(self._role == _Role.LINK)
        found = {name: self._attribute(name, links) for name in _LINK_ATTRIBUTES}
        relations = found.pop("rel")
        if relations is not None and any(
            rel is not None and rel.lower() != "alternate" for rel in relations.unique().to_pylist()
        ):
            raise NotExplained
        return _lists("alternates", found, self._entry[links], count)

    def _attribute(self, name: str, links: Numbers) -> pa.StringArray | None:
        """Return the attribute *name* of *links*, null if one lacks it; ``None`` if all lack it."""
        numbers = [tag.attributes.index(name) if name in tag.attributes else -1 for tag in self._tags]
        number = np.array(numbers)[self._form[links]]
        given = np.flatnonzero(number >= 0)
        if not len(given):
            return None
        quote = self._first_quote[links[given]] + 2 * number[given]
        texts = self._texts(self._quotes[quote] + 1, self._quotes[quote + 1])
        if any(pc.any(pc.match_substring(texts, blank)).as_py() for blank in "\t\n"):
            raise NotExplained  # in an attribute these become spaces
        return self._spread(texts, given, len(links))

    def _images(self, count: int) -> pa.ListArray:
        is_image = (self._role == _Role.IMAGE) & self._is_start
        owners = self._entry[is_image]
        image = np.cumsum(is_image) - 1
        prefix = next(tag.name.partition(":")[0] for tag in self._tags if tag.role is _Role.IMAGE)
        found = {name: self._column(f"{prefix}:{name}", image, len(owners)) for name in IMAGE_FIELDS}
        return _lists("images", {n: None if c is None else trimmed(c) for n, c in found.items()}, owners, count)

    def _spread(self, texts: pa.StringArray, owners: Numbers, count: int) -> pa.StringArray:
        """Return *texts*, decoded, as a column of *count* rows, each in its owner's row.

        Raises :exc:`NotExplained` if one has two.
        """
        for entity, character in self._entities:
            texts = pc.replace_substring(texts, entity, character)
        if (np.diff(owners) <= 0).any():
            raise NotExplained
        if len(texts) == count:
            return texts
        at = np.full(count, -1)
        at[owners] = np.arange(len(texts))
        return texts.take(pa.array(at, mask=at < 0))


def _has_blank_before_url(chunk: bytes) -> bool:
    """Whether a URL follows whitespace, like the second of two; many times as fast as a search."""
    codes = np.frombuffer(chunk, np.uint8)
    at = np.flatnonzero((codes[:-4] <= _SPACE) & (codes[1:-3] | _LOWER == _HTTP[0]))
    for place, letter in enumerate(_HTTP[1:], start=2):
        at = at[codes[at + place] | _LOWER == letter]
    return bool(len(at))


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
    found = [one for one in _ENTITIES if one[0].encode() in data]
    if sum(data.count(entity.encode()) for entity, _ in found) < data.count(b"&"):
        raise NotExplained
    return found
