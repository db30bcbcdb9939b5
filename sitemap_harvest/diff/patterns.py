"""Mass changes: many changes that are one. Pure functions of columns.

A pattern is named where a rule holds for many. It is never guessed from a few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable

MIN_URLS = 20  # below it, a rule that holds for each is no mass change: those are likely renames, one by one
MIN_SHARE = 0.9  # of the URLs that stay, for lastmods; one page in ten may be new or frozen
MIN_HOST_SHARE = 0.5  # of the URLs of a host that are gone: paths such as /about may be the same by chance
BUMPED = "lastmods-bumped"
HOST_MOVE = "host-move"

_SLASH = r"^([^?#]+)/([?#].*)?$"
HOST = "^[^/?#]*"
"""What of a normal form is the host (and port): a move to another host leaves the rest as it is."""


def is_mass(count: int, total: int, share: float = MIN_SHARE) -> bool:
    """Whether *count* of *total* are so many that they are one change."""
    return count >= MIN_URLS and count >= share * total


def normal_forms(keys: pa.StringArray) -> pa.StringArray:
    """Return *keys* without scheme, ``www.`` and the slash at the end of the path: what a migration leaves as it is."""
    for prefix in ("https://", "http://", "www."):
        keys = pc.if_else(pc.starts_with(keys, prefix), pc.utf8_slice_codeunits(keys, len(prefix)), keys)
    bare = pc.if_else(pc.ends_with(keys, "/"), pc.utf8_slice_codeunits(keys, 0, -1), keys)
    return _instead(bare, _is_long(keys), pc.replace_substring_regex, keys, pattern=_SLASH, replacement=r"\1\2")


def rules(before: pa.StringArray, after: pa.StringArray) -> pa.StringArray:
    """Return the name of what became of each key of *before* whose normal form is that of the key in *after*.

    Such as ``http-to-https``; where it is more than one, joined by ``+``. Null
    where nothing of that differs.
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
    """Return which have a slash at the end of the path."""
    return _instead(pc.ends_with(keys, "/"), _is_long(keys), pc.match_substring_regex, keys, pattern=_SLASH)


def _is_long(keys: pa.StringArray) -> pa.BooleanArray:
    """Return which go on behind the path. Most do not, and need no regular expression, which is slow."""
    return pc.or_(pc.match_substring(keys, "?"), pc.match_substring(keys, "#"))


def _instead(
    values: pa.Array, mask: pa.BooleanArray, function: Callable[..., pa.Array], keys: pa.StringArray, **options: str
) -> pa.Array:
    """Return *values*, but where *mask* is true what *function* makes of *keys*."""
    if not mask.true_count:
        return values
    return pc.replace_with_mask(values, mask, function(keys.filter(mask), **options))
