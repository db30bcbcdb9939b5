"""What the ways of the quick lane have in common: the texts of many entries, a column a field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.urls import BLANKS

if TYPE_CHECKING:
    from collections.abc import Mapping

FIELDS = ("loc", "lastmod", "changefreq", "priority")
Texts = dict[str, Any]  # by field: a pa.StringArray, or None where no entry has the field
FORBIDDEN = frozenset(range(0x20)) - frozenset(b"\t\n\r")  # control characters that XML does not allow

_SHORTEST_URL = len("http://a")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&"))  # & last
_NONCHARACTERS = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")  # U+FFFE and U+FFFF, which XML forbids


class NotExplained(Exception):  # noqa: N818 - no error: it sends the rest of the document to the strict lane
    """Something stands in the document that the quick lane does not read."""


def finished(columns: Mapping[str, pa.StringArray], data: bytes) -> Texts:
    """Return *columns*, read from *data*, with entities decoded and ``None`` for a field that is not there.

    Raises :exc:`NotExplained` if a URL is blank, or *data* has an entity or a
    character that is left to the strict lane.
    """
    if not data.isascii() and any(character in data for character in _NONCHARACTERS):
        raise NotExplained
    locs = columns["loc"]
    if pc.min(pc.binary_length(locs)).as_py() < _SHORTEST_URL or _may_be_blank(locs, data):
        raise NotExplained
    texts: Texts = dict.fromkeys(FIELDS) | dict(columns)
    return _without_entities(texts, data) if b"&" in data else texts


def _may_be_blank(locs: pa.StringArray, data: bytes) -> bool:
    """Whether one of *locs* may consist of blanks alone, and so be none."""
    if data.isascii() and b" " * _SHORTEST_URL not in data:
        return False
    return bool(pc.min(pc.binary_length(pc.utf8_ltrim(locs, characters=BLANKS))).as_py() == 0)


def _without_entities(texts: Texts, data: bytes) -> Texts:
    if data.count(b"&") != sum(data.count(entity.encode()) for entity, _ in _ENTITIES):
        raise NotExplained
    for name, column in texts.items():
        for entity, character in _ENTITIES:
            if column is not None:
                column = pc.replace_substring(column, entity, character)  # noqa: PLW2901 - step by step
        texts[name] = column
    return texts
