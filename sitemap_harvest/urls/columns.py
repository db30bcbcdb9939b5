"""URLs as columns: resolves and keys a whole batch, with Python code only for irregular ones."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.urls.address import resolve
from sitemap_harvest.urls.key import CANONICAL_PATTERN, SITE, url_key

_CANONICAL = re.compile(CANONICAL_PATTERN)
_SITE_OF_CANONICAL = re.compile(r"(https?://[a-z0-9.:-]+)/")
_NOT_CANONICAL = [bytes([code]) for code in b'"#%<>[\\]^`']  # of the characters from the space to the last letter
_SPACE, _LAST_LETTER, _SLASH, _DOT = b" z/."
_FEW = 64
_MAX_CHARS = 8 * 1024  # of a URL in re, which needs 130 bytes per character


class AddressColumns(NamedTuple):
    """The columns derived from the text of each ``<loc>``."""

    loc: pa.StringArray
    """The URL. Null if the text is not one: such a row is not an entry."""
    loc_raw: pa.StringArray
    """The text, if it differs from the URL, else null."""
    key: pa.StringArray
    site: pa.StringArray
    flaws: dict[str, list[int]]
    """Rows with a problem, by code, in order of first occurrence."""


def address_columns(texts: pa.StringArray, base: str | None) -> AddressColumns:
    """Return loc, key and site for each of *texts*, without nulls.

    A text that is a canonical URL, as almost all are, is its own loc and key; one
    regular expression over the column finds these.
    """
    if (site := _common_site(texts)) is not None:
        return AddressColumns(texts, pa.nulls(len(texts), pa.string()), texts, _repeated(site, len(texts)), {})
    canonical = _canonical(texts)
    flaws: dict[str, list[int]] = {}
    loc, key, raw = texts, texts, pa.nulls(len(texts), pa.string())
    if canonical.false_count:
        odd = pc.invert(canonical)
        rows = pc.indices_nonzero(odd).to_pylist()
        published = texts.filter(odd).to_pylist()
        found = [resolve(text, base) for text in published]
        for row, address in zip(rows, found, strict=True):
            if address.flaw:
                flaws.setdefault(address.flaw, []).append(row)
        locs = pa.array([a.loc for a in found], pa.string())
        loc = pc.replace_with_mask(texts, odd, locs)
        raw = _put(raw, odd, [text if a.loc != text else None for a, text in zip(found, published, strict=True)])
        # Relative URLs, for instance, are canonical after resolving.
        unusual = pc.invert(pc.fill_null(_canonical(locs), fill_value=False))
        keys = _put(locs, unusual, [loc and url_key(loc) for loc in locs.filter(unusual).to_pylist()])
        key = pc.replace_with_mask(texts, odd, keys)
    return AddressColumns(loc, raw, key, _sites(key), flaws)


def _common_site(texts: pa.StringArray) -> str | None:
    """Return the site of all *texts*, if they are clearly canonical URLs of one site.

    A few passes over all bytes at once take a third of the time of a regular expression.
    """
    first = texts[0].as_py() if len(texts) else ""
    match = _SITE_OF_CANONICAL.match(first)
    if not match or not _CANONICAL.fullmatch(first) or pc.starts_with(texts, match[0]).false_count:
        return None
    bounds = np.frombuffer(texts.buffers()[1], np.int32)[[texts.offset, texts.offset + len(texts)]].tolist()
    data = bytes(memoryview(texts.buffers()[2])[slice(*bounds)])
    codes = np.frombuffer(data, np.uint8)
    if codes.min() <= _SPACE or codes.max() > _LAST_LETTER or any(one in data for one in _NOT_CANONICAL):
        return None
    has_dot_segment = ((codes[:-1] == _SLASH) & (codes[1:] == _DOT)).any()
    return None if has_dot_segment else match[1]


def _repeated(site: str, rows: int) -> pa.StringArray:
    return pa.repeat(pa.scalar(site, pa.string()), rows)  # a scalar without a type takes 50 microseconds to infer it


def _canonical(texts: pa.StringArray) -> pa.BooleanArray:
    """Return which of *texts* are canonical URLs."""
    if len(texts) < _FEW:  # compiling RE2 takes longer than matching so few
        matches = (text and len(text) <= _MAX_CHARS and _CANONICAL.fullmatch(text) for text in texts.to_pylist())
        return pa.array(map(bool, matches), pa.bool_())
    return pc.match_substring_regex(texts, CANONICAL_PATTERN)


def _put(column: pa.StringArray, mask: pa.BooleanArray, values: list[str | None]) -> pa.StringArray:
    return pc.replace_with_mask(column, mask, pa.array(values, pa.string()))


def _sites(keys: pa.StringArray) -> pa.StringArray:
    first = next((key for key in keys.slice(0, 1).to_pylist() if key), None)
    if first and (match := SITE.match(first)):
        site = match[1] + match[2]
        if pc.all(pc.starts_with(keys, site + "/"), skip_nulls=False).as_py():
            return _repeated(site, len(keys))
    return pc.replace_substring_regex(keys, rf"(?s)^{SITE.pattern}.*$", r"\1\2")
