"""Reads the ``Sitemap:`` lines of a robots.txt.

Specs: https://www.rfc-editor.org/rfc/rfc9309,
https://www.sitemaps.org/protocol.html#submit_robots. Rules about what robots may fetch
are left to Scrapy.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sitemap_harvest.formats.text import CLOSING, OPENING, PARAMETER, whole_lines
from sitemap_harvest.urls import WHITESPACE, disqualifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemap_harvest.formats.collector import Collector
    from sitemap_harvest.model import UrlBatch

_AS_SPECIFIED = re.compile(r"sitemap[ \t]*:", re.IGNORECASE)
_DIRECTIVE = re.compile(
    rf"""[{re.escape(OPENING)}]?(?:(?:xml|news|image|video|mobile|google)[ \t_\-]+)?
    site[ \t_\-]?maps?(?:[ \t_\-]?(?:index|url|file))?\s*
    (?:[:\uff1a=][\s:]*|[\w.\-]+[ \t]*:\s*(?=https?://)|[\-\u2013]\s+(?=https?://)|(?<=\s)(?=https?://))""",
    re.IGNORECASE | re.VERBOSE,
)
_RULE = re.compile(  # of RFC 9309 or in wide use, with the misspellings that Google accepts
    r"""(?:user[ \t_\-]?agent|allow|dis?s?all?ow|diasllow|disallaw
    |(?:crawl|cache)[ \t_\-]?delay|clean-param|request-rate|visit-time|content-(?:signal|usage)|noindex)
    (?:[ \t]*[:\uff1a]|[ \t]+[/*])""",
    re.IGNORECASE | re.VERBOSE,
)
_GLUED = re.compile(r"(?<![?&=])site-?maps?\s*:\s*(?=https?://)|(?<=\s)site-?maps?\s*:\s*(?=/)", re.IGNORECASE)
_LINE_END = re.compile(  # as HTML, or as an escape sequence
    r"<br\s*/?>|(?:\\r)?\\n(?=\s*(?:site|user|dis|allow|crawl|host|\#|\Z))", re.IGNORECASE
)
_COMMENT = re.compile(r"(?:^|\s)#.*$", re.DOTALL)
_WEB = re.compile(r"https?://", re.IGNORECASE)
_RELEVANT = re.compile("site|http", re.IGNORECASE)  # all directives and URLs contain one of them; most lines do not
_WHOLE = re.compile(r"https?://\S+\.(?:xml|gz|txt|rss|atom)(?:\?\S*)?", re.IGNORECASE)
_TAG_BEHIND = re.compile(r"(?<=[^\s<>])</?[a-z][^<>]*>.*\Z", re.IGNORECASE | re.DOTALL)
_BARE = re.compile(r"https?://\S*sitemap", re.IGNORECASE)
_LINK = re.compile(r"<a\s[^>]*?href\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)
_MARKDOWN = re.compile(r"\[[^\[\]]*\]\(\s*([^\s()]+)\s*\)")
_BETWEEN = re.compile(rf"[ \t]+|[,;|](?={_WEB.pattern})", re.IGNORECASE)


def may_be_robots(head: str) -> bool:
    """Whether *head* may begin a robots.txt: one of its lines is a directive, or all are empty or comments.

    Prose and JSON have lines like ``Note: text``, so an unknown name does not count.
    """
    is_blank = True
    for line in head.split("\n"):
        if text := _COMMENT.sub("", line).strip(WHITESPACE):
            if _is_directive(text):
                return True
            is_blank = False
    return is_blank


def _is_directive(line: str) -> bool:
    return bool(_RULE.match(line) or _BARE.match(line) or any(True for _ in _values(line)))


def read_robots(chunks: Iterable[str], into: Collector) -> Iterator[UrlBatch]:
    """Add each ``Sitemap:`` line of *chunks* to *into*; its position in or outside a group does not matter.

    Yields empty batches only, one for each part of some megabytes.
    """
    is_open = False  # whether a URL is missing, which the next line may contain
    for first, whole in whole_lines(chunks, into.problems):
        for number, line in enumerate(whole, first):
            text = line.strip(WHITESPACE)
            if "\0" in line:
                into.problems.add("document/nul-bytes", line=number)
            if not _RELEVANT.search(text):
                is_open = is_open and not text
            elif values := list(_values(text)):
                is_open = not any(values)
                _refer(number, text, values, into)
            elif _BARE.match(text) or (is_open and _WEB.match(text)):
                is_open = False
                into.problems.add("robots/no-directive", line=number, excerpt=text)
                for address in _addresses(_COMMENT.sub("", text)):
                    into.refer(number, address)
            else:
                is_open = False
        yield from into.full_batches()


def _values(line: str) -> Iterator[str]:
    """Yield the trimmed value of each directive in *line*."""
    for piece in _LINE_END.split(line):
        text = _COMMENT.sub("", piece).strip(WHITESPACE)
        if found := _DIRECTIVE.match(text) or _GLUED.search(text):
            is_wrapped = text[0] in OPENING
            while again := _DIRECTIVE.match(text, found.end()):  # some repeat it
                found = again
            yield _TAG_BEHIND.sub("", text[found.end() :]).strip(WHITESPACE).rstrip(CLOSING if is_wrapped else "")


def _refer(number: int, line: str, values: list[str], into: Collector) -> None:
    if not any(values):
        into.problems.add("robots/not-a-url", "a Sitemap line without a URL", line=number)
        return
    addresses = [address for value in values for address in _addresses(value)]
    if addresses != [_COMMENT.sub("", _AS_SPECIFIED.sub("", line, count=1)).strip(WHITESPACE)]:
        into.problems.add("robots/bad-directive", line=number, excerpt=line)
    for address in addresses:
        into.refer(number, address)


def _addresses(value: str) -> list[str]:
    """Return the URLs in *value*: one, which may contain whitespace, unless there are clearly several."""
    if disqualifier(value):
        return [value]
    if link := _LINK.match(value) or _MARKDOWN.match(value):
        return [link[1]]
    if value[:1] in OPENING:
        value = value[1:].rstrip(CLOSING).strip(WHITESPACE)
    if PARAMETER.search(value) and not re.search(r"\s", value):
        return [value]
    parts = [part.strip("<>,;") for piece in _GLUED.split(value) for part in _BETWEEN.split(piece) if part]
    if len(parts) > 1 and (all(map(_WEB.match, parts[1:])) or all(part.startswith("/") for part in parts)):
        return parts
    if len(parts) > 1 and _WHOLE.fullmatch(parts[0]):
        return [part for part in parts if _WEB.match(part)]  # ignoring words between or after them
    return [value]
