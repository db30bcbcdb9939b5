"""What a document is, told from its text. Names and headers only break ties.

Pure: no byte is fetched, nothing is raised.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from sitemap_harvest.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

_TELLING_TAGS = 40  # an error message before the root may have a few
_HEAD_CHARS = 64 * 1024
_BLANK = "\ufeff\x00 \t\r\n\u00a0\u200b"

_PASSED_OVER = re.compile("<!(?:--|ENTITY|ELEMENT|ATTLIST)", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|<\?xml\s[^>]*>|<\?.*?(?:\?>|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)", re.DOTALL)
_TAG = re.compile(r"<!doctype\s+html|<(?:[\w.\-]+:)?([a-zA-Z_][\w.\-]*)(?=[\s/>])", re.IGNORECASE)
_ROOTS = {
    "urlset": Kind.SITEMAP,
    "sitemapindex": Kind.INDEX,
    "rss": Kind.FEED,
    "rdf": Kind.FEED,
    "feed": Kind.FEED,
    "html": Kind.HTML,
}
_ENTRIES = {  # as the first tag: a document whose root is missing, or CDF
    "url": Kind.SITEMAP,
    "sitemap": Kind.INDEX,
    "channel": Kind.FEED,
}
_HTML_TAGS = frozenset(
    {
        *("head", "body", "title", "meta", "script", "style", "link"),
        *("div", "p", "a", "br", "table", "span", "h1", "center", "form"),
    }
)
_ROBOTS = re.compile(
    r"^[ \t]*(?:user-?\s?agent|(?:dis)?allow|crawl-delay|site-?maps?)[ \t]*:", re.IGNORECASE | re.MULTILINE
)
_URL_LINE = re.compile(  # a URL, with a bullet or quotes or another URL or columns beside it
    r"""^[ \t]*(?:[-*"'<(\[]|\d{1,9}[.)])?[ \t]*https?://[^\s<>"]++
    (?:["'>)\],;\ \t\r]*|[,;\ \t]+https?://.*|\t.*|["'][,;\t].*)$""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_JSON_VERSION = re.compile(r"\"version\"\s*:\s*\"https?:\\?/\\?/(?:www\.)?jsonfeed\.org\\?/", re.IGNORECASE)
_JSON_NAMES = re.compile(r"\"(?:content_html|content_text|date_published|date_modified|external_url)\"\s*:")
_BINARY = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def telling_start(chunks: Iterable[str]) -> str:
    """Return the first 64 Ki characters that tell something: no blanks before them, no comments and declarations."""
    start, held, end = "", "", ""  # *end* is how what is being passed over ends, if something is
    for chunk in chunks:
        text, at = held + chunk, 0
        held = ""
        while at < len(text) and len(start) < _HEAD_CHARS:
            if end and (found := text.find(end, at)) < 0:
                held = text[max(at, len(text) - 2) :]  # perhaps the start of a -->
                break
            if end:
                at, end = found + len(end), ""
            mark = _PASSED_OVER.search(text, at)
            stop = mark.start() if mark else _perhaps_cut(text, at)
            start = (start + text[at:stop]).lstrip(_BLANK)
            if not mark:
                held = text[stop:]
                break
            at, end = mark.end(), "-->" if mark[0] == "<!--" else ">"
        if len(start) >= _HEAD_CHARS:
            break
    return (start if end else (start + held).lstrip(_BLANK))[:_HEAD_CHARS]


def _perhaps_cut(text: str, at: int) -> int:
    """Return where in *text*, from *at* on, something to be passed over may begin that goes on in the next chunk."""
    mark = text.rfind("<", max(at, len(text) - len("<!ELEMENT")))
    return len(text) if mark < 0 else mark


def sniff(head: str, *, url: str, content_type: str | None = None) -> Kind:
    """Return the kind of the document whose text begins with *head*, found at *url*: see :func:`telling_start`."""
    text = head.lstrip(_BLANK)
    if not text:
        return Kind.EMPTY
    if text.startswith("{") and _is_json_feed(text, content_type):
        return Kind.FEED
    named_robots = _path(url).endswith("/robots.txt")
    if "<" in text and (kind := _by_tags(text, leave_text=named_robots)):
        return kind
    text = text.replace("\r", "\n")
    if named_robots or _ROBOTS.search(text):
        return Kind.ROBOTS
    if _URL_LINE.search(text):
        return Kind.LIST
    is_text = not _BINARY.search(text)
    is_meant_as_list = _path(url).endswith(".txt") or (content_type or "").lower().startswith("text/plain")
    return Kind.LIST if is_text and is_meant_as_list and "://" in text else Kind.UNKNOWN


def _is_json_feed(text: str, content_type: str | None) -> bool:
    is_said_to_be = (content_type or "").lower().startswith("application/feed+json")
    has_items_first = '"items"' in text and _JSON_NAMES.search(text)  # the version may stand far behind
    return bool(is_said_to_be or has_items_first or _JSON_VERSION.search(text))


def _path(url: str) -> str:
    return re.split(r"[?#]", url.lower(), maxsplit=1)[0]


def _by_tags(text: str, *, leave_text: bool) -> Kind | None:
    """Return what the first telling tag says; ``None`` if *text* is no markup."""
    tags = [match[1] for match in islice(_TAG.finditer(_COMMENT.sub("", text)), _TELLING_TAGS)]
    if not tags:
        return Kind.XML if text.startswith("<?xml") else None
    first = (tags[0] or "html").lower()
    if text.startswith("<") or not leave_text:
        if first in _ENTRIES:
            return _ENTRIES[first]
        if kind := next((_ROOTS[t] for tag in tags if (t := (tag or "html").lower()) in _ROOTS), None):
            return kind
        if first in _HTML_TAGS:
            return Kind.HTML
        if text.startswith("<"):
            return Kind.XML
    return None
