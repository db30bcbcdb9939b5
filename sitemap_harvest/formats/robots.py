"""robots.txt: the sitemaps that it names.

Specs: https://www.rfc-editor.org/rfc/rfc9309, https://www.sitemaps.org/protocol.html#submit_robots
Only ``Sitemap:`` lines are read here; what robots may fetch is Scrapy's affair.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sitemap_harvest.formats.text import lines
from sitemap_harvest.urls import BLANKS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemap_harvest.formats.collector import Collector

_SITEMAP = re.compile(r"(site-?maps?\s*(?::|=|(?<=\s)(?=https?://)))\s*(.*)", re.IGNORECASE | re.DOTALL)
_AS_SPECIFIED = re.compile(r"sitemap\s*:", re.IGNORECASE)
_GLUED = re.compile(r"(?<![?&=])site-?maps?\s*:\s*(?=https?://)|(?<=\s)site-?maps?\s*:\s*(?=/)", re.IGNORECASE)
_WEB = re.compile(r"https?://", re.IGNORECASE)
_WHOLE = re.compile(r"https?://\S+\.(?:xml|gz|txt|rss|atom|php)(?:\?\S*)?", re.IGNORECASE)
_BARE = re.compile(r"https?://\S*sitemap\S*", re.IGNORECASE)
_COMMENT = re.compile(r"(?:^|\s)#.*$", re.DOTALL)
_WRAPPED = re.compile(r"""(["'<])(.*)(["'>])""", re.DOTALL)


def read_robots(chunks: Iterable[str], into: Collector) -> None:
    """Add each ``Sitemap:`` line of *chunks* to *into*; it counts wherever it stands, in any group or none."""
    for number, line in lines(chunks, into.problems):
        text = line.strip(BLANKS)
        if match := _SITEMAP.match(text):
            _refer(number, text, match[2], into, is_as_specified=_AS_SPECIFIED.fullmatch(match[1]) is not None)
        elif glued := _GLUED.search(_COMMENT.sub("", text)):
            _refer(number, text, text[glued.end() :], into, is_as_specified=False)
        elif _BARE.match(text):
            into.problems.add("robots/no-directive", line=number, excerpt=text)
            into.refer(number, _COMMENT.sub("", text))


def _refer(number: int, line: str, value: str, into: Collector, *, is_as_specified: bool) -> None:
    value = _COMMENT.sub("", value).strip(BLANKS)
    if not value:
        into.problems.add("robots/not-a-url", "a Sitemap line without an address", line=number)
        return
    addresses = _addresses(value)
    if not is_as_specified or addresses != [value]:
        into.problems.add("robots/bad-directive", line=number, excerpt=line)
    for address in addresses:
        into.refer(number, address)


def _addresses(value: str) -> list[str]:
    """Return the addresses in *value*: one, which may have blanks inside, unless it is plain that there are several."""
    if wrapped := _WRAPPED.fullmatch(value):
        value = wrapped[2].strip(BLANKS)
    parts = [part.strip("<>") for piece in _GLUED.split(value) for part in re.split(r"[ \t]+", piece) if part]
    if len(parts) > 1 and all(map(_WEB.match, parts[1:])):
        return [part.rstrip(",;") for part in parts[:-1]] + parts[-1:]
    if len(parts) > 1 and _WHOLE.fullmatch(parts[0]):
        return [part for part in parts if _WEB.match(part)]  # with words behind or between
    return [value]
