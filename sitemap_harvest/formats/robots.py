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

_SITEMAP = re.compile(r"site-?maps?(?:\s*:|\s+(?=https?://))\s*(.*)", re.IGNORECASE | re.DOTALL)
_BARE = re.compile(r"https?://\S*sitemap\S*", re.IGNORECASE)
_COMMENT = re.compile(r"(?:^|\s)#.*$", re.DOTALL)
_WRAPPED = re.compile(r"""(["'<])(.*)(["'>])""", re.DOTALL)


def read_robots(chunks: Iterable[str], into: Collector) -> None:
    """Add each ``Sitemap:`` line of *chunks* to *into*; it counts wherever it stands, in any group or none."""
    for number, line in lines(chunks, into.problems):
        text = line.strip(BLANKS)
        if match := _SITEMAP.match(text):
            _refer(number, match[1], into)
        elif _BARE.match(text):
            into.problems.add("robots/no-directive", line=number, excerpt=text)
            _refer(number, text, into)


def _refer(number: int, value: str, into: Collector) -> None:
    value = _COMMENT.sub("", value).strip(BLANKS)
    if wrapped := _WRAPPED.fullmatch(value):
        value = wrapped[2].strip(BLANKS)
    if not value:
        into.problems.add("robots/not-a-url", "a Sitemap line without an address", line=number)
        return
    for address in value.split():
        into.refer(number, address)
