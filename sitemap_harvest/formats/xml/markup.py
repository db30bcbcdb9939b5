"""``Markup``: the positions of all tags in a piece of XML as arrays, found with a few vectorized operations.

Names have no meaning here. Constructs that cannot be split with certainty (a comment, a
CDATA section, a ``>`` in a text) are rejected.
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
_MAX_QUOTES = 64  # in one tag: each takes a pass over all tags with as many
_MAX_FORMS = 64  # no generator writes so many different tags


class NotExplained(Exception):  # noqa: N818 - not an error: it selects the strict parser
    """The document contains something that the fast path does not read."""


@dataclass(frozen=True, slots=True)
class Values:
    """The quoted values of all tags of one form."""

    tags: Numbers
    """Indices of the tags with that form."""
    starts: npt.NDArray[np.intp]
    """Start of each value: a row for each tag, a column for each attribute."""
    stops: npt.NDArray[np.intp]
    """End of each value."""


class Markup:
    """The tags of *data*, which begins with a tag and is UTF-8 with normalized line ends.

    Raises :exc:`NotExplained` if *data* contains a character that XML forbids, or
    cannot be split into tags and texts.
    """

    def __init__(self, data: bytes) -> None:
        codes = np.frombuffer(data, np.uint8)
        _check_characters(data, codes)
        self._data = pa.py_buffer(data)
        self.starts = np.flatnonzero(codes == _LESS) + 1
        """Start of the inside of each tag."""
        self.stops = np.flatnonzero(codes == _GREATER)
        """End of the inside of each tag: its ``>``."""
        self.next = np.append(self.starts[1:] - 1, len(data))
        """End of the text after each tag."""
        if len(self.starts) != len(self.stops) or not len(self.starts) or self.starts[0] != 1:
            raise NotExplained
        if (self.starts >= self.stops).any() or (self.stops >= self.next).any():
            raise NotExplained
        self.forms: list[str] = []
        """The distinct forms of tags: tags without their quoted values, as in ``xhtml:link href=""/``."""
        self.form = np.zeros(len(self.starts), np.intp)
        """Index of the form of each tag in :attr:`forms`."""
        self.values: dict[int, Values] = {}
        """The quoted values of tags that have some, by form."""
        self._find_forms(np.flatnonzero(codes == _QUOTE))

    def texts(self, starts: Numbers, stops: Numbers) -> pa.StringArray:
        """Return the texts between *starts* and *stops*, which are ascending."""
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
        """Add the forms of *tags*; each row of *quotes* has the quotes in one of them."""
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
        """Return the texts between *starts* and *stops*, of which few are distinct, as a dictionary array."""
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
