"""Mass changes: many changes that are one. Pure functions of columns.

A pattern is named where a rule holds for many. It is never guessed from a few.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

MIN_URLS = 20  # below it, a rule that holds for each is no mass change: those are likely renames, one by one
MIN_SHARE = 0.9  # of the URLs that stay, for lastmods; one page in ten may be new or frozen
MIN_HOST_SHARE = 0.5  # of the URLs of a host that are gone: paths such as /about may be the same by chance
BUMPED = "lastmods-bumped"
HOST_MOVE = "host-move"

_PREFIX = r"^[a-z][a-z0-9+.-]*://(?:www\.)?"
_SLASH = r"^([^?#]+)/([?#].*)?$"
HOST = "^[^/?#]*"
"""What of a normal form is the host (and port): a move to another host leaves the rest as it is."""


def is_mass(count: int, total: int, share: float = MIN_SHARE) -> bool:
    """Whether *count* of *total* are so many that they are one change."""
    return count >= MIN_URLS and count >= share * total


def normal_forms(keys: pa.StringArray) -> pa.StringArray:
    """Return *keys* without scheme, ``www.`` and the slash at the end of the path: what a migration leaves as it is."""
    bare = pc.replace_substring_regex(keys, _PREFIX, "")
    return pc.replace_substring_regex(bare, _SLASH, r"\1\2")


def rules(before: pa.StringArray, after: pa.StringArray) -> pa.StringArray:
    """Return the name of what became of each key of *before* whose normal form is that of the key in *after*.

    Such as ``http-to-https``; where it is more than one, joined by ``+``. Null
    where nothing of that differs.
    """
    named = [
        *_named(before, after, "^https:", "http-to-https", "https-to-http"),
        *_named(before, after, r"^[a-z]+://www\.", "www-added", "www-removed"),
        *_named(before, after, r"/(?:[?#].*)?$", "slash-added", "slash-removed"),
    ]
    joined = pc.utf8_slice_codeunits(pc.binary_join_element_wise(*named, ""), 1)
    return pc.if_else(pc.equal(joined, ""), pa.scalar(None, pa.string()), joined)


def _named(before: pa.StringArray, after: pa.StringArray, pattern: str, came: str, went: str) -> list[pa.StringArray]:
    """Return ``+`` and *came* where *pattern* is found in *after* alone, and so *went* for *before* alone."""
    was, is_ = pc.match_substring_regex(before, pattern), pc.match_substring_regex(after, pattern)
    return [pc.if_else(pc.and_not(is_, was), f"+{came}", ""), pc.if_else(pc.and_not(was, is_), f"+{went}", "")]
