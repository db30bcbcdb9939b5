"""``lines_of``: the lines of entries in a local document, found again in its text.

Bytes in, numbers out. A line may be wrong in malformed XML; it only says where to look.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_ROOT = re.compile(rb"<(?:[\w.-]+:)?(urlset|sitemapindex|rss|feed|rdf)\b", re.IGNORECASE)
_SITEMAPS = {b"urlset", b"sitemapindex"}
_ENTRY = rb"<!--|<!\[CDATA\[|<(?:[\w.-]+:)?(?:%s)(?=[\s/>])"
_OF_SITEMAP = re.compile(_ENTRY % b"url|sitemap", re.IGNORECASE)
_OF_FEED = re.compile(_ENTRY % b"item|entry", re.IGNORECASE)
_ENDS = {b"<!--": b"-->", b"<![CDATA[": b"]]>"}


def lines_of(data: bytes, positions: Collection[int]) -> dict[int, int]:
    """Return the lines at which the entries at *positions* begin, both from 1, as far as they can be found.

    *data*: the document. In a list of URLs, a position is the number of the line.
    Compressed documents, UTF-16, JSON and HTML have no lines.
    """
    if (root := _ROOT.search(data[:10_000])) is None:
        head = data[:1_000].lstrip(b"\xef\xbb\xbf \t\r\n")
        is_text = not head.startswith((b"{", b"[", b"<", b"\x1f\x8b")) and b"\0" not in head
        return {position: position for position in positions} if is_text else {}
    wanted, last = set(positions), max(positions, default=0)
    pattern = _OF_SITEMAP if root[1].lower() in _SITEMAPS else _OF_FEED
    found: dict[int, int] = {}
    at, position, line, counted = 0, 0, 1, 0
    while position < last and (match := pattern.search(data, at)) is not None:
        at = match.end()
        if (end := _ENDS.get(match[0].upper())) is not None:
            if (at := data.find(end, at)) < 0:
                break
            continue
        position += 1
        if position in wanted:
            line, counted = line + data.count(b"\n", counted, match.start()), match.start()
            found[position] = line
    return found
