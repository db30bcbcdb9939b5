"""Regular expressions on a column: what Python's ``re`` finds, mostly by way of RE2.

Arrow brings RE2, which takes a third of the time. But it is another language:
https://github.com/google/re2/wiki/Syntax. So it is asked only where both mean
the same, and Python for all else.
"""

from __future__ import annotations

import re
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

# What both read alike in a text of ASCII. Left out, for they differ or may: \s, \B, \Z, {,n}, classes within classes,
# what looks around or back, and the repetition of a group, which may match nothing.
_COMMON = re.compile(
    r"""(?:\(\?i\))?(?:
        (?:
            [A-Za-z0-9_/:%&=~,;@!'"<>\#\-.]  # a character, or any
            |\\[.^$*+?{}()\[\]|\\/\-dDwW]    # an escape, or a class of characters
            |\[\^?(?:(?!&&|~~)[A-Za-z0-9_/:%&=~,;@!.?+*$#](?:-[A-Za-z0-9])?|\\[.\-\]\[\\/dw])+-?\]
        )
        (?:(?:[*+?]|\{\d+(?:,\d*)?\})\??(?![*+?{]))?
        |\((?:\?:)?(?!\?)|\)(?:\?(?![*+?{]))?(?![*+{])|\||\^|\$|\\b
    )*""",
    re.VERBOSE | re.ASCII,
)
_FLAGS = re.UNICODE | re.IGNORECASE


def found(texts: pa.StringArray, pattern: re.Pattern[str]) -> pa.BooleanArray:
    """Return for each of *texts*, none of which is null, whether ``pattern.search()`` finds something in it."""
    if not _is_common(pattern):
        return _search(texts, pattern)
    # \d is any digit of the world to Python; and $ is also before a line feed at the end.
    plain = pc.and_not(pc.string_is_ascii(texts), pc.ends_with(texts, "\n"))
    hits = pc.match_substring_regex(texts, pattern.pattern, ignore_case=bool(pattern.flags & re.IGNORECASE))
    if plain.false_count:
        odd = pc.invert(plain)
        hits = pc.replace_with_mask(hits, odd, _search(texts.filter(odd), pattern))
    return hits


def _search(texts: pa.StringArray, pattern: re.Pattern[str]) -> pa.BooleanArray:
    return pa.array([pattern.search(text) is not None for text in texts.to_pylist()], pa.bool_())


@lru_cache(maxsize=256)
def _is_common(pattern: re.Pattern[str]) -> bool:
    """Whether RE2 finds what *pattern* does, in texts of ASCII."""
    if pattern.flags & ~_FLAGS or not _COMMON.fullmatch(pattern.pattern):
        return False
    try:
        pc.match_substring_regex(pa.array([""]), pattern.pattern)
    except pa.ArrowInvalid:  # too large for it, for instance
        return False
    return True
