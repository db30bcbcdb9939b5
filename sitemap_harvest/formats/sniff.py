"""``sniff``: determines the kind of a document from its text. Names and headers only break ties.

Pure: fetches nothing, raises nothing.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from sitemap_harvest.formats.decompressors import OFFICE_DOCUMENT
from sitemap_harvest.formats.robots import may_be_robots
from sitemap_harvest.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

_TELLING_TAGS = 40  # an error message before the root may have a few
_HEAD_CHARS = 64 * 1024
_WHITESPACE = "\ufeff\x00 \t\r\n\u00a0\u200b"

_PASSED_OVER = re.compile("<!(?:--|ENTITY|ELEMENT|ATTLIST)", re.IGNORECASE)
_NO_MARKUP = re.compile(  # comments, instructions, and elements whose contents are plain text
    r"<!--.*?(?:-->|\Z)|<\?xml\s[^>]*>|<\?.*?(?:\?>|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)"
    r"|(<(script|style|textarea|xmp)\b[^>]*+(?:>|\Z)).*?(?:</\2|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_FIRST_TAG = re.compile(r"(?:<\?[^<>]*>\s*)*<(?:[\w.\-]+:)?([a-zA-Z]+)(?=[\s/>])")  # the start of almost all documents
_TAG = re.compile(r"<!doctype\s+html|<(?:[\w.\-]+:)?([a-zA-Z_][\w.\-]*)(?=[\s/>])", re.IGNORECASE)
_ROOTS = {"urlset": Kind.SITEMAP, "sitemapindex": Kind.INDEX} | dict.fromkeys(("rss", "rdf", "feed"), Kind.FEED)
_ENTRIES = {  # as the first tag: a document without its root, or CDF
    "url": Kind.SITEMAP,
    "sitemap": Kind.INDEX,
    "channel": Kind.FEED,
    "loc": Kind.SITEMAP,
}
_ANYWHERE = _ROOTS.keys() - {"rdf"}  # images and other XML contain RDF
_HTML_TAGS = frozenset(
    {
        *("head", "body", "title", "meta", "script", "style", "link", "base", "noscript", "iframe", "img"),
        *("div", "p", "a", "br", "hr", "table", "thead", "tbody", "tr", "th", "td", "caption", "col", "span", "center"),
        *("h1", "h2", "h3", "h4", "form", "input", "ul", "ol", "li", "dl", "dt", "dd", "pre", "code", "font", "tt"),
        *("b", "i", "u", "em", "strong", "small", "big", "nobr", "section", "main", "nav", "header", "footer"),
    }
)
_STRING = re.compile(  # of a program, on one line
    r"""(?:^|(?<=[\s=(\[{:,+]))[rbfu]?(?:"(?:[^"\\\n]++|\\.)*+"|'(?:[^'\\\n]++|\\.)*+')(?=[\s)\]},;:.+]|\Z)""",
    re.IGNORECASE | re.MULTILINE,
)
_HTML_END = re.compile(r"</html\s*>", re.IGNORECASE)
_JSON = re.compile(r"\{\s*[\"}]|\[\s*[\"\[{\]]")
_AFTER_JSON = re.compile(r"(?:\n|[}\]]\s*)(?=<[?a-zA-Z])")  # strings in JSON contain no line ends
_ROBOTS = re.compile(
    r"^[ \t]*+(?:user-?\s?agent|(?:dis)?allow|crawl-delay|site-?maps?)[ \t]*+:", re.IGNORECASE | re.MULTILINE
)
_URL_LINE = re.compile(  # a URL, possibly with a bullet, quotes, another URL or columns
    r"""^[ \t]*+(?:(?:[-*"'<(\[]|\d{1,9}[.)])[ \t]*+)?https?://[^\s<>"]++
    (?:["'>)\],;\ \t\r]*|[,;\ \t]+https?://.*|\t.*|["'][,;\t].*)$""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_URL_AND_BREAK = re.compile(r"https?://[^\s<>\"]++\s*<br\s*/?>\s*(?:\Z|https?://)", re.IGNORECASE)
_LINK_LINE = re.compile(  # begins with a URL, has one in its last column, or is a Markdown link
    r"""^[ \t]*+(?:["'<(\[\u201c\u00ab`]?[a-z][a-z0-9+.\-]*://[^\n]+
    |[^\n]*[\t,;|][ ]*+https?://[^\s"'<>]{1,2048}+[ \t]*+$
    |[^\n\[]{0,9}\[[^\n\]]*\]\(https?://)""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_JSON_VERSION = re.compile(r"\"version\"\s*:\s*\"https?:\\?/\\?/(?:www\.)?jsonfeed\.org\\?/", re.IGNORECASE)
_JSON_NAMES = re.compile(r"\"(?:content_html|content_text|date_published|date_modified|external_url)\"\s*:")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_BINARY_FORMATS = (  # could pass for text, or contain text that could pass for a feed; tar archives are read
    ("a PDF file", rb"%PDF-\d"),
    ("a PostScript file", rb"%!PS"),
    ("an RTF document", rb"\{\\rtf\d"),
    ("an office document", OFFICE_DOCUMENT.pattern),
    ("an office document", rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    ("a PNG image", rb"\x89PNG\r?\n"),
    ("a JPEG image", rb"\xff\xd8\xff"),
    ("a GIF image", rb"GIF8[79]a"),
    ("a WebP image", rb"RIFF.{4}WEBP"),
    ("audio or video", rb"RIFF.{4}(?:WAVE|AVI )|ID3[\x00-\x0a]|OggS\0|\x1a\x45\xdf\xa3"),
    ("an image or a video", rb".{4}ftyp[\w ]{4}"),
    ("an icon", rb"\x00\x00[\x01\x02]\x00.\x00"),
    ("a TIFF image", rb"II\*\0|MM\0\*"),
    ("a font", rb"wOF[F2]|\x00\x01\x00\x00\x00|OTTO\0"),
    ("a 7z archive", rb"7z\xbc\xaf\x27\x1c"),
    ("a RAR archive", rb"Rar!\x1a\x07"),
    ("an xz archive", rb"\xfd7zXZ\0"),
    ("a program", rb"\x7fELF|\0asm|\xca\xfe\xba\xbe|MZ[\0-\xff]\0"),
    ("an SQLite database", rb"SQLite format 3\0"),
    ("a Parquet file", rb"PAR1[\x15\x19]"),
)
_SIGNATURES = tuple((name, re.compile(pattern, re.DOTALL)) for name, pattern in _BINARY_FORMATS)


def telling_start(chunks: Iterable[str]) -> str:
    """Return the first 64 Ki significant characters: without leading whitespace, comments and declarations."""
    start, held, end = "", "", ""  # *end* is the end of the construct being skipped, if any
    for chunk in chunks:
        text, at = held + chunk, 0
        held = ""
        while at < len(text) and len(start) < _HEAD_CHARS:
            if end and (found := text.find(end, at)) < 0:
                held = text[max(at, len(text) - 2) :]  # possibly the start of a -->
                break
            if end:
                at, end = found + len(end), ""
            mark = _PASSED_OVER.search(text, at)
            # Without one, the last < may begin one that continues in the next chunk.
            cut = -1 if mark else text.rfind("<", max(at, len(text) - len("<!ELEMENT")))
            stop = mark.start() if mark else len(text) if cut < 0 else cut
            start = (start + text[at:stop]).lstrip(_WHITESPACE)
            if not mark:
                held = text[stop:]
                break
            at, end = mark.end(), "-->" if mark[0] == "<!--" else ">"
        if len(start) >= _HEAD_CHARS:
            break
    return (start if end else (start + held).lstrip(_WHITESPACE))[:_HEAD_CHARS]


def binary_format(start: bytes) -> str | None:
    """Return a description of the binary document that begins with *start*; ``None`` if the signature is unknown.

    Formats without a signature here are recognized by their control characters.
    """
    return next((name for name, pattern in _SIGNATURES if pattern.match(start)), None)


def sniff(head: str, *, url: str, content_type: str | None = None, base: str | None = None) -> Kind:
    """Return the kind of the document at *url* whose text begins with *head*, from :func:`telling_start`.

    *base* is the final URL, if it differs.
    """
    text = head.lstrip(_WHITESPACE)
    if not text:
        return Kind.EMPTY
    if text.startswith("{") and _is_json_feed(text, content_type):
        return Kind.FEED
    may_be_markup = text.startswith("<") or ("<" in text and not _is_named_robots(url))
    if _URL_AND_BREAK.match(text):
        return Kind.LIST
    first = _FIRST_TAG.match(text)
    if not (kind := _ROOTS.get(first[1].lower()) if first else None) and may_be_markup:
        kind = _by_tags(_without_json(text))
        if kind is Kind.HTML and not text.startswith("<") and not _TAG.search(_STRING.sub("", text)):
            return Kind.UNKNOWN  # a program: its only tags are in strings
    if kind is Kind.HTML:
        page = _of_page(text, base or url)
        return Kind.HTML if page is Kind.LINKS and _is_named_robots(url) else page
    return kind or _of_text(text.replace("\r", "\n"), url, content_type)


def _of_text(text: str, url: str, content_type: str | None) -> Kind:
    if _is_named_robots(url):
        return _of_robots(text)
    if _ROBOTS.search(text):
        return Kind.ROBOTS
    if _URL_LINE.search(text):
        return Kind.LIST
    if _CONTROL.search(text):
        return Kind.BINARY
    is_meant_as_list = _path(url).endswith(".txt") or (content_type or "").lower().startswith("text/plain")
    return Kind.LIST if is_meant_as_list and _LINK_LINE.search(text) else Kind.UNKNOWN


def _of_robots(text: str) -> Kind:
    """Return the kind of a text at the URL of a robots.txt. Never a list: an error text may contain a URL."""
    is_cut = len(text) >= _HEAD_CHARS
    lines = text.rpartition("\n")[0] or text if is_cut else text
    if may_be_robots(lines):
        return Kind.ROBOTS
    return Kind.BINARY if _CONTROL.search(text) else Kind.UNKNOWN


def _is_named_robots(url: str) -> bool:
    return _path(url).endswith("/robots.txt")


def _is_json_feed(text: str, content_type: str | None) -> bool:
    is_said_to_be = (content_type or "").lower().startswith("application/feed+json")
    has_items_first = '"items"' in text and _JSON_NAMES.search(text)  # the version may come much later
    return bool(is_said_to_be or has_items_first or _JSON_VERSION.search(text))


def _path(url: str) -> str:
    return re.split(r"[?#]", url.lower(), maxsplit=1)[0]


def _without_json(text: str) -> str:
    """Return *text* without the JSON at its start, in which a tag is part of a string."""
    if not _JSON.match(text):
        return text
    after = _AFTER_JSON.search(text)
    return text[after.end() :] if after else ""


def _by_tags(text: str) -> Kind | None:
    """Return the kind according to the first significant tags; ``None`` if *text* is not markup."""
    is_markup = text.startswith("<")
    names = ((tag[1] or "html").lower() for tag in _TAG.finditer(_NO_MARKUP.sub(r"\1", text)))
    if (first := next(names, None)) is None:
        return Kind.XML if text.startswith("<?xml") else None
    if first == "html":
        return _after_page(text) or Kind.HTML
    if (first in _ENTRIES or first in _ROOTS) and (is_markup or first != "loc"):  # which may be in lines of a list
        return _ENTRIES.get(first) or _ROOTS[first]
    telling = islice((name for name in names if name not in _HTML_TAGS), _TELLING_TAGS)
    wanted = _ROOTS.keys() if first in _HTML_TAGS else _ANYWHERE
    if root := next((name for name in telling if name in wanted or (name == "html" and not is_markup)), None):
        return _ROOTS.get(root, Kind.HTML)
    if first in _HTML_TAGS:
        return Kind.HTML
    return Kind.XML if is_markup else None


def _after_page(text: str) -> Kind | None:
    """Return the kind of the XML that follows a complete page in *text*; ``None`` if there is none."""
    end = _HTML_END.search(text)
    after = end and re.match(r"\s*(?:<\?xml\s[^>]*>\s*)?<(?:[\w.\-]+:)?(\w+)", text[end.end() :])
    return _ROOTS.get(after[1].lower()) if after else None


def _of_page(head: str, url: str) -> Kind:
    # Imported here because few runs read pages.
    from sitemap_harvest.formats.html.headings import says_failure, says_not_found, says_site_map
    from sitemap_harvest.formats.html.links import has_links
    from sitemap_harvest.formats.html.page import challenger, look

    page = look(head)
    if challenger(page):
        return Kind.CHALLENGE
    if says_not_found(page.title) or says_not_found(page.heading):
        return Kind.SOFT_404
    says_error = says_failure(page.title) or says_failure(page.heading)
    is_site_map = not says_error and (says_site_map(page.title) or says_site_map(page.heading))
    is_cut = len(head) >= _HEAD_CHARS  # the links may come after a long style sheet
    return Kind.LINKS if is_site_map and (is_cut or has_links(head, url)) else Kind.HTML
