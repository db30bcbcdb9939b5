"""Where the tags of a piece of XML stand, as arrays: a few calls for all of them instead of one for each.

Cuts and counts, and gives no meaning to any name. What it cannot cut with
certainty (a comment, a CDATA section, a ``>`` in a text) it refuses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.intp]

_LESS, _GREATER, _QUOTE, _FIRST_ALLOWED = b"<"[0], b">"[0], b'"'[0], 0x20
_ALLOWED_CONTROLS = b"\t\n\r"
_NONCHARACTERS = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")  # U+FFFE and U+FFFF, which XML forbids
_MAX_QUOTES = 64  # in one tag: each takes a pass over all tags that have as many
_MAX_FORMS = 64  # tags of so many sorts are no generator's work


class NotExplained(Exception):  # noqa: N818 - no error: it sends the rest of the document to the strict lane
    """Something stands in the document that the quick lane does not read."""


@dataclass(frozen=True, slots=True)
class Values:
    """The quoted values of all tags of one form."""

    tags: Numbers
    """Which tags have that form."""
    starts: npt.NDArray[np.intp]
    """Where the values begin: a row for each tag, a column for each attribute."""
    stops: npt.NDArray[np.intp]
    """Where they end."""


class Markup:
    """The tags of *data*, which begins with one and is UTF-8 with line ends as XML has them.

    Raises :exc:`NotExplained` if *data* holds a character that XML forbids, or
    cannot be cut into tags and texts.
    """

    def __init__(self, data: bytes) -> None:
        codes = np.frombuffer(data, np.uint8)
        _check_characters(data, codes)
        self._data = pa.py_buffer(data)
        self.starts = np.flatnonzero(codes == _LESS) + 1
        """Where the inside of each tag begins."""
        self.stops = np.flatnonzero(codes == _GREATER)
        """Where it ends: at its ``>``."""
        self.next = np.append(self.starts[1:] - 1, len(data))
        """Where the text behind each tag ends."""
        if len(self.starts) != len(self.stops) or not len(self.starts) or self.starts[0] != 1:
            raise NotExplained
        if (self.starts >= self.stops).any() or (self.stops >= self.next).any():
            raise NotExplained
        self.forms: list[str] = []
        """Each form of tag that occurs: the tag with its quoted values left out, as in ``xhtml:link href=""/``."""
        self.form = np.zeros(len(self.starts), np.intp)
        """Which of :attr:`forms` each tag has."""
        self.values: dict[int, Values] = {}
        """The quoted values of the tags that have some, by their form."""
        self._find_forms(np.flatnonzero(codes == _QUOTE))

    def texts(self, starts: Numbers, stops: Numbers) -> pa.StringArray:
        """Return what stands between *starts* and *stops*, which go up."""
        if not len(starts):
            return pa.array([], pa.string())
        offsets = np.empty(2 * len(starts), np.int32)
        offsets[::2], offsets[1::2] = starts, stops
        both = pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), self._data)
        return both.take(pa.array(np.arange(0, len(offsets) - 1, 2)))

    def _find_forms(self, quotes: Numbers) -> None:
        tag = np.searchsorted(self.starts, quotes, side="right") - 1
        is_inside = quotes < self.stops[tag]
        quotes, tag = quotes[is_inside], tag[is_inside]
        count = np.bincount(tag, minlength=len(self.starts)) if len(tag) else np.zeros(len(self.starts), np.intp)
        plain = np.flatnonzero(count == 0) if len(tag) else slice(None)
        words = self._encoded(self.starts[plain], self.stops[plain])
        self.form[plain] = words.indices.to_numpy()
        self.forms += words.dictionary.to_pylist()
        if not len(tag):
            return
        for number in np.unique(count[count > 0]).tolist():
            tags = np.flatnonzero(count == number)
            self._find_quoted(tags, quotes[count[tag] == number].reshape(-1, number))

    def _find_quoted(self, tags: Numbers, quotes: npt.NDArray[np.intp]) -> None:
        """Add the forms of *tags*, in each of which stand the *quotes* of one row."""
        if quotes.shape[1] % 2 or quotes.shape[1] > _MAX_QUOTES:
            raise NotExplained
        starts = np.column_stack([self.starts[tags], quotes[:, 1::2] + 1])
        stops = np.column_stack([quotes[:, ::2], self.stops[tags]])
        between = [self._encoded(starts[:, n], stops[:, n]) for n in range(starts.shape[1])]
        kind = np.zeros(len(tags), np.intp)
        for words in between:
            kind = kind * len(words.dictionary) + words.indices.to_numpy()
        kinds, first, which = np.unique(kind, return_index=True, return_inverse=True)
        for number in range(len(kinds)):
            self.forms.append('""'.join(words[first[number].item()].as_py() for words in between))
            rows = np.flatnonzero(which == number)
            form = len(self.forms) - 1
            self.form[tags[rows]] = form
            self.values[form] = Values(tags[rows], quotes[rows, ::2] + 1, quotes[rows, 1::2])

    def _encoded(self, starts: Numbers, stops: Numbers) -> Any:
        """Return what stands between *starts* and *stops*, of which few differ, as a dictionary array."""
        words = self.texts(starts, stops).dictionary_encode()
        if len(words.dictionary) > _MAX_FORMS:
            raise NotExplained
        return words


def _check_characters(data: bytes, codes: npt.NDArray[np.uint8]) -> None:
    controls = codes[codes < _FIRST_ALLOWED]
    if ((controls != 0x0A) & (controls != 0x09) & (controls != 0x0D)).any():
        raise NotExplained
    if data.isascii():
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise NotExplained from error
    if any(character in data for character in _NONCHARACTERS):
        raise NotExplained
