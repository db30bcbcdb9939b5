"""The fast path: reads the entries that generators write as whole columns, many at once.

All entries of a chunk are split at once with numpy, and compared with the templates of
entries that were read before. What is left over, such as an entry with a video, is read
by the strict parser, entry by entry. The results are the same as if it had read the
whole document, which a differential test verifies.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.formats.columns import trimmed
from sitemap_harvest.formats.xml.templates import FIELDS, XML_WHITESPACE, Bytes, meanings_of, template_of
from sitemap_harvest.model import UrlBatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy.typing as npt

    from sitemap_harvest.formats.xml.templates import Numbers, Template

Texts = dict[str, Any]  # by column: a pa.Array

_LESS, _QUOTE, _SPACE, _AMPERSAND, _LINE_END, _EXCLAMATION_MARK, _QUESTION_MARK = b'<" &\n!?'
_LAST_ASCII, _NONCHARACTER_BYTE = 0x7F, 0xEF
_NONCHARACTERS = ("\ufffe", "\uffff")  # which XML forbids
_FORBIDDEN = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_CHARACTER = re.compile("[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # which XML allows
_MAX_TEMPLATES = 256
_MAX_SHARED = 16  # templates
_MAX_NAMESPACE_CHARS = 2048
_MAX_MARKS = 4096  # of an entry
_MAX_GAP = 4096  # bytes between two entries
_FEW_ENTRIES = 8  # of one template: reading them one by one takes less time
_ATTEMPTS, _ENTRIES_PER_ATTEMPT = 16, 16  # to find a template, so that a document without any costs little
_TWO_URLS = r"(?i)[^ \t\n][ \t\n]+https?://"
_REFERENCE = re.compile(r"&(?:#([0-9]{1,8})|#x([0-9A-Fa-f]{1,8})|(lt|gt|quot|apos|amp));")
_NAMED = {"lt": "<", "gt": ">", "quot": '"', "apos": "'", "amp": "&"}
_HIDDEN = re.compile(rb"<!--[^-]*+(?:-[^-]++)*+-->|<!\[CDATA\[([^\]]*+(?:\](?!\]>)[^\]]*+)*+)\]\]>")
_ANY_TAG = re.compile(rb"<(?:[^<>\"']++|\"[^<\"]*+\"|'[^<']*+')++>")
_IN_TEXT = ((b"&", b"&amp;"), (b"<", b"&lt;"), (b">", b"&gt;"), (b'"', b"&quot;"), (b"]", b"&#93;"))  # & first


class _Entity(NamedTuple):
    """An entity, for comparing many places with it: eight bytes at each."""

    text: str
    character: str
    mask: np.uint64
    word: np.uint64


_ENTITIES = [  # & last
    _Entity(
        f"&{name};",
        character,
        np.uint64((1 << 8 * (len(name) + 2)) - 1),
        np.uint64(int.from_bytes(f"&{name};".encode(), "little")),
    )
    for name, character in _NAMED.items()
]


class NotExplained(Exception):  # noqa: N818 - not an error: it selects the strict parser
    """The document contains something that the fast path does not read."""


class OddEntry(NamedTuple):
    """An entry that the strict parser must read, with everything up to the next one."""

    before: int
    """Number of entries before it in the document."""
    lines: int
    """Number of line ends before it in the chunk."""
    data: bytes


class Chunk(NamedTuple):
    """The entries of a chunk."""

    entries: int
    """Their number."""
    texts: Texts
    """Columns of ``UrlEntry``, as published but without whitespace around fields, of most of them."""
    odd: list[OddEntry]
    """The others."""


class FastReader:
    """Splits the chunks of one document into columns and odd entries."""

    def __init__(self, namespaces: Mapping[str | None, str], prefix: str) -> None:
        """Read entries with the *namespaces* of the root; *prefix* is that of the root, with its colon."""
        shared = (
            _shared(frozenset(namespaces.items()), prefix) if _are_usual(namespaces) else _Shared(namespaces, prefix)
        )
        self._meanings, self._shared = shared.meanings, shared.templates
        self.start_tag = f"<{prefix}url>".encode()
        """The start of each entry."""
        self.end_tag = f"</{prefix}url>".encode()
        self._templates = [*self._shared]
        self._attempts = 0
        self._most_attempts = _ATTEMPTS
        self._is_mark = np.empty((2, 0), np.bool_)  # used again, as new memory takes longer to allocate than to fill

    def read(self, data: bytes, before: int) -> Chunk:
        """Return the entries of *data*, which begins with one and has only whole ones, after *before* others.

        Raises :exc:`NotExplained`.
        """
        shown, origin = data, None
        marks = self._marks(shown)
        if b"!" in data:
            follows = np.frombuffer(data, np.uint8)[np.minimum(marks + 1, len(data) - 1)]
            if (follows == _EXCLAMATION_MARK).any():
                if (follows == _QUESTION_MARK).any():
                    raise NotExplained  # either may be inside the other
                shown, origin = _without_hidden(data)
                marks = self._marks(shown)
        if (b"]" in shown and b"]]>" in shown) or not shown.startswith(self.start_tag):
            raise NotExplained
        _check_encoding(shown)
        compared = Bytes(shown)
        groups, starts = self._one_group(shown, marks, compared) or self._groups(shown, marks, compared)
        plain = _Plain(shown, groups, len(starts))
        if plain.odd.any():  # because of their values
            plain = _Plain(shown, [group.without(plain.odd) for group in groups], len(starts))
        texts = {"position": pa.array(plain.entries + (before + 1)), **plain.texts}
        if len(plain.entries) == len(starts):
            return Chunk(len(starts), texts, [])
        if len(compared.find(marks, self.end_tag)) != len(starts):
            raise NotExplained  # some of them are not whole
        odd = np.setdiff1d(np.arange(len(starts)), plain.entries, assume_unique=True)
        ends = np.append(starts[1:], len(shown))
        if origin is not None:
            starts, ends = origin(starts), origin(ends)
        return Chunk(len(starts), texts, list(_pieces(data, before, odd, starts, ends)))

    def _marks(self, data: bytes) -> Numbers:
        """Return the positions of all ``<`` and ``"``."""
        codes = np.frombuffer(data, np.uint8)
        if len(self._is_mark[0]) < len(codes):
            self._is_mark = np.empty((2, len(codes)), np.bool_)
        is_mark, is_quote = self._is_mark[:, : len(codes)]
        np.equal(codes, _LESS, out=is_mark)
        if b'"' in data:
            np.equal(codes, _QUOTE, out=is_quote)
            np.logical_or(is_mark, is_quote, out=is_mark)
        return np.flatnonzero(is_mark)

    def _one_group(self, data: bytes, marks: Numbers, compared: Bytes) -> tuple[list[Group], Numbers] | None:
        """Return the only group and the starts of the entries, if all entries have one template; else ``None``."""
        second = data.find(self.start_tag, 1)
        size = len(marks) if second < 0 else int(np.searchsorted(marks, second))
        if size > _MAX_MARKS or len(marks) % size:
            return None
        rows = marks.reshape(-1, size)
        template = self._template(data, rows[0])
        if template is None or not template.fits(rows, compared).all():
            return None
        if not _are_separate(data, rows[:, -1] + len(self.end_tag), rows[1:, 0], compared).all():
            return None
        return [Group(template, np.arange(len(rows)), rows)], rows[:, 0]

    def _groups(self, data: bytes, marks: Numbers, compared: Bytes) -> tuple[list[Group], Numbers]:
        """Return the entries by template, without those that have none, and the starts of all entries."""
        first = compared.find(marks, self.start_tag)
        self._most_attempts += len(first) // _ENTRIES_PER_ATTEMPT
        sizes = np.diff(first, append=len(marks))
        starts = marks[first]
        ends = marks[first + sizes - 1] + len(self.end_tag)
        is_candidate = _are_separate(data, ends, starts[1:], compared) & (sizes <= _MAX_MARKS)
        groups: list[Group] = []
        for size in np.unique(sizes[is_candidate]).tolist():
            entries = np.flatnonzero(is_candidate & (sizes == size))
            groups += self._by_template(data, entries, marks[first[entries][:, None] + np.arange(size)], compared)
        return groups, starts

    def _by_template(self, data: bytes, entries: Numbers, rows: Numbers, compared: Bytes) -> Iterator[Group]:
        """Yield those of *entries*, each with as many marks, that have a template."""
        known = iter([template for template in self._templates if template.marks == rows.shape[1]])
        while len(entries) >= _FEW_ENTRIES:
            template = next(known, None) or self._new_template(data, rows[0])
            if template is None:
                entries, rows = entries[1:], rows[1:]
                continue
            fits = template.fits(rows, compared)
            if fits.any():
                yield Group(template, entries[fits], rows[fits])
                entries, rows = entries[~fits], rows[~fits]

    def _template(self, data: bytes, marks: Numbers) -> Template | None:
        """Return the template of the entry with the *marks*; ``None`` if it has none."""
        places = marks.tolist()
        fitting = (template for template in self._templates if template.fits_one(places, data))
        return next(fitting, None) or self._new_template(data, marks)

    def _new_template(self, data: bytes, marks: Numbers) -> Template | None:
        if len(self._templates) >= _MAX_TEMPLATES or self._attempts >= self._most_attempts:
            return None
        self._attempts += 1
        start, end = int(marks[0]), int(marks[-1]) + len(self.end_tag)
        template = template_of(data[start:end], (marks - start).tolist(), self._meanings)
        if template is not None:
            self._templates.insert(0, template)
            self._shared.insert(0, template)
            del self._shared[_MAX_SHARED:]
        return template


class _Shared:
    """What documents with the same namespaces share, as those of a site do."""

    def __init__(self, namespaces: Mapping[str | None, str], prefix: str) -> None:
        self.meanings = meanings_of(namespaces, prefix)
        self.templates: list[Template] = []
        """Those found last."""


@lru_cache(maxsize=32)
def _shared(namespaces: frozenset[tuple[str | None, str]], prefix: str) -> _Shared:
    return _Shared(dict(namespaces), prefix)


def _are_usual(namespaces: Mapping[str | None, str]) -> bool:
    """Whether *namespaces* are short enough to be remembered."""
    return sum(len(prefix or "") + len(name) for prefix, name in namespaces.items()) <= _MAX_NAMESPACE_CHARS


class Group(NamedTuple):
    """Entries of one template."""

    template: Template
    entries: Numbers
    """Their indexes in the chunk, ascending."""
    marks: Numbers
    """The positions of their marks: a row each."""

    def without(self, odd: npt.NDArray[np.bool_]) -> Group:
        """Return the group without the entries that are *odd*."""
        kept = ~odd[self.entries]
        return Group(self.template, self.entries[kept], self.marks[kept])

    def slots(self, column: str, name: str) -> Iterator[tuple[int, Numbers, Numbers]]:
        """Yield the values of the field *name* of *column*: the index of its record, and their starts and ends."""
        constants = self.template.constants
        for slot in self.template.slots:
            if slot.column == column and slot.name == name:
                constant = constants[slot.constant]
                yield (
                    slot.record,
                    self.marks[:, constant.first] + len(constant.data),
                    self.marks[:, constants[slot.constant + 1].first],
                )


class _Plain:
    """The values of the entries of *groups*, of *count* entries. Raises :exc:`NotExplained`."""

    def __init__(self, data: bytes, groups: list[Group], count: int) -> None:
        self._data = pa.py_buffer(data)
        self.entries = np.sort(np.concatenate([np.empty(0, np.intp), *(group.entries for group in groups)]))
        """Indexes of the entries that have values here, ascending."""
        self.odd = np.zeros(count, np.bool_)
        """Which of these must be read by the strict parser instead."""
        is_only = len(groups) == 1
        rows = [slice(None) if is_only else np.searchsorted(self.entries, group.entries) for group in groups]
        self._groups = list(zip(groups, rows, strict=True))
        self.texts: Texts = {}
        if not len(self.entries):
            return
        self.texts |= self._fields()
        for column in dict.fromkeys(column for group in groups for column in group.template.records):
            self.texts[column] = self._records(column)

    def _fields(self) -> Texts:
        """Return the columns of the fields that an entry has."""
        rows = len(self.entries)
        bounds = np.zeros((2, len(FIELDS), rows), np.intp)
        for group, at in self._groups:
            for number, name in enumerate(FIELDS):
                for _, *both in group.slots(name, name):
                    bounds[:, number, at] = both
        used = np.flatnonzero(bounds[1].any(axis=1)).tolist()
        values = self._values(*bounds[:, used].reshape(2, -1))  # all at once, as each call has its cost
        found = {FIELDS[field]: values.slice(number * rows, rows) for number, field in enumerate(used)}
        lowest, highest = _byte_range(values)
        if lowest <= _SPACE or highest > _LAST_ASCII:
            self._check_locs(found["loc"])
            return {name: column if name == "loc" else trimmed(column) for name, column in found.items()}
        self.odd[self.entries] = _lengths(found["loc"]) == 0
        return found

    def _records(self, column: str) -> pa.ListArray:
        """Return the lists of records of *column*."""
        sizes = np.zeros(len(self.entries), np.intp)
        for group, rows in self._groups:
            sizes[rows] = group.template.records[column]
        first = np.cumsum(sizes) - sizes
        total = int(sizes.sum())
        kind = UrlBatch.schema().field(column).type
        fields = []
        for field in kind.value_type:
            starts, ends = np.zeros((2, total), np.intp)
            for group, rows in self._groups:
                for record, own_starts, own_ends in group.slots(column, field.name):
                    at = first[rows] + record
                    starts[at], ends[at] = own_starts, own_ends
            if not ends.any():
                fields.append(pa.nulls(total, field.type))
                continue
            values = self._values(starts, ends)
            if column != "alternates":
                values = trimmed(values)
            elif _byte_range(values)[0] < _SPACE:
                self._mark_odd(values, "[\t\n]", np.repeat(self.entries, sizes))  # in an attribute these become spaces
            fields.append(values)
        values = pa.StructArray.from_arrays(fields, fields=list(kind.value_type))
        offsets = pa.array(np.append(first, total), pa.int32())
        return pa.ListArray.from_arrays(offsets, values, type=kind, mask=pa.array(sizes == 0))

    def _values(self, starts: Numbers, ends: Numbers) -> pa.StringArray:
        """Return the texts from *starts* to *ends*, null for ends of 0."""
        is_missing = ends == 0
        return _decoded(_slices(self._data, starts, ends, is_missing if is_missing.any() else None))

    def _check_locs(self, locs: pa.StringArray) -> None:
        """Mark the entries whose loc is empty, or contains several URLs, as odd."""
        self._mark_odd(locs, _TWO_URLS, self.entries)
        self.odd[self.entries] |= _lengths(trimmed(locs)) == 0

    def _mark_odd(self, texts: pa.StringArray, pattern: str, entries: Numbers) -> None:
        """Mark those of *entries* as odd whose text matches *pattern* (RE2)."""
        found = pc.fill_null(pc.match_substring_regex(texts, pattern), fill_value=False)
        self.odd[entries[np.asarray(found)]] = True


def _pieces(data: bytes, before: int, odd: Numbers, starts: Numbers, ends: Numbers) -> Iterator[OddEntry]:
    """Yield the entries with the indexes *odd*; *before* is the number of entries before *data*."""
    line_ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _LINE_END)
    for index, lines in zip(odd.tolist(), np.searchsorted(line_ends, starts[odd]).tolist(), strict=True):
        yield OddEntry(before + index, lines, data[starts[index] : ends[index]])


def _are_separate(data: bytes, ends: Numbers, next_starts: Numbers, compared: Bytes) -> npt.NDArray[np.bool_]:
    """Return after which *ends* of entries nothing but whitespace comes before the next start, or the end of *data*."""
    found = np.ones(len(ends), np.bool_)
    found[-1] = not data[ends[-1] :].strip(XML_WHITESPACE)
    ends = ends[:-1]
    sizes = next_starts - ends
    if not len(sizes):
        return found
    gap = data[int(ends[0]) : int(next_starts[0])]
    if (sizes == len(gap)).all() and not gap.strip(XML_WHITESPACE) and compared.equal(ends, gap) is True:
        return found
    is_possible = (sizes >= 0) & (sizes <= _MAX_GAP)
    gaps = _slices(pa.py_buffer(data), ends[is_possible], next_starts[is_possible]).dictionary_encode()
    texts = gaps.dictionary.cast(pa.binary()).to_pylist()  # one that is not between entries may begin in a character
    is_blank = np.array([not text.strip(XML_WHITESPACE) for text in texts], np.bool_)
    found[:-1] = is_possible
    found[:-1][is_possible] = is_blank[gaps.indices.to_numpy()]
    return found


def _slices(
    data: pa.Buffer, starts: Numbers, ends: Numbers, is_missing: npt.NDArray[np.bool_] | None = None
) -> pa.StringArray:
    """Return the texts in *data* from *starts* to *ends*, null for those that are missing."""
    offsets = np.empty(2 * len(starts) + 1, np.int32)
    offsets[:-1:2], offsets[1::2], offsets[-1] = starts, ends, data.size
    both = pa.StringArray.from_buffers(2 * len(starts), pa.py_buffer(offsets), data)
    return both.take(pa.array(np.arange(0, 2 * len(starts), 2), mask=is_missing))


def _without_hidden(data: bytes) -> tuple[bytes, Callable[[Numbers], Numbers]]:
    """Return *data* without comments, and with CDATA sections as text; and a function that maps positions back.

    Raises :exc:`NotExplained` for other markup.
    """
    parts: list[bytes] = []
    bounds, shifts = [0], [0]
    end = length = 0
    while (at := data.find(b"<!", end)) >= 0:
        last_tag = data.rfind(b"<", end, at)
        is_in_tag = last_tag >= 0 and not _ANY_TAG.match(data, last_tag, at)
        if is_in_tag or not (match := _HIDDEN.match(data, at)):
            raise NotExplained
        text = match[1] or b""
        for character, reference in _IN_TEXT:
            text = text.replace(character, reference)
        parts += [data[end:at], text]
        length += at - end + len(text)
        end = match.end()
        bounds.append(length)
        shifts.append(end - length)
    parts.append(data[end:])
    places, shift = np.array(bounds), np.array(shifts)
    return b"".join(parts), lambda positions: positions + shift[np.searchsorted(places, positions, "right") - 1]


def _check_encoding(data: bytes) -> None:
    """Raise :exc:`NotExplained` if *data* is not UTF-8, or has characters beyond ASCII that XML forbids."""
    if data.isascii():
        return
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise NotExplained from error
    if np.frombuffer(data, np.uint8).max() >= _NONCHARACTER_BYTE and any(one in text for one in _NONCHARACTERS):
        raise NotExplained


def _codes(texts: pa.StringArray) -> npt.NDArray[np.uint8]:
    """Return the bytes of *texts*."""
    _, offsets, data = texts.buffers()
    if data is None:
        return np.empty(0, np.uint8)
    first, end = np.frombuffer(offsets, np.int32)[[texts.offset, texts.offset + len(texts)]].tolist()
    return np.frombuffer(data, np.uint8, end - first, first)


def _lengths(texts: pa.StringArray) -> Numbers:
    """Return the number of bytes of each of *texts*, of which none is null."""
    return np.diff(np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1])


def _byte_range(texts: pa.StringArray) -> tuple[int, int]:
    """Return the lowest and the highest byte of *texts*; those of a letter if they are empty."""
    codes = _codes(texts)
    return (int(codes.min()), int(codes.max())) if len(codes) else (ord("a"), ord("a"))


def _decoded(texts: pa.StringArray) -> pa.StringArray:
    """Return *texts* with their references decoded. Raises :exc:`NotExplained` for what XML forbids."""
    codes = _codes(texts)
    if len(codes) and codes.min() < _SPACE and _FORBIDDEN.search(codes.data):
        raise NotExplained
    at = np.flatnonzero(codes == _AMPERSAND)
    if not len(at):
        return texts
    offsets = np.frombuffer(texts.buffers()[1], np.int32)
    row = np.searchsorted(offsets, at, "right") - 1
    left = offsets[row + 1] - at  # bytes of its text
    words = np.ndarray((len(codes),), "<u8", codes.tobytes() + bytes(8), 0, (1,))[at]
    counts = [np.count_nonzero((words & one.mask == one.word) & (left >= len(one.text))) for one in _ENTITIES]
    has_reference = np.zeros(len(texts), np.bool_)
    has_reference[row] = True
    rows = pa.array(has_reference)
    some = texts.filter(rows)
    if sum(counts) == len(at):
        for entity in compress(_ENTITIES, counts):
            some = pc.replace_substring(some, entity.text, entity.character)
    else:
        some = pa.array(map(_resolved, some.to_pylist()), pa.string())
    return some if len(some) == len(texts) else pc.replace_with_mask(texts, rows, some)


def _resolved(text: str) -> str:
    resolved, count = _REFERENCE.subn(_character, text)
    if count < text.count("&"):
        raise NotExplained
    return resolved


def _character(reference: re.Match[str]) -> str:
    decimal, hexadecimal, name = reference.groups()
    if name:
        return _NAMED[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    if code > sys.maxunicode or not _CHARACTER.fullmatch(character := chr(code)):
        raise NotExplained
    return character
