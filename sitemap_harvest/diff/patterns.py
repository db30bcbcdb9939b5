"""Mass changes: rules such as ``http-to-https`` that explain many changes at once. Pure functions of columns.

A rule is reported only if it holds for many URLs, never guessed from a few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable

MIN_URLS = 20  # with fewer, a rule is no mass change: the pairs are likely renames, one by one
MIN_SHARE = 0.9  # of the remaining URLs, for lastmod; one page in ten may be new or unchanged
MIN_HOST_SHARE = 0.5  # of the removed URLs of a host: paths such as /about may match by chance
BUMPED = "lastmods-bumped"
HOST_MOVE = "host-move"

_SLASH = r"^([^?#]+)/([?#].*)?$"
HOST = "^[^/?#]*"
"""The host (and port) of a normal form: a move to another host does not change the rest."""


def is_mass(count: int, total: int, share: float = MIN_SHARE) -> bool:
    """Whether *count* of *total* are enough for a mass change."""
    return count >= MIN_URLS and count >= share * total


def normal_forms(keys: pa.StringArray) -> pa.StringArray:
    """Return *keys* without scheme, ``www.`` and the trailing slash of the path: migrations do not change the rest."""
    for prefix in ("https://", "http://", "www."):
        keys = pc.if_else(pc.starts_with(keys, prefix), pc.utf8_slice_codeunits(keys, len(prefix)), keys)
    bare = pc.if_else(pc.ends_with(keys, "/"), pc.utf8_slice_codeunits(keys, 0, -1), keys)
    return _instead(bare, _is_long(keys), pc.replace_substring_regex, keys, pattern=_SLASH, replacement=r"\1\2")


def rules(before: pa.StringArray, after: pa.StringArray) -> pa.StringArray:
    """Return the name of the rule that turns each key of *before* into that of *after* with the same normal form.

    For example ``http-to-https``; several are joined by ``+``. Null if no rule applies.
    """
    tests = (
        (_is_https, "http-to-https", "https-to-http"),
        (_has_www, "www-added", "www-removed"),
        (_has_slash, "slash-added", "slash-removed"),
    )
    named = []
    for has, came, went in tests:
        was, is_ = has(before), has(after)
        named.append(pc.if_else(pc.and_not(is_, was), f"+{came}", ""))
        named.append(pc.if_else(pc.and_not(was, is_), f"+{went}", ""))
    joined = pc.utf8_slice_codeunits(pc.binary_join_element_wise(*named, ""), 1)
    return pc.if_else(pc.equal(joined, ""), pa.scalar(None, pa.string()), joined)


def _is_https(keys: pa.StringArray) -> pa.BooleanArray:
    return pc.starts_with(keys, "https:")


def _has_www(keys: pa.StringArray) -> pa.BooleanArray:
    return pc.or_(pc.starts_with(keys, "https://www."), pc.starts_with(keys, "http://www."))


def _has_slash(keys: pa.StringArray) -> pa.BooleanArray:
    """Return which keys have a trailing slash in the path."""
    return _instead(pc.ends_with(keys, "/"), _is_long(keys), pc.match_substring_regex, keys, pattern=_SLASH)


def _is_long(keys: pa.StringArray) -> pa.BooleanArray:
    """Return which keys continue after the path. Most do not, and need no regular expression, which is slow."""
    return pc.or_(pc.match_substring(keys, "?"), pc.match_substring(keys, "#"))


def _instead(
    values: pa.Array, mask: pa.BooleanArray, function: Callable[..., pa.Array], keys: pa.StringArray, **options: str
) -> pa.Array:
    """Return *values*, replaced by *function* of *keys* where *mask* is true."""
    if not mask.true_count:
        return values
    return pc.replace_with_mask(values, mask, function(keys.filter(mask), **options))
